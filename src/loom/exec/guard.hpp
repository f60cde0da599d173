// Ways in which a thread can fail without ever calling the loom: it overruns its stack, touches memory that is not
// there or shared memory in plain C++, aborts, ends the process, launches another kernel, or loops for ever. Signal
// handlers and the like turn them into findings: they note what happened and leave the fiber for the scheduler, for
// good.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csetjmp>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace warploom::loom {

/// What a handler leaves for the scheduler to report.
struct Interruption {
  enum class Kind : uint8_t {
    none,
    stack_overrun,
    bad_access,
    plain_shared,
    trap,
    raised,  ///< a signal that the thread sent itself
    aborted,
    exits,  ///< calls exit()
    launches,
    endless_loop
  };
  static constexpr uint32_t most_frames = 48;

  Kind kind = Kind::none;
  bool write = false;  ///< of an access
  int signal = 0;
  const void* address = nullptr;  ///< that was touched
  /// Where the thread was, innermost first, as return addresses are: each is one past what was executed.
  const void* frames[most_frames] = {};
  uint32_t depth = 0;
};

namespace detail {
/// Where to go on if the machine itself faults.
extern thread_local sigjmp_buf* machine_fault;
}  // namespace detail

/// The running thread, if one is: it has come to something that it does not come back from.
void leave_kernel_for_good(Interruption::Kind kind);

/// From now on, exit() in a thread of a kernel is a finding and not the end of the process. What was initialised since
/// the last call is destroyed first: to be called for every kernel once.
void watch_for_exit();

/// The machine itself, between two fibers, touches what a kernel has told it to. False where memory was not there: what
/// `operate` had begun is given up.
template <class Operate>
bool survives(Operate&& operate) {
  sigjmp_buf here;
  // It ends with this function, by an exception too.
  struct Ends {
    ~Ends() { detail::machine_fault = nullptr; }
  } ends;
  detail::machine_fault = &here;
  const bool first = sigsetjmp(here, 0) == 0;
  if (first) operate();
  return first;
}

/// One worker's sign of life.
struct Heartbeat {
  std::atomic<uint64_t> beats{0};
  std::atomic<bool> in_kernel{false};  ///< a fiber is running
  std::atomic<uint32_t> asked{0};      ///< how often the watchdog has asked since the last beat
};

/// The handlers are installed as long as there is one of these: while a launch runs. The last one puts back what was
/// there before, save where the program has installed something else meanwhile. What happens outside of kernels goes to
/// the handlers that were there before (docs/host.md).
class SignalHandlers {
 public:
  SignalHandlers();
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
};

/// Makes this worker thread ready for the handlers: an alternate signal stack, as a fiber's own may be full. Afterwards
/// the thread has its own again.
class WorkerGuard {
 public:
  WorkerGuard();
  ~WorkerGuard();
  WorkerGuard(const WorkerGuard&) = delete;
  WorkerGuard& operator=(const WorkerGuard&) = delete;
};

/// Interrupts workers whose fiber has made no loom call for `limit` seconds. Where the operating system makes no thread
/// for it, nobody is interrupted.
class Watchdog {
 public:
  explicit Watchdog(double limit_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Called by a worker, for itself.
  Heartbeat& enroll();

 private:
  struct Worker {
    pthread_t thread{};
    Heartbeat heartbeat;
    uint64_t last = 0;
    std::chrono::steady_clock::time_point since;
  };
  void watch();

  std::chrono::duration<double> limit_;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::list<Worker> workers_;
  std::thread thread_;
};

}  // namespace warploom::loom
