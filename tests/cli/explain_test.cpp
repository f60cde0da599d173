// warploom explain: pages about codes, and help for who mistypes one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "docs/text.hpp"
#include "support/json.hpp"
#include "support/program.hpp"

namespace {

using warploom::test::Output;

Output explain(const std::string& arguments) {
  return warploom::test::run_program("LC_ALL=C.UTF-8 COLUMNS= " WARPLOOM_PROGRAM " explain " + arguments);
}

TEST(Explain, PrintsThePage) {
  const std::string page = warploom::test::text_of(warploom::test::source_folder() / "docs/checks/RACE-SMEM.md");
  ASSERT_FALSE(page.empty());
  for (const char* typed : {"RACE-SMEM", "race-smem"}) {
    const Output output = explain(typed);
    EXPECT_EQ(output.code, 0);
    EXPECT_EQ(output.text, page);
  }
  const auto json = warploom::test::parse_json(explain("RACE-SMEM --json").text);
  EXPECT_EQ(json["code"], "RACE-SMEM");
  EXPECT_EQ(json["page"], page);
}

TEST(Explain, ListsAllCodesWithALine) {
  const Output output = explain("");
  EXPECT_EQ(output.code, 0);
  const auto json = warploom::test::parse_json(explain("--json").text)["codes"];
  size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(warploom::test::source_folder() / "docs/checks")) {
    EXPECT_NE(output.text.find(entry.path().stem().string() + "  "), std::string::npos) << entry.path();
    ++pages;
  }
  EXPECT_EQ(json.size(), pages);
  EXPECT_EQ(static_cast<size_t>(std::count(output.text.begin(), output.text.end(), '\n')), pages);
  for (const auto& row : json) EXPECT_FALSE(row["summary"].get<std::string>().empty()) << row["code"];
}

TEST(Explain, UnknownCodesGetTheNearest) {
  const Output typo = explain("RACE-SEMM");
  EXPECT_EQ(typo.code, 2);
  EXPECT_EQ(typo.text.rfind("warploom: There is no code RACE-SEMM; the nearest are RACE-SMEM", 0), 0u) << typo.text;
  EXPECT_EQ(std::count(typo.text.begin(), typo.text.end(), '\n'), 1);
  const Output prefix = explain("stage");
  EXPECT_NE(prefix.text.find("STAGE-AFTER-RELEASE, STAGE-AFTER-SETTLE, STAGE-DROPPED, STAGE-RELEASED-TWICE"),
            std::string::npos)
      << prefix.text;
  const auto json = warploom::test::parse_json(explain("nonsense --json").text);
  EXPECT_TRUE(json.contains("error"));
}

}  // namespace
