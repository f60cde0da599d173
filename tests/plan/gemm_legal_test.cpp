// What can run and what cannot: every refusal is a sentence with a way out, and what is not refused can be launched.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "plan/gemm_problems.hpp"

namespace warploom::test {
namespace {

void* fake_workspace() { return place(7); }

/// A launch of every configuration that takes the problem.
void expect_launches(const GemmProblem& p, Chip chip = Chip::sm90) {
  int taken = 0;
  for (const GemmConfig& config : gemm_configs(chip)) {
    if (!why_not(p, config).empty()) continue;
    ++taken;
    for (int splits : {1, 2, 16}) {
      if (splits > 1 && config.shape.partial_floats == 0) continue;  // large tiles do not split
      Result<GemmPlan> plan = plan_gemm(p, config, splits, ChipLimits::of(chip));
      ASSERT_TRUE(plan) << plan.error();
      Result<GemmLaunch> launch = make_launch(p, *plan, fake_workspace(), encode_for(chip));
      ASSERT_TRUE(launch) << config.key << ": " << launch.error();
      EXPECT_EQ(launch->grid.x == 0, p.m == 0 || p.n == 0 || p.batch == 0);
    }
  }
  EXPECT_GT(taken, 0) << "nothing is refused, and nothing runs";
}

/// One line, not an exclamation; what a user can read.
void expect_sentence(const std::string& reason) {
  EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
  EXPECT_GT(reason.size(), 20u) << reason;
  EXPECT_LT(reason.size(), 300u) << reason;
}

void expect_way_out(const GemmProblem& p, Chip chip = Chip::sm90) {
  const GemmProblem nearest = nearest_that_runs(p, chip);
  EXPECT_EQ(why_not(nearest, chip), "");
  expect_launches(nearest, chip);
}

// ---- random problems

class Problems {
 public:
  Problems(uint64_t seed, Chip chip) : random_(seed), chip_(chip) {}

  GemmProblem next() {
    const GemmConfig& config =
        gemm_configs(chip_)[static_cast<size_t>(pick(static_cast<int>(gemm_configs(chip_).size())))];
    const int sizes[] = {0, 1, 7, 8, 16, 63, 64, 65, 128, 200, 1000, 4096};
    constexpr DType outputs[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3};
    GemmProblem p = dense_problem(of(sizes), of(sizes), of(sizes),
                                  config.scaling != Scaling::none && chip_ == Chip::sm90 ? 1 : 1 + pick(3),
                                  types_of(config, of(outputs)));
    if (config.scaling != Scaling::none && pick(4) != 0) p.n = static_cast<int>(round_up(p.n, 8));
    if (pick(2) == 0) p.beta = 0.5f;
    if (pick(2) == 0) p.bias.along = pick(2) == 0 ? BiasAlong::n : BiasAlong::m;
    p.d.stride += pick(3) * 8;
    p.d.batch_stride = p.d.stride * p.m + pick(3);
    p.c.stride = std::max<int64_t>(p.n, p.c.stride);
    p.d.stride = std::max<int64_t>(p.n, p.d.stride);
    p.d.batch_stride = std::max(p.d.batch_stride, p.d.stride * p.m);
    p.b_scales.stride = std::max(p.b_scales.stride, round_up(p.n, 4));
    const int64_t n_stride = round_up(std::max(p.n, 1), 16 / size_of(p.b.type));
    if (p.b.major == Major::mn) p.b.stride = std::max(p.b.stride, n_stride);
    for (int faults = pick(3); faults > 0; --faults) break_something(p);
    return p;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  template <class T, size_t count>
  T of(const T (&values)[count]) {
    return values[pick(static_cast<int>(count))];
  }
  DType any_type() {
    constexpr DType all[] = {DType::e4m3, DType::e5m2, DType::bf16, DType::f16, DType::f32};
    return of(all);
  }
  template <class T>
  void shift(T*& data) {
    data = reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(1 + pick(20)));
  }
  int64_t any_stride() {
    const int64_t strides[] = {-1, 0, 1, 7, 100, 4096, int64_t{1} << 38, int64_t{1} << 41, int64_t{1} << 60};
    return of(strides);
  }

