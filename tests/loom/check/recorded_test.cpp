#include "recorded.hpp"

#include <gtest/gtest.h>

namespace warploom::loom::check {
namespace {

TEST(Recorded, KernelsHaveNoBadSchedule) {
  for (const RecordedKernel& kernel : recorded_kernels()) {
    std::string trouble;
    const Script script = record(kernel, 7, trouble);
    ASSERT_EQ(trouble, "") << kernel.name;
    if (getenv("SHOW")) std::printf("%s", to_text(script).c_str());
    const Outcome all = explore(script, 5'000'000);
    size_t steps = 0;
    for (const auto& thread : script.threads) steps += thread.size();
    std::printf("%-70s %2zu warps, %3zu steps, %2zu barriers, %2d buffers, %zu states: %s\n", kernel.name, script.threads.size(), steps,
                script.counts.size(), script.buffers, all.states, to_string(all).c_str());
    EXPECT_FALSE(all.bad()) << kernel.name << ": " << to_string(all);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Outcome one = run_once(script, seed);
      EXPECT_FALSE(one.bad()) << kernel.name << ": " << to_string(one) << " " << one.first;
    }
  }
}

}  // namespace
}  // namespace warploom::loom::check
