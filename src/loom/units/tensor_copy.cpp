#include "loom/units/tensor_copy.hpp"

#include <algorithm>
#include <cstring>

#include "loom/units/unconfirmed.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;
constexpr uint32_t quarter = 32;  // lanes

/// 16 bytes with 16 elements of 4 or 6 bits, and padding, to 16 containers (§4.10, 4.9).
void expand_unit(Expand expand, const std::byte* unit, uint8_t* containers) {
  uint8_t bytes[17] = {};
  std::memcpy(bytes, unit, 16);
  if (expand == Expand::none) {
    std::memcpy(containers, bytes, 16);
    return;
  }
  const bool four = expand == Expand::four_bit;
  const uint32_t width = four ? 4 : 6;
  const uint32_t shift = four ? unconfirmed::e2m1_container_shift : unconfirmed::six_bit_container_shift;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t bit = i * width;
    const uint32_t window = bytes[bit / 8] | static_cast<uint32_t>(bytes[bit / 8 + 1]) << 8;
    containers[i] = static_cast<uint8_t>((window >> bit % 8 & ((1u << width) - 1)) << shift);
  }
}

/// The source is read as a K-major operand of bytes.
uint32_t unit_address(const TmemCopyOperation& op, uint32_t row, uint32_t byte) {
  return operand_address(op.source, Major::k, 1, row, byte);
}

}  // namespace

Result<TmemCopyOperation> decode_tmem_copy(TmemCopy shape, Expand expand, uint32_t destination, SmemDescriptor source) {
  TmemCopyOperation op;
  op.shape = shape;
  op.expand = expand;
  if (shape > TmemCopy::m4x256b || expand > Expand::four_bit) return Error{"tcgen05.cp has no such form."};
  const Result<SmemDescriptorFields> fields = decode_smem_descriptor(source);
  if (!fields) return Error{"The source: " + fields.error()};
  op.source = *fields;
  if (op.source.swizzle == Swizzle::b128_atom32)
    return Error{"The source has the 128-byte swizzle with 32-byte atoms, which only MN-major tf32 operands have."};
  const uint32_t lane = destination >> 16 & 0xff, column = destination & 0xffff;
  if (shape == TmemCopy::m4x256b ? lane >= quarter : lane != 0)
    return Error{"The destination names lane " + std::to_string(lane) +
                 (shape == TmemCopy::m4x256b ? "; .4x256b writes one lane of each quarter, from lanes 0 to 31 on."
                                             : "; this shape writes from lane 0 on.")};
  if (column + op.columns() > tmem_columns)
    return Error{"The copy writes " + std::to_string(op.columns()) + " columns from column " + std::to_string(column) +
                 ", but tensor memory has 512."};
  op.destination = destination & 0x007f01ff;
  return op;
}

std::vector<uint32_t> copy_lanes(TmemCopy shape, uint32_t row) {
  switch (shape) {
    case TmemCopy::m128x256b:
    case TmemCopy::m128x128b: return {row};
    case TmemCopy::m64x128b_02_13: return {row, row + 2 * quarter};
    case TmemCopy::m64x128b_01_23: {
      const uint32_t first = row < quarter ? row : row + quarter;
      return {first, first + quarter};
    }
    case TmemCopy::m32x128b: return {row, row + quarter, row + 2 * quarter, row + 3 * quarter};
    case TmemCopy::m4x256b: return {row * unconfirmed::copy_4x256b_lane_step};
  }
  return {};
}

void for_each_copy_unit(const TmemCopyOperation& op, const std::function<void(uint32_t)>& visit) {
  for (uint32_t row = 0; row < copy_rows(op.shape); ++row)
    for (uint32_t byte = 0; byte < copy_row_bytes(op.shape); byte += 16) visit(unit_address(op, row, byte));
}

SharedRange copy_range(const TmemCopyOperation& op) {
  SharedRange range{~0u, 0};
  for_each_copy_unit(op, [&](uint32_t address) {
    range.begin = std::min(range.begin, address);
    range.end = std::max(range.end, address + 16);
  });
  return range;
}

void execute_tmem_copy(const TmemCopyOperation& op, const MmaMemory& memory) {
  const uint32_t lane = op.destination >> 16, column = op.destination & 0xffff;
  for (uint32_t row = 0; row < copy_rows(op.shape); ++row) {
    const std::vector<uint32_t> lanes = copy_lanes(op.shape, row);
    for (uint32_t byte = 0; byte < copy_row_bytes(op.shape); byte += 16) {
      uint8_t containers[16];
      expand_unit(op.expand, memory.shared + unit_address(op, row, byte), containers);
      for (const uint32_t to : lanes)
        std::memcpy(memory.tmem + (lane + to) * tmem_columns + column + byte / 4, containers, 16);
    }
  }
}

std::string broken_shift_rule(uint32_t address) {
  const uint32_t lane = address >> 16 & 0xff, column = address & 0xffff;
  if (lane % quarter != 0 || lane >= 4 * quarter)
    return "tcgen05.shift at lane " + std::to_string(lane) +
           "; it shifts the rows of one lane quarter, from 0, 32, 64 or 96 on";
  if (column + shift_columns > tmem_columns)
    return "tcgen05.shift of 8 columns from column " + std::to_string(column) + ", but tensor memory has 512";
  return "";
}

void execute_tmem_shift(uint32_t address, uint32_t* tmem) {
  uint32_t* first = tmem + (address >> 16 & 0x7f) * tmem_columns + (address & 0x1ff);
  uint32_t before[quarter][shift_columns];
  for (uint32_t row = 0; row < quarter; ++row) std::copy_n(first + row * tmem_columns, shift_columns, before[row]);
  for (int row = 0; row < static_cast<int>(quarter); ++row) {
    const int source = row + unconfirmed::shift_source_row;
    if (source < 0 || source >= static_cast<int>(quarter)) continue;  // the row at the end stays
    std::copy_n(before[source], shift_columns, first + row * static_cast<int>(tmem_columns));
  }
}

}  // namespace warploom::loom
