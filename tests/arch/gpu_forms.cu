// Every form of the data-movement headers of `arch`, of votes and of waits by parity, instantiated: nvcc and ptxas must
// take them. Nothing runs.
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/mbarrier_token.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/ordered.hpp"
#include "warploom/arch/tensor_map_edit.hpp"
#include "warploom/arch/tma_forms.hpp"
#include "warploom/arch/vote.hpp"

using namespace warploom;
using namespace warploom::arch;

struct Params {
  TensorMap map;
  uint32_t* out;
  TensorMap* changed;
};

template <Reduction operation>
__device__ void tensor_reductions(const TensorMap& map, SharedAddress s) {
  tma_reduce<operation>(map, s, Coord{0});
  tma_reduce<operation>(map, s, Coord{0, 1});
  tma_reduce<operation>(map, s, Coord{0, 1, 2});
  tma_reduce<operation>(map, s, Coord{0, 1, 2, 3});
  tma_reduce<operation>(map, s, Coord{0, 1, 2, 3, 4});
  tma_reduce_im2col<operation>(map, s, Coord{0, 1, 2});
  tma_reduce_im2col<operation>(map, s, Coord{0, 1, 2, 3});
  tma_reduce_im2col<operation>(map, s, Coord{0, 1, 2, 3, 4});
}

template <Reduction operation, ReductionType type>
__device__ void bulk_reduction(void* out, SharedAddress s, SharedAddress remote, SharedAddress full) {
  if constexpr (reduces_in_global(operation, type)) bulk_reduce<operation, type>(out, s, 64);
  if constexpr (reduces_in_shared(operation, type)) bulk_send_reduce<operation, type>(remote, s, 64, full);
}
template <Reduction operation>
__device__ void bulk_reductions(void* out, SharedAddress s, SharedAddress remote, SharedAddress full) {
  bulk_reduction<operation, ReductionType::u32>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::s32>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::u64>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::s64>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::f16>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::bf16>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::f32>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::f64>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::b32>(out, s, remote, full);
  bulk_reduction<operation, ReductionType::b64>(out, s, remote, full);
}

template <int cta_group>
__device__ void loads(const TensorMap& map, SharedAddress d, SharedAddress full) {
  tma_load<cta_group>(d, map, full, Coord{0});
  tma_load<cta_group>(d, map, full, Coord{0, 1});
  tma_load<cta_group>(d, map, full, Coord{0, 1, 2});
  tma_load<cta_group>(d, map, full, Coord{0, 1, 2, 3});
  tma_load<cta_group>(d, map, full, Coord{0, 1, 2, 3, 4});
  tma_load_multicast<cta_group>(d, map, full, Coord{0}, 3);
  tma_load_multicast<cta_group>(d, map, full, Coord{0, 1}, 3);
  tma_load_multicast<cta_group>(d, map, full, Coord{0, 1, 2}, 3);
  tma_load_multicast<cta_group>(d, map, full, Coord{0, 1, 2, 3}, 3);
  tma_load_multicast<cta_group>(d, map, full, Coord{0, 1, 2, 3, 4}, 3);
  tma_load_im2col<cta_group>(d, map, full, Coord{0, 1, 2}, Offsets{1});
  tma_load_im2col<cta_group>(d, map, full, Coord{0, 1, 2, 3}, Offsets{1, 2});
  tma_load_im2col<cta_group>(d, map, full, Coord{0, 1, 2, 3, 4}, Offsets{1, 2, 3});
  tma_load_im2col_multicast<cta_group>(d, map, full, Coord{0, 1, 2}, Offsets{1}, 3);
  tma_load_im2col_multicast<cta_group>(d, map, full, Coord{0, 1, 2, 3}, Offsets{1, 2}, 3);
  tma_load_im2col_multicast<cta_group>(d, map, full, Coord{0, 1, 2, 3, 4}, Offsets{1, 2, 3}, 3);
}