  void break_something(GemmProblem& p) {
    const int extents[] = {-1, 0, 5, 1 << 20, 2147483647};
    switch (pick(26)) {
      case 0: p.m = of(extents); break;
      case 1: p.n = of(extents); break;
      case 2: p.k = of(extents); break;
      case 3: p.batch = of(extents); break;
      case 4: p.a.type = any_type(); break;
      case 5: p.b.type = any_type(); break;
      case 6: p.c.type = any_type(); break;
      case 7: p.d.type = any_type(); break;
      case 8: p.a.stride = any_stride(); break;
      case 9: p.b.stride = any_stride(); break;
      case 10: p.c.stride = any_stride(); break;
      case 11: p.d.stride = any_stride(); break;
      case 12: p.a.batch_stride = any_stride(); break;
      case 13: p.d.batch_stride = any_stride(); break;
      case 14: shift(p.a.data); break;
      case 15: shift(p.d.data); break;
      case 16: p.b.data = nullptr; break;
      case 17: p.d.data = nullptr; break;
      case 18: p.c.data = p.d.data; break;
      case 19: p.d.data = const_cast<void*>(p.a.data); break;
      case 20: p.a.major = p.a.major == Major::k ? Major::mn : Major::k; break;
      case 21: p.bias = {pick(2) == 0 ? nullptr : p.bias.data, any_type(), BiasAlong::n}; break;
      case 22: p.a_scales.stride = any_stride(); break;
      case 23: p.scaling = static_cast<Scaling>(pick(3)); break;
      case 24: shift(p.b_scales.data); break;
      default: p.c.batch_stride = any_stride(); break;
    }
  }

