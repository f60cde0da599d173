// What GemmData::compare sees and what it lets pass: corruptions of right results are noticed, right results are not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "gemm_cases.hpp"
#include "kernels/gemm_reference.hpp"
#include "right_results.hpp"

namespace warploom::test {
namespace {

// ---- a right result, and what may happen to it

class Solved {
 public:
  explicit Solved(const GemmDataSpec& spec, const Order& order = {}) : data_(spec), problem_(data_.problem()) {
    solve_in_fp32(problem_, order);
    const auto elements = static_cast<size_t>(problem_.batch * problem_.d.batch_stride);
    right_.assign(start(), start() + elements * static_cast<size_t>(size_of(problem_.d.type)));
  }

  const GemmProblem& problem() const { return problem_; }
  const GemmData& data() const { return data_; }
  uint32_t bits(int64_t z, int64_t i, int64_t j) const {
    return load_bits(problem_.d.type, element_at(problem_, z, i, j));
  }
  double value(int64_t z, int64_t i, int64_t j) const {
    return decode_value(problem_.d.type, element_at(problem_, z, i, j));
  }
  void set(int64_t z, int64_t i, int64_t j, uint32_t bits) {
    changed_ = changed_ || !same(bits, this->bits(z, i, j));
    store_bits(problem_.d.type, element_at(problem_, z, i, j), bits);
  }
  void set_value(int64_t z, int64_t i, int64_t j, double value) {
    set(z, i, j, encode_value(problem_.d.type, static_cast<float>(value)));
  }
  /// Whether any element's value was.
  bool changed() const { return changed_; }
  void restore() {
    std::memcpy(start(), right_.data(), right_.size());
    changed_ = false;
  }

 private:
  std::byte* start() const { return static_cast<std::byte*>(problem_.d.data); }
  /// -0 and 0 are one value.
  bool same(uint32_t a, uint32_t b) const {
    const uint32_t magnitude = (1u << (8 * size_of(problem_.d.type) - 1)) - 1;
    return a == b || ((a | b) & magnitude) == 0;
  }

