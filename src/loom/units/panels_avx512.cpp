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

namespace warploom::loom {
namespace {

constexpr int canonical_nan = 0x7fffffff;

// ---------------------------------------------------------------------------------------------------- packing
//
// A unit of a K-major operand is 16 bytes of one row. Those of 16 rows are a matrix of 16 x 4 dwords; transposed, each
// vector has one dword of every row, and one, two or four vectors of f32 come out of it.

struct Bf16 {
  static constexpr int per_dword = 2;
  template <int i>
  [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] static __m512 element(__m512i dwords) {
    return _mm512_castsi512_ps(i == 0 ? _mm512_slli_epi32(dwords, 16)
                                      : _mm512_and_si512(dwords, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512 from_halves(__m512i low_halves) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(low_halves));
}

struct F16 {
  static constexpr int per_dword = 2;
  template <int i>
  [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] static __m512 element(__m512i dwords) {
    return from_halves(i == 0 ? dwords : _mm512_srli_epi32(dwords, 16));
  }
};

/// e5m2 is the upper byte of a half.
struct E5m2 {
  static constexpr int per_dword = 4;
  template <int i>
  [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] static __m512 element(__m512i dwords) {
    const __m512i moved = i == 0 ? _mm512_slli_epi32(dwords, 8) : _mm512_srli_epi32(dwords, i == 0 ? 0 : 8 * (i - 1));
    return from_halves(_mm512_and_si512(moved, _mm512_set1_epi32(0xff00)));
  }
};

/// e4m3 has a half's fields with one bit of the exponent less: as a half, 2^-8 of the value. Its NaN is no half's.
struct E4m3 {
  static constexpr int per_dword = 4;
  template <int i>
  [[gnu::target("avx512f,avx512bw"), gnu::always_inline]] static __m512 element(__m512i dwords) {
    const __m512i code = _mm512_srli_epi32(dwords, 8 * i);
    const __m512i magnitude = _mm512_and_si512(code, _mm512_set1_epi32(0x7f));
    const __m512i sign = _mm512_and_si512(_mm512_slli_epi32(code, 8), _mm512_set1_epi32(0x8000));
    const __m512 value =
        _mm512_mul_ps(from_halves(_mm512_or_si512(_mm512_slli_epi32(magnitude, 7), sign)), _mm512_set1_ps(256.0f));
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7f));
    return _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(_mm512_set1_epi32(canonical_nan)));
  }
};

[[gnu::always_inline]] inline __m128i load_unit(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

/// Units j, j + 4, j + 8 and j + 12 of 16 rows: eight at their places from `first`, eight more from `second`.
[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512i gather4(const std::byte* first,
                                                                               const std::byte* second,
                                                                               const uint32_t (&at)[8], uint32_t j) {
  __m512i all = _mm512_castsi128_si512(load_unit(first + at[j]));
  all = _mm512_inserti32x4(all, load_unit(first + at[j + 4]), 1);
  all = _mm512_inserti32x4(all, load_unit(second + at[j]), 2);
  return _mm512_inserti32x4(all, load_unit(second + at[j + 4]), 3);
}

template <class Type, int i = 0>
[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline void store_elements(__m512i dwords, float* out) {
  if constexpr (i < Type::per_dword) {
    _mm512_store_ps(out + panel_rows * i, Type::template element<i>(dwords));
    store_elements<Type, i + 1>(dwords, out);
  }
}

template <class Type>
[[gnu::target("avx512f,avx512bw")]] void pack_column(const UnitColumn& column, float* out, size_t stride) {
  constexpr size_t step = size_t{panel_rows} * Type::per_dword;
  const std::byte* first = column.base;
  for (uint32_t row = 0; row < column.rows; row += panel_rows, out += stride, first += size_t{2} * column.group) {
    // Of a last panel with eight rows the others are read again, and what comes of them is never looked at.
    const std::byte* second = column.rows - row < panel_rows ? first : first + column.group;
    // Lane l of row_j: the unit of row 4 * l + j.
    const __m512i row0 = gather4(first, second, column.at, 0), row1 = gather4(first, second, column.at, 1);
    const __m512i row2 = gather4(first, second, column.at, 2), row3 = gather4(first, second, column.at, 3);
    const __m512i low01 = _mm512_unpacklo_epi32(row0, row1), high01 = _mm512_unpackhi_epi32(row0, row1);
    const __m512i low23 = _mm512_unpacklo_epi32(row2, row3), high23 = _mm512_unpackhi_epi32(row2, row3);
    store_elements<Type>(_mm512_unpacklo_epi64(low01, low23), out);
    store_elements<Type>(_mm512_unpackhi_epi64(low01, low23), out + step);
    store_elements<Type>(_mm512_unpacklo_epi64(high01, high23), out + 2 * step);
    store_elements<Type>(_mm512_unpackhi_epi64(high01, high23), out + 3 * step);
  }
}

/// A unit of an MN-major operand stays together.
template <class Type>
[[gnu::target("avx512f,avx512bw")]] void pack_mn_major(const Operand& operand, const std::byte* shared, float* panels,
                                                       size_t stride) {
  const MnUnits units(operand);
  for (uint32_t k = 0; k < operand.k; ++k)
    for (uint32_t row = 0; row < operand.rows; row += units.rows()) {
      const __m128i codes = load_unit(shared + units.address(row, k));
      float* out = panels + row / panel_rows * stride + size_t{panel_rows} * k + row % panel_rows;
      if constexpr (Type::per_dword == 2) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_castsi128_si256(codes));
        _mm512_mask_storeu_ps(out, 0x00ff, Type::template element<0>(wide));
      } else {
        _mm512_storeu_ps(out, Type::template element<0>(_mm512_cvtepu8_epi32(codes)));
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
//
// The pragmas keep the sums in registers at -O2 as well: without them g++ 12 keeps an array in memory and runs at less
// than half the speed.

/// `Rows` rows by `Panels` x 16 columns held in registers. `last` masks the last panel.
template <int Rows, int Panels>
[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline void block_avx512(const PanelTile& t, const float* a,
                                                                                 const float* b, uint32_t* d,
                                                                                 __mmask16 last) {
  __mmask16 mask[Panels];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p) mask[p] = p + 1 == Panels ? last : static_cast<__mmask16>(0xffff);
  __m512 sum[Rows][Panels];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
      sum[r][p] = t.accumulate ? _mm512_maskz_loadu_ps(mask[p], d + static_cast<size_t>(r) * t.d_pitch + 16 * p)
                               : _mm512_setzero_ps();
  const size_t stride = t.b_stride;
  for (size_t k = 0; k < t.k_extent; ++k, a += panel_rows, b += panel_rows) {
    __m512 column[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) column[p] = _mm512_load_ps(b + static_cast<size_t>(p) * stride);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m512 value = _mm512_set1_ps(a[r]);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) sum[r][p] = _mm512_fmadd_ps(value, column[p], sum[r][p]);
    }
  }
  const __m512i nan = _mm512_set1_epi32(canonical_nan);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const __mmask16 unordered = _mm512_cmp_ps_mask(sum[r][p], sum[r][p], _CMP_UNORD_Q);
      _mm512_mask_storeu_epi32(d + static_cast<size_t>(r) * t.d_pitch + 16 * p, mask[p],
                               _mm512_mask_mov_epi32(_mm512_castps_si512(sum[r][p]), unordered, nan));
    }
}

/// A strip of `Panels` panels of B, down all rows.
template <int Panels>
[[gnu::target("avx512f,avx512bw")]] void strip_avx512(const PanelTile& t, uint32_t first_row, uint32_t last_row,
                                                      uint32_t column, __mmask16 last) {
  constexpr uint32_t rows = Panels == 4 ? 4 : 8;
  const float* b = t.b + column / panel_rows * t.b_stride;
  for (uint32_t row = first_row; row < last_row; row += rows) {
    look_ahead.fetch(rows == 4 ? 4 : 6);
    block_avx512<rows, Panels>(t, t.a + row / panel_rows * t.a_stride + row % panel_rows, b,
                               t.d + size_t{row} * t.d_pitch + column, last);
  }
}

}  // namespace

void pack_avx512(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  switch (operand.type) {
    case DType::bf16: return pack<Bf16>(operand, shared, panels, stride);
    case DType::f16: return pack<F16>(operand, shared, panels, stride);
    case DType::e4m3: return pack<E4m3>(operand, shared, panels, stride);
    default: return pack<E5m2>(operand, shared, panels, stride);
  }
}

void multiply_avx512(const PanelTile& t) {
  // What counts is how many registers of B and values of A are loaded for the products of both: four panels by four
  // rows and three by eight run at 165 GFLOP/s on an Ice Lake core that has 179, two by eight at 140 and one at 85. 64
  // rows at a time: A then stays in the first-level cache beside the strip of B.
  for (uint32_t row = 0; row < t.rows; row += 64) {
    const uint32_t end = std::min(row + 64, t.rows);
    for (uint32_t column = 0; column < t.n;) {
      const uint32_t left = (t.n - column + panel_rows - 1) / panel_rows;
      const uint32_t panels = left == 5 || left == 6 || left == 9 ? 3 : std::min(left, 4u);  // never ends in one
      const __mmask16 last = column + panels * panel_rows > t.n ? 0x00ff : 0xffff;
      if (panels == 4)
        strip_avx512<4>(t, row, end, column, last);
      else if (panels == 3)
        strip_avx512<3>(t, row, end, column, last);
      else if (panels == 2)
        strip_avx512<2>(t, row, end, column, last);
      else
        strip_avx512<1>(t, row, end, column, last);
      column += panels * panel_rows;
    }
  }
}

}  // namespace warploom::loom

#endif
