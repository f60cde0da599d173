// HOLDS speaks for every schedule: whatever another schedule may answer or do differently must keep one run from saying
// it. Each program here fails, or comes out differently, under some schedule, and has a twin for which HOLDS is true.
#include "loom/check/points.hpp"

#include <optional>
#include <vector>

#include "loom/wgmma_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/cp_async.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/mbarrier_token.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/registers.hpp"
#include "warploom/arch/tensor_map_edit.hpp"
#include "warploom/arch/tmem.hpp"

namespace warploom::loom {
namespace {

using namespace points;

// ---------------------------------------------------------------------------------------------------- registers

TEST(Points, RegistersAreALock) {
  // Group 2 gives enough back for one of the two others at a time; group 1 holds them while it waits for group 0.
  never_holds(
      {.threads = 384, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 128);
        const uint32_t group = warp_index() / 4;
        if (group == 2) {
          register_decrease<24>();
        } else if (group == 0) {
          if (p.buggy)
            register_increase<224>();
          else
            register_increase<176>();
          mbarrier_arrive(address(s.a[0]));
          register_decrease<128>();
        } else {
          if (p.buggy)
            register_increase<224>();
          else
            register_increase<176>();
          mbarrier_wait(address(s.a[0]), 1);
          register_decrease<128>();
        }
      },
      "setmaxnreg.inc", 128);
}

TEST(Points, RegistersThatAreHandedOver) {
  // The second increase is ordered behind the decrease that pays for it, or is not.
  never_holds(
      {.threads = 384, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 128);
        const uint32_t group = warp_index() / 4;
        if (group == 2) {
          register_decrease<24>();
        } else if (group == 0) {
          register_increase<224>();
          register_decrease<128>();
          mbarrier_arrive(address(s.a[0]));
        } else {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          register_increase<224>();
        }
      },
      "setmaxnreg.inc", 128);
}

// ---------------------------------------------------------------------------------------------------- arrivals

TEST(Points, AnIncrementThatMayComeTooLate) {
  // cp.async.mbarrier.arrive adds its arrival when it is executed: the other thread may have completed the phase by
  // then.
  always_fails({.threads = 96, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   cp_async<16>(address(s.line), p.words);
                   cp_async_mbarrier_arrive(address(s.a[0]));
                   if (!p.buggy) mbarrier_arrive(address(s.a[0]));
                 }
                 if (thread_index() == 32 && p.buggy) mbarrier_arrive(address(s.a[0]));
                 if (thread_index() == 64) {
                   mbarrier_wait(address(s.a[0]), 1);
                   (void)load_shared(&s.line[0]);
                 }
                 syncthreads();
                 if (thread_index() == 0) cp_async_commit_group(), cp_async_wait_group<0>();
               },
               {"PHASE-AMBIG", "UNINIT-SMEM", "RACE-SMEM"});
}

TEST(Points, AnArrivalThatMayBeTheLast) {
  always_fails({.threads = 96, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 2);
                 if (thread_index() == 0) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   mbarrier_arrive(address(s.a[0]));
                 }
                 if (thread_index() == 32) {
                   (void)mbarrier_arrive_no_complete(address(s.a[0]), 1);
                   mbarrier_arrive(address(s.b[0]));
                 }
               },
               {"ARRIVE-OVERFLOW"});
}

/// Between lanes of one warp, behind a meeting whose lanes run ahead.
TEST(Points, ALaneWhoseArrivalMayBeTheLast) {
  always_fails({.threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 2);
                 syncwarp_before_signal();
                 if (thread_index() == 5) {
                   (void)mbarrier_arrive_no_complete(address(s.a[0]), 1);
                   mbarrier_arrive(address(s.b[0]));
                 }
                 if (thread_index() == 1) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   mbarrier_arrive(address(s.a[0]));
                 }
               },
               {"ARRIVE-OVERFLOW"});
}

TEST(Points, BytesThatLeaveTheRangeInAnotherOrder) {
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 2);
                 const uint32_t bytes = 600'000;
                 if (thread_index() == 0) {
                   mbarrier_expect_tx(address(s.a[0]), bytes);
                   mbarrier_complete_tx(address(s.a[0]), bytes);
                   mbarrier_arrive(address(s.b[0]));
                   mbarrier_arrive(address(s.a[0]));
                 }
                 if (thread_index() == 32) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   mbarrier_expect_tx(address(s.a[0]), bytes);
                   mbarrier_complete_tx(address(s.a[0]), bytes);
                   mbarrier_arrive(address(s.a[0]));
                 }
               },
               {"TX-RANGE"});
}

