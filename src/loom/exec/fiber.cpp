#include "loom/exec/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#if !WARPLOOM_OWN_SWITCH
#include <boost/context/detail/fcontext.hpp>
#endif

#if WARPLOOM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace warploom::loom {
namespace {

// Epilogue threads keep a tile row in "registers", which live on this stack; sanitizer builds spread locals wider.
constexpr size_t stack_bytes = WARPLOOM_ASAN ? 512 * 1024 : 128 * 1024;

/// Below every stack. It is address space and nothing else; where that is limited, still more than a thread's local
/// memory may be on a GPU (512 KiB). With it, stacks are an odd number of pages apart, or they would all need the same
/// few sets of the TLB: 3 % of a GEMM of 2048 on sm_100.
size_t guard_bytes() {
  static const size_t bytes = [] {
    constexpr size_t mebibyte = 1024 * 1024;
    rlimit limit = {};
    const bool limited = getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
    return (limited ? mebibyte : 16 * mebibyte) + 4096;
  }();
  return bytes;
}

void unmap(const Stack& stack) { munmap(stack.bottom - stack.guard, stack.guard + stack.bytes); }

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
  bool keep(const Stack& stack) noexcept {
    const std::lock_guard lock(mutex_);
    if (stacks_.size() >= std::min(enough, stacks_.capacity())) return false;
    stacks_.push_back(stack);
    return true;
  }
  void drop() noexcept {
    const std::lock_guard lock(mutex_);
    for (const Stack& stack : stacks_) unmap(stack);
    stacks_.clear();
  }

 private:
  static constexpr size_t enough = 2048;  // two clusters of four CTAs of 256 threads

  SpareStacks() { stacks_.reserve(enough); }

  std::mutex mutex_;
  std::vector<Stack> stacks_;
};

/// Stacks begin at the same place of a page. Were they all used from there, the few lines that every thread of a
/// cluster touches at each switch would crowd the same sets of the caches.
size_t colour_of(const Stack& stack) {
  constexpr size_t line = 64, page = 4096;
  return reinterpret_cast<uintptr_t>(stack.bottom) / (stack.bytes + stack.guard) * (5 * line) % page;
}

// The fiber that a switch goes to for the first time finds itself here.
thread_local FiberHost* this_host = nullptr;

}  // namespace

Stack StackPool::acquire() {
  if (!free_.empty()) {
    Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }
  // Room for what comes back: neither a cluster's end nor ours has memory to ask for.
  if (all_.size() == all_.capacity()) all_.reserve(std::max<size_t>(64, 2 * all_.size()));
  free_.reserve(all_.capacity());
  if (Stack stack; SpareStacks::instance().take(stack)) {
    all_.push_back(stack);
    return stack;
  }
  const size_t guard = guard_bytes();
  void* memory =
      mmap(nullptr, guard + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED ||
      mprotect(static_cast<std::byte*>(memory) + guard, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
    if (memory != MAP_FAILED) munmap(memory, guard + stack_bytes);
    throw std::bad_alloc();
  }
  Stack stack{static_cast<std::byte*>(memory) + guard, stack_bytes, guard};
  all_.push_back(stack);
  return stack;
}

StackPool::~StackPool() {
  for (const Stack& stack : all_)
    if (!SpareStacks::instance().keep(stack)) unmap(stack);
}

void drop_spare_stacks() { SpareStacks::instance().drop(); }

FiberHost::FiberHost() : current_(reinterpret_cast<Handling*>(abi::__cxa_get_globals())) { this_host = this; }

void FiberHost::swap(Handling& left, Handling& taken) {
  if (taken.any()) --handling_;
  left = *current_;
  if (left.any()) ++handling_;
  *current_ = taken;
  taken = {};
}

#if WARPLOOM_OWN_SWITCH

namespace {

/// As if `main` had been called: its address for the first switch to pop, and a return address that it never uses.
void* begin_at(void (*main)(), const Stack& stack) {
  auto* top = reinterpret_cast<void**>(stack.bottom + stack.bytes - colour_of(stack));
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(main);
  return top;
}

}  // namespace

#else

namespace context = boost::context::detail;

void detail::switch_place(void** save, void* to) {
  const context::transfer_t back = context::jump_fcontext(to, save);
  *static_cast<void**>(back.data) = back.fctx;
}

namespace {

thread_local void (*fiber_main)() = nullptr;

void* begin_at(void (*main)(), const Stack& stack) {
  fiber_main = main;
  const size_t used = stack.bytes - colour_of(stack);
  return context::make_fcontext(stack.bottom + used, used, [](context::transfer_t transfer) {
    *static_cast<void**>(transfer.data) = transfer.fctx;
    fiber_main();
  });
}

}  // namespace

#endif

void Fiber::forget() {
#if WARPLOOM_ASAN
  // Frames below where it was suspended have returned and taken their marks with them. One that a signal interrupted is
  // suspended on another stack: then nobody knows how deep it was.
  auto* from = static_cast<std::byte*>(place_);
  if (from < rest_->stack.bottom || from >= rest_->stack.bottom + rest_->stack.bytes) from = rest_->stack.bottom;
  __asan_unpoison_memory_region(from, static_cast<size_t>(rest_->stack.bottom + rest_->stack.bytes - from));
#endif
}

void Fiber::create(Stack stack, Body body, void* argument, FiberHost& host) {
  rest_ = std::make_unique<Rest>();
  rest_->host = &host;
  rest_->stack = stack;
  rest_->body = body;
  rest_->argument = argument;
  place_ = begin_at(&Fiber::main, stack);
}

void Fiber::main() {
  Fiber& fiber = *this_host->entering_;
  Rest& rest = *fiber.rest_;
  FiberHost& host = *rest.host;
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &host.bottom_, &host.bytes_);
#endif
  rest.body(rest.argument);
  rest.finished = true;
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(nullptr, host.bottom_, host.bytes_);
#endif
  for (;;) host.switch_place(&fiber.place_, rest.left, host.place_, host.left_);
}

void Fiber::resume() {
  FiberHost& host = *rest_->host;
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(&host.fake_stack_, rest_->stack.bottom, rest_->stack.bytes);
#endif
  this_host = &host;  // a worker has several where grids overlap
  host.entering_ = this;
  host.switch_place(&host.place_, host.left_, place_, rest_->left);
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(host.fake_stack_, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  FiberHost& host = *rest_->host;
#if WARPLOOM_ASAN
  __sanitizer_start_switch_fiber(&rest_->fake_stack, host.bottom_, host.bytes_);
#endif
  host.switch_place(&place_, rest_->left, host.place_, host.left_);
#if WARPLOOM_ASAN
  __sanitizer_finish_switch_fiber(rest_->fake_stack, &host.bottom_, &host.bytes_);
#endif
}

}  // namespace warploom::loom
