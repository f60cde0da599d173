// The program as its users meet it: exit codes, JSON, one sentence for bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Output {
  int code = 0;
  std::string text;  ///< standard output and error together
};

Output warploom(const std::string& arguments) {
  Output output;
  FILE* pipe = popen((std::string(WARPLOOM_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.text.append(buffer.data(), n);
  output.code = WEXITSTATUS(pclose(pipe));
  return output;
}

TEST(Cli, RunPrintsTheDocumentedJson) {
  const Output output =
      warploom("run blockwise-fp8 --m 130 --n 72 --k 200 --beta 1 --on loom:sm100 --policy lazy --json");
  EXPECT_EQ(output.code, 0) << output.text;
  const auto json = nlohmann::json::parse(output.text);
  for (const char* key : {"kernel", "target", "config", "m", "n", "k", "correct", "max_abs_error", "max_rel_error",
                          "diff", "gflops", "seconds", "schedule"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["m"], 130);
  EXPECT_EQ(json["schedule"], "lazy");
  EXPECT_LT(json["diff"].get<double>(), 3e-6);
}

TEST(Cli, ScheduleFromItsParts) {
  const auto json = nlohmann::json::parse(warploom("run blockwise-fp8 --m 8 --n 8 --k 8 --seed 31 --json").text);
  EXPECT_EQ(json["schedule"], "random:1f");
}

TEST(Cli, FindingsGiveExitCodeOneAndAReport) {
  const auto sites = nlohmann::json::parse(warploom("run blockwise-fp8 --m 128 --n 128 --k 1200 --sites --json").text);
  size_t site = 0;
  while (site < sites.size() &&
         !(sites[site]["operation"] == "mbarrier.arrive" && sites[site]["object"] == "accum.empty"))
    ++site;
  ASSERT_LT(site, sites.size());
  const std::string run = "run blockwise-fp8 --m 128 --n 128 --k 1200 --mutate drop@" + std::to_string(site);
  const Output text = warploom(run);
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.text.find("error DEADLOCK"), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("accum.empty[0]"), std::string::npos) << text.text;
  const Output json = warploom(run + " --json");
  EXPECT_EQ(json.code, 1);
  const auto parsed = nlohmann::json::parse(json.text);
  EXPECT_EQ(parsed["correct"], false);
  EXPECT_EQ(parsed["report"]["findings"][0]["code"], "DEADLOCK");
}

TEST(Cli, BadInputIsOneSentenceAndExitCodeTwo) {
  const std::pair<const char*, const char*> cases[] = {
      {"run blockwise-fp9", "there is no kernel 'blockwise-fp9'"},
      {"run blockwise-fp8 --m 0", "m, n and k must lie between 1 and"},
      {"run blockwise-fp8 --m 1000000 --k 1000000", "too large"},
      {"run blockwise-fp8 --config 9sm", "there is no configuration '9sm'"},
      {"run blockwise-fp8 --on gpu", "gpu cannot run blockwise-fp8"},
      {"run blockwise-fp8 --policy sometimes", "sometimes"},
      {"run blockwise-fp8 --fill zeros", "--fill is normal or integer"},
      {"run blockwise-fp8 --mutate drop@9999", "--mutate takes ALTERATION@SITE"},
      {"run blockwise-fp8 --sms 1 --config 2sm-2x1", "a chip of 1 SMs cannot hold a cluster of 2 CTAs"},
      {"run blockwise-fp8 --schedule lazy:0:skew=7 --m 8 --n 8 --k 8", "skew=7"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const Output output = warploom(arguments);
    EXPECT_NE(output.code, 0) << arguments;
    EXPECT_NE(output.text.find(sentence), std::string::npos) << arguments << "\n" << output.text;
    EXPECT_LE(std::count(output.text.begin(), output.text.end(), '\n'), 3) << output.text;
  }
}

TEST(Cli, MachineAndKernels) {
  EXPECT_NE(warploom("machine").text.find("loom:sm100"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(warploom("kernels --json").text).size(), 9u);
  EXPECT_EQ(warploom("--help").code, 0);
  EXPECT_EQ(warploom("run --help").code, 0);
}

TEST(Cli, DemoPlaysItsThreeActs) {
  const Output output = warploom("demo");
  EXPECT_EQ(output.code, 0);
  for (const char* part : {"1. ", "2. ", "3. ", "correct", "error DEADLOCK", "input.empty", "tensor core"})
    EXPECT_NE(output.text.find(part), std::string::npos) << part;
}

}  // namespace
