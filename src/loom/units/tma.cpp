// The boxes of TMA (hardware.md §2.3, 2.4, 2.10, 2.11). Everything moves in 16-byte units: a row of the box, the first
// coordinate and the shared address are multiples of 16 bytes, and the swizzles permute such units (or their halves).
#include "tma.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "loom/units/reduction.hpp"
#include "loom/units/tma_quick.hpp"
#include "loom/units/unconfirmed.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t unit_bytes = 16;

/// A box as rows: dimension 0 is a row (im2col: the channels of a pixel), everything else counts rows.
struct Box {
  uint32_t bits = 8;         ///< of an element
  uint32_t elements = 0;     ///< of a row
  uint32_t row_bytes = 0;    ///< packed, as in global memory
  uint32_t packed_unit = 0;  ///< bytes of them that fill a 16-byte unit of shared memory
  uint32_t shared_row = 0;   ///< bytes of a row in shared memory
  uint32_t pitch = 0;        ///< distance of rows in shared memory; the span even if the row is narrower
  uint32_t extent[5] = {};   ///< of a tiled box, elements along each dimension
  uint32_t rows = 1;
};

Box box_of(const TensorMapArgs& map, TmaMode mode) {
  Box box;
  box.bits = tma_element_bits(map.type);
  box.packed_unit = tma_packed_unit(map.type);
  if (map.im2col) {
    box.elements = map.im2col->channels;
    box.rows = map.im2col->pixels;
  } else {
    box.elements = box.extent[0] = map.box[0];  // the element stride of dimension 0 is ignored
    for (uint32_t d = 1; d < 5; ++d) {
      box.extent[d] = (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
      box.rows *= box.extent[d];
    }
  }
  if (mode == TmaMode::rows4) box.rows = 4;
  box.row_bytes = box.elements * box.bits / 8;
  box.shared_row = box.row_bytes / box.packed_unit * unit_bytes;
  box.pitch = map.swizzle == Swizzle::none ? box.shared_row : swizzle_span(map.swizzle);
  return box;
}

int64_t coordinate(const TensorMapArgs& map, const TmaCoordinates& at, uint32_t d) {
  return d < map.rank ? at.c[d] : 0;
}

/// Where rows start, for all of them modulo 2^64: a row in bounds of an honest map never wraps, and one out of bounds
/// is never touched.
uint64_t column_address(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at) {
  return reinterpret_cast<uintptr_t>(map.address) + static_cast<uint64_t>(int64_t{at.c[0]} * box.bits / 8);
}

std::byte* pointer_to(uint64_t address) { return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address)); }

template <class Visit>
void for_each_tile_row(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at, Visit&& visit) {
  const uint64_t base = column_address(map, box, at);
  uint32_t i[5] = {};
  for (uint32_t row = 0; row < box.rows; ++row) {
    uint64_t address = base;
    bool inside = true;
    for (uint32_t d = 1; d < 5; ++d) {
      const int64_t c = coordinate(map, at, d) + int64_t{i[d]} * map.element_strides[d];
      inside = inside && c >= 0 && static_cast<uint64_t>(c) < map.dims[d];
      address += static_cast<uint64_t>(c) * map.strides[d - 1];
    }
    visit(row, inside ? pointer_to(address) : nullptr);
    for (uint32_t d = 1; d < 5 && ++i[d] == box.extent[d]; ++d) i[d] = 0;
  }
}

template <class Visit>
void for_each_of_four_rows(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at, Visit&& visit) {
  for (uint32_t row = 0; row < 4; ++row) {
    const int64_t c = at.c[1 + row];
    const bool inside = c >= 0 && static_cast<uint64_t>(c) < map.dims[1];
    visit(row, inside ? pointer_to(column_address(map, box, at) + static_cast<uint64_t>(c) * map.strides[0]) : nullptr);
  }
}

