#include "loom/units/panels_x86.hpp"

#if WARPLOOM_X86

// g++ 12 takes the undefined vectors inside its own intrinsics for ours.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <algorithm>

#include "loom/units/look_ahead.hpp"
#include "loom/units/unit_places.hpp"

#define WARPLOOM_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define WARPLOOM_AVX2_INLINE [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline

namespace warploom::loom {
namespace {

constexpr int canonical_nan = 0x7fffffff;

// ---------------------------------------------------------------------------------------------------- packing
//
// As with wider vectors (panels_avx512.cpp), eight rows at a time.

struct Bf16 {
  static constexpr int per_dword = 2;
  template <int i>
  WARPLOOM_AVX2_INLINE static __m256 element(__m256i dwords) {
    return _mm256_castsi256_ps(i == 0 ? _mm256_slli_epi32(dwords, 16)
                                      : _mm256_and_si256(dwords, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

/// Of dwords below 2^16.
WARPLOOM_AVX2_INLINE __m256 from_halves(__m256i dwords) {
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(dwords), _mm256_extracti128_si256(dwords, 1)));
}

struct F16 {
  static constexpr int per_dword = 2;
  template <int i>
  WARPLOOM_AVX2_INLINE static __m256 element(__m256i dwords) {
    return from_halves(i == 0 ? _mm256_and_si256(dwords, _mm256_set1_epi32(0xffff)) : _mm256_srli_epi32(dwords, 16));
  }
};

/// e5m2 is the upper byte of a half.
struct E5m2 {
  static constexpr int per_dword = 4;
  template <int i>
  WARPLOOM_AVX2_INLINE static __m256 element(__m256i dwords) {
    const __m256i moved = i == 0 ? _mm256_slli_epi32(dwords, 8) : _mm256_srli_epi32(dwords, i == 0 ? 0 : 8 * (i - 1));
    return from_halves(_mm256_and_si256(moved, _mm256_set1_epi32(0xff00)));
  }
};

/// e4m3 has a half's fields with one bit of the exponent less: as a half, 2^-8 of the value. Its NaN is no half's.
struct E4m3 {
  static constexpr int per_dword = 4;
  template <int i>
  WARPLOOM_AVX2_INLINE static __m256 element(__m256i dwords) {
    const __m256i code = _mm256_srli_epi32(dwords, 8 * i);
    const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi32(0x7f));
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(code, 8), _mm256_set1_epi32(0x8000));
    const __m256 value =
        _mm256_mul_ps(from_halves(_mm256_or_si256(_mm256_slli_epi32(magnitude, 7), sign)), _mm256_set1_ps(256.0f));
    const __m256i nan = _mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x7f));
    return _mm256_blendv_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(canonical_nan)), _mm256_castsi256_ps(nan));
  }
};

/// Units j and j + 4 of eight rows.
WARPLOOM_AVX2_INLINE __m256i gather2(const std::byte* rows, const uint32_t (&at)[8], uint32_t j) {
  return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(rows + at[j + 4]),
                             reinterpret_cast<const __m128i*>(rows + at[j]));
}

template <class Type, int i = 0>
WARPLOOM_AVX2_INLINE void store_elements(__m256i dwords, float* out) {
  if constexpr (i < Type::per_dword) {
    _mm256_store_ps(out + static_cast<size_t>(panel_rows) * i, Type::template element<i>(dwords));
    store_elements<Type, i + 1>(dwords, out);
  }
}

template <class Type>
WARPLOOM_AVX2 void pack_column(const UnitColumn& column, float* panels, size_t stride) {
  constexpr size_t step = size_t{panel_rows} * Type::per_dword;
  const std::byte* rows = column.base;
  for (uint32_t row = 0; row < column.rows; row += 8, rows += column.group) {
    float* out = panels + row / panel_rows * stride + row % panel_rows;
    // Lane l of row_j: the unit of row 4 * l + j.
    const __m256i row0 = gather2(rows, column.at, 0), row1 = gather2(rows, column.at, 1);
    const __m256i row2 = gather2(rows, column.at, 2), row3 = gather2(rows, column.at, 3);
    const __m256i low01 = _mm256_unpacklo_epi32(row0, row1), high01 = _mm256_unpackhi_epi32(row0, row1);
    const __m256i low23 = _mm256_unpacklo_epi32(row2, row3), high23 = _mm256_unpackhi_epi32(row2, row3);
    store_elements<Type>(_mm256_unpacklo_epi64(low01, low23), out);
    store_elements<Type>(_mm256_unpackhi_epi64(low01, low23), out + step);
    store_elements<Type>(_mm256_unpacklo_epi64(high01, high23), out + 2 * step);
    store_elements<Type>(_mm256_unpackhi_epi64(high01, high23), out + 3 * step);
  }
}

