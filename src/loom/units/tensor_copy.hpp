// tcgen05.cp and tcgen05.shift: from shared to tensor memory, and one row down within it (hardware.md §4.12, 4.13).
#pragma once

#include "loom/units/tensor_core.hpp"

namespace warploom::loom {

/// A decoded, legal tcgen05.cp.
struct TmemCopyOperation {
  TmemCopy shape = TmemCopy::m32x128b;
  Expand expand = Expand::none;
  uint32_t destination = 0;  ///< TMEM address
  SmemDescriptorFields source;

  uint32_t columns() const { return copy_row_bytes(shape) / 4; }
};
Result<TmemCopyOperation> decode_tmem_copy(TmemCopy shape, Expand expand, uint32_t destination, SmemDescriptor source);

/// The lanes, relative to the destination, that row `row` of the source is written to.
std::vector<uint32_t> copy_lanes(TmemCopy shape, uint32_t row);
/// Calls visit(window offset) for each 16-byte unit that it reads.
void for_each_copy_unit(const TmemCopyOperation& op, const std::function<void(uint32_t)>& visit);
/// Window offsets that it reads.
SharedRange copy_range(const TmemCopyOperation& op);
/// In one CTA; the range must have been checked.
void execute_tmem_copy(const TmemCopyOperation& op, const MmaMemory& memory);

/// "" or what is wrong with the address of a tcgen05.shift.
std::string broken_shift_rule(uint32_t address);
inline constexpr uint32_t shift_columns = 8;
void execute_tmem_shift(uint32_t address, uint32_t* tmem);

}  // namespace warploom::loom
