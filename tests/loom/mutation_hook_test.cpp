// The mutation hook: it lists the barrier operations of a kernel and alters one of them.
#include <map>
#include <set>

#include "loom/ring_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

std::vector<Site> ring_sites() {
  RingMemory memory;
  Options options;
  options.record_sites = true;
  Outcome outcome = run(memory.launch(), ring_kernel, memory.params(), options);
  expect_clean(outcome);
  return std::move(outcome.sites);
}

Site site_of(std::string_view operation, uint32_t line) {
  for (Site& site : ring_sites())
    if (site.operation == operation && (line == 0 || site.at.user.line == line)) return site;
  ADD_FAILURE() << "no site " << operation << " at line " << line;
  return {};
}

/// What the altered ring does under each schedule: the code of its finding, "wrong" or "unnoticed".
std::map<std::string, std::string> effects(const Site& site, MutationKind kind, int64_t only = -1) {
  RingMemory memory;
  std::map<std::string, std::string> seen;
  for (const Schedule& schedule : schedules()) {
    Options options = with(schedule);
    options.mutation = Mutation{site.key(), kind, only};
    options.step_limit = 1'000'000;
    memory.sums.assign(memory.sums.size(), 0);
    const Outcome outcome = run(memory.launch(), ring_kernel, memory.params(), options);
    EXPECT_EQ(outcome.report.mutation, std::string(to_string(kind)) + " " + site.key());
    seen[schedule.text()] = !outcome.ok() ? outcome.report.findings[0].code : memory.correct() ? "unnoticed" : "wrong";
  }
  return seen;
}

/// Every effect is one of `allowed`, and "unnoticed" is none that eager, lazy and adversarial agree on.
void expect_effects(const Site& site, MutationKind kind, const std::set<std::string>& allowed) {
  bool noticed = false;
  for (const auto& [schedule, effect] : effects(site, kind)) {
    EXPECT_TRUE(allowed.contains(effect) || effect == "unnoticed")
        << to_string(kind) << " " << site.key() << " under " << schedule << ": " << effect;
    noticed = noticed || effect != "unnoticed";
  }
  EXPECT_TRUE(noticed) << to_string(kind) << " " << site.key();
}

TEST(MutationSeam, SitesHaveTheirLines) {
  const std::vector<Site> sites = ring_sites();
  const auto expect = [&](std::string_view operation, std::string_view object, uint32_t line, uint64_t executions) {
    for (const Site& site : sites) {
      if (site.operation != operation || site.at.user.line != line) continue;
      EXPECT_EQ(site.object, object) << operation;
      EXPECT_EQ(site.executions, executions) << operation;
      EXPECT_EQ(file_name(site.at.user.file), "ring_kernel.hpp");
      EXPECT_FALSE(site.at.library.file.empty());
      return;
    }
    ADD_FAILURE() << operation << " at line " << line;
  };
  expect("mbarrier.wait", "ring.empty", ring_lines.empty_wait, ring_turns);
  expect("mbarrier.arrive.expect_tx", "ring.full", ring_lines.arm, ring_turns);
  expect("cp.async.bulk.tensor", "ring.full", ring_lines.load, ring_turns);
  expect("mbarrier.wait", "ring.full", ring_lines.full_wait, ring_turns);
  expect("mbarrier.arrive", "ring.empty", ring_lines.release, ring_turns);
  std::set<std::string> keys;
  uint64_t inits = 0;
  for (const Site& site : sites) {
    EXPECT_TRUE(keys.insert(site.key()).second) << site.key() << " twice";
    if (site.operation == "mbarrier.init") inits += site.executions;
  }
  EXPECT_EQ(inits, 4u);
}

TEST(MutationSeam, WithoutRecordingThereAreNoSites) {
  RingMemory memory;
  EXPECT_TRUE(run(memory.launch(), ring_kernel, memory.params()).sites.empty());
}

TEST(MutationSeam, SitesAddUpOverClusters) {
  RingMemory memory(6);
  for (const unsigned workers : {1u, 2u}) {
    Options options;
    options.record_sites = true;
    options.workers = workers;
    const Outcome outcome = run(memory.launch(2), ring_kernel, memory.params(), options);
    bool found = false;
    for (const Site& site : outcome.sites) {
      if (site.operation != "mbarrier.arrive.expect_tx") continue;
      found = true;
      EXPECT_EQ(site.executions, 6 * ring_turns);
    }
    EXPECT_TRUE(found);
  }
}

