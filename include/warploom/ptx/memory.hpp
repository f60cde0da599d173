// Memory of translated PTX. Shared addresses are the loom's: the CTA's rank in its cluster in bits 31:24, the offset in
// its window below. Generic addresses are the host's: in the window's alias they are shared memory, on the thread's
// stack local memory, in the parameter block parameters, else global memory. Part of runtime.hpp.
#pragma once

#include "warploom/loom/atomics.hpp"
#include "warploom/loom/native.hpp"
#include "warploom/loom/quick_memory.hpp"
#include "warploom/ptx/abi.hpp"
#include "warploom/ptx/integers.hpp"

namespace warploom::ptx::rt {

namespace native = ::warploom::loom::native;
using abi::Launch;

enum class Window : u8 { own_shared, cluster_shared, plain, global };

#pragma GCC visibility push(default)
/// Waits for what the lane has posted.
void catch_up() noexcept;
/// Where a generic address points.
Window window_of(u64 address, const Launch* launch) noexcept;
void misaligned_local(u64 address, u32 bytes) noexcept;
#pragma GCC visibility pop

inline constexpr u32 window_start = 0x400;
inline constexpr u32 offset_bits = 0xffffffu;

/// Of a variable of the module.
WARPLOOM_PTX u32 shared_variable(u32 offset) { return native::script.rank_bits | (window_start + offset); }
WARPLOOM_PTX bool is_own(u32 address) { return (address & ~offset_bits) == native::script.rank_bits; }

WARPLOOM_PTX u64 from_shared(u32 address) {
  const native::Script& s = native::script;
  if (is_own(address)) return reinterpret_cast<u64>(s.alias) + (address & offset_bits);
  return reinterpret_cast<u64>(native::generic_address(address));
}
WARPLOOM_PTX u32 to_shared(u64 generic) {
  const native::Script& s = native::script;
  const u64 offset = generic - reinterpret_cast<u64>(s.alias);
  return offset < s.window_bytes ? s.rank_bits | static_cast<u32>(offset)
                                 : native::window_address(reinterpret_cast<const void*>(generic));
}

template <u32 bytes>
WARPLOOM_PTX void check_local(u64 address) {
  if (address % bytes != 0) [[unlikely]]
    misaligned_local(address, bytes);
}

template <u32 bytes>
WARPLOOM_PTX void ld_shared(void* to, u32 address) {
  if (!is_own(address)) [[unlikely]] {
    std::memcpy(to, native::cluster_memory(address, bytes, false), bytes);
    return;
  }
  const u32 offset = address & offset_bits;
  const void* from = native::quick_shared(offset, bytes);
  if (from == nullptr) [[unlikely]]
    from = native::shared_memory(native::script.alias + offset, bytes, false);
  std::memcpy(to, from, bytes);
}
template <u32 bytes>
WARPLOOM_PTX void st_shared(u32 address, const void* from) {
  if (!is_own(address)) [[unlikely]] {
    std::memcpy(native::cluster_memory(address, bytes, true), from, bytes);
    return;
  }
  const u32 offset = address & offset_bits;
  void* to = native::quick_shared(offset, bytes);
  if (to == nullptr) [[unlikely]]
    to = native::shared_memory(native::script.alias + offset, bytes, true, from);
  std::memcpy(to, from, bytes);
}
template <u32 bytes>
WARPLOOM_PTX void ld_cluster(void* to, u32 address) {
  std::memcpy(to, native::cluster_memory(address, bytes, false), bytes);
}
template <u32 bytes>
WARPLOOM_PTX void st_cluster(u32 address, const void* from) {
  std::memcpy(native::cluster_memory(address, bytes, true), from, bytes);
}

/// check_global is no step: a lane that ran ahead of what it posted waits for that before it looks at memory.
WARPLOOM_PTX void settle() {
  if (native::script.next != native::script.list) [[unlikely]]
    catch_up();
}
template <u32 bytes>
WARPLOOM_PTX void ld_global(void* to, u64 address) {
  const auto* from = reinterpret_cast<const void*>(address);
  if (!native::quick_global(address, bytes, false)) [[unlikely]] {
    settle();
    native::check_global(from, bytes, false);
    native::learn_global(from, false);
  }
  std::memcpy(to, from, bytes);
}
template <u32 bytes>
WARPLOOM_PTX void st_global(u64 address, const void* from) {
  auto* to = reinterpret_cast<void*>(address);
  if (!native::quick_global(address, bytes, true)) [[unlikely]] {
    settle();
    native::check_global(to, bytes, true, from);
    native::learn_global(to, true);
  }
  std::memcpy(to, from, bytes);
}
/// Parameters, constants, local memory: of the thread, or of nobody's making.
template <u32 bytes>
WARPLOOM_PTX void ld_plain(void* to, u64 address) {
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
}
template <u32 bytes>
WARPLOOM_PTX void st_plain(u64 address, const void* from) {
  std::memcpy(reinterpret_cast<void*>(address), from, bytes);
}
template <u32 bytes>
WARPLOOM_PTX void ld_local(void* to, u64 address) {
  check_local<bytes>(address);
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
}
template <u32 bytes>
WARPLOOM_PTX void st_local(u64 address, const void* from) {
  check_local<bytes>(address);
  std::memcpy(reinterpret_cast<void*>(address), from, bytes);
}

template <u32 bytes>
WARPLOOM_PTX void ld_generic(void* to, u64 address, const Launch* launch) {
  if (native::quick_global(address, bytes, false)) [[likely]] {
    std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    return;
  }
  switch (window_of(address, launch)) {
    case Window::own_shared: return ld_shared<bytes>(to, to_shared(address));
    case Window::cluster_shared:
      return ld_cluster<bytes>(to, native::window_address(reinterpret_cast<const void*>(address)));
    case Window::plain: return ld_local<bytes>(to, address);
    case Window::global: return ld_global<bytes>(to, address);
  }
}
template <u32 bytes>
WARPLOOM_PTX void st_generic(u64 address, const void* from, const Launch* launch) {
  if (native::quick_global(address, bytes, true)) [[likely]] {
    std::memcpy(reinterpret_cast<void*>(address), from, bytes);
    return;
  }
  switch (window_of(address, launch)) {
    case Window::own_shared: return st_shared<bytes>(to_shared(address), from);
    case Window::cluster_shared:
      return st_cluster<bytes>(native::window_address(reinterpret_cast<const void*>(address)), from);
    case Window::plain: return st_local<bytes>(address, from);
    case Window::global: return st_global<bytes>(address, from);
  }
}

// ---- atomics, ordered loads and stores: of one space, or of the one that a generic address is in

using ::warploom::Atomic;
using ::warploom::AtomicForm;
using ::warploom::AtomicType;
using ::warploom::MemoryOrder;
using ::warploom::MemoryScope;
using ::warploom::Reduction;
using ::warploom::ReductionType;

WARPLOOM_PTX bool is_shared(u64 generic) {
  const native::AddressSpace space = native::space_of(reinterpret_cast<const void*>(generic));
  return space == native::AddressSpace::shared_cta || space == native::AddressSpace::shared_cluster;
}
WARPLOOM_PTX bool is_local(u64 generic) {
  return native::space_of(reinterpret_cast<const void*>(generic)) == native::AddressSpace::local;
}
WARPLOOM_PTX void atomic_global(const AtomicForm& form, u64 address, const void* operand, const void* expected,
                                void* old) {
  native::atomic_global(form, reinterpret_cast<void*>(address), operand, expected, old);
}
WARPLOOM_PTX void atomic_generic(const AtomicForm& form, u64 address, const void* operand, const void* expected,
                                 void* old) {
  if (is_shared(address))
    native::atomic_shared(form, to_shared(address), operand, expected, old);
  else
    native::atomic_global(form, reinterpret_cast<void*>(address), operand, expected, old);
}
WARPLOOM_PTX void load_ordered_global(const native::OrderedAccess& access, u64 address, void* value) {
  native::load_ordered_global(access, reinterpret_cast<const void*>(address), value);
}
WARPLOOM_PTX void store_ordered_global(const native::OrderedAccess& access, u64 address, const void* value) {
  native::store_ordered_global(access, reinterpret_cast<void*>(address), value);
}
WARPLOOM_PTX void load_ordered(const native::OrderedAccess& access, u64 address, void* value) {
  if (is_shared(address))
    native::load_ordered_shared(access, to_shared(address), value);
  else if (is_local(address))
    std::memcpy(value, reinterpret_cast<const void*>(address), access.bytes * access.count);
  else
    native::load_ordered_global(access, reinterpret_cast<const void*>(address), value);
}
WARPLOOM_PTX void store_ordered(const native::OrderedAccess& access, u64 address, const void* value) {
  if (is_shared(address))
    native::store_ordered_shared(access, to_shared(address), value);
  else if (is_local(address))
    std::memcpy(reinterpret_cast<void*>(address), value, access.bytes * access.count);
  else
    native::store_ordered_global(access, reinterpret_cast<void*>(address), value);
}

}  // namespace warploom::ptx::rt
