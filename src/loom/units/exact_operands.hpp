// Operands of wgmma as codes, for an exact multiplication.
#pragma once

#include "loom/units/exact_multiply.hpp"
#include "loom/units/tensor_core.hpp"

namespace warploom::loom {

/// What the types of the library are here. f32 is tf32's container.
ExactType exact_type(DType type);

/// One operand in shared memory: `rows` along M or N by `k`, elements of 1, 2 or 4 bytes.
struct ExactSource {
  const SmemDescriptorFields& descriptor;
  Major major;
  uint32_t element_bytes, rows, k;
  const std::byte* shared;
};
/// The code of element (row, k) goes to out[row * row_pitch + k * k_pitch].
void gather_codes(const ExactSource& source, uint32_t* out, size_t row_pitch, size_t k_pitch);

}  // namespace warploom::loom
