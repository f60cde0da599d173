// setmaxnreg (hardware.md §6.7): registers move between the warpgroups of a CTA.
#include "loom/wgmma_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

Launch threads(uint32_t count, const char* file = __builtin_FILE()) { return {.threads = count, .file = file}; }

TEST(Registers, ShareAtLaunch) {
  auto share = [](uint32_t threads, uint32_t registers = 0) {
    return registers_at_launch({.threads = threads, .registers = registers});
  };
  EXPECT_EQ(share(384), 168u);
  EXPECT_EQ(share(512), 128u);
  EXPECT_EQ(share(1024), 64u);
  EXPECT_EQ(share(128), 248u);
  EXPECT_EQ(share(128, 96), 96u);
}

TEST(Registers, LaunchesThatDoNotFit) {
  auto code = [](uint32_t threads, uint32_t registers) {
    const Outcome outcome = launch({.threads = threads, .registers = registers}, [](const void*) {}, nullptr, {});
    return outcome.ok() ? std::string() : outcome.report.findings[0].code;
  };
  EXPECT_EQ(code(384, 168), "");
  EXPECT_EQ(code(384, 172), "LAUNCH");
  EXPECT_EQ(code(384, 176), "LAUNCH");
  EXPECT_EQ(code(128, 16), "LAUNCH");
  EXPECT_EQ(code(128, 264), "LAUNCH");
}

// The usual split: 384 threads start with 168 each; what the producer gives back is what two math warpgroups take.
TEST(Registers, FromTheProducerToTheMathWarpgroups) {
  always_clean(
      threads(384),
      [](bool) {
        if (warp_index() < 4) {
          for (uint32_t i = 0; i < 20 * warp_index(); ++i) syncwarp();
          register_decrease<40>();
        } else {
          register_increase<232>();
        }
      },
      true);
}

TEST(Registers, MoreThanThereAre) {
  auto kernel = [](bool buggy) {
    if (warp_index() < 4)
      register_decrease<40>();
    else if (buggy)
      register_increase<240>();
    else
      register_increase<232>();
  };
  always_clean(threads(384), kernel, false);
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(threads(384), kernel, true, with(schedule));
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
    ASSERT_FALSE(outcome.report.waiting.empty());
    const Waiter& waiter = outcome.report.waiting[0];
    EXPECT_EQ(waiter.kind, WaitKind::registers);
    EXPECT_EQ(waiter.object, "setmaxnreg.inc");
    EXPECT_TRUE(contains(waiter.causes.at(0), "240 registers per thread instead of 168 take 2304 more per warp"))
        << waiter.causes.at(0);
    EXPECT_TRUE(contains(waiter.causes.at(0), "warps 0-3 hold 40")) << waiter.causes.at(0);
  }
}

TEST(Registers, NobodyGivesAnyBack) {
  const Outcome outcome = run(threads(256), [](bool) { register_increase<256>(); }, true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
  EXPECT_TRUE(contains(outcome.report.waiting.at(0).causes.at(0), "the CTA's pool has 0"));
}

TEST(Registers, IncreaseToLess) {
  rule(threads(128),
       [](bool buggy) {
         register_decrease<104>();
         if (buggy) OFFENDING(register_increase<96>());
         register_increase<112>();
       },
       {"REGISTERS", {"setmaxnreg.inc to 96", "has 104"}});
}

TEST(Registers, DecreaseToMore) {
  rule(threads(512),
       [](bool buggy) {
         if (buggy) OFFENDING(register_decrease<136>());
         register_decrease<120>();
       },
       {"REGISTERS", {"setmaxnreg.dec to 136", "has 128"}});
}

TEST(Registers, WarpsOfAGroupDiffer) {
  rule(threads(128),
       [](bool buggy) {
         if (buggy && warp_index() % 2 == 1)
           register_decrease<56>();
         else
           register_decrease<64>();
       },
       {"REGISTERS", {"execute different setmaxnreg"}, false});
}

TEST(Registers, PartOfAWarpgroup) {
  rule(threads(256),
       [](bool buggy) {
         if (warp_index() < (buggy ? 1u : 4u)) OFFENDING(register_decrease<64>());
       },
       {"REGISTERS", {"only warp 0 of the warpgroup of warps 0 to 3"}});
}

TEST(Registers, NoWholeWarpgroup) {
  rule(threads(192),
       [](bool buggy) {
         if ((warp_index() >= 4) == buggy) OFFENDING(register_decrease<64>());
       },
       {"REGISTERS", {"no warpgroup of warps 4 to 7"}});
}

}  // namespace
}  // namespace warploom::loom
