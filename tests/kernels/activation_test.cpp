// Activation functions against long double, over all floats.
#include "warploom/kernels/activation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "warploom/types/convert.hpp"

namespace warploom {
namespace {

struct Function {
  const char* name;
  float (*computed)(float);
  long double (*exact)(long double);
};

const Function functions[] = {
    {"silu", [](float x) { return silu(x); }, [](long double x) { return x / (1 + std::exp(-x)); }},
    {"gelu_tanh", [](float x) { return gelu_tanh(x); },
     [](long double x) {
       const long double z = 2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
       return x / (1 + std::exp(-z));
     }},
    {"gelu", [](float x) { return gelu(x); }, [](long double x) { return 0.5L * x * std::erfc(-x / std::sqrt(2.0L)); }},
};

/// For results of 16 bits.
const Function narrow_functions[] = {
    {"narrow silu", [](float x) { return narrow::silu(x); }, functions[0].exact},
    {"narrow gelu_tanh", [](float x) { return narrow::gelu_tanh(x); }, functions[1].exact},
    {"narrow gelu", [](float x) { return narrow::gelu(x); }, functions[2].exact},
};

template <class Check>
void for_all(Check&& check) {
  for (const Function& function : functions) check(function);
  for (const Function& function : narrow_functions) check(function);
}

/// How far from the exact value, in units of the last place that a float of its size has.
double units_off(float computed, long double exact) {
  const int exponent = std::max(std::ilogb(exact), std::numeric_limits<float>::min_exponent - 1);
  return static_cast<double>(std::fabs(static_cast<long double>(computed) - exact) * std::ldexp(1.0L, 23 - exponent));
}

struct Tally {
  uint32_t count = 0, beyond_two = 0, bf16_off = 0, f16_off = 0;
  double worst = 0;
  float worst_at = 0;

  void add(const Function& function, float x) {
    const float y = function.computed(x);
    const long double exact = function.exact(x);
    if (x < -1 && std::fabs(exact) < 1e-30L) {  // the tail, which may end here
      ASSERT_LE(y, 0.0f) << function.name << " of " << x;
      ASSERT_GT(y, -1.1e-30f) << function.name << " of " << x;
      return;
    }
    const double off = units_off(y, exact);
    if (!(off <= worst)) {
      worst = off;
      worst_at = x;
    }
    ++count;
    beyond_two += off > 2 ? 1 : 0;
    const auto rounded = static_cast<float>(exact);
    bf16_off += to_bf16(y) != to_bf16(rounded) ? 1 : 0;
    f16_off += to_f16(y) != to_f16(rounded) ? 1 : 0;
  }
  void expect_good(const char* name) const {
    EXPECT_LT(worst, 4.25) << name << " of " << worst_at;
    EXPECT_LT(beyond_two, count / 50) << name;
    EXPECT_LT(bf16_off, count / 1000) << name << ", of " << count;
    EXPECT_LT(f16_off, count / 1000) << name << ", of " << count;
  }
};

/// The largest relative error of a function for 16 bits, in two ranges of results; and how often its bf16 or f16 is not
/// the nearest.
struct NarrowTally {
  uint32_t count = 0, bf16_off = 0, f16_off = 0;
  double worst = 0, worst_large = 0;

