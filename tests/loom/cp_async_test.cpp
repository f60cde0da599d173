// cp.async: late copies with zero fill, arrivals that wait for them, groups, and the rules around them.
#include "warploom/arch/cp_async.hpp"

#include "loom/probe_kernel.hpp"
#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using namespace probe;
using test::json;

struct Storage {
  alignas(16) uint32_t words[4 * 64];
  Mbarrier full[2];
};

struct Params {
  const uint32_t* source;
  uint32_t* result;
  uint32_t valid;  ///< words of the source
};

struct Memory {
  std::vector<uint32_t> source, result;

  explicit Memory(uint32_t words) : source(words), result(256) {
    for (uint32_t i = 0; i < words; ++i) source[i] = 0x1000 + i;
  }
  Params params() { return {source.data(), result.data(), static_cast<uint32_t>(source.size())}; }
  Launch launch(uint32_t threads) {
    return {.threads = threads,
            .tensors = {{source.data(), 4 * source.size(), Access::read, "source"},
                        {result.data(), 4 * result.size(), Access::write, "result"}}};
  }
  void expect_copied() const {
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(result[i], i < source.size() ? 0x1000 + i : 0) << i;
  }
};

WARPLOOM_FN uint32_t bytes_left(uint32_t valid, uint32_t first, uint32_t bytes) {
  const uint32_t left = valid > first ? 4 * (valid - first) : 0;
  return left < bytes ? left : bytes;
}

/// 64 threads copy 16 bytes each, in two sizes; all of them read what others copied.
const auto copy_kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 64);
  const uint32_t first = 4 * thread_index();
  if (thread_index() % 2 == 0) {
    cp_async<16>(address(s.words[first]), p.source + (first < p.valid ? first : 0), bytes_left(p.valid, first, 16));
  } else {
    cp_async<8>(address(s.words[first]), p.source + (first < p.valid ? first : 0), bytes_left(p.valid, first, 8));
    for (uint32_t i = first + 2; i < first + 4; ++i)
      cp_async<4>(address(s.words[i]), p.source + (i < p.valid ? i : 0), bytes_left(p.valid, i, 4));
  }
  cp_async_mbarrier_arrive_noinc(address(s.full[0]));
  mbarrier_wait(address(s.full[0]), 1);
  const uint32_t other = 4 * (63 - thread_index());
  for (uint32_t i = other; i < other + 4; ++i) store_global(p.result + i, load_shared(&s.words[i]));
};

TEST(CpAsync, CopiesAndFillsWithZeros) {
  for (const uint32_t words : {256u, 255u, 254u, 129u, 1u}) {
    Memory memory(words);
    const Launch launch = memory.launch(64);
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(schedule.text());
      std::fill(memory.result.begin(), memory.result.end(), 7);
      expect_clean(run(launch, copy_kernel, memory.params(), with(schedule)));
      memory.expect_copied();
    }
  }
}

/// Two groups of two copies per thread; the older group must have landed, then both.
const auto group_kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  for (uint32_t group = 0; group < 2; ++group) {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t at = 128 * group + 64 * i + 2 * thread_index();
      cp_async<8>(address(s.words[at]), p.source + at);
    }
    cp_async_commit_group();
  }
  for (uint32_t group = 0; group < 2; ++group) {
    if (group == 0)
      cp_async_wait_group<1>();
    else
      cp_async_wait_group<0>();
    syncwarp();
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t at = 128 * group + 32 * i + (31 - thread_index());
      store_global(p.result + at, load_shared(&s.words[at]));
    }
  }
};

TEST(CpAsync, GroupsCompleteInOrder) {
  Memory memory(256);
  const Launch launch = memory.launch(32);
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    std::fill(memory.result.begin(), memory.result.end(), 7);
    expect_clean(run(launch, group_kernel, memory.params(), with(schedule)));
    memory.expect_copied();
  }
}

// Late copies leave nothing behind that could pass for data.
TEST(CpAsync, DestinationIsPoisonUntilTheCopyLands) {
  Memory memory(256);
  const Launch launch = memory.launch(32);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    store_shared(&s.words[thread_index()], 5u);
    cp_async<4>(address(s.words[thread_index()]), p.source + thread_index());
    store_global(p.result + thread_index(), load_shared(&s.words[thread_index()]));
    cp_async_commit_group();
    cp_async_wait_group<0>();
    store_global(p.result + 32 + thread_index(), load_shared(&s.words[thread_index()]));
  };
  expect_clean(run(launch, kernel, memory.params(), with({Policy::lazy})));
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(memory.result[i], ~0u);
    EXPECT_EQ(memory.result[32 + i], 0x1000 + i);
  }
}