// ---------------------------------------------------------------------------------------------------- reductions

TEST(Points, SumsOfFloatingPoint) {
  // 1e8, -1e8 and 1 add up to 1 or to 0.
  never_holds(
      {.threads = 32, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (thread_index() != 0) return;
        const float terms[] = {1e8f, -1e8f, 1.0f};
        for (uint32_t i = 0; i < 3; ++i)
          for (uint32_t j = 0; j < 4; ++j)
            store_shared(&s.line[4 * i + j], p.buggy ? __builtin_bit_cast(uint32_t, terms[i]) : i);
        fence_proxy_async_shared();
        for (uint32_t i = 0; i < 3; ++i) {
          const SharedAddress source = shared_address(&s.line[4 * i]);
          if (p.buggy)
            bulk_reduce<Reduction::add, ReductionType::f32>(p.words, source, 16);
          else
            bulk_reduce<Reduction::add, ReductionType::u32>(p.words, source, 16);
        }
        bulk_commit_group();
        bulk_wait_group<0>();
        (void)load_global(p.words);
      },
      "cp.reduce.async.bulk");
}

TEST(Points, SumsOfFloatingPointOneAfterTheOther) {
  const Verdict verdict = verdict_of(
      {.threads = 32, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (thread_index() != 0) return;
        for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], 0x3f800000u);
        fence_proxy_async_shared();
        for (uint32_t i = 0; i < 3; ++i) {
          bulk_reduce<Reduction::add, ReductionType::f32>(p.words, address(s.line), 16);
          bulk_commit_group();
          bulk_wait_group<0>();
        }
      },
      false);
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence() << to_text(verdict.report);
}

TEST(Points, IncrementsWithTwoLimits) {
  // inc wraps at its limit: 2 then 5, or 5 then 2, leave different values.
  never_holds(
      {.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (cluster_rank() == 0 && thread_index() == 0) {
          for (uint32_t j = 0; j < 8; ++j) store_shared(&s.line[j], 2u);
          fence_proxy_async_shared();
          mbarrier_arrive_expect_tx(address(s.a[0]), 32);
        }
        if (cluster_rank() == 1 && thread_index() == 0) {
          for (uint32_t j = 0; j < 8; ++j) store_shared(&s.line[j], j < 4 ? 2u : 5u);
          fence_proxy_async_shared();
        }
        cluster_sync();
        if (cluster_rank() == 1 && thread_index() == 0)
          for (uint32_t i = 0; i < 2; ++i) {
            const SharedAddress to = map_to_rank(address(s.line), 0), from = shared_address(&s.line[4 * i]);
            const SharedAddress full = map_to_rank(address(s.a[0]), 0);
            if (p.buggy)
              bulk_send_reduce<Reduction::inc, ReductionType::u32>(to, from, 16, full);
            else
              bulk_send_reduce<Reduction::max, ReductionType::u32>(to, from, 16, full);
          }
        if (cluster_rank() == 0 && thread_index() == 0) {
          mbarrier_wait(address(s.a[0]), 1);
          (void)load_shared(&s.line[0]);
        }
        cluster_sync();
      },
      "cp.reduce.async.bulk between CTAs");
}

TEST(Points, AnAtomicBesideAReductionInSharedMemory) {
  never_holds(
      {.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], 1u);
          fence_proxy_async_shared();
          if (cluster_rank() == 0) mbarrier_arrive_expect_tx(address(s.a[0]), 16);
        }
        cluster_sync();
        if (thread_index() == 0 && cluster_rank() == 1)
          bulk_send_reduce<Reduction::add, ReductionType::u32>(map_to_rank(address(s.line), 0), address(s.line), 16,
                                                               map_to_rank(address(s.a[0]), 0));
        if (thread_index() == 0 && cluster_rank() == 0) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)fetch_cluster<Atomic::add>(address(s.line), 0u);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
        cluster_sync();
      },
      "atom.shared::cluster");
}

