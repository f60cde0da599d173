// Tensor memory (hardware.md §4.1, 4.2, 4.14): allocation rules, loads and stores, fragments in flight.
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[1];
  uint32_t slot;
  uint32_t slots[4];
};

struct Params {
  bool buggy;
  uint32_t* out;
};

// ------------------------------------------------------------------------------------------------------ allocation

TEST(TmemRules, ColumnsArePowersOfTwo) {
  for (const uint32_t columns : {0u, 16u, 48u, 1024u}) {
    SCOPED_TRACE(columns);
    always_found({},
                 [](uint32_t n) {
                   auto& s = shared<Storage>();
                   OFFENDING(tmem_alloc<1>(address(s.slot), n));
                   syncwarp();
                 },
                 columns, {"TMEM-RULE", {"tcgen05.alloc of", "32, 64, 128, 256 or 512"}});
  }
  for (const uint32_t columns : {32u, 64u, 128u, 256u, 512u})
    always_clean(
        {},
        [](uint32_t n) {
          auto& s = shared<Storage>();
          tmem_alloc<1>(address(s.slot), n);
          EXPECT_EQ(load_shared(&s.slot), 0u);
          tmem_relinquish<1>();
          tmem_dealloc<1>({load_shared(&s.slot)}, n);
          syncwarp();
        },
        columns);
}

TEST(TmemRules, AllocationsMustNotGrow) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slots[0]), 64);
         OFFENDING(tmem_alloc<1>(address(s.slots[1]), buggy ? 128 : 64));
         EXPECT_NE(load_shared(&s.slots[0]), load_shared(&s.slots[1]));
         tmem_dealloc<1>({load_shared(&s.slots[0])}, 64);
         tmem_dealloc<1>({load_shared(&s.slots[1])}, 64);
         syncwarp();
       },
       {"TMEM-RULE", {"128 columns after one of 64", "must not grow"}});
}

TEST(TmemRules, NoAllocationAfterRelinquish) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (buggy) tmem_relinquish<1>();
         OFFENDING(tmem_alloc<1>(address(s.slot), 32));
         tmem_relinquish<1>();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-RULE", {"tcgen05.alloc after relinquish_alloc_permit"}});
}

TEST(TmemRules, AddressGoesToAWordOfThisCta) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const SharedAddress own = address(s.slot);
         OFFENDING(tmem_alloc<1>(buggy ? map_to_rank(own, cluster_rank() ^ 1) : own, 32));
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         cluster_sync();
       },
       {"TMEM-RULE", {"a word of this CTA's shared memory"}});
}

TEST(TmemRules, DeallocNamesAnAllocation) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 64);
         OFFENDING(tmem_dealloc<1>({load_shared(&s.slot)}, buggy ? 32 : 64));
         syncwarp();
       },
       {"TMEM-RULE", {"tcgen05.dealloc of 32 columns at 0", "no allocation of this CTA"}});
}

TEST(TmemRules, DeallocTwice) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 64);
         tmem_dealloc<1>({load_shared(&s.slot)}, 64);
         if (buggy) OFFENDING(tmem_dealloc<1>({load_shared(&s.slot)}, 64));
         syncwarp();
       },
       {"TMEM-RULE", {"no allocation"}});
}

TEST(TmemRules, OneCtaGroupPerKernel) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         if (buggy) OFFENDING(tmem_relinquish<2>());
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         cluster_sync();
       },
       {"TMEM-RULE", {"cta_group::2 in a kernel that used cta_group::1"}});
}

TEST(TmemRules, PairsNeedAnEvenCluster) {
  always_found({},
               [](bool) {
                 auto& s = shared<Storage>();
                 OFFENDING(tmem_alloc<2>(address(s.slot), 32));
                 syncwarp();
               },
               true, {"TMEM-RULE", {"cta_group::2 needs clusters with an even number of CTAs"}});
}

TEST(TmemRules, PairAllocatesTheSame) {
  static const Launch launch{.grid = {2}, .cluster = {2}};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    tmem_alloc<2>(address(s.slot), buggy && cluster_rank() == 1 ? 64 : 32);
    tmem_dealloc<2>({load_shared(&s.slot)}, 32);
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(launch))  // the CTA that comes second is reported
    expect_finding(run(launch, kernel, true, with(schedule)), launch,
                   {"TMEM-RULE", {"must run the same tcgen05.alloc, one warp each"}, false});
  always_clean(launch, kernel, false);
}

