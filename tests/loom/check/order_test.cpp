#include "loom/observe/check/order.hpp"

#include <gtest/gtest.h>

#include <map>

#include "script.hpp"

namespace warploom::loom::check {
namespace {

TEST(Oracle, FindsNothingInPipelinesThatAreRight) {
  for (const PipelineShape shape : {PipelineShape{2, 2, 1, 1, 1}, {2, 3, 2, 2, 1}, {3, 4, 2, 1, 2}, {2, 2, 3, 2, 2}}) {
    const Script script = pipeline(shape);
    const Outcome all = explore(script, 3'000'000);
    EXPECT_FALSE(all.bad()) << to_string(all);
    EXPECT_FALSE(all.truncated);
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const Outcome one = run_once(script, seed);
      EXPECT_FALSE(one.bad()) << to_string(one) << ", seed " << seed;
    }
  }
}

/// The search leaves out what cannot matter; held against one that leaves out nothing.
TEST(Oracle, SaysWhatASearchWithoutReductionsSays) {
  Random random(5);
  uint32_t bad = 0, tried = 0;
  for (uint32_t i = 0; i < 400; ++i) {
    const auto pick = [&](uint32_t low, uint32_t high) { return static_cast<int>(low + random.below(high - low + 1)); };
    Script script = pipeline({2, pick(1, 3), pick(1, 2), 1, pick(1, 2)});
    const std::string kind = mutate(script, random) + " " + mutate(script, random);
    const Outcome plain = explore_plainly(script, 300'000);
    if (plain.truncated) continue;
    ++tried;
    bad += plain.bad() ? 1 : 0;
    const Outcome all = explore(script, 300'000);
    EXPECT_EQ(all.bad(), plain.bad()) << kind << ": " << to_string(plain) << " without reductions, " << to_string(all)
                                      << " with them\n"
                                      << to_text(script);
  }
  std::printf("%u mutants, %u bad\n", tried, bad);
}

/// What one run says of mutants of small pipelines, held against every schedule of them.
void compare(uint32_t mutants, uint64_t seed) {
  Random random(seed);
  std::map<std::string, std::array<uint32_t, 4>> kinds;  // all, bad, missed, extra
  uint32_t bad = 0, extra = 0, tried = 0;
  for (uint32_t i = 0; i < mutants; ++i) {
    const auto pick = [&](uint32_t low, uint32_t high) { return static_cast<int>(low + random.below(high - low + 1)); };
    Script script = pipeline({pick(2, 3), pick(2, 4), pick(1, 3), pick(1, 2), pick(1, 2)});
    std::string kind = mutate(script, random);
    if (random.below(4) == 0) kind += " " + mutate(script, random);
    const Outcome all = explore(script, 300'000);
    if (all.truncated) continue;
    ++tried;
    const Outcome one = run_once(script, 1000 * i);
    bad += all.bad() ? 1 : 0;
    extra += one.bad() && !all.bad() ? 1 : 0;
    auto& counts = kinds[kind];
    counts[0] += 1;
    counts[1] += all.bad() ? 1 : 0;
    counts[2] += all.bad() && !one.bad() ? 1 : 0;
    counts[3] += !all.bad() && one.bad() ? 1 : 0;
    EXPECT_FALSE(all.bad() && !one.bad())
        << "mutant " << i << " (" << kind << "): some schedule has a " << to_string(all) << ", one run shows nothing";
    for (uint64_t other = 1; other < 8; ++other)
      EXPECT_EQ(run_once(script, 1000 * i + other).bad(), one.bad())
          << "mutant " << i << " (" << kind << "): the verdict depends on the schedule";
  }
  EXPECT_GT(bad, tried / 3) << "mutants that break nothing test nothing";
  EXPECT_LT(extra, tried / 20);
  std::printf("%u mutants: %u bad in some schedule, %u reported beyond those\n", tried, bad, extra);
  for (const auto& [kind, counts] : kinds)
    if (counts[2] + counts[3] != 0)
      std::printf("  %-16s %u, bad %u, missed %u, extra %u\n", kind.c_str(), counts[0], counts[1], counts[2],
                  counts[3]);
}

TEST(Order, OneRunSpeaksForAllSchedules) { compare(120, 1); }
TEST(OrderFull, OneRunSpeaksForAllSchedules) { compare(20'000, 2); }

using Kind = Step::Kind;

/// Programs that once fooled rules like these: one schedule goes wrong, most do not.
void expect_found_in_every_run(const Script& script) {
  EXPECT_TRUE(explore(script, 100'000).bad());
  for (uint64_t seed = 0; seed < 200; ++seed) EXPECT_TRUE(run_once(script, seed).bad()) << "seed " << seed;
}

TEST(Order, AWaitThatNeverSawThePhaseBefore) {
  Script script;
  script.counts = {1};
  script.buffers = 1;
  script.threads = {
      {{.kind = Kind::arrive, .barrier = 0}, {.kind = Kind::access, .writes = 1}, {.kind = Kind::arrive, .barrier = 0}},
      {{.kind = Kind::wait, .barrier = 0, .phases = 2}, {.kind = Kind::access, .reads = 1}}};
  expect_found_in_every_run(script);
}

TEST(Order, TwoConsumersThatShareABarrierByTurns) {
  Script script;
  script.counts = {1, 1};
  script.buffers = 2;
  script.threads = {{{.kind = Kind::access, .writes = 1},
                     {.kind = Kind::arrive, .barrier = 0},
                     {.kind = Kind::wait, .barrier = 1, .phases = 1},
                     {.kind = Kind::access, .writes = 2},
                     {.kind = Kind::arrive, .barrier = 0}},
                    {{.kind = Kind::wait, .barrier = 0, .phases = 1},
                     {.kind = Kind::access, .reads = 1},
                     {.kind = Kind::arrive, .barrier = 1}},
                    {{.kind = Kind::wait, .barrier = 0, .phases = 2}, {.kind = Kind::access, .reads = 2}}};
  expect_found_in_every_run(script);
}

TEST(Order, BytesAnnouncedByOneThreadAndCountedByAnother) {
  Script script;
  script.counts = {1};
  script.buffers = 1;
  script.threads = {
      {{.kind = Kind::expect, .barrier = 0, .bytes = 1}, {.kind = Kind::load, .barrier = 0, .writes = 1, .bytes = 1}},
      {{.kind = Kind::arrive, .barrier = 0}},
      {{.kind = Kind::wait, .barrier = 0, .phases = 1}, {.kind = Kind::access, .reads = 1}}};
  expect_found_in_every_run(script);
}

TEST(Order, AWaitForNothingThatMayComeAfterThePhase) {
  Script script;
  script.counts = {1};
  script.threads = {{{.kind = Kind::arrive, .barrier = 0}}, {{.kind = Kind::wait, .barrier = 0, .phases = 0}}};
  expect_found_in_every_run(script);
}

TEST(Order, AWgmmaThatOneWarpIssuesBeforeItsWait) {
  Script script;
  script.counts = {1};
  script.buffers = 1;
  script.groups = {0, 0, 0, 0, 1};
  const Step wait{.kind = Kind::wait, .barrier = 0, .phases = 1}, multiply{.kind = Kind::wgmma, .reads = 1};
  const std::vector<Step> right{wait, multiply, {.kind = Kind::wgmma_commit}, {.kind = Kind::wgmma_wait}};
  const std::vector<Step> early{multiply, wait, {.kind = Kind::wgmma_commit}, {.kind = Kind::wgmma_wait}};
  const std::vector<Step> load{{.kind = Kind::arrive_expect, .barrier = 0, .bytes = 16},
                               {.kind = Kind::load, .barrier = 0, .writes = 1, .bytes = 16}};
  script.threads = {right, right, right, right, load};
  EXPECT_FALSE(explore(script, 100'000).bad());
  for (uint64_t seed = 0; seed < 50; ++seed) EXPECT_FALSE(run_once(script, seed).bad()) << "seed " << seed;
  script.threads[1] = early;
  expect_found_in_every_run(script);
}

// ---- lanes, proxies, tensor memory

constexpr uint32_t everybody = ~0u;

TEST(Order, ALaneSpeaksForItselfUntilTheWarpHasMet) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Stamp mine = order.note({0, 0}), neighbours = order.note({0, 5});
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, mine));
  EXPECT_FALSE(order.covers({1, 0}, Plane::visible, neighbours)) << "nothing brought lane 5 together with lane 0";
  EXPECT_FALSE(order.covers({1, 1}, Plane::visible, mine)) << "lane 1 of the other warp has not waited";

  order.synchronise(0, everybody);
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 2);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, neighbours));
  order.synchronise(1, everybody);
  EXPECT_TRUE(order.covers({1, 1}, Plane::visible, neighbours));
}

TEST(Order, WhoSpeaksForItsWarpDoesNotSpeakForWhatOthersDoSince) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Stamp before = order.note({0, 5});
  order.synchronise(0, everybody);
  order.arrive({0, 0}, barrier);
  const Stamp since = order.note({0, 5});
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, before));
  EXPECT_FALSE(order.covers({1, 0}, Plane::happened, since));
}

/// What all lanes do at once comes out as if they had done it one after the other, whichever of them were apart.
TEST(Order, AWarpPassesAWaitAsItsLanesDo) {
  for (const uint32_t apart : {0u, 1u, 0x80000001u, everybody}) {
    Order together(3), single(3);
    for (Order* order : {&together, &single}) {
      const Order::BarrierId first = order->make_barrier(), second = order->make_barrier();
      order->synchronise(1, everybody);
      for (uint8_t lane = 0; lane < 32; ++lane)
        if ((apart >> lane & 1) != 0) order->arrive({1, lane}, second);
      ASSERT_EQ(order->note({0, 0}), (Stamp{0, 1, 0}));
      order->arrive({0, 0}, first);
      order->phase_completed(first);
      if (order == &together)
        order->passed_all(1, first, 1);
      else
        for (uint8_t lane = 0; lane < 32; ++lane) order->passed({1, lane}, first, 1);
    }
    // Each lane's wait must be over before the next phase is: an arrival of lane 4 alone does not say so.
    for (Order* order : {&together, &single}) {
      std::vector<uint8_t> late;
      order->violated = [&](const Order::Violation& violation) {
        if (violation.rule == PhaseRule::wait_late) late.push_back(violation.by.lane);
      };
      for (uint8_t lane = 0; lane < 32; ++lane) {
        EXPECT_TRUE(order->covers({1, lane}, Plane::visible, {0, 1, 0})) << int{lane};
        EXPECT_EQ(order->now({1, lane}).tick, single.now({1, lane}).tick) << int{lane};
      }
      order->arrive({1, 4}, 0);
      order->phase_completed(0);
      EXPECT_FALSE(late.empty());
    }
  }
}

TEST(Order, AnArrivalOfALaneSaysNothingOfThoseOfOthers) {
  for (const bool busy : {false, true}) {  // whether lanes have done anything else since they met
    Order order(3);
    const Order::BarrierId left = order.make_barrier(), right = order.make_barrier();
    order.synchronise(0, everybody);
    const auto arrive = [&](uint8_t lane, Order::BarrierId barrier) {
      if (busy) order.note({0, lane});
      return order.arrive({0, lane}, barrier);
    };
    const Stamp first = arrive(0, left), second = arrive(1, right);
    EXPECT_TRUE(order.covers({0, 0}, Plane::happened, first));
    EXPECT_FALSE(order.covers({0, 1}, Plane::happened, first));
    EXPECT_TRUE(order.covers({0, 1}, Plane::happened, second));
    order.phase_completed(left);
    order.phase_completed(right);
    order.passed({1, 0}, right, 1);
    EXPECT_TRUE(order.covers({1, 0}, Plane::happened, second));
    EXPECT_FALSE(order.covers({1, 0}, Plane::happened, first));
    EXPECT_FALSE(order.knows_of_last_phase({1, 0}, left));
    EXPECT_TRUE(order.knows_of_last_phase({0, 0}, left));
    EXPECT_FALSE(order.knows_of_last_phase({0, 1}, left));
    // Two lanes that meet know of each other's; so does everybody once all have met, and who hears of it then.
    order.synchronise(0, 0x3);
    EXPECT_TRUE(order.covers({0, 1}, Plane::happened, first));
    EXPECT_FALSE(order.covers({0, 2}, Plane::happened, first));
    order.synchronise(0, everybody);
    EXPECT_TRUE(order.covers({0, 2}, Plane::happened, first));
    EXPECT_TRUE(order.knows_of_last_phase({0, 7}, left));
    order.arrive({0, 9}, right);
    order.phase_completed(right);
    order.passed({2, 0}, right, 2);
    EXPECT_TRUE(order.covers({2, 0}, Plane::happened, first));
    EXPECT_TRUE(order.knows_of_last_phase({2, 0}, left));
  }
}

TEST(Order, ALaneThatArrivesTwiceIsBehindItself) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  bool early = false;
  order.violated = [&](const Order::Violation& violation) { early = violation.rule == PhaseRule::arrival_early; };
  order.synchronise(0, everybody);
  order.arrive({0, 3}, barrier);
  order.phase_completed(barrier);
  order.arrive({0, 3}, barrier);
  order.phase_completed(barrier);
  EXPECT_FALSE(early);
  order.arrive({0, 4}, barrier);  // nothing orders it behind lane 3
  EXPECT_TRUE(early);
}

