// Votes, matches, reductions, segmented shuffles, activemask and reductions at named barriers (loom/collective.hpp).
// What each lane must be given is worked out here from all lanes' values, which are a function of the lane.
#include <bit>
#include <cmath>
#include <limits>

#include "loom/check/points.hpp"
#include "warploom/arch/vote.hpp"
#include "warploom/loom/collective.hpp"

namespace warploom::loom {
namespace {

using namespace points;
namespace front = ::warploom::loom::native;

constexpr uint32_t masks[] = {0xffffffffu, 0x0000ffffu, 0xffff0000u, 0x80000001u, 0x0ff0f00fu, 1u << 19};

bool takes_part(uint32_t mask) { return (mask >> lane_index() & 1) != 0; }

/// Of all lanes of the mask, one after the other.
template <class Visit>
void for_lanes(uint32_t mask, Visit&& visit) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1) != 0) visit(lane);
}

TEST(Votes, OfEveryMask) {
  always_clean(
      {},
      [](bool) {
        for (const uint32_t mask : masks)
          for (uint32_t modulus = 1; modulus < 5; ++modulus) {
            if (!takes_part(mask)) continue;
            const auto yes = [&](uint32_t lane) { return lane % 5 < modulus; };
            uint32_t all = 0;
            for_lanes(mask, [&](uint32_t lane) { all |= yes(lane) ? 1u << lane : 0; });
            EXPECT_EQ(vote_ballot(yes(lane_index()), mask), all);
            EXPECT_EQ(vote_all(yes(lane_index()), mask), all == mask);
            EXPECT_EQ(vote_any(yes(lane_index()), mask), all != 0);
            EXPECT_EQ(vote_uniform(yes(lane_index()), mask), all == mask || all == 0);
          }
        syncwarp();
      },
      true);
}

TEST(Votes, MatchesOf32And64Bits) {
  always_clean(
      {},
      [](bool) {
        for (const uint32_t mask : masks) {
          if (!takes_part(mask)) continue;
          // The high words tell lanes apart that the low words do not.
          const auto wide = [](uint32_t lane) { return uint64_t{lane % 2} << 32 | lane % 3; };
          uint32_t like_me = 0, low_like_me = 0;
          for_lanes(mask, [&](uint32_t lane) {
            if (wide(lane) == wide(lane_index())) like_me |= 1u << lane;
            if (lane % 3 == lane_index() % 3) low_like_me |= 1u << lane;
          });
          EXPECT_EQ(match_any(wide(lane_index()), mask), like_me);
          EXPECT_EQ(match_any(lane_index() % 3, mask), low_like_me);
          EXPECT_EQ(match_all(wide(lane_index()), mask), std::has_single_bit(mask));
          EXPECT_EQ(match_all(uint64_t{7} << 32 | lane_index() / 32, mask), true);
          EXPECT_EQ(match_all(lane_index(), mask), std::has_single_bit(mask));
          EXPECT_TRUE(match_all(7u, mask));
        }
        syncwarp();
      },
      true);
}

TEST(Votes, ReductionsOfIntegers) {
  always_clean(
      {},
      [](bool) {
        for (const uint32_t mask : masks) {
          if (!takes_part(mask)) continue;
          const auto value = [](uint32_t lane) { return (lane * 0x9e3779b9u) ^ 0x80000000u >> lane % 7; };
          uint32_t sum = 0, least = ~0u, most = 0, bit_and = ~0u, bit_or = 0, bit_xor = 0;
          int32_t signed_least = std::numeric_limits<int32_t>::max(), signed_most = -signed_least - 1;
          for_lanes(mask, [&](uint32_t lane) {
            const uint32_t v = value(lane);
            sum += v, bit_and &= v, bit_or |= v, bit_xor ^= v;
            least = std::min(least, v), most = std::max(most, v);
            signed_least = std::min(signed_least, static_cast<int32_t>(v));
            signed_most = std::max(signed_most, static_cast<int32_t>(v));
          });
          const uint32_t mine = value(lane_index());
          EXPECT_EQ(reduce_add(mine, mask), sum);
          EXPECT_EQ(reduce_min(mine, mask), least);
          EXPECT_EQ(reduce_max(mine, mask), most);
          EXPECT_EQ(reduce_min(static_cast<int32_t>(mine), mask), signed_least);
          EXPECT_EQ(reduce_max(static_cast<int32_t>(mine), mask), signed_most);
          EXPECT_EQ(reduce_and(mine, mask), bit_and);
          EXPECT_EQ(reduce_or(mine, mask), bit_or);
          EXPECT_EQ(reduce_xor(mine, mask), bit_xor);
        }
        syncwarp();
      },
      true);
}

