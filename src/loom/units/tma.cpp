// Tiled TMA boxes (hardware.md §2.3, 2.4). Everything moves in 16-byte units: a row of the box, the first coordinate
// and the shared address are multiples of 16 bytes, and the swizzles permute such units (or their halves).
#include "tma.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "loom/units/tma_quick.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t unit_bytes = 16;

/// The box as rows: dimension 0 is a row, dimensions 1.. count rows, dimension 1 fastest.
struct Box {
  uint32_t element = 1;  ///< bytes
  uint32_t row_bytes = 0;
  uint32_t pitch = 0;       ///< distance of rows in shared memory; the span even if the row is narrower
  uint32_t extent[5] = {};  ///< elements along each dimension
  uint32_t rows = 1;
};

Box box_of(const TensorMapArgs& map) {
  Box box;
  box.element = tma_element_bytes(map.type);
  box.extent[0] = map.box[0];  // the element stride of dimension 0 is ignored
  for (uint32_t d = 1; d < 5; ++d) {
    box.extent[d] = (map.box[d] + map.element_strides[d] - 1) / map.element_strides[d];
    box.rows *= box.extent[d];
  }
  box.row_bytes = box.extent[0] * box.element;
  box.pitch = map.swizzle == Swizzle::none ? box.row_bytes : swizzle_span(map.swizzle);
  return box;
}

int64_t coordinate(const TensorMapArgs& map, const int32_t* coordinates, uint32_t d) {
  return d < map.rank ? coordinates[d] : 0;
}

/// Calls visit(row number, address of the row's first byte, nullptr if it is outside dimensions 1..4).
template <class Visit>
void for_each_row(const TensorMapArgs& map, const Box& box, const int32_t* coordinates, Visit&& visit) {
  // Modulo 2^64: a row in bounds of an honest map never wraps, and one out of bounds is never touched.
  const uint64_t base =
      reinterpret_cast<uintptr_t>(map.address) + static_cast<uint64_t>(coordinate(map, coordinates, 0)) * box.element;
  uint32_t row = 0;
  uint32_t i[5] = {};
  while (row < box.rows) {
    uint64_t address = base;
    bool inside = true;
    for (uint32_t d = 1; d < 5; ++d) {
      const int64_t c = coordinate(map, coordinates, d) + int64_t{i[d]} * map.element_strides[d];
      inside = inside && c >= 0 && static_cast<uint64_t>(c) < map.dims[d];
      address += static_cast<uint64_t>(c) * map.strides[d - 1];
    }
    visit(row, inside ? reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address)) : nullptr);
    ++row;
    for (uint32_t d = 1; d < 5 && ++i[d] == box.extent[d]; ++d) i[d] = 0;
  }
}

/// The part [begin, end) of a row's bytes that lies within dimension 0.
struct RowPart {
  uint32_t begin = 0, end = 0;
};

RowPart inside_part(const TensorMapArgs& map, const Box& box, const int32_t* coordinates, bool store) {
  const int64_t first = coordinate(map, coordinates, 0);
  const int64_t begin = std::clamp<int64_t>(-first, 0, box.extent[0]);
  const int64_t end = std::clamp<int64_t>(static_cast<int64_t>(map.dims[0]) - first, begin, box.extent[0]);
  RowPart part{static_cast<uint32_t>(begin) * box.element, static_cast<uint32_t>(end) * box.element};
  // The H200 writes the last partly valid 16-byte unit of a row whole.
  if (store) part.end = (part.end + unit_bytes - 1) / unit_bytes * unit_bytes;
  if (part.begin == part.end) part = {};
  return part;
}