TEST(Order, OnlyLanesOfTheMaskMeet) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Stamp inside = order.note({0, 1}), outside = order.note({0, 9});
  order.synchronise(0, 0xff);
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, inside));
  EXPECT_FALSE(order.covers({1, 0}, Plane::visible, outside));
}

TEST(Order, WhatALaneDoesAfterItArrivedIsLater) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  order.arrive({0, 0}, barrier);
  const Stamp after = order.note({0, 0});
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_FALSE(order.covers({1, 0}, Plane::happened, after));
}

/// Lane 0 of warp 0 writes shared memory, warp 1 hands it to the async proxy.
bool async_sees(bool fence_by_writer, bool fence_by_issuer) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Stamp wrote = order.note({0, 0});
  order.accessed_shared({0, 0});
  if (fence_by_writer) order.fence_proxy_async({0, 0});
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  if (fence_by_issuer) order.fence_proxy_async({1, 0});
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, wrote));
  return order.begin({1, 0}).relies.covers(Plane::async, wrote);
}

TEST(Order, TheWriterFencesForTheAsyncProxy) {
  EXPECT_FALSE(async_sees(false, false));
  EXPECT_TRUE(async_sees(true, false));
  EXPECT_FALSE(async_sees(false, true)) << "the issuer's fence does not cover another thread's writes";
}