TEST(Votes, ReductionsOfFloats) {
  always_clean(
      {},
      [](bool) {
        const uint32_t lane = lane_index();
        constexpr uint32_t nan = 0x7fffffffu;
        const float number = static_cast<float>(lane) - 20.0f;  // -20 to 11
        EXPECT_EQ(reduce_min(number), -20.0f);
        EXPECT_EQ(reduce_max(number), 11.0f);
        EXPECT_EQ((reduce_max<true>(number)), 20.0f);
        EXPECT_EQ((reduce_min<true>(number)), 0.0f);
        const float zero = lane == 9 ? -0.0f : 0.0f;
        EXPECT_TRUE(std::signbit(reduce_min(zero)));
        EXPECT_FALSE(std::signbit(reduce_max(zero)));
        const float some = lane == 3 ? as_float(0xffc12345u) : number;
        EXPECT_EQ(reduce_min(some), -20.0f);
        EXPECT_EQ(as_bits(reduce_min<false, true>(some)), nan);
        EXPECT_EQ(as_bits(reduce_max<true, true>(some)), nan);
        EXPECT_EQ(as_bits(reduce_max(as_float(0xffc12345u))), nan);
        if (lane == 31) {
          EXPECT_EQ(as_bits(reduce_max(as_float(0xffc12345u), 1u << 31)), nan);
          EXPECT_EQ((reduce_min<true>(-3.0f, 1u << 31)), 3.0f);
        }
        syncwarp();
      },
      true);
}

/// As the manual has it, word for word in integers that may be negative.
uint32_t shuffled(front::Shuffle mode, uint32_t lane, uint32_t b, uint32_t c, bool& valid) {
  const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31), me = static_cast<int>(lane);
  const int by = static_cast<int>(b & 31);
  const int least = me & segment, most = (me & segment) | (clamp & ~segment);
  int from = me;
  switch (mode) {
    case front::Shuffle::up:
      from = me - by;
      valid = from >= most;
      break;
    case front::Shuffle::down:
      from = me + by;
      valid = from <= most;
      break;
    case front::Shuffle::exclusive_or:
      from = me ^ by;
      valid = from <= most;
      break;
    case front::Shuffle::index:
      from = least | (by & ~segment & 31);
      valid = from <= most;
      break;
  }
  return valid ? static_cast<uint32_t>(from) : lane;
}

TEST(Votes, ShufflesWithinSegmentsAndClamps) {
  const auto kernel = [](bool) {
    const uint32_t lane = lane_index();
    for (const auto mode :
         {front::Shuffle::index, front::Shuffle::exclusive_or, front::Shuffle::up, front::Shuffle::down})
      for (const uint32_t segment : {0u, 0x10u, 0x18u, 0x1cu, 0x1eu, 0x1fu})
        for (const uint32_t clamp : {0u, 5u, 31u})
          for (const uint32_t by : {0u, 1u, 3u, 8u, 17u, 31u, 35u}) {
            bool want = false, valid = false;
            const uint32_t b = by + lane % 2, c = segment << 8 | clamp;
            const uint32_t from = shuffled(mode, lane, b, c, want);
            EXPECT_EQ(front::shuffle_segment(mode, full_mask, 100 + lane, b, c, &valid), 100 + from);
            EXPECT_EQ(valid, want);
          }
    EXPECT_EQ(shuffle_within<8>(lane, 3).value, lane / 8 * 8 + 3);
    EXPECT_EQ(shuffle_up_within<8>(lane, 3).valid, lane % 8 >= 3);
    EXPECT_EQ(shuffle_down_within<8>(lane, 3).value, lane % 8 < 5 ? lane + 3 : lane);
    EXPECT_EQ(shuffle_xor_within<8>(lane, 4).value, lane ^ 4);
    syncwarp();
  };
  expect_clean(run(Launch{}, kernel, true));
  expect_clean(run(Launch{}, kernel, true, with({Policy::random, 3})));
}

// ---------------------------------------------------------------------------------------------------- rules

TEST(Votes, OfAMaskThatLeavesTheLaneOut) {
  rule({},
       [](bool buggy) {
         const uint32_t mask = buggy ? 0xfffffffeu : full_mask;
         if (lane_index() == 0)
           OFFENDING((void)vote_any(true, mask));
         else
           (void)vote_any(true, mask);
       },
       {"DIVERGENCE", {"lane 0 executes vote.sync.any with mask 0xfffffffe"}});
}

TEST(Votes, OfMasksThatDisagree) {
  // Each half waits for lanes that wait for others.
  const auto kernel = [](bool buggy) {
    (void)reduce_add(1, buggy && lane_index() < 16 ? 0x0001ffffu : full_mask);
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    const Outcome outcome = run(Launch{}, kernel, true, with(schedule));
    expect_finding(outcome, Launch{}, {"DIVERGENCE", {"redux.sync.add"}, false});
  }
  always_clean({}, kernel, false);
}

TEST(Votes, BesideAnotherVote) {
  const auto kernel = [](bool buggy) {
    if (buggy && lane_index() >= 16)
      (void)vote_all(true);
    else
      (void)vote_any(true);
  };
  for (const Schedule& schedule : schedules()) {
    const Outcome outcome = run(Launch{}, kernel, true, with(schedule));
    expect_finding(outcome, Launch{}, {"DIVERGENCE", {"vote.sync.any", "vote.sync.all"}, false});
  }
  always_clean({}, kernel, false);
}

