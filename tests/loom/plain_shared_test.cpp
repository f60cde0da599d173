// Shared memory is reached through arch alone. What a kernel does to its storage in plain C++ would be invisible to the
// checker; it is a finding with its line, in every run and on every schedule.
#include <algorithm>
#include <span>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/tma_forms.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::loom::probe {
namespace {

struct Storage {
  alignas(16) uint32_t row[64];
  alignas(8) Mbarrier full;
  alignas(8) Mbarrier empty;
};

volatile uint32_t sink;

TEST(PlainShared, AStoreIsAFinding) {
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t i = thread_index();
         if (buggy && i == 37) OFFENDING(s.row[i] = i);
         if (!buggy) store_shared(&s.row[i], i);
       },
       {"PLAIN-SHARED", {"a plain C++ store to shared memory", "byte 148 of the kernel's storage"}});
}

TEST(PlainShared, AnIndexThatIsFarOffIsAFinding) {
  for (const size_t off : {size_t{100'000}, size_t{400'000}, size_t{8} << 20})
    always_found({.threads = 64},
                 [](size_t bytes) {
                   auto* const begin = reinterpret_cast<std::byte*>(&shared<Storage>());
                   if (thread_index() == 3) OFFENDING(*static_cast<volatile std::byte*>(begin + bytes) = std::byte{1});
                 },
                 off, {"PLAIN-SHARED", {"a plain C++ store to shared memory"}});
}

TEST(PlainShared, ALoadIsAFinding) {
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t i = thread_index();
         store_shared(&s.row[i], i);
         if (buggy)
           OFFENDING(sink = s.row[i]);
         else if (load_shared(&s.row[i]) != i)
           mbarrier_wait(address(s.full), 1);
       },
       {"PLAIN-SHARED", {"a plain C++ load from shared memory"}});
}

// The access is in the C library; the line is the kernel's.
TEST(PlainShared, ACopyByTheCLibraryIsAFinding) {
  static volatile size_t bytes = 200;  // not a constant to the compiler, which would copy by itself
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         uint32_t words[64] = {};
         if (thread_index() != 33) return;
         if (buggy) OFFENDING(std::memcpy(s.row, words, bytes));
         for (uint32_t i = 0; !buggy && i < bytes / 4; ++i) store_shared(&s.row[i], words[i]);
       },
       {"PLAIN-SHARED", {"a plain C++ store"}});
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         uint32_t words[64] = {};
         if (thread_index() != 33) return;
         for (uint32_t i = 0; i < bytes / 4; ++i) store_shared(&s.row[i], i);
         if (buggy) OFFENDING(std::memmove(words, s.row, bytes));
         for (uint32_t i = 0; !buggy && i < bytes / 4; ++i) words[i] = load_shared(&s.row[i]);
         sink = words[7];
       },
       {"PLAIN-SHARED", {"a plain C++ load"}});
  static volatile int byte = 3;
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() != 33) return;
         if (buggy) OFFENDING(std::memset(s.row, byte, bytes));
         for (uint32_t i = 0; !buggy && i < bytes / 4; ++i) store_shared(&s.row[i], 0x03030303u);
       },
       {"PLAIN-SHARED", {"a plain C++ store"}});
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() != 33) return;
         if (buggy) OFFENDING(std::fill(s.row, s.row + bytes / 4, thread_index()));
         for (uint32_t i = 0; !buggy && i < bytes / 4; ++i) store_shared(&s.row[i], thread_index());
       },
       {"PLAIN-SHARED", {"a plain C++ store"}});
}

// What the checker is there for: the consumer frees the slot, then reads it. Through load_shared that is a race; in
// plain C++ it was nothing.
TEST(PlainShared, AReadAfterTheReleaseIsSeen) {
  rule({.threads = 64},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (thread_index() == 0) {
           mbarrier_init(address(s.full), 1);
           mbarrier_init(address(s.empty), 1);
           fence_mbarrier_init();
         }
         syncthreads();
         if (thread_index() == 0) {
           for (uint32_t i = 0; i < 3; ++i) {
             if (i > 0) mbarrier_wait(address(s.empty), i);
             store_shared(&s.row[0], i);
             mbarrier_arrive(address(s.full));
           }
         } else if (thread_index() == 32) {
           for (uint32_t i = 0; i < 3; ++i) {
             mbarrier_wait(address(s.full), i + 1);
             if (!buggy) sink = load_shared(&s.row[0]);
             if (i < 2) mbarrier_arrive(address(s.empty));
             if (buggy) OFFENDING(sink = s.row[0]);
           }
         }
       },
       {"PLAIN-SHARED", {"a plain C++ load from shared memory, byte 0"}});
}