/// cp.async of warp 0, over in warp 1's eyes: who fences, and whether about that memory.
bool async_sees_copy(bool fence, MemoryId about) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Work copy = order.begin(Agent{0, 0}, Tells::plain);
  order.writes_to(copy, 3);
  order.fence_proxy_async({1, 0});  // it knows nothing of it yet
  order.complete(copy, barrier, Order::Ends::arrival);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  if (fence) order.fence_proxy_async({1, 0}, about);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, copy.stamp));
  return order.begin({1, 0}).relies.covers(Plane::async, copy.stamp);
}

TEST(Order, WhoKnowsOfACopyByTheGenericProxyFencesForTheAsyncProxy) {
  EXPECT_FALSE(async_sees_copy(false, every_memory));
  EXPECT_TRUE(async_sees_copy(true, every_memory));
  EXPECT_TRUE(async_sees_copy(true, 3));
  EXPECT_FALSE(async_sees_copy(true, 2)) << "a fence about another CTA's memory";
}

/// A thread's store to another CTA's memory, and one to its own.
TEST(Order, AFenceOfOneCtaIsAboutItsMemoryOnly) {
  for (const bool all : {false, true}) {
    Order order(2);
    const Stamp here = order.note({0, 0});
    order.accessed_shared({0, 0});
    const Stamp there = order.accessed_elsewhere({0, 0}, 1);
    EXPECT_TRUE(order.covers({0, 0}, Plane::visible, there));
    order.fence_proxy_async({0, 0}, all ? every_memory : 0);
    const Stamp again = order.accessed_elsewhere({0, 0}, 1);
    const Work work = order.begin({0, 0});
    EXPECT_TRUE(work.relies.covers(Plane::async, here));
    EXPECT_EQ(work.relies.covers(Plane::async, there), all);
    EXPECT_FALSE(work.relies.covers(Plane::async, again)) << "after the fence";
    EXPECT_FALSE(order.covers({1, 0}, Plane::happened, there));
  }
}

