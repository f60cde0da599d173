// Cases of arch_check: conversions, arithmetic, activation functions, and atomics on global memory.
#pragma once

#include <bit>
#include <cmath>

#include "arch_check_kernel.hpp"
#include "check.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/kernels/activation.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct SmallPackProbe : Probe<256> {
  static constexpr char name[] = "pack-small";
  static constexpr uint32_t count = 65536, words = 3;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  static WARPLOOM_CONST_FN uint32_t low(uint32_t i) { return i << 16 | (pattern(i) & 0xffff); }
  /// Ties of f16 and e4m3, and their neighbours: the exponents those types have, a mantissa that ends in one bit.
  static WARPLOOM_CONST_FN uint32_t high(uint32_t i) {
    const uint32_t sign = i << 31, exponent = 100 + i / 2 % 46, tie = 1u << (12 + i / 92 % 11);
    return (sign | exponent << 23 | (pattern(i) & 0x7fffff & ~(2 * tie - 1)) | tie) + pattern(i + 3) % 3 - 1;
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    Output out{params.out + i, count};
    out.put(arch::pack_f16(arch::as_float(low(i)), arch::as_float(high(i))));
    out.put(arch::pack_e4m3(arch::as_float(high(i)), arch::as_float(low(i))));
    out.put(arch::as_bits(arch::to_float(f16{static_cast<uint16_t>(i)})));
  }
};

/// Six functions of a and b, the words of each one after the other.
struct NumbersProbe : Probe<256> {
  static constexpr char name[] = "numbers";
  static constexpr uint32_t words = 6;
  struct Params {
    const uint32_t* a;
    const uint32_t* b;
    uint32_t* out;
    uint32_t count;
  };
  struct Storage {
    uint32_t none;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    const float a = arch::as_float(arch::load_global(params.a + i));
    const float b = arch::as_float(arch::load_global(params.b + i));
    Output out{params.out + i, params.count};
    out.put(arch::as_bits(arch::add(a, b)));
    out.put(arch::as_bits(arch::subtract(a, b)));
    out.put(arch::as_bits(arch::maximum(a, b)));
    out.put(arch::as_bits(arch::maximum_or_nan(a, b)));
    out.put(arch::as_bits(arch::minimum(a, b)));
    out.put(ArithmeticProbe::canonical(arch::as_bits(arch::absolute(a))));
  }
};

/// The reciprocals of all floats of six binades, of `run_length` neighbours one hash.
struct ReciprocalProbe : Probe<256> {
  static constexpr char name[] = "reciprocal";
  static constexpr uint32_t run_length = 1024, binades = 6, count = binades * ((1u << 23) / run_length);
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  /// From 1, 2, 2^64, 2^125, 2^126 and 2^127 on; the last two have no reciprocal but 0, less the first eight numbers.
  static WARPLOOM_CONST_FN uint32_t number(uint32_t run, uint32_t i) {
    const uint32_t binade = run / (count / binades);
    const uint32_t exponent = binade < 2 ? 127 + binade : binade == 2 ? 191 : 249 + binade;
    const uint32_t mantissa = run % (count / binades) * run_length + i;
    return exponent << 23 | (binade == 4 && mantissa <= 8 ? 9 : mantissa);
  }
  static WARPLOOM_CONST_FN uint32_t hashed(uint32_t hash, uint32_t word) { return (hash ^ word) * 16777619u; }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t at = arch::block_index().x * threads + arch::thread_index();
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < run_length; ++i)
      hash = hashed(hash, arch::as_bits(arch::reciprocal(arch::as_float(number(at, i)))));
    arch::store_global(params.out + at, hash);
  }
};