/// The arrival without .noinc leaves the count alone: it is no substitute for one that the count includes.
TEST(CpAsync, IncrementingArrivalCountsForNothing) {
  Memory memory(256);
  struct Buggy {
    Params p;
    bool buggy;
  };
  const Launch launch = memory.launch(32);
  const auto kernel = [](const Buggy& b) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 32);
    cp_async<4>(address(s.words[thread_index()]), b.p.source + thread_index());
    if (b.buggy) {
      cp_async_mbarrier_arrive(address(s.full[0]));
    } else {
      cp_async_mbarrier_arrive(address(s.full[0]));
      mbarrier_arrive(address(s.full[0]));
    }
    mbarrier_wait(address(s.full[0]), 1);
    store_global(b.p.result + thread_index(), load_shared(&s.words[thread_index()]));
  };
  always_clean(launch, kernel, Buggy{memory.params(), false});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(memory.result[i], 0x1000 + i);
  always_found(launch, kernel, Buggy{memory.params(), true}, {"DEADLOCK", {}, false});
}

// ---- the rules

struct RuleParams {
  const std::byte* source;
  bool buggy;
};

template <class Kernel>
void copy_rule(Kernel kernel, const Expected& expected) {
  alignas(16) static const std::byte source[64] = {};
  const Launch launch{.tensors = {{source, 64, Access::read, "source"}}};
  always_found(launch, kernel, RuleParams{source, true}, expected);
  always_clean(launch, kernel, RuleParams{source, false});
}

WARPLOOM_FN void finish_copies() {
  cp_async_commit_group();
  cp_async_wait_group<0>();
  syncwarp();
}

TEST(CpAsync, DestinationMustBeAligned) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) OFFENDING(cp_async<16>(address(s.words[0]) + (p.buggy ? 8 : 16), p.source));
        finish_copies();
      },
      {"CP-ASYNC", {"16 bytes to an address"}});
}

TEST(CpAsync, SourceMustBeAligned) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) OFFENDING(cp_async<8>(address(s.words[0]), p.source + (p.buggy ? 4 : 8)));
        finish_copies();
      },
      {"CP-ASYNC", {"8 bytes from an address"}});
}

TEST(CpAsync, SourceBytesAreAtMostTheSize) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) OFFENDING(cp_async<8>(address(s.words[0]), p.source, p.buggy ? 12 : 5));
        finish_copies();
      },
      {"CP-ASYNC", {"takes 12 from its source"}});
}

TEST(CpAsync, SourceMustBeInATensor) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) OFFENDING(cp_async<16>(address(s.words[0]), p.source + 64, p.buggy ? 1 : 0));
        finish_copies();
      },
      {"OOB-GLOBAL", {"cp.async reads 1 bytes"}});
}

TEST(CpAsync, DestinationMustBeShared) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) OFFENDING(cp_async<16>(address(s.words[0]) + (p.buggy ? 8192 : 8192 - 16), p.source));
        finish_copies();
      },
      {"OOB-SHARED", {"cp.async writes 16 bytes"}});
}

TEST(CpAsync, TooManyArrivals) {
  copy_rule(
      [](const RuleParams& p) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 2);
        if (thread_index() == 0) {
          cp_async<16>(address(s.words[0]), p.source);
          mbarrier_expect_tx(address(s.full[0]), 16);  // keeps the phase open
          mbarrier_arrive(address(s.full[0]), p.buggy ? 2 : 1);
          OFFENDING(cp_async_mbarrier_arrive_noinc(address(s.full[0])));
          if (p.buggy) mbarrier_wait(address(s.full[1]), 1);  // until it has arrived
          mbarrier_complete_tx(address(s.full[0]), 16);
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      {"ARRIVE-OVERFLOW", {"cp.async.mbarrier.arrive arrives on ring.full[0]"}});
}

TEST(CpAsync, ArrivalIsLocal) {
  const Launch launch{.grid = {2}, .cluster = {2}};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      OFFENDING(cp_async_mbarrier_arrive_noinc(map_to_rank(address(s.full[0]), cluster_rank() ^ (buggy ? 1 : 0))));
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
    cluster_sync();
  };
  rule(launch, kernel, {"BAR-ADDRESS", {"outside its CTA"}});
}