TEST(MutationSeam, Drop) {
  expect_effects(site_of("mbarrier.wait", ring_lines.full_wait), MutationKind::drop,
                 {"wrong", "PHASE", "ARRIVE-OVERFLOW", "DEADLOCK", "EXIT-BARRIER"});
  expect_effects(site_of("mbarrier.wait", ring_lines.empty_wait), MutationKind::drop,
                 {"wrong", "PHASE", "ARRIVE-OVERFLOW", "DEADLOCK", "EXIT-BARRIER"});
  expect_effects(site_of("mbarrier.arrive.expect_tx", ring_lines.arm), MutationKind::drop, {"DEADLOCK"});
  expect_effects(site_of("cp.async.bulk.tensor", ring_lines.load), MutationKind::drop, {"DEADLOCK"});
  expect_effects(site_of("mbarrier.arrive", ring_lines.release), MutationKind::drop, {"DEADLOCK"});
  expect_effects(site_of("mbarrier.init", 0), MutationKind::drop, {"BAR-UNINIT"});
  for (const auto& [schedule, effect] : effects(site_of("cp.async.bulk.tensor", 0), MutationKind::drop))
    EXPECT_EQ(effect, "DEADLOCK") << schedule;
}

TEST(MutationSeam, Twice) {
  expect_effects(site_of("mbarrier.init", 0), MutationKind::twice, {"BAR-REINIT"});
  expect_effects(site_of("mbarrier.arrive", ring_lines.release), MutationKind::twice,
                 {"PHASE", "ARRIVE-OVERFLOW", "DEADLOCK", "EXIT-BARRIER", "wrong"});
  expect_effects(site_of("mbarrier.arrive.expect_tx", ring_lines.arm), MutationKind::twice,
                 {"ARRIVE-OVERFLOW", "PHASE", "DEADLOCK"});
  expect_effects(site_of("cp.async.bulk.tensor", ring_lines.load), MutationKind::twice,
                 {"PHASE", "DEADLOCK", "EXIT-BARRIER", "wrong", "EXIT-REMOTE"});
  expect_effects(site_of("barrier.cluster.arrive", 0), MutationKind::twice, {"CLUSTER-BAR"});
}

TEST(MutationSeam, Counts) {
  expect_effects(site_of("mbarrier.init", 0), MutationKind::count_plus, {"DEADLOCK"});
  expect_effects(site_of("mbarrier.init", 0), MutationKind::count_minus, {"ARRIVE-OVERFLOW"});
  for (const auto& [schedule, effect] :
       effects(site_of("mbarrier.arrive", ring_lines.release), MutationKind::count_plus))
    EXPECT_EQ(effect, "ARRIVE-OVERFLOW") << schedule;
  for (const auto& [schedule, effect] :
       effects(site_of("mbarrier.arrive", ring_lines.release), MutationKind::count_minus))
    EXPECT_EQ(effect, "DEADLOCK") << schedule;
}

TEST(MutationSeam, Bytes) {
  for (const auto& [schedule, effect] :
       effects(site_of("mbarrier.arrive.expect_tx", ring_lines.arm), MutationKind::bytes_plus))
    EXPECT_EQ(effect, "DEADLOCK") << schedule;
  for (const auto& [schedule, effect] :
       effects(site_of("mbarrier.arrive.expect_tx", ring_lines.arm), MutationKind::bytes_minus))
    EXPECT_EQ(effect, "DEADLOCK") << schedule;
}

TEST(MutationSeam, Parity) {
  expect_effects(site_of("mbarrier.wait", ring_lines.full_wait), MutationKind::flip_parity, {"PHASE", "DEADLOCK"});
  expect_effects(site_of("mbarrier.wait", ring_lines.empty_wait), MutationKind::flip_parity, {"PHASE", "DEADLOCK"});
}

TEST(MutationSeam, WrongStage) {
  // Not the release: with two stages, to release always the other one is late but safe.
  for (const char* operation : {"mbarrier.arrive.expect_tx", "cp.async.bulk.tensor"})
    expect_effects(site_of(operation, 0), MutationKind::wrong_stage,
                   {"PHASE", "DEADLOCK", "ARRIVE-OVERFLOW", "EXIT-BARRIER", "wrong"});
  expect_effects(site_of("mbarrier.wait", ring_lines.full_wait), MutationKind::wrong_stage,
                 {"PHASE", "DEADLOCK", "ARRIVE-OVERFLOW", "EXIT-BARRIER", "wrong"});
}