  std::mt19937_64 random_;
  Chip chip_;
};

void fuzz(int problems, Chip chip = Chip::sm90) {
  Problems random(11, chip);
  int legal = 0, refused = 0;
  std::set<std::string> openings;  // of sentences, as a measure of how many rules were met
  for (int i = 0; i < problems; ++i) {
    SCOPED_TRACE("problem " + std::to_string(i));
    const GemmProblem p = random.next();
    const std::string reason = why_not(p, chip);
    if (reason.empty()) {
      ++legal;
      expect_launches(p, chip);
    } else {
      ++refused;
      openings.insert(reason.substr(0, reason.find_first_of("0123456789;")));
      expect_sentence(reason);
      EXPECT_FALSE(plan_gemm(p, ChipLimits::of(chip)));
      EXPECT_TRUE(gemm_plans(p, ChipLimits::of(chip)).empty());
      GemmPlan forced;
      forced.config = &gemm_configs(chip)[0];
      forced.ctas = 132;
      EXPECT_FALSE(make_launch(p, forced, nullptr, encode_for(chip)));
      expect_way_out(p, chip);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(legal, problems / 5);
  EXPECT_GT(refused, problems / 5);
  EXPECT_GT(openings.size(), 20u);
}

TEST(GemmLegal, RandomProblemsLaunchOrHaveAWayOut) { fuzz(3000); }
TEST(GemmLegal, RandomProblemsLaunchOrHaveAWayOutOnBlackwell) { fuzz(3000, Chip::sm100); }
TEST(GemmLegalFull, RandomProblemsLaunchOrHaveAWayOut) { fuzz(200000); }

// ---- rule by rule

struct Case {
  const char* sentence;  ///< a part of it
  std::function<void(GemmProblem&)> spoil;
};

TEST(GemmLegal, SaysWhatIsWrongAndWhatWorks) {
  const Case cases[] = {
      {"none may be negative", [](GemmProblem& p) { p.k = -1; }},
      {"each may be 2147479552 at most", [](GemmProblem& p) { p.m = 2147483647; }},
      {"A is f32; operands are bf16, f16, e4m3 or e5m2", [](GemmProblem& p) { p.a.type = DType::f32; }},
      {"16-bit operands are of one type", [](GemmProblem& p) { p.b.type = DType::f16; }},
      {"FP8 operands are K-major",
       [](GemmProblem& p) {
         p.a.type = p.b.type = DType::e4m3;
         p.b.major = Major::mn;
       }},
      {"D is e5m2; it may be", [](GemmProblem& p) { p.d.type = DType::e5m2; }},
      {"C must be bf16", [](GemmProblem& p) { p.c.type = DType::f32; }},
      {"the bias is e4m3; it may be", [](GemmProblem& p) { p.bias = {p.bias.data, DType::e4m3, BiasAlong::m}; }},
      {"with scales both must be e4m3", [](GemmProblem& p) { p.scaling = Scaling::a_rows_b_blocks; }},
      {"with scales it must be 1",
       [](GemmProblem& p) {
         p.a.type = p.b.type = DType::e4m3;
         p.scaling = Scaling::a_rows_b_blocks;
         p.batch = 2;
       }},
      {"such as 208",
       [](GemmProblem& p) {
         p.a.type = p.b.type = DType::e4m3;
         p.scaling = Scaling::a_rows_b_blocks;
         p.n = 203;
       }},
      {"A is missing", [](GemmProblem& p) { p.a.data = nullptr; }},
      {"B must start at a multiple of 16 bytes",
       [](GemmProblem& p) { p.b.data = static_cast<const char*>(p.b.data) + 8; }},
      {"b_scales must start at a multiple of 16 bytes",
       [](GemmProblem& p) {
         p.a.type = p.b.type = DType::e4m3;
         p.a.stride = p.b.stride = 304;
         p.scaling = Scaling::a_rows_b_blocks;
         p.a_scales = {reinterpret_cast<const float*>(uintptr_t{1} << 44), 512};
         p.b_scales = {reinterpret_cast<const float*>((uintptr_t{1} << 45) + 8), 0};
       }},
      {"rows of A are 100 elements apart but 304 long; 304 works", [](GemmProblem& p) { p.a.stride = 100; }},
      {"a multiple of 8 (16 bytes) is needed, so pad them to 312", [](GemmProblem& p) { p.a.stride = 309; }},
      {"less than 2^40 bytes apart", [](GemmProblem& p) { p.d.stride = int64_t{1} << 40; }},
      {"less than 2^40 bytes apart", [](GemmProblem& p) { p.a.stride = INT64_MAX - 6; }},
      {"matrices of B are 12 elements apart",
       [](GemmProblem& p) {
         p.batch = 2;
         p.b.batch_stride = 12;
       }},
      {"matrices of D are 10 elements apart and overlap",
       [](GemmProblem& p) {
         p.batch = 2;
         p.d.batch_stride = 10;
       }},
      {"D must start at a multiple of 2 bytes", [](GemmProblem& p) { p.d.data = static_cast<char*>(p.d.data) + 1; }},
      {"C and D overlap", [](GemmProblem& p) { p.c.data = static_cast<char*>(p.d.data) + 16; }},
      {"D overlaps B", [](GemmProblem& p) { p.d.data = const_cast<void*>(p.b.data); }},
      {"more than 2^47",
       [](GemmProblem& p) {
         p.m = 1 << 24;
         p.d.stride = int64_t{1} << 36;
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.sentence);
    GemmProblem p = dense_problem(100, 200, 304);
    p.beta = 1.0f;
    ASSERT_EQ(why_not(p), "");
    c.spoil(p);
    const std::string reason = why_not(p);
    EXPECT_NE(reason.find(c.sentence), std::string::npos) << reason;
    expect_sentence(reason);
    expect_way_out(p);
  }
}

TEST(GemmLegal, WhatBlackwellTakesAndDoesNot) {
  GemmProblem p = dense_problem(100, 200, 304, 1, {.a = DType::f32, .b = DType::f32});
  EXPECT_EQ(why_not(p, Chip::sm100), "") << "tf32";
  EXPECT_NE(why_not(p, Chip::sm90), "");
  const Case cases[] = {
      {"A is bf16 and B f32; f32 operands are of one type", [](GemmProblem& q) { q.a.type = DType::bf16; }},
      {"A is e4m3 and B f32; f32 operands are of one type", [](GemmProblem& q) { q.a.type = DType::e4m3; }},
      {"B in MN-major is not possible; f32 operands are K-major", [](GemmProblem& q) { q.b.major = Major::mn; }},
      {"A is f32 and B f32; with scales both must be e4m3",
       [](GemmProblem& q) { q.scaling = Scaling::a_rows_b_blocks; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.sentence);
    GemmProblem spoiled = p;
    c.spoil(spoiled);
    const std::string reason = why_not(spoiled, Chip::sm100);
    EXPECT_NE(reason.find(c.sentence), std::string::npos) << reason;
    expect_sentence(reason);
    expect_way_out(spoiled, Chip::sm100);
  }
}

/// Both kinds of scales, of several matrices; every tensor of them has its rules.
TEST(GemmLegal, ScalesOnBlackwell) {
  const Case cases[] = {
      {"n is 196; with scales it must be a multiple of 8, such as 200", [](GemmProblem& q) { q.n = 196; }},
      {"a_scales is missing", [](GemmProblem& q) { q.a_scales.data = nullptr; }},
      {"rows of a_scales are 102 elements apart; a multiple of 4 (16 bytes) is needed, so pad them to 104",
       [](GemmProblem& q) { q.a_scales.stride = 102; }},
      {"matrices of a_scales are 301 elements apart", [](GemmProblem& q) { q.a_scales.batch_stride = 301; }},
      {"matrices of b_scales are 6 elements apart; a multiple of 4 (16 bytes) and less than 2^40 bytes is possible",
       [](GemmProblem& q) { q.b_scales.batch_stride = 6; }},
      {"b_scales must start at a multiple of 16 bytes", [](GemmProblem& q) { ++q.b_scales.data; }},
      {"D overlaps b_scales", [](GemmProblem& q) { q.d.data = const_cast<float*>(q.b_scales.data); }},
  };
  for (Scaling scaling : {Scaling::a_rows_b_blocks, Scaling::a_rows_b_rows})
    for (const Case& c : cases) {
      SCOPED_TRACE(c.sentence);
      GemmProblem p = dense_problem(100, 200, 304, 2, {.a = DType::e4m3, .b = DType::e4m3});
      p.scaling = scaling;
      ASSERT_EQ(why_not(p, Chip::sm100), "");
      EXPECT_EQ(why_not(p, Chip::sm90), "batch is 2; with scales it must be 1");
      c.spoil(p);
      const std::string reason = why_not(p, Chip::sm100);
      EXPECT_NE(reason.find(c.sentence), std::string::npos) << reason;
      expect_sentence(reason);
      expect_way_out(p, Chip::sm100);
    }
}

TEST(GemmLegal, WhatMayBeOdd) {
  GemmProblem p = dense_problem(101, 203, 304, 2);
  p.beta = 1.0f;
  p.d.data = static_cast<char*>(p.d.data) + 2;  // C and D need no 16 bytes
  EXPECT_EQ(why_not(p), "");
  p.c = {p.d.data, p.d.type, p.d.stride, p.d.batch_stride};
  EXPECT_EQ(why_not(p), "") << "C is D";
  p.a.batch_stride = 0;
  EXPECT_EQ(why_not(p), "") << "one A for the whole batch";
  p.d.stride = 2 * p.n;
  p.d.batch_stride = p.n;
  p.beta = 0;
  EXPECT_EQ(why_not(p), "") << "matrices of D interleaved row by row";
  p.k = 0;
  p.a.data = p.b.data = nullptr;
  EXPECT_EQ(why_not(p), "") << "a product over nothing";
  p = dense_problem(0, 200, 304);
  p.d.data = nullptr;
  EXPECT_EQ(why_not(p), "") << "nothing to do";
  expect_launches(p);
}

TEST(GemmLegal, TheNearestKeepsWhatWorks) {
  GemmProblem p = dense_problem(100, 200, 304);
  p.a.stride = 309;
  const GemmProblem nearest = nearest_that_runs(p);
  EXPECT_EQ(nearest.a.stride, 312);
  EXPECT_EQ(nearest.m, 100);
  EXPECT_EQ(nearest.n, 200);
  EXPECT_EQ(nearest.k, 304);
  EXPECT_EQ(nearest.a.data, p.a.data);
  EXPECT_EQ(nearest.b.stride, p.b.stride);
}

/// Callers in other languages may hand over any number.
TEST(GemmLegal, ValuesThatNoEnumHasAreRefused) {
  const Case cases[] = {
      {"the type of A is 9; there are e4m3", [](GemmProblem& p) { p.a.type = static_cast<DType>(9); }},
      {"the type of B is 5; there are e4m3", [](GemmProblem& p) { p.b.type = static_cast<DType>(5); }},
      {"the type of C is 9; there are e4m3", [](GemmProblem& p) { p.c.type = static_cast<DType>(9); }},
      {"the type of D is 9; there are e4m3", [](GemmProblem& p) { p.d.type = static_cast<DType>(9); }},
      {"the type of the bias is 9; there are e4m3",
       [](GemmProblem& p) { p.bias = {p.bias.data, static_cast<DType>(9), BiasAlong::n}; }},
      {"the activation is 5; there are none, relu", [](GemmProblem& p) { p.activation = static_cast<Activation>(5); }},
      {"the bias lies along 3; there are none, n and m",
       [](GemmProblem& p) { p.bias.along = static_cast<BiasAlong>(3); }},
      {"the scaling is 3; there are none", [](GemmProblem& p) { p.scaling = static_cast<Scaling>(3); }},
  };
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const Case& c : cases) {
      SCOPED_TRACE(c.sentence);
      GemmProblem p = dense_problem(100, 200, 304);
      p.beta = 1.0f;
      c.spoil(p);
      const std::string reason = why_not(p, chip);
      EXPECT_NE(reason.find(c.sentence), std::string::npos) << reason;
      expect_sentence(reason);
      expect_way_out(p, chip);
      const GemmProblem nearest = nearest_that_runs(p, chip);
      EXPECT_EQ(nearest.m, 100);
      EXPECT_EQ(nearest.k, 304);
    }
}

/// Scales on operands that run without them: the operands are kept.
TEST(GemmLegal, ScalesThatAreTooMuchAreLeftOut) {
  GemmProblem p = dense_problem(100, 203, 304, 2, {.a = DType::bf16, .b = DType::bf16});
  p.scaling = Scaling::a_rows_b_blocks;
  p.a_scales = p.b_scales = {};
  for (Chip chip : {Chip::sm90, Chip::sm100}) {
    EXPECT_EQ(why_not(p, chip), "A is bf16 and B bf16; with scales both must be e4m3");
    const GemmProblem nearest = nearest_that_runs(p, chip);
    EXPECT_EQ(nearest.scaling, Scaling::none);
    EXPECT_EQ(nearest.a.type, DType::bf16);
    EXPECT_EQ(nearest.b.type, DType::bf16);
    EXPECT_EQ(nearest.n, 203);
    EXPECT_EQ(nearest.k, 304);
    EXPECT_EQ(nearest.batch, 2);
  }
  // No pair with or without scales: they say what it was meant to be.
  p = dense_problem(100, 200, 304, 1, {.a = DType::e4m3, .b = DType::bf16});
  p.scaling = Scaling::a_rows_b_blocks;
  EXPECT_EQ(nearest_that_runs(p).scaling, Scaling::a_rows_b_blocks);
  EXPECT_EQ(nearest_that_runs(p).b.type, DType::e4m3);
}

TEST(GemmLegal, AConfigurationForOtherTypesNamesOneThatFits) {
  const GemmProblem p = dense_problem(100, 200, 304);
  for (const GemmConfig& config : gemm_configs()) {
    const std::string reason = why_not(p, config);
    const bool fits = config.a == DType::bf16 && config.b == DType::bf16 && config.a_major == Major::k &&
                      config.b_major == Major::k && config.scaling == Scaling::none;
    EXPECT_EQ(reason.empty(), fits) << config.key << ": " << reason;
    if (!fits) {
      EXPECT_NE(reason.find(config.key), std::string::npos) << reason;
    }
  }
}

/// Q, K and V beside each other in the rows of one buffer: none of them has an element of another.
TEST(GemmLegal, ColumnsOfOneBufferDoNotOverlap) {
  constexpr int m = 256, n = 512, k = 384;
  GemmProblem p = dense_problem(m, n, k);
  auto* const buffer = static_cast<char*>(place(2));
  const auto column = [&](int64_t elements) { return buffer + 2 * elements; };
  p.beta = 1.0f;
  p.d = {column(0), DType::bf16, 3 * n};
  p.c = {column(n), DType::bf16, 3 * n};
  p.a = {column(2 * n), DType::bf16, 3 * n};  // k <= n
  EXPECT_EQ(why_not(p), "");
  EXPECT_TRUE(plan_gemm(p));
  p.c.data = column(n - 1);
  EXPECT_NE(why_not(p).find("C and D overlap"), std::string::npos) << why_not(p);
  p.c.data = column(2 * n);  // beside A, which is read as well
  EXPECT_EQ(why_not(p), "");
  p.a.data = column(-8);  // from the end of one row into the next
  EXPECT_NE(why_not(p).find("D overlaps A"), std::string::npos) << why_not(p);

  // Matrices of a batch, too: behind each other, or row by row.
  for (const auto& [stride, batch_stride] : {std::pair<int64_t, int64_t>{3 * n, 3 * n * m}, {3 * n * 4, 3 * n}}) {
    GemmProblem q = dense_problem(m, n, k, 4);
    q.beta = 1.0f;
    q.d = {column(n), DType::bf16, stride, batch_stride};
    q.c = {column(0), DType::bf16, stride, batch_stride};
    EXPECT_EQ(why_not(q), "");
    q.c.data = column(8);
    EXPECT_NE(why_not(q).find("C and D overlap"), std::string::npos) << why_not(q);
  }
}

TEST(GemmLegal, MatricesOfDThatAreNeitherBehindEachOtherNorRowByRow) {
  GemmProblem p = dense_problem(1000, 10, 64, 5);
  p.d.stride = 100;
  p.d.batch_stride = 30;  // columns 0, 30, 60, 90 and 20 of the next row
  EXPECT_EQ(why_not(p), "");
  p.d.batch_stride = 25;  // the fifth begins where the first has its second row
  EXPECT_NE(why_not(p).find("matrices of D are 25 elements apart and overlap"), std::string::npos) << why_not(p);
  p.m = 1;
  EXPECT_EQ(why_not(p), "");
}

TEST(GemmLegal, RefusalsHaveCodes) {
  const auto code = [](auto&& change) {
    GemmProblem p = dense_problem(256, 512, 384);
    change(p);
    return plan_gemm(p).code();
  };
  EXPECT_EQ(code([](GemmProblem&) {}), ErrorCode::none);
  EXPECT_EQ(code([](GemmProblem& p) { p.m = -1; }), ErrorCode::bad_argument);
  EXPECT_EQ(code([](GemmProblem& p) { p.a.data = nullptr; }), ErrorCode::bad_argument);
  EXPECT_EQ(code([](GemmProblem& p) { p.d.stride = 3; }), ErrorCode::bad_argument);
  EXPECT_EQ(code([](GemmProblem& p) { p.activation = static_cast<Activation>(77); }), ErrorCode::bad_argument);
  EXPECT_EQ(code([](GemmProblem& p) { p.d.type = DType::e5m2; }), ErrorCode::unsupported);
  EXPECT_EQ(code([](GemmProblem& p) { p.a.type = DType::f16; }), ErrorCode::unsupported);
  const GemmProblem p = dense_problem(256, 512, 384);
  EXPECT_EQ(plan_gemm(p, {0, Chip::sm90}).code(), ErrorCode::unsupported);
  const GemmConfig& config = *plan_gemm(p)->config;
  EXPECT_EQ(plan_gemm(p, config, 99).code(), ErrorCode::bad_argument);
  EXPECT_EQ(find_gemm_config("no such").code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace warploom::test