/// A thread that leaves a barrier for good has passed its last wait before the next phase ends.
TEST(Order, APhaseEndsAfterThoseWhoLeft) {
  for (const bool leaves : {false, true}) {
    Order order(2);
    uint32_t violations = 0;
    order.violated = [&](const Order::Violation&) { ++violations; };
    const Order::BarrierId barrier = order.make_barrier(true);
    for (const uint32_t warp : {0u, 1u}) order.arrive({warp, 0}, barrier);
    order.phase_completed(barrier);
    for (const uint32_t warp : {0u, 1u}) order.passed({warp, 0}, barrier, 1);
    if (leaves) order.leave({1, 0}, barrier);
    order.arrive({0, 0}, barrier);
    order.phase_completed(barrier);
    EXPECT_EQ(violations, leaves ? 0u : 1u);
  }
}

TEST(Order, AnAccessAfterTheFenceIsNotCovered) {
  Order order(1);
  order.accessed_shared({0, 0});
  order.fence_proxy_async({0, 0});
  const Stamp again = order.note({0, 0});
  order.accessed_shared({0, 0});
  EXPECT_FALSE(order.begin({0, 0}).relies.covers(Plane::async, again));
}

TEST(Order, OneUnfencedLaneDoesNotHideTheOthers) {
  Order order(1);
  std::vector<Stamp> stamps;
  for (uint8_t lane = 0; lane < 32; ++lane) {
    stamps.push_back(order.note({0, lane}));
    order.accessed_shared({0, lane});
    if (lane != 7) order.fence_proxy_async({0, lane});
  }
  order.synchronise(0, everybody);
  const Work work = order.begin({0, 0});
  for (uint8_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(work.relies.covers(Plane::async, stamps[lane]), lane != 7) << "lane " << int{lane};
}

TEST(Order, BytesThatLandPublishThemselvesAndNotTheirIssuer) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Stamp wrote = order.note({0, 0});
  order.accessed_shared({0, 0});
  const Work load = order.begin({0, 0});
  order.complete(load, barrier, Order::Ends::bytes);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_TRUE(order.covers({1, 0}, Plane::visible, load.stamp));
  EXPECT_TRUE(order.covers({1, 0}, Plane::happened, wrote));
  EXPECT_FALSE(order.covers({1, 0}, Plane::visible, wrote));
}

