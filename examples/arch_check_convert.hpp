// Cases of arch_check and tcgen05_check: every form of cvt, over f32 inputs with each upper half and over each lower
// half of narrow codes.
#pragma once

#include "arch_check_numbers.hpp"
#include "warploom/arch/convert.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// What Hopper has.
struct ConvertProbe : Probe<256> {
  static constexpr char name[] = "convert";
  static constexpr uint32_t count = 65536, words = 14;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  static WARPLOOM_FN void run(const Params& params) noexcept {
    constexpr auto even = Rounding::nearest_even, cut = Rounding::toward_zero, away = Rounding::nearest_away;
    constexpr auto finite = Overflow::saturate, special = Overflow::special;
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    const float low = arch::as_float(SmallPackProbe::low(i)), high = arch::as_float(SmallPackProbe::high(i));
    const auto codes = static_cast<uint16_t>(i);
    const uint32_t halves = i | pattern(i) << 16;
    Output out{params.out + i, count};
    out.put(arch::pack<e4m3>(low, high) | static_cast<uint32_t>(arch::pack<e4m3, true>(high, low)) << 16);
    out.put(arch::pack<e5m2>(low, high) | static_cast<uint32_t>(arch::pack<e5m2, true>(high, low)) << 16);
    out.put(arch::pack_halves<e4m3>(halves) | static_cast<uint32_t>(arch::pack_halves<e4m3, true>(halves)) << 16);
    out.put(arch::pack_halves<e5m2>(halves) | static_cast<uint32_t>(arch::pack_halves<e5m2, true>(halves)) << 16);
    out.put(arch::unpack<e4m3>(codes));
    out.put(arch::unpack<e5m2>(codes));
    out.put(arch::pack_f16<cut, special>(low, high));
    out.put(arch::pack_f16<even, finite, true>(low, high));
    out.put(arch::pack_f16<cut, finite>(high, low));
    out.put(arch::pack_bf16<cut, special, true>(low, high));
    out.put(arch::pack_bf16<even, finite>(low, high));
    out.put(arch::to_tf32<away>(low));
    out.put(arch::to_tf32<even>(high));
    out.put(arch::to_tf32<cut>(low));
  }
};

/// What Blackwell adds.
struct NarrowProbe : Probe<256> {
  static constexpr char name[] = "convert-narrow";
  static constexpr uint32_t count = 65536, words = 12;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  static WARPLOOM_FN void run(const Params& params) noexcept {
    constexpr auto down = ScaleRounding::toward_zero, up = ScaleRounding::up;
    constexpr auto finite = Overflow::saturate, special = Overflow::special;
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    const float low = arch::as_float(SmallPackProbe::low(i)), high = arch::as_float(SmallPackProbe::high(i));
    const auto codes = static_cast<uint16_t>(i);
    const uint32_t brains = i | pattern(i) << 16;
    Output out{params.out + i, count};
    out.put(arch::pack<e2m3>(low, high) | static_cast<uint32_t>(arch::pack<e2m3, true>(high, low)) << 16);
    out.put(arch::pack<e3m2>(low, high) | static_cast<uint32_t>(arch::pack<e3m2, true>(high, low)) << 16);
    out.put(arch::pack<e2m1>(low, high) | static_cast<uint32_t>(arch::pack<e2m1, true>(high, low)) << 16);
    out.put(arch::unpack<e2m3>(static_cast<uint16_t>(codes & 0x3f3f)));
    out.put(arch::unpack<e3m2>(static_cast<uint16_t>(codes & 0x3f3f)));
    out.put(arch::unpack<e2m1>(static_cast<uint16_t>(codes & 0xff)));
    out.put(arch::pack_ue8m0<down, finite>(low, high) | static_cast<uint32_t>(arch::pack_ue8m0<up, finite>(low, high))
                                                            << 16);
    out.put(arch::pack_ue8m0<down, special>(low, high) | static_cast<uint32_t>(arch::pack_ue8m0<up, special>(low, high))
                                                             << 16);
    out.put(arch::pack_ue8m0_bf16<down, finite>(brains) |
            static_cast<uint32_t>(arch::pack_ue8m0_bf16<up, finite>(brains)) << 16);
    out.put(arch::pack_ue8m0_bf16<down, special>(brains) |
            static_cast<uint32_t>(arch::pack_ue8m0_bf16<up, special>(brains)) << 16);
    out.put(arch::unpack_ue8m0(codes));
    out.put(0);
  }
};

