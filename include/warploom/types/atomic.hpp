// The forms of atom and red (PTX ISA, "atom", "red"): what they do, to which type, in which order and for whom.
//
//   constexpr AtomicForm form{.operation = Atomic::add, .type = AtomicType::f32, .order = MemoryOrder::relaxed};
//   static_assert(exists_in_global(form));
#pragma once

#include <type_traits>

#include "warploom/types/dtype.hpp"
#include "warploom/types/memory_order.hpp"
#include "warploom/types/reduction.hpp"

namespace warploom {

/// inc and dec wrap as in types/reduction.hpp, whose operations come first here.
enum class Atomic : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exchange, compare_exchange };

/// f16 to bf16x2 are the .noftz forms. A packed type is two elements, each updated by itself.
enum class AtomicType : uint8_t { u32, s32, u64, s64, b16, b32, b64, b128, f32, f64, f16, f16x2, bf16, bf16x2 };

struct AtomicForm {
  Atomic operation = Atomic::add;
  AtomicType type = AtomicType::u32;
  uint8_t count = 1;  ///< values of that type: .v2, .v4, .v8. Each is updated by itself
  MemoryOrder order = MemoryOrder::acq_rel;
  MemoryScope scope = MemoryScope::gpu;
  bool returns = true;  ///< atom; a red returns nothing
};

WARPLOOM_CONST_FN uint32_t size_of(AtomicType type) {
  switch (type) {
    case AtomicType::b16:
    case AtomicType::f16:
    case AtomicType::bf16: return 2;
    case AtomicType::u64:
    case AtomicType::s64:
    case AtomicType::b64:
    case AtomicType::f64: return 8;
    case AtomicType::b128: return 16;
    default: return 4;
  }
}
WARPLOOM_CONST_FN uint32_t size_of(const AtomicForm& form) { return size_of(form.type) * form.count; }

/// What arithmetic works on: the halves of a packed type.
WARPLOOM_CONST_FN ReductionType element_of(AtomicType type) {
  switch (type) {
    case AtomicType::s32: return ReductionType::s32;
    case AtomicType::u64: return ReductionType::u64;
    case AtomicType::s64: return ReductionType::s64;
    case AtomicType::b32: return ReductionType::b32;
    case AtomicType::b64: return ReductionType::b64;
    case AtomicType::f32: return ReductionType::f32;
    case AtomicType::f64: return ReductionType::f64;
    case AtomicType::f16:
    case AtomicType::f16x2: return ReductionType::f16;
    case AtomicType::bf16:
    case AtomicType::bf16x2: return ReductionType::bf16;
    default: return ReductionType::u32;
  }
}

WARPLOOM_CONST_FN bool is_half(AtomicType type) {
  return type == AtomicType::f16 || type == AtomicType::f16x2 || type == AtomicType::bf16 || type == AtomicType::bf16x2;
}

namespace detail {
WARPLOOM_CONST_FN bool scalar_exists(Atomic operation, AtomicType type, bool returns) {
  using Type = AtomicType;
  const bool whole = type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64;
  switch (operation) {
    case Atomic::add: return (whole && type != Type::s64) || type == Type::f32 || type == Type::f64 || is_half(type);
    case Atomic::min:
    case Atomic::max: return whole;
    case Atomic::inc:
    case Atomic::dec: return type == Type::u32;
    case Atomic::bit_and:
    case Atomic::bit_or:
    case Atomic::bit_xor: return type == Type::b32 || type == Type::b64;
    case Atomic::exchange: return returns && (type == Type::b32 || type == Type::b64 || type == Type::b128);
    case Atomic::compare_exchange:
      return returns && (type == Type::b16 || type == Type::b32 || type == Type::b64 || type == Type::b128);
  }
  return false;
}
}  // namespace detail

/// red.async.
WARPLOOM_CONST_FN bool reduces_async(Atomic operation, AtomicType type) {
  using Type = AtomicType;
  switch (operation) {
    case Atomic::add: return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64;
    case Atomic::min:
    case Atomic::max: return type == Type::u32 || type == Type::s32;
    case Atomic::inc:
    case Atomic::dec: return type == Type::u32;
    case Atomic::bit_and:
    case Atomic::bit_or:
    case Atomic::bit_xor: return type == Type::b32;
    default: return false;
  }
}

/// Does the instruction set have it on shared memory, of this CTA or of the cluster?
WARPLOOM_CONST_FN bool exists_in_shared(const AtomicForm& form) {
  return form.count == 1 && detail::scalar_exists(form.operation, form.type, form.returns);
}
/// ... on global memory? Vectors are sums of f32 (.v2, .v4), and sums, minima and maxima of halves up to 16 bytes.
WARPLOOM_CONST_FN bool exists_in_global(const AtomicForm& form) {
  if (form.count == 1) return detail::scalar_exists(form.operation, form.type, form.returns);
  if (form.count != 2 && form.count != 4 && form.count != 8) return false;
  const bool ordered = form.operation == Atomic::min || form.operation == Atomic::max;
  return size_of(form) <= 16 && ((form.operation == Atomic::add && form.type == AtomicType::f32) ||
                                 ((form.operation == Atomic::add || ordered) && is_half(form.type)));
}

/// Of an operation on a C++ type: bits where it is one on bits, numbers otherwise.
template <Atomic operation, class T>
WARPLOOM_CONST_FN AtomicType atomic_type() {
  constexpr bool bits = operation >= Atomic::bit_and;
  if constexpr (bits) {
    return sizeof(T) == 2   ? AtomicType::b16
           : sizeof(T) == 4 ? AtomicType::b32
           : sizeof(T) == 8 ? AtomicType::b64
                            : AtomicType::b128;
  } else if constexpr (std::is_same_v<T, f16>) {
    return AtomicType::f16;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return AtomicType::bf16;
  } else if constexpr (std::is_same_v<T, float>) {
    return AtomicType::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return AtomicType::f64;
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "warploom: there are no atomics on numbers of this type");
    if (sizeof(T) == 4) return std::is_signed_v<T> ? AtomicType::s32 : AtomicType::u32;
    // Sums are the same with and without a sign, and there is one name for them.
    return std::is_signed_v<T> && operation != Atomic::add ? AtomicType::s64 : AtomicType::u64;
  }
}

}  // namespace warploom
