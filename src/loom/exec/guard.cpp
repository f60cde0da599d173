#include "loom/exec/guard.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>

#include "loom/exec/cluster.hpp"
#include "loom/exec/per_thread.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {
namespace {

constexpr size_t alternate_stack_bytes = 64 * 1024;
// Ignored by default, so a stray one does no harm.
constexpr int watchdog_signal = SIGURG;

// What a thread of a kernel may do to itself: touch what is not there, divide by zero, trap, abort.
#if WARPLOOM_ASAN
constexpr int fault_signals[] = {SIGSEGV, SIGABRT};
#else
constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
#endif
constexpr size_t fault_count = std::size(fault_signals);
constexpr size_t signal_count = fault_count + 1;
constexpr int signal_of(size_t index) { return index < fault_count ? fault_signals[index] : watchdog_signal; }

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
[[noreturn]] void abandon(Thread& thread, const Interruption& found) {
  thread.cluster->interruption = found;
  for (;;) thread.fiber.suspend();
}

/// A thread that is left inside malloc takes its locks along, and the machine would wait for them for ever.
bool in_allocator(const Interruption& found) {
  static constexpr std::string_view names[] = {
      "malloc",        "free",           "calloc",         "realloc",         "reallocarray", "memalign",
      "aligned_alloc", "posix_memalign", "valloc",         "pvalloc",         "cfree",        "__libc_malloc",
      "__libc_free",   "__libc_calloc",  "__libc_realloc", "__libc_memalign", "__libc_valloc"};
  for (uint32_t i = 0; i < found.depth; ++i) {
    Dl_info info;
    const auto* at = static_cast<const std::byte*>(found.frames[i]) - 1;
    if (dladdr(at, &info) == 0 || info.dli_sname == nullptr) continue;
    std::string_view symbol = info.dli_sname;
    if (WARPLOOM_ASAN) {  // its own malloc, operator new and delete
      if (const size_t prefix = symbol.find("interceptor_"); prefix != std::string_view::npos)
        symbol.remove_prefix(prefix + std::strlen("interceptor_"));
      if (symbol.starts_with("_Zn") || symbol.starts_with("_Zd")) return true;
    }
    if (std::find(std::begin(names), std::end(names), symbol) != std::end(names)) return true;
  }
  return false;
}

Interruption::Kind kind_of(int signal, const siginfo_t& info, const std::byte* top, const Thread& thread) {
  using Kind = Interruption::Kind;
  if (signal == SIGABRT) return Kind::aborted;
  if (info.si_code <= 0) return Kind::raised;
  if (signal != SIGSEGV && signal != SIGBUS) return Kind::trap;
  const auto* const address = static_cast<const std::byte*>(info.si_addr);
  const Stack stack = thread.fiber.stack();
  if (address < stack.bottom && address >= stack.bottom - stack.guard) return Kind::stack_overrun;
  if (thread.cluster->aliases().holds(address)) return Kind::plain_shared;
  // A frame that is larger than all of the guard.
  constexpr ptrdiff_t large = ptrdiff_t{1} << 30;
  if (top < stack.bottom && top >= stack.bottom - large) return Kind::stack_overrun;
  return Kind::bad_access;
}

/// What the program had installed before us for one signal, and before that. Handlers read it at any time: an entry
/// does not change once it is known.
struct Earlier {
  struct Entry {
    struct sigaction action = {};
    const Entry* older = nullptr;
  };

  const Entry* newest() const { return newest_.load(std::memory_order_acquire); }
  void remember(const struct sigaction& action);