/// ex2.approx and rcp.approx of all floats from 1 to 2, then of every 509th float up to 0xfe7ffe03; of `run_length`
/// results one hash, and one result as it is.
struct SpecialProbe : Probe<256> {
  static constexpr char name[] = "special-functions";
  static constexpr uint32_t run_length = 1024, stride = 509, count = 2 * (1u << 23) / run_length, words = 4;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  static WARPLOOM_CONST_FN uint32_t number(uint32_t run, uint32_t i) {
    const uint32_t at = run % (count / 2) * run_length + i;
    return run < count / 2 ? 0x3f800000u + at : at * stride;
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t at = arch::block_index().x * threads + arch::thread_index();
    uint32_t powers = 2166136261u, quotients = powers, power = 0, quotient = 0;
    for (uint32_t i = 0; i < run_length; ++i) {
      const float x = arch::as_float(number(at, i));
      power = arch::as_bits(arch::exp2_approx(x)), quotient = arch::as_bits(arch::reciprocal_approx(x));
      powers = ReciprocalProbe::hashed(powers, power), quotients = ReciprocalProbe::hashed(quotients, quotient);
    }
    Output out{params.out + at, count};
    out.put(powers), out.put(quotients), out.put(power), out.put(quotient);
  }
};

struct ActivationProbe : Probe<256> {
  static constexpr char name[] = "activation";
  static constexpr uint32_t words = 7;
  struct Params {
    const uint32_t* x;
    uint32_t* out;
    uint32_t count;
  };
  struct Storage {
    uint32_t none;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    const float x = arch::as_float(arch::load_global(params.x + i));
    Output out{params.out + i, params.count};
    out.put(arch::as_bits(activate<Activation::relu>(x)));
    out.put(arch::as_bits(activate<Activation::silu>(x)));
    out.put(arch::as_bits(activate<Activation::gelu_tanh>(x)));
    out.put(arch::as_bits(activate<Activation::gelu>(x)));
    out.put(arch::as_bits(narrow::silu(x)));
    out.put(arch::as_bits(narrow::gelu_tanh(x)));
    out.put(arch::as_bits(narrow::gelu(x)));
  }
};

/// Every CTA leaves a row of numbers; the last to arrive, whichever it is, adds the rows and sets the counter back.
struct AtomicProbe : Probe<128> {
  static constexpr char name[] = "atomic";
  static constexpr bool talks_across_clusters = true;
  static constexpr uint32_t ctas = 96;
  struct Params {
    uint32_t* rows;      ///< [cta][thread]
    uint32_t* counters;  ///< [0]: arrivals, zero before and after; [1]: tickets
    uint32_t* taken;     ///< [ticket]: how often it was drawn
    uint32_t* out;       ///< [thread]
  };
  struct Storage {
    uint32_t last;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), cta = arch::block_index().x;
    arch::fetch_add_global(params.taken + arch::fetch_add_global(params.counters + 1, 1), 1);
    arch::store_global(params.rows + cta * threads + thread, pattern(cta * threads + thread));
    arch::fence_gpu();
    arch::syncthreads();
    if (thread == 0)
      arch::store_shared(&storage.last, arch::fetch_add_global(params.counters, 1) == ctas - 1 ? 1u : 0u);
    arch::syncthreads();
    if (arch::load_shared(&storage.last) == 0) return;
    arch::fence_gpu();
    uint32_t sum = 0;
    for (uint32_t row = 0; row < ctas; ++row) sum = sum * 3 + arch::load_global(params.rows + row * threads + thread);
    arch::store_global(params.out + thread, sum);
    if (thread == 0) arch::store_global(params.counters, 0u);
  }
};

template <class Machine>
struct NumbersCheck {
  static void small_pack(Machine& machine, Comparison& c) {
    using K = SmallPackProbe;
    uint32_t* out = machine.memory(Words(K::count * K::words, 0xcccccccc), true);
    machine.template launch<K>({{K::count / K::threads}, {1}, K::threads}, {out});
    c.got = machine.read(out, K::count * K::words);
    auto number = [](uint32_t bits) { return std::bit_cast<float>(bits); };
    for (uint32_t i = 0; i < K::count; ++i)
      c.want.push_back(to_f16(number(K::low(i))).bits | static_cast<uint32_t>(to_f16(number(K::high(i))).bits) << 16);
    for (uint32_t i = 0; i < K::count; ++i)
      c.want.push_back(to_e4m3(number(K::high(i))).bits | static_cast<uint32_t>(to_e4m3(number(K::low(i))).bits) << 8);
    for (uint32_t i = 0; i < K::count; ++i)
      c.want.push_back(std::bit_cast<uint32_t>(::warploom::to_float(f16{static_cast<uint16_t>(i)})));
  }

