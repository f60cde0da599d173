// Which tensors share a byte, beside a table of every byte.
#include "plan/overlap.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>
#include <vector>

namespace warploom {
namespace {

using Steps = StridedBytes::Steps;

/// Every run's first byte.
std::vector<uintptr_t> runs_of(const StridedBytes& x) {
  std::vector<uintptr_t> list;
  for (int64_t b = 0; b < x.batch.count; ++b)
    for (int64_t r = 0; r < x.outer.count; ++r)
      list.push_back(x.begin + static_cast<uintptr_t>(b * x.batch.stride + r * x.outer.stride));
  return list;
}

bool shared_by_table(const StridedBytes& x, const StridedBytes& y) {
  std::set<uintptr_t> bytes;
  for (uintptr_t run : runs_of(x))
    for (int64_t i = 0; i < x.width; ++i) bytes.insert(run + static_cast<uintptr_t>(i));
  for (uintptr_t run : runs_of(y))
    for (int64_t i = 0; i < y.width; ++i)
      if (bytes.contains(run + static_cast<uintptr_t>(i))) return true;
  return false;
}

bool twice_by_table(const StridedBytes& x) {
  std::set<uintptr_t> bytes;
  for (uintptr_t run : runs_of(x))
    for (int64_t i = 0; i < x.width; ++i)
      if (!bytes.insert(run + static_cast<uintptr_t>(i)).second) return true;
  return false;
}

class RandomLayouts {
 public:
  explicit RandomLayouts(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  /// Rows that are longer than wide, batches anywhere: behind each other, between rows, across, and on top.
  StridedBytes layout() {
    StridedBytes x;
    x.width = 1 + below(6);
    x.outer = {1 + below(7), x.width + below(14)};
    const int64_t matrix = x.outer.count * x.outer.stride;
    const int64_t strides[] = {matrix, matrix + below(9), below(9), below(60), x.width, x.outer.stride * below(4)};
    x.batch = {1 + below(5), strides[below(6)]};
    x.begin = 10000 + static_cast<uintptr_t>(below(120));
    return x;
  }
  /// Columns of the same buffer, as often as not.
  StridedBytes beside(const StridedBytes& x) {
    StridedBytes y = layout();
    if (below(2) == 0) return y;
    y.outer.stride = x.outer.stride;
    y.batch.stride = x.batch.stride;
    y.begin = x.begin + static_cast<uintptr_t>(below(x.outer.stride + 1));
    return y;
  }

 private:
  std::mt19937_64 random_;
};

void compare_with_the_table(int cases, uint64_t seed) {
  RandomLayouts random(seed);
  int shared = 0, twice = 0, apart_within = 0;
  for (int i = 0; i < cases; ++i) {
    const StridedBytes x = random.layout(), y = random.beside(x);
    const bool expected = shared_by_table(x, y);
    const auto text = [&](const StridedBytes& s) {
      return testing::Message() << s.begin << " + [0, " << s.width << ") + " << s.outer.stride << " * [0, "
                                << s.outer.count << ") + " << s.batch.stride << " * [0, " << s.batch.count << ")";
    };
    ASSERT_EQ(share_a_byte(x, y), expected) << text(x) << "  and  " << text(y);
    ASSERT_EQ(share_a_byte(y, x), expected) << text(y) << "  and  " << text(x);
    ASSERT_EQ(overlaps_itself(x), twice_by_table(x)) << text(x);
    shared += expected ? 1 : 0;
    twice += overlaps_itself(x) ? 1 : 0;
    const auto end = [](const StridedBytes& s) { return runs_of(s).back() + static_cast<uintptr_t>(s.width); };
    apart_within += !expected && x.begin < end(y) && y.begin < end(x) ? 1 : 0;
  }
  // The cases are of every kind: apart though each begins before the other's end, too.
  EXPECT_GT(shared, cases / 10);
  EXPECT_GT(twice, cases / 20);
  EXPECT_GT(apart_within, cases / 50);
}

TEST(Overlap, IsThatOfATableOfEveryByte) { compare_with_the_table(20000, 1); }
TEST(OverlapFull, IsThatOfATableOfEveryByte) { compare_with_the_table(2'000'000, 2); }

TEST(Overlap, ColumnsOfOneBufferAreApartWhateverTheirExtents) {
  constexpr int64_t rows = int64_t{1} << 30, row_bytes = 3 * 8192;
  const auto slice = [&](int64_t first, int64_t bytes, int64_t batch) {
    return StridedBytes{.begin = (uintptr_t{1} << 44) + static_cast<uintptr_t>(first),
                        .width = bytes,
                        .outer = {rows / batch, row_bytes},
                        .batch = {batch, rows / batch * row_bytes}};
  };
  for (const int64_t batch : {1, 2, 1 << 20}) {
    EXPECT_FALSE(share_a_byte(slice(0, 8192, batch), slice(8192, 8192, batch)));
    EXPECT_FALSE(share_a_byte(slice(16384, 8192, 1), slice(8192, 8192, batch)));
    EXPECT_TRUE(share_a_byte(slice(0, 8193, batch), slice(8192, 8192, batch)));
    EXPECT_TRUE(share_a_byte(slice(0, 8192, batch), slice(16384, 8193, batch)));  // the next row's
    EXPECT_FALSE(overlaps_itself(slice(0, 8192, batch)));
  }
}

TEST(Overlap, StridesWithoutACommonMeasure) {
  // Rows that meet only after a thousand million of them, and one byte earlier never.
  const StridedBytes x{.begin = 1 << 20, .width = 1, .outer = {1'000'000'000, 2'000'000'002}, .batch = {}};
  const StridedBytes y{
      .begin = (1 << 20) + 2'000'000'000, .width = 1, .outer = {1'000'000'000, 2'000'000'000}, .batch = {}};
  // 2000000002 a = 2000000000 (b + 1) has its first solution at a = 10^9, which is one beyond the last.
  EXPECT_FALSE(share_a_byte(
      {.begin = x.begin + 2'000'000'002, .width = 1, .outer = {999'999'999, 2'000'000'002}, .batch = {}}, y));
  StridedBytes longer = y;
  longer.outer.count = 1'000'000'001;
  StridedBytes also = x;
  also.outer.count = 1'000'000'001;
  EXPECT_TRUE(share_a_byte(also, longer));
  longer.begin += 1;
  EXPECT_FALSE(share_a_byte(also, longer));
}

TEST(Overlap, FourStridesThatDoNotFitIntoEachOtherAreDecidedQuickly) {
  const auto start = std::chrono::steady_clock::now();
  const StridedBytes x{.begin = 1 << 20, .width = 3, .outer = {65521, 1'000'003}, .batch = {65519, 3'000'017}};
  const StridedBytes y{.begin = (1 << 20) + 5, .width = 2, .outer = {65497, 1'000'033}, .batch = {65479, 2'999'999}};
  (void)share_a_byte(x, y);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace warploom