/// The pixels of an im2col column: width advances first and, beyond the last position of the window, starts again at
/// the first while the next dimension advances; last the image (§2.11). Stores walk alike, on an H200, too.
template <class Visit>
void for_each_pixel(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at, Visit&& visit) {
  const Im2colWindow& window = *map.im2col;
  const uint32_t spatial = map.rank - 2, image = map.rank - 1;
  int64_t position[5] = {};
  for (uint32_t d = 1; d < map.rank; ++d) position[d] = at.c[d];
  for (uint32_t pixel = 0; pixel < box.rows; ++pixel) {
    uint64_t address = column_address(map, box, at);
    bool inside = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      const int64_t c = position[d] + (d <= spatial ? at.offsets[d - 1] : 0);
      inside = inside && c >= 0 && static_cast<uint64_t>(c) < map.dims[d];
      address += static_cast<uint64_t>(c) * map.strides[d - 1];
    }
    visit(pixel, inside ? pointer_to(address) : nullptr);
    uint32_t d = 1;
    for (; d <= spatial; ++d) {
      position[d] += map.element_strides[d];
      if (position[d] <= static_cast<int64_t>(map.dims[d]) - 1 + window.upper[d - 1]) break;
      position[d] = window.lower[d - 1];
    }
    if (d > spatial) ++position[image];
  }
}

/// Calls visit(row number, address of the row's first byte, nullptr if another coordinate than 0 is out of bounds).
template <class Visit>
void for_each_row(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at, Visit&& visit) {
  switch (at.mode) {
    case TmaMode::tile: return for_each_tile_row(map, box, at, visit);
    case TmaMode::im2col: return for_each_pixel(map, box, at, visit);
    case TmaMode::rows4: return for_each_of_four_rows(map, box, at, visit);
  }
}

/// The part [begin, end) of a row's bytes that lies within dimension 0.
struct RowPart {
  uint32_t begin = 0, end = 0;
};

RowPart inside_part(const TensorMapArgs& map, const Box& box, const TmaCoordinates& at, bool store) {
  const int64_t first = at.c[0];
  const int64_t begin = std::clamp<int64_t>(-first, 0, box.elements);
  const int64_t end = std::clamp<int64_t>(static_cast<int64_t>(map.dims[0]) - first, begin, box.elements);
  RowPart part{static_cast<uint32_t>(begin) * box.bits / 8, static_cast<uint32_t>(end) * box.bits / 8};
  // The H200 writes the last partly valid 16-byte unit of a row whole.
  if (store) part.end = std::min((part.end + unit_bytes - 1) / unit_bytes * unit_bytes, box.row_bytes);
  if (part.begin == part.end) part = {};
  return part;
}

/// Moves one row between its place in shared memory and a plain buffer.
/// unconfirmed: the gaps of padded types keep what was there.
template <class Copy>
void for_each_piece(const TensorMapArgs& map, const Box& box, uint32_t row_address, Copy&& copy) {
  if (map.swizzle == Swizzle::none && box.packed_unit == unit_bytes) return copy(row_address, 0u, box.row_bytes);
  const uint32_t piece = map.swizzle == Swizzle::b128_atom32_flip8 ? 8 : box.packed_unit;
  for (uint32_t b = 0; b < box.row_bytes; b += piece) {
    const uint32_t in_row = b / box.packed_unit * unit_bytes + b % box.packed_unit;
    copy(swizzle_address(map.swizzle, row_address + in_row), b, piece);
  }
}

void fill_outside(const TensorMapArgs& map, std::byte* row, uint32_t bytes) {
  if (map.fill == TmaFill::zeros) {
    std::memset(row, 0, bytes);
    return;
  }
  const uint16_t pattern = 0x7ff7;  // for every float type, f32 and f64 repeat it (§2.3)
  for (uint32_t b = 0; b < bytes; b += 2) std::memcpy(row + b, &pattern, 2);
}

/// TFLOAT32 loads round to nearest even at 10 mantissa bits; neither tf32 type flushes subnormals.
uint32_t round_tf32(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
  return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

void convert_inside(const TensorMapArgs& map, std::byte* row, RowPart part) {
  if (map.type != TmaType::tf32 && map.type != TmaType::tf32_ftz) return;
  for (uint32_t b = part.begin; b < part.end; b += 4) {
    uint32_t word;
    std::memcpy(&word, row + b, 4);
    word = round_tf32(word);
    std::memcpy(row + b, &word, 4);
  }
}

}  // namespace

uint32_t tma_box_bytes(const TensorMapArgs& map, TmaMode mode) {
  const Box box = box_of(map, mode);
  return box.rows * box.row_bytes;
}

uint32_t tma_box_footprint(const TensorMapArgs& map, TmaMode mode) {
  const Box box = box_of(map, mode);
  return box.rows * box.pitch;
}