TEST(PlainShared, AConstructorIsAFinding) {
  struct Counter {
    uint32_t value = 7;
  };
  rule({.threads = 32},
       [](bool buggy) {
         void* place = &shared<Storage>();
         if (buggy && thread_index() == 5) OFFENDING(new (place) Counter);
         if (!buggy && thread_index() == 5) store_shared(static_cast<uint32_t*>(place), 7u);
       },
       {"PLAIN-SHARED", {"a plain C++ store"}, false});  // at the member's line, or where it is made
}

TEST(PlainShared, AddressesAreComputedAsBefore) {
  const auto kernel = [](int) {
    auto& s = shared<Storage>();
    const std::span<uint32_t> row(s.row);
    uint32_t* const at = &row[thread_index()];
    store_shared(at, thread_index());
    syncwarp();
    if (shared_address(at).value != shared_address(&s).value + 4 * thread_index() ||
        (shared_address(&s).value & 0xffffff) != shared_window_start || reinterpret_cast<uintptr_t>(&s) % 1024 != 0 ||
        load_shared(&row[31 - thread_index()]) != 31 - thread_index())
      __builtin_trap();
  };
  always_clean({.grid = {4}, .cluster = {4}, .threads = 32}, kernel, 0);
}

TEST(PlainShared, TheReportNamesWhoAndWhere) {
  const auto kernel = [](int) {
    uint32_t* const row = shared<Storage>().row;
    if (cluster_rank() == 1 && thread_index() == 37) row[1000] = 7;
  };
  const Outcome outcome = run({.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = sizeof(Storage)}, kernel, 0);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  const Finding& finding = outcome.report.findings[0];
  EXPECT_EQ(finding.code, "PLAIN-SHARED");
  EXPECT_EQ(finding.agent.cta, 1u);
  EXPECT_EQ(finding.agent.first_warp, 1u);
  EXPECT_EQ(finding.agent.lanes, 1u << 5);
  EXPECT_TRUE(contains(finding.message, "byte 4000")) << finding.message;
  EXPECT_TRUE(contains(finding.notes.front(), "store_shared")) << finding.notes.front();
  EXPECT_TRUE(contains(finding.notes.back(), "outside the launch's 272 bytes")) << finding.notes.back();
}

// A pointer to another CTA's window is not this CTA's shared memory.
TEST(PlainShared, AnotherCtasWindowIsNamed) {
  static std::atomic<uint32_t*> theirs;
  theirs = nullptr;
  const auto kernel = [](int) {
    auto& s = shared<Storage>();
    if (cluster_rank() == 0 && thread_index() == 0) theirs = s.row;
    cluster_sync();
    if (cluster_rank() == 1 && thread_index() == 0) *theirs.load() = 1;
  };
  const Outcome outcome = run({.grid = {2}, .cluster = {2}, .threads = 32}, kernel, 0);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "PLAIN-SHARED");
  EXPECT_TRUE(contains(outcome.report.findings[0].message, "in CTA 0")) << outcome.report.findings[0].message;
}

// Registers of a machine operation that lie in shared memory: the machine itself touches them, on the thread's behalf.
TEST(PlainShared, RegistersInSharedMemoryAreAFinding) {
  rule({.threads = 32},
       [](bool buggy) {
         auto& s = shared<Storage>();
         for (uint32_t i = thread_index(); i < 64; i += 32) store_shared(&s.row[i], i);
         syncwarp();
         uint32_t registers[1];
         auto& in_shared = reinterpret_cast<uint32_t(&)[1]>(s.row[32]);
         const SharedAddress row = shared_address(s.row) + 16 * (thread_index() % 8);
         if (buggy)
           OFFENDING((load_matrix<1, false>(row, in_shared)));
         else
           load_matrix<1, false>(row, registers);
       },
       {"PLAIN-SHARED"});
}

TEST(PlainShared, TheVerdictFails) {
  const auto verdict_of = [](bool buggy) {
    return check({.what = "probe", .launch = [buggy](const Options& options) {
                    return run(
                        {.threads = 32},
                        [](bool plain) {
                          auto& s = shared<Storage>();
                          if (plain)
                            s.row[thread_index()] = thread_index();
                          else
                            store_shared(&s.row[thread_index()], thread_index());
                        },
                        buggy, options);
                  }});
  };
  EXPECT_EQ(verdict_of(true).kind, Verdict::Kind::fails);
  EXPECT_EQ(verdict_of(false).kind, Verdict::Kind::holds);
}

}  // namespace
}  // namespace warploom::loom::probe