TEST(CpAsync, CopyThatNobodyWaitsFor) {
  alignas(16) static const std::byte source[64] = {};
  const Launch launch{.tensors = {{source, 64, Access::read, "source"}}};
  const auto kernel = [](const RuleParams& p) {
    auto& s = shared<Storage>();
    OFFENDING(cp_async<4>(address(s.words[thread_index()]), p.source));
    if (!p.buggy) finish_copies();
  };
  offending_line = 0;
  expect_finding(run(launch, kernel, RuleParams{source, true}, with({Policy::lazy})), launch,
                 {"EXIT-PENDING", {"nobody waited for"}});
  always_clean(launch, kernel, RuleParams{source, false});
}

// ---- the barrier's side, as recorded on an H200: every trace that arch has the operations for, through the machine

struct Step {
  enum Operation { arrive, arrive_expect_tx, expect_tx, complete_tx, arrive_drop, copy_arrive, copy_arrive_noinc };
  Operation operation;
  uint32_t argument;
  uint32_t completed;  ///< phases, afterwards
};
struct Trace {
  uint32_t count;
  const Step* steps;
  uint32_t length;
  const uint32_t* source;
  uint32_t* reached;
};

const auto trace_kernel = [](const Trace& trace) {
  auto& s = shared<Storage>();
  init_barriers(s.full, trace.count);
  if (thread_index() == 0) {
    const SharedAddress barrier = address(s.full[0]);
    for (uint32_t i = 0; i < trace.length; ++i) {
      const Step& step = trace.steps[i];
      switch (step.operation) {
        case Step::arrive: mbarrier_arrive(barrier, step.argument); break;
        case Step::arrive_expect_tx: mbarrier_arrive_expect_tx(barrier, step.argument); break;
        case Step::expect_tx: mbarrier_expect_tx(barrier, step.argument); break;
        case Step::complete_tx: mbarrier_complete_tx(barrier, step.argument); break;
        case Step::arrive_drop: mbarrier_arrive_drop(barrier, step.argument); break;
        case Step::copy_arrive:
        case Step::copy_arrive_noinc:
          cp_async<4>(address(s.words[i % 64]), trace.source);
          if (step.operation == Step::copy_arrive)
            cp_async_mbarrier_arrive(barrier);
          else
            cp_async_mbarrier_arrive_noinc(barrier);
          break;
      }
      mbarrier_wait(barrier, step.completed);
      // No phase more, also when all that was in flight is complete: only then does a test that fails come back.
      if (mbarrier_test(barrier, step.completed + 1)) return;
      store_global(trace.reached, i + 1);
    }
    mbarrier_invalidate(barrier);
    mbarrier_invalidate(address(s.full[1]));
  }
  syncwarp();
};

TEST(CpAsync, BarrierTracesAsOnH200) {
  uint32_t traces = 0, copies = 0;
  const uint32_t source = 1;
  for (const json& trace : test::read_json_lines("h200_mbarrier.jsonl")) {
    std::vector<Step> steps;
    uint32_t completed = 0, arrivals = 0;
    bool parity0 = false, known = true;
    for (const json& step : trace["steps"]) {
      const std::string name = step[0];
      const uint32_t argument = step[1];
      if (name == "init" || name == "test_token") continue;
      if (name == "inval" || name == "arrive_drop_expect_tx") {
        known = name == "inval";
        break;
      }
      if ((step[2] == 1) != parity0) {
        parity0 = !parity0;
        ++completed;
      }
      Step::Operation operation = Step::arrive;
      if (name == "arrive_expect_tx") operation = Step::arrive_expect_tx;
      if (name == "expect_tx") operation = Step::expect_tx;
      if (name == "complete_tx") operation = Step::complete_tx;
      if (name == "arrive_drop") operation = Step::arrive_drop;
      if (name == "cp_async_arrive") operation = Step::copy_arrive;
      if (name == "cp_async_arrive_noinc") operation = Step::copy_arrive_noinc;
      arrivals += name.starts_with("cp_async");
      steps.push_back({operation, name == "arrive_token" ? 1 : argument, completed});
    }
    if (!known || arrivals == 0) continue;
    ++traces;
    copies += arrivals;
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(trace["steps"].dump() + " " + schedule.text());
      uint32_t reached = 0;
      const Launch launch{.tensors = {{&source, 4, Access::read, "source"}, {&reached, 4, Access::write, "reached"}}};
      const Trace params{trace["steps"][0][1], steps.data(), static_cast<uint32_t>(steps.size()), &source, &reached};
      const Outcome outcome = run(launch, trace_kernel, params, with(schedule));
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      ASSERT_EQ(reached, steps.size());
    }
  }
  EXPECT_GT(traces, 50u);
  EXPECT_GT(copies, 100u);
}

}  // namespace
}  // namespace warploom::loom
