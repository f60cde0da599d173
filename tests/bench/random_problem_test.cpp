#include "bench/random_problem.hpp"

#include <gtest/gtest.h>

#include <map>

namespace warploom::bench {
namespace {

TEST(RandomProblem, DependsOnSeedAndNumberAlone) {
  for (uint64_t number = 0; number < 50; ++number)
    EXPECT_EQ(describe(random_problem(3, number).problem), describe(random_problem(3, number).problem));
  EXPECT_NE(describe(random_problem(3, 7).problem), describe(random_problem(4, 7).problem));
}

TEST(RandomProblem, MeetsEveryTypeMajorEpilogueAndScaling) {
  std::map<std::string, int> seen;
  for (uint64_t number = 0; number < 2000; ++number) {
    const RandomProblem one = random_problem(1, number);
    const GemmProblem& p = one.problem;
    ++seen[std::string("a ") + name_of(p.a.type)];
    ++seen[std::string("d ") + name_of(p.d.type)];
    ++seen["majors " + std::to_string(static_cast<int>(p.a.major)) + std::to_string(static_cast<int>(p.b.major))];
    ++seen["scaling " + std::to_string(static_cast<int>(p.scaling))];
    ++seen["activation " + std::to_string(static_cast<int>(p.activation))];
    ++seen["bias " + std::to_string(static_cast<int>(p.bias.along))];
    seen["batch"] += p.batch > 1;
    seen["C"] += p.beta != 0;
    seen["C is D"] += one.c_is_d;
    seen["empty"] += p.m == 0 || p.n == 0 || p.k == 0;
    seen["odd n"] += p.n % 8 != 0;
    seen["padded"] += p.d.stride > p.n + 8;
    seen["integers"] += one.integers;
  }
  EXPECT_EQ(seen.size(), 4u + 4 + 4 + 3 + 5 + 3 + 7);
  for (const auto& [what, times] : seen) EXPECT_GE(times, 10) << what;
}

/// A sum that is exact in the reference must be exact on the GPU: the factors are powers of two.
TEST(RandomProblem, IntegersComeWithExactFactors) {
  for (uint64_t number = 0; number < 500; ++number) {
    const RandomProblem one = random_problem(5, number);
    if (one.integers) {
      EXPECT_NE(one.problem.alpha, 0.37f);
    }
  }
}

TEST(RandomProblem, StridesHoldTheirRows) {
  for (uint64_t number = 0; number < 2000; ++number) {
    const GemmProblem p = random_problem(9, number).problem;
    EXPECT_GE(p.a.stride, p.a.major == Major::k ? p.k : p.m);
    EXPECT_GE(p.b.stride, p.b.major == Major::k ? p.k : p.n);
    EXPECT_GE(p.d.stride, p.n);
    EXPECT_GE(p.d.batch_stride, p.d.stride * p.m);
    if (p.beta != 0) {
      EXPECT_GE(p.c.stride, p.n);
    }
    if (p.scaling != Scaling::none) {
      EXPECT_GE(p.a_scales.stride, p.m);
    }
  }
}

}  // namespace
}  // namespace warploom::bench
