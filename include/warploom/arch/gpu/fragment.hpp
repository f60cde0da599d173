// The GPU side of arch/fragment.hpp. Index it with constants, in unrolled loops: an index known at run time only would
// send it to local memory.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <class T, int count>
struct Fragment {
  static_assert(sizeof(T) == 4, "warploom: a fragment holds 32-bit registers");

  T registers[count];  // for arch only

  WARPLOOM_FN const T& operator[](int i) const noexcept { return registers[i]; }
  WARPLOOM_FN T& operator[](int i) noexcept { return registers[i]; }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
