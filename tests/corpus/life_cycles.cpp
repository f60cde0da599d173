// What must be made before it is used, and finished before the end (catalogue 17 to 19, B14).
#include "corpus/corpus.hpp"
#include "warploom/arch/cp_async.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t words = 32, bytes = words * 4;

struct Storage {
  alignas(128) uint32_t row[words];
  Mbarrier full[1];
};

/// 17
constexpr auto pending_store = [](const bool& buggy) {
  auto& s = shared<Storage>();
  store_shared(&s.row[lane_index()], 1u);
  fence_proxy_async_shared();
  syncwarp();
  if (lane_index() == 0) {
    SITE(bulk_store(output, address(s.row), bytes));
    bulk_commit_group();
    if (!buggy) bulk_wait_group<0>();
  }
  syncwarp();
};

/// 18
constexpr auto no_sync_after_init = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) {
    SITE(mbarrier_init(address(s.full[0]), 1));
    fence_mbarrier_init();
  }
  if (!buggy) syncthreads();
  if (thread_index() == 0) mbarrier_arrive(address(s.full[0]));
  SITE(mbarrier_wait(address(s.full[0]), 1));
  syncwarp();
};

/// 19
constexpr auto remote_before_cluster_sync = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) SITE(mbarrier_init(address(s.full[0]), 2));
  if (thread_index() == 0) fence_mbarrier_init();
  if (buggy)
    syncthreads();
  else
    cluster_sync();
  if (thread_index() == 0) {
    SITE(mbarrier_arrive(address(s.full[0])));
    SITE(mbarrier_arrive(map_to_rank(address(s.full[0]), 1 - cluster_rank())));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  cluster_sync();
};

/// 19, the other half: the cluster has met, but no fence says what was made.
constexpr auto no_fence_after_init = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) {
    SITE(mbarrier_init(address(s.full[0]), 1));
    if (!buggy) fence_mbarrier_init();
  }
  cluster_sync();
  if (thread_index() == 0) {
    const SharedAddress theirs = map_to_rank(address(s.full[0]), 1 - cluster_rank());
    SITE(mbarrier_arrive(theirs));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  cluster_sync();
};

/// The async proxy needs to be told as well, in one CTA.
constexpr auto no_fence_for_the_async_proxy = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) {
    SITE(mbarrier_init(address(s.full[0]), 1));
    if (!buggy) fence_mbarrier_init();
  }
  syncthreads();
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
    SITE(bulk_load(address(s.row), input, bytes, address(s.full[0])));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
};

/// B14
union Reused {
  uint64_t word;
  Mbarrier barrier;
};
struct Recycled {
  Reused first;
};
constexpr auto storage_reused = [](const bool& buggy) {
  auto& s = shared<Recycled>();
  if (thread_index() == 0) {
    mbarrier_init(address(s.first.barrier), 1);
    fence_mbarrier_init();
    mbarrier_arrive(address(s.first.barrier));
  }
  syncthreads();
  mbarrier_wait(address(s.first.barrier), 1);
  syncthreads();
  if (thread_index() == 0) {
    if (!buggy) mbarrier_invalidate(address(s.first.barrier));
    SITE(store_shared(&s.first.word, uint64_t{0x1234}));
    if (!buggy) mbarrier_init(address(s.first.barrier), 1);
    if (!buggy) fence_mbarrier_init();
  }
  syncthreads();
  if (thread_index() == 0) SITE(mbarrier_arrive(address(s.first.barrier)));
  syncwarp();
};

constexpr auto initialised_twice = [](const bool& buggy) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) {
    mbarrier_init(address(s.full[0]), 1);
    if (buggy) SITE(mbarrier_init(address(s.full[0]), 2));
    fence_mbarrier_init();
  }
  syncthreads();
  if (thread_index() == 0) mbarrier_arrive(address(s.full[0]));
  mbarrier_wait(address(s.full[0]), 1);
  syncwarp();
};

}  // namespace

Entries life_cycle_entries() {
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Storage)};
  const Launch pair{.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = sizeof(Storage)};
  return {
      entry("17", "exit with a bulk store pending", {"EXIT-PENDING"}, {.threads = 32, .shared_bytes = sizeof(Storage)},
            pending_store),
      entry("18", "no synchronisation after mbarrier.init", {"BAR-UNINIT"}, launch, no_sync_after_init),
      entry("19", "remote arrive before the cluster has met", {"BAR-UNINIT"}, pair, remote_before_cluster_sync),
      entry("19b", "remote arrive, and no fence.mbarrier_init", {"BAR-UNINIT"}, pair, no_fence_after_init),
      entry("18b", "TMA completes on a barrier without fence.mbarrier_init", {"BAR-UNINIT"}, launch,
            no_fence_for_the_async_proxy),
      entry("B14", "storage of an mbarrier used for other things without inval (triton#10106)", {"BAR-UNINIT"}, launch,
            storage_reused),
      entry("18c", "mbarrier initialised again while in use", {"BAR-REINIT"}, launch, initialised_twice),
  };
}

}  // namespace warploom::loom::corpus
