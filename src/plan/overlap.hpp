// Whether two strided tensors share a byte, decided from strides and extents: element by element, and without a look at
// the elements. Three outputs in the columns of one buffer do not overlap, though each ends behind the other's
// beginning.
#pragma once

#include <cstdint>

namespace warploom {

/// `outer` x `batch` runs of `width` bytes each.
struct StridedBytes {
  struct Steps {
    int64_t count = 1;
    int64_t stride = 0;  ///< bytes, not negative
  };
  uintptr_t begin = 0;
  int64_t width = 0;
  Steps outer = {}, batch = {};
};

/// Exact, save for layouts that no three of the four strides fit into each other's gaps and whose batches are longer
/// than about 65 000: then it may say that tensors overlap that do not.
bool share_a_byte(const StridedBytes& x, const StridedBytes& y);

/// Whether two of its runs do. Exact.
bool overlaps_itself(const StridedBytes& x);

}  // namespace warploom
