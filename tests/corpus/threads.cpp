// What lanes of a warp do for each other, and to each other: bugs that no view of whole warps shows (B3 to B5, 45 to
// 47).
#include "corpus/corpus.hpp"
#include "warploom/arch/cluster_memory.hpp"

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

/// 45: a word of 4, 8 or 16 bytes lies at a multiple of that.
template <class Word>
constexpr auto misaligned_shared = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (warp_index() == 0) store_shared(&s.row[lane_index()], lane_index());
  syncwarp();
  if (thread_index() == 0) {
    auto* const at = reinterpret_cast<const std::byte*>(s.row) + (buggy ? sizeof(Word) / 2 : 0);
    Word read{};
    SITE(read = load_shared(reinterpret_cast<const Word*>(at)));
    asm volatile("" ::"m"(read));
  }
  syncwarp();
};
template <class Word>
constexpr auto misaligned_global = [](const bool& buggy) {
  if (thread_index() == 0) {
    auto* const at = reinterpret_cast<std::byte*>(output) + (buggy ? sizeof(Word) / 2 : 0);
    SITE(store_global(reinterpret_cast<Word*>(at), Word{}));
  }
  syncwarp();
};
struct Unit16 {
  uint32_t words[4];
};

/// 46: whoever comes last, the same is there; not so if the lanes disagree.
constexpr auto lanes_disagree = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(store_shared(&s.row[warp_index()], buggy ? lane_index() : 7u));
  syncwarp();
  keep(load_shared(&s.row[warp_index()]));
  syncwarp();
};
constexpr auto lanes_disagree_on_units = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(store_shared(reinterpret_cast<Unit16*>(s.row) + warp_index(), Unit16{{buggy ? lane_index() : 7u, 1, 2, 3}}));
  syncwarp();
  keep(load_shared(&s.row[4 * warp_index()]));
  syncwarp();
};
constexpr auto lanes_disagree_in_global_memory = [](const bool& buggy) {
  SITE(store_global(&output[warp_index()], buggy ? lane_index() : 7u));
  syncwarp();
};
/// The same value from two warps is no instruction of one.
constexpr auto warps_agree = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (lane_index() == 0) SITE(store_shared(&s.row[buggy ? 0 : warp_index()], 7u));
  syncthreads();
};
/// Lane 0 has read the word before it stores what the others store, too.
constexpr auto one_lane_reads_first = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) store_shared(&s.row[0], 3u);
  syncthreads();
  if (warp_index() == 0) {
    if (buggy && lane_index() == 0) SITE(keep(load_shared(&s.row[0])));
    SITE(store_shared(&s.row[0], 7u));
  }
  syncwarp();
};

/// 47: a lock, taken by asking over and over. Who holds it waits for a copy.
constexpr auto lock = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  make_barriers(s.empty, 1, RingSide::empty);
  if (thread_index() == 0) store_shared(&s.row[0], 0u);
  if (thread_index() == 0) store_shared(&s.row[1], 0u);
  syncthreads();
  if (lane_index() == 0) {
    const SharedAddress there = address(warp_index() == 0 ? s.full[0] : s.empty[0]);
    if (!buggy)
      while (compare_exchange_cluster(address(s.row[0]), 0, 1) != 0) {
      }
    mbarrier_arrive_expect_tx(there, 16);
    bulk_load(address(s.row[4 + 4 * warp_index()]), input, 16, there);
    mbarrier_wait(there, 1);
    SITE(store_shared(&s.row[1], load_shared(&s.row[1]) + 1));
    if (!buggy) fetch_cluster<Atomic::exchange>(address(s.row[0]), 0);
  }
  syncwarp();
};

}  // namespace

Entries thread_entries() {
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Storage)};
  return {
      entry("45", "a load of 4 bytes from an address that is no multiple of 4", {"MISALIGNED"}, launch,
            misaligned_shared<uint32_t>),
      entry("45b", "the same, 8 bytes", {"MISALIGNED"}, launch, misaligned_shared<uint64_t>),
      entry("45c", "the same, 16 bytes", {"MISALIGNED"}, launch, misaligned_shared<Unit16>),
      entry("45d", "a store to global memory, 2 bytes", {"MISALIGNED"}, launch, misaligned_global<uint16_t>),
      entry("45e", "the same, 16 bytes", {"MISALIGNED"}, launch, misaligned_global<Unit16>),
      entry("46", "lanes store different values to one word", {"RACE-SMEM"}, launch, lanes_disagree),
      entry("46b", "the same, units of 16 bytes", {"RACE-SMEM"}, launch, lanes_disagree_on_units),
      entry("46c", "the same in global memory", {"RACE-GLOBAL"}, launch, lanes_disagree_in_global_memory),
      entry("46d", "two warps store the same value to one word", {"RACE-SMEM"}, launch, warps_agree),
      entry("46e", "lanes store the same value to a word that one of them has read", {"RACE-SMEM"}, launch,
            one_lane_reads_first),
      entry("47", "a word that is changed without its lock", {"RACE-SMEM"}, launch, lock),
      entry("B3", "bytes announced without the arrival (tilelang#2566)", {"DEADLOCK"}, launch, expect_without_arrive),
      entry("B4", "one lane arrives for stores of 32 lanes, without a syncwarp (cudnn-frontend#426)",
            {"RACE-SMEM", "UNINIT-SMEM"}, launch, one_lane_arrives_for_all),
      entry("B5", "all lanes wait, one gives the slot back: others may miss the phase (cutlass#3654)", {"PHASE-AMBIG"},
            launch, all_wait_one_releases),
  };
}

}  // namespace warploom::loom::corpus
