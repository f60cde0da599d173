// Between the CTAs of a cluster: multicasts, remote arrivals, and who may leave when (catalogue 22 to 25, 43).
#include "corpus/gemm_kernel.hpp"
#include "warploom/arch/cluster_memory.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t words = 32, bytes = words * 4;

enum class Bug : uint8_t { none, mask_too_small, peer_not_waited_for, unequal_turns, no_drain };

struct Storage {
  alignas(128) uint32_t row[words];
  Mbarrier full[1], empty[1];
};

/// CTA 0 loads a row for both; every CTA's warp 1 reads it. The slot is free again when both have.
constexpr auto shared_ring = [](const Bug& bug) {
  auto& s = shared<Storage>();
  const uint32_t rank = cluster_rank();
  const bool leader = rank == 0, alone = bug == Bug::peer_not_waited_for;
  const bool loads = alone || bug == Bug::unequal_turns;
  const uint32_t turns = bug == Bug::unequal_turns && !leader ? 2 : 4;
  make_barriers(s.full, 1);
  make_barriers(s.empty, leader && !alone ? 2 : 1, RingSide::empty);
  cluster_sync();
  const SharedAddress full = address(s.full[0]), empty = address(s.empty[0]);
  if (warp_index() == 0 && lane_index() == 0) {
    for (uint32_t i = 0; i < turns; ++i) {
      SITE_IF(bug == Bug::unequal_turns, mbarrier_wait(empty, i));
      mbarrier_arrive_expect_tx(full, bytes);
      const uint16_t mask = bug == Bug::mask_too_small ? 0b01 : 0b11;
      if (leader) SITE_IF(loads, bulk_load_multicast(address(s.row), input + i * words, bytes, full, mask));
    }
    // The drain: nobody signals into this CTA any more.
    if (bug != Bug::no_drain) mbarrier_wait(empty, turns);
  }
  if (warp_index() == 1)
    for (uint32_t i = 0; i < turns; ++i) {
      SITE_IF(bug == Bug::mask_too_small || bug == Bug::unequal_turns, mbarrier_wait(full, i + 1));
      SITE_IF(alone, keep(load_shared(&s.row[lane_index()])));
      fence_proxy_async_shared();
      syncwarp();
      if (lane_index() == 0) {
        mbarrier_arrive(empty);
        if (!leader && !alone) SITE_IF(bug == Bug::no_drain, mbarrier_arrive<Scope::cluster>(map_to_rank(empty, 0)));
      }
    }
  syncwarp();
};

/// 22: both CTAs wait for CTA 0's product.
struct Product {
  alignas(1024) std::byte a[gemm::a_bytes];
  alignas(1024) std::byte b[gemm::b_bytes];
  Mbarrier full[1], done[1];
  uint32_t tmem;
};
constexpr auto commit_mask = [](const bool& buggy) {
  auto& s = shared<Product>();
  if (warp_index() == 0) tmem_alloc<1>(address(s.tmem), 32);
  make_barriers(s.full, 1);
  make_barriers(s.done, 1, RingSide::once);
  cluster_sync();
  const TmemAddress d{load_shared(&s.tmem)};
  if (cluster_rank() == 0 && thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), gemm::a_bytes + gemm::b_bytes);
    bulk_load(address(s.a), input, gemm::a_bytes, address(s.full[0]));
    bulk_load(address(s.b), input, gemm::b_bytes, address(s.full[0]));
    mbarrier_wait(address(s.full[0]), 1);
    umma<MmaKind::f8f6f4, 1>(d, gemm::operand(s.a), gemm::operand(s.b), gemm::instruction(), false);
    umma_commit_multicast<1>(address(s.done[0]), buggy ? 0b01 : 0b11);
  }
  SITE(mbarrier_wait(address(s.done[0]), 1));
  syncthreads();
  if (warp_index() == 0) tmem_dealloc<1>(d, 32);
  cluster_sync();
};

/// 25: CTA 1 tells CTA 0 something that nobody there waits for.
constexpr auto exit_under_arrivals = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  cluster_sync();
  if (cluster_rank() == 1 && thread_index() == 0) SITE(mbarrier_arrive(map_to_rank(address(s.full[0]), 0)));
  syncwarp();
  if (!buggy) cluster_sync();
};

/// The same with memory of the other CTA.
constexpr auto exit_under_stores = [](const bool& buggy) {
  auto& s = shared<Storage>();
  cluster_sync();
  if (cluster_rank() == 1) SITE(store_cluster(map_to_rank(address(s.row[lane_index()]), 0), 1u));
  syncwarp();
  if (!buggy) cluster_sync();
};

/// 25c: a warp leaves after a cluster barrier that the others use again, which counts those who are there. What it has
/// read may be overwritten behind that; its own writes nobody sees.
constexpr auto left_before_the_barrier = [](const bool& buggy) {
  auto& s = shared<Storage>();
  const bool leaves = cluster_rank() == 1 && warp_index() == 1;
  if (leaves) store_shared(&s.row[lane_index()], 1u);
  cluster_sync();
  if (leaves) {
    if (buggy)
      SITE(store_shared(&s.row[lane_index()], 2u));
    else
      keep(load_shared(&s.row[lane_index()]));
    return;
  }
  cluster_sync();
  if (cluster_rank() == 1) {
    if (buggy)
      SITE(keep(load_shared(&s.row[lane_index()])));
    else
      store_shared(&s.row[lane_index()], 3u);
  }
  cluster_sync();
};