TEST(Votes, OrderWhatTheirLanesDid) {
  EXPECT_EQ(verdict_of(
                {.shared_bytes = storage_bytes},
                [](const Params&) {
                  auto& s = shared<Storage>();
                  store_shared(&s.line[lane_index()], vote_ballot(true));
                  (void)reduce_or(0);
                  (void)load_shared(&s.line[31 - lane_index()]);
                },
                false)
                .kind,
            Verdict::Kind::holds);
}

// ---------------------------------------------------------------------------------------------------- activemask

TEST(ActiveMask, NamesThoseThatComeTogether) {
  const auto kernel = [](bool) {
    if (lane_index() >= 28) return;
    uint32_t mask = 0;
    if (lane_index() % 2 == 0)
      mask = front::active_mask();
    else
      syncwarp(0x0aaaaaaau);
    if (lane_index() % 2 == 0) {
      EXPECT_TRUE(takes_part(mask));
      EXPECT_EQ(mask & ~0x05555555u, 0u);
      EXPECT_TRUE(match_all(mask, mask));  // all of them know the same
    }
  };
  always_clean({}, kernel, true);
  const auto together = [](bool) { EXPECT_EQ(front::active_mask(), full_mask); };
  for (const Policy policy : {Policy::eager, Policy::lazy, Policy::adversarial})
    expect_clean(run(Launch{}, together, true, with({policy})));
}

TEST(ActiveMask, IsAlwaysAPoint) {
  never_holds(
      {.shared_bytes = storage_bytes},
      [](const Params& p) {
        const uint32_t mask = p.buggy ? front::active_mask() : full_mask;
        (void)vote_any(true, mask);
      },
      "activemask");
}

TEST(ActiveMask, MayNotNameAllOfThem) {
  // A kernel that takes for granted that it does: some schedule shows it.
  uint32_t found = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Outcome outcome = run(
        Launch{}, [](bool) { (void)shuffle(lane_index(), 31 - lane_index(), front::active_mask()); }, true,
        with({Policy::random, seed}));
    if (!outcome.ok()) ++found;
  }
  EXPECT_GT(found, 0u);
}

// ---------------------------------------------------------------------------------------------------- named barriers

TEST(BarReductions, CountAllAndAny) {
  always_clean(
      {.threads = 128},
      [](bool) {
        for (uint32_t turn = 0; turn < 3; ++turn) {
          const bool mine = thread_index() % 3 == turn;
          EXPECT_EQ(bar_count(1, 128, mine), turn == 2 ? 42u : 43u);
          EXPECT_EQ(bar_all(2, 128, mine || turn == 1), turn == 1);
          EXPECT_EQ(bar_any(3, 128, turn == 2 && thread_index() == 77), turn == 2);
          const uint32_t pair = warp_index() / 2;
          EXPECT_EQ(bar_count(4 + pair, 64, lane_index() == 0), 2u);
        }
      },
      true);
}

TEST(BarReductions, OfThreadsThatHaveNotExited) {
  always_clean(
      {.threads = 96},
      [](bool) {
        if (warp_index() == 1) return;
        EXPECT_EQ(front::bar_reduce(front::BarReduction::popc, 5, 0, true), 64u);
        EXPECT_EQ(front::bar_reduce(front::BarReduction::bit_and, 0, 0, true), 1u);
        front::bar_sync_all(7);
      },
      true);
}

TEST(BarReductions, OrderWhatTheirThreadsDid) {
  always_fails({.threads = 64, .shared_bytes = storage_bytes},
               [](const Params& p) {
                 auto& s = shared<Storage>();
                 if (thread_index() == 0) store_shared(&s.slot[0], 1u);
                 (void)bar_any(p.buggy ? 1 + warp_index() : 1, p.buggy ? 32 : 64, true);
                 if (thread_index() == 32) (void)load_shared(&s.slot[0]);
               },
               {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(BarReductions, BesideAPlainBarrier) {
  // Which comes second is the schedule's choice.
  const Launch launch{.threads = 64};
  const auto kernel = [](bool buggy) {
    if (buggy && warp_index() == 1)
      bar_sync(1, 64);
    else
      (void)bar_count(1, 64, true);
  };
  for (const Schedule& schedule : schedules())
    expect_finding(run(launch, kernel, true, with(schedule)), launch,
                   {"NAMED-BAR", {"named barrier 1 was entered with", "bar.red.popc"}, false});
  always_clean(launch, kernel, false);
}

TEST(BarReductions, WithDifferentArgumentsInOneWarp) {
  rule({},
       [](bool buggy) {
         OFFENDING((void)bar_all(buggy ? 1 + lane_index() % 2 : 1, 32, true));
         syncwarp();
       },
       {"DIVERGENCE", {"bar.red.and with different arguments"}});
}

}  // namespace
}  // namespace warploom::loom