TEST(Points, AnAtomicBesideAReductionInGlobalMemory) {
  never_holds(
      {.threads = 64, .shared_bytes = storage_bytes, .talks_across_clusters = true},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], 1u);
          fence_proxy_async_shared();
          bulk_reduce<Reduction::add, ReductionType::u32>(p.words, address(s.line), 16);
          bulk_commit_group();
          bulk_wait_group<0>();
          mbarrier_arrive(address(s.a[0]));
        }
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)fetch_add_global(p.words, 0u);
        }
      },
      "atom.global");
}

/// A reduction goes with another of its kind, and not with the atomic that its own thread made before it.
TEST(Points, AReductionBesideAnAtomicBehindAnotherReduction) {
  never_holds(
      {.threads = 64, .shared_bytes = storage_bytes, .talks_across_clusters = true},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 2);
        if (thread_index() % 32 == 0) {
          const uint32_t first = thread_index() / 8;  // a line of its own for each
          for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[first + j], 1u);
          fence_proxy_async_shared();
          if (thread_index() == 32 && !p.buggy) mbarrier_wait(address(s.b[0]), 1);
          if (thread_index() == 0) {
            (void)fetch_add_global(p.words, 2u);
            if (!p.buggy) mbarrier_arrive(address(s.b[0]));
          }
          bulk_reduce<Reduction::max, ReductionType::u32>(p.words, address(s.line[first]), 16);
          bulk_commit_group();
          bulk_wait_group<0>();
          mbarrier_arrive(address(s.a[0]));
          if (thread_index() == 0) {
            mbarrier_wait(address(s.a[0]), 1);
            (void)load_global(p.words);
          }
        }
      },
      "cp.reduce.async.bulk");
}

/// The same in shared memory.
TEST(Points, AReductionBesideAnotherKindBehindOneOfItsOwn) {
  never_holds(
      {.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          for (uint32_t j = 0; j < 32; ++j) store_shared(&s.line[j], 1u);
          fence_proxy_async_shared();
          if (cluster_rank() == 0) mbarrier_arrive_expect_tx(address(s.a[0]), 32);
        }
        cluster_sync();
        const SharedAddress to = map_to_rank(address(s.line), 0), full = map_to_rank(address(s.a[0]), 0);
        if (thread_index() % 32 == 0 && cluster_rank() == 1) {
          if (thread_index() == 32 && !p.buggy) mbarrier_wait(address(s.b[0]), 1);
          if (thread_index() == 0) {
            (void)fetch_cluster<Atomic::add>(to, 2u);
            if (!p.buggy) mbarrier_arrive(address(s.b[0]));
          }
          bulk_send_reduce<Reduction::max, ReductionType::u32>(to, address(s.line[16]), 16, full);
        }
        if (thread_index() == 0 && cluster_rank() == 0) mbarrier_wait(address(s.a[0]), 1);
        cluster_sync();
      },
      "cp.reduce.async.bulk between CTAs");
}

// ---------------------------------------------------------------------------------------------------- tests

TEST(Points, ATestThatNoLaterPhaseSettles) {
  // Before the arrival the answer is yes, after it no; and no other phase ever completes.
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
          if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
          (void)mbarrier_test(address(s.a[0]), 0);
        }
      },
      "mbarrier.test_wait");
}

TEST(Points, ATestWhoseParityMeansAnotherPhase) {
  // Before the arrival the parity of phase 2 is that of "no phase yet": the test passes on a phase it does not mean.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   mbarrier_arrive(address(s.a[0]));
                   mbarrier_arrive(address(s.b[0]));
                 }
                 if (thread_index() == 32) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   (void)mbarrier_test(address(s.a[0]), 2);
                 }
               },
               {"PHASE", "PHASE-AMBIG"});
}

TEST(Points, ATokenThatMayBeTooOld) {
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   const MbarrierToken token = mbarrier_arrive_token(address(s.a[0]));
                   if (!p.buggy) mbarrier_wait_token(address(s.a[0]), token);
                   mbarrier_arrive(address(s.b[0]));
                   if (p.buggy) (void)mbarrier_test_token(address(s.a[0]), token);
                 }
                 if (thread_index() == 32) {
                   mbarrier_wait(address(s.b[0]), 1);
                   mbarrier_arrive(address(s.a[0]));
                 }
               },
               {"PHASE", "PHASE-AMBIG"});
}

