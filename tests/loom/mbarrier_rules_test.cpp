// The mbarrier rules (hardware.md §1): each broken once, and kept once.
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[2];
  Mbarrier empty[2];
  Mbarrier other;
  uint32_t word;
};

TEST(MbarrierRules, MoreArrivalsThanThePhaseExpects) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 2);
         if (lane_index() == 0) {
           mbarrier_arrive(address(s.full[1]));
           if (buggy) OFFENDING(mbarrier_arrive(address(s.full[1]), 2));
           mbarrier_arrive(address(s.full[1]));
           mbarrier_wait(address(s.full[1]), 1);
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"2 arrival(s) on ring.full[1] of cta 0", "phase 0 expects 1 more of 2"}});
}

TEST(MbarrierRules, ArriveExpectTxCountsAsAnArrival) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           mbarrier_expect_tx(address(s.full[0]), 32);  // keeps the phase open
           mbarrier_arrive(address(s.full[0]));
           if (buggy) OFFENDING(mbarrier_arrive_expect_tx(address(s.full[0]), 16));
           mbarrier_complete_tx(address(s.full[0]), 32);
           mbarrier_wait(address(s.full[0]), 1);
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"ring.full[0]", "expects 0 more of 1"}});
}

TEST(MbarrierRules, InitCountOutOfRange) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() == 0) {
           if (buggy) OFFENDING(mbarrier_init(address(s.other), 0));
           mbarrier_init(address(s.other), mbarrier_max_count);
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"mbarrier.init with count 0", "1 to 1048575"}});
}

TEST(MbarrierRules, ArriveCountOfZero) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           if (buggy) OFFENDING(mbarrier_arrive(address(s.full[0]), 0));
           mbarrier_arrive(address(s.full[0]));
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"an arrive count of 0 on ring.full[0]"}});
}

TEST(MbarrierRules, ArriveDropLeavesLaterPhases) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 2);
         if (lane_index() == 0) {
           const SharedAddress barrier = address(s.full[0]);
           mbarrier_arrive_drop(barrier);
           mbarrier_arrive(barrier);
           mbarrier_wait(barrier, 1);
           if (buggy) OFFENDING(mbarrier_arrive(barrier, 2));
           mbarrier_arrive(barrier);  // one is enough from here on
           mbarrier_wait(barrier, 2);
         }
         syncwarp();
       },
       {"ARRIVE-OVERFLOW", {"2 arrival(s) on ring.full[0]", "expects 1 more of 1"}});
}

TEST(MbarrierRules, BytesBelowTheRange) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           mbarrier_complete_tx(address(s.full[1]), mbarrier_max_count);  // before its announcement: legal
           if (buggy) OFFENDING(mbarrier_complete_tx(address(s.full[1]), 1));
           mbarrier_arrive_expect_tx(address(s.full[1]), mbarrier_max_count);
           mbarrier_wait(address(s.full[1]), 1);
         }
         syncwarp();
       },
       {"TX-RANGE", {"ring.full[1]", "+-1048575", "stood at -1048575"}});
}

TEST(MbarrierRules, BytesAboveTheRange) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           mbarrier_expect_tx(address(s.full[1]), mbarrier_max_count);
           if (buggy) OFFENDING(mbarrier_expect_tx(address(s.full[1]), 1));
           mbarrier_complete_tx(address(s.full[1]), mbarrier_max_count);
           mbarrier_arrive(address(s.full[1]));
         }
         syncwarp();
       },
       {"TX-RANGE", {"ring.full[1]", "stood at 1048575"}});
}

TEST(MbarrierRules, UseBeforeInit) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (lane_index() == 0) {
           if (buggy) OFFENDING(mbarrier_arrive(address(s.other)));
           mbarrier_init(address(s.other), 1);
           mbarrier_arrive(address(s.other));
         }
         syncwarp();
       },
       {"BAR-UNINIT", {"the mbarrier at 0x00000420 was not initialised"}});
}

TEST(MbarrierRules, UseAfterInvalidate) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           mbarrier_invalidate(address(s.full[0]));
           if (buggy) OFFENDING(mbarrier_wait(address(s.full[0]), 0));
           mbarrier_init(address(s.full[0]), 1);
           mbarrier_wait(address(s.full[0]), 0);
         }
         syncwarp();
       },
       {"BAR-UNINIT", {"not initialised"}});
}

TEST(MbarrierRules, BytesOverwritten) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           if (buggy) store_shared(&s.full[0].opaque, uint64_t{0});
           OFFENDING(mbarrier_arrive(address(s.full[0])));
         }
         syncwarp();
       },
       {"BAR-UNINIT", {"the bytes of ring.full[0] were overwritten"}});
}

