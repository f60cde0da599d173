// mbarrier_wait<scope, true>: lanes go on at a wait whose data only wgmmas read. The wgmmas must not, and a lane that
// errs there is told so.
#include "loom/wgmma_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr int n = 16, stages = 2, blocks = 40;  // more than lanes can post at a time
using Acc = Fragment<float, n / 2>;
using ATile = OperandTile<bf16, Major::k, Swizzle::none, 64>;
using BTile = OperandTile<bf16, Major::k, Swizzle::none, n>;

struct Storage {
  ATile a[stages];
  BTile b[stages];
  Mbarrier full[stages];
  Mbarrier empty[stages];
};

struct Params {
  float* out = nullptr;
  int filled = blocks;  ///< blocks that the producer brings
};

/// What block i is multiplied from: other values each time, so that a slot read too early or too late shows.
float a_of(int block, uint32_t row, uint32_t k) { return a_value(row + static_cast<uint32_t>(block), k); }

WARPLOOM_FN void fill_slots(const Params& p) {  // warp 4
  Storage& s = shared<Storage>();
  for (int i = 0; i < p.filled; ++i) {
    const int slot = i % stages;
    mbarrier_wait(shared_address(&s.empty[slot]), static_cast<uint32_t>(i / stages));
    s.a[slot].fill([&](uint32_t row, uint32_t k) { return a_of(i, row, k); }, lane_index(), 32);
    s.b[slot].fill(b_value, lane_index(), 32);
    fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) mbarrier_arrive(shared_address(&s.full[slot]));
  }
}

WARPLOOM_FN void free_slot(Storage& s, int slot) {
  syncwarp_before_signal();
  if (lane_index() == 0) mbarrier_arrive(shared_address(&s.empty[slot]));
}

WARPLOOM_FN void add_slots(const Params& p) {  // warps 0 to 3
  Storage& s = shared<Storage>();
  Acc d;
  for (int i = 0; i < blocks; ++i) {
    const int slot = i % stages;
    mbarrier_wait<Scope::cta, true>(shared_address(&s.full[slot]), static_cast<uint32_t>(i / stages + 1));
    wgmma_fence(d);
    wgmma<n, bf16, bf16>(d, s.a[slot].descriptor(), s.b[slot].descriptor(), i > 0);
    wgmma_commit_group();
    if (i == 0) continue;
    wgmma_wait_group_before_signal<1>();
    free_slot(s, (i - 1) % stages);
  }
  wgmma_wait_group<0>(d);
  free_slot(s, (blocks - 1) % stages);
  store(d, p.out);
}

constexpr auto ring_kernel = [](const Params& p) {
  Storage& s = shared<Storage>();
  if (thread_index() == 0) {
    for (Mbarrier& barrier : s.empty) mbarrier_init(shared_address(&barrier), 4);
    name_barriers<Ring, Signallers>(s.empty, stages, RingSide::empty);
  }
  init_barriers(s.full, 1);
  if (warp_index() == 4)
    fill_slots(p);
  else
    add_slots(p);
};

Launch ring_launch(std::vector<float>& out) {
  return {.threads = 160,
          .shared_bytes = sizeof(Storage),
          .tensors = {{out.data(), out.size() * sizeof(float), Access::write, "out"}}};
}

TEST(WaitBeforeWgmma, EveryProductIsOfItsOwnSlot) {
  std::vector<float> out(64 * n);
  const Launch launch = ring_launch(out);
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    out.assign(out.size(), -1);
    expect_clean(run(launch, ring_kernel, Params{out.data()}, with(schedule)));
    for (uint32_t row = 0; row < 64; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        float sum = 0;
        for (int i = 0; i < blocks; ++i)
          for (uint32_t k = 0; k < 16; ++k) sum += a_of(i, row, k) * b_value(column, k);
        ASSERT_EQ(out[row * n + column], sum) << row << "," << column;
      }
  }
}

TEST(WaitBeforeWgmma, AWaitThatNeverEndsIsNamed) {
  std::vector<float> out(64 * n);
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(ring_launch(out), ring_kernel, Params{out.data(), blocks - 3}, with(schedule));
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
    const std::string text = to_text(outcome.report);
    EXPECT_TRUE(contains(text, "ring.full[1]")) << text;  // of block 37
    EXPECT_TRUE(contains(text, "0/1 arrived")) << text;
    EXPECT_FALSE(contains(text, "wgmma groups")) << text;
  }
}

struct Two {
  Mbarrier barriers[2];
};

TEST(WaitBeforeWgmma, WrongPhase) {
  rule({.threads = 32, .shared_bytes = sizeof(Two)},
       [](bool buggy) {
         Two& s = shared<Two>();
         init_barriers(s.barriers, 1);
         if (thread_index() == 0) mbarrier_arrive(shared_address(&s.barriers[0]));
         syncwarp();
         // One phase is complete; the third has the same parity.
         if (buggy)
           OFFENDING((mbarrier_wait<Scope::cta, true>(shared_address(&s.barriers[0]), 3)));
         else
           mbarrier_wait<Scope::cta, true>(shared_address(&s.barriers[0]), 1);
         syncwarp();
       },
       {"PHASE", {"a wait for phase 2", "1 phases are complete"}});
}

/// Lanes that wait for different barriers do not do so as a warp. Seen where lanes run ahead.
#if !defined(__SANITIZE_ADDRESS__)  // where lanes do not run ahead, each waits by itself
TEST(WaitBeforeWgmma, LanesDisagree) {
  const Launch launch{.threads = 32, .shared_bytes = sizeof(Two)};
  constexpr auto kernel = [](bool buggy) {
    Two& s = shared<Two>();
    init_barriers(s.barriers, 1);
    if (thread_index() < 2) mbarrier_arrive(shared_address(&s.barriers[thread_index()]));
    syncwarp();
    const uint32_t which = buggy && lane_index() == 5 ? 1 : 0;
    OFFENDING((mbarrier_wait<Scope::cta, true>(shared_address(&s.barriers[which]), 1)));
    syncwarp();
  };
  expect_finding(run(launch, kernel, true), launch, {"DIVERGENCE", {" and 5 execute mbarrier.wait"}});
  always_clean(launch, kernel, false);
}
#endif

}  // namespace
}  // namespace warploom::loom
