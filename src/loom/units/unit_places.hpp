// Where an operand's units lie in shared memory: 16 bytes that stay together whatever the swizzle. Packing is a walk
// over them, the same for every instruction set; what is done to the units of a few rows is the instruction set's own.
#pragma once

#include <algorithm>
#include <cstring>

#include "loom/units/panels.hpp"

namespace warploom::loom {

inline constexpr uint32_t unit_bytes = 16;

/// What the swizzle does to an address: some bits of the line's number are added (without carry) to the unit's.
struct Permutation {
  explicit Permutation(const SmemDescriptorFields& descriptor)
      : mask(std::max(swizzle_span(descriptor.swizzle) / unit_bytes, 1u) - 1), line_shift(descriptor.base_offset) {}
  static constexpr uint32_t address_mask = 0x3ffff;

  uint32_t operator()(uint32_t address) const {
    return (address ^ (((address >> 7) - line_shift) & mask) << 4) & address_mask;
  }

  uint32_t mask;
  uint32_t line_shift;
};

/// One unit of each of `rows` rows: that of row r is at base + r / 8 * group + at[r % 8].
struct UnitColumn {
  const std::byte* base;
  uint32_t group;
  uint32_t rows;
  uint32_t at[8];
};
/// Writes the elements of a column: element e of row r to panels[r / 16 * stride + 16 * e + r % 16].
using PackColumn = void (*)(const UnitColumn& column, float* panels, size_t stride);

/// A unit of a K-major operand is 16 bytes of one row.
inline void pack_k_major(const Operand& operand, const std::byte* shared, float* panels, size_t stride,
                         PackColumn pack) {
  const SmemDescriptorFields& d = operand.descriptor;
  const Permutation permuted(d);
  const uint32_t span = swizzle_span(d.swizzle), group = d.stride_byte_offset;
  const uint32_t row_bytes = span == 0 ? unit_bytes : span, next_unit = span == 0 ? d.leading_byte_offset : unit_bytes;
  const uint32_t elements = unit_bytes / size_of(operand.type);
  // Eight rows repeat at multiples of what the swizzle's pattern takes, unless an address wraps around.
  const uint32_t last = d.start + operand.rows / 8 * group + 8 * row_bytes + next_unit;
  const bool regular = group % (128 * (permuted.mask + 1)) == 0 && last <= Permutation::address_mask;
  for (uint32_t u = 0; u < mma_k_bytes / unit_bytes; ++u, panels += size_t{panel_rows} * elements) {
    const auto find = [&](uint32_t row, uint32_t(&at)[8]) {
      const uint32_t first = d.start + row / 8 * group + u * next_unit;
      for (uint32_t i = 0; i < 8; ++i) at[i] = permuted(first + i * row_bytes);
    };
    if (regular) {
      UnitColumn column{shared, group, operand.rows, {}};
      find(0, column.at);
      pack(column, panels, stride);
      continue;
    }
    // Groups of eight rows that have nothing in common: gathered two at a time.
    for (uint32_t row = 0; row < operand.rows; row += panel_rows) {
      alignas(64) std::byte gathered[panel_rows * unit_bytes];
      const uint32_t rows = std::min(panel_rows, operand.rows - row);
      for (uint32_t eight = 0; eight < rows; eight += 8) {
        uint32_t at[8];
        find(row + eight, at);
        for (uint32_t i = 0; i < 8; ++i)
          std::memcpy(gathered + size_t{eight + i} * unit_bytes, shared + at[i], unit_bytes);
      }
      pack({gathered, 8 * unit_bytes, rows, {0, 16, 32, 48, 64, 80, 96, 112}}, panels + row / panel_rows * stride,
           stride);
    }
  }
}

/// A unit of an MN-major operand is 8 or 16 rows at one k.
class MnUnits {
 public:
  explicit MnUnits(const Operand& operand)
      : descriptor_(operand.descriptor),
        permuted_(operand.descriptor),
        span_(swizzle_span(operand.descriptor.swizzle)),
        element_(size_of(operand.type)) {}

  uint32_t rows() const { return unit_bytes / element_; }
  uint32_t address(uint32_t row, uint32_t k) const {
    const uint32_t leading = descriptor_.leading_byte_offset, stride = descriptor_.stride_byte_offset;
    const uint32_t along = row * element_;
    const uint32_t line = span_ == 0 ? k % 8 * unit_bytes + k / 8 * leading : k % 8 * span_ + k / 8 * stride;
    const uint32_t column = span_ == 0 ? along / unit_bytes * stride : along % span_ + along / span_ * leading;
    return permuted_(descriptor_.start + line + column);
  }

 private:
  const SmemDescriptorFields& descriptor_;
  Permutation permuted_;
  uint32_t span_, element_;
};

}  // namespace warploom::loom
