// Some hundred random kernels of each domain, thousands in the suites in `Full`; main.cpp runs as many as one likes.
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
TEST_P(Differential, NoneRefuted) { expect_none_refuted(static_cast<Domain>(GetParam()), 1, 150); }

std::string name(const ::testing::TestParamInfo<uint32_t>& info) {
  std::string text = to_string(static_cast<Domain>(info.param));
  std::erase(text, '-');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Domains, Differential, ::testing::Range(0u, domain_count), name);

class DifferentialFull : public ::testing::TestWithParam<uint32_t> {};
TEST_P(DifferentialFull, NoneRefuted) { expect_none_refuted(static_cast<Domain>(GetParam()), 100'000, 10'000); }
INSTANTIATE_TEST_SUITE_P(Domains, DifferentialFull, ::testing::Range(0u, domain_count), name);

}  // namespace
}  // namespace warploom::loom::fuzz