// ---------------------------------------------------------------------------------------------------- exits

TEST(Points, ACopyThatNobodyWaitsFor) {
  always_fails({.threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 if (thread_index() != 0) return;
                 cp_async<16>(address(s.line), p.words);
                 cp_async_commit_group();
                 if (!p.buggy) cp_async_wait_group<0>();
               },
               {"EXIT-PENDING"});
}

TEST(Points, ACtaThatExitsWhileItsMemoryIsSent) {
  always_fails({.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0 && cluster_rank() == 0) {
                   for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], j);
                   fence_proxy_async_shared();
                   bulk_send(map_to_rank(address(s.line), 1), address(s.line), 16, map_to_rank(address(s.a[0]), 1));
                 }
                 if (thread_index() == 0 && cluster_rank() == 1) {
                   mbarrier_arrive_expect_tx(address(s.a[0]), 16);
                   mbarrier_wait(address(s.a[0]), 1);
                 }
                 if (!p.buggy) cluster_sync();
               },
               {"EXIT-REMOTE"});
}

TEST(Points, ACtaThatExitsBeforeItsOwnLoadHasLanded) {
  // The load of CTA 1 completes on CTA 0's barrier: who waits there keeps CTA 0, and not CTA 1.
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.rank = 2;
  static Memory source;
  args.address = source.words.data();
  args.dims[0] = 32;
  args.dims[1] = 1;
  args.strides[0] = 128;
  args.box[0] = 32;
  args.box[1] = 1;
  static TensorMap map;
  map = make_map(args);
  Launch launch{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = storage_bytes};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() == 0 && cluster_rank() == 0) {
      mbarrier_arrive_expect_tx(address(s.a[0]), 128);
      cluster_arrive();
      cluster_wait();
      mbarrier_wait(address(s.a[0]), 1);
      if (!buggy) mbarrier_arrive(map_to_rank(address(s.b[0]), 1));
    } else {
      cluster_arrive();
      cluster_wait();
      if (thread_index() == 0) {
        tma_load<2>(address(s.line), map, pair_leader(address(s.a[0])), Coord2{0, 0});
        if (!buggy) mbarrier_wait(address(s.b[0]), 1);
      }
    }
  };
  launch.tensors = source.tensors();
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.check = true;
    const Outcome outcome = run(launch, kernel, true, options);
    ASSERT_EQ(outcome.report.findings.size(), 1u) << "no finding";
    EXPECT_EQ(outcome.report.findings[0].code, "EXIT-REMOTE") << to_text(outcome.report);
    expect_clean(run(launch, kernel, false, options));
  }
}

// ---------------------------------------------------------------------------------------------------- other objects

TEST(Points, AStoreToALiveBarrier) {
  // Before the arrival it breaks the barrier; after it, nobody would notice.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) mbarrier_arrive(address(s.a[0]));
                 if (thread_index() == 32)
                   store_shared(p.buggy ? reinterpret_cast<uint32_t*>(&s.a[0]) : &s.line[0], 1u);
               },
               {"BAR-UNINIT"});
}

TEST(Points, ACopyThatReachesIntoABarrier) {
  struct Row {
    alignas(128) uint32_t line[32];
    Mbarrier full[1];
  };
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Row>();
                 init_barriers(s.full, 1);
                 const uint32_t bytes = p.buggy ? 144 : 128;
                 if (thread_index() == 0) {
                   mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
                   bulk_load(address(s.line), p.words, bytes, address(s.full[0]));
                   mbarrier_wait(address(s.full[0]), 1);
                 }
               },
               {"BAR-UNINIT"});
}

TEST(Points, AnAllocationBesideTheEndOfAllocations) {
  // relinquish_alloc_permit of one warp, tcgen05.alloc of another: in the wrong order the second is an error.
  never_holds(
      {.threads = 64, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (warp_index() == 0) {
          tmem_alloc<1>(address(s.slot[0]), 32);
          syncwarp();
          tmem_dealloc<1>(TmemAddress{load_shared(&s.slot[0])}, 32);
          if (!p.buggy) syncthreads();
        } else {
          if (!p.buggy) syncthreads();
          tmem_relinquish<1>();
        }
      },
      "tcgen05.relinquish_alloc_permit");
}

