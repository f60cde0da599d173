// st.async: what one CTA sends from its registers arrives in another's shared memory before the barrier says so, under
// every schedule; and each rule around it is noticed.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/cluster_memory.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  alignas(16) uint32_t received[32][4];
  Mbarrier full[1];
};
constexpr uint32_t all_bytes = sizeof(Storage::received);
const Launch pair{.grid = {2}, .cluster = {2}};

WARPLOOM_FN void start(Storage& s) {
  if (thread_index() == 0) {
    mbarrier_init(address(s.full[0]), 1);
    fence_mbarrier_init();
  }
  cluster_sync();
}

TEST(StoreAsync, ArrivesBeforeTheBarrierSaysSo) {
  struct Params {
    uint32_t* sums;
  };
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    start(s);
    const uint32_t lane = lane_index();
    if (cluster_rank() == 1) {
      const uint32_t words[4] = {lane, 100 + lane, 200 + lane, 300 + lane};
      store_async(map_to_rank(shared_address(s.received[lane]), 0), words, map_to_rank(address(s.full[0]), 0));
    } else {
      if (lane == 0) mbarrier_arrive_expect_tx(address(s.full[0]), all_bytes);
      mbarrier_wait(address(s.full[0]), 1);
      uint32_t sum = 0;
      for (const uint32_t& word : s.received[31 - lane]) sum += load_shared(&word);  // what another lane sent
      store_global(p.sums + lane, sum);
    }
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(pair)) {
    SCOPED_TRACE(schedule.text());
    std::array<uint32_t, 32> sums{};
    Launch launch = pair;
    launch.tensors = {{sums.data(), sizeof(sums), Access::write, "sums"}};
    expect_clean(run(launch, kernel, Params{sums.data()}, with(schedule)));
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(sums[lane], 600 + 4 * (31 - lane)) << lane;
  }
}

/// CTA 1 sends so far beyond the place meant for it, naming a barrier of this CTA; CTA 0 waits, and both stay, unless
/// something is wrong with that.
WARPLOOM_FN void send(bool buggy, uint32_t beyond, uint32_t barrier_rank, bool stay = true) {
  auto& s = shared<Storage>();
  start(s);
  const uint32_t lane = lane_index(), words[4] = {};
  if (cluster_rank() == 1) {
    const SharedAddress to = map_to_rank(shared_address(s.received[lane]), 0) + beyond;
    OFFENDING(store_async(to, words, map_to_rank(address(s.full[0]), barrier_rank)));
  } else if (!buggy) {
    if (lane == 0) mbarrier_arrive_expect_tx(address(s.full[0]), all_bytes);
    mbarrier_wait(address(s.full[0]), 1);
  }
  if (stay) cluster_sync();
}

TEST(StoreAsync, BarrierMustBeOfTheSameCta) {
  rule(pair, [](bool buggy) { send(buggy, 0, buggy ? 1 : 0); }, {"STORE-RULE", {"CTA 0", "both must be of one CTA"}});
}
TEST(StoreAsync, DestinationMustBeAligned) {
  rule(pair, [](bool buggy) { send(buggy, buggy ? 4 : 0, 0); }, {"STORE-RULE", {"multiple of 16"}});
}
TEST(StoreAsync, DestinationMustBeInTheCluster) {
  rule(pair, [](bool buggy) { send(buggy, buggy ? 1u << 20 : 0, 0); }, {"STORE-RULE", {"a CTA of the cluster"}});
}

TEST(StoreAsync, LandsInACtaThatHasExited) {
  const auto kernel = [](bool buggy) { send(buggy, 0, 0, !buggy); };
  Launch here = pair;
  here.file = __FILE__;
  expect_finding(run(pair, kernel, true, with({Policy::lazy})), here,
                 {"EXIT-REMOTE", {"st.async lands in CTA 0, which has exited"}});
  always_clean(pair, kernel, false);
}

// ---- red.async, and the smaller forms of st.async

