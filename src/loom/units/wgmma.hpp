// wgmma: fragment layouts, descriptors and arithmetic (hardware.md §3, §5). Layouts and addresses are checked against
// an H200.
#pragma once

#include "loom/units/tensor_core.hpp"
#include "warploom/loom/numerics.hpp"

namespace warploom::loom {

inline constexpr uint32_t wgmma_rows = 64;
inline constexpr uint32_t warpgroup_size = 128;

struct WgmmaCell {
  uint32_t row = 0;
  uint32_t column = 0;  ///< of D; of A the byte along K at which the register starts
  friend bool operator==(const WgmmaCell&, const WgmmaCell&) = default;
};
/// Where accumulator value `index` of a thread of the warpgroup belongs in D: a register of f32 or s32, half of one of
/// f16.
WgmmaCell wgmma_accumulator_cell(uint32_t thread, uint32_t index);
/// Where A register `index` (0 to 3) of a thread belongs in A: four bytes of one row.
WgmmaCell wgmma_operand_cell(uint32_t thread, uint32_t index);

/// Decodes a wgmma descriptor, or says which reserved bits are wrong.
Result<SmemDescriptorFields> decode_wgmma_descriptor(SmemDescriptor descriptor);

/// A decoded, legal wgmma.
struct WgmmaOperation {
  native::WgmmaForm form;
  uint32_t k = 0;
  bool a_in_registers = false;
  SmemDescriptorFields a, b;
  bool accumulate = false;
};
Result<WgmmaOperation> decode_wgmma(const native::WgmmaForm& form, bool a_in_registers, SmemDescriptor a,
                                    SmemDescriptor b, bool accumulate);

/// Does `fast` have an arithmetic of its own for it: f32 results of 16- and 8-bit floats?
bool has_fast_form(const native::WgmmaForm& form);
/// The library's type of the same bits; where it has none, one of the same size.
DType element_type(WgmmaType type);

/// Calls visit(window offset) for each 16-byte unit of an operand in shared memory.
void for_each_operand_unit(const WgmmaOperation& op, bool operand_b, const std::function<void(uint32_t)>& visit);
/// Window offsets that operand A (when in shared memory) or B of this instruction reads.
SharedRange wgmma_range(const WgmmaOperation& op, bool operand_b);

/// What the instruction reads and writes: the CTA's window, and each thread's registers (A where it is in registers).
struct WgmmaMemory {
  const std::byte* shared = nullptr;
  void* d[warpgroup_size] = {};
  const uint32_t* a[warpgroup_size] = {};
};

/// D = A*B (+ D). Fast numerics are for f32 results of 16- and 8-bit floats; every other form is exact. Operand ranges
/// must have been checked.
void execute_wgmma(const WgmmaOperation& op, const WgmmaMemory& memory, Numerics numerics = Numerics::fast);
/// Of f32 results the remainders modulo `ring`.
void keep_in_ring(const WgmmaOperation& op, const WgmmaMemory& memory, uint32_t ring);

}  // namespace warploom::loom
