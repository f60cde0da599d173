// What the L2 cache should do with the lines of a copy: the operand of .L2::cache_hint, as a kernel's host chooses it.
#pragma once

#include <cstdint>

namespace warploom {

/// It changes nothing but which lines leave the cache first. All but `normal` are what createpolicy.fractional makes
/// with a fraction of 1. Its evict_normal would be 0x16f0..., with which large GEMMs lose 3 % on an H200: `normal` is
/// as good as no hint.
enum class CacheHint : uint64_t {
  normal = 0x1000'0000'0000'0000,
  evict_first = 0x12f0'0000'0000'0000,  ///< lines that are read once make room for each other
  evict_last = 0x14f0'0000'0000'0000,
};

}  // namespace warploom
