// What rings keep in shared memory, under the original's names. Kernels put these into their storage structs.
//
//   struct Storage { SMemArray<SharedMemBarrier, 2 * stages> barriers; };
//   MbarPtr full = storage.barriers[i], empty = storage.barriers[stages + i];
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

using SharedMemBarrier = arch::Mbarrier;
using MbarPtr = SharedMemBarrier*;

/// A full barrier that releasing its stage commits to: a commit written out before the release is that same one.
struct CommittedBarrier {
  MbarPtr barrier;
  WARPLOOM_FN operator MbarPtr() const noexcept { return barrier; }
};

/// A typed array in shared memory.
template <class T, int count>
struct SMemArray {
  T data[count];

  static constexpr int size = count;
  WARPLOOM_FN T* ptr() noexcept { return data; }
  WARPLOOM_FN T* operator[](int i) noexcept { return data + i; }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
