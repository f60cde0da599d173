// Every JSON document of the program, beside docs/json.md.
#include "support/json.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cli/process.hpp"
#include "docs/text.hpp"
#include "support/program.hpp"

namespace {

using warploom::test::Ended;
using warploom::test::json;
using warploom::test::run;

struct Documented {
  std::set<std::string> all, always;
};

/// The fields of each section of the page, by its title.
std::map<std::string, Documented> documented() {
  std::map<std::string, Documented> sections;
  std::istringstream page(warploom::test::text_of(warploom::test::source_folder() / "docs/json.md"));
  std::string line, section;
  while (std::getline(page, line)) {
    if (line.rfind("## ", 0) == 0) section = line.substr(3);
    if (line.rfind("| `", 0) != 0) continue;
    const size_t end = line.find(" | ");
    const bool always = line.compare(end + 3, 6, "always") == 0;
    for (size_t at = line.find('`'); at < end; at = line.find('`', at + 1)) {
      const size_t from = at + 1;
      at = line.find('`', from);
      sections[section].all.insert(line.substr(from, at - from));
      if (always) sections[section].always.insert(line.substr(from, at - from));
    }
  }
  return sections;
}

/// "a", "b.c", "list[].d"; what has a page of its own is one field.
void fields_of(const json& value, const std::string& path, std::set<std::string>& fields) {
  if (path == "report" || path == "verdicts[]" || path == "modules[]") {
    fields.insert(path);
  } else if (value.is_object()) {
    for (const auto& [name, field] : value.items()) fields_of(field, path.empty() ? name : path + "." + name, fields);
  } else if (value.is_array()) {
    for (const json& element : value) fields_of(element, path + "[]", fields);
    if (value.empty()) fields.insert(path + "[]*");  // any field below may be missing
  } else {
    fields.insert(path);
  }
}

void expect_documented(const Ended& ended, const std::string& section, const Documented& page) {
  ASSERT_FALSE(page.all.empty()) << section;
  const json document = json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << section << ended.out << ended.error;
  EXPECT_EQ(document.value("schema", 0), 1) << section;
  std::set<std::string> fields, empty;
  fields_of(document, "", fields);
  for (const std::string& field : fields) {
    if (field.ends_with('*'))
      empty.insert(field.substr(0, field.size() - 1));
    else
      EXPECT_TRUE(page.all.contains(field))
          << section << " prints " << field << ", of which docs/json.md does not know";
  }
  for (const std::string& field : page.always) {
    const bool below_nothing =
        std::any_of(empty.begin(), empty.end(), [&](const std::string& list) { return field.rfind(list, 0) == 0; });
    EXPECT_TRUE(below_nothing || fields.contains(field)) << section << " does not print " << field;
  }
  for (const char c : ended.out) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << section;
}

TEST(CliJson, EveryDocumentIsAsThePageSays) {
  auto page = documented();
  const warploom::test::Folder folder;
  const std::string shape = " gemm --m 64 --n 64 --k 200 --json";
  const std::string add = WARPLOOM_TEST_DATA "/add.ptx";
  const std::string launch = "ptx launch --json " + add + " --grid 2 --block 32 --arg f32[64]:iota --arg f32[64]:2";
  const std::pair<std::string, std::string> commands[] = {
      {"`warploom run`", "run" + shape + " --timeline --out " + folder.file("d")},
      {"`warploom run`", "run blockwise-fp8 --m 8 --n 8 --k 8 --json --config e4m3-blocks-128x128-2sm-2x1"},
      {"`warploom run`", "run" + shape + " --mutate drop@5"},
      {"`warploom run --sites`", "run" + shape + " --sites"},
      {"`warploom check`", "check" + shape},
      {"`warploom check`",
       "check blockwise-fp8 --b-scales rows --config e4m3-rows-128x128-2sm-2x1-clc --m 300 --n 176 --k 128 --sms 2 "
       "--schedules 3 --json"},
      {"`warploom check`", "check" + shape + " --sms 0 --beta 0 --mutate drop@5"},
      {"`warploom mutate`", "mutate gemm --m 8 --n 8 --k 8 --unchecked --schedule eager --json"},
      {"`warploom plan`", "plan gemm --json"},
      {"`warploom ptx info`", "ptx info --json " + add},
      {"`warploom ptx launch`", launch + " --timeline --arg f32[64]:zero,print=2 --arg i32:64"},
      {"`warploom ptx launch`", launch + " --arg f32[60]:zero --arg i32:64"},
      {"`warploom ptx launch`", launch + " --check --explore --arg f32[64]:zero --arg i32:64"},
      {"`warploom kernels`", "kernels --json"},
      {"`warploom machine`", "machine --json"},
      {"`warploom explain`", "explain RACE-SMEM --json"},
      {"An error", "run nothing --json"},
      {"An error", "--json"},
  };
  page["`warploom explain`"].always = {"schema"};
  for (const auto& [section, line] : commands) expect_documented(run(line), section + " (" + line + ")", page[section]);
  expect_documented(run("explain --json"), "`warploom explain`", page["`warploom explain`"]);
}

TEST(CliJson, ErrorsAreDocumentsWhateverTheBytes) {
  const std::string bytes = "\xff\xc0\x80\x1b[2J\"\\\n";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", "gemm", "--json", "--config", bytes},
           {"run", bytes, "--json"},
           {bytes, "--json"},
           {"run", "gemm", "--json", "--m", bytes},
           {"run", "gemm", "--json", "--" + bytes},
           {"run", "gemm", "--json", "--tensors", bytes},
           {"run", "gemm", "--json", "--out", "/nowhere/" + bytes},
           {"run", "gemm", "--json", "--schedule", bytes},
           {"run", "gemm", "--json", "--m", "8", "--n", "8", "--k", "8", "--mutate", bytes},
           {"check", "gemm", "--json", "--suppress", bytes},
           {"check", "gemm", "--json", "--suppress", "DEADLOCK@" + bytes},
           {"check", "gemm", "--json", "--resume", "/nowhere/" + bytes},
           {"explain", bytes, "--json"},
           {"plan", bytes, "--json"},
           {"ptx", bytes, "--json"},
           {"ptx", "info", bytes, "--json"},
           {"ptx", "launch", WARPLOOM_TEST_DATA "/add.ptx", "--json", "--kernel", bytes},
           {"ptx", "launch", WARPLOOM_TEST_DATA "/add.ptx", "--json", "--arg", bytes},
           {"ptx", "launch", WARPLOOM_TEST_DATA "/add.ptx", "--json", "--grid", bytes},
           {"ptx", "run", "--json", "--suppress", bytes, "true"},
           {"ptx", "run", "--json", bytes}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.signal, 0) << words[1];
    EXPECT_EQ(ended.code, 2) << ended.out << ended.error;
    const json document = json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << ended.out;
    EXPECT_EQ(document.value("schema", 0), 1);
    EXPECT_EQ(document.value("exit", 0), 2);
    EXPECT_EQ(document.value("error", "\x1b").find('\x1b'), std::string::npos) << "it may be shown as it is";
  }
}

/// Who reads ":0", or fewer sites than there are, must be told why.
TEST(CliJson, AStrippedProgramSaysThatItKnowsNoLines) {
  const warploom::test::Folder folder;
  const std::string stripped = folder.file("warploom");
  if (system(("strip -o " + stripped + " " WARPLOOM_PROGRAM).c_str()) != 0) GTEST_SKIP() << "strip is not installed";
  const std::string problem = " gemm --m 8 --n 8 --k 8";
  for (const char* command : {"run --sites", "run --mutate drop@3", "check", "mutate --unchecked --schedule eager"}) {
    const auto text = warploom::test::run_program("cd / && " + stripped + " " + command + problem);
    EXPECT_NE(text.text.find("this program has no line information (it was stripped)"), std::string::npos) << text.text;
    const auto whole = warploom::test::run_program(WARPLOOM_PROGRAM " " + std::string(command) + problem);
    EXPECT_EQ(whole.text.find("no line information"), std::string::npos) << whole.text;
    const auto document =
        warploom::test::parse_json(warploom::test::run_program(stripped + " " + command + problem + " --json").text);
    EXPECT_EQ(document["lines"], false) << command;
  }
}

}  // namespace
