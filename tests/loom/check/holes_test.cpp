// Errors that one run could once hide from the checker, found by holding it against every schedule (recorded_test.cpp):
// each in a kernel, under all policies, beside its correct twin.
#include "loom/wgmma_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

/// Reported whatever the schedule, with one of these codes; and the twin is clean.
template <class Kernel>
void always_reported(const Launch& launch, Kernel kernel, std::initializer_list<const char*> codes) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.check = true;
    const Outcome buggy = run(launch, kernel, true, options);
    EXPECT_EQ(buggy.report.findings.size(), 1u);
    for (const Finding& finding : buggy.report.findings)
      EXPECT_NE(std::find(codes.begin(), codes.end(), finding.code), codes.end()) << to_text(buggy.report);
    expect_clean(run(launch, kernel, false, options));
  }
}

struct OneBarrier {
  Mbarrier full[1];
};

TEST(Holes, AWaitForNoPhaseThatMayComeAfterTheFirst) {
  // When the first phase is complete, the parity of "nothing to wait for" says "not yet": the warp hangs.
  always_reported({.threads = 64, .shared_bytes = sizeof(OneBarrier)},
                  [](bool buggy) {
                    auto& s = shared<OneBarrier>();
                    init_barriers(s.full, 1);
                    if (lane_index() != 0) return;
                    if (warp_index() == 0)
                      mbarrier_arrive(address(s.full[0]));
                    else
                      mbarrier_wait(address(s.full[0]), buggy ? 0 : 1);
                  },
                  {"PHASE-AMBIG", "DEADLOCK"});
}

struct Operands {
  alignas(1024) uint32_t a[64 * 32 / 4];
  alignas(1024) uint32_t b[16 * 32 / 4];
  Mbarrier full[1];
};

TEST(Holes, AWgmmaThatOneWarpIssuesBeforeItsWait) {
  // The warp that errs waits right after; the instruction begins when the last warp comes, and by then it knew.
  always_reported(
      {.threads = 160, .shared_bytes = sizeof(Operands)},
      [](bool buggy) {
        auto& s = shared<Operands>();
        init_barriers(s.full, 1);
        if (warp_index() == 4) {
          for (uint32_t i = lane_index(); i < 64 * 32 / 4; i += 32) store_shared(&s.a[i], 0u);
          for (uint32_t i = lane_index(); i < 16 * 32 / 4; i += 32) store_shared(&s.b[i], 0u);
          fence_proxy_async_shared();
          syncwarp();
          if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
          return;
        }
        const bool early = buggy && warp_index() == 1;
        const auto operand = [](const uint32_t* tile) {
          return encode_wgmma_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
        };
        Fragment<float, 8> d;
        if (!early) mbarrier_wait(address(s.full[0]), 1);
        wgmma_fence(d);
        wgmma<16, bf16, bf16>(d, operand(s.a), operand(s.b), false);
        wgmma_commit_group();
        if (early) mbarrier_wait(address(s.full[0]), 1);
        wgmma_wait_group<0>(d);
        use(d[0]);
      },
      {"RACE-SMEM", "UNINIT-SMEM"});
}

struct Handed {
  uint32_t word;
  Mbarrier full[1];
};

TEST(Holes, AWaitOfAWarpIsNoMeetingOfItsLanes) {
  // Lanes may run ahead at a wait before wgmmas, and the machine passes it for all of them at once.
  always_reported({.threads = 64, .shared_bytes = sizeof(Handed)},
                  [](bool buggy) {
                    auto& s = shared<Handed>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 0) {
                      if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                      return;
                    }
                    if (lane_index() == 3) store_shared(&s.word, 1u);
                    if (!buggy) syncwarp();
                    mbarrier_wait<Scope::cta, true>(address(s.full[0]), 1);
                    if (lane_index() == 4) (void)load_shared(&s.word);
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(Holes, ALaneThatArrivesForItsWarpSaysNothingOfTheOthers) {
  // Lane 0 signals for all that the warp did before it met; what lane 3 does afterwards is its own affair.
  always_reported({.threads = 64, .shared_bytes = sizeof(Handed)},
                  [](bool buggy) {
                    auto& s = shared<Handed>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 1) {
                      mbarrier_wait(address(s.full[0]), 1);
                      if (lane_index() == 0) (void)load_shared(&s.word);
                      return;
                    }
                    if (!buggy && lane_index() == 3) store_shared(&s.word, 1u);
                    syncwarp();
                    if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                    if (buggy && lane_index() == 3) store_shared(&s.word, 1u);
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

struct Staged {
  alignas(128) uint32_t line[8][32];
  uint32_t seen;
};

TEST(Holes, OneOfSeveralStmatrixThatFillALine) {
  // Warp 1 still reads the last unit of a line that warp 0 fills with one stmatrix after the other.
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Staged)};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Staged>();
    for (uint32_t i = thread_index(); i < 8 * 32; i += 64) store_shared(&s.line[i / 32][i % 32], i);
    syncthreads();
    if (warp_index() == 0) {
      if (!buggy) syncthreads();
      const uint32_t registers[1] = {lane_index()};
      const uint32_t row = lane_index() % 8;
      for (uint32_t unit = 0; unit < 7; ++unit) store_matrix<1>(address(s.line[row][unit * 4]), registers);
      OFFENDING(store_matrix<1>(address(s.line[row][28]), registers));
      syncwarp();
      if (buggy) syncthreads();
    } else {
      if (lane_index() == 0) store_shared(&s.seen, load_shared(&s.line[3][28]));
      syncthreads();
    }
  };
  always_reported(launch, kernel, {"RACE-SMEM"});
}

}  // namespace
}  // namespace warploom::loom
