#include "loom/units/exact_operands.hpp"

#include <cstring>

namespace warploom::loom {

namespace {

/// Swizzles permute units of 16 bytes, which hold neighbours along one direction.
template <class Code>
void gather_units(const ExactSource& s, uint32_t* out, size_t row_pitch, size_t k_pitch) {
  constexpr uint32_t elements = 16 / sizeof(Code);
  const bool along_k = s.major == Major::k;
  const uint32_t row_step = along_k ? 1 : elements, k_step = along_k ? elements : 1;
  const size_t pitch = along_k ? k_pitch : row_pitch;
  for (uint32_t row = 0; row < s.rows; row += row_step)
    for (uint32_t k = 0; k < s.k; k += k_step) {
      Code codes[elements];
      std::memcpy(codes, s.shared + operand_address(s.descriptor, s.major, s.element_bytes, row, k), 16);
      uint32_t* first = out + row * row_pitch + k * k_pitch;
      for (size_t i = 0; i < elements; ++i) first[i * pitch] = codes[i];
    }
}

}  // namespace

ExactType exact_type(DType type) {
  switch (type) {
    case DType::e4m3: return ExactType::e4m3;
    case DType::e5m2: return ExactType::e5m2;
    case DType::f16: return ExactType::f16;
    case DType::f32: return ExactType::tf32;
    default: return ExactType::bf16;
  }
}

void gather_codes(const ExactSource& source, uint32_t* out, size_t row_pitch, size_t k_pitch) {
  switch (source.element_bytes) {
    case 1: return gather_units<uint8_t>(source, out, row_pitch, k_pitch);
    case 2: return gather_units<uint16_t>(source, out, row_pitch, k_pitch);
    default: return gather_units<uint32_t>(source, out, row_pitch, k_pitch);
  }
}

}  // namespace warploom::loom
