// One run of the checker against every schedule, on programs recorded from kernels: docs/verdict_evidence.md.
#include "recorded.hpp"

#include <gtest/gtest.h>

#include <map>

namespace warploom::loom::check {
namespace {

std::vector<Script> recorded_scripts() {
  std::vector<Script> scripts;
  for (const RecordedKernel& kernel : recorded_kernels()) {
    std::string trouble;
    scripts.push_back(record(kernel, 7, trouble));
    EXPECT_EQ(trouble, "") << kernel.name;
  }
  return scripts;
}

TEST(Recorded, KernelsHaveNoBadSchedule) {
  for (const Script& script : recorded_scripts()) {
    SCOPED_TRACE(script.name);
    const Outcome all = explore(script, 1'000'000);
    EXPECT_FALSE(all.bad() || all.truncated) << to_string(all);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Outcome one = run_once(script, seed);
      EXPECT_FALSE(one.bad()) << one.first;
    }
    size_t steps = 0;
    for (const auto& thread : script.threads) steps += thread.size();
    std::printf("%-70s %2zu warps %3zu steps %2zu barriers %2d buffers %7zu states\n", script.name.c_str(),
                script.threads.size(), steps, script.counts.size(), script.buffers, all.states);
  }
}

/// A kernel is the same list of operations whatever schedule it was recorded under.
TEST(Recorded, ListsDoNotDependOnTheSchedule) {
  for (const RecordedKernel& kernel : recorded_kernels()) {
    std::string trouble;
    const Script first = record(kernel, 7, trouble);
    ASSERT_EQ(trouble, "") << kernel.name;
    for (uint64_t seed = 8; seed < 11; ++seed) {
      const Script other = record(kernel, seed, trouble);
      ASSERT_EQ(trouble, "") << kernel.name;
      ASSERT_EQ(other.threads.size(), first.threads.size()) << kernel.name;
      for (size_t thread = 0; thread < first.threads.size(); ++thread) {
        ASSERT_EQ(other.threads[thread].size(), first.threads[thread].size()) << kernel.name << ", thread " << thread;
        for (size_t at = 0; at < first.threads[thread].size(); ++at)
          EXPECT_EQ(other.threads[thread][at].kind, first.threads[thread][at].kind) << kernel.name;
      }
    }
  }
}

struct Count {
  uint32_t mutants = 0, bad = 0, missed = 0, extra = 0, differing = 0, too_large = 0;

  void add(const Count& other) {
    mutants += other.mutants;
    bad += other.bad;
    missed += other.missed;
    extra += other.extra;
    differing += other.differing;
    too_large += other.too_large;
  }
  void print(const std::string& name) const {
    std::printf("%-70s %7u %7u %7u %7u %7u %9u\n", name.c_str(), mutants, bad, missed, extra, differing, too_large);
  }
};

/// What one run says of mutants, held against every schedule of them; then whether seven other runs say the same.
/// Mutants with more than `limit` states count for nothing.
void compare(uint32_t mutants, uint64_t seed, size_t limit) {
  const std::vector<Script> scripts = recorded_scripts();
  Random random(seed);
  std::map<std::string, Count> by_script, by_kind;
  std::map<std::string, uint32_t> extras;
  Count all;
  for (uint64_t i = 0; all.mutants < mutants; ++i) {
    Script script = scripts[i % scripts.size()];
    std::string kind = mutate(script, random);
    if (kind.empty()) continue;
    if (random.below(4) == 0 && !mutate(script, random).empty()) kind = "two of these";
    const Outcome every = explore(script, limit);
    Count one;
    if (every.truncated) {
      one.too_large = 1;
    } else {
      const Outcome first = run_once(script, 1000 * i);
      one.mutants = 1;
      one.bad = every.bad() ? 1 : 0;
      one.missed = every.bad() && !first.bad() ? 1 : 0;
      one.extra = first.bad() && !every.bad() ? 1 : 0;
      for (uint64_t other = 1; other < 8; ++other)
        if (run_once(script, 1000 * i + other).bad() != first.bad()) one.differing = 1;
      if (one.extra != 0) ++extras[first.first];
      EXPECT_EQ(one.missed, 0u) << "mutant " << i << " (" << kind << "): some schedule has a " << to_string(every)
                                << ", one run shows nothing\n"
                                << to_text(script);
      EXPECT_EQ(one.differing, 0u) << "mutant " << i << " (" << kind << "): the verdict depends on the schedule\n"
                                   << to_text(script);
    }
    all.add(one);
    by_script[script.name].add(one);
    by_kind[kind].add(one);
  }
  std::printf("%-70s %7s %7s %7s %7s %7s %9s\n", "", "mutants", "bad", "missed", "extra", "differ", "too large");
  for (const auto& [name, count] : by_script) count.print(name);
  for (const auto& [name, count] : by_kind) count.print(name);
  all.print("all");
  for (const auto& [what, count] : extras) std::printf("extra: %-60s %u\n", what.c_str(), count);
  EXPECT_GT(all.bad, all.mutants / 3) << "mutants that break nothing test nothing";
  EXPECT_LT(all.extra, all.mutants / 20);
}

TEST(Recorded, OneRunSpeaksForAllSchedules) { compare(300, 1, 20'000); }
TEST(RecordedFull, OneRunSpeaksForAllSchedules) { compare(20'000, 2, 300'000); }

/// The search leaves out what cannot matter; held against one that leaves out nothing, where that one comes to an end.
void compare_searches(uint32_t mutants, size_t limit) {
  const std::vector<Script> scripts = recorded_scripts();
  Random random(3);
  uint32_t compared = 0, bad = 0, too_large = 0;
  for (uint64_t i = 0; compared + too_large < mutants; ++i) {
    Script script = scripts[i % scripts.size()];
    const std::string kind = mutate(script, random);
    if (kind.empty()) continue;
    const Outcome plain = explore_plainly(script, limit);
    if (plain.truncated) {
      ++too_large;
      continue;
    }
    ++compared;
    bad += plain.bad() ? 1 : 0;
    const Outcome all = explore(script, limit);
    EXPECT_EQ(all.bad(), plain.bad()) << kind << ": " << to_string(plain) << " without reductions, " << to_string(all)
                                      << " with them\n"
                                      << to_text(script);
  }
  std::printf("%u mutants compared, %u of them bad; %u have more than %zu states without reductions\n", compared, bad,
              too_large, limit);
}

TEST(Recorded, SearchSaysWhatOneWithoutReductionsSays) { compare_searches(60, 20'000); }
TEST(RecordedFull, SearchSaysWhatOneWithoutReductionsSays) { compare_searches(1'000, 100'000); }

}  // namespace
}  // namespace warploom::loom::check
