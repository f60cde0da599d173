// The loom side of arch/bulk.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void bulk_load(SharedAddress destination, const void* source, uint32_t bytes,
                           SharedAddress barrier) noexcept {
  native::bulk_load(destination.value, source, bytes, barrier.value, -1);
}
WARPLOOM_FN void bulk_load_multicast(SharedAddress destination, const void* source, uint32_t bytes,
                                     SharedAddress barrier, uint16_t cta_mask) noexcept {
  native::bulk_load(destination.value, source, bytes, barrier.value, cta_mask);
}
WARPLOOM_FN void bulk_store(void* destination, SharedAddress source, uint32_t bytes) noexcept {
  native::bulk_store(destination, source.value, bytes, 0xffff, {});
}
WARPLOOM_FN void bulk_store_masked(void* destination, SharedAddress source, uint32_t bytes,
                                   uint16_t byte_mask) noexcept {
  native::bulk_store(destination, source.value, bytes, byte_mask, {});
}
WARPLOOM_FN void bulk_send(SharedAddress destination, SharedAddress source, uint32_t bytes,
                           SharedAddress barrier) noexcept {
  native::bulk_send(destination.value, source.value, bytes, barrier.value, {});
}
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_reduce(void* destination, SharedAddress source, uint32_t bytes) noexcept {
  static_assert(reduces_in_global(operation, type), "warploom: cp.reduce.async.bulk to global memory has no such form");
  native::bulk_store(destination, source.value, bytes, 0xffff, {true, operation, type});
}
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_send_reduce(SharedAddress destination, SharedAddress source, uint32_t bytes,
                                  SharedAddress barrier) noexcept {
  static_assert(reduces_in_shared(operation, type), "warploom: cp.reduce.async.bulk to shared memory has no such form");
  native::bulk_send(destination.value, source.value, bytes, barrier.value, {true, operation, type});
}
WARPLOOM_FN void bulk_prefetch(const void* source, uint32_t bytes) noexcept { native::bulk_prefetch(source, bytes); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
