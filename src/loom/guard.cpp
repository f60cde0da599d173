#include "loom/guard.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "loom/machine.hpp"

namespace warploom::loom {
namespace {

constexpr size_t alternate_stack_bytes = 64 * 1024;
// Ignored by default, so a stray one does no harm.
constexpr int watchdog_signal = SIGURG;

// What a thread of a kernel may do to itself: touch what is not there, divide by zero, trap.
#if WARPLOOM_ASAN
constexpr int fault_signals[] = {SIGSEGV};
#else
constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#endif
struct sigaction previous_fault_actions[std::size(fault_signals)];

const void* program_counter(void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  (void)context;
  return nullptr;
#endif
}

const void* stack_pointer(void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.sp);
#else
  (void)context;
  return nullptr;
#endif
}

bool was_write(void* context) {
#if defined(__x86_64__)
  constexpr greg_t write_bit = 2;  // of a page fault's error code
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
#else
  (void)context;
  return false;
#endif
}

// Where to go on if the stack that is walked is broken.
thread_local sigjmp_buf* walking = nullptr;

struct Walk {
  Interruption& found;
  const void* pc;  ///< where it begins; null: here
  bool begun;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const auto* at = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  if (!walk.begun) {  // the handler's own frames
    walk.begun = at == walk.pc;
    return _URC_NO_REASON;
  }
  if (at == nullptr || walk.found.depth == Interruption::most_frames) return _URC_END_OF_STACK;
  walk.found.frames[walk.found.depth++] = at;
  return _URC_NO_REASON;
}

void note_frames(Interruption& found, const Stack& stack, void* context) {
  Walk walk{found, context != nullptr ? program_counter(context) : nullptr, context == nullptr};
  if (context != nullptr) found.frames[found.depth++] = static_cast<const std::byte*>(walk.pc) + 1;
  _Unwind_Backtrace(&note_frame, &walk);
  if (found.depth != 1 || context == nullptr) return;
  // Of code that nothing is known about (a call through a null pointer, say), the caller is at the top of the stack.
  const auto* const top = static_cast<const std::byte*>(stack_pointer(context));
  if (top >= stack.bottom && top < stack.bottom + stack.bytes)
    found.frames[found.depth++] = *reinterpret_cast<const void* const*>(top);
}

/// Notes who called whom, from the interrupted place on; without a context, from here on. A kernel may have been in a
/// function of the C library, whose line nobody wants to read.
void walk_stack(Interruption& found, const Stack& stack, void* context) {
  sigjmp_buf broken;
  walking = &broken;
  if (sigsetjmp(broken, 0) == 0) note_frames(found, stack, context);
  walking = nullptr;
}

/// Leaves the running fiber for the scheduler and never comes back: the stack it leaves is dropped.
[[noreturn]] void abandon(Thread& thread, const Interruption& found, void* context) {
  Interruption& left = thread.cluster->interruption;
  left = found;
  walk_stack(left, thread.fiber.stack(), context);
  for (;;) thread.fiber.suspend();
}

Interruption::Kind kind_of(int signal, const std::byte* address, const Thread& thread) {
  if (signal != SIGSEGV && signal != SIGBUS) return Interruption::Kind::trap;
  const Stack stack = thread.fiber.stack();
  // A frame larger than the guard page may step over it; anything just below the stack counts.
  if (address < stack.bottom && address >= stack.bottom - stack_guard_bytes) return Interruption::Kind::stack_overrun;
  if (thread.cluster->aliases().holds(address)) return Interruption::Kind::plain_shared;
  return Interruption::Kind::bad_access;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (walking != nullptr) siglongjmp(*walking, 1);
  Thread* thread = Cluster::current();
  if (thread != nullptr) {
    Interruption found;
    found.kind = kind_of(signal, static_cast<const std::byte*>(info->si_addr), *thread);
    found.address = info->si_addr;
    found.write = was_write(context);
    // AddressSanitizer has its own word on everything but our windows.
    if (!WARPLOOM_ASAN || found.kind == Interruption::Kind::plain_shared) abandon(*thread, found, context);
  }
  if (!WARPLOOM_ASAN && detail::machine_fault != nullptr) siglongjmp(*detail::machine_fault, 1);
  // Not ours: the program's own handler, or a crash.
  for (size_t i = 0; i < std::size(fault_signals); ++i)
    if (fault_signals[i] == signal) sigaction(signal, &previous_fault_actions[i], nullptr);
}

void on_watchdog(int, siginfo_t*, void* context) {
  Thread* thread = Cluster::current();
  if (thread == nullptr) return;
  Interruption found;
  found.kind = Interruption::Kind::endless_loop;
  abandon(*thread, found, context);
}

void install() {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  // NODEFER: the handler does not return, so nothing would ever unblock the signal.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = &on_fault;
  for (size_t i = 0; i < std::size(fault_signals); ++i)
    sigaction(fault_signals[i], &action, &previous_fault_actions[i]);
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  action.sa_sigaction = &on_watchdog;
  sigaction(watchdog_signal, &action, nullptr);
}

}  // namespace

thread_local sigjmp_buf* detail::machine_fault = nullptr;

WorkerGuard::WorkerGuard() {
  static std::once_flag once;
  std::call_once(once, install);
  stack_ = mmap(nullptr, alternate_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {};
  stack.ss_sp = stack_;
  stack.ss_size = alternate_stack_bytes;
  sigaltstack(&stack, nullptr);
}

WorkerGuard::~WorkerGuard() {
  stack_t off = {};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
  munmap(stack_, alternate_stack_bytes);
}

Watchdog::Watchdog(double limit_seconds) : limit_(limit_seconds) {
  if (limit_seconds > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Heartbeat& Watchdog::enroll() {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_.emplace_back();
  worker.thread = pthread_self();
  worker.since = std::chrono::steady_clock::now();
  return worker.heartbeat;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  const auto pause = std::min<std::chrono::duration<double>>(limit_ / 4, std::chrono::milliseconds(250));
  while (!stop_signal_.wait_for(lock, pause, [this] { return stop_; })) {
    const auto now = std::chrono::steady_clock::now();
    for (Worker& worker : workers_) {
      const uint64_t beats = worker.heartbeat.beats.load(std::memory_order_relaxed);
      if (beats != worker.last || !worker.heartbeat.in_kernel.load(std::memory_order_relaxed)) {
        worker.last = beats;
        worker.since = now;
      } else if (now - worker.since > limit_) {
        pthread_kill(worker.thread, watchdog_signal);
        worker.since = now;
      }
    }
  }
}

}  // namespace warploom::loom
