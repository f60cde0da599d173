// mbarrier waits and tests by parity (warploom/loom/parity.hpp): the phase that is meant follows from the barrier and
// from where the thread is, also behind operations that it has posted.
#include "loom/check/points.hpp"
#include "loom/wgmma_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace points;

// ---------------------------------------------------------------------------------------------------- values

struct Ring2 {
  Mbarrier full[2], empty[2];
  uint32_t word[2];
};

/// Words through two slots, each side with a parity bit that it turns round at every wrap.
template <Scope scope>
void pass_words(uint32_t* out) {
  auto& s = shared<Ring2>();
  if (thread_index() == 0) {
    for (Mbarrier& barrier : s.empty) mbarrier_init(address(barrier), 1);
    for (Mbarrier& barrier : s.full) mbarrier_init(address(barrier), 1);
    fence_mbarrier_init();
  }
  cluster_sync();
  constexpr uint32_t words = 9;
  uint32_t slot = 0, parity = 0;
  for (uint32_t i = 0; i < words && thread_index() % 32 == 0; ++i) {
    if (thread_index() == 0) {
      mbarrier_wait_parity<scope>(address(s.empty[slot]), parity ^ 1);
      store_shared(&s.word[slot], 100 + i);
      mbarrier_arrive(address(s.full[slot]));
    } else {
      mbarrier_wait_parity<scope>(address(s.full[slot]), parity);
      store_global(out + i, load_shared(&s.word[slot]));
      mbarrier_arrive(address(s.empty[slot]));
    }
    slot ^= 1;
    parity ^= static_cast<uint32_t>(slot == 0);
  }
}

TEST(Parity, ARingOfParityBitsHolds) {
  const auto kernel = [](const Params& p) {
    if (p.buggy)
      pass_words<Scope::cluster>(p.words);
    else
      pass_words<Scope::cta>(p.words);
  };
  const Launch launch{.threads = 64};
  for (const bool cluster_scope : {false, true}) {
    const Verdict verdict = verdict_of(launch, kernel, cluster_scope);
    EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence() << to_text(verdict.report);
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(schedule.text());
      Memory memory;
      Launch with_tensors = launch;
      with_tensors.tensors = memory.tensors();
      expect_clean(run(with_tensors, kernel, Params{memory.words.data(), cluster_scope}, with(schedule)));
      for (uint32_t i = 0; i < 9; ++i) EXPECT_EQ(memory.words[i], 100 + i);
    }
  }
}

TEST(Parity, AFreshBarrierPassesParityOne) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (lane_index() == 0) {
          EXPECT_TRUE(mbarrier_test_parity(address(s.a[0]), 1));
          EXPECT_FALSE(mbarrier_test_parity(address(s.a[0]), 0));
          mbarrier_wait_parity(address(s.a[0]), 1);
          mbarrier_arrive(address(s.a[0]));
          EXPECT_TRUE(mbarrier_test_parity(address(s.a[0]), 0));
          EXPECT_FALSE(mbarrier_test_parity<Scope::cluster>(address(s.a[0]), 1));
          mbarrier_wait_parity(address(s.a[0]), 0);
        }
        syncwarp();
      },
      true);
}

// ---------------------------------------------------------------------------------------------------- rules

TEST(Parity, WhoFallsTwoPhasesBehindIsMisled) {
  // The waiter may come when phase 0 is complete, or 1 (whose parity says "not yet"), or 2.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0)
                   for (uint32_t i = 0; i < 3; ++i) {
                     mbarrier_arrive(address(s.a[0]));
                     if (!p.buggy) mbarrier_wait_parity(address(s.b[0]), i & 1);
                   }
                 if (thread_index() == 32)
                   for (uint32_t i = 0; i < (p.buggy ? 1u : 3u); ++i) {
                     mbarrier_wait_parity(address(s.a[0]), i & 1);
                     mbarrier_arrive(address(s.b[0]));
                   }
               },
               {"PHASE-AMBIG"});
}

TEST(Parity, ATestThatAnotherPhaseMayAnswer) {
  // Two more phases may end before the test for the first, and then have its parity.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   mbarrier_arrive(address(s.a[0]));
                   for (uint32_t i = 0; i < 2 && p.buggy; ++i) mbarrier_arrive(address(s.a[0]));
                   mbarrier_arrive(address(s.b[0]));
                 }
                 if (thread_index() == 32) {
                   if (!p.buggy) mbarrier_wait_parity(address(s.b[0]), 0);
                   (void)mbarrier_test_parity(address(s.a[0]), 0);
                 }
               },
               {"PHASE-AMBIG", "PHASE"});
}

TEST(Parity, ATestIsAPoint) {
  never_holds(
      {.threads = 64, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          mbarrier_arrive(address(s.a[0]));
          mbarrier_arrive(address(s.b[0]));
        }
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait_parity(address(s.b[0]), 0);
          (void)mbarrier_test_parity(address(s.a[0]), 0);
        }
      },
      "mbarrier.test_wait");
}

