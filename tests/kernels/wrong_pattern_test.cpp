// Every pattern that a wrong result is named by: where it lies, and what it holds instead.
#include <gtest/gtest.h>

#include <functional>

#include "right_results.hpp"

namespace warploom::test {
namespace {

class WrongPattern : public testing::TestWithParam<std::pair<Fill, DType>> {
 protected:
  static constexpr int m = 128, n = 128, k = 320;

  WrongPattern()
      : data({.m = m, .n = n, .k = k, .batch = 2, .d = GetParam().second, .beta = 1.0f, .fill = GetParam().first}),
        problem(data.problem()) {
    solve_in_fp32(problem);
    const Result<const GemmConfig*> config = find_gemm_config("bf16-kk-64x64-one-1x1");
    EXPECT_TRUE(config);
    plan.config = *config;
  }

  uint32_t bits(int z, int i, int j) const { return load_bits(problem.d.type, element_at(problem, z, i, j)); }
  void set(int z, int i, int j, uint32_t bits) { store_bits(problem.d.type, element_at(problem, z, i, j), bits); }
  using Made = std::function<uint32_t(int i, int j)>;
  /// Part of matrix 1 is what `made` says, of D as it was.
  GemmAccuracy with(int top, int rows, int left, int columns, const Made& made) {
    std::vector<uint32_t> others;
    for (int i = top; i < top + rows; ++i)
      for (int j = left; j < left + columns; ++j) others.push_back(made(i, j));
    size_t at = 0;
    for (int i = top; i < top + rows; ++i)
      for (int j = left; j < left + columns; ++j) set(1, i, j, others[at++]);
    return data.compare({.plan = &plan});
  }
  /// The answer with each K block of 64 so many times.
  uint32_t with_blocks(int i, int j, const std::function<int(int block)>& times) const {
    const std::vector<double> a = line_of(problem.a, 1, i, k), b = line_of(problem.b, 1, j, k);
    double sum = 0;
    for (int q = 0; q < k; ++q) sum += times(q / 64) * a[static_cast<size_t>(q)] * b[static_cast<size_t>(q)];
    return encode_value(problem.d.type, epilogue(problem, 1, i, j, static_cast<float>(sum)));
  }
  uint32_t of_c(int i, int j) const {
    return load_bits(problem.c.type, static_cast<const std::byte*>(problem.c.data) +
                                         (problem.c.batch_stride + i * problem.c.stride + j) * size_of(problem.c.type));
  }