  GemmData data_;
  GemmProblem problem_;
  std::vector<std::byte> right_;
  bool changed_ = false;
};

using Random = std::mt19937_64;
int below(Random& random, int64_t count) { return static_cast<int>(random() % static_cast<uint64_t>(count)); }

const char* const corruptions[] = {"ulp",           "bit",        "value",         "NaN",
                                   "zero",          "sign",       "two elements",  "two rows",
                                   "two columns",   "two tiles",  "stale tile",    "K block missing",
                                   "K block twice", "copied row", "unwritten tile"};
constexpr int tile = 8;

/// One of them, at a random place.
void corrupt(Solved& result, const std::string& kind, Random& random) {
  const GemmProblem& p = result.problem();
  const int z = below(random, p.batch), i = below(random, p.m), j = below(random, p.n);
  const int i2 = below(random, p.m), j2 = below(random, p.n);
  const uint32_t bits = result.bits(z, i, j);
  const auto exchange = [&](int to_i, int to_j, int from_i, int from_j) {
    const uint32_t kept = result.bits(z, to_i, to_j);
    result.set(z, to_i, to_j, result.bits(z, from_i, from_j));
    result.set(z, from_i, from_j, kept);
  };
  const int down = p.m / tile, across = p.n / tile;
  const int tile_i = below(random, down) * tile, tile_j = below(random, across) * tile;
  const int other_i = below(random, down) * tile, other_j = below(random, across) * tile;
  const auto add_k_block = [&](float factor) {
    const int begin = below(random, (p.k + 31) / 32) * 32, end = std::min(p.k, begin + 32);
    for (int r = tile_i; r < tile_i + tile; ++r)
      for (int c = tile_j; c < tile_j + tile; ++c) {
        const std::vector<double> a = line_of(p.a, z, r, p.k), b = line_of(p.b, z, c, p.k);
        double sum = 0;
        for (int q = 0; q < p.k; ++q)
          sum += a[static_cast<size_t>(q)] * b[static_cast<size_t>(q)] * (q >= begin && q < end ? factor : 1.0);
        result.set_value(z, r, c, epilogue(p, z, r, c, static_cast<float>(sum)));
      }
  };
  if (kind == "ulp") {
    result.set(z, i, j, random() % 2 == 0 || (bits & 0x7f) == 0 ? bits + 1 : bits - 1);
  } else if (kind == "bit") {
    result.set(z, i, j, bits ^ 1u << below(random, 8 * size_of(p.d.type)));
  } else if (kind == "value") {
    result.set_value(z, i, j, result.value(z, i, j) * (random() % 2 == 0 ? 1.01 : 0.5) + 1);
  } else if (kind == "NaN") {
    result.set(z, i, j, nan_bits(p.d.type));
  } else if (kind == "zero") {
    result.set(z, i, j, 0);
  } else if (kind == "sign") {
    result.set(z, i, j, bits ^ 1u << (8 * size_of(p.d.type) - 1));
  } else if (kind == "two elements") {
    exchange(i, j, i2, j2);
  } else if (kind == "two rows") {
    for (int c = 0; c < p.n; ++c) exchange(i, c, i2, c);
  } else if (kind == "two columns") {
    for (int r = 0; r < p.m; ++r) exchange(r, j, r, j2);
  } else if (kind == "two tiles") {
    for (int r = 0; r < tile; ++r)
      for (int c = 0; c < tile; ++c) exchange(tile_i + r, tile_j + c, other_i + r, other_j + c);
  } else if (kind == "stale tile") {
    for (int r = 0; r < tile; ++r)
      for (int c = 0; c < tile; ++c) result.set(z, tile_i + r, tile_j + c, result.bits(z, other_i + r, other_j + c));
  } else if (kind == "K block missing") {
    add_k_block(0);
  } else if (kind == "K block twice") {
    add_k_block(2);
  } else if (kind == "copied row") {
    for (int c = 0; c < p.n; ++c) result.set(z, i, c, result.bits(z, i2, c));
  } else {
    for (int r = 0; r < tile; ++r)
      for (int c = 0; c < tile; ++c) result.set(z, tile_i + r, tile_j + c, nan_bits(p.d.type));
  }
}

constexpr DType outputs[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3};

/// `count` corruptions of integers, of every kind in turn.
void corrupt_integers(int count, uint64_t seed) {
  Random random(seed);
  int noticed = 0;
  for (int round = 0; noticed < count; ++round) {
    const DType d = outputs[round % 4];
    Solved result({.m = 8 * (1 + below(random, 3)),
                   .n = 8 * (1 + below(random, 3)),
                   .k = 1 + below(random, 200),
                   .batch = 1 + below(random, 2),
                   .a = random() % 2 == 0 ? DType::bf16 : DType::f16,
                   .b = DType::bf16,
                   .d = d,
                   .bias = static_cast<BiasAlong>(below(random, 3)),
                   .activation = random() % 4 == 0 ? Activation::relu : Activation::none,
                   .alpha = random() % 2 == 0 ? 1.0f : -0.5f,
                   .beta = random() % 2 == 0 ? 0.0f : 0.5f,
                   .fill = Fill::integer,
                   .seed = random(),
                   .padding = below(random, 2)});
    const GemmAccuracy right = result.data().compare();
    ASSERT_TRUE(right.correct() && right.exact) << right.text();
    for (int repeat = 0; repeat < 3; ++repeat)
      for (const char* kind : corruptions) {
        result.restore();
        corrupt(result, kind, random);
        if (!result.changed()) continue;  // two rows that are one, say
        const GemmAccuracy found = result.data().compare();
        ASSERT_GT(found.wrong, 0) << kind << " in " << name_of(d) << ": " << found.text();
        ASSERT_FALSE(found.pattern.empty());
        if (++noticed == count) return;
      }
  }
}
TEST(Oracle, EveryCorruptionOfIntegersIsNoticed) { corrupt_integers(400, 1); }
TEST(OracleFull, EveryCorruptionOfIntegersIsNoticed) { corrupt_integers(5000, 2); }

// ---- random data

GemmDataSpec random_spec(Random& random) {
  GemmDataSpec spec{.m = 1 + below(random, 40), .n = 1 + below(random, 40), .k = 1 + below(random, 300)};
  constexpr DType operands[] = {DType::bf16, DType::f16, DType::e4m3, DType::e5m2, DType::f32};
  constexpr DType biases[] = {DType::f32, DType::bf16, DType::f16};
  spec.batch = 1 + below(random, 2);
  spec.a = operands[below(random, 5)];
  spec.b = size_of(spec.a) == 1 ? operands[2 + below(random, 2)] : spec.a;
  if (random() % 4 == 0) {
    spec.a = spec.b = DType::e4m3;
    spec.scaling = random() % 2 == 0 ? Scaling::a_rows_b_blocks : Scaling::a_rows_b_rows;
  }
  spec.d = outputs[random() % 4];
  spec.a_major = spec.scaling == Scaling::none && random() % 3 == 0 ? Major::mn : Major::k;
  spec.bias = static_cast<BiasAlong>(random() % 3);
  spec.bias_type = biases[random() % 3];
  spec.activation = all_activations[random() % 5];
  constexpr float alphas[] = {1.0f, -0.5f, 0.1f, 3.7f, 1e-3f}, betas[] = {0.0f, 0.5f, -1.0f, 0.3f};
  spec.alpha = alphas[random() % 5];
  spec.beta = betas[random() % 4];
  constexpr Fill fills[] = {Fill::normal, Fill::uniform, Fill::integer};
  spec.fill = fills[random() % 3];
  spec.seed = random();
  spec.padding = below(random, 2);
  spec.odd_output = random() % 3 == 0;
  spec.in_place = spec.d != DType::e4m3 && random() % 3 == 0;
  return spec;
}
Order random_order(Random& random) {
  return {.parts = 1 + below(random, 4), .descending = random() % 3 == 0, .truncating = random() % 2 == 0};
}
std::string text_of(const GemmDataSpec& spec) { return text_of(Case{.spec = spec}); }

void no_alarm(int count, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const GemmDataSpec spec = random_spec(random);
    Order order = random_order(random);
    // Of integers the sums are exact; of others both machines' tensor cores go up.
    const Solved result(spec, order);
    const GemmAccuracy found = result.data().compare();
    ASSERT_TRUE(found.correct()) << text_of(spec) << ", " << order.parts << " parts"
                                 << (order.descending ? " descending" : "") << (order.truncating ? " truncating" : "")
                                 << ": " << found.text();
    // In the loom's own arithmetic and order the bound is narrower.
    if (!order.descending && !order.truncating) {
      const GemmAccuracy narrow = result.data().compare({.numerics = loom::Numerics::fast});
      ASSERT_TRUE(narrow.correct()) << text_of(spec) << ": " << narrow.text();
    }
  }
}
TEST(Oracle, RightResultsInAnyOrderOfSummationPass) { no_alarm(150, 3); }
TEST(OracleFull, RightResultsInAnyOrderOfSummationPass) { no_alarm(9000, 4); }

/// Long sums, where what rounding loses is largest.
TEST(Oracle, RightLongSumsPass) {
  Random random(5);
  for (const Fill fill : {Fill::normal, Fill::uniform})
    for (const DType d : {DType::f32, DType::bf16})
      for (const bool truncating : {false, true}) {
        const Solved result({.m = 9, .n = 17, .k = 20000, .d = d, .fill = fill}, {.truncating = truncating});
        const GemmAccuracy found = result.data().compare();
        EXPECT_TRUE(found.correct()) << found.text();
      }
  // All of one sign, as weights may be: truncation adds up.
  const std::vector<uint16_t> a(9 * 20000, 0x3dcd), b(17 * 20000, 0x3e99);
  for (const bool truncating : {false, true})
    for (const DType d : {DType::f32, DType::f16}) {
      GemmData data({.m = 9, .n = 17, .k = 20000, .d = d}, {.a = a.data(), .b = b.data()});
      solve_in_fp32(data.problem(), {.truncating = truncating});
      const GemmAccuracy found = data.compare();
      EXPECT_TRUE(found.correct()) << found.text();
    }
}

/// Kernels of both chips on the loom, in both of its arithmetics.
void no_alarm_on_the_loom(int count, uint64_t seed) {
  std::vector<const GemmConfig*> configs = built_configs(Chip::sm90);
  for (const GemmConfig* config : built_configs(Chip::sm100)) configs.push_back(config);
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const GemmConfig& config = *configs[random() % configs.size()];
    Case c = Cases(config, random()).next();
    c.spec.m = std::min(c.spec.m, 150);
    c.spec.n = std::min(c.spec.n, 150);
    c.spec.batch = 1;
    GemmDataSpec& spec = c.spec;
    spec.a = config.a;
    spec.b = config.b;
    spec.a_major = config.a_major;
    spec.b_major = config.b_major;
    spec.scaling = config.scaling;
    if (config.scaling != Scaling::none) spec.n = (spec.n + 7) / 8 * 8;
    if (spec.d == DType::e4m3) spec.in_place = false;
    GemmData data(spec);
    const GemmProblem problem = data.problem();
    const Result<GemmPlan> plan =
        plan_gemm(problem, config, config.shape.partial_floats == 0 ? 1 : c.splits, {c.sms, config.shape.chip});
    ASSERT_TRUE(plan) << plan.error();
    loom::Options options;
    options.numerics = random() % 2 == 0 ? loom::Numerics::fast : loom::Numerics::exact;
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
    ASSERT_TRUE(outcome && outcome->ok());
    const GemmAccuracy found = data.compare({&*plan, options.numerics});
    ASSERT_TRUE(found.correct()) << config.key << ": " << test::text_of(c) << " " << to_string(options.numerics) << ": "
                                 << found.text();
  }
}
TEST(Oracle, RightResultsOfTheLoomPass) { no_alarm_on_the_loom(12, 6); }
TEST(OracleFull, RightResultsOfTheLoomPass) { no_alarm_on_the_loom(1000, 7); }