TEST(TmemRules, PairDeallocatesTheSame) {
  static const Launch launch{.grid = {2}, .cluster = {2}};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    tmem_alloc<2>(address(s.slots[0]), 32);
    tmem_alloc<2>(address(s.slots[1]), 32);
    const uint32_t first = buggy ? cluster_rank() : 0;
    tmem_dealloc<2>({load_shared(&s.slots[first])}, 32);
    tmem_dealloc<2>({load_shared(&s.slots[1 - first])}, 32);
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(launch))
    expect_finding(run(launch, kernel, true, with(schedule)), launch,
                   {"TMEM-RULE", {"must run the same tcgen05.dealloc, one warp each"}, false});
  always_clean(launch, kernel, false);
}

TEST(TmemRules, PairReceivesOneBase) {
  always_clean(
      {.grid = {4}, .cluster = {4}},
      [](bool) {
        auto& s = shared<Storage>();
        tmem_alloc<2>(address(s.slots[0]), 128);
        tmem_alloc<2>(address(s.slots[1]), 64);
        tmem_relinquish<2>();
        EXPECT_EQ(load_shared(&s.slots[0]), 0u);
        EXPECT_EQ(load_shared(&s.slots[1]), 128u);
        cluster_sync();
        tmem_dealloc<2>({load_shared(&s.slots[1])}, 64);
        tmem_dealloc<2>({load_shared(&s.slots[0])}, 128);
        cluster_sync();
      },
      true);
}

TEST(TmemRules, Leak) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         OFFENDING(tmem_alloc<1>(address(s.slot), 256));
         if (!buggy) tmem_dealloc<1>({load_shared(&s.slot)}, 256);
         syncwarp();
       },
       {"TMEM-LEAK", {"CTA 0 exits with 256 tensor-memory columns still allocated"}});
}

TEST(TmemRules, AllocWaitsForColumns) {
  always_clean(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        tmem_alloc<1>(address(s.slots[warp_index()]), 512);  // one warp at a time
        tmem_dealloc<1>({load_shared(&s.slots[warp_index()])}, 512);
        syncwarp();
      },
      true);
}

TEST(TmemRules, PairAllocWaitsForColumns) {
  always_clean(
      {.grid = {2}, .cluster = {2}, .threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 2);
        if (warp_index() == 1) {
          tmem_alloc<2>(address(s.slots[1]), 512);
          if (lane_index() == 0)
            for (uint32_t rank = 0; rank < 2; ++rank) mbarrier_arrive(map_to_rank(address(s.full[0]), rank));
          tmem_dealloc<2>({load_shared(&s.slots[1])}, 512);
        } else {
          mbarrier_wait(address(s.full[0]), 1);  // while the other warps still hold all columns, or not
          tmem_alloc<2>(address(s.slots[0]), 512);
          tmem_dealloc<2>({load_shared(&s.slots[0])}, 512);
        }
        cluster_sync();
      },
      true);
}

// ------------------------------------------------------------------------------------------------------ ld and st

