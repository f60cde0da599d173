// docs/seed_table.md has a row for every name of the original's pages, names only what exists (seed_names.def is
// compiled), and its tests are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "docs/seed_names.hpp"
#include "docs/text.hpp"
#include "support/golden.hpp"
#include "support/pattern.hpp"

namespace warploom::test {
namespace {

struct Row {
  int line = 0;
  std::vector<std::string> cells;  ///< original, ours, what differs, tests

  std::string place() const { return "docs/seed_table.md:" + std::to_string(line); }
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  size_t from = 1;
  for (size_t bar; (bar = line.find('|', from)) != std::string::npos; from = bar + 1)
    cells.push_back(trimmed(line.substr(from, bar - from)));
  return cells;
}

const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> found;
    const std::vector<std::string> lines = lines_of(source_folder() / "docs/seed_table.md");
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with("|") || lines[i].starts_with("| original |") || lines[i].starts_with("| ---")) continue;
      found.push_back({static_cast<int>(i) + 1, cells_of(lines[i])});
    }
    return found;
  }();
  return rows;
}

/// What stands between backticks.
std::vector<std::string> code_in(const std::string& cell) {
  std::vector<std::string> found;
  for (const Groups& code : find_all(cell, "`([^`]*)`")) found.push_back(code[1]);
  return found;
}

/// `A.b` example -> "A.b example"
std::string original_of(const Row& row) {
  std::string name = row.cells.empty() ? "" : row.cells[0];
  std::erase(name, '`');
  return name;
}

std::set<std::string> names_to_cover() {
  std::set<std::string> names;
  auto read = [](const char* name) {
    const std::vector<uint8_t> bytes = read_bytes(name);
    return parse_json({bytes.begin(), bytes.end()});
  };
  const json pages = read("seed_api.json"), types = read("seed_types.json");
  for (const auto& [type, page] : pages.items()) {
    names.insert(type);
    for (const std::string name : page["parameters"]) names.insert(type + "[" + name + "]");
    for (const char* kind : {"fields", "members", "methods"})
      for (const std::string name : page[kind]) names.insert(type + "." + name);
    for (const std::string owner : page["examples"]) names.insert(owner + " example");
    for (const std::string name : page["signature_types"]) names.insert(name);
  }
  for (const auto& [type, members] : types.items()) {
    names.insert(type);
    for (const std::string name : members) names.insert(type + (name.starts_with("[") ? "" : ".") + name);
  }
  return names;
}

TEST(SeedTable, HasARowForEveryName) {
  std::set<std::string> rows;
  for (const Row& row : table()) rows.insert(original_of(row));
  int names = 0;
  for (const std::string& name : names_to_cover()) {
    EXPECT_TRUE(rows.contains(name)) << "no row for " << name;
    ++names;
  }
  EXPECT_GE(names, 250) << "the lists of names have shrunk";
  std::cout << names << " names of the original, " << table().size() << " rows\n";
}

TEST(SeedTable, HasNoOtherRows) {
  const std::set<std::string> names = names_to_cover();
  std::map<std::string, int> first;
  for (const Row& row : table()) {
    const std::string name = original_of(row);
    EXPECT_TRUE(names.contains(name)) << row.place() << ": the original has no " << name;
    const auto [known, added] = first.try_emplace(name, row.line);
    EXPECT_TRUE(added) << row.place() << ": " << name << " has a row already, in line " << known->second;
  }
}

TEST(SeedTable, HasNoEmptyCell) {
  for (const Row& row : table()) {
    EXPECT_EQ(row.cells.size(), 4u) << row.place();
    for (const std::string& cell : row.cells) EXPECT_FALSE(cell.empty()) << row.place();
  }
}

/// OutputTilePipeline<opc>::~X -> OutputTilePipeline, X
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  for (const Groups& word : find_all(name.substr(0, name.find('<')), "[A-Za-z_]\\w*")) words.push_back(word[0]);
  return words;
}

TEST(SeedTable, NamesOnlyWhatExists) {
  using Pair = std::pair<std::string, std::string>;
  std::set<Pair> compiled;
  for (const SeedName& name : seed_names()) {
    compiled.emplace(name.original, name.ours);
    // The fact is about the name, not about something else that happens to compile.
    for (const std::string& word : words_of(name.ours))
      EXPECT_TRUE(is_in(name.fact, "\\b" + word + "\\b"))
          << name.ours << " is not named by its fact in seed_names.def: " << name.fact;
  }
  // What there is no counterpart for, with the reason in its row.
  const std::set<std::string> without = {"BlockScaledTmem", "TmemArrayType"};
  std::set<Pair> shown;
  for (const Row& row : table()) {
    if (row.cells.size() < 2) continue;
    const std::vector<std::string> names = code_in(row.cells[1]);
    EXPECT_EQ(row.cells[1] == "none", without.contains(original_of(row))) << row.place();
    EXPECT_TRUE(!names.empty() || row.cells[1] == "none") << row.place() << ": no C++ name";
    for (const std::string& name : names) {
      shown.emplace(original_of(row), name);
      EXPECT_TRUE(compiled.contains({original_of(row), name}))
          << row.place() << ": seed_names.def does not name " << name << " for " << original_of(row);
    }
  }
  for (const auto& [original, name] : compiled)
    EXPECT_TRUE(shown.contains({original, name})) << "the table does not show " << name << " for " << original;
}

/// Suites and tests of the GoogleTest sources, "Suite.Name", with the file's text; and "negative.name".
const std::map<std::string, std::string>& tests() {
  static const std::map<std::string, std::string> found = [] {
    std::map<std::string, std::string> all;
    const char* const head = "TEST(?:_P|_F)?\\((\\w+),\\s*(\\w+)\\)";  // also TYPED_TEST
    const char* const negative = "warploom_negative_test\\(([\\w${}]+)";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "tests")) {
      const bool source = entry.path().string().ends_with("_test.cpp");
      if (!source && entry.path().filename() != "CMakeLists.txt") continue;
      const std::string text = text_of(entry.path());
      for (const Groups& name : find_all(text, source ? head : negative))
        all[source ? name[1] + "." + name[2] : "negative." + name[1]] = text;
    }
    return all;
  }();
  return found;
}

bool is_there(const std::string& test) {
  if (tests().contains(test)) return true;
  const std::string dropped = "negative.dropped_";
  if (test.starts_with(dropped)) {  // one source for several handles
    const auto several = tests().find(dropped + "${handle}");
    return several != tests().end() &&
           is_in(several->second, "foreach\\(handle[^)]*\\b" + test.substr(dropped.size()) + "\\b");
  }
  const size_t slash = test.find('/');
  if (slash == std::string::npos) return false;
  const auto suite = tests().find(test.substr(0, slash));
  return suite != tests().end() && suite->second.find('"' + test.substr(slash + 1) + '"') != std::string::npos;
}

TEST(SeedTable, NamesTestsThatExist) {
  EXPECT_FALSE(is_there("SeedTable.NamesNothing"));
  EXPECT_FALSE(is_there("SeedTypesTest.OneSm/Nothing"));
  EXPECT_FALSE(is_there("negative.dropped_nothing"));
  for (const Row& row : table()) {
    if (row.cells.size() < 4) continue;
    const std::vector<std::string> names = code_in(row.cells[3]);
    EXPECT_FALSE(names.empty()) << row.place() << ": no test";
    for (const std::string& name : names) EXPECT_TRUE(is_there(name)) << row.place() << ": there is no test " << name;
  }
}

}  // namespace
}  // namespace warploom::test