TEST(Points, ARequestBesideAFailure) {
  // Two threads ask for a cluster, and both are refused. After the first has seen that, the second may no longer ask.
  always_fails({.threads = 64, .shared_bytes = storage_bytes, .launch_control = true},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 const auto ask = [&](uint32_t i, Mbarrier& full) {
                   mbarrier_arrive_expect_tx(address(full), sizeof(ClcResponse));
                   clc_try_cancel(address(s.response[i]), address(full));
                 };
                 if (thread_index() == 0) {
                   ask(0, s.a[0]);
                   mbarrier_wait(address(s.a[0]), 1);
                   if (!p.buggy) mbarrier_wait(address(s.c[0]), 1);
                   (void)clc_is_canceled(load_shared(&s.response[0]));
                 }
                 if (thread_index() == 32) {
                   ask(1, s.b[0]);
                   mbarrier_arrive(address(s.c[0]));
                   mbarrier_wait(address(s.b[0]), 1);
                 }
               },
               {"CLC-AFTER-FAILURE"});
}

TEST(Points, AMapThatIsFencedTooEarly) {
  // The fence counts when it comes behind the publication: before it, the map that is used is an old one.
  struct Draft {
    alignas(128) uint32_t box[32];
    alignas(128) TensorMap map;
    Mbarrier published[1], full[1];
  };
  always_fails({.threads = 64, .shared_bytes = sizeof(Draft)},
               [](const Params& p) {
                 auto& s = shared<Draft>();
                 auto* const map = reinterpret_cast<TensorMap*>(p.words);
                 TensorMapArgs args;
                 args.type = TmaType::u32;
                 args.rank = 2;
                 args.address = p.words + 32;
                 args.dims = {32, 1, 1, 1, 1};
                 args.strides[0] = 128;
                 args.box = {32, 1, 1, 1, 1};
                 if (thread_index() == 0) {
                   const TensorMap model = make_map(args);
                   for (uint32_t i = 0; i < 16; ++i) store_shared(&s.map.opaque[i], model.opaque[i]);
                   mbarrier_init(address(s.published[0]), 1);
                   mbarrier_init(address(s.full[0]), 1);
                   fence_mbarrier_init();
                 }
                 syncthreads();
                 if (warp_index() == 0) {
                   publish_tensor_map(map, address(s.map));
                   if (lane_index() == 31) mbarrier_arrive(address(s.published[0]));
                 } else if (lane_index() == 0) {
                   if (p.buggy) acquire_tensor_map(*map);
                   mbarrier_wait(address(s.published[0]), 1);
                   if (!p.buggy) acquire_tensor_map(*map);
                   mbarrier_arrive_expect_tx(address(s.full[0]), 128);
                   tma_load<1>(address(s.box), *map, address(s.full[0]), Coord2{0, 0});
                   mbarrier_wait(address(s.full[0]), 1);
                 }
               },
               {"TMA-RULE"});
}

TEST(Points, APendingCountIsAlwaysAPoint) {
  never_holds(
      {.threads = 64, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 2);
        if (thread_index() == 0) {
          const MbarrierToken token = mbarrier_arrive_token(address(s.a[0]));
          if (p.buggy) (void)mbarrier_pending_count(token);
        }
        if (thread_index() == 32) mbarrier_arrive(address(s.a[0]));
      },
      "mbarrier.pending_count");
}

TEST(Points, AWaitForGroupsIsItsThreadsOwn) {
  // Another thread's wait says nothing of this thread's stores.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 if (thread_index() == 0) {
                   for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], j);
                   fence_proxy_async_shared();
                   bulk_store(p.words, address(s.line), 16);
                   bulk_commit_group();
                   if (!p.buggy) bulk_wait_group<0>();
                 }
                 if (thread_index() == 32 && p.buggy) bulk_wait_group<0>();
                 syncthreads();
               },
               {"EXIT-PENDING"});
}

TEST(Points, LanesThatNameEachOtherMeet) {
  // Lanes of another mask wait for lanes that never come.
  always_fails({.threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 if (lane_index() < 16) {
                   if (lane_index() == 0) store_shared(&s.line[0], 1u);
                   syncwarp(p.buggy ? 0xffffffffu : 0xffffu);
                   if (lane_index() == 1) (void)load_shared(&s.line[0]);
                 }
               },
               {"DIVERGENCE", "DEADLOCK"});
}

