#include "tune/constants.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace warploom::tune {
namespace {

TEST(Constants, ShippedValuesLieWithinTheirBounds) {
  const GemmCosts costs;
  std::set<std::string> names;
  for (const Constant& one : constants()) {
    EXPECT_LE(one.low, costs.*one.member) << one.name;
    EXPECT_GE(one.high, costs.*one.member) << one.name;
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
}

TEST(Constants, AreSetByName) {
  GemmCosts costs;
  EXPECT_EQ(set_constant(costs, "split_cycles=1234.5"), "");
  EXPECT_EQ(costs.split_cycles, 1234.5);
  EXPECT_EQ(set_constant(costs, "dram_bytes_per_us=3e6"), "");
  EXPECT_EQ(costs.dram_bytes_per_us, 3e6);
  EXPECT_TRUE(set_constant(costs, "split=3").starts_with("there is no constant 'split'; there are clock_ghz, "));
  for (const char* bad : {"", "split_cycles", "split_cycles=", "split_cycles=0", "split_cycles=-1", "split_cycles=3x"})
    EXPECT_NE(set_constant(costs, bad).find("sets nothing"), std::string::npos) << bad;
  EXPECT_EQ(costs.split_cycles, 1234.5);
}

TEST(Constants, AreRoundedToThreeDigits) {
  GemmCosts costs;
  costs.split_cycles = 1234.5;
  costs.overlap_loss = 0.0123456;
  costs.dram_bytes_per_us = 3.5678e6;
  costs = rounded(costs);
  EXPECT_NEAR(costs.split_cycles, 1230, 1e-9);
  EXPECT_NEAR(costs.overlap_loss, 0.0123, 1e-12);
  EXPECT_NEAR(costs.dram_bytes_per_us, 3.57e6, 1e-3);
  EXPECT_NE(to_source(costs).find("  double split_cycles = 1230;\n"), std::string::npos);
  EXPECT_NE(to_source(costs).find("  double dram_bytes_per_us = 3.57e6;\n"), std::string::npos);
}

/// The header that the planner is compiled from, with one value changed.
TEST(Constants, AreReplacedInTheHeader) {
  std::ifstream file(WARPLOOM_TEST_DATA "/../../src/plan/gemm_costs.hpp");
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const auto same = replaced_in(header, GemmCosts{});
  ASSERT_TRUE(same) << same.error();
  GemmCosts costs;
  costs.split_cycles = 1230;
  const auto changed = replaced_in(header, costs);
  ASSERT_TRUE(changed) << changed.error();
  EXPECT_NE(changed->find("double split_cycles = 1230;"), std::string::npos);
  // All but that line is as it was.
  const size_t at = changed->find("double split_cycles");
  EXPECT_EQ(changed->substr(0, at), same->substr(0, at));
  EXPECT_EQ(changed->substr(changed->find(';', at)), same->substr(same->find(';', at)));
  EXPECT_EQ(replaced_in("struct GemmCosts {};", costs).error(), "there is no line 'double clock_ghz = ...;'");
}

}  // namespace
}  // namespace warploom::tune