__device__ uint32_t votes(uint32_t value) {
  uint32_t seen = vote_all(value > 1) + vote_any(value > 2) + vote_uniform(value > 3) + vote_ballot(value > 4);
  seen += match_any(value) + match_any(static_cast<uint64_t>(value)) + match_all(value) +
          match_all(static_cast<uint64_t>(value));
  seen += reduce_add(value) + reduce_min(value) + reduce_max(value) + reduce_and(value) + reduce_or(value) +
          reduce_xor(value);
  const auto number = static_cast<int32_t>(value);
  seen += static_cast<uint32_t>(reduce_min(number) + reduce_max(number));
  seen += shuffle_within<8>(value, 3).value + shuffle_xor_within<16>(value, 3).value +
          shuffle_up_within<4>(value, 1).value + shuffle_down_within<2>(value, 1).valid;
  seen += bar_count(1, 64, value > 1) + bar_all(2, 64, value > 2) + bar_any(3, 64, value > 3);
#if defined(WARPLOOM_FORMS_SM_100A)
  const float real = as_float(value);
  seen += as_bits(reduce_min(real)) + as_bits(reduce_min<true>(real)) + as_bits(reduce_min<false, true>(real)) +
          as_bits(reduce_min<true, true>(real));
  seen += as_bits(reduce_max(real)) + as_bits(reduce_max<true>(real)) + as_bits(reduce_max<false, true>(real)) +
          as_bits(reduce_max<true, true>(real));
#endif
  return seen;
}