TEST(Points, AGridThatReadsTooEarly) {
  struct Grid {
    uint32_t* words;
    bool first, buggy;
  };
  const auto kernel = [](const Grid& p) {
    if (p.first) {
      grid_launch_dependents();
      if (block_index().x == 0 && thread_index() == 0) store_global(p.words, 1u);
      return;
    }
    // The last cluster of the dependent grid errs: it, too, may start before the first grid has ended.
    if (!p.buggy || block_index().x != 5) grid_dependency_wait();
    if (thread_index() == 0) (void)load_global(p.words);
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    for (const bool buggy : {false, true}) {
      Memory memory;
      const Launch launch{.grid = {6}, .tensors = memory.tensors()};
      const Grid first{memory.words.data(), true, buggy}, second{memory.words.data(), false, buggy};
      using Kernel = decltype(kernel);
      const GridLaunch grids[] = {
          {config_of(launch), &entry<std::remove_const_t<Kernel>, Grid>, &first, launch.tensors},
          {config_of(launch), &entry<std::remove_const_t<Kernel>, Grid>, &second, launch.tensors}};
      Options options = with(schedule);
      options.check = true;
      const std::vector<Outcome> outcomes = launch_dependent(grids, options);
      if (!buggy) {
        for (const Outcome& outcome : outcomes) expect_clean(outcome);
      } else {
        ASSERT_FALSE(outcomes.back().ok());
        EXPECT_EQ(outcomes.back().report.findings[0].code, "PDL-EARLY") << to_text(outcomes.back().report);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------- found later

TEST(Points, ACopyOfNoBytes) {
  // No phase waits for it: who waits at its barrier does not know that it is over.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0)
                   p.buggy ? bulk_load(address(s.line), p.words, 0, address(s.a[0])) : mbarrier_arrive(address(s.b[0]));
                 if (thread_index() == 32) {
                   mbarrier_arrive(address(s.a[0]));
                   mbarrier_wait(address(s.a[0]), 1);
                 }
               },
               {"EXIT-REMOTE"});
}

TEST(Points, ATokenIsTheSameUnderEverySchedule) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_three(s, 2);
    if (thread_index() % 32 == 0) {
      const MbarrierToken token = mbarrier_arrive_token(address(s.a[0]));
      store_global(p.words + thread_index() / 32, static_cast<uint32_t>(token.state ^ token.state >> 32));
      mbarrier_wait_token(address(s.a[0]), token);
    }
  };
  std::optional<std::array<uint32_t, 64>> seen;
  for (const Schedule& schedule : schedules()) {
    Memory memory;
    const Launch launch{.threads = 64, .shared_bytes = storage_bytes, .tensors = memory.tensors()};
    expect_clean(run(launch, kernel, Params{memory.words.data(), false}, with(schedule)));
    EXPECT_EQ(seen.value_or(memory.words), memory.words) << schedule.text();
    seen = memory.words;
  }
}

TEST(Points, APollOfABarrierThatMayBeGone) {
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   (void)mbarrier_poll(address(s.a[0]), 1);
                   mbarrier_arrive(address(s.b[0]));
                 }
                 if (thread_index() == 32) {
                   mbarrier_arrive(address(s.a[0]));
                   mbarrier_wait(address(s.a[0]), 1);
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   mbarrier_invalidate(address(s.a[0]));
                 }
               },
               {"BAR-REINIT", "BAR-UNINIT"});
}

TEST(Points, APollOfABarrierThatMayNotBeThere) {
  struct One {
    Mbarrier full[1];
  };
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<One>();
                 if (thread_index() == 0) {
                   mbarrier_init(address(s.full[0]), 1);
                   fence_mbarrier_init();
                 }
                 if (!p.buggy) syncthreads();
                 if (thread_index() == 32) (void)mbarrier_poll(address(s.full[0]), 0);
               },
               {"BAR-UNINIT"});
}

