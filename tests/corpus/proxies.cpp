// Generic and async proxy: fences that are missing, executed by the wrong thread, or about the wrong memory (catalogue
// 12 to 16, T6 to T10).
#include "corpus/gemm_kernel.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/cp_async.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/wgmma.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t words = 64, bytes = words * 4;

struct Storage {
  alignas(128) uint32_t row[words];
  Mbarrier full[1], empty[1];
};

WARPLOOM_FN void store_row(const Storage& s, uint32_t to) {
  SITE(bulk_store(output + to, address(s.row), bytes));
  bulk_commit_group();
}

/// 12
constexpr auto store_without_fence = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(store_shared(&s.row[thread_index()], 7u));
  if (!buggy) fence_proxy_async_shared();
  syncthreads();
  if (thread_index() == 0) {
    store_row(s, 0);
    bulk_wait_group<0>();
  }
  syncwarp();
};

/// 13
constexpr auto fence_by_the_issuer = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(store_shared(&s.row[thread_index()], 7u));
  if (!buggy) fence_proxy_async_shared();
  syncthreads();
  if (thread_index() == 0) {
    fence_proxy_async_shared();
    store_row(s, 0);
    bulk_wait_group<0>();
  }
  syncwarp();
};

/// 14
struct Operands {
  alignas(1024) std::byte a[gemm::a_bytes];
  alignas(1024) std::byte b[gemm::b_bytes];
  Mbarrier done[1];
  uint32_t tmem;
};
constexpr auto multiply_without_fence = [](const bool& buggy) {
  auto& s = shared<Operands>();
  if (warp_index() == 0) tmem_alloc<1>(address(s.tmem), 32);
  make_barriers(s.done, 1);
  auto* words_of = reinterpret_cast<uint32_t*>(s.a);
  for (uint32_t i = thread_index(); i < (gemm::a_bytes + gemm::b_bytes) / 4; i += 128)
    SITE(store_shared(words_of + i, 0x38383838u));
  if (!buggy) fence_proxy_async_shared();
  syncthreads();
  const TmemAddress d{load_shared(&s.tmem)};
  if (thread_index() == 0) {
    SITE(umma<MmaKind::f8f6f4, 1>(d, gemm::operand(s.a), gemm::operand(s.b), gemm::instruction(), false));
    SITE(umma_commit<1>(address(s.done[0])));
  }
  mbarrier_wait(address(s.done[0]), 1);
  syncthreads();
  if (warp_index() == 0) tmem_dealloc<1>(d, 32);
  syncwarp();
};

/// 15
constexpr auto overwritten_after_a_read = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  make_barriers(s.empty, 32, RingSide::empty);
  syncthreads();
  if (warp_index() == 0 && lane_index() == 0)
    for (uint32_t i = 0; i < 3; ++i) {
      mbarrier_wait(address(s.empty[0]), i);
      mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
      SITE(bulk_load(address(s.row), input + i * words, bytes, address(s.full[0])));
    }
  if (warp_index() == 1)
    for (uint32_t i = 0; i < 3; ++i) {
      mbarrier_wait(address(s.full[0]), i + 1);
      SITE(keep(load_shared(&s.row[lane_index()])));
      if (!buggy) fence_proxy_async_shared();
      mbarrier_arrive(address(s.empty[0]));
    }
  syncwarp();
};

/// 16
constexpr auto store_buffer_reused = [](const bool& buggy) {
  auto& s = shared<Storage>();
  for (uint32_t i = 0; i < 3; ++i) {
    if (thread_index() == 0 && !buggy) bulk_wait_group_read<0>();
    syncthreads();
    SITE(store_shared(&s.row[thread_index()], i));
    fence_proxy_async_shared();
    syncthreads();
    if (thread_index() == 0) store_row(s, i * words);
  }
  if (thread_index() == 0) bulk_wait_group<0>();
  syncwarp();
};

/// T6: cp.async is a thread's own write that lands late, through the generic proxy.
constexpr auto copied_and_stored = [](const bool& buggy) {
  auto& s = shared<Storage>();
  SITE(cp_async<4>(address(s.row[thread_index()]), input + thread_index()));
  cp_async_commit_group();
  cp_async_wait_group<0>();
  if (!buggy) fence_proxy_async_shared();
  syncthreads();
  if (thread_index() == 0) {
    store_row(s, 0);
    bulk_wait_group<0>();
  }
  syncwarp();
};