/// Every warp writes its quarter with 32x32b and reads it back with 16x256b, and the other way round.
TEST(Tmem, ShapesAgreeOnLanesAndColumns) {
  constexpr uint32_t count = 8;  // registers: 8 columns of 32x32b, 16 columns of 16x256b
  std::array<uint32_t, 128 * 16> out{};
  const Launch launch{.threads = 128, .tensors = {{out.data(), sizeof(out), Access::write, "out"}}};
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    const uint32_t warp = warp_index(), t = lane_index();
    if (warp == 0) tmem_alloc<1>(address(s.slot), 32);
    syncthreads();
    const TmemAddress quarter = TmemAddress{load_shared(&s.slot)}.lane(32 * warp);
    for (uint32_t half = 0; half < 2; ++half) {  // 16 lanes each: value = 1000 lane + column
      uint32_t registers[count];
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t lane = 32 * warp + 16 * half + t / 4 + 8 * (i / 2 % 2);
        registers[i] = 1000 * lane + 8 * (i / 4) + 2 * (t % 4) + i % 2;
      }
      tmem_store_16x256b<count>(quarter.lane(16 * half), registers);
    }
    tmem_wait_store();
    for (uint32_t block = 0; block < 2; ++block) {
      Fragment<uint32_t, count> loaded;
      tmem_load_32x32b(loaded, quarter.column(8 * block));
      tmem_wait_load();
      for (uint32_t i = 0; i < count; ++i)
        store_global(p.out + (32 * warp + t) * 16 + 8 * block + i, loaded[static_cast<int>(i)]);
    }
    // The other way round.
    uint32_t row[16];
    for (uint32_t i = 0; i < 16; ++i) row[i] = 7000 * (32 * warp + t) + i;
    tmem_store_32x32b<16>(quarter, row);
    tmem_wait_store();
    Fragment<uint32_t, count> lower;
    tmem_load_16x256b(lower, quarter.lane(16));
    tmem_wait_load();
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t lane = 32 * warp + 16 + t / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
      EXPECT_EQ(lower[static_cast<int>(i)], 7000 * lane + column);
    }
    syncthreads();
    if (warp == 0) tmem_dealloc<1>({load_shared(&s.slot)}, 32);
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    out = {};
    expect_clean(run(launch, kernel, Params{false, out.data()}, with(schedule)));
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 16; ++column) EXPECT_EQ(out[lane * 16 + column], 1000 * lane + column);
  }
}

TEST(Tmem, ContentsAreUndefinedAfterAllocation) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        tmem_alloc<1>(address(s.slot), 32);
        Fragment<uint32_t, 4> registers;
        tmem_load_32x32b(registers, {load_shared(&s.slot)});
        tmem_wait_load();
        EXPECT_EQ(registers[0], 0xffffffffu);  // NaN
        tmem_dealloc<1>({load_shared(&s.slot)}, 32);
        syncwarp();
      },
      true);
}

/// A store that is not waited for, then a load of another warp: what it sees is the schedule's choice.
TEST(Tmem, StoresLandLate) {
  std::array<uint32_t, 1> out{};
  const Launch launch{.tensors = {{out.data(), sizeof(out), Access::write, "out"}}};
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    tmem_alloc<1>(address(s.slot), 32);
    const uint32_t values[1] = {42};
    tmem_store_32x32b<1>({load_shared(&s.slot)}, values);
    if (!p.buggy) tmem_wait_store();
    Fragment<uint32_t, 1> registers;
    tmem_load_32x32b(registers, {load_shared(&s.slot)});
    tmem_wait_load();
    if (lane_index() == 0) store_global(p.out, registers[0]);
    tmem_wait_store();
    tmem_dealloc<1>({load_shared(&s.slot)}, 32);
    syncwarp();
  };
  const auto seen = [&](bool buggy, const Schedule& schedule) {
    expect_clean(run(launch, kernel, Params{buggy, out.data()}, with(schedule)));
    return out[0];
  };
  for (const Schedule& schedule : schedules()) EXPECT_EQ(seen(false, schedule), 42u);
  EXPECT_EQ(seen(true, {Policy::eager}), 42u);
  EXPECT_EQ(seen(true, {Policy::lazy}), 0xffffffffu);
}

TEST(TmemRules, LanesOutsideTheWarpsQuarter) {
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (warp_index() == 0) tmem_alloc<1>(address(s.slot), 32);
         syncthreads();
         if (warp_index() == 1) {
           Fragment<uint32_t, 4> registers;
           OFFENDING(tmem_load_32x32b(registers, TmemAddress{load_shared(&s.slot)}.lane(buggy ? 0 : 32)));
           tmem_wait_load();
         }
         syncthreads();
         if (warp_index() == 0) tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-LANE", {"tcgen05.ld at lane 0 by warp 1", "lanes 32 to 63"}});
}

TEST(TmemRules, HalfQuarterIsFor16LaneShapes) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         const uint32_t registers[4] = {};
         const TmemAddress middle = TmemAddress{load_shared(&s.slot)}.lane(16);
         if (buggy)
           OFFENDING(tmem_store_32x32b<4>(middle, registers));
         else
           tmem_store_16x256b<4>(middle, registers);
         tmem_wait_store();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-LANE", {"tcgen05.st at lane 16 by warp 0"}});
}

