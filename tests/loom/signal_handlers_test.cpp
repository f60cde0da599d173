// The host's signal handlers before, during and after launches.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {
namespace {

// AddressSanitizer keeps the others (src/loom/exec/guard.cpp).
#if defined(__SANITIZE_ADDRESS__)
constexpr int signals[] = {SIGSEGV, SIGABRT, SIGURG};
#else
constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGURG};
#endif

void nothing(const void*) {}

/// A launch of some clusters; `between` is called after each, on the host's side of things.
Outcome launch_with(std::function<void()> between = {}) {
  Options options;
  options.workers = 1;
  if (between) options.progress = [between](uint32_t, uint32_t) { between(); };
  return launch({.kernel = "nothing", .grid = {3}, .cluster = {1}, .threads = 32}, &nothing, nullptr, {}, options);
}

volatile std::sig_atomic_t first_calls = 0, second_calls = 0;
sigjmp_buf recovery;
struct sigaction below_second;

void count_first(int, siginfo_t*, void*) { first_calls = first_calls + 1; }
void recover(int, siginfo_t*, void*) {
  first_calls = first_calls + 1;
  siglongjmp(recovery, 1);
}
/// Counts, and hands on to what was there when it was installed.
void count_and_hand_on(int signal, siginfo_t* info, void* context) {
  second_calls = second_calls + 1;
  if ((below_second.sa_flags & SA_SIGINFO) != 0) below_second.sa_sigaction(signal, info, context);
}

using Handler = void (*)(int, siginfo_t*, void*);

struct sigaction action_with(Handler handler) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGUSR1);
  return action;
}

/// The test's own handlers; the program's are back when it ends.
class SignalHandlersTest : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], nullptr, &before_[i]);
    first_calls = 0;
    second_calls = 0;
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  static void install(int signal, Handler handler, struct sigaction* old = nullptr) {
    const struct sigaction action = action_with(handler);
    sigaction(signal, &action, old);
  }
  static Handler installed(int signal) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    return (action.sa_flags & SA_SIGINFO) != 0 ? action.sa_sigaction : nullptr;
  }

 private:
  struct sigaction before_[std::size(signals)];
};

TEST_F(SignalHandlersTest, AreBackAfterALaunch) {
  for (int signal : signals) install(signal, &count_first);
  ASSERT_TRUE(launch_with([] {
                for (int signal : signals) EXPECT_NE(installed(signal), &count_first) << strsignal(signal);
              }).ok());
  for (int signal : signals) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_sigaction, &count_first) << strsignal(signal);
    EXPECT_EQ(now.sa_flags & (SA_SIGINFO | SA_RESTART | SA_NODEFER | SA_ONSTACK), SA_SIGINFO | SA_RESTART);
    EXPECT_TRUE(sigismember(&now.sa_mask, SIGUSR1));
    EXPECT_FALSE(sigismember(&now.sa_mask, SIGUSR2));
  }
}

TEST_F(SignalHandlersTest, DefaultsAreBackAfterALaunch) {
  for (int signal : signals) std::signal(signal, SIG_DFL);
  ASSERT_TRUE(launch_with().ok());
  for (int signal : signals) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << strsignal(signal);
  }
}

TEST_F(SignalHandlersTest, TheHostsFaultsAreTheHostsDuringALaunchToo) {
  install(SIGSEGV, &recover);
  int recovered = 0;
  const auto fault = [&] {
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(recovery, 1) == 0)
      *static_cast<volatile int*>(page) = 1;
    else
      ++recovered;
    munmap(page, 4096);
  };
  // Each time: no recovery that came by a longjmp is taken for a handler that is still running.
  ASSERT_TRUE(launch_with(fault).ok());
  EXPECT_EQ(recovered, 3);
  EXPECT_EQ(first_calls, 3);
  fault();
  EXPECT_EQ(first_calls, 4);
}

