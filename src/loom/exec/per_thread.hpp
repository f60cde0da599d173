// An object of each OS thread, for its caches. exit() destroys the objects of the thread that calls it. If that is a
// thread of a kernel, the machine goes on (guard.hpp), and these stay what they are.
//
//   thread_local PerThread<std::vector<Block>> blocks;
//   blocks->push_back(block);
#pragma once

#include <cstddef>
#include <new>

namespace warploom::loom {

bool in_kernel() noexcept;  ///< a thread of a kernel is running

template <class T>
class PerThread {
 public:
  PerThread() { new (bytes_) T; }
  ~PerThread() {
    if (!in_kernel()) (*this)->~T();
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  T* operator->() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  T& operator*() { return *operator->(); }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace warploom::loom