__global__ void forms(const __grid_constant__ Params p) {
  const SharedAddress s = shared_address(&shared<uint32_t>()), full = s + 1024;
  const SharedAddress remote = map_to_rank(s, 1), remote_full = map_to_rank(full, 1);
  loads<1>(p.map, s, full);
  tma_store(p.map, s, Coord{0});
  tma_store(p.map, s, Coord{0, 1});
  tma_store(p.map, s, Coord{0, 1, 2});
  tma_store(p.map, s, Coord{0, 1, 2, 3});
  tma_store(p.map, s, Coord{0, 1, 2, 3, 4});
  tma_store_im2col(p.map, s, Coord{0, 1, 2});
  tma_store_im2col(p.map, s, Coord{0, 1, 2, 3});
  tma_store_im2col(p.map, s, Coord{0, 1, 2, 3, 4});
  tma_prefetch(p.map, Coord{0});
  tma_prefetch(p.map, Coord{0, 1});
  tma_prefetch(p.map, Coord{0, 1, 2});
  tma_prefetch(p.map, Coord{0, 1, 2, 3});
  tma_prefetch(p.map, Coord{0, 1, 2, 3, 4});
  tma_prefetch_im2col(p.map, Coord{0, 1, 2}, Offsets{1});
  tma_prefetch_im2col(p.map, Coord{0, 1, 2, 3}, Offsets{1, 2});
  tma_prefetch_im2col(p.map, Coord{0, 1, 2, 3, 4}, Offsets{1, 2, 3});
  tensor_reductions<Reduction::add>(p.map, s);
  tensor_reductions<Reduction::min>(p.map, s);
  tensor_reductions<Reduction::max>(p.map, s);
  tensor_reductions<Reduction::inc>(p.map, s);
  tensor_reductions<Reduction::dec>(p.map, s);
  tensor_reductions<Reduction::bit_and>(p.map, s);
  tensor_reductions<Reduction::bit_or>(p.map, s);
  tensor_reductions<Reduction::bit_xor>(p.map, s);
  bulk_load(s, p.out, 64, full);
  bulk_load_multicast(s, p.out, 64, full, 3);
  bulk_store(p.out, s, 64);
  bulk_send(remote, s, 64, remote_full);
  bulk_prefetch(p.out, 64);
  bulk_reductions<Reduction::add>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::min>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::max>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::inc>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::dec>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::bit_and>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::bit_or>(p.out, s, remote, remote_full);
  bulk_reductions<Reduction::bit_xor>(p.out, s, remote, remote_full);

  uint32_t seen = rank_of(remote);
  store_cluster(remote, static_cast<uint8_t>(load_cluster<uint8_t>(remote) + 1));
  store_cluster(remote, static_cast<uint16_t>(load_cluster<uint16_t>(remote) + 1));
  store_cluster(remote, load_cluster<uint32_t>(remote) + 1);
  store_cluster(remote, load_cluster<uint64_t>(remote) + 1);
  store_cluster(remote, load_cluster<uint4>(remote));
  seen += fetch_cluster<Atomic::add>(remote, 1) + fetch_cluster<Atomic::min>(remote, 1) +
          fetch_cluster<Atomic::max>(remote, 1) + fetch_cluster<Atomic::inc>(remote, 1) +
          fetch_cluster<Atomic::dec>(remote, 1) + fetch_cluster<Atomic::bit_and>(remote, 1) +
          fetch_cluster<Atomic::bit_or>(remote, 1) + fetch_cluster<Atomic::bit_xor>(remote, 1) +
          fetch_cluster<Atomic::exchange>(remote, 1) + compare_exchange_cluster(remote, 1, 2);
  reduce_cluster<Atomic::add, MemoryOrder::release, MemoryScope::cta, float>(remote, 1.0f);
  reduce_cluster<Atomic::max, MemoryOrder::relaxed, MemoryScope::sys, int64_t>(remote, -1);
  reduce_cluster<Atomic::add, MemoryOrder::relaxed, MemoryScope::cluster, bf16>(remote, {});
  store_cluster(remote, fetch_cluster<Atomic::exchange, MemoryOrder::relaxed, MemoryScope::cta, uint4>(remote, {}));
  compare_exchange_cluster<MemoryOrder::acquire, MemoryScope::cluster, uint16_t>(remote, 1, 2);
  reduce_async<Atomic::min>(remote, int32_t{1}, remote_full);
  reduce_async<Atomic::add>(remote, uint64_t{1}, remote_full);
  store_async(remote, 1.0f, remote_full);
  store_async(remote, uint64_t{1}, remote_full);
  reduce_global<Atomic::bit_or, MemoryOrder::release, MemoryScope::sys>(p.out, 1);
  reduce_add_global(reinterpret_cast<float*>(p.out), {1.0f, 2.0f});
  reduce_add_global(reinterpret_cast<float*>(p.out), {1.0f, 2.0f, 3.0f, 4.0f});
  seen += compare_exchange_global(p.out, 1, 2) + fetch_global<Atomic::inc, MemoryOrder::acquire>(p.out, 9);
  *p.out += static_cast<uint32_t>(fetch_global<Atomic::add>(reinterpret_cast<double*>(p.out), 1.0));
  while (load_global<MemoryOrder::acquire>(p.out) == 0) store_global<MemoryOrder::release, MemoryScope::sys>(p.out, 1);
  store_cluster<uint64_t, MemoryOrder::release>(remote, load_cluster<uint64_t, MemoryOrder::relaxed>(remote));
  store_global<MemoryOrder::relaxed>(reinterpret_cast<uint4*>(p.out),
                                     load_global<MemoryOrder::relaxed>(reinterpret_cast<const uint4*>(p.out)));
  seen += load_global<MemoryOrder::relaxed>(reinterpret_cast<const uint8_t*>(p.out));
  const MbarrierToken token = mbarrier_arrive_no_complete(full, 1);
  seen += mbarrier_pending_count(token) + mbarrier_test_token(full, mbarrier_arrive_token(full));
  mbarrier_wait_token(full, token);
  mbarrier_arrive_drop_expect_tx(remote_full, 16);
  mbarrier_wait_parity(full, seen & 1);
  mbarrier_wait_parity<Scope::cluster>(full, seen & 1);
  seen += mbarrier_test_parity(full, 0) + mbarrier_test_parity<Scope::cluster>(full, 1) + votes(seen);
  *p.out = seen;

  fence_cta();
  fence_cluster();
  fence_system();
  release_tensor_maps();
  fence_proxy_async();
  fence_shared_release();
  fence_shared_acquire();
  fence_proxy_async_release();
  fence_proxy_async_acquire();
  tensor_map_set_address(s, p.out);
  tensor_map_set_rank(s, 3);
  tensor_map_set_size<0>(s, 64);
  tensor_map_set_box<1>(s, 16);
  tensor_map_set_element_stride<2>(s, 1);
  tensor_map_set_stride<1>(s, 128);
  tensor_map_set_type<TmaType::bf16>(s);
  tensor_map_set_fill<TmaFill::nan>(s);
  tensor_map_set_swizzle<Swizzle::b128>(s);
  publish_tensor_map(p.changed, s);
  acquire_tensor_map(*p.changed);
#if defined(WARPLOOM_FORMS_SM_100A)
  loads<2>(p.map, s, full);
  tensor_map_set_swizzle<Swizzle::b128_atom32_flip8>(s);
  bulk_store_masked(p.out, s, 64, 0x0ff0);
  const FourRows rows{0, {1, 2, 3, 4}};
  tma_gather4<1>(s, p.map, full, rows);
  tma_gather4<2>(s, p.map, full, rows);
  tma_gather4_multicast<1>(s, p.map, full, rows, 3);
  tma_gather4_multicast<2>(s, p.map, full, rows, 3);
  tma_scatter4(p.map, s, rows);
#endif
}
