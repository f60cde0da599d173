// Named barriers of a CTA and the barrier of the cluster (hardware.md §6.3, §6.6).
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[1];
  uint32_t words[8];
};

struct HandOff {
  static constexpr const char* name = "hand-off";
};

TEST(NamedBarriers, SyncAndArriveMakeOnePhase) {
  always_clean(
      {.threads = 96},
      [](bool) {
        auto& s = shared<Storage>();
        for (uint32_t turn = 0; turn < 3; ++turn) {
          if (warp_index() == 0) {
            if (lane_index() == 0) store_shared(&s.words[0], turn + 1);
            syncwarp();
            bar_arrive(1, 96);  // does not wait
            bar_sync(2, 96);
          } else {
            bar_sync(1, 96);
            EXPECT_EQ(load_shared(&s.words[0]), turn + 1);
            bar_sync(2, 96);
          }
        }
        syncthreads();
      },
      true);
}

TEST(NamedBarriers, SubsetsUseTheirOwnIds) {
  always_clean(
      {.threads = 128},
      [](bool) {
        for (uint32_t turn = 0; turn < 4; ++turn) bar_sync(3 + warp_index() / 2, 64);
        syncthreads();
      },
      true);
}

TEST(NamedBarriers, IdThatDoesNotExist) {
  rule({},
       [](bool buggy) {
         OFFENDING(bar_sync(buggy ? 16 : 15, 32));
         syncwarp();
       },
       {"NAMED-BAR", {"named barrier 16 does not exist", "0 to 15"}});
}

TEST(NamedBarriers, ThreadCountThatIsNoMultipleOf32) {
  rule({.threads = 64},
       [](bool buggy) {
         if (warp_index() == 0) OFFENDING(bar_sync(1, buggy ? 33 : 32));
         syncthreads();
       },
       {"NAMED-BAR", {"named barrier 1 with 33 threads", "a multiple of 32 up to the CTA's 64"}});
}

TEST(NamedBarriers, MoreThreadsThanTheCtaHas) {
  rule({.threads = 64},
       [](bool buggy) {
         OFFENDING(bar_sync(1, buggy ? 96 : 64));
         syncthreads();
       },
       {"NAMED-BAR", {"named barrier 1 with 96 threads", "CTA's 64"}});
}

TEST(NamedBarriers, TwoThreadCountsInOnePhase) {
  static const Launch launch{.threads = 96};
  const auto kernel = [](bool buggy) {
    if (warp_index() == 0) {
      name_named_barrier<HandOff>(1);
      bar_sync(4, 96);
      bar_sync(1, 64);
    } else {
      bar_sync(4, 96);
      if (warp_index() == 1) bar_sync(1, buggy ? 96 : 64);
    }
    syncthreads();
  };
  for (const Schedule& schedule : schedules()) {  // who comes second is the schedule's choice
    SCOPED_TRACE(schedule.text());
    expect_finding(run(launch, kernel, true, with(schedule)), launch,
                   {"NAMED-BAR", {"named barrier 1 (hand-off) was entered for", "64", "96"}, false});
  }
  always_clean(launch, kernel, false);
}

TEST(NamedBarriers, WarpArrivesTwice) {
  rule({.threads = 64},
       [](bool buggy) {
         if (warp_index() == 0) {
           bar_arrive(1, 64);
           if (buggy) OFFENDING(bar_arrive(1, 64));
           bar_sync(2, 64);
         } else {
           if (!buggy) bar_sync(1, 64);
           bar_sync(2, 64);
         }
         syncthreads();
       },
       {"NAMED-BAR", {"warp 0 arrives twice at named barrier 1"}});
}

TEST(ClusterBarrier, JoinsAllThreadsOfAllCtas) {
  always_clean(
      {.grid = {4}, .cluster = {4}, .threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 4 * 64);
        for (uint32_t rank = 0; rank < 4; ++rank) mbarrier_arrive(map_to_rank(address(s.full[0]), rank));
        cluster_arrive_relaxed();
        cluster_wait();
        EXPECT_TRUE(mbarrier_test(address(s.full[0]), 1));
        cluster_sync();
      },
      true);
}

TEST(ClusterBarrier, ArriveTwice) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         cluster_arrive();
         if (buggy && cluster_rank() == 1) OFFENDING(cluster_arrive_relaxed());
         cluster_wait();
         syncwarp();
       },
       {"CLUSTER-BAR", {"arrives twice at the cluster barrier"}});
}

TEST(ClusterBarrier, WaitWithoutArrive) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         if (!buggy || cluster_rank() == 0) cluster_arrive();
         if (cluster_rank() == 1)
           OFFENDING(cluster_wait());
         else
           cluster_wait();
         syncwarp();
       },
       {"CLUSTER-BAR", {"without having arrived"}});
}

TEST(ClusterBarrier, ExitedThreadsDoNotCount) {
  always_clean(
      {.grid = {2}, .cluster = {2}, .threads = 64},
      [](bool) {
        if (cluster_rank() == 1 && warp_index() == 1) return;
        cluster_sync();
        cluster_sync();
      },
      true);
}

// A thread that arrived and left must not stand in for one that has yet to arrive.
TEST(ClusterBarrier, ArrivedAndExitedCountsOnNeitherSide) {
  always_clean(
      {.grid = {2}, .cluster = {2}},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        const SharedAddress flag = map_to_rank(address(s.full[0]), 0);
        if (cluster_rank() == 1) {
          cluster_arrive();
          if (lane_index() < 16) return;
          if (lane_index() == 16) mbarrier_arrive(flag);
          cluster_wait();
          cluster_sync();
        } else {
          if (lane_index() == 0) {
            mbarrier_wait(address(s.full[0]), 1);
            for (uint32_t turn = 0; turn < 50; ++turn) fence_proxy_async_shared();
            store_shared(&s.words[0], 7u);
          }
          cluster_sync();
          EXPECT_EQ(load_shared(&s.words[0]), 7u);
          cluster_sync();
        }
      },
      true);
}

TEST(ClusterBarrier, IdentityOfEveryCta) {
  struct Params {
    uint32_t* out;
  };
  std::array<uint32_t, 24> out{};
  const Launch launch{
      .grid = {4, 3, 2}, .cluster = {2, 3, 1}, .tensors = {{out.data(), sizeof(out), Access::write, ""}}};
  expect_clean(run(
      launch,
      [](const Params& p) {
        const Dim3 b = block_index(), g = grid_dim(), c = cluster_index(), n = cluster_count();
        EXPECT_EQ(g, (Dim3{4, 3, 2}));
        EXPECT_EQ(n, (Dim3{2, 1, 2}));
        EXPECT_EQ(cluster_rank(), b.x % 2 + 2 * (b.y % 3));
        EXPECT_EQ(c, (Dim3{b.x / 2, b.y / 3, b.z}));
        EXPECT_EQ(shared_address(&shared<Storage>()).value, cluster_rank() << 24 | 0x400);
        if (thread_index() == 0) store_global(p.out + b.x + 4 * (b.y + 3 * b.z), 1u);
        syncwarp();
      },
      Params{out.data()}));
  for (uint32_t seen : out) EXPECT_EQ(seen, 1u);
}

}  // namespace
}  // namespace warploom::loom
