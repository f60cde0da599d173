// Named barriers between groups of warps.
#include "warploom/warp/named.hpp"

#include <gtest/gtest.h>

#include "warploom/loom/launch.hpp"

namespace warploom {
namespace {

struct Meeting {
  static constexpr char name[] = "meeting";
};
using Barrier = WarpGroupBarrier<96, 3>;

loom::Outcome run(loom::Entry entry) {
  return loom::launch({.kernel = "named", .grid = {1}, .cluster = {1}, .threads = 96, .shared_bytes = 1024}, entry,
                      nullptr, {}, {});
}

TEST(WarpGroupBarrier, ArriveDoesNotWaitAndTheOthersDo) {
  const loom::Outcome outcome = run([](const void*) {
    if (arch::warp_index() == 0)
      Barrier::arrive();
    else if (arch::warp_index() == 1)
      Barrier::wait();
    else
      Barrier::sync();
  });
  EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
}

TEST(WarpGroupBarrier, AReportNamesIt) {
  const loom::Outcome outcome = run([](const void*) {
    Barrier::name<Meeting>();
    if (arch::warp_index() > 0) Barrier::wait();
  });
  ASSERT_EQ(outcome.report.waiting.size(), 1u);
  EXPECT_EQ(outcome.report.waiting[0].object, "named barrier 3 (meeting)");
  EXPECT_EQ(outcome.report.waiting[0].arrived, 64u);
  EXPECT_EQ(outcome.report.waiting[0].expected, 96u);
}

}  // namespace
}  // namespace warploom