  GemmData data;
  GemmProblem problem;
  GemmPlan plan;
};

#define EXPECT_PATTERN(found, place_, cause_, words)                          \
  EXPECT_EQ((found).place, WrongPlace::place_) << (found).text();             \
  EXPECT_EQ((found).cause, WrongCause::cause_) << (found).text();             \
  EXPECT_NE((found).text().find(words), std::string::npos) << (found).text(); \
  EXPECT_FALSE((found).correct());                                            \
  EXPECT_EQ((found).first.matrix, 1)

TEST_P(WrongPattern, None) {
  const GemmAccuracy found = data.compare({.plan = &plan});
  EXPECT_TRUE(found.correct()) << found.text();
  EXPECT_EQ(found.place, WrongPlace::none);
  EXPECT_EQ(found.pattern, "");
}
TEST_P(WrongPattern, OneElement) {
  const GemmAccuracy found = with(20, 1, 30, 1, [&](int, int) { return encode_value(problem.d.type, 12345.0f); });
  EXPECT_PATTERN(found, element, unknown, "one element");
  EXPECT_EQ(found.wrong, 1);
  EXPECT_EQ(found.first.row, 20);
  EXPECT_EQ(found.first.column, 30);
  EXPECT_NEAR(found.first.got, 12345, 64);
}
TEST_P(WrongPattern, Scattered) {
  for (int e = 0; e < 40; ++e) set(1, (e * 37 + 5) % m, (e * 53 + 11) % n, encode_value(problem.d.type, 1000.0f));
  EXPECT_PATTERN(data.compare({.plan = &plan}), scattered, unknown, "scattered over 40 rows and 40 columns");
}
TEST_P(WrongPattern, Rows) {
  const GemmAccuracy found =
      with(5, 2, 0, n, [&](int i, int j) { return bits(1, i, j) ^ 0x10u << (8 * size_of(problem.d.type) - 12); });
  EXPECT_PATTERN(found, rows, unknown, "rows 5, 6 of matrix 1");
}
TEST_P(WrongPattern, Columns) {
  const GemmAccuracy found = with(0, m, 9, 1, [&](int, int) { return encode_value(problem.d.type, 777.0f); });
  EXPECT_PATTERN(found, columns, unknown, "column 9 of matrix 1");
}
TEST_P(WrongPattern, Tile) {
  const GemmAccuracy found = with(64, 64, 64, 64, [&](int, int) { return encode_value(problem.d.type, 777.0f); });
  EXPECT_PATTERN(found, tiles, unknown, "1 tile of 64 x 64, the first at [64][64] of matrix 1");
}
TEST_P(WrongPattern, Everywhere) {
  for (int z = 0; z < 2; ++z)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) set(z, i, j, encode_value(problem.d.type, 777.0f));
  const GemmAccuracy found = data.compare({.plan = &plan});
  EXPECT_EQ(found.place, WrongPlace::everywhere) << found.text();
}
TEST_P(WrongPattern, Unwritten) {
  const GemmAccuracy found = with(64, 64, 64, 64, [&](int, int) { return unwritten_bits(problem.d.type); });
  EXPECT_PATTERN(found, tiles, unwritten, "never written");
}
TEST_P(WrongPattern, Source) {
  const GemmAccuracy found = with(8, 1, 0, n, [&](int i, int j) { return of_c(i, j); });
  EXPECT_PATTERN(found, rows, source, "the values of C");
}
TEST_P(WrongPattern, Transposed) {
  const GemmAccuracy found = with(0, m, 0, n, [&](int i, int j) { return bits(1, j, i); });
  EXPECT_EQ(found.cause, WrongCause::transposed) << found.text();
}
TEST_P(WrongPattern, ElementsExchanged) {
  const uint32_t a = bits(1, 3, 4), b = bits(1, 100, 115);
  ASSERT_NE(a, b);
  set(1, 3, 4, b);
  set(1, 100, 115, a);
  EXPECT_PATTERN(data.compare({.plan = &plan}), scattered, exchanged, "each has what is right at another of them");
}
TEST_P(WrongPattern, RowsExchanged) {
  const GemmAccuracy found = with(10, 2, 0, n, [&](int i, int j) { return bits(1, 21 - i, j); });
  EXPECT_PATTERN(found, rows, exchanged, "rows 10, 11 of matrix 1: the values of row 11");
}
TEST_P(WrongPattern, AColumnOfAnother) {
  const GemmAccuracy found = with(0, m, 70, 1, [&](int i, int j) { return bits(1, i, j - 8); });
  EXPECT_PATTERN(found, columns, exchanged, "column 70 of matrix 1: the values of column 62");
}
TEST_P(WrongPattern, AStaleTile) {
  const GemmAccuracy found = with(64, 64, 64, 64, [&](int i, int j) { return bits(1, i - 64, j); });
  EXPECT_PATTERN(found, tiles, exchanged, "the values of the tile at [0][64]");
}
TEST_P(WrongPattern, AKBlockMissing) {
  const GemmAccuracy found =
      with(64, 64, 64, 64, [&](int i, int j) { return with_blocks(i, j, [](int b) { return b != 3; }); });
  EXPECT_PATTERN(found, tiles, k_missing, "the answer without K block 3 (k 192 to 255");
}
TEST_P(WrongPattern, AKBlockTwice) {
  const GemmAccuracy found =
      with(0, 64, 64, 64, [&](int i, int j) { return with_blocks(i, j, [](int b) { return b == 4 ? 2 : 1; }); });
  EXPECT_PATTERN(found, tiles, k_twice, "the answer with K block 4 (k 256 to 319");
}
TEST_P(WrongPattern, AStaleStage) {
  GemmConfig two_slots = *plan.config;
  two_slots.shape.stages = 2;
  two_slots.shape.k_group = 1;
  plan.config = &two_slots;
  const GemmAccuracy found = with(0, 64, 0, 64, [&](int i, int j) {
    return with_blocks(i, j, [](int b) { return b == 3 ? 0 : b == 1 ? 2 : 1; });
  });
  EXPECT_PATTERN(found, tiles, k_stale, "K block 1 again in the place of K block 3 (k 192 to 255, slot 1 of the ring)");
}

INSTANTIATE_TEST_SUITE_P(Of, WrongPattern,
                         testing::Values(std::pair{Fill::normal, DType::f32}, std::pair{Fill::integer, DType::bf16}),
                         [](const auto& one) {
                           return std::string(one.param.first == Fill::integer ? "integers" : "normal") + "_" +
                                  name_of(one.param.second);
                         });

}  // namespace
}  // namespace warploom::test
