// Threads that fail without calling the machine: their stack overrun or endless loop becomes a finding, and the process
// lives on.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "warploom/arch/bulk.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom {
namespace {

// The recursion must keep its frames, so that the stack really grows.
__attribute__((noinline)) int deep(volatile int* depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return (*depth < 0 ? 0 : deep(depth)) + frame[0];
}

[[maybe_unused]] void overruns(const void*) {  // not with the address sanitizer, which has its own word on it
  arch::syncwarp();
  volatile int depth = 0;
  if (arch::thread_index() == 7) deep(&depth);
}

void loops(const void*) {
  arch::syncwarp();
  volatile bool for_ever = true;
  if (arch::thread_index() == 9)
    while (for_ever) {
    }
}

void behaves(const void*) { arch::syncwarp(); }

loom::Outcome run(loom::Entry entry) {
  return loom::launch({.kernel = "guard", .grid = {3}, .cluster = {1}, .threads = 64, .shared_bytes = 1024}, entry,
                      nullptr, {}, {.seconds_limit = 0.2});
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Guard, StackOverrunIsAFinding) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    const loom::Outcome outcome = run(&overruns);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "STACK");
    EXPECT_EQ(outcome.report.findings[0].at.user.function, "deep");
    EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 7);
    EXPECT_TRUE(run(&behaves).ok());
  }
}
#endif

#if !defined(__SANITIZE_ADDRESS__)
TEST(Guard, WildPointerIsAFinding) {
  static volatile uintptr_t nowhere = 8;  // not a constant to the compiler, which would see through it
  const loom::Outcome outcome = run([](const void*) {
    if (arch::thread_index() == 3) *reinterpret_cast<volatile int*>(nowhere) = 1;
  });
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "FAULT");
  EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 3);
  EXPECT_TRUE(run(&behaves).ok());
}
TEST(Guard, ALargeFrameIsAnOverrun) {
  for (const size_t bytes : {150u * 1024, 191u * 1024, 300u * 1024, 512u * 1024}) {
    static size_t size;
    size = bytes;
    const loom::Outcome outcome = run([](const void*) {
      arch::syncwarp();
      if (arch::thread_index() != 5) return;
      auto* frame = static_cast<volatile char*>(__builtin_alloca(size));
      frame[0] = 1;
      arch::syncwarp(1u << 5);
    });
    ASSERT_EQ(outcome.report.findings.size(), 1u) << bytes;
    EXPECT_EQ(outcome.report.findings[0].code, "STACK") << bytes;
    EXPECT_TRUE(run(&behaves).ok());
  }
}

TEST(Guard, DivisionByZeroAndTrapsAreFindings) {
  static volatile int zero = 0;
  for (const loom::Entry entry : {loom::Entry([](const void*) {
                                    if (arch::thread_index() == 3) zero = 7 / zero;
                                  }),
                                  loom::Entry([](const void*) {
                                    if (arch::thread_index() == 3) __builtin_trap();
                                  })}) {
    const loom::Outcome outcome = run(entry);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "FAULT");
    EXPECT_NE(outcome.report.findings[0].message.find("divided by zero"), std::string::npos);
    EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 3);
    EXPECT_TRUE(run(&behaves).ok());
  }
}

// The copy is executed by the machine, long after its thread has gone on.
TEST(Guard, ACopyOfMemoryThatIsNotThereIsAFinding) {
  struct Storage {
    alignas(16) std::byte data[256];
    alignas(8) arch::Mbarrier full;
  };
  static void* nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto kernel = [](const void*) {
    auto& s = arch::shared<Storage>();
    const arch::SharedAddress full = arch::shared_address(&s.full);
    if (arch::thread_index() == 0) {
      arch::mbarrier_init(full, 1);
      arch::fence_mbarrier_init();
      arch::mbarrier_arrive_expect_tx(full, 256);
      arch::bulk_load(arch::shared_address(s.data), nowhere, 256, full);
      arch::mbarrier_wait(full, 1);
    }
  };
  const loom::TensorRef tensors[] = {{.pointer = nowhere, .bytes = 4096, .access = loom::Access::read, .name = "a"}};
  for (const loom::Policy policy :
       {loom::Policy::eager, loom::Policy::lazy, loom::Policy::random, loom::Policy::adversarial}) {
    const loom::Outcome outcome =
        loom::launch({.kernel = "guard", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = 1024}, kernel,
                     nullptr, tensors, {.schedule = {.policy = policy, .seed = 1}});
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "FAULT") << outcome.report.findings[0].message;
    EXPECT_TRUE(run(&behaves).ok());
  }
}
#endif

TEST(Guard, StorageThatTheLaunchHasNoRoomForIsAFinding) {
  struct Storage {
    std::byte bytes[2000];
  };
  const loom::Outcome outcome = run([](const void*) { arch::shared<Storage>().bytes[0] = std::byte{1}; });
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "OOB-SHARED");
  EXPECT_NE(outcome.report.findings[0].message.find("2000 bytes"), std::string::npos);
}

// Addresses end somewhere: what goes beyond is not inside a tensor because its end has a small number.
TEST(Guard, GlobalAddressesDoNotWrapAround) {
  static uint32_t word = 0;
  const loom::TensorRef tensors[] = {{.pointer = &word, .bytes = 4, .access = loom::Access::write, .name = "word"}};
  const loom::Outcome outcome =
      loom::launch({.kernel = "guard", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = 1024},
                   [](const void*) {
                     struct Sixteen {
                       uint32_t words[4];
                     };
                     const auto* top = reinterpret_cast<const Sixteen*>(~uintptr_t{0} - 15);
                     if (arch::thread_index() == 0) (void)arch::load_global(top);
                   },
                   nullptr, tensors, {});
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "OOB-GLOBAL");
}

// Nothing but loads and stores, for ever: operations of the machine, which are counted.
TEST(Guard, PollingGlobalMemoryForEverEnds) {
  static uint32_t word = 0;
  const loom::TensorRef tensors[] = {{.pointer = &word, .bytes = 4, .access = loom::Access::write, .name = "word"}};
  const loom::Outcome outcome =
      loom::launch({.kernel = "guard", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = 1024},
                   [](const void*) {
                     if (arch::thread_index() == 0)
                       while (arch::load_global(&word) == 0) {
                       }
                   },
                   nullptr, tensors, {.step_limit = 100000});
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "STEP-LIMIT");
}

TEST(Guard, SharedAccessesAreBounded) {
  for (const ptrdiff_t offset : {ptrdiff_t{-4}, ptrdiff_t{1024}, ptrdiff_t{1 << 20}}) {
    static ptrdiff_t where;
    where = offset;
    const loom::Outcome outcome = run([](const void*) {
      auto* base = reinterpret_cast<char*>(&arch::shared<int>());
      if (arch::thread_index() == 0) arch::store_shared(reinterpret_cast<int*>(base + where), 1);
    });
    ASSERT_EQ(outcome.report.findings.size(), 1u) << offset;
    EXPECT_EQ(outcome.report.findings[0].code, "OOB-SHARED");
  }
  EXPECT_TRUE(run([](const void*) { arch::store_shared(&arch::shared<int>() + 255, 1); }).ok());
}

TEST(Guard, EndlessLoopIsAFinding) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const loom::Outcome outcome = run(&loops);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "ENDLESS-LOOP");
    EXPECT_EQ(outcome.report.findings[0].at.user.function, "loops");
    EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 9);
    EXPECT_TRUE(run(&behaves).ok());
  }
}

}  // namespace
}  // namespace warploom
