// The flagship reads like its diagram: all role bodies on one screen, and no barrier, descriptor, count or mask among
// them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/pattern.hpp"

namespace warploom::test {
namespace {

std::vector<std::string> read_lines(const char* name = "examples/blockwise_fp8_kernel.hpp") {
  std::ifstream file(std::string(WARPLOOM_TEST_DATA "/../../") + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Lines of the member function of that name, signature and braces included; 0 when there is none.
int body_lines(const std::vector<std::string>& lines, const std::string& name) {
  const std::string head = "\\bvoid " + name + "\\(";
  for (size_t first = 0; first < lines.size(); ++first) {
    if (!is_in(lines[first], head)) continue;
    int depth = 0, count = 0;
    for (size_t i = first; i < lines.size(); ++i) {
      ++count;
      const std::string code = lines[i].substr(0, lines[i].find("//"));
      for (const char c : code) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (depth == 0 && count > 1) return count + (first > 0 && lines[first - 1].find("template") != std::string::npos);
    }
  }
  return 0;
}

TEST(RoleBodies, FitOnOneScreen) {
  const std::vector<std::string> lines = read_lines();
  ASSERT_FALSE(lines.empty());
  int total = 0;
  for (const char* role : {"load", "mma", "epilogue", "epilogue_load"}) {
    const int count = body_lines(lines, role);
    EXPECT_GT(count, 2) << "no body found for " << role;
    total += count;
  }
  EXPECT_LE(total, 60);
}

/// With every epilogue, with scales and without, those of the shipped kernel do, too.
TEST(RoleBodies, OfTheShippedKernelFitOnOneScreen) {
  const std::vector<std::string> lines = read_lines("include/warploom/kernels/blackwell_gemm.hpp");
  int total = 0;
  for (const char* role : {"load", "mma", "epilogue", "epilogue_load", "finish"}) {
    const int count = body_lines(lines, role);
    EXPECT_GT(count, 2) << "no body found for " << role;
    total += count;
  }
  EXPECT_LE(total, 80);
}

TEST(RoleBodies, NameNoBarrierDescriptorOrCount) {
  const char* const words =
      "mbarrier|barrier\\(|descriptor|arriv|expect|commit\\(|\\bmask|_mask|0x|fence|elect|tcgen05|_tx\\b|wait_|_step\\("
      "|parity|"
      "\\bphase|signal";
  const std::vector<std::string> lines = read_lines();
  ASSERT_FALSE(lines.empty());
  for (size_t i = 0; i < lines.size(); ++i) {
    // Comments may explain; initialising a ring is naming it, not counting.
    std::string code = lines[i].substr(0, lines[i].find("//"));
    code = with_replaced(code, "init_barriers", "");
    EXPECT_FALSE(is_in(code, words, true)) << "blockwise_fp8_kernel.hpp:" << i + 1 << ": " << lines[i];
  }
}

}  // namespace
}  // namespace warploom::test
