// Global memory: what warps, CTAs and clusters hand to each other through it (G1 to G13). G1 to G4 are a split sum, the
// flag of whose partial sums is broken.
#include "corpus/corpus.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/ordered.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tensor_map_edit.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t lanes = 32, clusters = 3, counter_at = 1024, sum_at = 1056, row_bytes = lanes * 4;

struct Storage {
  alignas(128) uint32_t row[lanes];
  Mbarrier full[1];
};

/// How a cluster says that its part is there, and how the last one learns of the others'.
enum class Flag : uint8_t { acq_rel, relaxed, release_only, cluster_scope, fences };

WARPLOOM_FN uint32_t count_up(Flag flag, uint32_t* counter) {
  uint32_t before = 0;
  const bool narrow = flag == Flag::cluster_scope;
  switch (flag) {
    case Flag::acq_rel: before = fetch_add_global(counter, 1); break;
    case Flag::relaxed: before = fetch_add_global<MemoryOrder::relaxed>(counter, 1); break;
    case Flag::release_only: before = fetch_add_global<MemoryOrder::release>(counter, 1); break;
    case Flag::cluster_scope:
      SITE_IF(narrow, before = fetch_add_global<MemoryOrder::acq_rel, MemoryScope::cluster>(counter, 1));
      break;
    case Flag::fences:
      fence_gpu();
      before = fetch_add_global<MemoryOrder::relaxed>(counter, 1);
      fence_gpu();
      break;
  }
  return before;
}

/// What the last cluster does with all parts, and how it leaves the counter.
WARPLOOM_FN void add_parts(uint32_t lane) {
  uint32_t sum = 0;
  for (uint32_t cluster = 0; cluster < clusters; ++cluster) SITE(sum += load_global(output + cluster * lanes + lane));
  store_global(output + sum_at + lane, sum);
  if (lane == 0) store_global(output + counter_at, 0u);
}

/// G1, G2, G3: every cluster leaves a row; the last to count itself adds them all.
constexpr auto split_sum = [](const Flag& flag) {
  const uint32_t lane = thread_index();
  SITE(store_global(output + block_index().x * lanes + lane, 1u << block_index().x));
  syncwarp();
  uint32_t before = 0;
  if (lane == 0) before = count_up(flag, output + counter_at);
  before = shuffle(before, 0);
  if (before + 1 == clusters) add_parts(lane);
  syncwarp();
};

/// G4: the same, the row by a bulk store.
constexpr auto stored_in_bulk = [](const bool& buggy) {
  auto& s = shared<Storage>();
  const uint32_t lane = thread_index();
  store_shared(&s.row[lane], 1u << block_index().x);
  fence_proxy_async_shared();
  syncwarp();
  uint32_t before = 0;
  if (lane == 0) {
    SITE(bulk_store(output + block_index().x * lanes, address(s.row), row_bytes));
    bulk_commit_group();
    if (buggy)
      bulk_wait_group_read<0>();  // shared memory is free again; that is all
    else
      bulk_wait_group<0>();
    before = fetch_add_global(output + counter_at, 1);
  }
  before = shuffle(before, 0);
  if (before + 1 == clusters) add_parts(lane);
  syncwarp();
};

bool sums_are_right() {
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (output[sum_at + lane] != (1u << clusters) - 1) return false;
  return true;
}

/// G5: a tail that two clusters believe to be theirs.
constexpr auto overlapping_tiles = [](const bool& buggy) {
  const uint32_t first = block_index().x * (buggy ? lanes - 1 : lanes);
  SITE(store_global(output + first + thread_index(), block_index().x));
  syncwarp();
};

/// G6: one warp reads what another stores.
constexpr auto without_barrier = [](const bool& buggy) {
  if (warp_index() == 0) SITE(store_global(output + lane_index(), 5u));
  if (!buggy) syncthreads();
  if (warp_index() == 1) SITE(keep(load_global(output + lane_index())));
};

