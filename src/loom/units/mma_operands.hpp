// Operands in shared memory as both tensor cores (tcgen05.mma, wgmma) read them: addresses from a descriptor, elements
// turned into f32 for the multiplication (mma_kernel.hpp).
#pragma once

#include "tensor_core.hpp"

namespace warploom::loom {

/// One CTA's operand of one instruction: `rows` along M or N.
struct Operand {
  const SmemDescriptorFields& descriptor;
  DType type;
  Major major;
  uint32_t rows, k;
};

/// Calls visit(address, row, k) for each 16-byte unit; row and k are those of its first element. All swizzles that the
/// decoders let through permute whole units.
template <class Visit>
void for_each_unit(const Operand& operand, Visit&& visit) {
  const uint32_t bytes = size_of(operand.type), elements = 16 / bytes;
  const bool along_k = operand.major == Major::k;
  const uint32_t row_step = along_k ? 1 : elements, k_step = along_k ? elements : 1;
  for (uint32_t row = 0; row < operand.rows; row += row_step)
    for (uint32_t k = 0; k < operand.k; k += k_step)
      visit(operand_address(operand.descriptor, operand.major, bytes, row, k), row, k);
}

/// A CTA's share of A or B of a plain product (tensor_core_product.hpp).
Operand plain_operand(const MmaOperation& op, bool b);

/// Window offsets that the operand's elements span.
SharedRange range_of(const Operand& operand);

/// Element (row, k) goes to out[row * row_pitch + k * k_pitch].
void convert_operand(const Operand& operand, const std::byte* shared, float* out, size_t row_pitch, size_t k_pitch);

}  // namespace warploom::loom
