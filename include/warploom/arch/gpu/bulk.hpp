// The GPU side of arch/bulk.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [s], bytes, [b]
WARPLOOM_FN void bulk_load(SharedAddress destination, const void* source, uint32_t bytes,
                           SharedAddress barrier) noexcept {
  detail::ptx::cp_async_bulk(detail::ptx::space_cluster, detail::ptx::space_global,
                             detail::generic_pointer<void>(destination), source, bytes,
                             detail::generic_pointer<uint64_t>(barrier));
}
// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [d], [s], bytes, [b], mask
WARPLOOM_FN void bulk_load_multicast(SharedAddress destination, const void* source, uint32_t bytes,
                                     SharedAddress barrier, uint16_t cta_mask) noexcept {
  detail::ptx::cp_async_bulk(detail::ptx::space_cluster, detail::ptx::space_global,
                             detail::generic_pointer<void>(destination), source, bytes,
                             detail::generic_pointer<uint64_t>(barrier), cta_mask);
}
// cp.async.bulk.global.shared::cta.bulk_group [d], [s], bytes
WARPLOOM_FN void bulk_store(void* destination, SharedAddress source, uint32_t bytes) noexcept {
  detail::ptx::cp_async_bulk(detail::ptx::space_global, detail::ptx::space_shared, destination,
                             detail::generic_pointer<void>(source), bytes);
}
// cp.async.bulk.global.shared::cta.bulk_group.cp_mask [d], [s], bytes, mask
WARPLOOM_FN void bulk_store_masked(void* destination, SharedAddress source, uint32_t bytes,
                                   uint16_t byte_mask) noexcept {
  detail::ptx::cp_async_bulk_cp_mask(detail::ptx::space_global, detail::ptx::space_shared, destination,
                                     detail::generic_pointer<void>(source), bytes, byte_mask);
}
// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [s], bytes, [b]
WARPLOOM_FN void bulk_send(SharedAddress destination, SharedAddress source, uint32_t bytes,
                           SharedAddress barrier) noexcept {
  detail::ptx::cp_async_bulk(detail::ptx::space_cluster, detail::ptx::space_shared,
                             detail::generic_pointer<void>(destination), detail::generic_pointer<void>(source), bytes,
                             detail::generic_pointer<uint64_t>(barrier));
}

// Every pair that reduces_in_global and reduces_in_shared allow (types/reduction.hpp), and its words in PTX.
// clang-format off: it does not come to rest on lists like these
#define WARPLOOM_INTEGER_REDUCTIONS(FORM) \
  FORM(add, u32, "add.u32") FORM(add, s32, "add.s32") FORM(add, u64, "add.u64") \
  FORM(min, u32, "min.u32") FORM(min, s32, "min.s32") FORM(max, u32, "max.u32") \
  FORM(max, s32, "max.s32") FORM(inc, u32, "inc.u32") FORM(dec, u32, "dec.u32") \
  FORM(bit_and, b32, "and.b32") FORM(bit_or, b32, "or.b32") FORM(bit_xor, b32, "xor.b32")
#define WARPLOOM_GLOBAL_REDUCTIONS(FORM) \
  FORM(add, f16, "add.noftz.f16") FORM(add, bf16, "add.noftz.bf16") FORM(add, f32, "add.f32") \
  FORM(add, f64, "add.f64") FORM(min, u64, "min.u64") FORM(min, s64, "min.s64") \
  FORM(min, f16, "min.f16") FORM(min, bf16, "min.bf16") FORM(max, u64, "max.u64") \
  FORM(max, s64, "max.s64") FORM(max, f16, "max.f16") FORM(max, bf16, "max.bf16") \
  FORM(bit_and, b64, "and.b64") FORM(bit_or, b64, "or.b64") FORM(bit_xor, b64, "xor.b64")
// clang-format on

// cp.reduce.async.bulk.global.shared::cta.bulk_group.OP.TYPE [d], [s], bytes
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_reduce(void* destination, SharedAddress source, uint32_t bytes) noexcept {
  static_assert(reduces_in_global(operation, type), "warploom: cp.reduce.async.bulk to global memory has no such form");
#define WARPLOOM_FORM(name, element, text)                                        \
  if constexpr (operation == Reduction::name && type == ReductionType::element)   \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." text       \
                 " [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(destination)), \
                 "r"(source.value), "r"(bytes)                                    \
                 : "memory");
  WARPLOOM_INTEGER_REDUCTIONS(WARPLOOM_FORM)
  WARPLOOM_GLOBAL_REDUCTIONS(WARPLOOM_FORM)
#undef WARPLOOM_FORM
}
// cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.OP.TYPE [d], [s], bytes, [b]
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_send_reduce(SharedAddress destination, SharedAddress source, uint32_t bytes,
                                  SharedAddress barrier) noexcept {
  static_assert(reduces_in_shared(operation, type), "warploom: cp.reduce.async.bulk to shared memory has no such form");
#define WARPLOOM_FORM(name, element, text)                                                             \
  if constexpr (operation == Reduction::name && type == ReductionType::element)                        \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." text \
                 " [%0], [%1], %2, [%3];" ::"r"(destination.value),                                    \
                 "r"(source.value), "r"(bytes), "r"(barrier.value)                                     \
                 : "memory");
  WARPLOOM_INTEGER_REDUCTIONS(WARPLOOM_FORM)
#undef WARPLOOM_FORM
}
#undef WARPLOOM_INTEGER_REDUCTIONS
#undef WARPLOOM_GLOBAL_REDUCTIONS

// cp.async.bulk.prefetch.L2.global [s], bytes
WARPLOOM_FN void bulk_prefetch(const void* source, uint32_t bytes) noexcept {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(source)), "r"(bytes)
               : "memory");
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
