// Programmatic dependent launch (hardware.md §6.8): a grid that starts before the one it depends on has ended sees that
// one's memory only after griddepcontrol.wait, and touching it earlier is a finding.
#include <numeric>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/clc.hpp"
#include "warploom/arch/cp_async.hpp"
#include "warploom/arch/pdl.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t grid = 6, threads = 32, count = grid * threads;

enum class Access_ : uint8_t { none, load, store, atomic, cp_async, bulk, tma, store_to_input, load_of_input };

struct Params {
  const uint32_t* in;
  uint32_t* middle;
  uint32_t* out;
  TensorMap map;  ///< of `middle`
  Access_ early = Access_::none;
  bool trigger = true;
  bool one_waits = false;  ///< one thread waits for all, and says so at a barrier
};

struct Storage {
  alignas(128) uint32_t staging[threads];
  Mbarrier full[1];
};

struct Memory {
  alignas(128) std::array<uint32_t, count> in;
  alignas(128) std::array<uint32_t, count> middle{};
  alignas(128) std::array<uint32_t, count> out{};
  std::vector<TensorRef> first, second;

  Memory() {
    std::iota(in.begin(), in.end(), 7u);
    first = {{in.data(), sizeof(in), Access::read, "in"}, {middle.data(), sizeof(middle), Access::write, "middle"}};
    second = {{in.data(), sizeof(in), Access::write, "in"},
              {middle.data(), sizeof(middle), Access::write, "middle"},
              {out.data(), sizeof(out), Access::write, "out"}};
  }
  Params params() {
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.rank = 2;
    args.address = middle.data();
    args.dims = {threads, grid, 1, 1, 1};
    args.strides[0] = 4 * threads;
    args.box = {threads, 1, 1, 1, 1};
    return {in.data(), middle.data(), out.data(), make_map(args)};
  }
};

LaunchConfig config(const char* name) {
  return {.kernel = name, .grid = {grid}, .cluster = {1}, .threads = threads, .shared_bytes = sizeof(Storage)};
}

void producer(const void* params) {
  const auto& p = *static_cast<const Params*>(params);
  const uint32_t i = block_index().x * threads + thread_index();
  grid_dependency_wait();
  if (p.trigger) grid_launch_dependents();
  store_global(p.middle + i, 3 * load_global(p.in + i));
  syncwarp();
}

WARPLOOM_FN void touch(const Params& p, Storage& s, uint32_t i) {
  switch (p.early) {
    case Access_::none: break;
    case Access_::load: OFFENDING((void)load_global(p.middle + i)); break;
    case Access_::store: OFFENDING(store_global(p.middle + i, 1u)); break;
    case Access_::atomic: OFFENDING(fetch_add_global(p.middle + i, 1)); break;
    case Access_::cp_async: OFFENDING(cp_async<4>(shared_address(&s.staging[lane_index()]), p.middle + i)); break;
    case Access_::bulk: OFFENDING(bulk_load(address(s.staging), p.middle, 64, address(s.full[0]))); break;
    case Access_::tma: OFFENDING(tma_load<1>(address(s.staging), p.map, address(s.full[0]), {0, 0})); break;
    case Access_::store_to_input: OFFENDING(store_global(const_cast<uint32_t*>(p.in) + i, 1u)); break;
    case Access_::load_of_input: (void)load_global(p.in + i); break;
  }
}

void consumer(const void* params) {
  const auto& p = *static_cast<const Params*>(params);
  auto& s = shared<Storage>();
  const uint32_t i = block_index().x * threads + thread_index();
  init_barriers(s.full, 1);  // a prologue that touches nothing
  if (p.early != Access_::none) touch(p, s, i);
  if (!p.one_waits || lane_index() == 5) grid_dependency_wait();
  syncwarp();
  grid_launch_dependents();
  store_global(p.out + i, load_global(p.middle + i) + 1);
  syncwarp();
}

std::vector<Outcome> run_pair(Memory& memory, const Params& p, const Schedule& schedule, bool talks = false) {
  LaunchConfig second = config("consumer");
  second.talks_across_clusters = talks;
  const GridLaunch grids[] = {{config("producer"), &producer, &p, memory.first},
                              {second, &consumer, &p, memory.second}};
  return launch_dependent(grids, with(schedule));
}

TEST(DependentLaunch, SeesWhatTheGridBeforeWrote) {
  for (const bool one_waits : {false, true})
    for (const bool trigger : {false, true})
      for (const Schedule& schedule : schedules()) {
        SCOPED_TRACE(schedule.text());
        Memory memory;
        Params p = memory.params();
        p.trigger = trigger;
        p.one_waits = one_waits;
        p.early = Access_::load_of_input;  // both only read it
        const std::vector<Outcome> outcomes = run_pair(memory, p, schedule);
        ASSERT_EQ(outcomes.size(), 2u);
        for (const Outcome& outcome : outcomes) expect_clean(outcome);
        for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(memory.out[i], 3 * (7 + i) + 1);
      }
}

