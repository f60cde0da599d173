// The parts of the names of atom, red, ld and st, as nvcc puts them into inline PTX (operands of constraint "C"), and
// the registers that their operands are in.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"
#include "warploom/types/atomic.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

template <MemoryOrder order>
struct OrderText;
template <MemoryScope scope>
struct ScopeText;
template <Atomic operation>
struct AtomicText;
template <AtomicType type>
struct AtomicTypeText;

#define WARPLOOM_TEXT(Struct, value, text) \
  template <>                              \
  struct Struct<value> {                   \
    static constexpr char name[] = text;   \
  };
WARPLOOM_TEXT(OrderText, MemoryOrder::relaxed, "relaxed")
WARPLOOM_TEXT(OrderText, MemoryOrder::acquire, "acquire")
WARPLOOM_TEXT(OrderText, MemoryOrder::release, "release")
WARPLOOM_TEXT(OrderText, MemoryOrder::acq_rel, "acq_rel")
WARPLOOM_TEXT(ScopeText, MemoryScope::cta, "cta")
WARPLOOM_TEXT(ScopeText, MemoryScope::cluster, "cluster")
WARPLOOM_TEXT(ScopeText, MemoryScope::gpu, "gpu")
WARPLOOM_TEXT(ScopeText, MemoryScope::sys, "sys")
WARPLOOM_TEXT(AtomicText, Atomic::add, "add")
WARPLOOM_TEXT(AtomicText, Atomic::min, "min")
WARPLOOM_TEXT(AtomicText, Atomic::max, "max")
WARPLOOM_TEXT(AtomicText, Atomic::inc, "inc")
WARPLOOM_TEXT(AtomicText, Atomic::dec, "dec")
WARPLOOM_TEXT(AtomicText, Atomic::bit_and, "and")
WARPLOOM_TEXT(AtomicText, Atomic::bit_or, "or")
WARPLOOM_TEXT(AtomicText, Atomic::bit_xor, "xor")
WARPLOOM_TEXT(AtomicText, Atomic::exchange, "exch")
WARPLOOM_TEXT(AtomicText, Atomic::compare_exchange, "cas")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::u32, "u32")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::s32, "s32")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::u64, "u64")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::s64, "s64")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::b16, "b16")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::b32, "b32")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::b64, "b64")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::b128, "b128")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::f32, "f32")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::f64, "f64")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::f16, "noftz.f16")
WARPLOOM_TEXT(AtomicTypeText, AtomicType::bf16, "noftz.bf16")
#undef WARPLOOM_TEXT

/// What holds a T between registers and memory: an integer of its size.
template <size_t bytes>
struct RegisterOf;
template <>
struct RegisterOf<1> {
  using type = unsigned int;
};
template <>
struct RegisterOf<2> {
  using type = unsigned short;
};
template <>
struct RegisterOf<4> {
  using type = unsigned int;
};
template <>
struct RegisterOf<8> {
  using type = unsigned long long;
};
template <>
struct RegisterOf<16> {
  __extension__ typedef unsigned __int128 type;
};
template <class T>
using register_of = typename RegisterOf<sizeof(T)>::type;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