/// An element is moved to the next value beyond its bound, and farther.
void move_beyond_the_bound(int count, uint64_t seed) {
  Random random(seed);
  for (int done = 0; done < count;) {
    GemmDataSpec spec = random_spec(random);
    if (spec.fill == Fill::integer) spec.fill = Fill::normal;
    Solved result(spec, random_order(random));
    const GemmData::Reference reference(result.data(), {});
    for (int repeat = 0; repeat < 8 && done < count; ++repeat, ++done) {
      const int z = below(random, spec.batch), i = below(random, spec.m), j = below(random, spec.n);
      const BoundedElement right = reference.element(reference.sum(z, i, j), z, i, j);
      const bool up = random() % 2 == 0;
      const double edge = up ? right.high : right.low;
      uint32_t beyond = encode_value(spec.d, static_cast<float>(edge));
      // The next value of the type: of a negative one away from zero is a code more, too.
      const uint32_t sign = 1u << (8 * size_of(spec.d) - 1);
      const bool negative = (beyond & sign) != 0;
      if ((beyond & ~sign) == 0)
        beyond = up ? 1 : sign | 1;
      else
        beyond = negative == up ? beyond - 1 : beyond + 1;
      result.set(z, i, j, beyond);
      if (const double value = result.value(z, i, j); repeat % 2 == 1 && std::isfinite(value))
        result.set_value(z, i, j, value + (up ? 1.01 : -1.01) * right.bound());
      if (std::isfinite(result.value(z, i, j)) &&
          (up ? result.value(z, i, j) <= right.high : result.value(z, i, j) >= right.low)) {
        result.restore();  // there is no value beyond: e4m3 ends here
        continue;
      }
      const GemmAccuracy found = result.data().compare();
      ASSERT_EQ(found.wrong, 1) << text_of(spec) << ": " << found.text();
      ASSERT_EQ(found.first.row, i);
      ASSERT_EQ(found.first.column, j);
      ASSERT_EQ(found.first.matrix, z);
      result.restore();
    }
  }
}
/// Kernels multiply the two scale factors first: a product beyond fp32 is an infinity, or NaN times a 0; one below is
/// rounded to a few bits.
TEST(Oracle, ScaleFactorsAtTheEndsOfFp32) {
  const int m = 8, n = 16, k = 16;
  Random random(12);
  std::vector<std::byte> a(m * k), b(n * k);
  for (auto* operand : {&a, &b})
    for (std::byte& one : *operand)
      store_bits(DType::e4m3, &one, encode_value(DType::e4m3, static_cast<float>(below(random, 5) - 2)));
  const std::pair<float, float> ends[] = {
      {INFINITY, 1.0f}, {NAN, 2.0f}, {3e30f, 3e30f}, {1e-30f, 3e-15f}, {1e-20f, 1e-22f}};
  for (const auto& [of_row, of_column] : ends) {
    std::vector<float> a_scales(m, 1.0f), b_scales(n, 1.0f);
    a_scales[3] = of_row;
    b_scales[5] = of_column;
    GemmSources sources;
    sources.a = a.data();
    sources.b = b.data();
    sources.a_scales = a_scales.data();
    sources.b_scales = b_scales.data();
    sources.a_scales_stride = m;
    sources.b_scales_stride = n;
    const GemmDataSpec spec{
        .m = m, .n = n, .k = k, .a = DType::e4m3, .b = DType::e4m3, .d = DType::f32, .scaling = Scaling::a_rows_b_rows};
    GemmData data(spec, sources);
    const GemmProblem p = data.problem();
    solve_in_fp32(p);
    EXPECT_TRUE(data.acceptable(data.compare())) << of_row << " " << of_column << ": " << data.compare().text();
    // Where every number is finite, none is excused.
    auto* const d = static_cast<float*>(p.d.data);
    d[0] += 100;
    EXPECT_EQ(data.compare().wrong, 1) << data.compare().text();
  }
}