TEST(MbarrierRules, InitTwice) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           if (!buggy) mbarrier_invalidate(address(s.full[1]));
           OFFENDING(mbarrier_init(address(s.full[1]), 1));
         }
         syncwarp();
       },
       {"BAR-REINIT", {"ring.full[1] is initialised again while it is live"}});
}

TEST(MbarrierRules, MisalignedBarrier) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) OFFENDING(mbarrier_arrive(address(s.full[0]) + (buggy ? 4 : 0)));
         syncwarp();
       },
       {"BAR-ADDRESS", {"0x00000404 is not the address of an mbarrier"}});
}

TEST(MbarrierRules, BarrierOutsideTheCluster) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) OFFENDING(mbarrier_arrive(address(s.full[0]) + (buggy ? 1u << 24 : 0)));
         syncwarp();
       },
       {"BAR-ADDRESS", {"0x01000400"}});
}

TEST(MbarrierRules, InitOfAnothersBarrier) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() == 0 && cluster_rank() == 0) {
           const SharedAddress barrier = address(s.full[0]);
           OFFENDING(mbarrier_init(buggy ? map_to_rank(barrier, 1) : barrier, 1));
         }
         cluster_sync();
       },
       {"BAR-ADDRESS", {"mbarrier.init needs", "of this CTA", "0x01000400"}});
}

TEST(MbarrierRules, InvalidateOfAnothersBarrier) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         cluster_sync();
         if (thread_index() == 0 && cluster_rank() == 0) {
           const SharedAddress barrier = address(s.full[0]);
           OFFENDING(mbarrier_invalidate(buggy ? map_to_rank(barrier, 1) : barrier));
         }
         cluster_sync();
       },
       {"BAR-REMOTE-WAIT", {"only arrivals may name another CTA's mbarrier", "CTA 1"}});
}

TEST(MbarrierRules, InitOutsideSharedMemory) {
  rule({.shared_bytes = sizeof(Storage)},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() == 0) OFFENDING(mbarrier_init(address(s.full[0]) + (buggy ? sizeof(Storage) : 0), 1));
         syncwarp();
       },
       {"BAR-ADDRESS", {"mbarrier.init"}});
}

TEST(MbarrierRules, WaitOnAnothersBarrier) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         const SharedAddress peer = map_to_rank(address(s.full[0]), cluster_rank() ^ 1);
         if (lane_index() == 0) {
           mbarrier_arrive(peer);  // arrivals may be remote
           if (buggy && cluster_rank() == 0) OFFENDING(mbarrier_wait(peer, 1));
           mbarrier_wait(address(s.full[0]), 1);
         }
         cluster_sync();
       },
       {"BAR-REMOTE-WAIT", {"only arrivals may name another CTA's mbarrier", "CTA 1"}});
}

TEST(MbarrierRules, TestOfAnothersBarrier) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         const SharedAddress barrier = address(s.full[0]);
         if (lane_index() == 0 && cluster_rank() == 1)
           OFFENDING((void)mbarrier_test(buggy ? map_to_rank(barrier, 0) : barrier, 0));
         cluster_sync();
       },
       {"BAR-REMOTE-WAIT", {"CTA 0"}});
}

TEST(MbarrierRules, WaiterFallsTwoPhasesBehind) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           const SharedAddress barrier = address(s.full[0]);
           for (uint32_t phase = 1; phase <= 3; ++phase) {
             mbarrier_arrive(barrier);
             if (!buggy) mbarrier_wait(barrier, phase);
           }
           if (buggy) OFFENDING(mbarrier_wait(barrier, 1));  // the parity of phase 3
         }
         syncwarp();
       },
       {"PHASE", {"a wait for phase 0 of ring.full[0]", "3 phases are complete", "the waiter fell behind"}});
}

TEST(MbarrierRules, WaitForAPhaseThatHasNotBegun) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) OFFENDING(mbarrier_wait(address(s.full[0]), buggy ? 2 : 0));
         syncwarp();
       },
       {"PHASE", {"phase 1 of ring.full[0]", "0 phases are complete", "has not begun"}});
}

TEST(MbarrierRules, TestOfAPhaseLongPast) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           mbarrier_arrive(address(s.full[0]));
           mbarrier_arrive(address(s.full[0]));
           OFFENDING((void)mbarrier_test(address(s.full[0]), buggy ? 0 : 2));
         }
         syncwarp();
       },
       {"PHASE", {"a test for 0 phases of ring.full[0]", "2 phases are complete"}});
}