template <class Type>
WARPLOOM_AVX2 void pack_mn_major(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  const MnUnits units(operand);
  for (uint32_t k = 0; k < operand.k; ++k)
    for (uint32_t row = 0; row < operand.rows; row += units.rows()) {
      const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(shared + units.address(row, k)));
      float* out = panels + row / panel_rows * stride + size_t{panel_rows} * k + row % panel_rows;
      if constexpr (Type::per_dword == 2) {
        _mm256_store_ps(out, Type::template element<0>(_mm256_cvtepu16_epi32(codes)));
      } else {
        _mm256_store_ps(out, Type::template element<0>(_mm256_cvtepu8_epi32(codes)));
        _mm256_store_ps(out + 8, Type::template element<0>(_mm256_cvtepu8_epi32(_mm_srli_si128(codes, 8))));
      }
    }
}

template <class Type>
void pack(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  if (operand.major == Major::k)
    pack_k_major(operand, shared, panels, stride, pack_column<Type>);
  else
    pack_mn_major<Type>(operand, shared, panels, stride);
}

// ---------------------------------------------------------------------------------------------------- multiplying

/// `Rows` rows by one panel held in registers (there are only 16). `Vectors`: 1 where the panel has eight columns.
template <int Rows, int Vectors>
WARPLOOM_AVX2_INLINE void block(const PanelTile& t, const float* a, const float* b, uint32_t* d) {
  __m256 sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = t.accumulate ? _mm256_castsi256_ps(_mm256_loadu_si256(
                                     reinterpret_cast<const __m256i*>(d + static_cast<size_t>(r) * t.d_pitch + 8 * v)))
                               : _mm256_setzero_ps();
  for (size_t k = 0; k < t.k_extent; ++k, a += panel_rows, b += panel_rows) {
    __m256 column[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) column[v] = _mm256_load_ps(b + 8 * v);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m256 value = _mm256_broadcast_ss(a + r);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(value, column[v], sum[r][v]);
    }
  }
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(canonical_nan));
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      const __m256 unordered = _mm256_cmp_ps(sum[r][v], sum[r][v], _CMP_UNORD_Q);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + static_cast<size_t>(r) * t.d_pitch + 8 * v),
                          _mm256_castps_si256(_mm256_blendv_ps(sum[r][v], nan, unordered)));
    }
}

/// A panel of B, down all rows. Twelve sums hide the latency of two multiply-adds per cycle with some to spare; a panel
/// of A is 6, 6 and 4 rows.
template <int Vectors>
WARPLOOM_AVX2 void strip(const PanelTile& t, const float* b, uint32_t* d) {
  for (uint32_t row = 0; row < t.rows; row += panel_rows) {
    const float* a = t.a + row / panel_rows * t.a_stride;
    uint32_t* rows = d + size_t{row} * t.d_pitch;
    look_ahead.fetch(4);
    if (t.rows - row >= panel_rows) {
      block<6, Vectors>(t, a, b, rows);
      block<6, Vectors>(t, a + 6, b, rows + 6 * t.d_pitch);
      block<4, Vectors>(t, a + 12, b, rows + 12 * t.d_pitch);
    } else {
      block<4, Vectors>(t, a, b, rows);
      block<4, Vectors>(t, a + 4, b, rows + 4 * t.d_pitch);
    }
  }
}

}  // namespace

void pack_avx2(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  switch (operand.type) {
    case DType::bf16: return pack<Bf16>(operand, shared, panels, stride);
    case DType::f16: return pack<F16>(operand, shared, panels, stride);
    case DType::e4m3: return pack<E4m3>(operand, shared, panels, stride);
    default: return pack<E5m2>(operand, shared, panels, stride);
  }
}

void multiply_avx2(const PanelTile& t) {
  for (uint32_t column = 0; column < t.n; column += panel_rows) {
    const float* b = t.b + column / panel_rows * t.b_stride;
    if (t.n - column >= panel_rows)
      strip<2>(t, b, t.d + column);
    else
      strip<1>(t, b, t.d + column);
  }
}

}  // namespace warploom::loom

#endif
