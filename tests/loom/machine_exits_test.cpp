// Kernels that would take the machine, or the program, down with them: each is a finding with the kernel's line, and
// the next launch runs as if nothing had been.
#include <sys/resource.h>

#include <cassert>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "loom/probe_kernel.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::loom::probe {
namespace {

volatile bool for_ever = true;

const auto behaves = [](int) { syncwarp(); };

#if !defined(__SANITIZE_ADDRESS__)  // which has its own word on most of them
#define WITHOUT_ASAN(name) name
#else
#define WITHOUT_ASAN(name) DISABLED_##name
#endif

/// Every schedule finds the buggy form at its line; the right form, and a launch after both, are clean.
template <class Kernel>
void found_on_every_schedule(Kernel kernel, const Expected& expected, const char* file = __builtin_FILE()) {
  rule({.grid = {3}, .threads = 64, .file = file}, kernel, expected);
  expect_clean(run({}, behaves, 0));
}

/// The same for loops that only the clock ends: on one schedule.
template <class Kernel>
void found_by_the_clock(Kernel kernel, const char* file = __builtin_FILE()) {
  Options options;
  options.seconds_limit = 0.1;
  const Launch launch{.threads = 64, .file = file};
  for (int repeat = 0; repeat < 3; ++repeat) {
    offending_line = 0;
    expect_finding(run(launch, kernel, true, options), launch, {"ENDLESS-LOOP"});
    expect_clean(run(launch, kernel, false, options));
  }
}

TEST(MachineExits, AbortIsAFinding) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(std::abort());
        syncwarp();
      },
      {"ABORT", {"called abort()"}});
}

TEST(MachineExits, AFailedAssertIsAFinding) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        // As assert() expands to, also where NDEBUG is defined.
        if (buggy && thread_index() == 35)
          OFFENDING(__assert_fail("thread_index() != 35", __FILE__, __LINE__, __func__));
        syncwarp();
      },
      {"ABORT"});
}

TEST(MachineExits, WITHOUT_ASAN(ExitIsAFinding)) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(std::exit(0));
        syncwarp();
      },
      {"EXIT-CALL", {"ends the program"}});
}

TEST(MachineExits, QuickExitIsAFinding) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(std::quick_exit(0));
        syncwarp();
      },
      {"EXIT-CALL"});
}

// What a worker keeps from launch to launch outlives the exit: checked runs and tensor-core work go on with it.
TEST(MachineExits, ACheckedRunAfterExitIsSound) {
  struct Storage {
    uint32_t word;
    Mbarrier full[1];
  };
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      store_shared(&s.word, 7u);
      mbarrier_arrive(address(s.full[0]));
    }
    mbarrier_wait(address(s.full[0]), 1);
    if (load_shared(&s.word) != 7) __builtin_trap();
    if (buggy && thread_index() == 35) std::exit(3);
  };
  Options options;
  options.check = true;
  for (int repeat = 0; repeat < 3; ++repeat) {
    expect_finding(run({.threads = 64}, kernel, true, options), {}, {"EXIT-CALL", {}, false});
    expect_clean(run({.threads = 64}, kernel, false, options));
  }
}

TEST(MachineExits, ALaunchInAKernelIsAFinding) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(launch({.kernel = "inner"}, [](const void*) {}, nullptr, {}, {}));
        syncwarp();
      },
      {"NESTED-LAUNCH", {"only host code can"}});
}

TEST(MachineExits, AVerdictInAKernelIsAFinding) {
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35)
          check({.what = "inner", .launch = [](const Options& options) { return run({}, behaves, 0, options); }});
        syncwarp();
      },
      {"NESTED-LAUNCH", {}, false});
}

TEST(MachineExits, WITHOUT_ASAN(AFrameOfManyMegabytesIsAStackOverrun)) {
  for (const size_t bytes : {size_t{2} << 20, size_t{8} << 20, size_t{15} << 20, size_t{100} << 20}) {
    static volatile size_t size;
    size = bytes;
    SCOPED_TRACE(bytes);
    found_on_every_schedule(
        [](bool buggy) {
          syncwarp();
          if (buggy && thread_index() == 35) {
            auto* frame = static_cast<volatile char*>(__builtin_alloca(size));
            OFFENDING(frame[0] = 1);
          }
          syncwarp();
        },
        {"STACK", {"overran its stack"}});
  }
}

TEST(MachineExits, WITHOUT_ASAN(ARaisedSignalNamesTheKernelsLine)) {
  for (const int number : {SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTRAP}) {
    static volatile int which;
    which = number;
    SCOPED_TRACE(number);
    found_on_every_schedule(
        [](bool buggy) {
          syncwarp();
          if (buggy && thread_index() == 35) OFFENDING(std::raise(which));
          syncwarp();
        },
        {"FAULT", {"raised signal"}});
  }
}

