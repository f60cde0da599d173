// What a bulk copy may do with the value it finds at its destination (hardware.md §2.8), instead of overwriting it.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// inc: old >= source ? 0 : old + 1. dec: old == 0 or old > source ? source : old - 1.
enum class Reduction : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

/// Elements of a reduction without tensor map. f16 and bf16 are the .noftz forms.
enum class ReductionType : uint8_t { u32, s32, u64, s64, f16, bf16, f32, f64, b32, b64, f32_ftz };

WARPLOOM_CONST_FN uint32_t size_of(ReductionType type) {
  switch (type) {
    case ReductionType::f16:
    case ReductionType::bf16: return 2;
    case ReductionType::u64:
    case ReductionType::s64:
    case ReductionType::f64:
    case ReductionType::b64: return 8;
    default: return 4;
  }
}

WARPLOOM_CONST_FN const char* name_of(Reduction operation) {
  constexpr const char* names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return names[static_cast<int>(operation)];
}

/// cp.reduce.async.bulk to global memory.
WARPLOOM_CONST_FN bool reduces_in_global(Reduction operation, ReductionType type) {
  using Type = ReductionType;
  switch (operation) {
    case Reduction::add:
      return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::f16 || type == Type::bf16 ||
             type == Type::f32 || type == Type::f64;
    case Reduction::min:
    case Reduction::max:
      return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64 || type == Type::f16 ||
             type == Type::bf16;
    case Reduction::inc:
    case Reduction::dec: return type == Type::u32;
    default: return type == Type::b32 || type == Type::b64;
  }
}

/// cp.reduce.async.bulk to the shared memory of a CTA of the cluster.
WARPLOOM_CONST_FN bool reduces_in_shared(Reduction operation, ReductionType type) {
  using Type = ReductionType;
  switch (operation) {
    case Reduction::add: return type == Type::u32 || type == Type::s32 || type == Type::u64;
    case Reduction::min:
    case Reduction::max: return type == Type::u32 || type == Type::s32;
    case Reduction::inc:
    case Reduction::dec: return type == Type::u32;
    default: return type == Type::b32;
  }
}

}  // namespace warploom