  static void numbers(Machine& machine, Comparison& c) {
    using K = NumbersProbe;
    constexpr uint32_t count = 1 << 14;
    const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                0x7fc00000, 0x7f800001, 0xffc12345, 0x00000001, 0x80000001, 0x007fffff,
                                0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x34000000, 0x33800000};
    constexpr uint32_t specials = sizeof(special) / 4;
    Random random(6);
    Words a, b;
    for (uint32_t i = 0; i < count; ++i) {
      if (i < specials * specials) {
        a.push_back(special[i % specials]);
        b.push_back(special[i / specials]);
      } else {  // any two, or two of like size
        a.push_back(random.word());
        b.push_back(i % 2 == 0 ? random.word() : a.back() ^ (random.word() & 0x80ffffffu));
      }
    }
    uint32_t* out = machine.memory(Words(K::words * count, 0xcccccccc), true);
    machine.template launch<K>({{count / K::threads}, {1}, K::threads},
                               {machine.memory(a), machine.memory(b), out, count});
    c.got = machine.read(out, K::words * count);
    auto each = [&](auto&& function) {
      for (uint32_t i = 0; i < count; ++i)
        c.want.push_back(ArithmeticProbe::canonical(
            std::bit_cast<uint32_t>(function(std::bit_cast<float>(a[i]), std::bit_cast<float>(b[i])))));
    };
    // A sum of two floats in double, rounded to float, is rounded once: 53 bits are more than twice 24.
    each([](float x, float y) { return static_cast<float>(static_cast<double>(x) + static_cast<double>(y)); });
    each([](float x, float y) { return static_cast<float>(static_cast<double>(x) - static_cast<double>(y)); });
    auto larger = [](float x, float y) {
      if (x == y) return std::signbit(x) ? y : x;  // of two zeros the positive one
      return std::isnan(x) ? y : std::isnan(y) || x > y ? x : y;
    };
    each(larger);
    each([&](float x, float y) { return std::isnan(x) || std::isnan(y) ? std::nanf("") : larger(x, y); });
    each([&](float x, float y) { return std::isnan(x) ? y : std::isnan(y) ? x : -larger(-x, -y); });
    each([](float x, float) { return std::fabs(x); });
  }

  static void reciprocals(Machine& machine, Comparison& c) {
    using K = ReciprocalProbe;
    uint32_t* out = machine.memory(Words(K::count, 0xcccccccc), true);
    machine.template launch<K>({{K::count / K::threads}, {1}, K::threads}, {out});
    c.got = machine.read(out, K::count);
    for (uint32_t run = 0; run < K::count; ++run) {
      uint32_t hash = 2166136261u;
      for (uint32_t i = 0; i < K::run_length; ++i) {
        const float number = std::bit_cast<float>(K::number(run, i));
        hash = K::hashed(hash, number < 0x1p126f ? std::bit_cast<uint32_t>(1.0f / number) : 0);
      }
      c.want.push_back(hash);
    }
  }

  /// As below: hashes stand for themselves, and of the last results of all runs plain C++ says what they nearly are.
  static void special_functions(Machine& machine, Comparison& c) {
    using K = SpecialProbe;
    uint32_t* out = machine.memory(Words(K::words * K::count, 0xcccccccc), true);
    machine.template launch<K>({{K::count / K::threads}, {1}, K::threads}, {out});
    c.got = machine.read(out, K::words * K::count);
    c.want.assign(c.got.begin(), c.got.begin() + 2 * K::count);
    auto flushed = [](double v) { return std::fabs(v) < 0x1p-126 ? std::copysign(0.0, v) : v; };
    for (uint32_t i = 2 * K::count; i < K::words * K::count; ++i) {
      const double x = std::bit_cast<float>(K::number(i % K::count, K::run_length - 1));
      const double exact = flushed(i < 3 * K::count ? std::exp2(x) : 1 / flushed(x));
      const auto got = static_cast<double>(std::bit_cast<float>(c.got[i]));
      const bool near = std::isnan(exact) ? c.got[i] == 0x7fffffff
                                          : std::fabs(got - exact) <= 0x1p-22 * std::fabs(exact) || got == exact ||
                                                (std::fabs(exact) > 0x1p128 && std::isinf(got));
      c.want.push_back(near ? c.got[i] : std::bit_cast<uint32_t>(static_cast<float>(exact)));
    }
  }

  /// Plain C++ says what a result is to six digits; that it is the same to the last bit, the hash says.
  static void activations(Machine& machine, Comparison& c) {
    using K = ActivationProbe;
    constexpr uint32_t count = 65536;
    Random random(8);
    Words x;
    for (uint32_t i = 0; i < count; ++i)  // every exponent, and evenly in [-16, 16)
      x.push_back(i % 2 == 0
                      ? i << 16 | (random.word() & 0x1ffff)
                      : std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(random.word())) * 0x1p-27f));
    uint32_t* out = machine.memory(Words(K::words * count, 0xcccccccc), true);
    machine.template launch<K>({{count / K::threads}, {1}, K::threads}, {machine.memory(x), out, count});
    c.got = machine.read(out, K::words * count);
    double (*const functions[])(double) = {
        [](double v) { return v > 0 ? v : 0; }, [](double v) { return v / (1 + std::exp(-v)); },
        [](double v) { return v / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v))); },
        [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }};
    constexpr uint32_t kinds = 4;  // the last three once more, for 16 bits
    for (uint32_t function = 0; function < K::words; ++function)
      for (uint32_t i = 0; i < count; ++i) {
        const float tolerance = function < kinds ? 1e-6f : 1e-5f;
        const float value = std::bit_cast<float>(x[i]);
        const uint32_t got = c.got[function * count + i];
        const float exact =
            std::isinf(value)
                ? std::fmax(value, 0.0f)
                : static_cast<float>(functions[function < kinds ? function : function - kinds + 1](value));
        const float off = std::fabs(std::bit_cast<float>(got) - exact);
        const bool near = std::isnan(value)
                              ? got == 0x7fffffff
                              : exact == std::bit_cast<float>(got) || off <= tolerance * std::fabs(exact) ||
                                    (off <= 2e-30f && std::fabs(exact) <= 1e-30f);
        c.want.push_back(near ? got : std::bit_cast<uint32_t>(exact));
      }
  }

  static void atomics(Machine& machine, Comparison& c) {
    using K = AtomicProbe;
    constexpr uint32_t all = K::ctas * K::threads;
    uint32_t* rows = machine.memory(Words(all, 0xcccccccc), true);
    uint32_t* counters = machine.memory(Words(2, 0), true);
    uint32_t* taken = machine.memory(Words(all, 0), true);
    uint32_t* out = machine.memory(Words(K::threads, 0xcccccccc), true);
    machine.template launch<K>({{K::ctas}, {1}, K::threads}, {rows, counters, taken, out});
    for (const auto& [memory, count] :
         {std::pair<const uint32_t*, uint32_t>{counters, 2}, {taken, all}, {out, K::threads}}) {
      const Words got = machine.read(memory, count);
      c.got.insert(c.got.end(), got.begin(), got.end());
    }
    c.want = {0, all};
    c.want.insert(c.want.end(), all, 1);
    for (uint32_t thread = 0; thread < K::threads; ++thread) {
      uint32_t sum = 0;
      for (uint32_t row = 0; row < K::ctas; ++row) sum = sum * 3 + pattern(row * K::threads + thread);
      c.want.push_back(sum);
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
