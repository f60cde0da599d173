// Plain loads, stores and atomics in the shared memory of other CTAs (hardware.md §6.2), and mbarrier tokens (§1.2).
#include "warploom/arch/cluster_memory.hpp"

#include "loom/probe_kernel.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/mbarrier_token.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  alignas(16) uint32_t mine[32][4];
  uint32_t counter;
  Mbarrier full[1];
};
const Launch four{.grid = {4}, .cluster = {4}};
const Launch pair{.grid = {2}, .cluster = {2}};

struct Wide {
  alignas(16) uint32_t w[4];
};

TEST(ClusterMemory, LoadsAndStoresOfEverySize) {
  always_clean(
      four,
      [](bool) {
        auto& s = shared<Storage>();
        const uint32_t lane = lane_index(), rank = cluster_rank(), next = (rank + 1) % 4;
        for (uint32_t i = 0; i < 4; ++i) store_shared(&s.mine[lane][i], 0u);
        fence_shared_release();
        cluster_arrive_relaxed();
        cluster_wait();
        fence_shared_acquire();
        const SharedAddress there = map_to_rank(shared_address(s.mine[lane]), next);
        EXPECT_EQ(rank_of(there), next);
        store_cluster(there, static_cast<uint8_t>(rank + 1));
        store_cluster(there + 2, static_cast<uint16_t>(0x100 * (rank + 1)));
        store_cluster(there + 4, 1000 * rank + lane);
        store_cluster(there + 8, uint64_t{0x1'0000'0000} * (lane + 1) + rank);
        cluster_sync();
        const uint32_t from = (rank + 3) % 4;
        EXPECT_EQ(load_shared(&s.mine[lane][0]), (from + 1) | 0x1000000 * (from + 1));
        EXPECT_EQ(load_shared(&s.mine[lane][1]), 1000 * from + lane);
        EXPECT_EQ(load_shared(&s.mine[lane][2]), from);
        EXPECT_EQ(load_shared(&s.mine[lane][3]), lane + 1);
        const Wide wide = load_cluster<Wide>(there);  // what this CTA sent
        EXPECT_EQ(wide.w[1], 1000 * rank + lane);
        EXPECT_EQ(load_cluster<uint8_t>(there), rank + 1);
        EXPECT_EQ(load_cluster<uint16_t>(there + 2), 0x100 * (rank + 1));
        EXPECT_EQ(load_cluster<uint64_t>(there + 8) >> 32, lane + 1);
        cluster_sync();
      },
      true);
}

TEST(ClusterMemory, AtomicsOfAllCtasMeet) {
  always_clean(
      four,
      [](bool) {
        auto& s = shared<Storage>();
        const uint32_t me = 32 * cluster_rank() + lane_index();
        const SharedAddress zero = map_to_rank(shared_address(s.mine), 0);
        if (me < 16) store_shared(&s.mine[0][0] + me, me == 3 || me == 5 ? ~0u : 0u);
        cluster_sync();
        const uint32_t ticket = fetch_cluster<Atomic::add>(zero, 1);
        EXPECT_LT(ticket, 128u);
        fetch_cluster<Atomic::max>(zero + 4, me);
        fetch_cluster<Atomic::min>(zero + 12, me + 7);
        fetch_cluster<Atomic::bit_or>(zero + 16, 1u << me % 32);
        fetch_cluster<Atomic::bit_and>(zero + 20, ~(1u << me % 8));
        fetch_cluster<Atomic::bit_xor>(zero + 24, 0x10001u * me);
        fetch_cluster<Atomic::inc>(zero + 28, 99);
        fetch_cluster<Atomic::dec>(zero + 32, 99);
        fetch_cluster<Atomic::exchange>(zero + 36, 4711);
        compare_exchange_cluster(zero + 40, 0, me + 1);
        cluster_sync();
        if (me == 0) {
          const auto w = [&](uint32_t i) { return load_shared(&s.mine[0][0] + i); };
          EXPECT_EQ(w(0), 128u);
          EXPECT_EQ(w(1), 127u);
          EXPECT_EQ(w(3), 7u);
          EXPECT_EQ(w(4), ~0u);
          EXPECT_EQ(w(5), 0xffffff00u);
          EXPECT_EQ(w(6), 0u);
          EXPECT_EQ(w(7), 28u);  // 128 steps of a counter that goes 0..99
          EXPECT_EQ(w(8), 72u);  // and of one that goes down
          EXPECT_EQ(w(9), 4711u);
          EXPECT_GE(w(10), 1u);  // whoever came first
          EXPECT_LE(w(10), 128u);
        }
        cluster_sync();
      },
      true);
}

