// The sums of exact_multiply.hpp, many columns at a time. One text for all instruction sets: vectors of the compiler,
// inlined into functions for AVX-512, AVX2 and the base architecture; all operations are on 32-bit integers, so that
// the bits are the same everywhere.
#include <algorithm>
#include <cstring>

#include "loom/units/exact_planes.hpp"

#if defined(__x86_64__)
#define WARPLOOM_X86 1
#else
#define WARPLOOM_X86 0
#endif
#define WARPLOOM_INLINE [[gnu::always_inline]] inline

namespace warploom::loom {

namespace {

using Planes = ExactMultiplier::Planes;

template <int lanes>
struct Vector {
  using Int [[gnu::vector_size(lanes * 4)]] = int32_t;
  using Word [[gnu::vector_size(lanes * 4)]] = uint32_t;
  using Real [[gnu::vector_size(lanes * 4)]] = float;
};
template <int lanes>
using Int = typename Vector<lanes>::Int;
template <int lanes>
using Word = typename Vector<lanes>::Word;
template <int lanes>
using Real = typename Vector<lanes>::Real;

template <int lanes>
WARPLOOM_INLINE Int<lanes> load(const void* from) {
  Int<lanes> vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}
template <class V>
WARPLOOM_INLINE void store(void* to, V vector) {
  std::memcpy(to, &vector, sizeof(vector));
}
template <class V>
WARPLOOM_INLINE V larger(V a, V b) {
  return a > b ? a : b;
}
template <class V>
WARPLOOM_INLINE V smaller(V a, V b) {
  return a < b ? a : b;
}
template <int lanes>
WARPLOOM_INLINE Int<lanes> all(int32_t value) {
  return Int<lanes>{} + value;
}
/// Right by 0 or more bits, zeros coming in.
template <int lanes>
WARPLOOM_INLINE Int<lanes> shift_right(Int<lanes> value, Int<lanes> bits) {
  return (Int<lanes>)((Word<lanes>)value >> (Word<lanes>)smaller(bits, all<lanes>(31)));
}
template <class V>
WARPLOOM_INLINE bool any(V mask) {
  uint64_t words[sizeof(V) / 8];
  std::memcpy(words, &mask, sizeof(mask));
  uint64_t seen = 0;
  for (const uint64_t word : words) seen |= word;
  return seen != 0;
}

/// D as it comes in, as a term.
template <int lanes>
struct Incoming {
  Int<lanes> exponent, magnitude, sign, special;
};

template <int lanes>
WARPLOOM_INLINE Incoming<lanes> read_d(ExactResult type, Int<lanes> d, int d_exponent) {
  const int mantissa = type == ExactResult::f16 ? 10 : 23, bits = type == ExactResult::f16 ? 5 : 8;
  const Int<lanes> field = d >> mantissa & ((1 << bits) - 1);
  const Int<lanes> normal = field != 0;
  const Int<lanes> magnitude = (d & ((1 << mantissa) - 1)) | (normal & 1 << mantissa);
  const Int<lanes> exponent = larger(field, all<lanes>(1)) + (d_exponent - ((1 << (bits - 1)) - 1));
  Incoming<lanes> in;
  in.special = field == (1 << bits) - 1;
  in.magnitude = magnitude & ~in.special;
  in.exponent = in.magnitude != 0 ? exponent : all<lanes>(exact_zero_exponent);
  in.sign = -(d >> (mantissa + bits) & 1);
  return in;
}

/// The sum's magnitude and sign: of up to three numbers of 32 bits whose sum may have 33.
template <int lanes>
struct Sum {
  Word<lanes> magnitude;
  Int<lanes> sign;
};
template <int lanes>
WARPLOOM_INLINE Sum<lanes> add(Int<lanes> a, Int<lanes> b, Int<lanes> c) {
  const Int<lanes> low = (a & 0xffff) + (b & 0xffff) + (c & 0xffff);
  const Int<lanes> high = (a >> 16) + (b >> 16) + (c >> 16) + (low >> 16);
  Sum<lanes> sum;
  sum.sign = high >> 31;
  const Word<lanes> wrapped = (Word<lanes>)a + (Word<lanes>)b + (Word<lanes>)c;
  sum.magnitude = (wrapped ^ (Word<lanes>)sum.sign) - (Word<lanes>)sum.sign;
  return sum;
}

/// sum * 2^exponent as f32, truncated; `keep` masks the mantissa.
template <int lanes>
WARPLOOM_INLINE Int<lanes> round_f32(Sum<lanes> sum, Int<lanes> exponent, int32_t keep) {
  // The leading 24 bits: what is above is found from a conversion that is exact.
  const Word<lanes> big = (Word<lanes>)(sum.magnitude >= (1u << 24));
  const Real<lanes> scaled = __builtin_convertvector((Int<lanes>)(sum.magnitude >> 8), Real<lanes>);
  Int<lanes> scaled_bits;
  std::memcpy(&scaled_bits, &scaled, sizeof(scaled));
  const Int<lanes> drop = ((scaled_bits >> 23) - (127 + 23 - 8)) & (Int<lanes>)big;
  const Int<lanes> leading = (Int<lanes>)(sum.magnitude >> (Word<lanes>)drop);
  const Real<lanes> exact = __builtin_convertvector(leading, Real<lanes>);
  Int<lanes> bits;
  std::memcpy(&bits, &exact, sizeof(exact));
  const Int<lanes> field = (bits >> 23) + drop + exponent;
  const Int<lanes> mantissa = bits & 0x7fffff;
  const Int<lanes> subnormal = shift_right<lanes>(mantissa | 0x800000, larger(1 - field, all<lanes>(0)));
  Int<lanes> result = field > 0 ? mantissa | larger(field, all<lanes>(0)) << 23 : subnormal;
  result = field >= 255 ? all<lanes>(0x7f800000) : result;
  result = sum.magnitude == 0 ? all<lanes>(0) : result & keep;
  return result != 0 ? result | (sum.sign & static_cast<int32_t>(0x80000000)) : result;
}

/// Terms of at most this many products fit 32 bits: each is below 4 * 2^25.
constexpr uint32_t chunk = 16;

/// `rows` rows by `lanes` columns; D in rows of `pitch`.
template <int lanes, int rows>
WARPLOOM_INLINE void block(const Planes& p, const ExactTile& tile, uint32_t row, uint32_t column, uint32_t* d,
                           size_t pitch) {
  using I = Int<lanes>;
  const ExactUnit& unit = p.form.unit;
  const uint32_t k_extent = p.form.k;
  const int mantissa = p.form.d_type == ExactResult::f16 ? 10 : 23;
  const int left = std::max(unit.fraction - mantissa, 0), right = std::max(mantissa - unit.fraction, 0);
  const size_t a = size_t{row} * k_extent;

  I top[rows], incoming[rows], d_right[rows], d_sign[rows], special{};
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    Incoming<lanes> in{all<lanes>(exact_zero_exponent), I{}, I{}, I{}};
    if (tile.accumulate)
      in = read_d<lanes>(p.form.d_type, load<lanes>(d + static_cast<size_t>(r) * pitch), tile.d_exponent);
    top[r] = larger(in.exponent, all<lanes>(unit.floor));
    incoming[r] = in.magnitude << left;
    d_right[r] = right - in.exponent;
    d_sign[r] = in.sign;
    special |= in.special;
  }
  for (uint32_t k = 0; k < k_extent; ++k) {
    const I exponent = load<lanes>(p.b_exponent + k * exact_b_pitch + column);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
      top[r] = larger(top[r], exponent + p.a_exponent[a + static_cast<uint32_t>(r) * k_extent + k]);
  }
  I sum[rows] = {}, first[rows] = {};
  for (uint32_t k = 0; k < k_extent; ++k) {
    if (k == chunk) {
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        first[r] = sum[r];
        sum[r] = I{};
      }
    }
    const size_t at = k * exact_b_pitch + column;
    const I exponent = load<lanes>(p.b_exponent + at);
    const I magnitude = load<lanes>(p.b_magnitude + at);
    const I sign = load<lanes>(p.b_sign + at);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const size_t from = a + static_cast<uint32_t>(r) * k_extent + k;
      const I bits = top[r] - (exponent + p.a_exponent[from]);
      const I negative = sign ^ p.a_sign[from];
      const I term = shift_right<lanes>(magnitude * p.a_magnitude[from], bits);
      sum[r] += (term ^ negative) - negative;
    }
  }
  const int32_t keep = ~((1 << (23 - unit.mantissa)) - 1);
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    const I term = shift_right<lanes>(incoming[r], top[r] + d_right[r]);
    const Sum<lanes> total = add<lanes>(first[r], sum[r], (term ^ d_sign[r]) - d_sign[r]);
    uint32_t* out = d + static_cast<size_t>(r) * pitch;
    uint32_t before[lanes] = {};
    if (tile.accumulate && any(special)) std::memcpy(before, out, sizeof(before));
    if (p.form.d_type == ExactResult::f32) {
      store(out, round_f32<lanes>(total, top[r] - unit.fraction, keep));
    } else {
      uint32_t magnitudes[lanes];
      int32_t signs[lanes], exponents[lanes];
      if (tile.accumulate) std::memcpy(before, out, sizeof(before));
      store(magnitudes, total.magnitude);
      store(signs, total.sign);
      store(exponents, top[r] - unit.fraction);
      for (int i = 0; i < lanes; ++i)
        out[i] = exact_round(ExactResult::f16, unit, signs[i] != 0, magnitudes[i], exponents[i]);
    }
    if (!p.special && !any(special)) continue;
    const uint32_t count = std::min(static_cast<uint32_t>(lanes), p.columns - column);
    for (uint32_t i = 0; i < count; ++i)
      if (exact_special_d(p.form.d_type, before[i]) ||
          (p.special && (p.a_special[row + static_cast<uint32_t>(r)] || p.b_special[column + i])))
        out[i] = exact_special(p, row + static_cast<uint32_t>(r), column + i, before[i]);
  }
}

