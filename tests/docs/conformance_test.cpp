// docs/conformance.md names a test for every section of docs/hardware.md §1 to §7, only tests that the built test
// programs list (of a folder that is not built: that its sources have), cases that the GPU programs run, and every
// constant of src/loom/units/unconfirmed.hpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "docs/text.hpp"
#include "support/pattern.hpp"

namespace warploom::test {
namespace {

namespace fs = std::filesystem;

struct Row {
  int line = 0;
  std::string number, fact, test, evidence;
  std::string place() const { return "docs/conformance.md:" + std::to_string(line) + ": row " + number; }
  bool modelled() const { return !test.starts_with("not modelled: "); }
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> found;
    const std::vector<std::string> lines = lines_of(source_folder() / "docs/conformance.md");
    const char* const form = R"(\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|)";
    for (size_t i = 0; i < lines.size(); ++i) {
      if (const std::optional<Groups> cells = match_whole(lines[i], form))
        found.push_back({static_cast<int>(i) + 1, (*cells)[1], (*cells)[2], (*cells)[3], (*cells)[4]});
      else
        EXPECT_FALSE(is_in(lines[i], R"(^\| *\d)")) << "no row: " << lines[i];
    }
    return found;
  }();
  return rows;
}

std::vector<std::string> code_in(const std::string& cell) {
  std::vector<std::string> found;
  for (const Groups& code : find_all(cell, "`([^`]*)`")) found.push_back(code[1]);
  return found;
}

/// What `program --gtest_list_tests` prints: a suite, then its tests, indented.
void add_listed(const fs::path& program, std::set<std::string>& names) {
  FILE* pipe = popen(("'" + program.string() + "' --gtest_list_tests").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string suite;
  char line[1024];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::string text = line;
    text = trimmed(text.substr(0, text.find_first_of("#\n")));
    if (line[0] != ' ')
      suite = text.ends_with(".") ? text : "";
    else if (!suite.empty() && !text.starts_with("DISABLED_"))
      names.insert(suite + text);
  }
  EXPECT_EQ(pclose(pipe), 0) << program;
}

/// All tests of the tree: as the programs list them, which lie beside this one and are named after their folders; of a
/// folder that is not built, as its sources have them.
struct Tests {
  std::set<std::string> listed, written;

