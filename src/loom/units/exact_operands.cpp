#include "loom/units/exact_operands.hpp"

#include <cstring>

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;

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

void execute_mma_exact(const MmaOperation& op, const MmaMemory* memory) {
  static thread_local ExactMultiplier exact;
  const uint32_t ctas = op.cta_group == 2 ? 2 : 1, rows_per_cta = op.m / ctas, columns_per_cta = op.n / ctas;
  const ExactForm form{.a_type = exact_type(op.a_type),
                       .b_type = exact_type(op.b_type),
                       .unit = tcgen05_unit,
                       .k = op.k,
                       .negate_a = op.negate_a,
                       .negate_b = op.negate_b};
  // Each CTA holds a share of B's columns, and every CTA uses all of them.
  for (uint32_t cta = 0; cta < ctas; ++cta)
    gather_codes({op.b, op.b_major, size_of(op.b_type), columns_per_cta, op.k, memory[cta].shared},
                 exact.b() + cta * columns_per_cta, 1, exact_b_pitch);
  const uint32_t columns = accumulator_columns(op.cta_group, op.m, op.n);
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    gather_codes({op.a, op.a_major, size_of(op.a_type), rows_per_cta, op.k, memory[cta].shared}, exact.a(), op.k, 1);
    exact.decode(form, rows_per_cta, op.n);
    // Layout F spreads every 16 rows over another quarter of the lanes; elsewhere a CTA's rows are consecutive lanes.
    const uint32_t rows = op.cta_group == 1 && op.m == 64 ? 16 : rows_per_cta;
    for (uint32_t column = 0; column < op.n; column += columns)
      for (uint32_t row = 0; row < rows_per_cta; row += rows) {
        const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, cta * rows_per_cta + row, column);
        const size_t lane = (op.d >> 16) + cell.lane;
        exact.multiply({.first_row = row,
                        .rows = rows,
                        .first_column = column,
                        .columns = columns,
                        .d = memory[cta].tmem + lane * tmem_columns + (op.d & 0xffff) + cell.column,
                        .d_pitch = tmem_columns,
                        .accumulate = op.accumulate});
      }
  }
}

}  // namespace warploom::loom