 private:
  static constexpr size_t most = 16;
  std::array<Entry, most> entries_ = {};
  size_t used_ = 0;
  std::atomic<const Entry*> newest_ = nullptr;
};
std::array<Earlier, signal_count> earlier;

bool same_handler(const struct sigaction& x, const struct sigaction& y) {
  if ((x.sa_flags & SA_SIGINFO) != (y.sa_flags & SA_SIGINFO)) return false;
  return (x.sa_flags & SA_SIGINFO) != 0 ? x.sa_sigaction == y.sa_sigaction : x.sa_handler == y.sa_handler;
}

bool same_action(const struct sigaction& x, const struct sigaction& y) {
  constexpr int kept = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER | SA_ONSTACK | SA_RESETHAND | SA_RESTART | SA_SIGINFO;
  return same_handler(x, y) && (x.sa_flags & kept) == (y.sa_flags & kept) &&
         std::memcmp(&x.sa_mask, &y.sa_mask, sizeof(x.sa_mask)) == 0;
}

void Earlier::remember(const struct sigaction& action) {
  // A program that changes between few handlers must not use up the room.
  for (size_t i = 0; i < used_; ++i)
    if (same_action(entries_[i].action, action)) return newest_.store(&entries_[i], std::memory_order_release);
  if (used_ == most) used_ = most - 1;
  Entry& entry = entries_[used_++];
  entry = {action, &entry == newest() ? nullptr : newest()};
  newest_.store(&entry, std::memory_order_release);
}

/// A call of an earlier handler that has not come back.
struct HandedOn {
  const Earlier::Entry* to = nullptr;
  const void* context = nullptr;
  const std::byte* frame = nullptr;
};
thread_local std::array<HandedOn, signal_count> handed_on;

void by_default(int signal, bool sent) {
  if (signal == SIGURG) return;  // ignored
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  // What faults does so again; what was sent, or goes on behind its trap, does not.
  if (sent || signal == SIGTRAP) raise(signal);
}

/// The signal is none of ours: to the handler that was there before, as if we were not.
void hand_on(int signal, siginfo_t* info, void* context) {
  size_t index = 0;
  while (index < signal_count && signal_of(index) != signal) ++index;
  const bool sent = info->si_code <= 0;
  const Earlier::Entry* to = earlier[index].newest();
  // A handler that was installed over ours and hands on to it is also what was there before our next installation. It
  // has our argument then and stands further down the same stack; one that never came back, by a longjmp, does not.
  const auto* const frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  HandedOn& mine = handed_on[index];
  if (mine.to != nullptr && mine.context == context && frame < mine.frame) to = mine.to->older;
  if (to == nullptr) return by_default(signal, sent);
  const struct sigaction& action = to->action;
  const bool takes_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (!takes_info && action.sa_handler == SIG_IGN && (sent || signal == SIGURG)) return;
  if (!takes_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) return by_default(signal, sent);
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    struct sigaction once = {};
    once.sa_handler = SIG_DFL;
    sigaction(signal, &once, nullptr);
  }
  sigset_t blocked = action.sa_mask, before;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const HandedOn outer = mine;
  mine = {to, context, frame};
  if (takes_info)
    action.sa_sigaction(signal, info, context);
  else
    action.sa_handler(signal);
  mine = outer;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// From a handler, where nothing can be formatted.
void say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;
  if (walking != nullptr && !sent) siglongjmp(*walking, 1);
  Thread* thread = Cluster::current();
  if (thread == nullptr && detail::machine_fault != nullptr && !sent) siglongjmp(*detail::machine_fault, 1);
  if (thread == nullptr || (sent && info->si_pid != getpid())) return hand_on(signal, info, context);
  Interruption found;
  found.signal = signal;
  found.kind = kind_of(signal, *info, static_cast<const std::byte*>(stack_pointer(context)), *thread);
  found.address = info->si_addr;
  found.write = was_write(context);
  // AddressSanitizer has its own word on everything but our windows.
  if (WARPLOOM_ASAN && found.kind != Interruption::Kind::plain_shared && found.kind != Interruption::Kind::aborted)
    return hand_on(signal, info, context);
  walk_stack(found, thread->fiber.stack(), context);
  if (in_allocator(found)) {
    say("warploom: a thread of the kernel failed inside malloc or free; what it broke the machine needs, too, so that "
        "there is no report\n");
    return hand_on(signal, info, context);
  }
  abandon(*thread, found);
}

/// Does the thread sleep in the operating system? It would wake up early if its signal were only noted.
bool asleep(void* context) {
#if defined(__x86_64__)
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RAX] == -EINTR;
#else
  (void)context;
  return true;
#endif
}

bool in_runtime_library(const void* pc) {
  Dl_info info;
  return dladdr(pc, &info) != 0 && info.dli_fname != nullptr && is_runtime_library(info.dli_fname);
}

void on_watchdog(int signal, siginfo_t* info, void* context) {
  Thread* thread = Cluster::current();
  if (walking != nullptr) return;
  if (thread == nullptr || thread->cluster->heartbeat().asked.load(std::memory_order_relaxed) == 0)
    return hand_on(signal, info, context);  // it is none of ours, or came late
  Interruption found;
  found.kind = Interruption::Kind::endless_loop;
  walk_stack(found, thread->fiber.stack(), context);
  // A function of the C library may hold a lock. The watchdog asks again, until the loop itself is met.
  constexpr uint32_t patience = 200;
  if (in_allocator(found)) return;
  if (in_runtime_library(program_counter(context)) && !asleep(context) &&
      thread->cluster->heartbeat().asked.load(std::memory_order_relaxed) < patience)
    return;
  abandon(*thread, found);
}