TEST(Points, APollThatComesLateIsAHint) {
  // Nobody goes by it: whatever it says, no schedule is wrong.
  const auto kernel = [](const Params&) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() == 0) (void)mbarrier_poll(address(s.a[0]), 0);
    if (thread_index() == 32)
      for (uint32_t i = 1; i <= 3; ++i) {
        mbarrier_arrive(address(s.a[0]));
        mbarrier_wait(address(s.a[0]), i);
      }
  };
  Memory memory;
  const Launch launch{.threads = 64, .shared_bytes = storage_bytes, .tensors = memory.tensors()};
  for (uint64_t seed = 1; seed < 40; ++seed) {
    Options options = with({Policy::random, seed});
    options.check = true;
    expect_clean(run(launch, kernel, Params{memory.words.data(), false}, options));
  }
  EXPECT_EQ(verdict_of(launch, kernel, false).kind, Verdict::Kind::holds);
}

TEST(Points, SyncthreadsWaitsForThreadsThatHaveNotExited) {
  // A warp that has exited need not come; one that comes late must.
  always_fails({.threads = 96, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 syncthreads();
                 if (warp_index() == 2) return;
                 if (thread_index() == 0) store_shared(&s.line[0], 1u);
                 if (!p.buggy) syncthreads();
                 if (thread_index() == 32) (void)load_shared(&s.line[0]);
                 syncthreads();
               },
               {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(Points, IncrementsThatMayLeaveTheRangeOfTheCount) {
  always_fails({.threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 constexpr uint32_t most = (1u << 20) - 1;
                 init_three(s, p.buggy ? most : most - 1);
                 if (thread_index() == 0) {
                   mbarrier_arrive(address(s.a[0]), 8);
                   cp_async<16>(address(s.line), p.words);
                   cp_async_mbarrier_arrive(address(s.a[0]));
                   mbarrier_arrive(address(s.a[0]), (p.buggy ? most : most - 1) - 8);
                   mbarrier_wait(address(s.a[0]), 1);
                 }
               },
               {"ARRIVE-OVERFLOW"});
}

TEST(Points, APrefetchOfWhatAnEarlierGridWrites) {
  struct Grid {
    uint32_t* words;
    bool first;
  };
  const auto kernel = [](const Grid& p) {
    if (p.first) {
      grid_launch_dependents();
      if (thread_index() == 0) store_global(p.words, 1u);
      return;
    }
    if (thread_index() == 0) bulk_prefetch(p.words, 16);
    grid_dependency_wait();
  };
  Memory memory;
  const Launch launch{.tensors = memory.tensors()};
  const Grid first{memory.words.data(), true}, second{memory.words.data(), false};
  using Kernel = std::remove_const_t<decltype(kernel)>;
  const GridLaunch grids[] = {{config_of(launch), &entry<Kernel, Grid>, &first, launch.tensors},
                              {config_of(launch), &entry<Kernel, Grid>, &second, launch.tensors}};
  Options options;
  options.check = true;
  for (const Outcome& outcome : launch_dependent(grids, options)) expect_clean(outcome);
}

TEST(Points, AReductionThatHidesWhatItCameOver) {
  // Two sums that commute, and a read before one of them: the other may come before the read, or after it.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0)
                   for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], 1u);
                 fence_proxy_async_shared();
                 syncthreads();
                 const auto add = [&] {
                   bulk_reduce<Reduction::add, ReductionType::u32>(p.words, address(s.line), 16);
                   bulk_commit_group();
                   bulk_wait_group<0>();
                 };
                 if (thread_index() == 0) {
                   (void)load_global(p.words);
                   fence_proxy_async_global();
                   mbarrier_arrive(address(s.b[0]));
                   add();
                 }
                 if (thread_index() == 32) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   add();
                 }
               },
               {"RACE-GLOBAL"});
}

TEST(Points, AReductionBetweenCtasThatHidesWhatItCameOver) {
  always_fails({.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 0) {
                   for (uint32_t j = 0; j < 4; ++j) store_shared(&s.line[j], 1u);
                   if (cluster_rank() == 0) mbarrier_arrive_expect_tx(address(s.a[0]), 32);
                 }
                 fence_proxy_async();
                 cluster_sync();
                 const SharedAddress there = map_to_rank(address(s.line), 0), full = map_to_rank(address(s.a[0]), 0);
                 const auto add = [&] {
                   bulk_send_reduce<Reduction::add, ReductionType::u32>(there, address(s.line), 16, full);
                 };
                 if (cluster_rank() == 1 && thread_index() == 0) {
                   (void)load_cluster<uint32_t>(there);
                   fence_proxy_async();
                   mbarrier_arrive(address(s.b[0]));
                   add();
                 }
                 if (cluster_rank() == 1 && thread_index() == 32) {
                   if (!p.buggy) mbarrier_wait(address(s.b[0]), 1);
                   add();
                 }
                 if (cluster_rank() == 0 && thread_index() == 0) mbarrier_wait(address(s.a[0]), 1);
                 cluster_sync();
               },
               {"RACE-SMEM"});
}