/// A word for CTA 1, and an arrival that releases it to that CTA only if its scope reaches there.
constexpr auto arrival_of_cta_scope = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  cluster_sync();
  const SharedAddress theirs = map_to_rank(address(s.full[0]), 1);
  if (cluster_rank() == 0 && lane_index() == 0) {
    SITE(store_cluster(map_to_rank(address(s.row[0]), 1), 1u));
    if (buggy)
      mbarrier_arrive(theirs);
    else
      mbarrier_arrive<Scope::cluster>(theirs);
  }
  if (cluster_rank() == 1) {
    mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    SITE(keep(load_shared(&s.row[0])));
  }
  syncwarp();
};

/// T4: the same with the other half of the pair too narrow, and T5 with st.async, which a thread's wait must acquire,
/// too.
constexpr auto wait_of_cta_scope = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  cluster_sync();
  if (cluster_rank() == 0 && lane_index() == 0) {
    SITE(store_cluster(map_to_rank(address(s.row[0]), 1), 1u));
    mbarrier_arrive<Scope::cluster>(map_to_rank(address(s.full[0]), 1));
  }
  if (cluster_rank() == 1) {
    if (buggy)
      mbarrier_wait(address(s.full[0]), 1);
    else
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    SITE(keep(load_shared(&s.row[0])));
  }
  syncwarp();
};
constexpr auto sent_to_a_cta_scope = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  if (thread_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), cluster_rank() == 1 ? 16 : 0);
  cluster_sync();
  if (cluster_rank() == 0 && lane_index() == 0) {
    const uint32_t sent[4] = {1, 2, 3, 4};
    SITE(store_async(map_to_rank(address(s.row[0]), 1), sent, map_to_rank(address(s.full[0]), 1)));
  }
  if (cluster_rank() == 1) {
    if (buggy)
      mbarrier_wait(address(s.full[0]), 1);
    else
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    SITE(keep(load_shared(&s.row[0])));
  }
  syncwarp();
};

/// T5b: the same by red.async, which adds to what is there.
constexpr auto added_for_a_cta_scope = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  if (thread_index() == 0) {
    store_shared(&s.row[0], 1u);
    mbarrier_arrive_expect_tx(address(s.full[0]), cluster_rank() == 1 ? 4 : 0);
  }
  cluster_sync();
  if (cluster_rank() == 0 && lane_index() == 0)
    SITE(reduce_async<Atomic::add>(map_to_rank(address(s.row[0]), 1), 4u, map_to_rank(address(s.full[0]), 1)));
  if (cluster_rank() == 1) {
    if (buggy)
      mbarrier_wait(address(s.full[0]), 1);
    else
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    SITE(keep(load_shared(&s.row[0])));
  }
  syncwarp();
};

}  // namespace

Entries cluster_entries() {
  const Launch pair{.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = sizeof(Storage)};
  const Launch single{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Storage)};
  const auto ring = [&](const char* id, Bug bug, const char* title, std::vector<std::string> codes) {
    return entry(id, title, std::move(codes), pair, shared_ring, bug, Bug::none);
  };
  return {
      entry("22", "multicast commit leaves a CTA out", {"DEADLOCK"},
            {.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = sizeof(Product)}, commit_mask),
      ring("23", Bug::mask_too_small, "TMA multicast leaves a CTA out", {"DEADLOCK"}),
      ring("24", Bug::peer_not_waited_for, "multicast before the receiver has freed its slot", {"RACE-SMEM"}),
      entry("25", "CTA exits while another still arrives at its barrier", {"EXIT-REMOTE"}, single, exit_under_arrivals),
      entry("25b", "CTA exits while another still writes its shared memory", {"EXIT-REMOTE"}, single,
            exit_under_stores),
      entry("25c", "written by a warp that leaves, read behind a cluster barrier", {"NOT-VISIBLE"}, pair,
            left_before_the_barrier),
      ring("43", Bug::no_drain, "producer leaves without waiting for the last slots", {"EXIT-REMOTE"}),
      ring("B1", Bug::unequal_turns, "pair of CTAs with different numbers of steps (DeepGEMM#415)",
           {"DEADLOCK", "EXIT-REMOTE"}),
      entry("T3", "word for another CTA announced by an arrival of CTA scope", {"NOT-VISIBLE"}, single,
            arrival_of_cta_scope),
      entry("T4", "word of another CTA read behind a wait of CTA scope", {"NOT-VISIBLE"}, single, wait_of_cta_scope),
      entry("T5", "st.async of another CTA read behind a wait of CTA scope", {"NOT-VISIBLE"}, single,
            sent_to_a_cta_scope),
      entry("T5b", "red.async of another CTA read behind a wait of CTA scope", {"NOT-VISIBLE"}, single,
            added_for_a_cta_scope),
      same("B2", "multicast before the peer has armed its barrier (humming#54)", "24"),
  };
}

}  // namespace warploom::loom::corpus
