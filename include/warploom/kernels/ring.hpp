// Data in a small ring: operands and sums are integers modulo a small prime, so that what reaches D is exact whatever
// its type. Where a contribution is wrong, missing or there twice, an element of D has the right value only by chance:
// one time in `modulus`, and D has many elements. Rounding hides nothing.
//
//   RingData ring = ring_for(DType::bf16, DType::e4m3, DType::e4m3, k, terms);
//   options.ring = ring.modulus;                       // the tensor cores' sums stay in the ring (loom/launch.hpp)
#pragma once

#include <cstdint>

#include "warploom/types/dtype.hpp"

namespace warploom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct RingData {
  uint32_t modulus = 0;  ///< 0: none
  uint32_t largest = 0;  ///< operands are from 0 to this
};

/// The largest ring, up to 251, in which D holds `terms` elements added up exactly, and operands of which `k` products
/// add up exactly in fp32.
RingData ring_for(DType d, DType a, DType b, int64_t k, int64_t terms);

/// Is `got` an integer that is `want` in the ring?
bool same_in_ring(double got, double want, uint32_t modulus);

/// Partial sums of a tile that the ring of a GEMM allows for.
inline constexpr int most_ring_splits = 16;

#pragma GCC visibility pop
}  // namespace warploom