/// G7: a row that threads store is copied back by the async proxy.
constexpr auto copied_without_fence = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  SITE(store_global(output + thread_index(), 6u));
  if (!buggy) fence_proxy_async_global();
  syncwarp();
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), row_bytes);
    SITE(bulk_load(address(s.row), output, row_bytes, address(s.full[0])));
  }
  mbarrier_wait(address(s.full[0]), 1);
  keep(load_shared(&s.row[thread_index()]));
};

/// The same with the fence on the other side of the barrier, by the thread that issues the copy.
constexpr auto fenced_by_the_issuer = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  SITE(store_global(output + thread_index(), 6u));
  syncwarp();
  if (thread_index() == 0) {
    if (!buggy) fence_proxy_async_global();
    mbarrier_arrive_expect_tx(address(s.full[0]), row_bytes);
    SITE(bulk_load(address(s.row), output, row_bytes, address(s.full[0])));
  }
  mbarrier_wait(address(s.full[0]), 1);
  keep(load_shared(&s.row[thread_index()]));
};

/// G8: handed to the other CTA of the cluster with an arrival that reaches no further than its own.
constexpr auto handed_to_the_peer = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  cluster_sync();
  if (cluster_rank() == 0) {
    SITE(store_global(output + lane_index(), 8u));
    syncwarp();
    if (lane_index() == 0) {
      const SharedAddress there = map_to_rank(address(s.full[0]), 1);
      if (buggy)
        mbarrier_arrive(there);
      else
        mbarrier_arrive<Scope::cluster>(there);
    }
  } else {
    mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    SITE(keep(load_global(output + lane_index())));
  }
  cluster_sync();
};

/// G9: a row is overwritten while it is still being copied.
constexpr auto overwritten_in_flight = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncthreads();
  const auto wait = [&] { mbarrier_wait(address(s.full[0]), 1); };
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), row_bytes);
    SITE(bulk_load(address(s.row), output, row_bytes, address(s.full[0])));
  }
  if (!buggy) wait();
  syncwarp();
  SITE(store_global(output + thread_index(), 9u));
  if (buggy) wait();
};

/// G10: a counter that some count up, and somebody looks at with an ordinary load.
constexpr auto ordinary_look = [](const bool& buggy) {
  if (warp_index() == 0 && lane_index() == 0) SITE(fetch_add_global(output + counter_at, 1));
  if (!buggy) syncthreads();
  if (warp_index() == 1 && lane_index() == 0) SITE(keep(load_global(output + counter_at)));
};

/// G11: two bulk stores that leave the same may come in any order; what one of them came over, the other must know of.
constexpr auto equal_stores = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() < 4) store_shared(&s.row[thread_index()], 1u);
  fence_proxy_async_shared();
  syncthreads();
  if (thread_index() == lanes) {
    SITE(store_global(output, 100u));
    SITE(keep(load_global(output)));
    fence_proxy_async_global();
  }
  if (!buggy) syncthreads();
  if (thread_index() == lanes || thread_index() == 0) {
    SITE(bulk_store(output, address(s.row), 16));
    bulk_commit_group();
    bulk_wait_group<0>();
  }
  syncwarp();
};

/// G12: a flag that is stored, and asked for again and again until it is there.
constexpr auto flag_by_loads = [](const bool& buggy) {
  uint32_t* const flag = output + counter_at;
  if (thread_index() == 0) {
    SITE(store_global(output, 12u));
    store_global<MemoryOrder::release>(flag, 1u);
  }
  if (thread_index() == lanes) {
    if (buggy) {
      while (load_global<MemoryOrder::relaxed>(flag) == 0) {
      }
    } else {
      while (load_global<MemoryOrder::acquire>(flag) == 0) {
      }
    }
    SITE(keep(load_global(output)));
    store_global<MemoryOrder::relaxed>(flag, 0u);
  }
  syncwarp();
};

struct MapStorage {
  alignas(128) uint32_t row[lanes];
  alignas(128) TensorMap draft;
  Mbarrier full[1];
};

