// st.async: what one CTA sends from its registers arrives in another's shared memory before the barrier says so, under
// every schedule; and each rule around it is noticed.
#include "loom/probe_kernel.hpp"

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

}  // namespace
}  // namespace warploom::loom
