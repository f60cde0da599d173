// The table of machine operations (operations.hpp) speaks of all of them, and docs/verdict.md says what the table says.
#include "loom/observe/check/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "docs/text.hpp"

namespace warploom::loom::check {
namespace {

using warploom::test::lines_of;
using warploom::test::source_folder;

constexpr std::pair<Rule, const char*> rule_names[] = {
    {Rule::own, "own"},         {Rule::lanes, "lanes"},         {Rule::memory, "memory"},
    {Rule::phases, "phases"},   {Rule::bytes, "bytes"},         {Rule::answers, "answers"},
    {Rule::updates, "updates"}, {Rule::registers, "registers"}, {Rule::allocation, "allocation"},
    {Rule::exits, "exits"},     {Rule::grids, "grids"},         {Rule::launch_control, "launch_control"},
    {Rule::maps, "maps"},       {Rule::chance, "chance"},
};

/// Names in backquotes.
std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

TEST(Operations, EveryFunctionOfTheFrontEndHasARow) {
  // Functions that lie in headers hand over to one that has a row; what only names things does nothing to the machine.
  const std::set<std::string> others{"name_role", "name_named_barrier", "trace_point"};
  uint32_t seen = 0;
  std::vector<std::string> lines;
  for (const char* header : {"native.hpp", "parity.hpp", "collective.hpp", "atomics.hpp"})
    std::ranges::copy(lines_of(source_folder() / "include/warploom/loom" / header), std::back_inserter(lines));
  for (const std::string& line : lines) {
    const size_t open = line.find('(');
    if (open == std::string::npos || line[0] == ' ' || line[0] == '/' || line[0] == '#' || line[0] == '}') continue;
    if (line.starts_with("WARPLOOM_FN") || line.starts_with("enum") || line.starts_with("struct") ||
        line.starts_with("static_assert"))
      continue;
    size_t begin = open;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == '_'))
      --begin;
    const std::string name = line.substr(begin, open - begin);
    ++seen;
    EXPECT_TRUE(has_row(name) || others.contains(name)) << name << " has no row in operations.hpp";
  }
  EXPECT_GT(seen, 90u);
}

TEST(Operations, TheDocumentSaysWhatTheTableSays) {
  std::map<std::string, std::set<std::string>> documented;
  std::map<std::string, std::string> shown_by;
  for (const std::string& line : lines_of(source_folder() / "docs/verdict.md")) {
    const std::vector<std::string> names = quoted(line);
    if (!line.starts_with("| `") || names.size() < 2) continue;
    const bool listed = has_row(names[1]);
    if (listed)
      documented[names[0]].insert(names.begin() + 1, names.end());
    else
      shown_by[names[0]] = names.back();
  }
  for (const auto& [rule, name] : rule_names) {
    std::set<std::string> rows;
    for (const Row& row : operation_rows)
      if (row.rules.has(rule)) rows.insert(std::string(row.operation));
    EXPECT_FALSE(rows.empty()) << name;
    EXPECT_EQ(documented[name], rows) << name;
  }
}

/// The document names a test for each rule, and there is such a test.
TEST(Operations, EveryRuleIsShown) {
  std::set<std::string> tests;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite)
    for (int i = 0; i < all.GetTestSuite(suite)->total_test_count(); ++i)
      tests.insert(std::string(all.GetTestSuite(suite)->name()) + "." +
                   all.GetTestSuite(suite)->GetTestInfo(i)->name());
  std::map<std::string, std::string> shown_by;
  for (const std::string& line : lines_of(source_folder() / "docs/verdict.md")) {
    const std::vector<std::string> names = quoted(line);
    if (line.starts_with("| `") && names.size() > 1 && names.back().starts_with("Points."))
      shown_by[names[0]] = names.back();
  }
  for (const auto& [rule, name] : rule_names)
    EXPECT_TRUE(tests.contains(shown_by[name])) << name << ": " << shown_by[name];
}

}  // namespace
}  // namespace warploom::loom::check
