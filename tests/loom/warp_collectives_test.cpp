// Warp-collective operations: values, and lanes that do not come together (hardware.md §6.5).
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[1];
  uint32_t words[32];
  uint32_t slot;
};

TEST(WarpCollectives, ElectPicksTheLowestLaneOfTheMask) {
  always_clean(
      {},
      [](bool) {
        EXPECT_EQ(elect_one(), lane_index() == 0);
        constexpr uint32_t mask = 0x000ff000;  // hardware.md §8.3: lane 12
        if ((mask >> lane_index() & 1) != 0) {
          EXPECT_EQ(elect_one(mask), lane_index() == 12);
        }
        syncwarp();
      },
      true);
}

TEST(WarpCollectives, ShuffleValues) {
  always_clean(
      {},
      [](bool) {
        const uint32_t lane = lane_index();
        EXPECT_EQ(shuffle(100 + lane, 7), 107u);
        EXPECT_EQ(shuffle(100 + lane, lane * 3), 100 + lane * 3 % 32);
        EXPECT_EQ(shuffle_xor(100 + lane, 5), 100 + (lane ^ 5));
        EXPECT_EQ(shuffle_up(100 + lane, 3), 100 + (lane < 3 ? lane : lane - 3));
        EXPECT_EQ(shuffle_down(100 + lane, 3), 100 + (lane > 28 ? lane : lane + 3));
        const float value = -0.25f - static_cast<float>(lane);
        EXPECT_EQ(shuffle(value, 7), -7.25f);
        EXPECT_EQ(shuffle_xor(value, 5), -0.25f - static_cast<float>(lane ^ 5));
        EXPECT_EQ(shuffle_up(value, 3), -0.25f - static_cast<float>(lane < 3 ? lane : lane - 3));
        EXPECT_EQ(shuffle_down(value, 3), -0.25f - static_cast<float>(lane > 28 ? lane : lane + 3));
        syncwarp();
      },
      true);
}

TEST(WarpCollectives, ShuffleWithinHalfAWarp) {
  always_clean(
      {},
      [](bool) {
        const uint32_t mask = lane_index() < 16 ? 0x0000ffffu : 0xffff0000u;
        EXPECT_EQ(shuffle_xor(lane_index(), 8, mask), lane_index() ^ 8);
        syncwarp();
      },
      true);
}

TEST(WarpCollectives, SyncwarpOrdersSharedMemory) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        store_shared(&s.words[lane_index()], lane_index() + 1);
        syncwarp();
        EXPECT_EQ(load_shared(&s.words[31 - lane_index()]), 32 - lane_index());
        syncwarp();
      },
      true);
}

TEST(WarpCollectives, MaskThatLeavesTheLaneOut) {
  rule({},
       [](bool buggy) {
         const uint32_t mask = buggy ? 0xfffffffeu : full_mask;
         if (lane_index() == 0)
           OFFENDING(syncwarp(mask));
         else
           syncwarp(mask);
         shuffle(0, 0);
       },
       {"DIVERGENCE", {"lane 0 executes bar.warp.sync with mask 0xfffffffe"}});
}

TEST(WarpCollectives, DifferentOperationsInOneWarp) {
  // Which half comes second, and so which line is reported, is the schedule's choice.
  static const Launch launch{};
  const auto kernel = [](bool buggy) {
    if (buggy && lane_index() >= 16)
      shuffle(lane_index(), 0);
    else
      syncwarp();
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    const Outcome outcome = run(launch, kernel, true, with(schedule));
    expect_finding(outcome, launch, {"DIVERGENCE", {"shfl.sync.idx", "bar.warp.sync", "of the same warp"}, false});
    EXPECT_EQ(file_name(outcome.report.findings.at(0).at.user.file), "warp_collectives_test.cpp");
  }
  always_clean(launch, kernel, false);
}