TEST(MbarrierRules, OneWarpOnBothSidesOfARing) {
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1, RingSide::full);
         init_barriers(s.empty, 1, RingSide::empty);
         if (lane_index() == 0) {
           if (warp_index() == 0) {
             mbarrier_wait(address(s.empty[0]), 0);
             mbarrier_arrive(address(s.full[0]));
             if (buggy) OFFENDING(mbarrier_wait(address(s.full[0]), 1));
           } else {
             mbarrier_wait(address(s.full[0]), 1);
             mbarrier_arrive(address(s.empty[0]));
           }
         }
         syncwarp();
       },
       {"RING-SIDE", {"warp 0 waits on ring.full[0]", "ring's producer"}});
}

TEST(MbarrierRules, SignalToACtaThatHasExited) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (buggy && cluster_rank() == 1) return;
         if (cluster_rank() == 0 && lane_index() == 0) {
           const SharedAddress own = address(s.full[1]);
           // Long enough for the other CTA to be gone under every schedule.
           for (uint32_t turn = 0; buggy && turn < 2000; ++turn) (void)mbarrier_test(own, 1);
           OFFENDING(mbarrier_arrive(map_to_rank(address(s.full[0]), 1)));
         }
         if (!buggy) cluster_sync();
       },
       {"EXIT-REMOTE", {"CTA 1, which has exited"}});
}

TEST(MbarrierRules, KernelEndsInTheMiddleOfAPhase) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 2);
         if (lane_index() == 0) {
           OFFENDING(mbarrier_arrive(address(s.full[1])));
           if (!buggy) mbarrier_arrive(address(s.full[1]));
         }
         syncwarp();
       },
       {"EXIT-BARRIER", {"ring.full[1] of cta 0", "phase 0", "1 of 2 arrivals"}});
}

TEST(MbarrierRules, KernelEndsWithBytesOutstanding) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() == 0) {
           OFFENDING(mbarrier_arrive_expect_tx(address(s.full[0]), 48));
           if (!buggy) mbarrier_complete_tx(address(s.full[0]), 48);
         }
         syncwarp();
       },
       {"EXIT-BARRIER", {"ring.full[0]", "48 bytes outstanding"}});
}

TEST(MbarrierRules, NotesSayWhoSignals) {
  static const Launch launch{};
  const Outcome outcome = run(
      launch,
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) mbarrier_arrive(address(s.full[0]), 2);
        syncwarp();
      },
      true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  ASSERT_EQ(outcome.report.findings[0].notes.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].notes[0], "ring.full[0] is signalled by one lane of the producer");
}

TEST(MbarrierRules, NoNoteWithoutAName) {
  const Outcome outcome = run(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        if (lane_index() == 0) {
          mbarrier_init(address(s.other), 1);
          mbarrier_arrive(address(s.other), 2);
        }
        syncwarp();
      },
      true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_TRUE(contains(outcome.report.findings[0].message, "mbarrier at 0x420"));
  EXPECT_TRUE(outcome.report.findings[0].notes.empty());
}

// ---- what the rules allow

TEST(Mbarrier, ParityConventionOfARing) {  // hardware.md §1.4: the producer's first turn does not block
  always_clean(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1, RingSide::full);
        init_barriers(s.empty, 1, RingSide::empty);
        if (lane_index() == 0) {
          for (uint32_t k = 0; k < 7; ++k) {
            const uint32_t stage = k % 2, turn = k / 2;
            if (warp_index() == 0) {
              mbarrier_wait(address(s.empty[stage]), turn);
              mbarrier_arrive(address(s.full[stage]));
            } else {
              mbarrier_wait(address(s.full[stage]), turn + 1);
              mbarrier_arrive(address(s.empty[stage]));
            }
          }
        }
        syncwarp();
      },
      true);
}

TEST(Mbarrier, BytesMayLandBeforeTheyAreAnnounced) {
  always_clean(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          mbarrier_complete_tx(address(s.full[0]), 32);
          EXPECT_FALSE(mbarrier_test(address(s.full[0]), 1));
          mbarrier_arrive_expect_tx(address(s.full[0]), 32);
          EXPECT_TRUE(mbarrier_test(address(s.full[0]), 1));
        }
        syncwarp();
      },
      true);
}

TEST(Mbarrier, APollLetsOthersRun) {
  always_clean(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          if (warp_index() == 0)
            while (!mbarrier_test(address(s.full[0]), 1)) {
            }
          else
            mbarrier_arrive(address(s.full[0]));
        }
        syncwarp();
      },
      true);
}

TEST(Mbarrier, RemotePollAcrossTheClusterWithSkew) {
  always_clean(
      {.grid = {2}, .cluster = {2}},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          if (cluster_rank() == 0)
            while (!mbarrier_test(address(s.full[0]), 1)) {
            }
          else
            mbarrier_arrive<Scope::cluster>(map_to_rank(address(s.full[0]), 0));
        }
        cluster_sync();
      },
      true);
}

}  // namespace
}  // namespace warploom::loom
