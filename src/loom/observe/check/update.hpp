// Accesses to memory that need no order to be no race: a thread's atomics, its loads and stores with an order, and
// reductions of bulk copies. What they leave behind, and what they find, may still depend on which of two comes first.
#pragma once

#include <cstdint>

#include "warploom/types/atomic.hpp"

namespace warploom::loom::check {

/// Two reductions of the same kind, `add32` or one after it, leave the same whichever comes first.
enum class Update : uint8_t {
  none,      ///< no update, but a plain access
  load,      ///< ld.relaxed, ld.acquire, ld.volatile: reads, and no more
  store,     ///< st.relaxed, st.release, st.volatile: reads nothing
  answers,   ///< a thread's atomic: it returns what it finds
  in_order,  ///< a reduction whose result depends on the order: sums of floating point, inc, dec
  add32,     ///< integer sums, modulo 2^32
  add64,
  min_u32,
  min_s32,
  min_u64,
  min_s64,
  max_u32,
  max_s32,
  max_u64,
  max_s64,
  bit_and,
  bit_or,
  bit_xor,
};

constexpr Update update_of(Reduction operation, ReductionType type) {
  using Type = ReductionType;
  const bool signed_type = type == Type::s32 || type == Type::s64;
  const bool wide = type == Type::u64 || type == Type::s64;
  const bool integer = wide || type == Type::u32 || type == Type::s32;
  switch (operation) {
    case Reduction::bit_and: return Update::bit_and;
    case Reduction::bit_or: return Update::bit_or;
    case Reduction::bit_xor: return Update::bit_xor;
    case Reduction::add:
      if (integer) return wide ? Update::add64 : Update::add32;
      break;
    case Reduction::min:
      if (integer)
        return wide ? signed_type ? Update::min_s64 : Update::min_u64 : signed_type ? Update::min_s32 : Update::min_u32;
      break;
    case Reduction::max:
      if (integer)
        return wide ? signed_type ? Update::max_s64 : Update::max_u64 : signed_type ? Update::max_s32 : Update::max_u32;
      break;
    default: break;
  }
  return Update::in_order;
}

constexpr Update update_of(const AtomicForm& form) {
  if (form.returns) return Update::answers;
  if (form.operation >= Atomic::exchange) return Update::in_order;
  return update_of(static_cast<Reduction>(form.operation), element_of(form.type));
}

/// Does it tell the thread, or whoever reads its result, what others have done?
constexpr bool answers(Update update) { return update == Update::load || update == Update::answers; }
constexpr bool writes(Update update) { return update != Update::load; }

/// Do two of them leave and answer the same whichever comes first?
constexpr bool commute(Update a, Update b) { return a == b && (a == Update::load || a >= Update::add32); }

/// Does it show which of two updates of the same bytes comes first? Two that answer are asked elsewhere
/// (Watch::visited): what they return is a point of its own.
constexpr bool order_shows(Update a, Update b) { return !(answers(a) && answers(b)) && !commute(a, b); }

}  // namespace warploom::loom::check
