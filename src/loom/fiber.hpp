// A thread of the loom is a fiber: its own stack with a guard page, and a context that jump_fcontext switches to.
// Fibers never change OS thread. A fiber that met an error is simply never resumed: nothing unwinds, because
// destructors would signal barriers of a dead machine.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace warploom::loom {

/// Unreachable memory below every stack.
inline constexpr size_t stack_guard_bytes = 64 * 1024;

struct Stack {
  std::byte* bottom = nullptr;  ///< lowest usable byte; the guard page lies below
  size_t bytes = 0;
};

/// Stacks of one worker, kept between clusters. When the worker ends, the next launch finds them again.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  Stack acquire();
  void release(Stack stack) { free_.push_back(stack); }

 private:
  std::vector<Stack> free_;
  std::vector<Stack> all_;
};

class Fiber {
 public:
  using Body = void (*)(void* argument);

  void create(Stack stack, Body body, void* argument);
  /// Scheduler side: runs the fiber until it suspends or its body returns.
  void resume();
  /// Fiber side: back to the scheduler.
  void suspend();
  /// It will not run again: takes the red zones that AddressSanitizer has in its frames off the stack.
  void forget();
  bool finished() const { return finished_; }
  Stack stack() const { return stack_; }

 private:
  static void trampoline(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t context_ = nullptr;    // where to resume the fiber
  boost::context::detail::fcontext_t scheduler_ = nullptr;  // where to return to
  Stack stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool finished_ = false;
  // Exception state of the fiber (__cxa_eh_globals), swapped at each switch.
  void* exceptions_[2] = {nullptr, nullptr};
  void* host_exceptions_[2] = {nullptr, nullptr};
  // AddressSanitizer's view of the two stacks; used only with it.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] void* host_fake_stack_ = nullptr;
  [[maybe_unused]] const void* host_bottom_ = nullptr;
  [[maybe_unused]] size_t host_bytes_ = 0;
};

}  // namespace warploom::loom
