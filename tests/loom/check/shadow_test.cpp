#include "loom/observe/check/shadow.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "loom/exec/random.hpp"

namespace warploom::loom::check {
namespace {

struct Log {
  std::vector<Conflict> conflicts;
  Shadow::Report report = [this](const Conflict& conflict) { conflicts.push_back(conflict); };
};

TEST(Shadow, NamesBothAccessesOfARace) {
  Order order(2);
  Shadow shadow(1);
  Log log;
  const Viewpoint writer(order, {0, 3}), reader(order, {1, 4});
  shadow.write(16, 4, writer, writer.record(Proxy::generic, 71), log.report);
  shadow.read(18, 4, reader, reader.record(Proxy::generic, 72), log.report);
  ASSERT_EQ(log.conflicts.size(), 4u);  // bytes 18 and 19 against the write; 20 and 21 nobody has written
  EXPECT_EQ(log.conflicts[0].kind, Conflict::Kind::race);
  EXPECT_EQ(log.conflicts[0].earlier.site, 71u);
  EXPECT_EQ(log.conflicts[0].later.site, 72u);
  EXPECT_TRUE(log.conflicts[0].earlier_writes);
  EXPECT_FALSE(log.conflicts[0].later_writes);
}

TEST(Shadow, NeighbouringBytesAreNoRace) {
  Order order(2);
  Shadow shadow(2);
  Log log;
  const Viewpoint a(order, {0, 0}), b(order, {1, 0});
  for (uint32_t byte = 0; byte < 256; byte += 2) {
    shadow.write(byte, 1, a, a.record(Proxy::generic, 0), log.report);
    shadow.write(byte + 1, 1, b, b.record(Proxy::generic, 0), log.report);
  }
  EXPECT_TRUE(log.conflicts.empty());
  // The line as a whole belongs to both.
  shadow.write(0, 128, a, a.record(Proxy::generic, 0), log.report);
  EXPECT_FALSE(log.conflicts.empty());
}

TEST(Shadow, ReadersOfOneWarpAreOneRecordAndAllOfThemCount) {
  Order order(2);
  Shadow shadow(1);
  Log log;
  const Order::BarrierId barrier = order.make_barrier();
  shadow.initialise(0, 128);
  for (uint8_t lane = 0; lane < 32; ++lane) {
    const Viewpoint reader(order, {0, lane});
    shadow.read(0, 128, reader, reader.record(Proxy::generic, 1), log.report);
  }
  for (uint8_t lane = 0; lane < 31; ++lane) order.arrive({0, lane}, barrier);  // one does not say that it is done
  order.phase_completed(barrier);
  order.passed({1, 0}, barrier, 1);
  const Viewpoint writer(order, {1, 0});
  shadow.write(0, 128, writer, writer.record(Proxy::generic, 2), log.report);
  ASSERT_EQ(log.conflicts.size(), 1u);
  EXPECT_EQ(log.conflicts[0].kind, Conflict::Kind::race);
}

TEST(Shadow, TellsAMissingFenceFromARace) {
  for (const bool fenced : {false, true}) {
    Order order(2);
    Shadow shadow(1);
    Log log;
    const Order::BarrierId barrier = order.make_barrier();
    const Viewpoint writer(order, {0, 0});
    shadow.write(0, 128, writer, writer.record(Proxy::generic, 0), log.report);
    order.accessed_shared({0, 0});
    if (fenced) order.fence_proxy_async({0, 0});
    order.arrive({0, 0}, barrier);
    order.phase_completed(barrier);
    order.passed({1, 0}, barrier, 1);
    const Work store = order.begin({1, 0});
    const Viewpoint engine(store);
    shadow.read(0, 128, engine, engine.record(Proxy::async, 0), log.report);
    ASSERT_EQ(log.conflicts.size(), fenced ? 0u : 1u);
    if (!fenced) {
      EXPECT_EQ(log.conflicts[0].kind, Conflict::Kind::no_proxy_fence);
    }
  }
}

TEST(Shadow, ReadsWhatNobodyWrote) {
  Order order(1);
  Shadow shadow(1);
  Log log;
  const Viewpoint reader(order, {0, 0});
  shadow.initialise(0, 64);
  shadow.read(60, 4, reader, reader.record(Proxy::generic, 0), log.report);
  EXPECT_TRUE(log.conflicts.empty());
  shadow.read(62, 4, reader, reader.record(Proxy::generic, 0), log.report);
  ASSERT_EQ(log.conflicts.size(), 2u);
  EXPECT_EQ(log.conflicts[0].kind, Conflict::Kind::uninitialised);
  EXPECT_EQ(log.conflicts[0].at, 64u);
}

/// Lines, words and bytes must not matter: the same accesses on a memory of single cells.
TEST(Shadow, LinesAreAnEconomyOnly) {
  constexpr uint32_t cells = 3 * 128;
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    Order order(3);
    const Order::BarrierId barrier = order.make_barrier();
    Shadow lines(3);
    std::deque<Shadow> singles;
    for (uint32_t i = 0; i < cells; ++i) singles.emplace_back(1);
    std::vector<bool> expected(cells);
    lines.initialise(0, cells);
    for (Shadow& single : singles) single.initialise(0, 1);
    for (int access = 0; access < 60; ++access) {
      const Agent agent{random.below(3), static_cast<uint8_t>(random.below(3))};
      if (random.one_in(6)) {
        order.arrive(agent, barrier);
        order.phase_completed(barrier);
        order.passed({random.below(3), static_cast<uint8_t>(random.below(3))}, barrier, order.phases(barrier));
        continue;
      }
      static constexpr uint32_t sizes[] = {1, 2, 4, 16, 64, 128, 256};
      const uint32_t size = sizes[random.below(7)];
      const uint32_t first = random.below((cells - size) / size + 1) * size;
      const bool writes = random.one_in(2);
      const Viewpoint view(order, agent);
      const Record record = view.record(Proxy::generic, 0);
      std::fill(expected.begin(), expected.end(), false);
      for (uint32_t i = first; i < first + size; ++i) {
        const auto note = [&](const Conflict&) { expected[i] = true; };
        if (writes)
          singles[i].write(0, 1, view, record, note);
        else
          singles[i].read(0, 1, view, record, note);
      }
      bool any = false, any_expected = false;
      const auto note = [&](const Conflict& conflict) {
        any = true;
        EXPECT_TRUE(expected[conflict.at]) << "cell " << conflict.at;
      };
      for (uint32_t i = 0; i < cells; ++i) any_expected = any_expected || expected[i];
      if (writes) {
        ASSERT_EQ(lines.writable(first, size, view, record), !any_expected);
        if (any_expected || random.one_in(2))
          lines.write(first, size, view, record, note);
        else
          lines.overwrite(first, size, record);
      } else {
        lines.read(first, size, view, record, note);
      }
      ASSERT_EQ(any, any_expected);
    }
  }
}

}  // namespace
}  // namespace warploom::loom::check