  void add(const Function& function, float x) {
    const float y = function.computed(x);
    const long double exact = function.exact(x);
    const long double size = std::fabs(exact);
    if (size < 1e-30L) {
      ASSERT_LT(std::fabs(y), 1.1e-30f) << function.name << " of " << x;
      return;
    }
    const auto off = static_cast<double>(std::fabs(y - exact) / size);
    worst = std::max(worst, off);
    if (size > 1e-6L) worst_large = std::max(worst_large, off);
    ++count;
    bf16_off += to_bf16(y) != to_bf16(static_cast<float>(exact)) ? 1 : 0;
    f16_off += to_f16(y) != to_f16(static_cast<float>(exact)) ? 1 : 0;
  }
  void expect_good(const char* name) const {
    EXPECT_LT(worst, 1e-5) << name;
    EXPECT_LT(worst_large, 2e-6) << name;
    EXPECT_LT(bf16_off, count / 1000) << name << ", of " << count;
    EXPECT_LT(f16_off, count / 500) << name << ", of " << count;
  }
};

/// Of each function a tally over the floats that `visit` hands on; of how many, at least, it counts the result.
template <class Tally, size_t count, class Visit>
void expect_good(const Function (&list)[count], uint32_t least, Visit&& visit) {
  for (const Function& function : list) {
    Tally tally;
    visit([&](float x) { tally.add(function, x); });
    tally.expect_good(function.name);
    EXPECT_GT(tally.count, least) << function.name;
  }
}
/// Every exponent, both signs.
void everywhere(auto&& check) {
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 24'593) {
    const float x = arch::as_float(static_cast<uint32_t>(bits));
    if (std::isfinite(x)) check(x);
  }
}
/// Every float from 1e-3 to 90, both signs.
void where_they_bend(auto&& check) {
  for (const uint32_t sign : {0u, 0x80000000u})
    for (uint32_t bits = arch::as_bits(1e-3f); bits < arch::as_bits(90.0f); ++bits) check(arch::as_float(bits | sign));
}
/// Multiples of a step, both signs.
auto evenly(int steps, float step) {
  return [=](auto&& check) {
    for (int i = -steps; i < steps; ++i) check(static_cast<float>(i) * step);
  };
}

TEST(Activation, EveryExponent) {
  expect_good<Tally>(functions, 120'000, [](auto&& check) { everywhere(check); });
}
TEST(Activation, WhereTheyBend) { expect_good<Tally>(functions, 100'000, evenly(150'000, 1.0437e-4f)); }
TEST(ActivationFull, EveryFloatWhereTheyBend) {
  expect_good<Tally>(functions, 100'000, [](auto&& check) { where_they_bend(check); });
}

TEST(Activation, NarrowEveryExponent) {
  expect_good<NarrowTally>(narrow_functions, 80'000, [](auto&& check) { everywhere(check); });
}
TEST(Activation, NarrowWhereTheyBend) {
  expect_good<NarrowTally>(narrow_functions, 100'000, evenly(300'000, 2.347e-4f));
}
TEST(ActivationFull, NarrowEveryFloatWhereTheyBend) {
  expect_good<NarrowTally>(narrow_functions, 100'000, [](auto&& check) { where_they_bend(check); });
}

TEST(Activation, NegativeTailsEndAtZero) {
  for_all([](const Function& function) {
    for (const float x : {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::max(), -1e30f, -200.0f})
      EXPECT_EQ(function.computed(x), 0.0f) << function.name << " of " << x;
  });
}

TEST(Activation, LargeNumbersStay) {
  for_all([](const Function& function) {
    for (const float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(), 1e30f, 200.0f})
      EXPECT_EQ(function.computed(x), x) << function.name;
  });
}

TEST(Activation, ZeroStaysZero) {
  for_all([](const Function& function) {
    for (const float x : {0.0f, -0.0f}) EXPECT_EQ(function.computed(x), 0.0f) << function.name;
  });
}

TEST(Activation, NanStaysNan) {
  for (const uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffc12345u, 0x7fffffffu}) {
    for_all([&](const Function& function) {
      EXPECT_EQ(arch::as_bits(function.computed(arch::as_float(bits))), 0x7fffffffu) << function.name;
    });
    EXPECT_EQ(arch::as_bits(relu(arch::as_float(bits))), 0x7fffffffu);
  }
}

/// Just above 2^126 it is not said what a GPU's reciprocal is: no divisor lies there.
TEST(Activation, TailsEndAtOnce) {
  const auto check = [](const char* name, float from, float to, float (*divisor)(float)) {
    float below = 0, above = std::numeric_limits<float>::infinity();
    for (uint32_t bits = arch::as_bits(from); bits <= arch::as_bits(to); ++bits) {
      const float d = divisor(-arch::as_float(bits));
      if (d < 0x1p126f)
        below = std::max(below, d);
      else
        above = std::min(above, d);
    }
    EXPECT_GT(below, 0x1.fffp125f) << name;
    EXPECT_GT(above, 0x1.00001p126f) << name;
    EXPECT_LT(above, 0x1.001p126f) << name;
  };
  check("silu", 80.0f, 88.0f, [](float x) { return detail::silu_divisor(x); });
  check("gelu_tanh", 9.5f, 10.03f, [](float x) { return detail::gelu_tanh_divisor(x); });
}

TEST(Activation, SignsAndSubnormals) {
  const float least = std::numeric_limits<float>::denorm_min();
  for_all([&](const Function& function) {
    EXPECT_EQ(function.computed(1000 * least), 500 * least) << function.name;
    EXPECT_EQ(function.computed(-1000 * least), -500 * least) << function.name;
    EXPECT_EQ(function.computed(0x1p-126f), 0x1p-127f) << function.name;
  });
}

TEST(Activation, Relu) {
  EXPECT_EQ(relu(3.5f), 3.5f);
  EXPECT_EQ(relu(-3.5f), 0.0f);
  EXPECT_EQ(arch::as_bits(relu(-0.0f)), 0u);
  EXPECT_EQ(relu(std::numeric_limits<float>::denorm_min()), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(relu(-std::numeric_limits<float>::infinity()), 0.0f);
}

TEST(Activation, ByKind) {
  for (const float x : {-2.5f, -0.1f, 0.0f, 0.3f, 4.0f}) {
    EXPECT_EQ(activate<Activation::none>(x), x);
    EXPECT_EQ(activate<Activation::relu>(x), relu(x));
    EXPECT_EQ(activate<Activation::silu>(x), silu(x));
    EXPECT_EQ(activate<Activation::gelu>(x), gelu(x));
    EXPECT_EQ(activate<Activation::gelu_tanh>(x), gelu_tanh(x));
    EXPECT_EQ(activate(Activation::none, x), x);
    EXPECT_EQ(activate(Activation::relu, x), relu(x));
    EXPECT_EQ(activate(Activation::silu, x), silu(x));
    EXPECT_EQ(activate(Activation::gelu, x), gelu(x));
    EXPECT_EQ(activate(Activation::gelu_tanh, x), gelu_tanh(x));
  }
}

}  // namespace
}  // namespace warploom
