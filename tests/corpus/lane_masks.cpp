// tcgen05.mma with disable-output-lane: lanes that it leaves alone are nobody's (catalogue 30b, 30c).
#include "corpus/gemm_kernel.hpp"
#include "warploom/arch/tmem.hpp"

namespace warploom::loom::corpus {
namespace {

struct Storage {
  alignas(1024) std::byte a[gemm::a_bytes];
  alignas(1024) std::byte b[gemm::b_bytes];
  Mbarrier full[1], done[1];
  uint32_t tmem;
};

constexpr uint32_t none[4] = {}, lower[4] = {0xffffffff, 0xffffffff, 0, 0}, upper[4] = {0, 0, 0xffffffff, 0xffffffff};
/// Within a group of sixteen lanes, too.
constexpr uint32_t odd[4] = {0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa},
                   even[4] = {0x55555555, 0x55555555, 0x55555555, 0x55555555};

WARPLOOM_FN TmemAddress set_up(Storage& s, uint32_t commits) {
  if (warp_index() == 0) tmem_alloc<1>(address(s.tmem), 32);
  make_barriers(s.full, 1);
  make_barriers(s.done, commits);
  syncthreads();
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), gemm::a_bytes + gemm::b_bytes);
    bulk_load(address(s.a), input, gemm::a_bytes, address(s.full[0]));
    bulk_load(address(s.b), input, gemm::b_bytes, address(s.full[0]));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  return {load_shared(&s.tmem)};
}

WARPLOOM_FN void multiply(const Storage& s, TmemAddress d, const uint32_t (&disabled)[4]) {
  SITE((umma_masked<MmaKind::f8f6f4, 1>(d, gemm::operand(s.a), gemm::operand(s.b), gemm::instruction(), false,
                                        disabled)));
  umma_commit<1>(address(s.done[0]));
}

WARPLOOM_FN void read(const Storage& s, TmemAddress d) {
  mbarrier_wait(address(s.done[0]), 1);
  tcgen05_fence_after();
  Fragment<uint32_t, gemm::n> registers;
  SITE(tmem_load_32x32b(registers, d.lane(32 * warp_index())));
  tmem_wait_load();
  tcgen05_fence_before();
  syncthreads();
  if (warp_index() == 0) tmem_dealloc<1>(d, 32);
  syncwarp();
}

/// 30b: one product, and lanes that it does not write are read.
template <bool fine>
constexpr auto masked_lanes_read = [](const bool& buggy) {
  auto& s = shared<Storage>();
  const TmemAddress d = set_up(s, 1);
  if (thread_index() == 0) multiply(s, d, !buggy ? none : fine ? odd : lower);
  syncwarp();
  read(s, d);
};

/// 30c: two threads, each with a product for some lanes of one accumulator.
template <bool fine>
constexpr auto masked_lanes_shared = [](const bool& buggy) {
  auto& s = shared<Storage>();
  const TmemAddress d = set_up(s, 2);
  if (thread_index() == 0) multiply(s, d, buggy ? none : fine ? odd : lower);
  if (thread_index() == 32) multiply(s, d, fine ? even : upper);
  syncwarp();
  read(s, d);
};

}  // namespace

Entries lane_mask_entries() {
  const Launch launch{.threads = 128, .shared_bytes = sizeof(Storage)};
  const std::vector<std::string> unwritten{"UNINIT-TMEM"}, race{"RACE-TMEM"};
  return {
      entry("30b", "lanes read that disable-output-lane left alone", unwritten, launch, masked_lanes_read<false>),
      entry("30c", "the same, every other lane", unwritten, launch, masked_lanes_read<true>),
      entry("30d", "two threads' products on the same lanes of an accumulator", race, launch,
            masked_lanes_shared<false>),
      entry("30e", "the same, every other lane", race, launch, masked_lanes_shared<true>),
  };
}

}  // namespace warploom::loom::corpus
