// Shared memory: one dynamic block per CTA that starts at window offset 0x400, so that it is 1024-byte aligned, and
// 32-bit window addresses `(cluster rank << 24) | offset` (hardware.md §6.2).
#pragma once

#include "warploom/arch/identity.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

constexpr uint32_t shared_window_start = 0x400;
constexpr uint32_t shared_rank_shift = 24;
constexpr size_t shared_capacity = 227 * 1024;  ///< usable bytes per CTA on sm_90 and sm_100

/// A shared::cluster address. Local addresses carry the CTA's own rank.
struct SharedAddress {
  uint32_t value = 0;
  WARPLOOM_CONST_FN SharedAddress operator+(uint32_t bytes) const { return {value + bytes}; }
  friend WARPLOOM_CONST_FN bool operator==(SharedAddress a, SharedAddress b) { return a.value == b.value; }
};

/// The CTA's dynamic shared memory, seen as the kernel's storage struct: for addresses. On the loom nothing lies behind
/// them, and a plain C++ access is a finding (PLAIN-SHARED), because nothing could check it.
template <class Storage>
WARPLOOM_FN Storage& shared() noexcept;

/// Window address of an object in this CTA's shared memory.
WARPLOOM_FN SharedAddress shared_address(const void* object) noexcept;

/// mapa.shared::cluster: the same offset in CTA `rank` of the cluster.
WARPLOOM_FN SharedAddress map_to_rank(SharedAddress local, uint32_t rank) noexcept;

/// The even CTA of this CTA's pair: bit 24 cleared (hardware.md §2.9, §6.2).
WARPLOOM_CONST_FN SharedAddress pair_leader(SharedAddress address) {
  return {address.value & ~(1u << shared_rank_shift)};
}

/// ld.shared and st.shared. T is 1, 2, 4, 8 or 16 bytes, naturally aligned.
template <class T>
WARPLOOM_FN T load_shared(const T* source) noexcept;
template <class T>
WARPLOOM_FN void store_shared(T* destination, T value) noexcept;

/// st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32: 16 bytes to any CTA of the cluster; once they are
/// there, they count on a barrier of that CTA.
WARPLOOM_FN void store_async(SharedAddress destination, const uint32_t (&words)[4], SharedAddress barrier) noexcept;
/// ... .b32, .b64: a value of 4 or 8 bytes
template <class T>
WARPLOOM_FN void store_async(SharedAddress destination, T value, SharedAddress barrier) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/shared.hpp"
#else
#include "warploom/arch/loom/shared.hpp"
#endif