/// Where a bias outweighs the product, whole columns or rows are one number with one rounding.
TEST(Oracle, ABiasThatIsShared) {
  for (const float alpha : {0.0f, 0.0001f, 0.001f, 0.01f})
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu})
      for (GemmDataSpec spec :
           {GemmDataSpec{.m = 512, .n = 48, .k = 64, .bias = BiasAlong::n},
            {.m = 48, .n = 256, .k = 16, .bias = BiasAlong::m},
            {.m = 300, .n = 64, .k = 64, .bias = BiasAlong::n, .beta = 0.5f},
            {.m = 512, .n = 48, .k = 64, .a = DType::e4m3, .b = DType::e4m3, .d = DType::e4m3, .bias = BiasAlong::n}}) {
        spec.alpha = alpha;
        spec.activation = activation;
        Solved result(spec);
        const GemmAccuracy found = result.data().compare();
        EXPECT_TRUE(result.data().acceptable(found)) << text_of(spec) << ": " << found.text();
      }
}

/// alpha times the sum overflows in fp32 only: -inf, and NaN with a bias of the other sign.
TEST(Oracle, AnInfiniteBiasBesideASumThatOverflows) {
  const int m = 4, n = 8, k = 16;
  const std::vector<bf16> a(m * k, to_bf16(1.0f)), b(n * k, to_bf16(-1.0f));
  const std::vector<float> bias(n, INFINITY);
  GemmSources sources;
  sources.a = a.data();
  sources.b = b.data();
  sources.bias = bias.data();
  GemmData data({.m = m, .n = n, .k = k, .bias = BiasAlong::n, .alpha = 3e38f}, sources);
  solve_in_fp32(data.problem());
  EXPECT_TRUE(data.acceptable(data.compare())) << data.compare().text();
}

