#include "mma_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#define WARPLOOM_X86 1
#else
#define WARPLOOM_X86 0
#endif

namespace warploom::loom {

namespace {

constexpr size_t d_pitch = 512;  // columns of tensor memory
constexpr uint32_t canonical_nan = 0x7fffffff;

// std::fma and not a*b+c: the compiler may or may not contract the latter, and the result must not depend on it.
void multiply_portable(const MmaTile& t) {
  for (uint32_t row = 0; row < t.rows; ++row) {
    uint32_t* d = t.d + row * d_pitch;
    for (uint32_t column = 0; column < t.n; ++column) {
      float sum = t.accumulate ? std::bit_cast<float>(d[column]) : 0.0f;
      for (uint32_t k = 0; k < t.k_extent; ++k)
        sum = std::fma(t.a[row * t.k_extent + k], t.b[k * mma_b_pitch + column], sum);
      d[column] = std::isnan(sum) ? canonical_nan : std::bit_cast<uint32_t>(sum);
    }
  }
}

#if WARPLOOM_X86

// Intrinsics behind a run-time choice rather than target_clones: those need ifuncs, which sanitizers and static linking
// dislike, and leave it to the compiler whether the loop becomes fused multiply-adds. The pragmas keep the sums in
// registers at -O2 as well: without them g++ 12 keeps an array in memory and runs at less than half the speed.

/// 8 rows by `Vectors` x 16 columns held in registers. `last` masks the last vector.
template <int Vectors>
[[gnu::target("avx512f")]] inline void block_avx512(const MmaTile& t, const float* a, const float* b, uint32_t* d,
                                                    __mmask16 last) {
  __mmask16 mask[Vectors];
#pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) mask[v] = v + 1 == Vectors ? last : static_cast<__mmask16>(0xffff);
  __m512 sum[8][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = t.accumulate ? _mm512_maskz_loadu_ps(mask[v], d + r * d_pitch + 16 * v) : _mm512_setzero_ps();
  const size_t k_extent = t.k_extent;
  for (size_t k = 0; k < k_extent; ++k, b += mma_b_pitch) {
    __m512 column[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) column[v] = _mm512_loadu_ps(b + 16 * v);
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      const __m512 value = _mm512_set1_ps(a[r * k_extent + k]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_fmadd_ps(value, column[v], sum[r][v]);
    }
  }
  const __m512i nan = _mm512_set1_epi32(canonical_nan);
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      const __mmask16 unordered = _mm512_cmp_ps_mask(sum[r][v], sum[r][v], _CMP_UNORD_Q);
      _mm512_mask_storeu_epi32(d + r * d_pitch + 16 * v, mask[v],
                               _mm512_mask_mov_epi32(_mm512_castps_si512(sum[r][v]), unordered, nan));
    }
}

[[gnu::target("avx512f")]] void multiply_avx512(const MmaTile& t) {
  for (uint32_t column = 0; column < t.n; column += 32) {
    const uint32_t width = std::min(t.n - column, 32u);
    const __mmask16 last = width % 16 == 0 ? 0xffff : 0x00ff;
    for (uint32_t row = 0; row < t.rows; row += 8) {
      const float* a = t.a + row * t.k_extent;
      uint32_t* d = t.d + row * d_pitch + column;
      if (width > 16)
        block_avx512<2>(t, a, t.b + column, d, last);
      else
        block_avx512<1>(t, a, t.b + column, d, last);
    }
  }
}

/// 4 rows by `Vectors` x 8 columns held in registers (there are only 16).
template <int Vectors>
[[gnu::target("avx2,fma")]] inline void block_avx2(const MmaTile& t, const float* a, const float* b, uint32_t* d) {
  __m256 sum[4][Vectors];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] =
          t.accumulate
              ? _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(d + r * d_pitch + 8 * v)))
              : _mm256_setzero_ps();
  const size_t k_extent = t.k_extent;
  for (size_t k = 0; k < k_extent; ++k, b += mma_b_pitch) {
    __m256 column[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) column[v] = _mm256_loadu_ps(b + 8 * v);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const __m256 value = _mm256_set1_ps(a[r * k_extent + k]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(value, column[v], sum[r][v]);
    }
  }
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(canonical_nan));
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      const __m256 unordered = _mm256_cmp_ps(sum[r][v], sum[r][v], _CMP_UNORD_Q);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + r * d_pitch + 8 * v),
                          _mm256_castps_si256(_mm256_blendv_ps(sum[r][v], nan, unordered)));
    }
}

[[gnu::target("avx2,fma")]] void multiply_avx2(const MmaTile& t) {
  for (uint32_t column = 0; column < t.n;) {
    const uint32_t width = t.n - column >= 16 ? 16 : 8;
    for (uint32_t row = 0; row < t.rows; row += 4) {
      const float* a = t.a + row * t.k_extent;
      uint32_t* d = t.d + row * d_pitch + column;
      if (width == 16)
        block_avx2<2>(t, a, t.b + column, d);
      else
        block_avx2<1>(t, a, t.b + column, d);
    }
    column += width;
  }
}

#endif

}  // namespace

MmaKernel mma_kernel(MmaIsa isa) {
#if WARPLOOM_X86
  __builtin_cpu_init();
  if (isa == MmaIsa::avx512) return __builtin_cpu_supports("avx512f") ? multiply_avx512 : nullptr;
  if (isa == MmaIsa::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply_avx2 : nullptr;
#endif
  return isa == MmaIsa::portable ? multiply_portable : nullptr;
}

MmaKernel best_mma_kernel() {
  static const MmaKernel best = [] {
    for (const MmaIsa isa : {MmaIsa::avx512, MmaIsa::avx2})
      if (const MmaKernel kernel = mma_kernel(isa)) return kernel;
    return mma_kernel(MmaIsa::portable);
  }();
  return best;
}

}  // namespace warploom::loom