TEST(Order, ASlotIsNotUsedAgainByWhoDoesNotKnow) {
  Order order(2);
  const Work first = order.begin({0, 0}, Tells::end);
  order.retire(first);
  const Work stranger = order.begin({1, 0}, Tells::end);
  EXPECT_NE(stranger.stamp.slot, first.stamp.slot);
  order.learn({0, 0}, first);
  const Work next = order.begin({0, 0}, Tells::end);
  EXPECT_EQ(next.stamp.slot, first.stamp.slot);
  EXPECT_GT(next.stamp.tick, first.stamp.tick);
}

/// A load lands and another thread uses it; its issuer hears that it is over, not what it wrote. The next load of the
/// issuer then tells a third thread of itself.
bool tells_of_the_load_before(bool to_the_same_place) {
  Order order(3);
  const Order::BarrierId full = order.make_barrier(), empty = order.make_barrier(), other = order.make_barrier();
  const auto lands = [&](const Work& work, Order::BarrierId barrier, bool arrival, Agent waiter) {
    order.complete(work, barrier, arrival ? Order::Ends::arrival : Order::Ends::bytes);
    order.phase_completed(barrier);
    order.passed(waiter, barrier, 1);
  };
  const Work load = order.begin({0, 0}, Tells::memory);
  lands(load, full, false, {1, 0});
  order.retire(load);
  lands(order.begin({1, 0}, Tells::end), empty, true, {0, 0});
  EXPECT_TRUE(order.covers({0, 0}, Plane::happened, load.stamp));
  EXPECT_FALSE(order.covers({0, 0}, Plane::visible, load.stamp));
  const Work next = to_the_same_place ? order.begin_over({0, 0}, load.stamp) : order.begin({0, 0}, Tells::memory);
  lands(next, other, false, {2, 0});
  EXPECT_TRUE(order.covers({2, 0}, Plane::visible, next.stamp));
  return order.covers({2, 0}, Plane::visible, load.stamp);
}

TEST(Order, ASlotTellsNothingOfWhoHadItBefore) {
  EXPECT_FALSE(tells_of_the_load_before(false));
  EXPECT_TRUE(tells_of_the_load_before(true)) << "whose bytes are overwritten: nobody asks for them again";
}

/// An epilogue warp has read tensor memory and hands it back to the issuer of the MMAs.
bool tensor_memory_is_free(bool waited, bool before, bool after) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Work load = order.begin({0, 0});
  if (waited) order.learn_tensor({0, 0}, load);
  if (before) order.tensor_fence_before({0, 0});
  order.arrive({0, 0}, barrier);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  if (after) order.tensor_fence_after({1, 0});
  return order.begin({1, 0}).relies.covers(Plane::tensor, load.stamp);
}

TEST(Order, TensorMemoryChangesHandsWithBothFences) {
  EXPECT_TRUE(tensor_memory_is_free(true, true, true));
  EXPECT_FALSE(tensor_memory_is_free(false, true, true));
  EXPECT_FALSE(tensor_memory_is_free(true, false, true));
  EXPECT_FALSE(tensor_memory_is_free(true, true, false));
}

TEST(Order, ACommitNeedsNoFenceBefore) {
  Order order(2);
  const Order::BarrierId barrier = order.make_barrier();
  const Work mma = order.begin({0, 0});
  Work commit = order.begin({0, 0});
  Order::include(commit, mma);
  order.complete(commit, barrier, Order::Ends::arrival);
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  EXPECT_FALSE(order.covers({1, 0}, Plane::tensor, mma.stamp));
  order.tensor_fence_after({1, 0});
  EXPECT_TRUE(order.covers({1, 0}, Plane::tensor, mma.stamp));
}

}  // namespace
}  // namespace warploom::loom::check
