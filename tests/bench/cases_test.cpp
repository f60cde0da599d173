#include "bench/cases.hpp"

#include <gtest/gtest.h>

#include <set>

namespace warploom::bench {
namespace {

TEST(Cases, EverySuiteHasDistinctShapes) {
  for (const Suite& one : suites()) {
    const std::vector<Case> cases = one.cases();
    EXPECT_FALSE(cases.empty()) << one.name;
    std::set<std::string> labels;
    for (const Case& c : cases) EXPECT_TRUE(labels.insert(c.label() + c.model).second) << one.name << ": " << c.label();
  }
}

TEST(Cases, SuitesAreTheOnesThatWereAgreed) {
  EXPECT_EQ(suite("dense")->size(), 16u);
  EXPECT_EQ(suite("blockwise")->size(), 16u);
  EXPECT_EQ(suite("decode")->size(), 2u * 5 * 7);
  EXPECT_EQ(suite("epilogue")->size(), 8u);
  EXPECT_EQ(suite("serving")->size(), 2u * 14 * 8);
  EXPECT_EQ(suite("dense")->front().label(), "bf16 4096x2112x7168");
  EXPECT_EQ(suite("epilogue")->back().label(), "bf16 8192x8192x8192 +C +bias silu");
}

TEST(Cases, ASuiteThatIsNotThereIsAnsweredWithThoseThatAre) {
  const auto none = suite("sparse");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "there is no suite 'sparse'; there are dense, blockwise, decode, epilogue, serving");
}

TEST(Cases, CountsOperationsAndBytes) {
  const Case dense = make_case(Kind::bf16, 4, 8, 16);
  EXPECT_EQ(dense.flops(), 2.0 * 4 * 8 * 16);
  EXPECT_EQ(dense.bytes(), 2.0 * (4 * 16 + 8 * 16 + 4 * 8));
  // FP8: one byte an operand; scales of 3 K blocks for 4 rows, and for two blocks of columns.
  const Case scaled = make_case(Kind::blockwise, 4, 200, 300);
  EXPECT_EQ(scaled.bytes(), 4 * 300 + 200 * 300 + 2 * 4 * 200 + 4 * (4 * 3 + 2 * 3));
  EXPECT_EQ(scaled.problem.a_scales.stride, 4);
  EXPECT_EQ(make_case(Kind::blockwise, 5, 200, 300).problem.a_scales.stride, 8);
}

TEST(Cases, ReadsShapes) {
  const auto sizes = parse_sizes("4096x7168x2048");
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->m, 4096);
  EXPECT_EQ(sizes->n, 7168);
  EXPECT_EQ(sizes->k, 2048);
  for (const char* bad : {"", "4096", "4096x7168", "4096x7168x", "4096x7168x2048x1", "4096x-1x2048", "0x1x1", "axbxc",
                          "4096 x7168x2048", "99999999999x1x1"})
    EXPECT_FALSE(parse_sizes(bad)) << bad;
}

TEST(Cases, ALabelIsReadBack) {
  for (const Suite& one : suites())
    for (const Case& c : one.cases()) {
      const auto read = parse_case(c.label());
      ASSERT_TRUE(read) << read.error();
      EXPECT_EQ(read->label(), c.label());
      EXPECT_EQ(read->bytes(), c.bytes());
    }
  const auto all = parse_case("f16 16x32x64 +C +bias(m) gelu_tanh");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->problem.c.type, DType::f16);
  EXPECT_EQ(all->problem.c.stride, 32);
  EXPECT_EQ(all->problem.bias.along, BiasAlong::m);
  EXPECT_EQ(all->problem.activation, Activation::gelu_tanh);
  EXPECT_EQ(why_not(somewhere(all->problem)), "");
  for (const char* bad : {"", "bf16", "bf16 ", "int8 16x16x16", "bf16 16x16", "bf16 16x16x16 +D", "bf16  16x16x16"})
    EXPECT_FALSE(parse_case(bad)) << bad;
}

TEST(Cases, ReadsKinds) {
  for (const Kind kind : {Kind::bf16, Kind::f16, Kind::fp8, Kind::blockwise}) {
    const auto parsed = parse_kind(to_string(kind));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, kind);
  }
  EXPECT_FALSE(parse_kind("int8"));
}

}  // namespace
}  // namespace warploom::bench
