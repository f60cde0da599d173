// Atomics, and loads and stores with an order and a scope, as the loom's front ends call them: the loom side of
// `arch`, and translated PTX. Also which memory a generic address belongs to. One function for each kind of memory;
// what an operation does, to what and for whom is a value.
//
//   const AtomicForm add{.operation = Atomic::add, .type = AtomicType::f32, .order = MemoryOrder::relaxed};
//   native::atomic_global(add, sum, &value, nullptr, &before);
//   native::load_ordered_global({MemoryOrder::acquire, MemoryScope::gpu, 4}, flag, &seen);
#pragma once

#include <cstddef>

#include "warploom/types/atomic.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// atom.shared, red.shared; of this CTA or of another of the cluster. `operand`: form.count values; `expected`: of
/// compare_exchange. Where `old` is not null, what was there before goes there.
void atomic_shared(const AtomicForm& form, uint32_t address, const void* operand, const void* expected,
                   void* old) noexcept;
/// atom.global, red.global. The launch says that its clusters talk (LaunchConfig::talks_across_clusters).
void atomic_global(const AtomicForm& form, void* address, const void* operand, const void* expected,
                   void* old) noexcept;

/// ld.{relaxed,acquire}, st.{relaxed,release}; .volatile is relaxed with scope sys.
struct OrderedAccess {
  MemoryOrder order = MemoryOrder::relaxed;
  MemoryScope scope = MemoryScope::sys;
  uint8_t bytes = 4;  ///< of one value: 1 to 16
  uint8_t count = 1;  ///< .v2, .v4: each value is an access by itself
};
void load_ordered_shared(const OrderedAccess& access, uint32_t address, void* value) noexcept;
void store_ordered_shared(const OrderedAccess& access, uint32_t address, const void* value) noexcept;
void load_ordered_global(const OrderedAccess& access, const void* address, void* value) noexcept;
void store_ordered_global(const OrderedAccess& access, void* address, const void* value) noexcept;

/// red.async: adds to (and so on) a word of shared memory of a CTA of the cluster, and counts its bytes at an mbarrier
/// of that CTA once that is done. u32, s32, u64 and b32, as reduces_async() says.
void reduce_async(Atomic operation, AtomicType type, uint32_t destination, const void* value,
                  uint32_t barrier) noexcept;

// Generic addresses: shared memory is where `shared_base` and its like in the other CTAs are, a thread's own variables
// are on its stack, and everything else is global.
enum class AddressSpace : uint8_t { shared_cta, shared_cluster, local, global };
/// isspacep; shared_cluster only of another CTA. Nothing is checked: a hint for whoever picks an operation.
AddressSpace space_of(const void* address) noexcept;
/// cvta.to.shared: the window address of a generic one, of whichever CTA. Reports an address that is in none.
uint32_t window_address(const void* address) noexcept;
/// cvta.shared: the other way.
void* generic_address(uint32_t address) noexcept;

#pragma GCC visibility pop
}  // namespace warploom::loom::native
