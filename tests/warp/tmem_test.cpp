// Tensor memory's owner on its own: what the contexts use, one step at a time.
#include "warploom/warp/tmem.hpp"

#include <gtest/gtest.h>

#include "warploom/loom/launch.hpp"

namespace warploom {
namespace {

struct Storage {
  SMemArray<uint32_t, 1> slot;
};
using Small = TmemAllocation<1, 64>;

loom::Outcome run(loom::Entry entry) {
  return loom::launch({.kernel = "tmem", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = sizeof(Storage)},
                      entry, nullptr, {}, {});
}

TEST(TmemAllocation, SuccessiveAllocationsLieBesideEachOther) {
  const loom::Outcome outcome = run([](const void*) {
    auto& storage = arch::shared<Storage>();
    const Small first = Small::allocate(storage.slot);
    const Small second = Small::allocate(storage.slot);
    // Tell the outside by failing: a dealloc of what is not allocated is a finding.
    if (second.addr.value != first.addr.value + 64) arch::tmem_dealloc<1>({4}, 64);
    second.deallocate();
    first.deallocate();
  });
  EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
}

TEST(TmemAllocation, GivingUpTheLockEndsAllocation) {
  const loom::Outcome outcome = run([](const void*) {
    auto& storage = arch::shared<Storage>();
    const Small first = Small::allocate(storage.slot);
    first.release_lock();
    const Small second = Small::allocate(storage.slot);
    second.deallocate();
    first.deallocate();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, "TMEM-RULE");
  EXPECT_NE(outcome.report.findings[0].message.find("relinquish"), std::string::npos);
}

}  // namespace
}  // namespace warploom
