#include "loom/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

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

#if WARPLOOM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace warploom::loom {
namespace {

namespace context = boost::context::detail;

// Epilogue threads keep a tile row in "registers", which live on this stack; sanitizer builds spread locals wider.
constexpr size_t stack_bytes = WARPLOOM_ASAN ? 512 * 1024 : 128 * 1024;

/// Stacks that no worker has. To map, touch and unmap them takes longer than a small kernel runs.
class SpareStacks {
 public:
  static SpareStacks& instance() {
    static auto* stacks = new SpareStacks;  // never destroyed: a launch may outlive other statics
    return *stacks;
  }

  bool take(Stack& stack) {
    const std::lock_guard lock(mutex_);
    if (stacks_.empty()) return false;
    stack = stacks_.back();
    stacks_.pop_back();
    return true;
  }
  /// False where there are enough of them.
  bool keep(const Stack& stack) {
    const std::lock_guard lock(mutex_);
    if (stacks_.size() >= enough) return false;
    stacks_.push_back(stack);
    return true;
  }

 private:
  static constexpr size_t enough = 2048;  // two clusters of four CTAs of 256 threads

  std::mutex mutex_;
  std::vector<Stack> stacks_;
};

void swap_exceptions(void** save, void** load) {
  void* globals = abi::__cxa_get_globals();
  std::memcpy(save, globals, 2 * sizeof(void*));
  std::memcpy(globals, load, 2 * sizeof(void*));
}

}  // namespace

Stack StackPool::acquire() {
  if (!free_.empty()) {
    Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }
  if (Stack stack; SpareStacks::instance().take(stack)) {
    all_.push_back(stack);
    return stack;
  }
  constexpr size_t guard = stack_guard_bytes;
  void* memory = mmap(nullptr, guard + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE) != 0) {
    std::fputs("warploom: no memory for the stacks of the loom's threads\n", stderr);
    std::abort();
  }
  Stack stack{static_cast<std::byte*>(memory) + guard, stack_bytes};
  all_.push_back(stack);
  return stack;
}

StackPool::~StackPool() {
  for (const Stack& stack : all_)
    if (!SpareStacks::instance().keep(stack)) munmap(stack.bottom - stack_guard_bytes, stack_guard_bytes + stack.bytes);
}

void Fiber::create(Stack stack, Body body, void* argument) {
  stack_ = stack;
  body_ = body;
  argument_ = argument;
  finished_ = false;
  exceptions_[0] = exceptions_[1] = nullptr;
  context_ = context::make_fcontext(stack.bottom + stack.bytes, stack.bytes, &Fiber::trampoline);
}

void Fiber::forget() {
#if WARPLOOM_ASAN
  // Frames below where it was suspended have returned and taken their marks with them. One that a signal interrupted is
  // suspended on another stack: then nobody knows how deep it was.
  auto* from = static_cast<std::byte*>(context_);
  if (from < stack_.bottom || from >= stack_.bottom + stack_.bytes) from = stack_.bottom;
  __asan_unpoison_memory_region(from, static_cast<size_t>(stack_.bottom + stack_.bytes - from));
#endif
}

void Fiber::trampoline(context::transfer_t transfer) {
  auto* fiber = static_cast<Fiber*>(transfer.data);
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->host_bottom_, &fiber->host_bytes_);
#endif
  fiber->scheduler_ = transfer.fctx;
  fiber->body_(fiber->argument_);
  fiber->finished_ = true;
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(nullptr, fiber->host_bottom_, fiber->host_bytes_);
#endif
  context::jump_fcontext(fiber->scheduler_, nullptr);
}

void Fiber::resume() {
  swap_exceptions(host_exceptions_, exceptions_);
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(&host_fake_stack_, stack_.bottom, stack_.bytes);
#endif
  const context::transfer_t back = context::jump_fcontext(context_, this);
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
#endif
  context_ = back.fctx;
  swap_exceptions(exceptions_, host_exceptions_);
}

void Fiber::suspend() {
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, host_bottom_, host_bytes_);
#endif
  const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &host_bottom_, &host_bytes_);
#endif
  scheduler_ = back.fctx;
}

}  // namespace warploom::loom
