#include "loom/units/tma_quick.hpp"

#include <cstddef>
#include <cstring>

#include "loom/units/look_ahead.hpp"
#include "loom/units/swizzled_rows.hpp"
#include "loom/units/tma.hpp"

namespace warploom::loom {
namespace {

/// Where the boxes of a tensor go: those of a GEMM follow each other along K, some of them between two multiplications.
struct Course {
  const void* tensor = nullptr;
  int32_t row = 0, column = 0;  ///< of the last box
  uint64_t computations = 0;    ///< when it was loaded
  uint32_t run = 0, last_run = 0;
};
thread_local constinit Course courses[64];

/// How many boxes of the same rows further on the one lies that will be loaded after the next multiplication; 0:
/// unknown.
uint32_t boxes_ahead(const TensorMapArgs& map, const int32_t* coordinates) {
  // Tensors and tiles begin at round numbers: a product spreads them.
  const uint64_t place = reinterpret_cast<uintptr_t>(map.address) + static_cast<uint32_t>(coordinates[1]);
  Course& course = courses[place * 0x9e3779b97f4a7c15 >> 58];
  const uint64_t now = look_ahead.computations;
  const bool same_rows = course.tensor == map.address && course.row == coordinates[1];
  if (same_rows && course.column == coordinates[0]) return 0;  // it goes to another CTA, too
  if (!same_rows || course.column + static_cast<int32_t>(map.box[0]) != coordinates[0]) {
    course = {map.address, coordinates[1], coordinates[0], now, 1, 0};
    return 0;
  }
  course.column = coordinates[0];
  if (course.computations != now) {
    course.last_run = course.run;
    course.run = 0;
    course.computations = now;
  }
  ++course.run;
  return course.last_run;
}

}  // namespace

bool tma_load_quickly(const TensorMapArgs& map, const int32_t* coordinates, std::byte* window, uint32_t offset) {
  if (map.type == TmaType::tf32 || map.type == TmaType::tf32_ftz || map.type >= TmaType::u4_align8 || map.rank < 2 ||
      map.interleave != 0 || map.element_strides[1] != 1)
    return false;
  const uint32_t element = tma_element_bits(map.type) / 8, row_bytes = map.box[0] * element;
  const std::byte* from = static_cast<const std::byte*>(map.address);
  for (uint32_t d = 0; d < map.rank; ++d) {
    if (coordinates[d] < 0 || static_cast<uint64_t>(coordinates[d]) + map.box[d] > map.dims[d]) return false;
    if (d > 1 && map.box[d] != 1) return false;
    from += static_cast<uint64_t>(coordinates[d]) * (d == 0 ? element : map.strides[d - 1]);
  }
  const uint32_t rows = map.box[1];
  const size_t stride = map.strides[0];
  if (map.swizzle == Swizzle::none) {
    for (uint32_t row = 0; row < rows; ++row)
      std::memcpy(window + offset + size_t{row} * row_bytes, from + row * stride, row_bytes);
    return true;
  }
  const RowCopy copy = copy_swizzled_rows(map.swizzle);
  if (copy == nullptr || row_bytes != swizzle_span(map.swizzle)) return false;
  if (const uint32_t ahead = boxes_ahead(map, coordinates); ahead != 0)
    look_ahead.want(from + size_t{ahead} * row_bytes, stride, rows, row_bytes);
  copy(from, stride, window, offset, rows);
  return true;
}

}  // namespace warploom::loom
