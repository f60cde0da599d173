// The cases of wgmma_exact, for either machine: every combination of types on tiles of random numbers, each tile drawn
// in one of eight ways, compared with the plain model of wgmma_exact_model.hpp. `products` dot products per case.
#pragma once

#include "wgmma_check_cases.hpp"
#include "wgmma_exact_kernel.hpp"
#include "wgmma_exact_model.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// Random codes that make one property of the arithmetic show.
class ExactDraw {
 public:
  enum Profile : uint32_t {
    moderate,
    wide,
    cancellation,
    tiny,
    specials,
    overflow,
    one_large,
    small_integers,
    profiles
  };

  ExactDraw(uint64_t seed, Profile profile) : random_(seed), profile_(profile) {}

  /// One element of an operand; k is its place.
  uint32_t operand(WgmmaType type, uint32_t k) {
    if (is_integer(type)) return integer();
    const ExactLayout layout = ExactLayout::of(type);
    const uint32_t ignored = type == WgmmaType::tf32 ? random_.below(1u << 13) : 0;
    const uint32_t code = finite(layout, k);
    return type == WgmmaType::tf32 ? code << 13 | ignored : code;
  }
  /// One element of the incoming D.
  uint32_t addend(WgmmaResult result, WgmmaType type) {
    if (result == WgmmaResult::s32) {
      const uint32_t word = random_.word();
      switch (profile_ % 3) {
        case 0: return word;
        case 1: return 0x7fffffffu - word % 300000;  // within reach of the limits
        default: return 0x80000000u + word % 300000;
      }
    }
    const ExactLayout layout = ExactLayout::of(result);
    const auto bias = static_cast<uint32_t>(layout.bias());
    switch (profile_) {
      case tiny: {
        const uint32_t field =
            result == WgmmaResult::f32 && is_narrow(type) ? bias - 20 + random_.below(12) : random_.below(3);
        return random_.below(3) == 0 ? sign(layout) : code(layout, field);
      }
      case specials: return random_.below(48) == 0 ? special(layout) : code(layout, bias - 3 + random_.below(8));
      case overflow: return code(layout, layout.last_field() - 1 - random_.below(3));
      case small_integers: return code(layout, bias + static_cast<uint32_t>(layout.mantissa_bits) + random_.below(3));
      case cancellation: return random_.below(2) == 0 ? 0 : code(layout, bias - 10 + random_.below(8));
      default: return random_.below(16) == 0 ? 0 : code(layout, bias - 6 + random_.below(12));
    }
  }

 private:
  static bool is_narrow(WgmmaType type) { return ExactLayout::of(type).exponent_bits < 8; }
  uint32_t sign(const ExactLayout& layout) { return random_.below(2) << (layout.exponent_bits + layout.mantissa_bits); }
  uint32_t code(const ExactLayout& layout, uint32_t field) {
    const uint32_t most = layout.last_field() - (layout.infinities ? 1 : 0);
    if (field > most) field = most;
    uint32_t mantissa = random_.below(1u << layout.mantissa_bits);
    if (!layout.infinities && field == layout.last_field() && mantissa + 1 == 1u << layout.mantissa_bits) --mantissa;
    return sign(layout) | field << layout.mantissa_bits | mantissa;
  }
  uint32_t special(const ExactLayout& layout) {
    const uint32_t last = layout.last_field() << layout.mantissa_bits, ones = (1u << layout.mantissa_bits) - 1;
    switch (random_.below(4)) {
      case 0: return sign(layout) | (layout.infinities ? last : last | ones);  // an infinity, or NaN
      case 1: return sign(layout) | last | ones;
      case 2: return sign(layout);
      default: return sign(layout) | (layout.infinities ? last - 1 : last | (ones - 1));  // the largest
    }
  }

  uint32_t finite(const ExactLayout& layout, uint32_t k) {
    const bool narrow = layout.exponent_bits < 8;
    const auto bias = static_cast<uint32_t>(layout.bias()), last = layout.last_field();
    switch (profile_) {
      case wide: return narrow ? code(layout, random_.below(last)) : code(layout, bias - 25 + random_.below(50));
      case cancellation: {  // the second of a pair is the first with another sign, and perhaps another last bit
        if (k % 2 == 0) return kept_ = code(layout, bias - 3 + random_.below(6));
        return kept_ ^ 1u << (layout.exponent_bits + layout.mantissa_bits) ^ (random_.below(4) == 0 ? 1u : 0u);
      }
      case tiny:
        if (random_.below(6) == 0) return sign(layout);
        if (narrow) return code(layout, random_.below(3));
        return code(layout, random_.below(8) == 0 ? random_.below(2) : bias - 77 + random_.below(22));
      case specials: return random_.below(96) == 0 ? special(layout) : code(layout, bias - 3 + random_.below(6));
      case overflow:
        return narrow ? code(layout, last - 1 - random_.below(6)) : code(layout, bias + 58 + random_.below(8));
      case one_large: return code(layout, k % 11 == 3 ? bias + 5 : bias - 6 + random_.below(4));
      case small_integers: {
        const uint32_t value = random_.below(5);  // 0 to 4: exact in every format
        if (value == 0) return sign(layout);
        const uint32_t exponent = value == 1 ? 0 : value == 4 ? 2 : 1;
        const uint32_t half = value == 3 ? 1u << (layout.mantissa_bits - 1) : 0;
        return sign(layout) | (bias + exponent) << layout.mantissa_bits | half;
      }
      default: return code(layout, bias - 4 + random_.below(8));
    }
  }