TEST(TmemRules, ColumnsThatAreNotAllocated) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         Fragment<uint32_t, 8> registers;
         OFFENDING(tmem_load_32x32b(registers, TmemAddress{load_shared(&s.slot)}.column(buggy ? 25 : 24)));
         tmem_wait_load();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-RULE", {"tcgen05.ld touches columns 25 to 32", "not allocated"}});
}

TEST(TmemRules, LoadAfterDealloc) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         if (buggy) tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         Fragment<uint32_t, 8> registers;
         OFFENDING(tmem_load_32x32b(registers, TmemAddress{load_shared(&s.slot)}));
         tmem_wait_load();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-RULE", {"not allocated"}});
}

TEST(TmemRules, OneAddressInAllLanes) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         const uint32_t registers[1] = {};
         OFFENDING(tmem_store_32x32b<1>(TmemAddress{load_shared(&s.slot)}.column(buggy ? lane_index() : 0), registers));
         tmem_wait_store();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"TMEM-RULE", {"tcgen05.st with different addresses in lanes 0 and 1"}});
}

// ------------------------------------------------------------------------------------------------------- fragments

TEST(Fragments, ReadBeforeTheWait) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         Fragment<uint32_t, 4> registers;
         tmem_load_32x32b(registers, {load_shared(&s.slot)});
         if (!buggy) tmem_wait_load();
         const Fragment<uint32_t, 4>& seen = registers;
         uint32_t value = 0;
         OFFENDING(value = seen[2]);
         EXPECT_EQ(value, 0xffffffffu);
         if (buggy) tmem_wait_load();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"FRAGMENT", {"a fragment is read while its tcgen05.ld is in flight", "tcgen05.wait::ld"}});
}

TEST(Fragments, WrittenBeforeTheWait) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         Fragment<uint32_t, 4> registers;
         tmem_load_32x32b(registers, {load_shared(&s.slot)});
         if (!buggy) tmem_wait_load();
         OFFENDING(registers[1] = 4);
         if (buggy) tmem_wait_load();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"FRAGMENT", {"a fragment is accessed while"}});
}

TEST(Fragments, DestroyedBeforeTheWait) {
  const Launch launch{};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    tmem_alloc<1>(address(s.slot), 32);
    {
      Fragment<uint32_t, 4> registers;
      tmem_load_32x32b(registers, {load_shared(&s.slot)});
      if (!buggy) tmem_wait_load();
    }
    tmem_dealloc<1>({load_shared(&s.slot)}, 32);
    syncwarp();
  };
  always_found(launch, kernel, true, {"FRAGMENT", {"a fragment is destroyed while"}, false});
  always_clean(launch, kernel, false);
}

TEST(Fragments, LoadedTwice) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         tmem_alloc<1>(address(s.slot), 32);
         Fragment<uint32_t, 4> registers;
         tmem_load_32x32b(registers, {load_shared(&s.slot)});
         if (!buggy) tmem_wait_load();
         OFFENDING(tmem_load_32x32b(registers, {load_shared(&s.slot)}));
         tmem_wait_load();
         tmem_dealloc<1>({load_shared(&s.slot)}, 32);
         syncwarp();
       },
       {"FRAGMENT", {"tcgen05.ld into a fragment whose load is still in flight"}});
}

TEST(Fragments, WaitCoversAllLoadsOfTheWarp) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        tmem_alloc<1>(address(s.slot), 32);
        const uint32_t values[2] = {lane_index(), 2 * lane_index()};
        tmem_store_32x32b<2>({load_shared(&s.slot)}, values);
        tmem_wait_store();
        Fragment<uint32_t, 1> first, second;
        tmem_load_32x32b(first, {load_shared(&s.slot)});
        tmem_load_32x32b(second, TmemAddress{load_shared(&s.slot)}.column(1));
        tmem_wait_load();
        EXPECT_EQ(first[0], lane_index());
        EXPECT_EQ(second[0], 2 * lane_index());
        tmem_dealloc<1>({load_shared(&s.slot)}, 32);
        syncwarp();
      },
      true);
}

}  // namespace
}  // namespace warploom::loom
