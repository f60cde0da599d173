// Tensor memory layouts and the rules and arithmetic of tcgen05.mma (hardware.md §3.2, 4.6-4.11, 4.14). No Blackwell
// chip was at hand: the layouts are checked against NVIDIA's headers, not against silicon; unconfirmed.hpp has what not
// even two sources agree on. Files: tensor_core_layout.cpp (where things sit), tensor_core_decode.cpp (what is legal),
// tensor_core_product.cpp (operands of every kind, arithmetic), mma.cpp (the fast path of plain products).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "warploom/loom/native.hpp"
#include "warploom/types/block_scaled.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/result.hpp"

namespace warploom::loom {

struct TmemCell {
  uint32_t cta = 0;  ///< of the pair, 0 for cta_group 1
  uint32_t lane = 0;
  uint32_t column = 0;
  friend bool operator==(const TmemCell&, const TmemCell&) = default;
};

/// Where accumulator element (row, column) of an M x N product sits, relative to the D address; layouts A, B, D, F, and
/// of weight-stationary products (.ws) D, E, G.
TmemCell accumulator_cell(int cta_group, uint32_t m, uint32_t n, uint32_t row, uint32_t column,
                          bool weight_stationary = false);
/// TMEM columns such an accumulator takes.
uint32_t accumulator_columns(int cta_group, uint32_t m, uint32_t n, bool weight_stationary = false);

/// Where element (row, k) of an A operand in tensor memory sits, relative to its address (§4.9): the cell, and the bit
/// of its word. `container`: 4, 8, 16 or 32 bits per element.
struct TmemElement {
  TmemCell cell;
  uint32_t bit = 0;
  friend bool operator==(const TmemElement&, const TmemElement&) = default;
};
TmemElement a_element(int cta_group, uint32_t m, uint32_t row, uint32_t k, uint32_t container);

/// Where the scale factor of row `row` of A (of a CTA's share) or column `row` of B sits, relative to its address
/// (§4.11): the cell of the first of `scale_copies` lanes, 32 lanes apart. `split` is B of cta_group::2 with M = 128.
TmemCell scale_cell(uint32_t row, uint32_t rows, bool split);
/// How many lanes hold it.
constexpr uint32_t scale_copies(bool split) { return split ? 2 : 4; }
/// Columns that the scale factors of `rows` rows take.
constexpr uint32_t scale_columns(uint32_t rows, bool split) { return ((split ? rows / 2 : rows) + 31) / 32; }

/// Where register `index` of lane `lane` sits for tcgen05.ld/st of this form, relative to its address (cta unused);
/// `half` is the 16-bit half of the register for .pack::16b and .unpack::16b.
TmemCell register_cell(const native::TmemForm& form, uint32_t lane, uint32_t index, uint32_t half = 0);
/// Columns that `registers` registers per thread cover.
uint32_t register_columns(const native::TmemForm& form, uint32_t registers);
/// "" or why no tcgen05.ld/st moves that many registers.
std::string broken_register_count(const native::TmemForm& form, uint32_t registers);

/// Decodes a tcgen05 shared-memory descriptor, or says which reserved bits or codes are wrong.
Result<SmemDescriptorFields> decode_smem_descriptor(SmemDescriptor descriptor);

/// Byte address (window offset, 18 bits) of element (row along M or N, k) of an operand (§3.2).
uint32_t operand_address(const SmemDescriptorFields& descriptor, Major major, uint32_t element_bytes, uint32_t row,
                         uint32_t k);

enum class AccumulatorType : uint8_t { f16, f32, s32 };

/// A decoded, legal tcgen05.mma.
struct MmaOperation {
  MmaKind kind = MmaKind::f8f6f4;
  int cta_group = 1;
  bool weight_stationary = false;
  uint32_t m = 0, n = 0, k = 0;
  MmaType a_type = MmaType::e4m3, b_type = MmaType::e4m3;
  AccumulatorType accumulator = AccumulatorType::f32;
  Major a_major = Major::k, b_major = Major::k;
  bool negate_a = false, negate_b = false;
  bool saturate = false;  ///< i8
  bool a_in_tmem = false;
  uint32_t a_tmem = 0;  ///< its address
  SmemDescriptorFields a, b;
  uint32_t d = 0;  ///< TMEM address
  bool accumulate = false;
  uint32_t scale_input_d = 0;  ///< D comes in times 2^-scale_input_d
  bool masked = false;         ///< some lanes of D stay as they are
  uint32_t disabled_lanes[8] = {};
  // block scaling
  uint32_t scales = 0;  ///< scale factors per row and instruction; 0: none
  ScaleType scale_type = ScaleType::ue8m0;
  uint32_t sfa = 0, sfb = 0;  ///< TMEM addresses
  uint32_t sfa_id = 0, sfb_id = 0;

  uint32_t ctas() const { return cta_group == 2 ? 2 : 1; }
  /// Does each half of D's columns have its own lanes, in a pair (layout B)?
  bool layout_b() const { return cta_group == 2 && m == 128; }
};

/// Does disable-output-lane leave this lane of D, of that CTA of the group, as it is?
bool lane_disabled(const MmaOperation& op, uint32_t cta, uint32_t lane);

/// Everything §4.6, §4.7 and §4.11 allow, dense; anything else is a sentence.
Result<MmaOperation> decode_mma(const native::MmaInstruction& instruction);
Result<MmaOperation> decode_mma(MmaKind kind, int cta_group, uint32_t d, SmemDescriptor a, SmemDescriptor b,
                                InstructionDescriptor idesc, bool accumulate);

/// Columns of tensor memory that the instruction uses, of every CTA of its group.
struct TmemUse {
  const char* what;  ///< as it appears in a sentence: "writes", "reads A from", ...
  uint32_t column = 0, columns = 0;
};
std::vector<TmemUse> tmem_uses(const MmaOperation& op);

/// The shared window (byte at window offset o is shared[o]) and tensor memory ([lane * 512 + column]) of one CTA.
struct MmaMemory {
  const std::byte* shared = nullptr;
  uint32_t shared_bytes = 0;  ///< size of the window
  uint32_t* tmem = nullptr;
};

/// Lowest and last+1 window offset that operand A (if it lies in shared memory) or B of this instruction reads.
struct SharedRange {
  uint32_t begin = 0, end = 0;
};
SharedRange operand_range(const MmaOperation& op, bool operand_b);
/// Calls visit(window offset) for each 16-byte unit of it, in one CTA.
void for_each_operand_unit(const MmaOperation& op, bool operand_b, const std::function<void(uint32_t)>& visit);
/// Bits that an element of an A operand in tensor memory takes.
uint32_t a_container_bits(const MmaOperation& op);

/// D = A*B (+ D) in fp32, products and sums in ascending k with fused multiply-adds ("fast" numerics). `memory` has one
/// entry per CTA of the group. Operand ranges must have been checked against shared_bytes.
void execute_mma(const MmaOperation& op, const MmaMemory* memory);

/// Of an f32 accumulator the remainders modulo `ring`.
void keep_in_ring(const MmaOperation& op, const MmaMemory* memory, uint32_t ring);

/// "" or which scale factor does not have the same value in all its lanes, as it must.
std::string scale_trouble(const MmaOperation& op, const MmaMemory* memory);

}  // namespace warploom::loom