/// T7: the same for operands of a wgmma, whose arrival is the copies' own; here who waits must fence.
struct Tiles {
  alignas(1024) std::byte a[64 * 32];
  alignas(1024) std::byte b[16 * 32];
  Mbarrier full[1];
};
constexpr auto copied_operands = [](const bool& buggy) {
  auto& s = shared<Tiles>();
  make_barriers(s.full, 32);
  syncthreads();
  if (warp_index() == 4) {
    for (uint32_t i = lane_index(); i < sizeof(s.a) / 16; i += 32)
      SITE(cp_async<16>(address(s.a) + 16 * i, input + 4 * i));
    for (uint32_t i = lane_index(); i < sizeof(s.b) / 16; i += 32)
      SITE(cp_async<16>(address(s.b) + 16 * i, input + 4 * i));
    cp_async_mbarrier_arrive_noinc(address(s.full[0]));
    mbarrier_wait(address(s.full[0]), 1);
    return;
  }
  const auto operand = [](const std::byte* tile) {
    return encode_wgmma_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
  };
  mbarrier_wait(address(s.full[0]), 1);
  if (!buggy) fence_proxy_async_shared();
  Fragment<float, 8> d;
  wgmma_fence(d);
  SITE(wgmma<16, bf16, bf16>(d, operand(s.a), operand(s.b), false));
  wgmma_commit_group();
  wgmma_wait_group<0>(d);
};

/// T8: a TMA load over what cp.async has written.
constexpr auto copied_over = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  SITE(cp_async<4>(address(s.row[thread_index()]), input + thread_index()));
  cp_async_commit_group();
  cp_async_wait_group<0>();
  if (!buggy) fence_proxy_async_shared();
  syncthreads();
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
    SITE(bulk_load(address(s.row), input, bytes, address(s.full[0])));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
};

/// T9: fence.proxy.async.shared::cta is about the thread's own CTA, and the row is the peer's.
constexpr auto fence_of_the_wrong_cta = [](const bool& buggy) {
  auto& s = shared<Storage>();
  cluster_sync();
  if (cluster_rank() == 0) SITE(store_cluster(map_to_rank(address(s.row[thread_index()]), 1), 7u));
  if (buggy)
    fence_proxy_async_shared();
  else
    fence_proxy_async();
  cluster_sync();
  if (cluster_rank() == 1 && thread_index() == 0) {
    store_row(s, 0);
    bulk_wait_group<0>();
  }
  syncwarp();
};

/// T10: st.async is a thread's own write, too.
constexpr auto sent_and_stored = [](const bool& buggy) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  if (thread_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), cluster_rank() == 1 ? bytes : 0);
  cluster_sync();
  if (cluster_rank() == 0 && thread_index() < words / 4) {
    const uint32_t sent[4] = {1, 2, 3, 4};
    SITE(store_async(map_to_rank(address(s.row[4 * thread_index()]), 1), sent, map_to_rank(address(s.full[0]), 1)));
  }
  if (cluster_rank() == 1 && thread_index() == 0) {
    mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
    if (!buggy) fence_proxy_async_shared();
    store_row(s, 0);
    bulk_wait_group<0>();
  }
  syncwarp();
};

}  // namespace

Entries proxy_entries() {
  const Launch launch{.threads = words, .shared_bytes = sizeof(Storage)};
  const Launch pair{.grid = {2}, .cluster = {2}, .threads = words, .shared_bytes = sizeof(Storage)};
  return {
      entry("12", "no fence.proxy.async before a TMA store", {"PROXY"}, launch, store_without_fence),
      entry("13", "fence by the thread that issues, not by those that wrote", {"PROXY"}, launch, fence_by_the_issuer),
      entry("14", "no fence before a product of operands that threads wrote", {"PROXY"},
            {.threads = 128, .shared_bytes = sizeof(Operands)}, multiply_without_fence),
      entry("15", "TMA overwrites what threads have read, without a fence", {"PROXY"}, launch,
            overwritten_after_a_read),
      entry("16", "store buffer written again without wait_group.read", {"RACE-SMEM"}, launch, store_buffer_reused),
      entry("T6", "cp.async, then a TMA store without a fence", {"PROXY"}, launch, copied_and_stored),
      entry("T7", "cp.async, then a wgmma without a fence", {"PROXY"}, {.threads = 160, .shared_bytes = sizeof(Tiles)},
            copied_operands),
      entry("T8", "cp.async, then a TMA load over it without a fence", {"PROXY"}, launch, copied_over),
      entry("T9", "stores to the peer's memory, then a fence of the thread's own CTA only", {"PROXY"}, pair,
            fence_of_the_wrong_cta),
      entry("T10", "st.async, then a TMA store without a fence", {"PROXY"}, pair, sent_and_stored),
  };
}

}  // namespace warploom::loom::corpus