TEST(Points, LanesThatStoreTheSameAndKnowOtherThings) {
  // Whether two lanes that store the same value with one instruction are let pass does not depend on who is first.
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 init_three(s, 1);
                 if (thread_index() == 32) mbarrier_arrive(address(s.a[0]));
                 if (warp_index() != 0) return;
                 if (lane_index() == 1) mbarrier_wait(address(s.a[0]), 1);
                 if (!p.buggy) syncwarp();
                 if (lane_index() == 1 || lane_index() == 2) store_shared(&s.line[0], 1u);
               },
               {"RACE-SMEM"});
}

TEST(Points, EqualStoresInTheOrderOfTheirThreads) {
  // Two threads store the same row. If one of them does so twice, whether the other knows of the first time shows only
  // where the other comes last: a finding there, and a point elsewhere.
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    if (thread_index() < 4) store_shared(&s.line[thread_index()], 7u);
    fence_proxy_async_shared();
    syncthreads();
    const bool twice = p.buggy && thread_index() == 32;
    if (lane_index() != 0) return;
    for (int time = 0; time < (twice ? 2 : 1); ++time) {
      bulk_store(p.words, address(s.line), 16);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
  };
  const Launch launch{.threads = 64, .shared_bytes = storage_bytes};
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    const Verdict buggy = verdict_of(launch, kernel, true, 0, schedule);
    EXPECT_TRUE(buggy.kind == Verdict::Kind::fails || buggy.kind == Verdict::Kind::none_found) << buggy.sentence();
    const Verdict twin = verdict_of(launch, kernel, false, 0, schedule);
    EXPECT_EQ(twin.kind, Verdict::Kind::holds) << twin.sentence() << to_text(twin.report);
  }
}

TEST(Points, LanesThatRunAheadOfAMeeting) {
  // Lanes may go on before a meeting of their warp is over; what they do then comes behind it all the same.
  always_fails({.threads = 32, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 native::syncwarp_before_signal();
                 if (lane_index() == 31) (void)load_global(p.words);
                 if (!p.buggy) syncwarp();
                 if (lane_index() == 3) store_global(p.words, 1u);
                 syncwarp();
               },
               {"RACE-GLOBAL"});
}

TEST(Points, ATriggerThatMayComeBeforeTheWait) {
  // Grid 1 lets grid 2 start; unless its own wait comes before that in every schedule, grid 0 may still run.
  struct Grid {
    uint32_t* words;
    uint32_t index;
    bool buggy;
  };
  const auto kernel = [](const Grid& p) {
    if (p.index == 0) {
      grid_launch_dependents();
      if (thread_index() == 0) store_global(p.words, 1u);
    } else if (p.index == 1) {
      if (lane_index() == 0) grid_dependency_wait();
      if (!p.buggy) syncwarp();
      if (lane_index() == 1) grid_launch_dependents();
    } else if (lane_index() == 1) {
      (void)load_global(p.words);
    }
  };
  using Kernel = std::remove_const_t<decltype(kernel)>;
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    for (const bool buggy : {false, true}) {
      Memory memory;
      const Launch launch{.tensors = memory.tensors()};
      std::array<Grid, 3> params;
      std::vector<GridLaunch> grids;
      for (uint32_t i = 0; i < 3; ++i) {
        params[i] = {memory.words.data(), i, buggy};
        grids.push_back({config_of(launch), &entry<Kernel, Grid>, &params[i], launch.tensors});
      }
      grids[1].tensors = {};
      Options options = with(schedule);
      options.check = true;
      const std::vector<Outcome> outcomes = launch_dependent(grids, options);
      EXPECT_EQ(outcomes.back().ok() ? "" : outcomes.back().report.findings[0].code, buggy ? "PDL-EARLY" : "");
    }
  }
}

}  // namespace
}  // namespace warploom::loom