TEST(MutationSeam, OnlyTheNthExecution) {
  const Site arm = site_of("mbarrier.arrive.expect_tx", ring_lines.arm);
  RingMemory memory;
  for (const int64_t only : {0, 3, 6}) {
    Options options;
    options.mutation = Mutation{arm.key(), MutationKind::bytes_plus, only};
    const Outcome outcome = run(memory.launch(), ring_kernel, memory.params(), options);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
    const Waiter& waiter = outcome.report.waiting.at(0);
    EXPECT_EQ(waiter.object, only % 2 == 0 ? "ring.full[0]" : "ring.full[1]");
    EXPECT_EQ(waiter.phase, static_cast<uint64_t>(only / 2));
    EXPECT_EQ(waiter.bytes_armed, 144);
  }
  for (const auto& [schedule, effect] : effects(arm, MutationKind::drop, ring_turns)) EXPECT_EQ(effect, "unnoticed");
}

TEST(MutationSeam, AMutationOfNoSiteChangesNothing) {
  Site nowhere;
  nowhere.operation = "mbarrier.arrive";
  for (const auto& [schedule, effect] : effects(nowhere, MutationKind::drop))
    EXPECT_EQ(effect, "unnoticed") << schedule;
}

TEST(MutationSeam, ReportSaysWhatWasAltered) {
  RingMemory memory;
  Options options;
  options.mutation = Mutation{site_of("mbarrier.arrive", ring_lines.release).key(), MutationKind::drop};
  const Outcome outcome = run(memory.launch(), ring_kernel, memory.params(), options);
  EXPECT_TRUE(contains(to_text(outcome.report), "mutation")) << to_text(outcome.report);
  EXPECT_TRUE(contains(to_text(outcome.report), "drop mbarrier.arrive"));
}

// ---- operations the ring does not have

template <class Kernel>
Outcome altered(const Launch& launch, Kernel kernel, std::string_view operation, MutationKind kind,
                const Schedule& schedule = {}) {
  Options options = with(schedule);
  options.record_sites = true;
  const Outcome plain = run(launch, kernel, true, options);
  expect_clean(plain);
  for (const Site& site : plain.sites) {
    if (site.operation != operation) continue;
    options.mutation = Mutation{site.key(), kind};
    return run(launch, kernel, true, options);
  }
  ADD_FAILURE() << "no site of " << operation;
  return {};
}

std::string code(const Outcome& outcome) { return outcome.ok() ? "clean" : outcome.report.findings[0].code; }

TEST(MutationSeam, NamedBarriers) {
  const Launch launch{.threads = 64};
  const auto kernel = [](bool) {
    if (warp_index() == 0) {
      bar_arrive(1, 64);
    } else {
      bar_sync(1, 64);
    }
    syncwarp();
  };
  EXPECT_EQ(code(altered(launch, kernel, "bar.arrive", MutationKind::drop)), "DEADLOCK");
  EXPECT_EQ(code(altered(launch, kernel, "bar.sync", MutationKind::twice)), "DEADLOCK");
  EXPECT_EQ(code(altered(launch, kernel, "bar.arrive", MutationKind::twice)), "NAMED-BAR");
  EXPECT_EQ(code(altered(launch, kernel, "bar.sync", MutationKind::count_plus)), "NAMED-BAR");
  EXPECT_EQ(code(altered(launch, kernel, "bar.arrive", MutationKind::wrong_stage)), "DEADLOCK");
}

TEST(MutationSeam, WaitOfALoad) {
  struct Storage {
    uint32_t slot;
  };
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    tmem_alloc<1>(address(s.slot), 32);
    Fragment<uint32_t, 4> registers;
    tmem_load_32x32b(registers, {load_shared(&s.slot)});
    tmem_wait_load();
    EXPECT_EQ(registers[0], 0xffffffffu);
    tmem_dealloc<1>({load_shared(&s.slot)}, 32);
    syncwarp();
  };
  EXPECT_EQ(code(altered({}, kernel, "tcgen05.wait::ld", MutationKind::drop)), "FRAGMENT");
}

TEST(MutationSeam, ClusterBarrier) {
  const Launch launch{.grid = {2}, .cluster = {2}};
  const auto kernel = [](bool) {
    cluster_arrive();
    cluster_wait();
    syncwarp();
  };
  EXPECT_EQ(code(altered(launch, kernel, "barrier.cluster.arrive", MutationKind::drop)), "CLUSTER-BAR");
  EXPECT_EQ(code(altered(launch, kernel, "barrier.cluster.wait", MutationKind::drop)), "clean");
}

}  // namespace
}  // namespace warploom::loom