TEST(Parity, IsZeroOrOne) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_three(s, 1);
         if (lane_index() == 0) {
           mbarrier_arrive(address(s.a[0]));
           OFFENDING(mbarrier_wait_parity(address(s.a[0]), buggy ? 2 : 0));
         }
         syncwarp();
       },
       {"PHASE", {"a wait for parity 2"}});
}

TEST(Parity, ADeadlockNamesThePhaseUnderWay) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    init_barriers(s.a, 1);
    if (lane_index() == 0) {
      mbarrier_arrive(address(s.a[0]));
      mbarrier_wait_parity(address(s.a[0]), 0);
      mbarrier_wait_parity(address(s.a[0]), 1);
    }
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    const Outcome outcome = run(Launch{}, kernel, true, with(schedule));
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
    const auto waiter = std::ranges::find(outcome.report.waiting, std::string("ring.full[0]"), &Waiter::object);
    ASSERT_NE(waiter, outcome.report.waiting.end()) << to_text(outcome.report);
    EXPECT_EQ(waiter->phase, 1u);
    EXPECT_EQ(waiter->current, 1u);
  }
}

// ---------------------------------------------------------------------------------------------------- before a wgmma

constexpr int n = 16, stages = 2, blocks = 24;
using Acc = Fragment<float, n / 2>;
using ATile = OperandTile<bf16, Major::k, Swizzle::none, 64>;
using BTile = OperandTile<bf16, Major::k, Swizzle::none, n>;

struct Operands {
  ATile a[stages];
  BTile b[stages];
  Mbarrier full[stages], empty[stages], late;
};

struct Products {
  float* out = nullptr;
};

float a_of(int block, uint32_t row, uint32_t k) { return a_value(row + static_cast<uint32_t>(block), k); }

/// Lanes post the waits, products and arrivals of many blocks before the first of them is executed: a barrier stands
/// phases behind what a lane waits for next. A wait that is posted too, on `late`, comes before those whose phases it
/// stands for.
constexpr auto ring_of_parities = [](const Products& p) {
  Operands& s = shared<Operands>();
  if (thread_index() == 0) {
    for (Mbarrier& barrier : s.empty) mbarrier_init(shared_address(&barrier), 4);
    mbarrier_init(shared_address(&s.late), 1);
  }
  init_barriers(s.full, 1);
  const auto turn = [](int i) { return static_cast<uint32_t>(i / stages & 1); };
  if (warp_index() == 4) {
    for (int i = 0; i < blocks; ++i) {
      const int slot = i % stages;
      mbarrier_wait_parity(shared_address(&s.empty[slot]), turn(i) ^ 1);
      s.a[slot].fill([&](uint32_t row, uint32_t k) { return a_of(i, row, k); }, lane_index(), 32);
      s.b[slot].fill(b_value, lane_index(), 32);
      fence_proxy_async_shared();
      syncwarp();
      if (lane_index() == 0) mbarrier_arrive(shared_address(&s.full[slot]));
      if (i == 0 && lane_index() == 0) mbarrier_arrive(shared_address(&s.late));
    }
    return;
  }
  Acc d;
  const auto give_back = [&](int slot) {
    syncwarp_before_signal();
    if (lane_index() == 0) mbarrier_arrive(shared_address(&s.empty[slot]));
  };
  mbarrier_wait_parity<Scope::cta, true>(shared_address(&s.late), 0);
  for (int i = 0; i < blocks; ++i) {
    const int slot = i % stages;
    mbarrier_wait_parity<Scope::cta, true>(shared_address(&s.full[slot]), turn(i));
    wgmma_fence(d);
    wgmma<n, bf16, bf16>(d, s.a[slot].descriptor(), s.b[slot].descriptor(), i > 0);
    wgmma_commit_group();
    if (i == 0) continue;
    wgmma_wait_group_before_signal<1>();
    give_back((i - 1) % stages);
  }
  wgmma_wait_group<0>(d);
  give_back((blocks - 1) % stages);
  store(d, p.out);
};

TEST(Parity, WaitsBeforeAWgmmaAreForTheirOwnPhase) {
  std::vector<float> out(64 * n), expected(64 * n);
  for (uint32_t row = 0; row < 64; ++row)
    for (uint32_t column = 0; column < n; ++column)
      for (int i = 0; i < blocks; ++i)
        for (uint32_t k = 0; k < 16; ++k) expected[row * n + column] += a_of(i, row, k) * b_value(column, k);
  const Launch launch{.threads = 160,
                      .shared_bytes = sizeof(Operands),
                      .tensors = {{out.data(), out.size() * sizeof(float), Access::write, "out"}}};
  for (const Schedule& schedule : schedules())
    for (const bool checked : {false, true}) {
      SCOPED_TRACE(schedule.text());
      out.assign(out.size(), -1);
      Options options = with(schedule);
      options.check = checked;
      expect_clean(run(launch, ring_of_parities, Products{out.data()}, options));
      EXPECT_EQ(out, expected);
    }
}

}  // namespace
}  // namespace warploom::loom
