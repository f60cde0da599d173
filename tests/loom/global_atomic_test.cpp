// Atomics on global memory (arch/atomic.hpp): clusters that talk to each other run one after the other.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t ctas = 12;

struct Params {
  bool buggy;
  uint32_t* counter;
  uint32_t* seen;  ///< [cta]: how many came before
  uint32_t* rows;  ///< [cta]
  uint32_t* sum;
};

struct Memory {
  uint32_t counter = 0;
  std::array<uint32_t, ctas> seen{}, rows{};
  uint32_t sum = 0;

  Params params(bool buggy = false) { return {buggy, &counter, seen.data(), rows.data(), &sum}; }
  Launch launch(bool talks = true) {
    return {.grid = {ctas},
            .cluster = {2},
            .tensors = {{&counter, sizeof(counter), Access::write, "counter"},
                        {seen.data(), sizeof(seen), Access::write, "seen"},
                        {rows.data(), sizeof(rows), Access::write, "rows"},
                        {&sum, sizeof(sum), Access::write, "sum"}},
            .talks_across_clusters = talks};
  }
};

/// Every CTA leaves a number; the last to count itself adds them all and sets the counter back.
const auto last_adds = [](const Params& p) {
  const uint32_t cta = block_index().x;
  if (thread_index() == 0) {
    store_global(p.rows + cta, 1u << cta);
    fence_gpu();
    const uint32_t before = fetch_add_global(p.counter, 1);
    store_global(p.seen + cta, before);
    if (before == ctas - 1) {
      fence_gpu();
      uint32_t sum = 0;
      for (uint32_t row = 0; row < ctas; ++row) sum += load_global(p.rows + row);
      store_global(p.sum, sum);
      store_global(p.counter, 0u);
    }
  }
  syncwarp();
};

TEST(GlobalAtomic, TheLastClusterSeesWhatAllLeft) {
  Memory memory;
  const Launch launch = memory.launch();
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    memory = {};
    expect_clean(run(launch, last_adds, memory.params(), with(schedule)));
    EXPECT_EQ(memory.sum, (1u << ctas) - 1);
    EXPECT_EQ(memory.counter, 0u);
    std::array<uint32_t, ctas> sorted = memory.seen;
    std::sort(sorted.begin(), sorted.end());
    for (uint32_t i = 0; i < ctas; ++i) EXPECT_EQ(sorted[i], i);
  }
}

// A run is a function of kernel, inputs and schedule, whatever the number of workers.
TEST(GlobalAtomic, TheOrderFollowsFromTheSchedule) {
  Memory first, again;
  for (const Schedule& schedule : schedules(first.launch())) {
    SCOPED_TRACE(schedule.text());
    first = again = {};
    Options one = with(schedule), many = with(schedule);
    one.workers = 1;
    many.workers = 8;
    const Outcome a = run(first.launch(), last_adds, first.params(), one);
    const Outcome b = run(again.launch(), last_adds, again.params(), many);
    EXPECT_EQ(first.seen, again.seen);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.nominal_cycles, b.nominal_cycles);
  }
}

// The same kernel in a launch that does not say that it talks: what the counter returns would be chance.
TEST(GlobalAtomic, LaunchMustSayThatItTalks) {
  Memory memory;
  const auto kernel = [](const Params& p) {
    if (thread_index() == 0) OFFENDING(fetch_add_global(p.counter, 1));
    syncwarp();
  };
  {
    SCOPED_TRACE("buggy");
    always_found(memory.launch(false), kernel, memory.params(),
                 {"GLOBAL-ATOMIC", {"any order", "talks_across_clusters"}});
  }
  SCOPED_TRACE("correct");
  memory = {};
  always_clean(memory.launch(true), kernel, memory.params());
  EXPECT_EQ(memory.counter, ctas * schedules(memory.launch()).size());
}

TEST(GlobalAtomic, AddressMustBeAligned) {
  Memory memory;
  const auto kernel = [](const Params& p) {
    auto* counter = reinterpret_cast<std::byte*>(p.rows);
    if (thread_index() == 0) OFFENDING(fetch_add_global(reinterpret_cast<uint32_t*>(counter + (p.buggy ? 2 : 4)), 1));
    syncwarp();
  };
  {
    SCOPED_TRACE("buggy");
    always_found(memory.launch(), kernel, memory.params(true), {"GLOBAL-ATOMIC", {"multiple of 4"}});
  }
  SCOPED_TRACE("correct");
  always_clean(memory.launch(), kernel, memory.params(false));
}

TEST(GlobalAtomic, AddressMustBeWritable) {
  Memory memory;
  Launch launch = memory.launch();
  const uint32_t constant = 0;
  launch.tensors.push_back({&constant, sizeof(constant), Access::read, "constant"});
  struct Constant {
    Params p;
    uint32_t* constant;
  };
  const auto kernel = [](const Constant& q) {
    if (thread_index() == 0) OFFENDING(fetch_add_global(q.p.buggy ? q.constant : q.p.counter, 1));
    syncwarp();
  };
  auto* target = const_cast<uint32_t*>(&constant);
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, Constant{memory.params(true), target}, {"OOB-GLOBAL", {"writable"}});
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, Constant{memory.params(false), target});
}

}  // namespace
}  // namespace warploom::loom