/// Where the answer is a NaN, an element that nobody wrote is wrong all the same.
TEST(Oracle, AnUnwrittenElementIsNoneThatIsRight) {
  const int m = 4, n = 8, k = 16;
  std::vector<bf16> a(m * k, to_bf16(NAN)), b(n * k, to_bf16(1.0f));
  GemmSources sources;
  sources.a = a.data();
  sources.b = b.data();
  GemmData data({.m = m, .n = n, .k = k}, sources);
  const GemmProblem p = data.problem();
  EXPECT_EQ(data.compare().wrong, m * n);
  solve_in_fp32(p);
  EXPECT_TRUE(data.acceptable(data.compare())) << data.compare().text();
  static_cast<bf16*>(p.d.data)[3].bits = static_cast<uint16_t>(unwritten_bits(DType::bf16));
  const GemmAccuracy found = data.compare();
  EXPECT_EQ(found.wrong, 1);
  EXPECT_NE(found.text().find("never written"), std::string::npos) << found.text();
}

/// An infinity among the operands comes out, unless the other products overflow to one of the other sign.
TEST(Oracle, AnInfinityAmongProductsThatOverflow) {
  const int m = 4, n = 8, k = 16;
  for (const float large : {3e38f, 2.0f}) {
    std::vector<bf16> a(m * k, to_bf16(1.0f)), b(n * k, to_bf16(1.0f));
    for (int q = 0; q < 4; ++q) a[k + q] = to_bf16(large);
    a[k + 10] = to_bf16(-INFINITY);
    GemmSources sources;
    sources.a = a.data();
    sources.b = b.data();
    GemmData data({.m = m, .n = n, .k = k, .d = DType::f32}, sources);
    const GemmProblem p = data.problem();
    solve_in_fp32(p);
    auto* const d = static_cast<float*>(p.d.data);
    EXPECT_EQ(std::isnan(d[p.d.stride]), large > 1e38f) << "inf - inf, or no more than an infinity";
    EXPECT_TRUE(data.acceptable(data.compare())) << data.compare().text();
    d[p.d.stride] = large > 1e38f ? 1.0f : NAN;  // a number is right in neither case
    EXPECT_EQ(data.compare().wrong, 1) << data.compare().text();
  }
}

TEST(Oracle, AnElementBeyondItsBoundIsNoticed) { move_beyond_the_bound(200, 8); }
TEST(OracleFull, AnElementBeyondItsBoundIsNoticed) { move_beyond_the_bound(3000, 9); }

