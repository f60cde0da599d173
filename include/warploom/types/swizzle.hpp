// The shared-memory swizzles of TMA and of the tensor core (hardware.md §2.4). The permutation acts on the absolute
// shared-memory address.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// Numbered as in cuTensorMapEncodeTiled.
enum class Swizzle : uint8_t { none, b32, b64, b128, b128_atom32, b128_atom32_flip8, b128_atom64 };

/// Bytes of a row over which the pattern runs; rows of a swizzled box are always this far apart. 0: no swizzle.
WARPLOOM_CONST_FN uint32_t swizzle_span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    default: return 128;
  }
}

/// `line_shift` subtracts from the 128-byte line number first (a descriptor's base offset, §3.2).
WARPLOOM_CONST_FN uint32_t swizzle_address(Swizzle swizzle, uint32_t address, uint32_t line_shift = 0) {
  const uint32_t line = (address >> 7) - line_shift;
  switch (swizzle) {
    case Swizzle::none: return address;
    case Swizzle::b32: return address ^ ((line & 1) << 4);
    case Swizzle::b64: return address ^ ((line & 3) << 4);
    case Swizzle::b128: return address ^ ((line & 7) << 4);
    case Swizzle::b128_atom32: return address ^ ((line & 3) << 5);
    // Which lines flip is not confirmed by any source we could run (§8.2): odd lines assumed.
    case Swizzle::b128_atom32_flip8: return address ^ ((line & 3) << 5) ^ ((line & 1) << 3);
    case Swizzle::b128_atom64: return address ^ ((line & 1) << 6);
  }
  return address;
}

}  // namespace warploom