  uint32_t integer() {
    const uint32_t word = random_.word();
    if (profile_ % 4 == 1) return word % 2 == 0 ? 0x80 : 0x7f;
    if (profile_ % 4 == 3) return word % 3 == 0 ? 0xff : word >> 24;
    return word >> 24;
  }

  Random random_;
  Profile profile_;
  uint32_t kept_ = 0;
};

/// `products` is rounded up to whole tiles.
template <class Machine, uint32_t products>
struct WgmmaExact {
  template <class Form>
  static void run(Machine& machine, Comparison& c) {
    constexpr uint32_t tiles = (products + 64 * Form::n - 1) / (64 * Form::n), per_launch = 128;
    for (uint32_t first = 0; first < tiles; first += per_launch)
      launch<Form>(machine, c, first, first + per_launch < tiles ? per_launch : tiles - first);
  }

  template <class Form>
  static void launch(Machine& machine, Comparison& c, uint32_t first, uint32_t count) {
    using K = WgmmaExactProbe<Form>;
    using A = typename Form::A;
    constexpr uint32_t n = Form::n, k = K::TileA::k, steps = ExactTileRules::most_steps, extent = steps * k;
    const ExactModel model(wgmma_type_of<A>, wgmma_type_of<typename Form::B>, Form::result, Form::negate,
                           Form::overflow);
    Words a_words, b_words, a_registers, addends;
    std::vector<uint32_t> want;
    for (uint32_t tile = first; tile < first + count; ++tile) {
      const uint64_t seed = (uint64_t{static_cast<uint32_t>(wgmma_type_of<A>)} << 40) + (uint64_t{n} << 32) + tile;
      ExactDraw draw(seed * 0x9e3779b97f4a7c15u, static_cast<ExactDraw::Profile>(tile % ExactDraw::profiles));
      Words a(64 * extent), b(n * extent), d(64 * n);
      for (size_t i = 0; i < a.size(); ++i) a[i] = draw.operand(wgmma_type_of<A>, static_cast<uint32_t>(i));
      for (size_t i = 0; i < b.size(); ++i)  // a pair of A meets two of B with equal magnitude
        b[i] = tile % ExactDraw::profiles == ExactDraw::cancellation && i % 2 == 1
                   ? b[i - 1]
                   : draw.operand(wgmma_type_of<typename Form::B>, 0);
      for (uint32_t& word : d) word = draw.addend(Form::result, wgmma_type_of<A>);
      lay_out<typename K::TileA>(a, extent, a_words);
      lay_out<typename K::TileB>(b, extent, b_words);
      put_registers<A, k>(a, extent, a_registers);
      put_accumulator<Form>(d, addends);

      const Words x = significant<A>(a), y = significant<typename Form::B>(b);
      for (uint32_t step = 0; step < ExactTileRules::steps(tile); ++step)
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t column = 0; column < n; ++column)
            d[row * n + column] = model.dot(&x[row * extent + step * k], &y[column * extent + step * k], k,
                                            ExactTileRules::reads_c(tile) || step > 0, d[row * n + column]);
      put_accumulator<Form>(d, want);
    }
    uint32_t* out = machine.memory(Words(want.size(), 0xcccccccc), true);
    machine.template launch<K>({{count}, {1}, K::threads}, {first, machine.memory(a_words), machine.memory(b_words),
                                                            machine.memory(a_registers), machine.memory(addends), out});
    const Words got = machine.read(out, want.size());
    c.got.insert(c.got.end(), got.begin(), got.end());
    c.want.insert(c.want.end(), want.begin(), want.end());
  }

  /// Rows of codes as they lie in shared memory.
  template <class Tile>
  static void lay_out(const Words& codes, uint32_t extent, Words& words) {
    Words tile(Tile::bytes / 4, 0);
    for (uint32_t step = 0; step < Tile::steps; ++step)
      for (uint32_t row = 0; row < Tile::rows; ++row)
        for (uint32_t k = 0; k < Tile::k; ++k) {
          const uint32_t at = WgmmaCheck<Machine>::template place<Tile>(step, row, k);
          tile[at / 4] |= codes[row * extent + step * Tile::k + k] << at % 4 * 8;
        }
    words.insert(words.end(), tile.begin(), tile.end());
  }

  template <class A, uint32_t instruction_k>
  static void put_registers(const Words& codes, uint32_t extent, Words& words) {
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t step = 0; step < ExactTileRules::most_steps; ++step)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t lane = thread % 32, row = 16 * (thread / 32) + lane / 4 + 8 * (i % 2);
          const uint32_t k = step * instruction_k + (4 * (lane % 4) + 16 * (i / 2)) / sizeof(A);
          uint32_t word = 0;
          for (uint32_t j = 0; j < 4 / sizeof(A); ++j) word |= codes[row * extent + k + j] << j * sizeof(A) * 8;
          words.push_back(word);
        }
  }

  /// D as the threads' registers hold it; f16 in pairs.
  template <class Form>
  static void put_accumulator(const Words& d, Words& words) {
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < Form::n / 2; ++i) {
        const uint32_t lane = thread % 32, row = 16 * (thread / 32) + lane / 4 + 8 * (i / 2 % 2);
        const uint32_t value = d[row * Form::n + 8 * (i / 4) + 2 * (lane % 4) + i % 2];
        if (Form::result == WgmmaResult::f16 && i % 2 == 1)
          words.back() |= value << 16;
        else
          words.push_back(value);
      }
  }

  static std::vector<Case<Machine>> cases() {
    using R = WgmmaResult;
    using N = WgmmaNegate;
    constexpr auto clamp = WgmmaOverflow::clamp;
    return {{"f16-f32", &run<ExactForm<64, f16, f16, R::f32>>},
            {"f16-f16", &run<ExactForm<64, f16, f16, R::f16>>},
            {"bf16-f32", &run<ExactForm<64, bf16, bf16, R::f32>>},
            {"tf32-f32", &run<ExactForm<64, tf32, tf32, R::f32>>},
            {"e4m3-e4m3-f32", &run<ExactForm<64, e4m3, e4m3, R::f32>>},
            {"e4m3-e5m2-f32", &run<ExactForm<64, e4m3, e5m2, R::f32>>},
            {"e5m2-e4m3-f32", &run<ExactForm<64, e5m2, e4m3, R::f32>>},
            {"e5m2-e5m2-f32", &run<ExactForm<64, e5m2, e5m2, R::f32>>},
            {"e4m3-e4m3-f16", &run<ExactForm<64, e4m3, e4m3, R::f16>>},
            {"e4m3-e5m2-f16", &run<ExactForm<64, e4m3, e5m2, R::f16>>},
            {"e5m2-e4m3-f16", &run<ExactForm<64, e5m2, e4m3, R::f16>>},
            {"e5m2-e5m2-f16", &run<ExactForm<64, e5m2, e5m2, R::f16>>},
            {"s8-s8", &run<ExactForm<64, int8_t, int8_t, R::s32>>},
            {"s8-u8", &run<ExactForm<64, int8_t, uint8_t, R::s32>>},
            {"u8-s8", &run<ExactForm<64, uint8_t, int8_t, R::s32>>},
            {"u8-u8", &run<ExactForm<64, uint8_t, uint8_t, R::s32>>},
            {"s8-s8-clamp", &run<ExactForm<64, int8_t, int8_t, R::s32, N::none, clamp>>},
            {"s8-u8-clamp", &run<ExactForm<64, int8_t, uint8_t, R::s32, N::none, clamp>>},
            {"u8-s8-clamp", &run<ExactForm<64, uint8_t, int8_t, R::s32, N::none, clamp>>},
            {"u8-u8-clamp", &run<ExactForm<64, uint8_t, uint8_t, R::s32, N::none, clamp>>},
            // Negation, and other N.
            {"f16-f32-minus-a", &run<ExactForm<8, f16, f16, R::f32, N::a>>},
            {"bf16-f32-minus-b", &run<ExactForm<40, bf16, bf16, R::f32, N::b>>},
            {"tf32-f32-minus-both", &run<ExactForm<72, tf32, tf32, R::f32, N::both>>},
            {"e4m3-f32-minus-a", &run<ExactForm<120, e4m3, e4m3, R::f32, N::a>>},
            {"f16-f16-minus-b", &run<ExactForm<24, f16, f16, R::f16, N::b>>},
            {"e5m2-f16-minus-both", &run<ExactForm<136, e5m2, e5m2, R::f16, N::both>>},
            {"s8-u8-n24", &run<ExactForm<24, int8_t, uint8_t, R::s32>>},
            {"f16-f16-n256", &run<ExactForm<256, f16, f16, R::f16>>},
            {"s8-s8-n208", &run<ExactForm<208, int8_t, int8_t, R::s32>>}};
  }

 private:
  /// Codes without the low bits that tf32 ignores.
  template <class T>
  static Words significant(Words codes) {
    if (wgmma_type_of<T> == WgmmaType::tf32)
      for (uint32_t& code : codes) code >>= 13;
    return codes;
  }
};

/// 2^20 dot products per case, and a few for a quick test.
template <class Machine>
std::vector<Case<Machine>> wgmma_exact_cases() {
  return WgmmaExact<Machine, 1u << 20>::cases();
}
template <class Machine>
std::vector<Case<Machine>> wgmma_exact_samples() {
  return WgmmaExact<Machine, 10 * 64 * 64>::cases();
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