TEST(DependentLaunch, TouchingItBeforeTheWaitIsAFinding) {
  struct Case {
    Access_ access;
    const char *verb, *name, *does;
  };
  for (const Case& c :
       {Case{Access_::load, "a read", "middle", "writes"}, Case{Access_::store, "a write", "middle", "writes"},
        Case{Access_::atomic, "a write", "middle", "writes"}, Case{Access_::cp_async, "a read", "middle", "writes"},
        Case{Access_::bulk, "a read", "middle", "writes"}, Case{Access_::tma, "a read", "middle", "writes"},
        Case{Access_::store_to_input, "a write", "in", "reads"}})
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(schedule.text() + " " + std::to_string(static_cast<int>(c.access)));
      if (schedule.policy == Policy::eager) continue;  // runs one grid after the other
      Memory memory;
      Params p = memory.params();
      p.early = c.access;
      offending_line = 0;
      const std::vector<Outcome> outcomes = run_pair(memory, p, schedule, c.access == Access_::atomic);
      ASSERT_EQ(outcomes.size(), 2u);
      expect_clean(outcomes[0]);
      Launch here;
      here.file = __FILE__;
      expect_finding(outcomes[1], here, {"PDL-EARLY", {c.verb, c.name, "grid producer", c.does}});
    }
}

// Without launch_dependents the second grid starts when the first has ended.
TEST(DependentLaunch, NothingOverlapsWithAGridThatDoesNotSaySo) {
  for (const Schedule& schedule : schedules()) {
    Memory memory;
    Params p = memory.params();
    p.trigger = false;
    p.early = Access_::load;
    for (const Outcome& outcome : run_pair(memory, p, schedule)) expect_clean(outcome);
  }
}

// Three grids: the second lets the third start before its own wait, so that the third may overlap with the first, too.
void hasty(const void*) { grid_launch_dependents(); }
void waits_first(const void*) {
  grid_dependency_wait();
  grid_launch_dependents();
}
void reads_middle(const void* params) {
  const auto& p = *static_cast<const Params*>(params);
  (void)load_global(p.middle + thread_index());
  syncwarp();
}

TEST(DependentLaunch, AGridThatTriggersBeforeItsWaitHidesNoOther) {
  Memory memory;
  const Params p = memory.params();
  for (const bool buggy : {true, false}) {
    const GridLaunch grids[] = {{config("producer"), &producer, &p, memory.first},
                                {config("between"), buggy ? &hasty : &waits_first, &p, {}},
                                {config("reader"), &reads_middle, &p, memory.second}};
    const std::vector<Outcome> outcomes = launch_dependent(grids, with({Policy::lazy}));
    ASSERT_EQ(outcomes.size(), 3u);
    if (buggy) {
      ASSERT_EQ(outcomes[2].report.findings.size(), 1u);
      EXPECT_EQ(outcomes[2].report.findings[0].code, "PDL-EARLY");
      EXPECT_TRUE(contains(outcomes[2].report.findings[0].message, "grid producer"));
    } else {
      expect_clean(outcomes[2]);
    }
  }
}

TEST(DependentLaunch, StopsAtTheFirstGridWithAFinding) {
  Memory memory;
  const Params p = memory.params();
  LaunchConfig impossible = config("impossible");
  impossible.threads = 33;
  const GridLaunch grids[] = {{config("producer"), &producer, &p, memory.first},
                              {impossible, &consumer, &p, memory.second},
                              {config("consumer"), &consumer, &p, memory.second}};
  const std::vector<Outcome> outcomes = launch_dependent(grids, with({Policy::lazy}));
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[1].report.findings.at(0).code, "LAUNCH");
}

// A persistent grid with launch control: its first clusters start early, and all work is done once.
void cancels(const void* params) {
  const auto& p = *static_cast<const Params*>(params);
  struct Shared {
    ClcResponse response;
    Mbarrier full[1];
  };
  auto& s = shared<Shared>();
  init_barriers(s.full, 1);
  grid_dependency_wait();
  uint32_t block = block_index().x;
  for (uint32_t round = 1;; ++round) {
    const uint32_t i = block * threads + lane_index();
    store_global(p.out + i, load_global(p.middle + i) + load_global(p.out + i));
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      clc_try_cancel(address(s.response), address(s.full[0]));
    }
    mbarrier_wait(address(s.full[0]), round);
    const ClcResponse response = load_shared(&s.response);
    syncwarp();
    if (!clc_is_canceled(response)) break;
    block = clc_first_cta(response).x;
  }
}

TEST(DependentLaunch, WithLaunchControl) {
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    Memory memory;
    const Params p = memory.params();
    LaunchConfig persistent = config("persistent");
    persistent.launch_control = true;
    const GridLaunch grids[] = {{config("producer"), &producer, &p, memory.first},
                                {persistent, &cancels, &p, memory.second}};
    for (const Outcome& outcome : launch_dependent(grids, with(schedule))) expect_clean(outcome);
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(memory.out[i], 3 * (7 + i));
  }
}

// A launch by itself depends on nothing: the wait returns at once.
TEST(DependentLaunch, AloneTheWaitReturns) {
  Memory memory;
  const Params p = memory.params();
  for (const Schedule& schedule : schedules())
    expect_clean(launch(config("consumer"), &consumer, &p, memory.second, with(schedule)));
}

}  // namespace
}  // namespace warploom::loom