/// Moves one row between its place in shared memory and a plain buffer.
template <class Copy>
void for_each_piece(const TensorMapArgs& map, const Box& box, uint32_t row_address, Copy&& copy) {
  if (map.swizzle == Swizzle::none) return copy(row_address, 0u, box.row_bytes);
  const uint32_t piece = map.swizzle == Swizzle::b128_atom32_flip8 ? 8 : unit_bytes;
  for (uint32_t b = 0; b < box.row_bytes; b += piece) copy(swizzle_address(map.swizzle, row_address + b), b, piece);
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

uint32_t tma_box_bytes(const TensorMapArgs& map) {
  const Box box = box_of(map);
  return box.rows * box.row_bytes;
}

uint32_t tma_box_footprint(const TensorMapArgs& map) {
  const Box box = box_of(map);
  return box.rows * box.pitch;
}

std::string check_tma_copy(const TensorMapArgs& map, uint32_t shared_address, const int32_t* coordinates, uint32_t rank,
                           bool store) {
  const std::string kind = store ? "store" : "load";
  if (rank != map.rank)
    return "A " + std::to_string(rank) + "-dimensional TMA " + kind + " was given a tensor map of rank " +
           std::to_string(map.rank) + ".";
  if (map.interleave != 0) return "Interleaved tensor maps are not modelled by the loom.";
  if (shared_address % 128 != 0)
    return "The shared address of a TMA " + kind + " must be a multiple of 128 bytes, but lies " +
           std::to_string(shared_address % 128) + " past one.";
  const int64_t element = tma_element_bytes(map.type);
  if (coordinates[0] * element % unit_bytes != 0)
    return "Coordinate 0 of a TMA " + kind + " is " + std::to_string(coordinates[0]) + ", " +
           std::to_string(coordinates[0] * element) + " bytes; it must be a multiple of 16 bytes.";
  for (uint32_t d = 0; store && d < rank; ++d)
    if (coordinates[d] < 0)
      return "Coordinate " + std::to_string(d) + " of a TMA store is " + std::to_string(coordinates[d]) +
             "; only loads may start below zero.";
  return "";
}

void tma_load_box(const TensorMapArgs& map, const int32_t* coordinates, std::byte* window, uint32_t offset) {
  if (tma_load_quickly(map, coordinates, window, offset)) return;
  const Box box = box_of(map);
  const RowPart part = inside_part(map, box, coordinates, false);
  std::byte buffer[256 * 8];  // a row: 256 elements of 8 bytes at most
  for_each_row(map, box, coordinates, [&](uint32_t row, const std::byte* global) {
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

void tma_read_box(const TensorMapArgs& map, const std::byte* window, uint32_t offset, std::byte* staging) {
  const Box box = box_of(map);
  for (uint32_t row = 0; row < box.rows; ++row)
    for_each_piece(map, box, offset + row * box.pitch, [&](uint32_t from, uint32_t to, uint32_t bytes) {
      std::memcpy(staging + row * box.row_bytes + to, window + from, bytes);
    });
}

void tma_write_box(const TensorMapArgs& map, const int32_t* coordinates, const std::byte* staging) {
  const Box box = box_of(map);
  const RowPart part = inside_part(map, box, coordinates, true);
  if (part.begin == part.end) return;
  for_each_row(map, box, coordinates, [&](uint32_t row, std::byte* global) {
    if (global == nullptr) return;
    std::memcpy(global + part.begin, staging + row * box.row_bytes + part.begin, part.end - part.begin);
  });
}

ByteRange tma_global_range(const TensorMapArgs& map, const int32_t* coordinates, bool store) {
  const Box box = box_of(map);
  const RowPart part = inside_part(map, box, coordinates, store);
  if (part.begin == part.end) return {};
  __extension__ using Wide = unsigned __int128;  // a legal map may reach past 2^64
  const int64_t first = coordinate(map, coordinates, 0) * int64_t{box.element};
  Wide begin = Wide{reinterpret_cast<uintptr_t>(map.address)} + static_cast<uint64_t>(first + part.begin);
  Wide end = begin + (part.end - part.begin);
  for (uint32_t d = 1; d < 5; ++d) {
    const int64_t start = coordinate(map, coordinates, d), step = map.element_strides[d];
    const int64_t size = static_cast<int64_t>(map.dims[d]);
    const int64_t lowest = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t highest = std::min<int64_t>(box.extent[d] - 1, size - 1 < start ? -1 : (size - 1 - start) / step);
    if (lowest > highest) return {};
    begin += Wide{static_cast<uint64_t>(start + lowest * step)} * map.strides[d - 1];
    end += Wide{static_cast<uint64_t>(start + highest * step)} * map.strides[d - 1];
  }
  const auto pointer = [](Wide address) {
    return reinterpret_cast<const std::byte*>(
        static_cast<uintptr_t>(std::min<Wide>(address, std::numeric_limits<uintptr_t>::max())));
  };
  // A range cut off at the end of the address space must not read as empty.
  const Wide top = std::numeric_limits<uintptr_t>::max() - 1;
  return {pointer(std::min(begin, top)), pointer(end)};
}

}  // namespace warploom::loom