TEST(ClusterMemory, AddressMustBeInTheClusterAndAligned) {
  rule(pair,
       [](bool buggy) {
         auto& s = shared<Storage>();
         const SharedAddress there = map_to_rank(address(s.counter), 1);
         cluster_sync();
         OFFENDING(load_cluster<uint32_t>(there + (buggy ? 2 : 0)));
         cluster_sync();
       },
       {"OOB-SHARED", {"a load of 4 bytes", "aligned"}});
  rule(pair,
       [](bool buggy) {
         auto& s = shared<Storage>();
         const SharedAddress there = map_to_rank(address(s.counter), 1);
         cluster_sync();
         OFFENDING(store_cluster(SharedAddress{there.value + (buggy ? 5u << 24 : 0)}, 1u));
         cluster_sync();
       },
       {"OOB-SHARED", {"a store of 4 bytes"}});
}

TEST(ClusterMemory, ACtaThatHasExitedHasNoMemory) {
  rule(pair,
       [](bool buggy) {
         auto& s = shared<Storage>();
         const SharedAddress there = map_to_rank(address(s.counter), 1);
         if (cluster_rank() == 1) store_shared(&s.counter, 0u);
         cluster_sync();
         if (cluster_rank() == 0) {
           if (buggy) cluster_sync();  // passes once the other CTA has gone
           OFFENDING(fetch_cluster<Atomic::add>(there, 1));
           if (buggy) return;
         }
         if (!buggy) cluster_sync();
       },
       {"EXIT-REMOTE", {"an atomic", "CTA 1, which has exited"}});
}

// ---------------------------------------------------------------------------------------------------------- tokens

TEST(Tokens, NameTheirPhase) {
  always_clean(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 64);
        for (uint32_t round = 0; round < 5; ++round) {
          const MbarrierToken mine = mbarrier_arrive_token(address(s.full[0]));
          mbarrier_wait_token(address(s.full[0]), mine);
          EXPECT_TRUE(mbarrier_test_token(address(s.full[0]), mine));
          syncthreads();
        }
      },
      true);
}

TEST(Tokens, PendingCountIsTheOneBefore) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 10);
        if (lane_index() == 0) {
          EXPECT_EQ(mbarrier_pending_count(mbarrier_arrive_no_complete(address(s.full[0]), 3)), 10u);
          EXPECT_EQ(mbarrier_pending_count(mbarrier_arrive_no_complete(address(s.full[0]), 6)), 7u);
          mbarrier_arrive(address(s.full[0]));
          EXPECT_TRUE(mbarrier_test(address(s.full[0]), 1));
        }
        syncwarp();
      },
      true);
}

TEST(Tokens, NoCompleteMustNotComplete) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 2);
         if (lane_index() == 0) {
           OFFENDING(mbarrier_arrive_no_complete(address(s.full[0]), buggy ? 2 : 1));
           mbarrier_arrive(address(s.full[0]));
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"noComplete"}});
}

TEST(Tokens, MustNotBeOld) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           MbarrierToken token = mbarrier_arrive_token(address(s.full[0]));
           if (buggy) mbarrier_arrive(address(s.full[0]));
           OFFENDING((void)mbarrier_test_token(address(s.full[0]), token));
         }
         syncwarp();
       },
       {"PHASE", {"a token of phase 0"}});
}

TEST(Tokens, OfThisCtaOnly) {
  rule(pair,
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           const uint32_t to = buggy ? 1 - cluster_rank() : cluster_rank();
           OFFENDING((void)mbarrier_arrive_token(map_to_rank(address(s.full[0]), to)));
         }
         cluster_sync();
       },
       {"BAR-ADDRESS", {"returns no token"}});
}

TEST(Tokens, ArriveDropExpectsAndLeaves) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 2);
        if (lane_index() == 0) {
          const SharedAddress full = address(s.full[0]);
          mbarrier_arrive_drop_expect_tx(full, 48);
          mbarrier_arrive(full);
          EXPECT_FALSE(mbarrier_test(full, 1));
          mbarrier_complete_tx(full, 48);
          EXPECT_TRUE(mbarrier_test(full, 1));
          mbarrier_arrive(full);  // alone from now on
          EXPECT_TRUE(mbarrier_test(full, 2));
        }
        syncwarp();
      },
      true);
}

}  // namespace
}  // namespace warploom::loom
