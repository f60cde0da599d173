// The table of this very program, against what a report would find in its debug information, byte for byte of some
// functions. A function of a kernel here is one of this file: it is not the library's.
#include "lines/paint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "loom/report/symbols.hpp"

extern "C" {
int lines_probe_plain(int x);
int lines_probe_inlined(const int* values, int count);
void lines_probe_lambda(std::vector<int>& values);
}

namespace {

[[gnu::always_inline]] inline int once(int x) { return x * x + 3; }
[[gnu::always_inline]] inline int twice(int x) {
  const int y = once(x) ^ 5;
  return once(y) + y;
}

}  // namespace

[[gnu::noinline, gnu::used]] int lines_probe_plain(int x) { return 3 * x + 1; }

[[gnu::noinline, gnu::used]] int lines_probe_inlined(const int* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    if (values[i] > 7)
      sum += twice(values[i]);
    else
      sum -= once(i);
  }
  return sum;
}

[[gnu::noinline, gnu::used]] void lines_probe_lambda(std::vector<int>& values) {
  std::sort(values.begin(), values.end(), [](int a, int b) { return once(a) < twice(b); });
  values.push_back(once(static_cast<int>(values.size())));
}

namespace warploom::lines {
namespace {

using loom::LineTable;

const std::vector<LineTable::Function>& table() {
  static const auto functions = [] {
    std::string trouble;
    auto found = functions_of("/proc/self/exe", trouble);
    EXPECT_EQ(trouble, "");
    return found;
  }();
  return functions;
}

void compare(const std::string& symbol, const void* code) {
  const auto is_it = [&](const LineTable::Function& function) { return function.symbol == symbol; };
  ASSERT_EQ(std::count_if(table().begin(), table().end(), is_it), 1) << symbol;
  const LineTable::Function& function = *std::find_if(table().begin(), table().end(), is_it);
  const auto* at = static_cast<const char*>(code);
  uint64_t offset = 0;
  size_t different = 0;
  for (const LineTable::Run& run : function.runs) {
    for (uint32_t i = 0; i < run.bytes; ++i, ++offset) {
      const loom::Location expected = loom::locate(at + offset + 1);  // of a return address
      EXPECT_EQ(run.lines.at.user.file, expected.user.file) << symbol << '+' << offset;
      EXPECT_EQ(run.lines.at.user.line, expected.user.line) << symbol << '+' << offset;
      EXPECT_EQ(run.lines.at.user.function, expected.user.function) << symbol << '+' << offset;
      EXPECT_EQ(run.lines.at.library.file, expected.library.file) << symbol << '+' << offset;
      EXPECT_EQ(run.lines.at.library.line, expected.library.line) << symbol << '+' << offset;
    }
    different += run.lines.at.user.line != function.runs.front().lines.at.user.line ? 1 : 0;
  }
  EXPECT_EQ(offset, function.bytes);
  EXPECT_TRUE(function.runs.front().lines.kernel);
  if (symbol != "lines_probe_plain") {
    EXPECT_GT(different, 0u) << symbol << " has one line only";
  }
}

TEST(Paint, EveryAddressHasTheLinesOfAReport) {
  compare("lines_probe_plain", reinterpret_cast<const void*>(&lines_probe_plain));
  compare("lines_probe_inlined", reinterpret_cast<const void*>(&lines_probe_inlined));
  compare("lines_probe_lambda", reinterpret_cast<const void*>(&lines_probe_lambda));
}

TEST(Paint, AFunctionOfTheMachineSaysSoAndNoMore) {
  const auto is_it = [](const LineTable::Function& function) {
    return function.symbol.find("loom6locate") != std::string::npos;
  };
  const auto found = std::find_if(table().begin(), table().end(), is_it);
  ASSERT_NE(found, table().end());
  ASSERT_EQ(found->runs.size(), 1u);
  EXPECT_EQ(found->runs[0].bytes, found->bytes);
  EXPECT_FALSE(found->runs[0].lines.kernel);
}

TEST(Paint, AFileThatCannotBeReadIsASentence) {
  for (const char* file : {"/nonexistent", "/proc/self/status"}) {
    std::string trouble;
    EXPECT_TRUE(functions_of(file, trouble).empty());
    EXPECT_NE(trouble.find(file), std::string::npos);
  }
}

}  // namespace
}  // namespace warploom::lines
