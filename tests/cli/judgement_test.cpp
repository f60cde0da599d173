// What the program says of a result: the sentence, and the same in JSON.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/json.hpp"
#include "support/program.hpp"

namespace {

using warploom::test::Output;

const std::string problem = "gemm --config bf16-kk-64x64-one-1x1 --m 64 --n 64 --k 512";

Output program(const std::string& arguments) {
  return warploom::test::run_program(fmt::format("{} run {} {}", WARPLOOM_PROGRAM, problem, arguments));
}

TEST(Judgement, SaysThatEveryElementWasComparedAndWithWhatBound) {
  const Output normal = program("");
  EXPECT_EQ(normal.code, 0);
  EXPECT_NE(
      normal.text.find("correct: all 4096 elements compared with double, each within its own bound (at most 0.00"),
      std::string::npos)
      << normal.text;
  const Output integers = program("--data integer");
  EXPECT_NE(integers.text.find("correct: all 4096 elements equal to the bit the answer in double, rounded once"),
            std::string::npos)
      << integers.text;
  const Output ring = program("--data ring");
  EXPECT_NE(ring.text.find("correct: all 4096 elements the answer in double modulo "), std::string::npos) << ring.text;
}

/// Threads that do not wait for each other store subtiles of D that nobody has filled yet.
TEST(Judgement, NamesTheFirstWrongElementAndThePattern) {
  const auto sites = warploom::test::parse_json(program("--sites --json").text)["sites"];
  const auto barrier = std::find_if(sites.begin(), sites.end(), [](const auto& site) {
    return site["operation"] == "bar.sync" && site["file"].template get<std::string>().ends_with("patch_writer.hpp");
  });
  ASSERT_NE(barrier, sites.end());
  const std::string mutated = "--schedule random:1 --mutate drop@" + (*barrier)["site"].dump();
  const Output text = program(mutated);
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.text.find("WRONG: "), std::string::npos) << text.text;
  EXPECT_NE(text.text.find(" of 4096 elements: rows "), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("; the first is D["), std::string::npos) << text.text;

  const auto json = warploom::test::parse_json(program(mutated + " --json").text);
  EXPECT_EQ(json["correct"], false);
  EXPECT_EQ(json["elements_compared"], 4096);
  EXPECT_GT(json["elements_wrong"], 100);
  EXPECT_EQ(json["pattern"]["place"], "rows");
  EXPECT_TRUE(json["pattern"].contains("cause"));
  const auto& first = json["first_wrong"];
  EXPECT_EQ(first["matrix"], 0);
  EXPECT_LT(first["row"], 64);
  EXPECT_LT(first["column"], 64);
  EXPECT_GT(first["bound"], 0);
  EXPECT_NE(first["got"], first["expected"]);
  EXPECT_NE(json["judgement"].get<std::string>().find("WRONG"), std::string::npos);
}

}  // namespace