namespace {

/// What of the map does not fit the instruction.
std::string broken_map_rule(const TensorMapArgs& map, const TmaCoordinates& at, bool store, const std::string& kind) {
  if (map.im2col.has_value() != (at.mode == TmaMode::im2col))
    return map.im2col ? "A tiled TMA " + kind + " was given an im2col tensor map."
                      : "An im2col TMA " + kind + " was given a tiled tensor map.";
  if (at.rank != map.rank)
    return "A " + std::to_string(at.rank) + "-dimensional TMA " + kind + " was given a tensor map of rank " +
           std::to_string(map.rank) + ".";
  if (at.mode == TmaMode::rows4 && map.box[1] != 1)
    return "A TMA " + kind + " of four rows needs a tensor map whose box is one row, not " +
           std::to_string(map.box[1]) + ".";
  if (unconfirmed::im2col_store_wants_no_corners && store && map.im2col &&
      (map.im2col->lower != std::array<int32_t, 3>{} || map.im2col->upper != std::array<int32_t, 3>{}))
    return "An im2col TMA store needs a window whose corners are 0; the GPU faults at others.";
  if (map.interleave != 0) return "Interleaved tensor maps are not modelled by the loom.";
  if (map.type == TmaType::u4_align16 && store) return "4-bit values that are 16-byte padded can be loaded only.";
  if (map.type == TmaType::u6_align16 && map.swizzle == Swizzle::b128_atom64 && !store)
    return "6-bit values with 64-byte swizzle atoms can be stored only.";
  return "";
}

}  // namespace

std::string check_tma_copy(const TensorMapArgs& map, uint32_t shared_address, const TmaCoordinates& at, bool store) {
  const std::string kind = store ? "store" : "load";
  if (std::string broken = broken_map_rule(map, at, store, kind); !broken.empty()) return broken;
  if (shared_address % 128 != 0)
    return "The shared address of a TMA " + kind + " must be a multiple of 128 bytes, but lies " +
           std::to_string(shared_address % 128) + " past one.";
  const bool padded = tma_packed_unit(map.type) != unit_bytes;
  if (padded && at.c[0] % unconfirmed::padded_start_step != 0)
    return "Coordinate 0 of a TMA " + kind + " of padded values is " + std::to_string(at.c[0]) +
           "; it must be a multiple of " + std::to_string(unconfirmed::padded_start_step) + ".";
  const int64_t bits = int64_t{at.c[0]} * tma_element_bits(map.type);
  if (!padded && bits % (8 * unit_bytes) != 0)
    return "Coordinate 0 of a TMA " + kind + " is " + std::to_string(at.c[0]) + ", " +
           (bits % 8 == 0 ? std::to_string(bits / 8) + " bytes" : std::to_string(bits) + " bits") +
           "; it must be a multiple of 16 bytes.";
  const uint32_t count = at.mode == TmaMode::rows4 ? 5 : at.rank;
  for (uint32_t d = 0; store && d < count; ++d)
    if (at.c[d] < 0)
      return "Coordinate " + std::to_string(d) + " of a TMA store is " + std::to_string(at.c[d]) +
             "; only loads may start below zero.";
  return "";
}

void tma_load_box(const TensorMapArgs& map, const TmaCoordinates& at, std::byte* window, uint32_t offset) {
  if (at.mode == TmaMode::tile && !map.im2col && tma_load_quickly(map, at.c, window, offset)) return;
  const Box box = box_of(map, at.mode);
  const RowPart part = inside_part(map, box, at, false);
  std::byte buffer[256 * 8];  // a row: 256 elements of 8 bytes at most
  for_each_row(map, box, at, [&](uint32_t row, const std::byte* global) {
    const bool whole = global != nullptr && part.begin == 0 && part.end == box.row_bytes;
    if (!whole) fill_outside(map, buffer, box.row_bytes);
    if (global != nullptr && part.begin < part.end) {
      std::memcpy(buffer + part.begin, global + part.begin, part.end - part.begin);
      convert_inside(map, buffer, part);
    }
    for_each_piece(map, box, offset + row * box.pitch,
                   [&](uint32_t to, uint32_t from, uint32_t bytes) { std::memcpy(window + to, buffer + from, bytes); });
  });
}

void tma_read_box(const TensorMapArgs& map, TmaMode mode, const std::byte* window, uint32_t offset,
                  std::byte* staging) {
  const Box box = box_of(map, mode);
  for (uint32_t row = 0; row < box.rows; ++row)
    for_each_piece(map, box, offset + row * box.pitch, [&](uint32_t from, uint32_t to, uint32_t bytes) {
      std::memcpy(staging + row * box.row_bytes + to, window + from, bytes);
    });
}