/// exit() runs its handlers on the stack of whoever calls it.
void on_exit_call() {
  if (Cluster::current() == nullptr) return;
#if defined(__GLIBC__)
  // From 2.41 on, exit() keeps a lock, and the program could never end once we have left.
  int major = 0, minor = 0;
  const bool keeps_lock = std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) != 2 || major > 2 || minor >= 41;
#else
  const bool keeps_lock = true;
#endif
  if (keeps_lock && gettid() != getpid()) {
    say("warploom: a thread of the kernel called exit(); device code cannot end the program. There is no report\n");
    _exit(EXIT_FAILURE);
  }
  leave_kernel_for_good(Interruption::Kind::exits);
}

struct sigaction action_of(size_t index) {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  // NODEFER: the handler does not return, so nothing would ever unblock the signal.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | (index < fault_count ? SA_ONSTACK : SA_RESTART);
  action.sa_sigaction = index < fault_count ? &on_fault : &on_watchdog;
  return action;
}

struct Installed {
  std::mutex mutex;
  uint64_t launches = 0;
};
Installed& installed() {
  static auto* const state = new Installed;  // never destroyed: exit() in a kernel ends no launch
  return *state;
}

}  // namespace

SignalHandlers::SignalHandlers() {
  const std::lock_guard lock(installed().mutex);
  if (installed().launches++ != 0) return;
  for (size_t i = 0; i < signal_count; ++i) {
    struct sigaction before = {};
    const struct sigaction ours = action_of(i);
    // Before ours is there: it may be needed at once.
    sigaction(signal_of(i), nullptr, &before);
    if (!same_handler(before, ours)) earlier[i].remember(before);
    sigaction(signal_of(i), &ours, nullptr);
  }
}

SignalHandlers::~SignalHandlers() {
  const std::lock_guard lock(installed().mutex);
  if (--installed().launches != 0) return;
  for (size_t i = 0; i < signal_count; ++i) {
    struct sigaction now = {};
    sigaction(signal_of(i), nullptr, &now);
    const Earlier::Entry* const before = earlier[i].newest();
    if (before != nullptr && same_handler(now, action_of(i))) sigaction(signal_of(i), &before->action, nullptr);
  }
}

thread_local sigjmp_buf* detail::machine_fault = nullptr;

bool in_kernel() noexcept { return Cluster::current() != nullptr; }

void leave_kernel_for_good(Interruption::Kind kind) {
  Thread* thread = Cluster::current();
  if (thread == nullptr) return;
  Interruption found;
  found.kind = kind;
  walk_stack(found, thread->fiber.stack(), nullptr);
  abandon(*thread, found);
}

void watch_for_exit() {
  std::atexit(&on_exit_call);
  std::at_quick_exit(&on_exit_call);
}

namespace {
/// Where clusters start early, a thread has several guards, and they end in any order.
struct AlternateStack {
  uint32_t guards = 0;
  void* memory = nullptr;
  stack_t before = {};  ///< the thread's own
};
thread_local AlternateStack alternate_stack;
}  // namespace

WorkerGuard::WorkerGuard() {
  AlternateStack& alternate = alternate_stack;
  if (alternate.guards == 0) {
    void* const memory =
        mmap(nullptr, alternate_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    alternate.memory = memory;
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = alternate_stack_bytes;
    sigaltstack(&stack, &alternate.before);
  }
  ++alternate.guards;
}

WorkerGuard::~WorkerGuard() {
  AlternateStack& alternate = alternate_stack;
  if (--alternate.guards != 0) return;
  sigaltstack(&alternate.before, nullptr);
  munmap(alternate.memory, alternate_stack_bytes);
}

Watchdog::Watchdog(double limit_seconds) : limit_(limit_seconds) {
  if (limit_seconds <= 0) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no more threads
  }
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
  bool hurry = false;  // somebody was asked, and may have to be asked again
  while (!stop_signal_.wait_for(lock, hurry ? std::chrono::milliseconds(2) : pause, [this] { return stop_; })) {
    const auto now = std::chrono::steady_clock::now();
    hurry = false;
    for (Worker& worker : workers_) {
      const uint64_t beats = worker.heartbeat.beats.load(std::memory_order_relaxed);
      if (beats != worker.last || !worker.heartbeat.in_kernel.load(std::memory_order_relaxed)) {
        worker.last = beats;
        worker.since = now;
        worker.heartbeat.asked = 0;
      } else if (now - worker.since > limit_) {
        ++worker.heartbeat.asked;
        pthread_kill(worker.thread, watchdog_signal);
        hurry = true;
      }
    }
  }
}

}  // namespace warploom::loom
