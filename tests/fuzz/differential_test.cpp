// Some hundred random kernels of each domain, ten thousand in the suites in `Full`; main.cpp runs as many as one likes.
#include "fuzz/differential.hpp"

#include <gtest/gtest.h>

namespace warploom::loom::fuzz {
namespace {

/// No program among these is refuted; and there are enough that could have been.
void expect_none_refuted(Domain domain, uint64_t first_seed, uint32_t programs) {
  uint32_t holds = 0;
  for (uint64_t seed = first_seed; seed < first_seed + programs; ++seed) {
    Refutation refutation{generate(domain, seed), {}, seed};
    refutation.judgement = judge(refutation.program, {});
    if (refutation.judgement.kind == Kind::holds) ++holds;
    if (refutation.judgement.kind != Kind::refuted && refutation.judgement.kind != Kind::crashed) continue;
    refutation.program = shrink(refutation.program, {});
    refutation.judgement = judge(refutation.program, {});
    ADD_FAILURE() << to_text(refutation);
    return;
  }
  EXPECT_GT(holds, programs / 6);
}

class Differential : public ::testing::TestWithParam<uint32_t> {};
TEST_P(Differential, NoneRefuted) { expect_none_refuted(static_cast<Domain>(GetParam()), 1, 250); }

std::string name(const ::testing::TestParamInfo<uint32_t>& info) {
  std::string text = to_string(static_cast<Domain>(info.param));
  std::erase(text, '-');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Domains, Differential, ::testing::Range(0u, domain_count), name);

class DifferentialFull : public ::testing::TestWithParam<uint32_t> {};
TEST_P(DifferentialFull, NoneRefuted) { expect_none_refuted(static_cast<Domain>(GetParam()), 100'000, 10'000); }
INSTANTIATE_TEST_SUITE_P(Domains, DifferentialFull, ::testing::Range(0u, domain_count), name);

// A checker that knows less is refuted, so the fuzzer would notice one that does.
struct Blind {
  Domain domain;
  const char* without;
};
std::string rule_name(const ::testing::TestParamInfo<Blind>& test) {
  std::string text = std::string(to_string(test.param.domain)) + test.param.without;
  std::erase(text, '-');
  return text;
}
class DifferentialNotices : public ::testing::TestWithParam<Blind> {};

TEST_P(DifferentialNotices, ARuleTakenOut) {
  const auto& [domain, without] = GetParam();
  const Trial trial{.without = {without}};
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Program program = generate(domain, seed);
    if (judge(program, trial).kind != Kind::refuted || judge(program, {}).kind == Kind::refuted) continue;
    const Program small = shrink(program, trial);
    EXPECT_EQ(judge(small, trial).kind, Kind::refuted);
    EXPECT_LT(small.steps(), program.steps()) << to_text(small);
    EXPECT_NE(judge(small, {}).kind, Kind::holds) << to_text(small);
    return;
  }
  FAIL() << "none of 500 programs is refuted";
}

INSTANTIATE_TEST_SUITE_P(Rules, DifferentialNotices,
                         ::testing::Values(Blind{Domain::lanes, "RACE-SMEM"}, Blind{Domain::clusters, "RACE-SMEM"},
                                           Blind{Domain::tensor_memory, "RACE-TMEM"},
                                           Blind{Domain::tensor_memory, "points"}, Blind{Domain::wgmma, "RACE-SMEM"},
                                           Blind{Domain::global, "RACE-GLOBAL"}, Blind{Domain::atomics, "points"},
                                           Blind{Domain::tests, "points"}, Blind{Domain::tests, "PHASE-AMBIG"},
                                           Blind{Domain::launch_control, "points"}),
                         rule_name);

}  // namespace
}  // namespace warploom::loom::fuzz