/// 4 rows by `lanes` columns at a time. What is left of the columns is computed beside D.
template <int lanes>
WARPLOOM_INLINE void multiply(const Planes& p, const ExactTile& tile) {
  for (uint32_t c = 0; c < tile.columns; c += lanes) {
    const uint32_t width = std::min(tile.columns - c, static_cast<uint32_t>(lanes));
    for (uint32_t r = 0; r < tile.rows; r += 4) {
      uint32_t* d = tile.d + r * tile.d_pitch + c;
      const uint32_t row = tile.first_row + r, column = tile.first_column + c;
      if (width == lanes) {
        block<lanes, 4>(p, tile, row, column, d, tile.d_pitch);
        continue;
      }
      uint32_t beside[4][lanes] = {};
      for (size_t i = 0; i < 4; ++i) std::copy_n(d + i * tile.d_pitch, width, beside[i]);
      block<lanes, 4>(p, tile, row, column, beside[0], lanes);
      for (size_t i = 0; i < 4; ++i) std::copy_n(beside[i], width, d + i * tile.d_pitch);
    }
  }
}

template <int lanes>
WARPLOOM_INLINE void integers(const Planes& p, const ExactTile& tile) {
  for (uint32_t r = 0; r < tile.rows; ++r)
    for (uint32_t c = 0; c < tile.columns; c += lanes) {
      const uint32_t width = std::min(tile.columns - c, static_cast<uint32_t>(lanes));
      const size_t a = size_t{tile.first_row + r} * p.form.k;
      Int<lanes> sum{};
      for (uint32_t k = 0; k < p.form.k; ++k)
        sum += load<lanes>(p.b_magnitude + k * exact_b_pitch + tile.first_column + c) * p.a_magnitude[a + k];
      int32_t sums[lanes];
      store(sums, sum);
      uint32_t* d = tile.d + r * tile.d_pitch + c;
      for (uint32_t i = 0; i < width; ++i) {
        const int64_t exact = sums[i] + (tile.accumulate ? int64_t{static_cast<int32_t>(d[i])} : 0);
        const int64_t kept = p.form.saturate ? std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX) : exact;
        d[i] = static_cast<uint32_t>(kept);  // modulo 2^32
      }
    }
}

