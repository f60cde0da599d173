// Programs for which one run must not say HOLDS, or must: verdicts without exploring, and findings under every
// schedule.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/clc.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::loom::points {

using namespace probe;

struct Memory {
  alignas(128) std::array<uint32_t, 64> words{};
  std::vector<TensorRef> tensors() { return {{words.data(), sizeof(words), Access::write, "words"}}; }
};

struct Params {
  uint32_t* words;
  bool buggy;
};

/// The verdict after the one run that would speak for all, without exploring.
template <class Kernel>
Verdict verdict_of(Launch launch, Kernel, bool buggy, uint32_t registers = 0, const Schedule& schedule = {}) {
  Memory memory;
  launch.tensors = memory.tensors();
  LaunchConfig config = config_of(launch);
  config.registers = registers;
  const Params params{memory.words.data(), buggy};
  CheckOptions options;
  options.schedules = 1;
  options.run.schedule = schedule;
  return check({.what = "probe",
                .launch =
                    [&](const Options& run_options) {
                      memory.words = {};
                      return ::warploom::loom::launch(config, &entry<Kernel, Params>, &params, launch.tensors,
                                                      run_options);
                    }},
               options);
}

/// The one run does not say HOLDS of the buggy form, and does of its twin.
template <class Kernel>
void never_holds(const Launch& launch, Kernel kernel, const char* point, uint32_t registers = 0) {
  const Verdict buggy = verdict_of(launch, kernel, true, registers);
  EXPECT_EQ(buggy.kind, Verdict::Kind::none_found) << buggy.sentence() << to_text(buggy.report);
  EXPECT_TRUE(std::ranges::any_of(buggy.points, [&](const Point& found) { return found.operation == point; }))
      << buggy.sentence();
  const Verdict twin = verdict_of(launch, kernel, false, registers);
  EXPECT_EQ(twin.kind, Verdict::Kind::holds) << twin.sentence() << to_text(twin.report);
}

/// Reported with this code by a run under any schedule; of the twin, HOLDS.
template <class Kernel>
void always_fails(const Launch& launch, Kernel kernel, std::initializer_list<const char*> codes) {
  Memory memory;
  Launch with_tensors = launch;
  with_tensors.tensors = memory.tensors();
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.check = true;
    const Outcome outcome = run(with_tensors, kernel, Params{memory.words.data(), true}, options);
    ASSERT_EQ(outcome.report.findings.size(), 1u) << "no finding";
    EXPECT_NE(std::ranges::find(codes, outcome.report.findings[0].code), codes.end()) << to_text(outcome.report);
  }
  const Verdict twin = verdict_of(launch, kernel, false);
  EXPECT_EQ(twin.kind, Verdict::Kind::holds) << twin.sentence() << to_text(twin.report);
}

struct Storage {
  alignas(128) uint32_t line[32];
  alignas(16) ClcResponse response[2];
  Mbarrier a[1], b[1], c[1];
  uint32_t slot[2];
};
constexpr size_t storage_bytes = sizeof(Storage);

inline void init_three(Storage& s, uint32_t a, uint32_t b = 1, uint32_t c = 1) {
  if (thread_index() == 0) {
    mbarrier_init(address(s.a[0]), a);
    mbarrier_init(address(s.b[0]), b);
    mbarrier_init(address(s.c[0]), c);
    fence_mbarrier_init();
  }
  cluster_sync();
}

}  // namespace warploom::loom::points
