// docs/checks has a page for every code that the loom can report, in one form, and docs/reports.md lists them all.
#include <gtest/gtest.h>

#include <set>

#include "docs/text.hpp"
#include "support/pattern.hpp"

namespace warploom::test {
namespace {

using Codes = std::set<std::string>;

/// Texts in capitals in the loom's source are codes of findings; src/ptx and src/kernels add their own.
Codes reported() {
  Codes codes;
  const auto collect = [&](const char* folder, const char* form) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / folder)) {
      if (!entry.is_regular_file()) continue;
      for (const Groups& code : find_all(text_of(entry.path()), form)) codes.insert(code[1]);
    }
  };
  collect("src/loom", "\"([A-Z][A-Z0-9]+(-[A-Z0-9]+)*)\"");
  collect("src/ptx", "fail\\(self, WARPLOOM_PLACE\\([a-z_]+\\), \"([A-Z-]+)\"");
  collect("src/kernels", "\\.code = \"([A-Z0-9-]+)\"");
  return codes;
}

Codes pages() {
  Codes codes;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "docs/checks"))
    codes.insert(entry.path().stem());
  return codes;
}

Codes listed() {
  Codes codes;
  for (const std::string& line : lines_of(source_folder() / "docs/reports.md"))
    for (const Groups& found : find_all(line, "^\\| `([A-Z][A-Z0-9-]+)`( \\*)? \\|")) codes.insert(found[1]);
  return codes;
}

TEST(Checks, EveryCodeHasAPage) {
  const Codes codes = reported(), written = pages();
  EXPECT_GE(codes.size(), 55u);
  for (const std::string& code : codes) EXPECT_TRUE(written.contains(code)) << "docs/checks/" << code << ".md";
  for (const std::string& code : written) EXPECT_TRUE(codes.contains(code)) << "nothing reports " << code;
}

TEST(Checks, EveryCodeIsListed) { EXPECT_EQ(listed(), pages()); }

TEST(Checks, PagesHaveOneForm) {
  for (const std::string& code : pages()) {
    SCOPED_TRACE("docs/checks/" + code + ".md");
    const std::vector<std::string> lines = lines_of(source_folder() / ("docs/checks/" + code + ".md"));
    ASSERT_GE(lines.size(), 20u);
    EXPECT_EQ(lines[0], "# " + code);
    EXPECT_TRUE(lines[1].empty());
    EXPECT_TRUE(lines[2].ends_with(".") || lines[2].size() > 60) << "a sentence says what the code means";
    std::vector<std::string> titles;
    int fences = 0;
    for (const std::string& line : lines) {
      if (line.starts_with("## ")) titles.push_back(line.substr(3));
      if (line.starts_with("```")) ++fences;
      EXPECT_LE(line.size(), 120u) << line;
    }
    if (titles.back() == "In the corpus") titles.pop_back();
    EXPECT_EQ(titles, (std::vector<std::string>{"The bug", "The fix", "On a GPU", "The report"}));
    EXPECT_EQ(fences, 4) << "the bug and the fix are code";
  }
}

}  // namespace
}  // namespace warploom::test