TEST_F(SignalHandlersTest, ASignalThatIsSentGoesToTheHost) {
  for (int signal : {SIGSEGV, SIGFPE, SIGTRAP, SIGURG}) {
    first_calls = 0;
    install(signal, &count_first);
    ASSERT_TRUE(launch_with([signal] { raise(signal); }).ok());
    EXPECT_EQ(first_calls, 3) << strsignal(signal);
    raise(signal);
    EXPECT_EQ(first_calls, 4) << strsignal(signal);
  }
}

TEST_F(SignalHandlersTest, TheHostsMaskHoldsInItsHandler) {
  static volatile std::sig_atomic_t blocked = 0;
  install(
      SIGFPE, +[](int, siginfo_t*, void*) {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked = sigismember(&mask, SIGUSR1) + 2 * sigismember(&mask, SIGFPE) + 4 * sigismember(&mask, SIGUSR2);
      });
  ASSERT_TRUE(launch_with([] { raise(SIGFPE); }).ok());
  EXPECT_EQ(blocked, 3);
}

TEST_F(SignalHandlersTest, WhatTheHostInstallsDuringALaunchStays) {
  install(SIGSEGV, &count_first);
  ASSERT_TRUE(launch_with([] { install(SIGSEGV, &count_and_hand_on, &below_second); }).ok());
  EXPECT_EQ(installed(SIGSEGV), &count_and_hand_on);
}

TEST_F(SignalHandlersTest, AHandlerOverOursHandsOnToTheOneBelow) {
  install(SIGSEGV, &count_first);
  bool first = true;
  ASSERT_TRUE(launch_with([&] {
                if (std::exchange(first, false)) install(SIGSEGV, &count_and_hand_on, &below_second);
              }).ok());
  raise(SIGSEGV);  // no launch runs, and ours is still asked
  EXPECT_EQ(second_calls, 1);
  EXPECT_EQ(first_calls, 1);
  // Now ours is over it and under it.
  ASSERT_TRUE(launch_with([] { raise(SIGSEGV); }).ok());
  EXPECT_EQ(second_calls, 4);
  EXPECT_EQ(first_calls, 4);
  EXPECT_EQ(installed(SIGSEGV), &count_and_hand_on);
}

TEST_F(SignalHandlersTest, ManyDifferentHandlersInTurn) {
  const Handler handlers[] = {&count_first, &recover, &count_and_hand_on};
  for (int i = 0; i < 100; ++i) {
    install(SIGBUS, handlers[i % 3]);
    ASSERT_TRUE(launch_with().ok());
    ASSERT_EQ(installed(SIGBUS), handlers[i % 3]) << i;
  }
}

TEST_F(SignalHandlersTest, TheThreadsAlternateStackIsBack) {
  std::vector<std::byte> memory(64 * 1024);
  stack_t mine = {}, before = {}, now = {};
  mine.ss_sp = memory.data();
  mine.ss_size = memory.size();
  sigaltstack(&mine, &before);
  ASSERT_TRUE(launch_with().ok());
  sigaltstack(&before, &now);
  EXPECT_EQ(now.ss_sp, mine.ss_sp);
  EXPECT_EQ(now.ss_flags & SS_DISABLE, 0);
}

TEST_F(SignalHandlersTest, WithoutAHandlerAFaultOfTheHostsEndsTheProcess) {
  for (int signal : {SIGSEGV, SIGFPE, SIGABRT}) {
    if (std::find(std::begin(signals), std::end(signals), signal) == std::end(signals)) continue;
    const pid_t child = fork();
    if (child == 0) {
      for (int other : signals) std::signal(other, SIG_DFL);
      alarm(20);
      (void)launch_with([signal] {
        if (signal == SIGSEGV)
          *static_cast<volatile int*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
        else if (signal == SIGABRT)
          std::abort();
        else
          raise(signal);
      });
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << strsignal(signal) << ", exit " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);
  }
}

TEST_F(SignalHandlersTest, LaunchesOfSeveralThreads) {
  install(SIGSEGV, &count_first);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(launch_with().ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(installed(SIGSEGV), &count_first);
}

}  // namespace
}  // namespace warploom::loom
