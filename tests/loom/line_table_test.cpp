#include "loom/report/line_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace warploom::loom {
namespace {

using Lines = LineTable::Lines;

Lines lines(const std::string& file, uint32_t line, bool kernel = true) {
  return {{{file, line, "load"}, {"pipeline/ring.hpp", line + 1000, "produce"}}, kernel};
}

std::vector<LineTable::Function> functions() {
  return {{"first",
           1000,
           {{1, lines("kernels/a.hpp", 1)}, {300, lines("kernels/b.hpp", 2000000)}, {20, lines("kernels/a.hpp", 1)}}},
          {"second", 16, {{16, {}}}},
          {"third", 8, {{8, lines("kernels/a.hpp", 3)}}}};
}

TEST(LineTable, HasWhatWasPutIn) {
  const auto encoded = LineTable::encode(functions());
  const LineTable table(encoded);
  for (const LineTable::Function& function : functions()) {
    uint64_t offset = 0;
    for (const LineTable::Run& run : function.runs)
      for (uint32_t i = 0; i < run.bytes; ++i, ++offset)
        EXPECT_EQ(table.find(function.symbol, function.bytes, offset), run.lines) << function.symbol << '+' << offset;
  }
}

TEST(LineTable, SaysNothingOfWhatItDoesNotHave) {
  const auto encoded = LineTable::encode(functions());
  const LineTable table(encoded);
  EXPECT_FALSE(table.find("fourth", 8, 0));
  EXPECT_FALSE(table.find("third", 9, 0)) << "of another size, and so another function of that name";
  EXPECT_FALSE(table.find("third", 8, 8)) << "behind its end";
  EXPECT_FALSE(table.find("first", 1000, 321)) << "behind its last run";
}

TEST(LineTable, ANameThatTwoFunctionsHaveSaysNothing) {
  auto twice = functions();
  twice.push_back(twice.back());
  twice.push_back(twice.back());
  const auto encoded = LineTable::encode(twice);
  const LineTable table(encoded);
  EXPECT_FALSE(table.find("third", 8, 0));
  EXPECT_TRUE(table.find("second", 16, 0));
}

TEST(LineTable, NothingAndWhatIsNoTableAreEmpty) {
  EXPECT_FALSE(LineTable({}).find("first", 1000, 0));
  const auto encoded = LineTable::encode(functions());
  for (size_t bytes = 0; bytes < encoded.size(); ++bytes) {
    const std::vector<std::byte> cut(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_FALSE(LineTable(cut).find("first", 1000, 0)) << bytes;
  }
  for (size_t at = 0; at < encoded.size(); ++at) {  // whatever it says, it reads nothing beside
    std::vector<std::byte> broken = encoded;
    broken[at] ^= std::byte{0xff};
    const LineTable table(broken);
    for (uint64_t offset = 0; offset < 400; offset += 50) (void)table.find("first", 1000, offset);
  }
}

TEST(LineTable, WhatHasDebugInformationCarriesNone) { EXPECT_TRUE(carried_line_table().empty()); }

}  // namespace
}  // namespace warploom::loom
