// A run is a function of kernel, inputs and schedule: not of the number of workers, nor of the time of day.
#include "loom/ring_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

/// Everything a run shows.
struct Picture {
  std::string text, json;
  uint64_t steps, cycles;
  std::vector<uint32_t> output;
  std::vector<std::string> events;
  friend bool operator==(const Picture&, const Picture&) = default;
};

template <class Kernel, class Params>
Picture picture(const Launch& launch, Kernel kernel, const Params& params, std::vector<uint32_t>& output,
                const Schedule& schedule, unsigned workers) {
  Options options = with(schedule);
  options.workers = workers;
  options.record_events = true;
  std::fill(output.begin(), output.end(), 0);
  const Outcome outcome = run(launch, kernel, params, options);
  Picture picture{to_text(outcome.report), to_json(outcome.report), outcome.steps, outcome.nominal_cycles, {}, {}};
  // Clusters after the first that failed may or may not have run.
  if (outcome.ok()) picture.output = output;
  for (const Event& event : outcome.events.events)
    picture.events.push_back(std::to_string(static_cast<int>(event.kind)) + " " + std::to_string(event.cluster) + " " +
                             std::to_string(event.cta) + " " + std::to_string(event.warp) + " " +
                             std::to_string(event.begin) + " " + std::to_string(event.end) + " " +
                             outcome.events.names.at(event.name));
  return picture;
}

TEST(Determinism, CleanRun) {
  RingMemory memory(12);
  const Launch launch = memory.launch(2);
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    const Picture first = picture(launch, ring_kernel, memory.params(), memory.sums, schedule, 1);
    EXPECT_TRUE(memory.correct());
    EXPECT_FALSE(first.events.empty());
    for (const unsigned workers : {1u, 2u, 3u})
      EXPECT_TRUE(first == picture(launch, ring_kernel, memory.params(), memory.sums, schedule, workers)) << workers;
  }
}

struct FailingParams {
  uint32_t clusters[2];  ///< these fail
};

const auto failing_kernel = [](const FailingParams& p) {
  auto& s = shared<RingStorage>();
  init_barriers(s.full, 1);
  const uint32_t cluster = cluster_index().x;
  if (lane_index() == 0) {
    mbarrier_arrive(shared_address(&s.full[0]));
    if (cluster == p.clusters[0]) OFFENDING(mbarrier_arrive(shared_address(&s.full[0]), 2));
    if (cluster == p.clusters[1]) mbarrier_wait(shared_address(&s.full[1]), 1);
    mbarrier_wait(shared_address(&s.full[0]), 1);
  }
  syncwarp();
};

TEST(Determinism, LowestFailingClusterIsReported) {
  const Launch launch{.grid = {32}};
  std::vector<uint32_t> none;
  for (const FailingParams params : {FailingParams{{5, 17}}, FailingParams{{17, 5}}, FailingParams{{31, 30}}}) {
    const uint32_t lowest = std::min(params.clusters[0], params.clusters[1]);
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(schedule.text());
      const Picture first = picture(launch, failing_kernel, params, none, schedule, 1);
      EXPECT_TRUE(contains(first.text, "cluster " + std::to_string(lowest) + ")")) << first.text;
      EXPECT_TRUE(contains(first.text, lowest == params.clusters[0] ? "ARRIVE-OVERFLOW" : "DEADLOCK")) << first.text;
      for (const unsigned workers : {1u, 2u, 4u})
        EXPECT_TRUE(first == picture(launch, failing_kernel, params, none, schedule, workers)) << workers;
    }
  }
}

TEST(Determinism, ReportHasTheClusterOfTheFailure) {
  const Outcome outcome = run({.grid = {32}}, failing_kernel, FailingParams{{9, 21}});
  EXPECT_EQ(outcome.report.cluster, 9u);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].at.user.line, offending_line);
}

/// Warp 1 uses a barrier that warp 0 initialises, with nothing in between: a matter of luck.
const auto racing_kernel = [](bool) {
  auto& s = shared<RingStorage>();
  if (thread_index() == 0) mbarrier_init(shared_address(&s.full[0]), 1);
  if (thread_index() == 32) OFFENDING(mbarrier_arrive(shared_address(&s.full[0])));
  syncwarp();
};

TEST(Determinism, ScheduleTextReplaysAFailure) {
  const Launch launch{.grid = {4}, .threads = 64};
  uint32_t failed = 0, passed = 0;
  for (uint64_t seed = 0; seed < 64 && (failed < 3 || passed < 3); ++seed) {
    const Outcome outcome = run(launch, racing_kernel, true, with({Policy::random, seed}));
    if (outcome.ok()) {
      ++passed;
      continue;
    }
    ++failed;
    expect_finding(outcome, launch, {"BAR-UNINIT", {"not initialised"}});
    const Result<Schedule> schedule = Schedule::parse(outcome.report.schedule);
    ASSERT_TRUE(schedule);
    const Outcome again = run(launch, racing_kernel, true, with(*schedule));
    EXPECT_EQ(to_text(again.report), to_text(outcome.report));
    EXPECT_EQ(again.steps, outcome.steps);
  }
  EXPECT_GE(failed, 3u);
  EXPECT_GE(passed, 3u);
}

TEST(Determinism, SeedsAreDifferentSchedules) {
  RingMemory memory;
  const Launch launch = memory.launch();
  std::vector<Picture> pictures;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Picture next = picture(launch, ring_kernel, memory.params(), memory.sums, {Policy::random, seed}, 1);
    next.text = next.json = "";  // they name the seed
    pictures.push_back(std::move(next));
  }
  bool differ = false;
  for (const Picture& other : pictures) differ = differ || !(other == pictures[0]);
  EXPECT_TRUE(differ);
}

TEST(Determinism, ClustersOfOneLaunchHaveTheirOwnChoices) {
  const Launch launch{.grid = {64}, .threads = 64};
  uint32_t first_failures[2] = {0, 0};
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Outcome outcome = run(launch, racing_kernel, true, with({Policy::random, seed}));
    if (!outcome.ok()) ++first_failures[outcome.report.cluster == 0 ? 0 : 1];
  }
  EXPECT_GT(first_failures[1], 0u);  // not all in cluster 0
}

TEST(Determinism, OutputsDoNotDependOnTheSchedule) {
  RingMemory memory(8);
  for (const Schedule& schedule : schedules(memory.launch(4))) {
    memory.sums.assign(memory.sums.size(), 0);
    expect_clean(run(memory.launch(4), ring_kernel, memory.params(), with(schedule)));
    EXPECT_TRUE(memory.correct()) << schedule.text();
  }
}

}  // namespace
}  // namespace warploom::loom
