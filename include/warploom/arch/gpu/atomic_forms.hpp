// atom and red with their operands, for the GPU side of arch/atomic.hpp and arch/cluster_memory.hpp.
#pragma once

#include "warploom/arch/gpu/atomic_text.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

// One statement for each width of register, because its constraint is a letter of the statement.
#define WARPLOOM_ATOM(space, letter, at)                                                                 \
  asm volatile("atom.%3.%4." space ".%5.%6 %0, [%1], %2;"                                                \
               : "=" letter(old)                                                                         \
               : at, letter(given), "C"(Order::name), "C"(Scope::name), "C"(Name::name), "C"(Type::name) \
               : "memory")
#define WARPLOOM_RED(space, letter, at)                                                                       \
  asm volatile("red.%2.%3." space ".%4.%5 [%0], %1;" ::at, letter(given), "C"(Order::name), "C"(Scope::name), \
               "C"(Name::name), "C"(Type::name)                                                               \
               : "memory")
#define WARPLOOM_CAS(space, letter, at)                                                                 \
  asm volatile("atom.%4.%5." space ".cas.%6 %0, [%1], %2, %3;"                                          \
               : "=" letter(old)                                                                        \
               : at, letter(wanted), letter(given), "C"(Order::name), "C"(Scope::name), "C"(Type::name) \
               : "memory")
#define WARPLOOM_OF_WIDTH(statement, space, at) \
  if constexpr (sizeof(T) == 2)                 \
    statement(space, "h", at);                  \
  else if constexpr (sizeof(T) == 4)            \
    statement(space, "r", at);                  \
  else if constexpr (sizeof(T) == 8)            \
    statement(space, "l", at);                  \
  else                                          \
    statement(space, "q", at)

template <AtomicForm form, bool is_shared, class T, class Address>
WARPLOOM_FN T atomic(Address address, T value, T expected = T{}) noexcept {
  using Order = OrderText<form.order>;
  using Scope = ScopeText<form.scope>;
  using Name = AtomicText<form.operation>;
  using Type = AtomicTypeText<form.type>;
  const auto given = as_bits_of<register_of<T>>(value);
  [[maybe_unused]] const auto wanted = as_bits_of<register_of<T>>(expected);
  [[maybe_unused]] register_of<T> old = 0;
  if constexpr (form.operation == Atomic::compare_exchange && is_shared) {
    WARPLOOM_OF_WIDTH(WARPLOOM_CAS, "shared::cluster", "r"(address));
  } else if constexpr (form.operation == Atomic::compare_exchange) {
    WARPLOOM_OF_WIDTH(WARPLOOM_CAS, "global", "l"(address));
  } else if constexpr (form.returns && is_shared) {
    WARPLOOM_OF_WIDTH(WARPLOOM_ATOM, "shared::cluster", "r"(address));
  } else if constexpr (form.returns) {
    WARPLOOM_OF_WIDTH(WARPLOOM_ATOM, "global", "l"(address));
  } else if constexpr (is_shared) {
    WARPLOOM_OF_WIDTH(WARPLOOM_RED, "shared::cluster", "r"(address));
  } else {
    WARPLOOM_OF_WIDTH(WARPLOOM_RED, "global", "l"(address));
  }
  return as_bits_of<T>(old);
}
#undef WARPLOOM_OF_WIDTH
#undef WARPLOOM_CAS
#undef WARPLOOM_RED
#undef WARPLOOM_ATOM

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
