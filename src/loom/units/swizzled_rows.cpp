#include "loom/units/swizzled_rows.hpp"

#include <cstring>

#include "loom/units/panels_x86.hpp"

#if WARPLOOM_X86
// g++ 12 takes the undefined vectors inside its own intrinsics for ours.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif

namespace warploom::loom {
namespace {

constexpr uint32_t unit = 16;
constexpr uint32_t rows_ahead = 8;  // rows lie far apart in global memory, where no hardware looks ahead

template <uint32_t units>
void copy_portable(const std::byte* from, size_t stride, std::byte* window, uint32_t offset, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row, from += stride, offset += units * unit) {
    // Where rows are shorter than a line, the offset of a row within its line is no part of the permutation.
    const uint32_t line = offset >> 7 & (units - 1);
    std::byte* to = window + offset;
    for (uint32_t u = 0; u < units; u += 4) __builtin_prefetch(from + rows_ahead * stride + u * unit);
    __builtin_prefetch(from + rows_ahead * stride + units * unit - 1);  // a row may begin inside a line
    for (uint32_t u = 0; u < units; ++u) std::memcpy(to + (u ^ line) * unit, from + u * unit, unit);
  }
}

#if WARPLOOM_X86
/// A row is two vectors: the upper bit of the permutation exchanges them, the others permute within both.
[[gnu::target("avx512f")]] void copy_b128_avx512(const std::byte* from, size_t stride, std::byte* window,
                                                 uint32_t offset, uint32_t rows) {
  const __m512i in_order = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (uint32_t row = 0; row < rows; ++row, from += stride, offset += 8 * unit) {
    const uint32_t line = offset >> 7 & 7, half = (line & 4) * unit;
    __builtin_prefetch(from + rows_ahead * stride);
    __builtin_prefetch(from + rows_ahead * stride + 64);
    __builtin_prefetch(from + rows_ahead * stride + 127);  // a row may begin inside a line
    const __m512i places = _mm512_xor_si512(in_order, _mm512_set1_epi64(2 * (line & 3)));
    const __m512i low = _mm512_permutexvar_epi64(places, _mm512_loadu_si512(from));
    const __m512i high = _mm512_permutexvar_epi64(places, _mm512_loadu_si512(from + 64));
    _mm512_storeu_si512(window + offset + half, low);
    _mm512_storeu_si512(window + offset + (half ^ 64), high);
  }
}
#endif

}  // namespace

RowCopy copy_swizzled_rows(Swizzle swizzle, Isa isa) {
#if WARPLOOM_X86
  __builtin_cpu_init();
  if (isa == Isa::avx512)
    return swizzle == Swizzle::b128 && __builtin_cpu_supports("avx512f") ? copy_b128_avx512 : nullptr;
#endif
  if (isa != Isa::portable) return nullptr;
  switch (swizzle) {
    case Swizzle::b32: return copy_portable<2>;
    case Swizzle::b64: return copy_portable<4>;
    case Swizzle::b128: return copy_portable<8>;
    default: return nullptr;
  }
}

RowCopy copy_swizzled_rows(Swizzle swizzle) {
  static const RowCopy b128 = copy_swizzled_rows(Swizzle::b128, Isa::avx512);
  return swizzle == Swizzle::b128 && b128 != nullptr ? b128 : copy_swizzled_rows(swizzle, Isa::portable);
}

}  // namespace warploom::loom
