// warploom check: verdicts, exit codes, JSON, one sentence for bad input.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/json.hpp"
#include "support/program.hpp"

namespace {

using warploom::test::Output;

Output check(const std::string& arguments) {
  return warploom::test::run_program(std::string(WARPLOOM_PROGRAM) + " check " + arguments);
}

TEST(CliCheck, AStaticKernelHolds) {
  for (const char* kernel : {"gemm --m 70 --n 90 --k 200", "blockwise-fp8 --m 130 --n 72 --k 200",
                             "blockwise-fp8 --m 130 --n 72 --k 200 --on loom:sm90"}) {
    const Output output = check(kernel);
    EXPECT_EQ(output.code, 0) << output.text;
    EXPECT_NE(output.text.find("HOLDS on every schedule of this launch"), std::string::npos) << output.text;
    const auto json = warploom::test::parse_json(check(std::string(kernel) + " --json").text);
    EXPECT_EQ(json["verdict"], "holds");
    EXPECT_EQ(json["schedules"], 1);
    EXPECT_TRUE(json["depends_on"].empty());
  }
}

TEST(CliCheck, EveryScheduleAgrees) {
  const auto json =
      warploom::test::parse_json(check("gemm --m 70 --n 90 --k 200 --explore --schedules 12 --json").text);
  EXPECT_EQ(json["verdict"], "holds");
  EXPECT_EQ(json["schedules"], 12);
  EXPECT_NE(json["sentence"].get<std::string>().find("12 schedules were tried, and all agree."), std::string::npos);
  EXPECT_EQ(check("gemm --m 70 --n 90 --k 200").text.find("were tried"), std::string::npos);
}

TEST(CliCheck, AnEmptyProblemHoldsNothing) {
  for (const char* empty : {"gemm --m 0", "gemm --n 0", "blockwise-fp8 --batch 0"}) {
    const Output output = check(empty);
    EXPECT_EQ(output.code, 0);
    EXPECT_EQ(output.text.find("HOLDS"), std::string::npos) << output.text;
    EXPECT_NE(output.text.find("nothing to compute"), std::string::npos) << output.text;
  }
  EXPECT_NE(check("gemm --m 40 --n 40 --k 0").text.find("HOLDS"), std::string::npos) << "C is added";
}

TEST(CliCheck, LaunchControlIsExplored) {
  const auto json = warploom::test::parse_json(
      check("blockwise-fp8 --b-scales rows --config e4m3-rows-128x128-2sm-2x1-clc --m 300 --n 176 --k 256 --sms 2 "
            "--schedules 14 --json")
          .text);
  EXPECT_EQ(json["verdict"], "none_found");
  EXPECT_EQ(json["schedules"], 14);
  ASSERT_EQ(json["depends_on"].size(), 1u);
  EXPECT_EQ(json["depends_on"][0]["operation"], "clusterlaunchcontrol.try_cancel");
}

TEST(CliCheck, AnAlterationIsFoundAndReplays) {
  const std::string problem = "gemm --m 70 --n 90 --k 1200";
  const auto sites =
      warploom::test::parse_json(warploom::test::run_program(std::string(WARPLOOM_PROGRAM) + " run " + problem +
                                                             " --sms 4 --beta 1 --sites --json")
                                     .text);
  size_t site = 0;
  while (site < sites.size() && !(sites[site]["operation"] == "mbarrier.wait" && sites[site]["object"] == "input.full"))
    ++site;
  ASSERT_LT(site, sites.size());
  const std::string altered = problem + " --mutate drop@" + std::to_string(site);
  const Output output = check(altered);
  EXPECT_EQ(output.code, 1) << output.text;
  const auto json = warploom::test::parse_json(check(altered + " --json").text);
  EXPECT_EQ(json["verdict"], "fails");
  // Whoever reads without waiting reads what is not there yet, or what is being written.
  const std::string code = json["report"]["findings"][0]["code"];
  EXPECT_TRUE(code == "UNINIT-SMEM" || code == "RACE-SMEM") << code;
  EXPECT_NE(output.text.find("error " + code), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("FAILS under schedule eager: " + code), std::string::npos) << output.text;
  EXPECT_EQ(check(altered + " --replay random:5").code, 1);
}

TEST(CliCheck, AnExplorationIsKeptInAFile) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("warploom_check_" + std::to_string(std::rand()) + ".json");
  const std::string run =
      "blockwise-fp8 --b-scales rows --config e4m3-rows-128x128-2sm-2x1-clc --m 300 --n 176 --k 128 --sms 2 "
      "--json --resume " +
      file.string() + " --schedules ";
  EXPECT_EQ(warploom::test::parse_json(check(run + "9").text)["schedules"], 9);
  EXPECT_EQ(warploom::test::parse_json(check(run + "11").text)["schedules"], 11);
  std::ofstream(file) << "{}";
  const Output broken = check(run + "12");
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.text.find("does not hold the state of an exploration"), std::string::npos) << broken.text;
  std::filesystem::remove(file);
}

TEST(CliCheck, BadInputIsOneSentence) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "name a kernel, or give --all"},
      {"conv", "conv"},
      {"gemm --suppress race", "\"race\" names no finding"},
      {"gemm --schedule eager:hold=3", "hold=points"},
      {"gemm --mutate drop@9999", "--mutate takes ALTERATION@SITE"},
      {"gemm --on gpu", "without CUDA"},
      {"gemm --mode wat", "--mode is normal, uniform, integer or ring, not 'wat'"},
      {"gemm --data wat", "--data is normal, uniform, integer or ring, not 'wat'"},
      {"gemm --mode ring --d-type e4m3", "--mode ring is for the loom, with --d-type bf16, f16 or f32"},
      {"--all gemm", "--all checks every kernel on problems of its own; leave out gemm"},
      {"--all --m 64 --config auto --on loom:sm90", "on problems of its own; leave out --m, --on and --config"},
      {"--all --resume state.json", "--resume keeps one exploration, and --all makes one per problem"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const Output output = check(arguments);
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_NE(output.text.find(sentence), std::string::npos) << arguments << "\n" << output.text;
  }
}

}  // namespace
