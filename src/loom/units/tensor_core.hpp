// Tensor memory layouts and the arithmetic of tcgen05.mma (hardware.md §3.2, 4.6-4.8, 4.14). No Blackwell chip was at
// hand: the layouts are checked against NVIDIA's headers, not against silicon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "warploom/loom/native.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/result.hpp"

namespace warploom::loom {

struct TmemCell {
  uint32_t cta = 0;  ///< of the pair, 0 for cta_group 1
  uint32_t lane = 0;
  uint32_t column = 0;
  friend bool operator==(const TmemCell&, const TmemCell&) = default;
};

/// Where accumulator element (row, column) of an M x N product sits, relative to the D address; layouts A, B, D, F.
TmemCell accumulator_cell(int cta_group, uint32_t m, uint32_t n, uint32_t row, uint32_t column);
/// TMEM columns such an accumulator takes.
uint32_t accumulator_columns(int cta_group, uint32_t m, uint32_t n);

/// Where register `index` of lane `lane` sits for tcgen05.ld/st of this shape, relative to its address (cta unused).
TmemCell register_cell(native::TmemShape shape, uint32_t lane, uint32_t index);
/// Columns that `registers` registers per thread cover.
uint32_t register_columns(native::TmemShape shape, uint32_t registers);

/// Decodes a tcgen05 shared-memory descriptor, or says which reserved bits or codes are wrong.
Result<SmemDescriptorFields> decode_smem_descriptor(SmemDescriptor descriptor);

/// Byte address (window offset, 18 bits) of element (row along M or N, k) of an operand (§3.2).
uint32_t operand_address(const SmemDescriptorFields& descriptor, Major major, uint32_t element_bytes, uint32_t row,
                         uint32_t k);

/// A decoded, legal tcgen05.mma.
struct MmaOperation {
  MmaKind kind = MmaKind::f8f6f4;
  int cta_group = 1;
  uint32_t m = 0, n = 0, k = 0;
  DType a_type = DType::e4m3, b_type = DType::e4m3;
  Major a_major = Major::k, b_major = Major::k;
  bool negate_a = false, negate_b = false;
  SmemDescriptorFields a, b;
  uint32_t d = 0;  ///< TMEM address
  bool accumulate = false;
};

/// Everything §4.6 and §4.7 allow for kinds f16 and f8f6f4 with the types of DType and f32 accumulation; anything else
/// is a sentence.
Result<MmaOperation> decode_mma(MmaKind kind, int cta_group, uint32_t d, SmemDescriptor a, SmemDescriptor b,
                                InstructionDescriptor idesc, bool accumulate);

/// The shared window (byte at window offset o is shared[o]) and tensor memory ([lane * 512 + column]) of one CTA.
struct MmaMemory {
  const std::byte* shared = nullptr;
  uint32_t shared_bytes = 0;  ///< size of the window
  uint32_t* tmem = nullptr;
};

/// Lowest and last+1 window offset that operand A or B of this instruction reads.
struct SharedRange {
  uint32_t begin = 0, end = 0;
};
SharedRange operand_range(const MmaOperation& op, bool operand_b);

/// D = A*B (+ D) in fp32, products and sums in ascending k with fused multiply-adds ("fast" numerics). `memory` has one
/// entry per CTA of the group. Operand ranges must have been checked against shared_bytes.
void execute_mma(const MmaOperation& op, const MmaMemory* memory);

}  // namespace warploom::loom
