#include "loom/observe/check/knowledge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "loom/exec/random.hpp"

namespace warploom::loom::check {
namespace {

/// The same thing without any economy: a tick for every lane of every slot and plane.
struct Plain {
  static constexpr uint32_t slots = 5, lanes = 32;
  std::array<uint32_t, slots * plane_count * lanes> ticks{};

  uint32_t& at(Plane plane, uint32_t slot, uint32_t lane) {
    return ticks[(slot * plane_count + static_cast<uint32_t>(plane)) * lanes + lane];
  }
  bool covers(Plane plane, const Stamp& stamp) {
    if (stamp.lane != whole_slot) return at(plane, stamp.slot, stamp.lane) >= stamp.tick;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      if (at(plane, stamp.slot, lane) < stamp.tick) return false;
    return true;
  }
  bool covers(Plane plane, Plain& other) {
    for (uint32_t slot = 0; slot < slots; ++slot)
      for (uint32_t lane = 0; lane < lanes; ++lane)
        if (at(plane, slot, lane) < other.at(plane, slot, lane)) return false;
    return true;
  }
};

struct Pair {
  Knowledge knowledge;
  Plain plain;
};

TEST(Knowledge, IsATickForEveryLaneOfEverySlot) {
  Random random(3);
  std::vector<Pair> pairs(4);
  const auto plane = [&] { return all_planes[random.below(plane_count)]; };
  for (uint32_t round = 0; round < 40'000; ++round) {
    Pair& pair = pairs[random.below(4)];
    Pair& other = pairs[random.below(4)];
    const Plane p = plane(), q = plane();
    const uint32_t slot = random.below(Plain::slots), tick = 1 + random.below(9);
    const auto lane = static_cast<uint8_t>(random.below(32));
    switch (random.below(8)) {
      case 0:
        pair.knowledge.raise(p, slot, tick);
        for (uint32_t l = 0; l < 32; ++l) pair.plain.at(p, slot, l) = std::max(pair.plain.at(p, slot, l), tick);
        break;
      case 1:
      case 2:
        pair.knowledge.raise(p, slot, lane, tick);
        pair.plain.at(p, slot, lane) = std::max(pair.plain.at(p, slot, lane), tick);
        break;
      case 3:  // most lanes: what is left of a warp catches up
        for (uint32_t l = 0; l < 32; ++l) {
          if (random.one_in(40)) continue;
          pair.knowledge.raise(p, slot, static_cast<uint8_t>(l), tick);
          pair.plain.at(p, slot, l) = std::max(pair.plain.at(p, slot, l), tick);
        }
        break;
      case 4:
        pair.knowledge.join(other.knowledge);
        for (size_t i = 0; i < pair.plain.ticks.size(); ++i)
          pair.plain.ticks[i] = std::max(pair.plain.ticks[i], other.plain.ticks[i]);
        break;
      case 5: {
        Plain from = other.plain;
        pair.knowledge.join(p, other.knowledge, q);
        for (uint32_t s = 0; s < Plain::slots; ++s)
          for (uint32_t l = 0; l < 32; ++l) pair.plain.at(p, s, l) = std::max(pair.plain.at(p, s, l), from.at(q, s, l));
        break;
      }
      case 6:
        if (!random.one_in(4)) break;
        pair.knowledge.meet(other.knowledge);
        for (size_t i = 0; i < pair.plain.ticks.size(); ++i)
          pair.plain.ticks[i] = std::min(pair.plain.ticks[i], other.plain.ticks[i]);
        break;
      default:
        if (!random.one_in(4)) break;
        pair.knowledge.forget(p);
        for (uint32_t s = 0; s < Plain::slots; ++s)
          for (uint32_t l = 0; l < 32; ++l) pair.plain.at(p, s, l) = 0;
        break;
    }
    const Stamp stamp{slot, tick, random.one_in(3) ? whole_slot : lane};
    ASSERT_EQ(pair.knowledge.covers(p, stamp), pair.plain.covers(p, stamp)) << "round " << round;
    ASSERT_EQ(pair.knowledge.covers(p, other.knowledge), pair.plain.covers(p, other.plain)) << "round " << round;

    // A thread knows its warp and itself beside that.
    const Knowledge::Own own{slot, random.below(10), lane, random.below(10)};
    Plain mine = pair.plain;
    for (uint32_t l = 0; l < 32; ++l) mine.at(p, slot, l) = std::max(mine.at(p, slot, l), own.met);
    mine.at(p, slot, lane) = std::max(mine.at(p, slot, lane), own.tick);
    // It may say no where a warp's lanes are covered one by one in different ways, never yes where one is not.
    if (pair.knowledge.covers(p, other.knowledge, own)) {
      ASSERT_TRUE(mine.covers(p, other.plain)) << "round " << round;
    } else {
      ASSERT_FALSE(pair.plain.covers(p, other.plain)) << "round " << round;
    }
  }
}

/// Some knowledge, of one to five slots, often little: so that one of two has it all.
Knowledge some(Random& random) {
  Knowledge knowledge;
  for (uint32_t i = random.below(6); i > 0; --i) {
    const Plane plane = all_planes[random.below(2)];
    const uint32_t slot = random.below(20), tick = 1 + random.below(3);
    if (random.below(2) == 0)
      knowledge.raise(plane, slot, tick);
    else
      knowledge.raise(plane, slot, static_cast<uint8_t>(random.below(2)), tick);
  }
  return knowledge;
}

TEST(Knowledge, SaysWhetherAJoinIsWhatOneOfThemKnew) {
  Random random(5);
  uint32_t mine = 0, theirs = 0;
  for (uint32_t round = 0; round < 20'000; ++round) {
    const Knowledge a = some(random), b = some(random);
    Knowledge joined = a, both = some(random);
    const Knowledge::Same same = joined.join(b);
    EXPECT_EQ(both.become(a, b), same);
    EXPECT_TRUE(both == joined);
    for (const Plane plane : all_planes) {
      ASSERT_TRUE(joined.covers(plane, a));
      ASSERT_TRUE(joined.covers(plane, b));
    }
    if (same == Knowledge::Same::mine) {
      ++mine;
      ASSERT_TRUE(joined == a);
    }
    if (same == Knowledge::Same::theirs) {
      ++theirs;
      ASSERT_TRUE(joined == b);
    }
    EXPECT_TRUE(!joined.identical(a) || joined == a);
  }
  EXPECT_GT(mine, 500u);
  EXPECT_GT(theirs, 500u);
}

TEST(Pooled, IsAnArrayThatMovesItsBlock) {
  Pooled<uint32_t> numbers;
  for (uint32_t i = 0; i < 1000; ++i) numbers.insert(numbers.begin() + i / 2, i);
  ASSERT_EQ(numbers.size(), 1000u);
  const uint32_t* const block = numbers.data();
  Pooled<uint32_t> moved = std::move(numbers);
  EXPECT_EQ(moved.data(), block);
  Pooled<uint32_t> copy;
  copy = moved;
  EXPECT_NE(copy.data(), block);
  EXPECT_TRUE(std::ranges::equal(copy, moved));
  copy.cut(copy.begin() + 3);
  EXPECT_EQ(copy.size(), 3u);
  EXPECT_EQ(moved.size(), 1000u);
}

}  // namespace
}  // namespace warploom::loom::check