  bool has(const std::string& name) const {
    if (listed.contains(name) || written.contains(name)) return true;
    // Values/Suite.Name/value: sources do not say which values there are
    const std::optional<Groups> parts = match_whole(name, R"(\w+/(\w+\.\w+)/\w+)");
    return parts && written.contains((*parts)[1]);
  }
};

const Tests& tests() {
  static const Tests all = [] {
    Tests found;
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path(), sources = source_folder() / "tests";
    std::map<fs::path, std::string> folders;
    for (const auto& entry : fs::recursive_directory_iterator(sources))
      if (entry.path().string().ends_with("_test.cpp"))
        folders[entry.path().parent_path()] += "\n" + text_of(entry.path());
    for (const auto& [folder, text] : folders) {
      std::string program = "test_" + fs::relative(folder, sources).string();
      std::replace(program.begin(), program.end(), '/', '_');
      if (fs::exists(here / program)) {
        add_listed(here / program, found.listed);
        continue;
      }
      for (const Groups& head : find_all(text, R"(\n(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\))"))
        found.written.insert(head[1] + "." + head[2]);
    }
    return found;
  }();
  return all;
}

TEST(Conformance, CoversEverySection) {
  std::set<std::string> rows;
  for (const Row& row : table()) rows.insert(row.number.substr(0, row.number.rfind('.')));
  std::set<std::string> sections;
  int top = 0;
  for (const std::string& line : lines_of(source_folder() / "docs/hardware.md")) {
    const std::optional<Groups> parts = match_whole(line, R"(^#{2,3} (\d+)(?:\.(\d+))? .*)");
    if (!parts) continue;
    top = std::stoi((*parts)[1]);
    if (top >= 1 && top <= 7 && !(*parts)[2].empty()) sections.insert((*parts)[1] + "." + (*parts)[2]);
  }
  sections.insert("7.0");  // the table of formats, before 7.1
  EXPECT_GE(sections.size(), 55u);
  for (const std::string& section : sections) EXPECT_TRUE(rows.contains(section)) << "no row for section " << section;
  for (const std::string& section : rows) EXPECT_TRUE(sections.contains(section)) << "there is no section " << section;
}

TEST(Conformance, RowsAreNumberedInOrder) {
  std::string section;
  int next = 1;
  for (const Row& row : table()) {
    const size_t dot = row.number.rfind('.');
    if (row.number.substr(0, dot) != section) section = row.number.substr(0, dot), next = 1;
    EXPECT_EQ(row.number.substr(dot + 1), std::to_string(next)) << row.place();
    ++next;
  }
  EXPECT_GE(table().size(), 150u);
}

TEST(Conformance, NamesTestsThatExist) {
  EXPECT_FALSE(tests().has("Conformance.NamesNothing"));
  EXPECT_TRUE(tests().listed.contains("Conformance.NamesTestsThatExist"));
  for (const Row& row : table()) {
    const std::vector<std::string> names = code_in(row.test);
    if (row.modelled()) {
      EXPECT_FALSE(names.empty()) << row.place() << ": no test";
    }
    for (const std::string& name : names) {
      if (!row.modelled() && name.find('.') == std::string::npos) continue;  // `arch`
      EXPECT_TRUE(tests().has(name)) << row.place() << ": there is no test " << name;
    }
  }
}

TEST(Conformance, EvidenceIsOfAKnownKind) {
  static const std::set<std::string> kinds{"H200", "header", "formula", "PTX", "unconfirmed", "unspecified"};
  for (const Row& row : table()) {
    std::istringstream text(
        with_replaced(with_replaced(row.evidence, R"(`[^`]*`|\([^)]*\)|;.*| of )", " "), "[,:]", " "));
    int found = 0;
    for (std::string word; text >> word; ++found) EXPECT_TRUE(kinds.contains(word)) << row.place() << ": " << word;
    EXPECT_GT(found, 0) << row.place();
  }
}

std::set<std::string> gpu_cases() {
  std::set<std::string> cases;
  for (const char* file : {"expected_hashes.txt", "expected_exact.txt"})
    for (const std::string& line : lines_of(source_folder() / "examples/gpu" / file)) {
      std::istringstream words(line);
      std::string program, name;
      if (words >> program >> name && program != "#") cases.insert(program + ":" + name);
    }
  return cases;
}

TEST(Conformance, NamesCasesThatExist) {
  const std::set<std::string> cases = gpu_cases();
  ASSERT_GT(cases.size(), 100u);
  int named = 0;
  for (const Row& row : table())
    for (const std::string& name : code_in(row.evidence))
      if (name.find(':') != std::string::npos) {
        ++named;
        EXPECT_TRUE(cases.contains(name)) << row.place() << ": no GPU program has the case " << name;
      }
  EXPECT_GT(named, 60);
}

std::set<std::string> unconfirmed_constants() {
  std::set<std::string> names;
  const std::string text = text_of(source_folder() / "src/loom/units/unconfirmed.hpp");
  for (const Groups& constant : find_all(text, R"(inline constexpr \w+ (\w+) = )")) names.insert(constant[1]);
  return names;
}

/// What is not confirmed is marked: in the table with the constant that holds it, and every constant has its row.
TEST(Conformance, EveryUnconfirmedConstantHasARow) {
  const std::set<std::string> constants = unconfirmed_constants();
  EXPECT_GE(constants.size(), 11u);
  std::set<std::string> shown;
  for (const Row& row : table())
    for (const Groups& marked : find_all(row.evidence, R"(un(?:confirmed|specified): `([^`]+)`(?: of `([^`]+)`)?)")) {
      const std::string name = marked[1], file = marked[2];
      const std::string path = file.empty() && name.find('/') != std::string::npos ? name : file;
      if (path.empty()) {
        EXPECT_TRUE(constants.contains(name)) << row.place() << ": unconfirmed.hpp has no " << name;
        shown.insert(name);
        continue;
      }
      const std::string text = text_of(source_folder() / path);
      EXPECT_TRUE(is_in(text, "unconfirmed|not confirmed")) << row.place() << ": " << path;
      EXPECT_TRUE(file.empty() || text.find(name) != std::string::npos) << row.place() << ": " << name;
    }
  for (const std::string& name : constants) EXPECT_TRUE(shown.contains(name)) << name << " has no row";
}

/// examples/gpu/unconfirmed_cases.txt: which constant a case decides that differs on a B200.
TEST(Conformance, CasesOfUnconfirmedConstantsExist) {
  const std::set<std::string> cases = gpu_cases(), constants = unconfirmed_constants();
  std::set<std::string> decided;
  for (const std::string& line : lines_of(source_folder() / "examples/gpu/unconfirmed_cases.txt")) {
    if (line.starts_with("#") || line.empty()) continue;
    std::istringstream words(line);
    std::string constant, program, name;
    ASSERT_TRUE(words >> constant >> program) << line;
    EXPECT_TRUE(constants.contains(constant)) << line;
    while (words >> name) {
      EXPECT_TRUE(cases.contains(program + ":" + name)) << line << ": no case " << name;
      decided.insert(constant);
    }
  }
  // What no case decides: an upper half that nobody may look at, one that nobody specifies, and corners of TMA.
  const std::set<std::string> undecided{"unpacked_upper_half", "f16_accumulator_upper_half",
                                        "padded_start_step",   "im2col_store_wants_no_corners",
                                        "f64_sum_nan",         "minus_zero_is_less"};
  for (const std::string& constant : constants)
    EXPECT_NE(decided.contains(constant), undecided.contains(constant)) << constant;
}

/// Every file of tests/data has a line in its README, every test named there exists, and some test reads the file.
TEST(Conformance, EveryDataFileIsUsed) {
  const fs::path data = WARPLOOM_TEST_DATA;
  const std::string readme = text_of(data / "README.md");
  std::string sources;
  for (const auto& entry : fs::recursive_directory_iterator(source_folder() / "tests"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp") sources += text_of(entry.path());
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(data)) {
    const std::string name = entry.path().filename(), stem = entry.path().stem();
    if (name == "README.md") continue;
    ++files;
    EXPECT_NE(readme.find("`" + stem + "."), std::string::npos) << "tests/data/README.md does not name " << name;
    EXPECT_TRUE(sources.find("\"" + stem) != std::string::npos || sources.find("/" + stem) != std::string::npos)
        << "no test reads " << name;
  }
  EXPECT_GE(files, 28u);
  for (const std::string& name : code_in(readme))
    if (match_whole(name, R"([A-Z]\w+\.[A-Z]\w+)")) {
      EXPECT_TRUE(tests().has(name)) << "tests/data/README.md: there is no test " << name;
    }
}

}  // namespace
}  // namespace warploom::test