template <class Machine>
struct ConvertCheck {
  static float low(uint32_t i) { return std::bit_cast<float>(SmallPackProbe::low(i)); }
  static float high(uint32_t i) { return std::bit_cast<float>(SmallPackProbe::high(i)); }
  /// .relu: negative numbers and -0 to +0; a NaN is left alone.
  static float positive(float x) { return std::signbit(x) && x == x ? 0.0f : x; }
  static float half(uint32_t bits) { return to_float(f16{static_cast<uint16_t>(bits)}); }
  template <class T>
  static uint32_t pair(float a, float b, int width = 8) {
    return convert_to<T>(a).bits | static_cast<uint32_t>(convert_to<T>(b).bits) << width;
  }
  /// Both forms of pack.
  template <class T>
  static uint32_t pairs(uint32_t i, int width = 8) {
    return pair<T>(low(i), high(i), width) | pair<T>(positive(high(i)), positive(low(i)), width) << 16;
  }
  template <class T>
  static uint32_t halves_of(uint32_t codes, int width = 8) {
    const uint32_t mask = (1u << width) - 1;
    return to_f16(to_float(T{static_cast<uint8_t>(codes & mask)})).bits |
           static_cast<uint32_t>(to_f16(to_float(T{static_cast<uint8_t>(codes >> width & mask)})).bits) << 16;
  }

  template <class K>
  static void launch(Machine& machine, Comparison& c) {
    uint32_t* out = machine.memory(Words(size_t{K::count} * K::words, 0xcccccccc), true);
    machine.template launch<K>({{K::count / K::threads}, {1}, K::threads}, {out});
    c.got = machine.read(out, size_t{K::count} * K::words);
    c.want.resize(c.got.size());
  }

  static void hopper(Machine& machine, Comparison& c) {
    using K = ConvertProbe;
    constexpr auto even = Rounding::nearest_even, cut = Rounding::toward_zero, away = Rounding::nearest_away;
    constexpr auto finite = Overflow::saturate, special = Overflow::special;
    launch<K>(machine, c);
    for (uint32_t i = 0; i < K::count; ++i) {
      uint32_t word = 0;
      const auto put = [&](uint32_t value) { c.want[word++ * K::count + i] = value; };
      const float x = low(i), y = high(i), h0 = half(i), h1 = half(pattern(i));
      const auto f16s = [](float a, float b, Rounding r, Overflow o) {
        return to_f16(a, r, o).bits | static_cast<uint32_t>(to_f16(b, r, o).bits) << 16;
      };
      const auto bf16s = [](float a, float b, Rounding r, Overflow o) {
        return to_bf16(a, r, o).bits | static_cast<uint32_t>(to_bf16(b, r, o).bits) << 16;
      };
      put(pairs<e4m3>(i));
      put(pairs<e5m2>(i));
      put(pair<e4m3>(h0, h1) | pair<e4m3>(positive(h0), positive(h1)) << 16);
      put(pair<e5m2>(h0, h1) | pair<e5m2>(positive(h0), positive(h1)) << 16);
      put(halves_of<e4m3>(i));
      put(halves_of<e5m2>(i));
      put(f16s(x, y, cut, special));
      put(f16s(positive(x), positive(y), even, finite));
      put(f16s(y, x, cut, finite));
      put(bf16s(positive(x), positive(y), cut, special));
      put(bf16s(x, y, even, finite));
      put(to_tf32(x, away));
      put(to_tf32(y, even));
      put(to_tf32(x, cut));
    }
  }

  static void narrow(Machine& machine, Comparison& c) {
    using K = NarrowProbe;
    constexpr auto down = ScaleRounding::toward_zero, up = ScaleRounding::up;
    constexpr auto finite = Overflow::saturate, special = Overflow::special;
    launch<K>(machine, c);
    for (uint32_t i = 0; i < K::count; ++i) {
      uint32_t word = 0;
      const auto put = [&](uint32_t value) { c.want[word++ * K::count + i] = value; };
      const float x = low(i), y = high(i);
      const float b0 = std::bit_cast<float>(i << 16), b1 = std::bit_cast<float>(pattern(i) << 16);
      const auto scales = [](float a, float b, Overflow o) {
        return to_ue8m0(a, down, o).bits | static_cast<uint32_t>(to_ue8m0(b, down, o).bits) << 8 |
               static_cast<uint32_t>(to_ue8m0(a, up, o).bits) << 16 |
               static_cast<uint32_t>(to_ue8m0(b, up, o).bits) << 24;
      };
      const auto wide = [](uint32_t code) {
        return code == 0xff ? 0x7fffu : std::bit_cast<uint32_t>(to_float(ue8m0{static_cast<uint8_t>(code)})) >> 16;
      };
      put(pairs<e2m3>(i));
      put(pairs<e3m2>(i));
      put(pairs<e2m1>(i, 4));
      put(halves_of<e2m3>(i & 0x3f3f));
      put(halves_of<e3m2>(i & 0x3f3f));
      put(halves_of<e2m1>(i & 0xff, 4));
      put(scales(x, y, finite));
      put(scales(x, y, special));
      put(scales(b0, b1, finite));
      put(scales(b0, b1, special));
      put(wide(i & 0xff) | wide(i >> 8) << 16);
      put(0);
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