void tma_write_box(const TensorMapArgs& map, const TmaCoordinates& at, const std::byte* staging,
                   std::optional<Reduction> reduction) {
  const Box box = box_of(map, at.mode);
  const RowPart part = inside_part(map, box, at, true);
  if (part.begin == part.end) return;
  const ReductionType type = reduction ? tensor_reduction(*reduction, map.type).type : ReductionType::u32;
  for_each_row(map, box, at, [&](uint32_t row, std::byte* global) {
    if (global == nullptr) return;
    const std::byte* from = staging + row * box.row_bytes + part.begin;
    if (reduction)
      reduce(*reduction, type, global + part.begin, from, part.end - part.begin);
    else
      std::memcpy(global + part.begin, from, part.end - part.begin);
  });
}

void for_each_stored_run(const TensorMapArgs& map, const TmaCoordinates& at, uint32_t offset,
                         const std::function<void(uint32_t, uint32_t)>& run) {
  const Box box = box_of(map, at.mode);
  const RowPart part = inside_part(map, box, at, true);
  if (part.begin == part.end) return;
  const bool whole_rows = part.begin == 0 && part.end == box.row_bytes && box.row_bytes == box.pitch;
  uint32_t first = 0, count = 0;  // whole rows one after the other
  for_each_row(map, box, at, [&](uint32_t row, const std::byte* global) {
    if (global == nullptr) return;
    if (whole_rows) {
      if (count != 0 && row != first + count) {
        run(offset + first * box.pitch, count * box.pitch);
        count = 0;
      }
      if (count++ == 0) first = row;
      return;
    }
    for_each_piece(map, box, offset + row * box.pitch, [&](uint32_t from, uint32_t to, uint32_t bytes) {
      const uint32_t begin = std::max(to, part.begin), end = std::min(to + bytes, part.end);
      if (begin < end) run(from + (begin - to), end - begin);
    });
  });
  if (count != 0) run(offset + first * box.pitch, count * box.pitch);
}

void for_each_global_run(const TensorMapArgs& map, const TmaCoordinates& at, bool store,
                         const std::function<void(const std::byte*, uint32_t)>& run) {
  const Box box = box_of(map, at.mode);
  const RowPart part = inside_part(map, box, at, store);
  if (part.begin == part.end) return;
  for_each_row(map, box, at, [&](uint32_t, const std::byte* global) {
    if (global != nullptr) run(global + part.begin, part.end - part.begin);
  });
}

namespace {

__extension__ using Wide = unsigned __int128;  // a legal map may reach past 2^64

ByteRange cut_to_memory(Wide begin, Wide end) {
  const auto pointer = [](Wide address) {
    return reinterpret_cast<const std::byte*>(
        static_cast<uintptr_t>(std::min<Wide>(address, std::numeric_limits<uintptr_t>::max())));
  };
  // A range cut off at the end of the address space must not read as empty.
  const Wide top = std::numeric_limits<uintptr_t>::max() - 1;
  return {pointer(std::min(begin, top)), pointer(end)};
}

}  // namespace

ByteRange tma_global_range(const TensorMapArgs& map, const TmaCoordinates& at, bool store) {
  const Box box = box_of(map, at.mode);
  const RowPart part = inside_part(map, box, at, store);
  if (part.begin == part.end) return {};
  if (at.mode != TmaMode::tile) {
    ByteRange range;
    for_each_row(map, box, at, [&](uint32_t, const std::byte* row) {
      if (row == nullptr) return;
      if (range.begin == nullptr || row + part.begin < range.begin) range.begin = row + part.begin;
      range.end = std::max(range.end, row + part.end);
    });
    return range;
  }
  const int64_t first = int64_t{at.c[0]} * box.bits / 8;
  Wide begin = Wide{reinterpret_cast<uintptr_t>(map.address)} + static_cast<uint64_t>(first + part.begin);
  Wide end = begin + (part.end - part.begin);
  for (uint32_t d = 1; d < 5; ++d) {
    const int64_t start = coordinate(map, at, d), step = map.element_strides[d];
    const int64_t size = static_cast<int64_t>(map.dims[d]);
    const int64_t lowest = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t highest = std::min<int64_t>(box.extent[d] - 1, size - 1 < start ? -1 : (size - 1 - start) / step);
    if (lowest > highest) return {};
    begin += Wide{static_cast<uint64_t>(start + lowest * step)} * map.strides[d - 1];
    end += Wide{static_cast<uint64_t>(start + highest * step)} * map.strides[d - 1];
  }
  return cut_to_memory(begin, end);
}

}  // namespace warploom::loom
