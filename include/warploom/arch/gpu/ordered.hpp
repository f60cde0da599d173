// The GPU side of arch/ordered.hpp.
#pragma once

#include "warploom/arch/gpu/atomic_text.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// ld.ORDER.SCOPE.SPACE.bN value, [a] and st.ORDER.SCOPE.SPACE.bN [a], value: one statement for each width of register.
#define WARPLOOM_LD(space, type, letter, at)            \
  asm volatile("ld.%2.%3." space "." type " %0, [%1];"  \
               : "=" letter(value)                      \
               : at, "C"(Order::name), "C"(Scope::name) \
               : "memory")
#define WARPLOOM_ST(space, type, letter, at)                                                                  \
  asm volatile("st.%2.%3." space "." type " [%0], %1;" ::at, letter(word), "C"(Order::name), "C"(Scope::name) \
               : "memory")
#define WARPLOOM_OF_WIDTH(statement, space, at) \
  if constexpr (sizeof(T) == 1)                 \
    statement(space, "b8", "r", at);            \
  else if constexpr (sizeof(T) == 2)            \
    statement(space, "b16", "h", at);           \
  else if constexpr (sizeof(T) == 4)            \
    statement(space, "b32", "r", at);           \
  else if constexpr (sizeof(T) == 8)            \
    statement(space, "b64", "l", at);           \
  else                                          \
    statement(space, "b128", "q", at)

namespace detail {
/// A byte is in a register of 32 bits.
template <class T>
WARPLOOM_FN T from_register(register_of<T> value) noexcept {
  if constexpr (sizeof(T) == 1)
    return as_bits_of<T>(static_cast<unsigned char>(value));
  else
    return as_bits_of<T>(value);
}
template <class T>
WARPLOOM_FN register_of<T> to_register(T value) noexcept {
  if constexpr (sizeof(T) == 1)
    return as_bits_of<unsigned char>(value);
  else
    return as_bits_of<register_of<T>>(value);
}
}  // namespace detail

template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T load_global(const T* source) noexcept {
  static_assert(!releases(order), "warploom: a load relaxes or acquires");
  using Order = detail::OrderText<order>;
  using Scope = detail::ScopeText<scope>;
  detail::register_of<T> value;
  WARPLOOM_OF_WIDTH(WARPLOOM_LD, "global", "l"(__cvta_generic_to_global(source)));
  return detail::from_register<T>(value);
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void store_global(T* destination, std::type_identity_t<T> value) noexcept {
  static_assert(!acquires(order), "warploom: a store relaxes or releases");
  using Order = detail::OrderText<order>;
  using Scope = detail::ScopeText<scope>;
  const detail::register_of<T> word = detail::to_register(value);
  WARPLOOM_OF_WIDTH(WARPLOOM_ST, "global", "l"(__cvta_generic_to_global(destination)));
}
template <class T, MemoryOrder order, MemoryScope scope>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept {
  static_assert(!releases(order), "warploom: a load relaxes or acquires");
  using Order = detail::OrderText<order>;
  using Scope = detail::ScopeText<scope>;
  detail::register_of<T> value;
  WARPLOOM_OF_WIDTH(WARPLOOM_LD, "shared::cluster", "r"(source.value));
  return detail::from_register<T>(value);
}
template <class T, MemoryOrder order, MemoryScope scope>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept {
  static_assert(!acquires(order), "warploom: a store relaxes or releases");
  using Order = detail::OrderText<order>;
  using Scope = detail::ScopeText<scope>;
  const detail::register_of<T> word = detail::to_register(value);
  WARPLOOM_OF_WIDTH(WARPLOOM_ST, "shared::cluster", "r"(destination.value));
}
#undef WARPLOOM_OF_WIDTH
#undef WARPLOOM_ST
#undef WARPLOOM_LD

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
