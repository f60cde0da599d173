// warploom-tune as its users meet it: exit codes, one sentence for bad input.
#include "support/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tune/constants.hpp"
#include "tune/measured.hpp"

namespace warploom::tune {
namespace {

test::Output program(const std::string& arguments) {
  return test::run_program(std::string(WARPLOOM_TUNE_PROGRAM) + " " + arguments);
}

bool has(const test::Output& output, const std::string& text) { return output.text.find(text) != std::string::npos; }

TEST(TuneProgram, CheckAcceptsTheShippedConstants) {
  const test::Output output = program("check " + recorded_file());
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_TRUE(has(output, "100 cases: choices lose ")) << output.text;
  EXPECT_TRUE(has(output, "bf16 8192x8192x8192 +C +bias silu")) << output.text;
}

TEST(TuneProgram, CheckFailsOverItsLimits) {
  const std::string spoiled = "check " + recorded_file() + " --set split_cycles=100 --set operand_bytes=15";
  const test::Output output = program(spoiled);
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_TRUE(has(output, "lose more than 5 %")) << output.text;
  EXPECT_EQ(program(spoiled + " --case-limit 1000 --mean-limit 100").code, 0);
  const test::Output mean = program(spoiled + " --case-limit 1000 --mean-limit 0.1");
  EXPECT_EQ(mean.code, 1);
  EXPECT_TRUE(has(mean, "on average more than 0.1 % are lost")) << mean.text;
}

TEST(TuneProgram, FitPrintsAndWritesConstants) {
  std::ifstream header(WARPLOOM_TEST_DATA "/../../src/plan/gemm_costs.hpp");
  const File copy({std::istreambuf_iterator<char>(header), {}});
  const test::Output output =
      program("fit " + recorded_file() + " --only blockwise --seconds 1.2 --set operand_bytes=15 " +
              "--seed 7 --write " + copy.path);
  EXPECT_EQ(output.code, 0) << output.text;
  for (const char* part : {" tried  choices lose ", "before: choices lose ", "after:  choices lose "})
    EXPECT_TRUE(has(output, part)) << part << "\n" << output.text;
  // Every line of the struct that is printed stands in the file now.
  std::ifstream written(copy.path);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  size_t lines = 0;
  for (size_t at = output.text.find("  double "); at != std::string::npos; at = output.text.find("  double ", at + 1)) {
    EXPECT_NE(text.find(output.text.substr(at, output.text.find(';', at) + 1 - at)), std::string::npos) << at;
    ++lines;
  }
  EXPECT_EQ(lines, constants().size());
  EXPECT_EQ(text.find("operand_bytes = 15;"), std::string::npos);
}

TEST(TuneProgram, BadInputIsOneSentenceAndExitCodeTwo) {
  const std::pair<std::string, const char*> cases[] = {
      {"check /nowhere.json", "cannot read /nowhere.json"},
      {"fit /nowhere.json", "cannot read /nowhere.json"},
      {"check " WARPLOOM_TEST_DATA, "cannot read " WARPLOOM_TEST_DATA},
      {"check " + recorded_file() + " --only int8", "no case has 'int8' in its label"},
      {"check " + recorded_file() + " --set speed=3", "there is no constant 'speed'"},
      {"fit " + recorded_file() + " --seconds 0 --write /nowhere.hpp", "cannot read /nowhere.hpp"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const test::Output output = program(arguments);
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_TRUE(has(output, std::string("warploom-tune: ") + sentence)) << arguments << "\n" << output.text;
  }
  EXPECT_EQ(program("").code, 2);
  EXPECT_EQ(program("check " + recorded_file() + " --case-limit x").code, 2);
  EXPECT_EQ(program("--help").code, 0);
  EXPECT_NE(program("check").code, 0);
  EXPECT_EQ(program("--help").code, 0);
  EXPECT_TRUE(has(program("fit --help"), "--seconds"));
}

}  // namespace
}  // namespace warploom::tune