TEST(WarpCollectives, ShuffleFromALaneOutsideTheMask) {
  rule({},
       [](bool buggy) {
         if (lane_index() < 16) OFFENDING(shuffle(lane_index(), buggy ? 20 : 3, 0x0000ffff));
         syncwarp();
       },
       {"DIVERGENCE", {"shfl.sync.idx reads lane 20", "0x0000ffff"}});
}

TEST(WarpCollectives, NamedBarrierWithDifferentIdsInOneWarp) {
  rule({},
       [](bool buggy) {
         OFFENDING(bar_sync(buggy ? 1 + lane_index() % 2 : 1, 32));
         syncwarp();
       },
       {"DIVERGENCE", {"bar.sync with different arguments"}});
}

TEST(WarpCollectives, UniformValueThatLanesDoNotAgreeOn) {
  rule({},
       [](bool buggy) {
         const uint32_t value = buggy && lane_index() == 9 ? 6u : 7u;
         OFFENDING(uniform(value));
       },
       {"DIVERGENCE", {"redux.sync.or", "different arguments"}});
}

TEST(WarpCollectives, AllocationsWithDifferentSizesInOneWarp) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         OFFENDING(tmem_alloc<1>(address(s.slot), buggy && lane_index() == 9 ? 64 : 32));
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"DIVERGENCE", {"tcgen05.alloc with different arguments"}});
}

TEST(WarpCollectives, LanesMayMeetAtDifferentLines) {
  always_clean(
      {},
      [](bool) {
        bool elected = false;
        if (lane_index() % 2 == 0)
          elected = elect_one();
        else
          elected = elect_one();
        EXPECT_EQ(elected, lane_index() == 0);
        syncwarp();
      },
      true);
}

TEST(WarpCollectives, AddressThatIsNotInSharedMemory) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t local = 0;
         OFFENDING((void)shared_address(buggy ? &local : &s.slot));
         syncwarp();
       },
       {"OOB-SHARED", {"not in this CTA's shared memory"}});
}

TEST(WarpCollectives, RankThatTheClusterDoesNotHave) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t peer = cluster_rank() ^ 1;
         SharedAddress there;
         OFFENDING(there = map_to_rank(address(s.slot), buggy ? peer + 2 : peer));
         EXPECT_EQ(there.value >> 24, peer);
         cluster_sync();
       },
       {"OOB-SHARED", {"mapa to CTA", "in a cluster of 2"}});
}

struct GlobalParams {
  bool buggy;
  uint32_t* out;
};

TEST(WarpCollectives, GlobalMemoryOutsideTheTensors) {
  std::array<uint32_t, 33> memory{};
  const Launch launch{.tensors = {{memory.data(), 32 * sizeof(uint32_t), Access::write, "out"}}};
  const auto kernel = [](GlobalParams p) {
    OFFENDING(store_global(p.out + lane_index() + (p.buggy ? 1 : 0), load_global(p.out + lane_index()) + lane_index()));
    syncwarp();
  };
  always_found(launch, kernel, GlobalParams{true, memory.data()},
               {"OOB-GLOBAL", {"a store of 4 bytes outside the launch's writable tensors"}});
  memory = {};
  expect_clean(run(launch, kernel, GlobalParams{false, memory.data()}));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(memory[i], i);
}

TEST(WarpCollectives, StoreToAReadOnlyTensor) {
  std::array<uint32_t, 32> memory{};
  const auto kernel = [](GlobalParams p) {
    (void)load_global(p.out);
    OFFENDING(store_global(p.out, 1u));
    syncwarp();
  };
  Launch launch{.tensors = {{memory.data(), sizeof(memory), Access::read, "in"}}};
  always_found(launch, kernel, GlobalParams{true, memory.data()}, {"OOB-GLOBAL", {"writable"}});
  launch.tensors[0].access = Access::write;
  always_clean(launch, kernel, GlobalParams{false, memory.data()});
}

}  // namespace
}  // namespace warploom::loom
