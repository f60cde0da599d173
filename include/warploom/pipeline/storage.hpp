// What rings keep in shared memory, under the seed's names.
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

using SharedMemBarrier = arch::Mbarrier;
using MbarPtr = SharedMemBarrier*;

/// A typed array in shared memory.
template <class T, int count>
struct SMemArray {
  T data[count];

  static constexpr int size = count;
  WARPLOOM_FN T* ptr() noexcept { return data; }
  WARPLOOM_FN T* operator[](int i) noexcept { return data + i; }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
