// A thread of the loom is a fiber: its own stack with a guard page, and a context that is switched to. Fibers never
// change OS thread. A fiber that met an error is simply never resumed: nothing unwinds, because destructors would
// signal barriers of a dead machine.
//
// On x86-64 a switch is a few instructions of our own, expanded where a thread parks; elsewhere, and under
// AddressSanitizer, it is Boost's jump_fcontext. Ours saves no floating-point control words, which no kernel changes,
// and above all it returns through one function and not through six: returns on a stack that the processor did not call
// from are mispredicted, each for twenty cycles (docs/decisions.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define WARPLOOM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WARPLOOM_ASAN 1
#endif
#endif
#ifndef WARPLOOM_ASAN
#define WARPLOOM_ASAN 0
#endif
#if defined(__x86_64__) && !WARPLOOM_ASAN
#define WARPLOOM_OWN_SWITCH 1
#else
#define WARPLOOM_OWN_SWITCH 0
#endif

namespace warploom::loom {

struct Stack {
  std::byte* bottom = nullptr;  ///< lowest usable byte
  size_t bytes = 0;
  size_t guard = 0;  ///< unreachable bytes below, so that no frame steps over them into another stack
};

/// Stacks of one worker, kept between clusters. When the worker ends, the next launch finds them again.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  /// Throws bad_alloc where the process can have no more.
  Stack acquire();
  void release(Stack stack) { free_.push_back(stack); }

 private:
  std::vector<Stack> free_;
  std::vector<Stack> all_;
};

/// Gives back what is kept for the next launch: memory has run out.
void drop_spare_stacks();

namespace detail {

#if WARPLOOM_OWN_SWITCH
/// Notes where we are and goes on at `to`; comes back when somebody switches to what was noted. Pushes: the loom is
/// compiled without red zones.
[[gnu::always_inline]] inline void switch_place(void** save, void* to) {
  asm volatile(
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbp"
      : "+D"(save), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "memory", "cc");
}
#else
void switch_place(void** save, void* to);
#endif

}  // namespace detail

/// Exceptions being handled (__cxa_eh_globals).
struct Handling {
  void* exceptions[2] = {nullptr, nullptr};
  bool any() const { return exceptions[0] != nullptr || exceptions[1] != nullptr; }
};

class Fiber;

/// The worker's own stack, from which fibers are run.
class FiberHost {
 public:
  FiberHost();
  FiberHost(const FiberHost&) = delete;
  FiberHost& operator=(const FiberHost&) = delete;

 private:
  friend class Fiber;
  [[gnu::always_inline]] void switch_place(void** from, Handling& left, void* to, Handling& taken) {
    if (handling_ != 0 || current_->any()) [[unlikely]]
      swap(left, taken);
    detail::switch_place(from, to);
  }
  void swap(Handling& left, Handling& taken);

  Handling* current_;      ///< this OS thread's __cxa_eh_globals
  uint32_t handling_ = 0;  ///< stacks that were left while they handled an exception
  void* place_ = nullptr;
  Handling left_;
  Fiber* entering_ = nullptr;
  // AddressSanitizer's view of the stack; used only with it.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* bottom_ = nullptr;
  [[maybe_unused]] size_t bytes_ = 0;
};

/// Two words, so that a switch touches few cache lines; the rest is elsewhere.
class Fiber {
 public:
  using Body = void (*)(void* argument);
  /// Whether fibers may hand over to each other.
  static constexpr bool passes = !WARPLOOM_ASAN;

  void create(Stack stack, Body body, void* argument, FiberHost& host);
  /// Scheduler side: runs the fiber until it, or one that it has handed over to, suspends or is finished.
  void resume();
  /// Fiber side: back to the scheduler.
  void suspend();
  /// It will not run again: takes the red zones that AddressSanitizer has in its frames off the stack.
  void forget();
  /// Fiber side: the other one goes on in our place, and whoever resumed us will not notice.
  [[gnu::always_inline]] void pass_to(Fiber& next, FiberHost& host) {
    host.entering_ = &next;
    host.switch_place(&place_, rest_->left, next.place_, next.rest_->left);
  }
  /// What it will need when it goes on: the frames of the loom above the kernel's.
  void prefetch() const {
    const auto* place = static_cast<const std::byte*>(place_);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(place + 64 * line);
  }
  bool finished() const { return rest_->finished; }
  Stack stack() const { return rest_->stack; }

 private:
  [[noreturn]] static void main();

  struct Rest {
    FiberHost* host = nullptr;
    Handling left;
    bool finished = false;
    Stack stack;
    Body body = nullptr;
    void* argument = nullptr;
    [[maybe_unused]] void* fake_stack = nullptr;  // of AddressSanitizer
  };
  void* place_ = nullptr;
  std::unique_ptr<Rest> rest_;
};

}  // namespace warploom::loom