TEST(StoreAsync, SmallerForms) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    start(s);
    const SharedAddress there = map_to_rank(shared_address(s.received), 0), full = map_to_rank(address(s.full[0]), 0);
    if (lane_index() == 0 && cluster_rank() == 1) {
      store_async(there, 1.5f, full);
      store_async(there + 8, uint64_t{0x2'0000'0003}, full);
    }
    if (cluster_rank() == 0) {
      if (lane_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), 12);
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
      EXPECT_EQ(load_shared(&s.received[0][0]), __builtin_bit_cast(uint32_t, 1.5f));
      EXPECT_EQ(load_shared(&s.received[0][2]), 3u);
      EXPECT_EQ(load_shared(&s.received[0][3]), 2u);
    }
    cluster_sync();
  };
  always_clean(pair, kernel, true);
}

TEST(ReduceAsync, AddsUpBeforeTheBarrierSaysSo) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    const uint32_t lane = lane_index();
    if (lane == 0 && cluster_rank() == 0) {
      for (uint32_t i = 0; i < 4; ++i) store_shared(&s.received[0][i], i == 2 ? 5u : 0u);
      store_shared(reinterpret_cast<uint64_t*>(s.received[1]), uint64_t{0xffff'ffff});
    }
    start(s);
    const SharedAddress there = map_to_rank(shared_address(s.received), 0), full = map_to_rank(address(s.full[0]), 0);
    if (cluster_rank() == 1) {
      reduce_async<Atomic::add>(there, lane, full);
      reduce_async<Atomic::bit_or>(there + 4, 1u << lane, full);
      reduce_async<Atomic::min>(there + 8, static_cast<int32_t>(lane) - 9, full);
      reduce_async<Atomic::inc>(there + 12, 9u, full);
      reduce_async<Atomic::add>(there + 16, uint64_t{1}, full);
    } else {
      if (lane == 0) mbarrier_arrive_expect_tx(address(s.full[0]), 32 * (4 * 4 + 8));
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
      EXPECT_EQ(load_shared(&s.received[0][0]), 496u);
      EXPECT_EQ(load_shared(&s.received[0][1]), ~0u);
      EXPECT_EQ(load_shared(&s.received[0][2]), static_cast<uint32_t>(-9));
      EXPECT_EQ(load_shared(&s.received[0][3]), 2u);  // 32 steps of a counter that goes 0..9
      EXPECT_EQ(load_shared(reinterpret_cast<uint64_t*>(s.received[1])), 0x1'0000'001fu);
    }
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(pair))
    for (const bool check : {false, true}) {
      SCOPED_TRACE(schedule.text());
      Options options = with(schedule);
      options.check = check;
      expect_clean(run(pair, kernel, true, options));
    }
}

TEST(ReduceAsync, RulesOfAnAddress) {
  rule(pair,
       [](bool buggy) {
         auto& s = shared<Storage>();
         start(s);
         if (lane_index() == 0) store_shared(&s.received[0][1], 0u);
         if (lane_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), 4);
         cluster_sync();
         const SharedAddress there = map_to_rank(shared_address(s.received), 1 - cluster_rank());
         if (lane_index() == 0)
           OFFENDING(reduce_async<Atomic::add>(there + (buggy ? 2 : 4), 1u,
                                               map_to_rank(address(s.full[0]), 1 - cluster_rank())));
         if (!buggy) mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
         cluster_sync();
       },
       {"STORE-RULE", {"red.async writes 4 bytes", "multiple of 4"}});
}

/// What it adds to must be there before it is issued, and is seen by who waits for the barrier.
TEST(ReduceAsync, TheReaderWaits) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    if (lane_index() == 0) store_shared(&s.received[0][0], 0u);
    start(s);
    if (lane_index() == 0 && cluster_rank() == 1)
      reduce_async<Atomic::add>(map_to_rank(shared_address(s.received), 0), 1u, map_to_rank(address(s.full[0]), 0));
    if (lane_index() == 0 && cluster_rank() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), 4);
      if (!buggy) mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
      OFFENDING((void)load_shared(&s.received[0][0]));
      if (buggy) mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    }
    cluster_sync();
  };
  for (const bool buggy : {true, false})
    for (const Schedule& schedule : schedules(pair)) {
      Options options = with(schedule);
      options.check = true;
      const Outcome outcome = run(pair, kernel, buggy, options);
      if (buggy)
        expect_finding(outcome, pair, {"RACE-SMEM", {"red.async"}, false});
      else
        expect_clean(outcome);
    }
}

}  // namespace
}  // namespace warploom::loom
