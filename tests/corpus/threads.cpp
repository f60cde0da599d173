// What lanes of a warp do for each other: bugs that no view of whole warps shows (B3 to B5).
#include "corpus/corpus.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t words = 32, bytes = words * 4, turns = 4;

struct Storage {
  alignas(128) uint32_t row[words];
  Mbarrier full[1], empty[1];
};

/// B3: with one turn the arrival is left out.
constexpr auto expect_without_arrive = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  if (thread_index() == 0) {
    SITE(mbarrier_expect_tx(address(s.full[0]), bytes));
    if (!buggy) mbarrier_arrive(address(s.full[0]));
    bulk_load(address(s.row), input, bytes, address(s.full[0]));
  }
  syncwarp();
  if (warp_index() == 1) SITE(mbarrier_wait(address(s.full[0]), 1));
};

/// B4
constexpr auto one_lane_arrives_for_all = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  if (warp_index() == 0) {
    SITE(store_shared(&s.row[lane_index()], lane_index()));
    if (!buggy) syncwarp();
    if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
  } else {
    mbarrier_wait(address(s.full[0]), 1);
    SITE(keep(load_shared(&s.row[31 - lane_index()])));
  }
  syncwarp();
};

/// B5: lane 0 gives the slot back; nothing says that its neighbours have passed their wait by then.
constexpr auto all_wait_one_releases = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  make_barriers(s.empty, 1, RingSide::empty);
  syncthreads();
  if (warp_index() == 0 && lane_index() == 0)
    for (uint32_t i = 0; i < turns; ++i) {
      mbarrier_wait(address(s.empty[0]), i);
      mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
      SITE(bulk_load(address(s.row), input, bytes, address(s.full[0])));
    }
  if (warp_index() == 1)
    for (uint32_t i = 0; i < turns; ++i) {
      SITE(mbarrier_wait(address(s.full[0]), i + 1));
      if (!buggy) syncwarp();
      if (lane_index() == 0) {
        keep(load_shared(&s.row[0]));
        fence_proxy_async_shared();
        mbarrier_arrive(address(s.empty[0]));
      }
    }
  syncwarp();
};

}  // namespace

Entries thread_entries() {
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Storage)};
  return {
      entry("B3", "bytes announced without the arrival (tilelang#2566)", {"DEADLOCK"}, launch, expect_without_arrive),
      entry("B4", "one lane arrives for stores of 32 lanes, without a syncwarp (cudnn-frontend#426)",
            {"RACE-SMEM", "UNINIT-SMEM"}, launch, one_lane_arrives_for_all),
      entry("B5", "all lanes wait, one gives the slot back: others may miss the phase (cutlass#3654)", {"PHASE-AMBIG"},
            launch, all_wait_one_releases),
  };
}

}  // namespace warploom::loom::corpus