/// G13: a tensor map that a thread makes and stores to global memory by itself.
constexpr auto stored_map = [](const bool& buggy) {
  auto& s = shared<MapStorage>();
  auto* const map = reinterpret_cast<TensorMap*>(output);
  make_barriers(s.full, 1);
  if (thread_index() < 16) store_shared(&s.draft.opaque[thread_index()], uint64_t{0});
  syncthreads();
  if (thread_index() == 0) {
    const SharedAddress draft = address(s.draft);
    tensor_map_set_type<TmaType::u32>(draft);
    tensor_map_set_rank(draft, 2);
    tensor_map_set_address(draft, input);
    tensor_map_set_size<0>(draft, lanes);
    tensor_map_set_size<1>(draft, 1);
    tensor_map_set_stride<1>(draft, row_bytes);
    tensor_map_set_box<0>(draft, lanes);
    tensor_map_set_box<1>(draft, 1);
    tensor_map_set_element_stride<0>(draft, 1);
    tensor_map_set_element_stride<1>(draft, 1);
    for (uint32_t i = 0; i < 16; ++i) SITE(store_global(&map->opaque[i], load_shared(&s.draft.opaque[i])));
    release_tensor_maps();
    if (!buggy) acquire_tensor_map(*map);
    mbarrier_arrive_expect_tx(address(s.full[0]), row_bytes);
    SITE(tma_load<1>(address(s.row), *map, address(s.full[0]), Coord2{0, 0}));
  }
  mbarrier_wait(address(s.full[0]), 1);
  keep(load_shared(&s.row[thread_index()]));
};

}  // namespace

Entries global_memory_entries() {
  const Launch alone{.threads = lanes}, warps{.threads = 2 * lanes}, several{.grid = {clusters}, .threads = lanes};
  const Launch pair{.grid = {2}, .cluster = {2}, .threads = lanes};
  Launch talk = several, talking_warps = warps;
  talk.talks_across_clusters = talking_warps.talks_across_clusters = true;
  const auto split = [&](const char* id, const char* title, Flag flag, Flag correct) {
    Entry made = entry(id, title, {"RACE-GLOBAL"}, talk, split_sum, flag, correct);
    made.right = sums_are_right;
    return made;
  };
  Entry bulk = entry("G4", "a bulk store's end not waited for before its flag", {"RACE-GLOBAL"}, talk, stored_in_bulk);
  bulk.right = sums_are_right;
  return {
      split("G1", "partial sums announced by an atomic that releases nothing", Flag::relaxed, Flag::fences),
      split("G2", "partial sums read behind an atomic that acquires nothing", Flag::release_only, Flag::acq_rel),
      split("G3", "partial sums announced with a scope that ends at the cluster", Flag::cluster_scope, Flag::acq_rel),
      std::move(bulk),
      entry("G5", "two clusters store to the same bytes", {"RACE-GLOBAL"}, several, overlapping_tiles),
      entry("G6", "global memory handed to another warp without a barrier", {"RACE-GLOBAL"}, warps, without_barrier),
      entry("G7", "stored by threads, copied by the async proxy without a fence", {"PROXY"}, alone,
            copied_without_fence),
      entry("G7b", "the same without the issuer's fence", {"PROXY"}, alone, fenced_by_the_issuer),
      entry("G8", "global memory handed to the peer CTA with an arrival of scope cta", {"NOT-VISIBLE"}, pair,
            handed_to_the_peer),
      entry("G9", "global memory overwritten while a copy still reads it", {"RACE-GLOBAL"}, alone,
            overwritten_in_flight),
      entry("G10", "an atomic counter looked at with an ordinary load", {"RACE-GLOBAL"}, talking_warps, ordinary_look),
      entry("G11", "two bulk stores that leave the same, one over a word that the other does not know of",
            {"RACE-GLOBAL", "PROXY"}, warps, equal_stores),
      entry("G12", "a flag waited for with loads that acquire nothing", {"RACE-GLOBAL"}, talking_warps, flag_by_loads),
      entry("G13", "a tensor map that a thread stored used without fence.proxy.tensormap", {"PROXY"}, alone,
            stored_map)};
}

}  // namespace warploom::loom::corpus