TEST(MachineExits, WITHOUT_ASAN(AFaultInTheCLibraryNamesTheKernelsLine)) {
  static const char* volatile nowhere = reinterpret_cast<const char*>(16);
  [[maybe_unused]] static volatile size_t length;
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(length = std::strlen(nowhere));
        syncwarp();
      },
      {"FAULT", {"memory that is not there"}});
}

TEST(MachineExits, WITHOUT_ASAN(ACallThroughNullNamesTheKernelsLine)) {
  static void (*volatile nothing)() = nullptr;
  found_on_every_schedule(
      [](bool buggy) {
        syncwarp();
        if (buggy && thread_index() == 35) OFFENDING(nothing());
        syncwarp();
      },
      {"FAULT"});
}

TEST(MachineExits, ASleepNamesTheKernelsLine) {
  found_by_the_clock([](bool buggy) {
    syncwarp();
    if (buggy && thread_index() == 35) OFFENDING(std::this_thread::sleep_for(std::chrono::seconds(1000)));
    syncwarp();
  });
}

// The thread is left while it is outside malloc: whoever was left inside would keep its locks.
TEST(MachineExits, ALoopThatAllocatesNamesTheKernelsLine) {
  found_by_the_clock([](bool buggy) {
    syncwarp();
    static std::atomic<void*> block{nullptr};
    if (buggy && thread_index() == 35) OFFENDING(while (for_ever) std::free(block.exchange(std::malloc(100))));
    syncwarp();
  });
}

TEST(MachineExits, WITHOUT_ASAN(AJumpToAnotherThreadsStackIsAFinding)) {
  static std::jmp_buf there;
  const auto kernel = [](bool buggy) {
    if (buggy && thread_index() == 3 && setjmp(there) != 0) return;
    syncwarp();
    if (buggy && thread_index() == 5) std::longjmp(there, 1);
    syncwarp();
  };
  for (const Policy policy : {Policy::eager, Policy::lazy}) {
    const Outcome outcome = run({.threads = 32}, kernel, true, with({policy}));
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "LONGJMP") << to_text(outcome.report);
    expect_clean(run({.threads = 32}, kernel, false, with({policy})));
  }
}

// What belongs to a thread stays allowed: a jump within its own stack, memory, output.
TEST(MachineExits, HostFunctionsThatComeBackAreNothing) {
  always_clean(
      {.grid = {2}, .threads = 64},
      [](int) {
        std::jmp_buf here;
        volatile int turns = 0;
        if (setjmp(here) == 0 || turns < 3) {
          turns = turns + 1;
          if (turns < 3) std::longjmp(here, 1);
        }
        void* volatile block = std::malloc(100);
        syncwarp();
        std::free(block);
      },
      0);
}

// The program's own end is its own affair.
TEST(MachineExitsDeathTest, ExitOutsideOfKernelsEndsTheProgram) {
  EXPECT_EXIT(
      {
        expect_clean(run({}, behaves, 0));
        std::exit(42);
      },
      testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        const auto kernel = [](int) { std::exit(0); };
        if (run({}, kernel, 0).ok()) std::_Exit(1);
        std::exit(43);
      },
      testing::ExitedWithCode(43), "");
}

// Signals that come from outside of kernels do what they would without us, the program's own handlers included.
TEST(MachineExitsDeathTest, WITHOUT_ASAN(SignalsOutsideOfKernelsAreThePrograms)) {
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGTRAP})
    EXPECT_EXIT(
        {
          expect_clean(run({}, behaves, 0));
          std::raise(number);
        },
        testing::KilledBySignal(number), "");
  EXPECT_EXIT(
      {
        std::signal(SIGABRT, [](int) { std::_Exit(44); });
        expect_clean(run({}, behaves, 0));
        std::abort();
      },
      testing::ExitedWithCode(44), "");
}

// A thread that is left inside malloc would keep its locks: there is a sentence, and the program ends.
TEST(MachineExitsDeathTest, WITHOUT_ASAN(ABrokenHeapEndsTheProgramWithASentence)) {
  EXPECT_DEATH(
      {
        run(
            {},
            [](int) {
              void* volatile wrong = reinterpret_cast<void*>(uintptr_t{0x1008});
              if (thread_index() == 0) std::free(wrong);
            },
            0);
      },
      "failed inside malloc or free");
}

}  // namespace
}  // namespace warploom::loom::probe
