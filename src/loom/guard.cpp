#include "loom/guard.hpp"

#include <sys/mman.h>
#include <ucontext.h>

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
constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
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

/// Leaves the running fiber for the scheduler and never comes back: the stack it leaves is dropped.
[[noreturn]] void abandon(Thread& thread, Interruption::Kind kind, void* context) {
  thread.cluster->interruption = {kind, program_counter(context)};
  for (;;) thread.fiber.suspend();
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Thread* thread = Cluster::current();
  if (thread != nullptr) {
    const auto* address = static_cast<const std::byte*>(info->si_addr);
    const Stack stack = thread->fiber.stack();
    // A frame larger than the guard page may step over it; anything just below the stack counts.
    const bool overrun = address < stack.bottom && address >= stack.bottom - stack_guard_bytes;
    const bool access = signal == SIGSEGV || signal == SIGBUS;
    abandon(*thread,
            !access   ? Interruption::Kind::trap
            : overrun ? Interruption::Kind::stack_overrun
                      : Interruption::Kind::bad_access,
            context);
  }
  if (detail::machine_fault != nullptr) siglongjmp(*detail::machine_fault, 1);
  // Not ours: the program's own handler, or a crash.
  for (size_t i = 0; i < std::size(fault_signals); ++i)
    if (fault_signals[i] == signal) sigaction(signal, &previous_fault_actions[i], nullptr);
}

void on_watchdog(int, siginfo_t*, void* context) {
  Thread* thread = Cluster::current();
  if (thread != nullptr) abandon(*thread, Interruption::Kind::endless_loop, context);
}

void install() {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  // NODEFER: the handler does not return, so nothing would ever unblock the signal.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
#if !defined(__SANITIZE_ADDRESS__)
  action.sa_sigaction = &on_fault;
  for (size_t i = 0; i < std::size(fault_signals); ++i)
    sigaction(fault_signals[i], &action, &previous_fault_actions[i]);
#else
  (void)on_fault;
#endif
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