template <int lanes>
WARPLOOM_INLINE bool decode(const ExactFormat& format, const uint32_t* codes, size_t count, int shift, bool negate,
                            const ExactPlane& plane) {
  using I = Int<lanes>;
  const int mantissa_bits = format.mantissa_bits, sign_bit = mantissa_bits + format.exponent_bits;
  const int32_t mantissa_mask = (1 << mantissa_bits) - 1, field_mask = (1 << format.exponent_bits) - 1;
  I specials{};
  for (size_t i = 0; i < count; i += lanes) {
    const I code = (I)((Word<lanes>)load<lanes>(codes + i) >> static_cast<uint32_t>(format.ignored));
    const I field = code >> mantissa_bits & field_mask, mantissa = code & mantissa_mask;
    I special{};
    if (format.specials == ExactFormat::Specials::ieee) special = field == field_mask;
    if (format.specials == ExactFormat::Specials::nan_only)
      special = (field == field_mask) & (mantissa == mantissa_mask);
    const I magnitude = (mantissa | ((field != 0) & 1 << mantissa_bits)) & ~special;
    store(plane.magnitude + i, magnitude << shift);
    store(plane.exponent + i,
          magnitude != 0 ? larger(field, all<lanes>(1)) - format.bias : all<lanes>(exact_zero_exponent));
    store(plane.sign + i, -((code >> sign_bit & 1) ^ static_cast<int32_t>(negate)));
    specials |= special;
  }
  return any(specials);
}