/// A row, column or tile is 1 % off before it is rounded.
void bias_a_group(int count, uint64_t seed) {
  Random random(seed);
  int noticed = 0;
  for (int done = 0; done < count;) {
    GemmDataSpec spec = random_spec(random);
    spec.m = 16 + below(random, 40);
    spec.n = 16 + below(random, 40);
    if (spec.fill == Fill::integer) spec.fill = Fill::uniform;
    Solved result(spec, random_order(random));
    const HowItRan how{.numerics = loom::Numerics::fast};
    if (!result.data().compare(how).correct()) continue;  // that order is not the loom's
    const GemmData::Reference reference(result.data(), how);
    for (int repeat = 0; repeat < 3 && done < count; ++repeat, ++done) {
      result.restore();
      const int z = below(random, spec.batch);
      int top = below(random, spec.m), left = below(random, spec.n), rows = 1, columns = 1;
      if (repeat == 0) left = 0, columns = spec.n;
      if (repeat == 1) top = 0, rows = spec.m;
      if (repeat == 2) top = left = 0, rows = columns = 8;
      const double factor = random() % 2 == 0 ? 1.01 : 0.99;
      for (int i = top; i < top + rows; ++i)
        for (int j = left; j < left + columns; ++j)
          result.set_value(z, i, j, reference.element(reference.sum(z, i, j), z, i, j).want * factor);
      // D may have so few values that none is another one now, or one that is right by a hair.
      int others = 0;
      for (int i = top; i < top + rows; ++i)
        for (int j = left; j < left + columns; ++j) {
          const double want = reference.element(reference.sum(z, i, j), z, i, j).want;
          others += result.bits(z, i, j) != encode_value(spec.d, static_cast<float>(want)) ? 1 : 0;
        }
      const GemmAccuracy found = result.data().compare(how);
      if (others < (spec.d == DType::e4m3 ? 3 : 1)) continue;
      ASSERT_FALSE(found.correct()) << text_of(spec) << ": " << found.text();
      ++noticed;
    }
  }
  EXPECT_GT(noticed, count * 3 / 4);
}
TEST(Oracle, OnePercentOfARowColumnOrTileIsNoticed) { bias_a_group(60, 10); }
TEST(OracleFull, OnePercentOfARowColumnOrTileIsNoticed) { bias_a_group(2000, 11); }

/// Where a chip keeps 13 bits of a sum of FP8 products, no single element tells.
TEST(Oracle, OnePercentIsNoticedWhereEachElementIsWithinItsBound) {
  const GemmDataSpec spec{.m = 24, .n = 4096, .k = 512, .a = DType::e4m3, .b = DType::e4m3};
  Solved result(spec);
  const Result<const GemmConfig*> config = find_gemm_config("e4m3-kk-64x16-one-1x1-swap");
  ASSERT_TRUE(config) << config.error();
  const Result<GemmPlan> plan = plan_gemm(result.problem(), **config, 1);
  ASSERT_TRUE(plan) << plan.error();
  const HowItRan how{.plan = &*plan};
  EXPECT_TRUE(result.data().compare(how).correct());
  const auto scale = [&](int top, int rows, int left, int columns, double factor) {
    for (int i = top; i < top + rows; ++i)
      for (int j = left; j < left + columns; ++j) result.set_value(0, i, j, result.value(0, i, j) * factor);
  };
  scale(7, 1, 0, spec.n, 1.01);
  GemmAccuracy found = result.data().compare(how);
  EXPECT_EQ(found.wrong, 0) << found.text();
  EXPECT_FALSE(found.correct());
  EXPECT_STREQ(found.first_biased.of, "row");
  EXPECT_EQ(found.first_biased.row, 7);
  EXPECT_NEAR(found.first_biased.bias, 0.01, 0.001);
  EXPECT_NE(found.text().find("but row 7 is 0.9"), std::string::npos) << found.text();
  result.restore();
  scale(0, 16, 128, 64, 0.99);
  found = result.data().compare(how);
  EXPECT_EQ(found.wrong, 0) << found.text();
  EXPECT_FALSE(found.correct());
  EXPECT_STREQ(found.first_biased.of, "tile");
  EXPECT_EQ(found.first_biased.row, 0);
  EXPECT_EQ(found.first_biased.column, 128);
  EXPECT_NEAR(found.first_biased.bias, -0.01, 0.001);
}

}  // namespace
}  // namespace warploom::test