#define WARPLOOM_EXACT_KERNELS(isa, lanes, ...)                                                            \
  __VA_ARGS__ void multiply_##isa(const Planes& p, const ExactTile& tile) { multiply<lanes>(p, tile); }    \
  __VA_ARGS__ void integers_##isa(const Planes& p, const ExactTile& tile) { integers<lanes>(p, tile); }    \
  __VA_ARGS__ bool decode_##isa(const ExactFormat& format, const uint32_t* codes, size_t count, int shift, \
                                bool negate, const ExactPlane& plane) {                                    \
    return decode<lanes>(format, codes, count, shift, negate, plane);                                      \
  }
WARPLOOM_EXACT_KERNELS(portable, 4, )
#if WARPLOOM_X86
WARPLOOM_EXACT_KERNELS(avx2, 8, [[gnu::target("avx2")]])
WARPLOOM_EXACT_KERNELS(avx512, 16, [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]])
#endif

}  // namespace

bool exact_isa_available(ExactIsa isa) {
#if WARPLOOM_X86
  __builtin_cpu_init();
  if (isa == ExactIsa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (isa == ExactIsa::avx2) return __builtin_cpu_supports("avx2");
#endif
  return isa == ExactIsa::portable;
}

ExactIsa best_exact_isa() {
  static const ExactIsa best = exact_isa_available(ExactIsa::avx512) ? ExactIsa::avx512
                               : exact_isa_available(ExactIsa::avx2) ? ExactIsa::avx2
                                                                     : ExactIsa::portable;
  return best;
}

ExactKernels exact_kernels(ExactIsa isa) {
#if WARPLOOM_X86
  if (isa == ExactIsa::avx512) return {multiply_avx512, integers_avx512, decode_avx512};
  if (isa == ExactIsa::avx2) return {multiply_avx2, integers_avx2, decode_avx2};
#endif
  return {multiply_portable, integers_portable, decode_portable};
}

}  // namespace warploom::loom
