// The program as its users meet it: exit codes, JSON, one sentence for bad input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>

#include "cli/safetensors.hpp"
#include "cli/whole_file.hpp"
#include "support/json.hpp"
#include "support/program.hpp"
#include "warploom/kernels/gemm_problem.hpp"
#include "warploom/types/convert.hpp"

namespace {

using warploom::test::Output;

Output program(const std::string& arguments) {
  return warploom::test::run_program(std::string(WARPLOOM_PROGRAM) + " " + arguments);
}

TEST(Cli, RunPrintsTheDocumentedJson) {
  const Output output =
      program("run blockwise-fp8 --m 130 --n 72 --k 200 --beta 1 --on loom:sm100 --policy lazy --json");
  EXPECT_EQ(output.code, 0) << output.text;
  const auto json = warploom::test::parse_json(output.text);
  for (const char* key : {"kernel", "target", "config", "m", "n", "k", "correct", "max_abs_error", "max_rel_error",
                          "diff", "gflops", "seconds", "schedule"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["m"], 130);
  EXPECT_EQ(json["schedule"], "lazy");
  EXPECT_LT(json["diff"].get<double>(), 3e-6);
}

TEST(Cli, NumericsAreFastUnlessExactIsAskedFor) {
  const std::string run = "run gemm --m 64 --n 64 --k 200 --json";
  EXPECT_EQ(warploom::test::parse_json(program(run).text)["numerics"], "fast");
  for (const char* kernel : {"gemm", "blockwise-fp8", "blockwise-fp8 --on loom:sm90"}) {
    const Output output = program(std::string("run ") + kernel + " --m 64 --n 64 --k 200 --numerics exact --json");
    EXPECT_EQ(output.code, 0) << output.text;
    const auto json = warploom::test::parse_json(output.text);
    EXPECT_EQ(json["numerics"], "exact");
    EXPECT_EQ(json["correct"], true);
  }
  const Output bad = program(run + " --numerics exat");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.text.find("--numerics is fast or exact, not 'exat'"), std::string::npos) << bad.text;
  EXPECT_EQ(program("run gemm --on gpu --numerics exact").code, 2);
}

TEST(Cli, ScheduleFromItsParts) {
  const auto json = warploom::test::parse_json(program("run blockwise-fp8 --m 8 --n 8 --k 8 --seed 31 --json").text);
  EXPECT_EQ(json["schedule"], "random:1f");
}

TEST(Cli, FindingsGiveExitCodeOneAndAReport) {
  const auto sites =
      warploom::test::parse_json(program("run blockwise-fp8 --m 128 --n 128 --k 1200 --sites --json").text)["sites"];
  size_t site = 0;
  while (site < sites.size() &&
         !(sites[site]["operation"] == "mbarrier.arrive" && sites[site]["object"] == "accum.empty"))
    ++site;
  ASSERT_LT(site, sites.size());
  const std::string run = "run blockwise-fp8 --m 128 --n 128 --k 1200 --mutate drop@" + std::to_string(site);
  const Output text = program(run);
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.text.find("error DEADLOCK"), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("accum.empty[0]"), std::string::npos) << text.text;
  const Output json = program(run + " --json");
  EXPECT_EQ(json.code, 1);
  const auto parsed = warploom::test::parse_json(json.text);
  EXPECT_EQ(parsed["correct"], false);
  EXPECT_EQ(parsed["report"]["findings"][0]["code"], "DEADLOCK");
}

TEST(Cli, BadInputIsOneSentenceAndExitCodeTwo) {
  const std::pair<const char*, const char*> cases[] = {
      {"run blockwise-fp9", "there is no kernel 'blockwise-fp9'"},
      {"run blockwise-fp8 --m -1", "--m is a number from 0 to 16777216, not '-1'"},
      {"run blockwise-fp8 --m 1000000 --k 1000000", "too large"},
      {"run blockwise-fp8 --config 9sm", "there is no configuration '9sm'; the nearest are e4m3-blocks-"},
      {"run blockwise-fp8 --config e4m3-blocks-128x128-2sm-2x3", "the nearest are e4m3-blocks-128x128-2sm-2x1, "},
      {"run blockwise-fp8 --b-scales rows --config rows", "the nearest are e4m3-rows-"},
      {"run gemm --on loom:sm70", "loom:sm70 cannot run gemm; it runs on loom:sm90, on loom:sm100, and on gpu"},
      {"run gemm --on loom:sm90 --config bf16-kk-128x64-1sm-1x1", "is for sm_100, not for sm_90"},
      {"run gemm --on loom:sm100 --config bf16-kk-64x64-one-1x1", "is for sm_90, not for sm_100"},
      {"run gemm --on loom:sm100 --a-type f32",
       "A is f32 and B bf16; f32 operands are of one type, and only e4m3 and e5m2 mix; --b-type f32 works"},
      {"plan gemm --on loom:sm90 --a-type f32",
       "operands are bf16, f16, e4m3 or e5m2; --a-type bf16 works; on loom:sm100 --b-type f32 works"},
      {"plan gemm --on loom:sm90 --a-type f32 --b-type f32",
       "; --a-type bf16 --b-type bf16 works; on loom:sm100 it works"},
      {"plan gemm --on b200", "--on is loom:sm90, loom:sm100 or gpu, not 'b200'"},
      {"run gemm --on gpu", "this program was built without CUDA"},
      {"run blockwise-fp8 --on tpu", "tpu cannot run blockwise-fp8"},
      {"plan gemm --on gpu", "this program was built without CUDA"},
      {"run gemm --a-type e4m3", "16-bit operands are of one type, and only e4m3 and e5m2 mix; --b-type e4m3 works"},
      {"run gemm --a-type e4m3 --b-type e5m2 --a-major mn --b-major mn",
       "FP8 operands are K-major; --a-major k --b-major k works"},
      {"plan gemm --bias n --bias-type e4m3", "it may be f32, bf16 or f16; --bias-type f32 works"},
      {"run gemm --a-type f64", "--a-type is one of bf16, f16, f32, e4m3, e5m2, not 'f64'"},
      {"run gemm --a-major row", "--a-major is one of k, mn"},
      {"run gemm --bias k", "--bias is one of n, m, none"},
      {"run gemm --activation swish", "--activation is one of none, relu"},
      {"run gemm --config 9sm", "(warploom kernels lists all)"},
      {"run gemm --on loom:sm90 --config bf16-kk-128x256-coop-2x3",
       "there is no configuration 'bf16-kk-128x256-coop-2x3'; the nearest are bf16-kk-128x256-coop-2x1, "},
      {"run gemm --splits 17", "17 splits are not possible"},
      {"run gemm --m -1", "--m is a number from 0 to 16777216"},
      {"run gemm --m 100000 --n 100000", "too large"},
      {"run gemm --tensors /nowhere.safetensors", "cannot open '/nowhere.safetensors'"},
      {"run gemm --tensors /tmp", "'/tmp' is a directory"},
      {"run blockwise-fp8 --on loom:sm90 --n 100", "such as 104"},
      {"run blockwise-fp8 --on loom:sm100 --n 100", "such as 104"},
      {"run blockwise-fp8 --on loom:sm90 --batch 2", "batch is 2; with scales it must be 1; on loom:sm100 it works"},
      {"run blockwise-fp8 --b-scales columns", "--b-scales is one of blocks, rows"},
      {"run blockwise-fp8 --config e4m3-rows-64x16-1sm-1x1-swap", "as e4m3-blocks-128x128-2sm-2x1 does"},
      {"plan gemm --d-type e5m2", "D is e5m2; it may be bf16, f16, f32 or e4m3; --d-type e4m3 works"},
      {"run gemm --sms -1", "--sms is a number from 0 to 1000000, not '-1'"},
      {"plan gemm --sms -1", "--sms is a number from 0 to 1000000, not '-1'"},
      {"bench", "this program was built without CUDA and can only --list"},
      {"bench --suite sparse", "there is no suite 'sparse'; there are dense"},
      {"bench --list --shape 64x64x64 --kind int8", "there are no cases of kind 'int8'"},
      {"bench --list --shape 64x64", "'64x64' is not a shape"},
      {"plan conv", "there is no kernel 'conv'"},
      {"run blockwise-fp8 --policy sometimes", "sometimes"},
      {"run blockwise-fp8 --fill zeros", "--data is normal, uniform, integer or ring"},
      {"run blockwise-fp8 --mutate drop@9999", "--mutate takes MUTATION@SITE"},
      {"run gemm --m 0 --mutate drop@0", "there is nothing to alter"},
      {"run blockwise-fp8 --sms 1 --config e4m3-blocks-128x128-2sm-2x1",
       "a chip of 1 SM cannot hold a cluster of 2 CTAs"},
      {"run blockwise-fp8 --schedule lazy:0:skew=7 --m 8 --n 8 --k 8", "skew=7"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const Output output = program(arguments);
    EXPECT_NE(output.code, 0) << arguments;
    EXPECT_NE(output.text.find(sentence), std::string::npos) << arguments << "\n" << output.text;
    EXPECT_LE(std::count(output.text.begin(), output.text.end(), '\n'), 3) << output.text;
  }
}

/// A number that the sentence has is not said again.
TEST(Cli, WhatWorksIsSaidOnce) {
  EXPECT_EQ(program("run blockwise-fp8 --n 100").text,
            "warploom: n is 100; with scales it must be a multiple of 8, such as 104\n");
}

/// Nothing that is asked for is passed over in silence.
TEST(Cli, OptionsThatHaveNoMeaningAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"blockwise-fp8 --a-type bf16", "blockwise-fp8 multiplies e4m3 operands; --a-type is e4m3 there, not 'bf16'"},
      {"blockwise-fp8 --b-type e5m2", "blockwise-fp8 multiplies e4m3 operands; --b-type is e4m3 there, not 'e5m2'"},
      {"blockwise-fp8 --a-major mn", "blockwise-fp8 multiplies K-major operands; --a-major is k there, not 'mn'"},
      {"blockwise-fp8 --b-major mn", "blockwise-fp8 multiplies K-major operands; --b-major is k there, not 'mn'"},
      {"gemm --b-scales blocks", "--b-scales is for blockwise-fp8; gemm multiplies without scales"},
  };
  for (const char* command : {"run ", "check ", "mutate ", "plan "})
    for (const auto& [arguments, sentence] : cases) {
      const Output output = program(std::string(command) + arguments);
      EXPECT_EQ(output.code, 2) << command << arguments;
      EXPECT_NE(output.text.find(sentence), std::string::npos) << output.text;
    }
  EXPECT_EQ(program("run blockwise-fp8 --m 8 --n 8 --k 8 --a-type e4m3 --b-major k --b-scales rows").code, 0);
  EXPECT_NE(program("check gemm --out d.safetensors").text.find("not expected"), std::string::npos);
}

TEST(Cli, ACommandLineThatIsNoneIsAnsweredInJsonToo) {
  for (const char* arguments : {"run gemm --nonsense --json", "run gemm --json --m many", "plan --json", "--json"}) {
    const Output output =
        warploom::test::run_program("(" WARPLOOM_PROGRAM " " + std::string(arguments) + " 2>/dev/null)");
    EXPECT_EQ(output.code, 2) << arguments;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1) << output.text;
    EXPECT_TRUE(warploom::test::parse_json(output.text).contains("error")) << output.text;
  }
  EXPECT_NE(program("run gemm --nonsense").text.find("--help"), std::string::npos);
}

TEST(Cli, PossibleMutationsAreNamed) {
  const std::string run = "run gemm --m 64 --n 64 --k 64";
  const auto sites = warploom::test::parse_json(program(run + " --sites --json").text)["sites"];
  size_t seen = 0;
  for (const size_t count : {size_t{1}, size_t{2}, size_t{3}})
    for (const auto& site : sites) {
      if (site["mutations"].size() != count) continue;
      const Output output = program(run + " --mutate foo@" + std::to_string(site["site"].get<int>()));
      EXPECT_EQ(output.code, 2);
      const std::string first = site["mutations"][0], last = site["mutations"][count - 1];
      const std::string sentence = count == 1   ? "'foo'; " + first + " is possible"
                                   : count == 2 ? "'foo'; " + first + " and " + last + " are possible"
                                                : " and " + last + " are possible";
      EXPECT_NE(output.text.find(sentence), std::string::npos) << output.text;
      ++seen;
      break;
    }
  EXPECT_GE(seen, 2u);
}

TEST(Cli, MachineAndKernels) {
  EXPECT_NE(program("machine").text.find("loom:sm100"), std::string::npos);
  EXPECT_NE(program("machine").text.find("exact: "), std::string::npos);
  EXPECT_EQ(warploom::test::parse_json(program("machine --json").text)["numerics"].size(), 2u);
  const auto kernels = warploom::test::parse_json(program("kernels --json").text)["kernels"];
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(), [](const auto& row) { return row["target"] == "sm_100"; }),
            static_cast<long>(warploom::gemm_configs(warploom::Chip::sm100).size()));
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(), [](const auto& row) { return row["target"] == "sm_90"; }),
            static_cast<long>(warploom::gemm_configs().size()));
  EXPECT_EQ(program("--help").code, 0);
  EXPECT_EQ(program("run --help").code, 0);
}

/// Where a build has a part of the configurations, every command says what it takes in place of what.
TEST(Cli, ConfigurationsThatAreNotBuiltAreNamed) {
  const auto kernels = warploom::test::parse_json(program("kernels --json").text)["kernels"];
  const long built =
      std::count_if(kernels.begin(), kernels.end(), [](const auto& row) { return row["built"] == true; });
  const bool all = built == static_cast<long>(kernels.size());
  const std::string part =
      fmt::format("{} of {} configurations are built for the loom; -DWARPLOOM_KERNELS=all", built, kernels.size());
  EXPECT_EQ(program("kernels").text.find(part) == std::string::npos, all);
  EXPECT_EQ(program("kernels").text.find("[not built]") == std::string::npos, all);
  if (all) return;
  for (const auto& row : kernels) {
    if (row["built"] == true || row["kernel"] != "gemm") continue;
    const Output refused = program("run gemm --config " + row["config"].get<std::string>());
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.text.find("is not built for the loom"), std::string::npos) << refused.text;
    EXPECT_NE(refused.text.find("./dev build --all"), std::string::npos) << refused.text;
    break;
  }
  int substituted = 0, checks_say_so = 0;
  for (const char* shape : {" --m 64 --n 128 --k 64", " --m 200 --n 300 --k 64", " --m 130 --n 24 --k 640",
                            " --m 9 --n 640 --k 64", " --m 300 --n 200 --k 64", " --m 24 --n 24 --k 640"}) {
    const auto plans = warploom::test::parse_json(program(std::string("plan gemm --json") + shape).text)["plans"];
    if (plans[0]["built"] == true) continue;
    ++substituted;
    const std::string wanted = plans[0]["config"];
    const Output planned = program(std::string("plan gemm") + shape);
    EXPECT_NE(planned.text.find("On the loom this program takes "), std::string::npos) << planned.text;
    const Output ran = program(std::string("run gemm") + shape);
    EXPECT_EQ(ran.code, 0) << ran.text;
    EXPECT_NE(ran.text.find("the chip would take " + wanted), std::string::npos) << ran.text;
    EXPECT_EQ(warploom::test::parse_json(program(std::string("run gemm --json") + shape).text)["instead_of"], wanted);
    const Output checked = program(std::string("check gemm") + shape);
    checks_say_so += checked.text.find("(in place of ") != std::string::npos;  // on fewer SMs, maybe of another
  }
  EXPECT_GT(substituted, 0);
  EXPECT_GT(checks_say_so, 0);
}

/// The same command for both chips; a configuration alone says which it is for.
TEST(Cli, GemmForBlackwell) {
  const std::string shape = " --m 100 --n 72 --k 200 --beta 1 --bias n --activation relu --fill integer --sms 4";
  const Output by_chip = program("run gemm --on loom:sm100" + shape);
  EXPECT_EQ(by_chip.code, 0) << by_chip.text;
  EXPECT_NE(by_chip.text.find("on loom:sm100"), std::string::npos) << by_chip.text;
  const Output by_config = program("run gemm --config bf16-kk-64x256-2sm-2x1" + shape);
  EXPECT_EQ(by_config.code, 0) << by_config.text;
  EXPECT_NE(by_config.text.find("on loom:sm100"), std::string::npos) << by_config.text;
  const Output tf32 = program("run gemm --on loom:sm100 --a-type f32 --b-type f32 --d-type f32" + shape);
  EXPECT_EQ(tf32.code, 0) << tf32.text;
  const Output plan = program("plan gemm --on loom:sm100 --m 4096 --n 4096 --k 4096");
  EXPECT_EQ(plan.code, 0);
  EXPECT_NE(plan.text.find("cost model unmeasured on sm_100"), std::string::npos) << plan.text;
  EXPECT_EQ(program("plan gemm --m 4096 --n 4096 --k 4096").text.find("unmeasured"), std::string::npos);
  const Output checked = program("check gemm --config bf16-kk-128x64-1sm-1x1 --m 300 --n 70 --k 100 --sms 1");
  EXPECT_EQ(checked.code, 0);
  EXPECT_NE(checked.text.find("HOLDS"), std::string::npos) << checked.text;
}

TEST(Cli, BenchListsCasesAndTheirPlansWithoutAGpu) {
  const Output help = program("bench --help");
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"--suite", "--all-plans", "serving", "Exit status"})
    EXPECT_NE(help.text.find(part), std::string::npos) << part;
  const Output list = program("bench --list --suite epilogue --suite blockwise --only 8192x8192x8192");
  EXPECT_EQ(list.code, 0) << list.text;
  EXPECT_EQ(std::count(list.text.begin(), list.text.end(), '\n'), 5) << list.text;
  EXPECT_NE(list.text.find("bf16 8192x8192x8192 +C +bias silu"), std::string::npos) << list.text;
  EXPECT_NE(list.text.find(" e4m3-blocks-"), std::string::npos) << list.text;
  // A shape that does not run is answered in its line.
  EXPECT_NE(program("bench --list --shape 5x8x3").text.find("pad them to 8"), std::string::npos);
}

TEST(Cli, DataInARing) {
  for (const char* what :
       {"run gemm --m 70 --n 90 --k 1000 --beta 1 --config bf16-kk-64x64-one-1x1 --splits 3",
        "run gemm --m 70 --n 90 --k 1000 --beta 0 --bias n", "run blockwise-fp8 --m 140 --n 72 --k 300",
        "check gemm --m 70 --n 90 --k 200 --d-type f32", "run blockwise-fp8 --on loom:sm90 --m 70 --n 88 --k 300"}) {
    const Output output = program(std::string(what) + " --data ring");
    EXPECT_EQ(output.code, 0) << what << "\n" << output.text;
  }
  const Output refused = program("run gemm --data ring --alpha 2");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.text.find("--alpha 1"), std::string::npos) << refused.text;
  const Output eight_bits = program("run gemm --data ring --d-type e4m3");
  EXPECT_EQ(eight_bits.code, 2);
  EXPECT_NE(eight_bits.text.find("--data ring is for the loom, with --d-type bf16, f16 or f32"), std::string::npos)
      << eight_bits.text;
  const Output long_sum = program("run blockwise-fp8 --m 8 --n 16 --k 40000 --data ring");
  EXPECT_EQ(long_sum.code, 2);
  EXPECT_NE(long_sum.text.find("shorter K"), std::string::npos) << long_sum.text;
}

TEST(Cli, GemmOnTheLoom) {
  const auto json = warploom::test::parse_json(
      program("run gemm --m 70 --n 90 --k 100 --batch 2 --beta 1 --bias n --activation relu --d-type f32 --splits 2 "
              "--data integer --json")
          .text);
  EXPECT_EQ(json["correct"], true) << json;
  EXPECT_EQ(json["target"], "loom:sm90");
  EXPECT_EQ(json["batch"], 2);
  EXPECT_EQ(json["max_abs_error"], 0.0);
  EXPECT_NE(json["plan"].get<std::string>().find("2 splits"), std::string::npos) << json;
  for (const char* scales : {"blocks", "rows"})
    for (const char* target : {"loom:sm90", "loom:sm100"}) {
      const Output scaled = program(std::string("run blockwise-fp8 --m 70 --n 88 --k 300 --policy adversarial --beta 1 "
                                                "--bias m --activation silu --d-type f16 --on ") +
                                    target + " --b-scales " + scales);
      EXPECT_EQ(scaled.code, 0) << scaled.text;
      EXPECT_NE(scaled.text.find("correct"), std::string::npos) << scaled.text;
    }
  EXPECT_EQ(program("run blockwise-fp8 --m 0").code, 0);
  EXPECT_EQ(program("run blockwise-fp8 --m 40 --n 48 --k 200 --batch 3 --data integer").code, 0);
  EXPECT_EQ(program("run gemm --m 0").code, 0);
  EXPECT_EQ(program("run gemm --m 5 --n 6 --k 0 --beta 1").code, 0);
}

TEST(Cli, GemmMutantsAreReported) {
  const auto sites =
      warploom::test::parse_json(program("run gemm --m 64 --n 64 --k 1200 --sites --json").text)["sites"];
  const auto site = std::find_if(sites.begin(), sites.end(), [](const auto& candidate) {
    return candidate["operation"] == "mbarrier.arrive" && candidate["object"] == "input.empty";
  });
  ASSERT_NE(site, sites.end());
  const Output output =
      program("run gemm --m 64 --n 64 --k 1200 --mutate drop@" + std::to_string((*site)["site"].get<int>()));
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_NE(output.text.find("error DEADLOCK"), std::string::npos) << output.text;
}

TEST(Cli, PlanNamesTheChoiceAndTheOthers) {
  const Output output = program("plan gemm --m 4096 --n 4096 --k 4096");
  EXPECT_EQ(output.code, 0);
  EXPECT_NE(output.text.find("predicted"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("times as long"), std::string::npos) << output.text;
  const auto json =
      warploom::test::parse_json(program("plan blockwise-fp8 --m 64 --n 4096 --k 7168 --json").text)["plans"];
  ASSERT_GT(json.size(), 1u);
  double before = 0;
  for (const auto& plan : json) {
    EXPECT_GE(plan["predicted_us"].get<double>(), before);
    before = plan["predicted_us"];
  }
}

TEST(Cli, PlanIsForWhereRunWouldRun) {
  EXPECT_NE(program("plan blockwise-fp8 --m 64").text.find("sm_100"), std::string::npos);
  EXPECT_EQ(program("plan blockwise-fp8 --m 64 --on loom:sm90").text.find("sm_100"), std::string::npos);
  const Output empty = program("plan gemm --m 0");
  EXPECT_EQ(empty.code, 0);
  EXPECT_NE(empty.text.find("nothing to compute"), std::string::npos) << empty.text;
  EXPECT_EQ(std::count(empty.text.begin(), empty.text.end(), '\n'), 1) << empty.text;
}

TEST(Cli, AnAlphaThatUnderflowsIsNotAnError) {
  const Output output = program("run gemm --m 64 --n 64 --k 64 --alpha 1e-45");
  EXPECT_EQ(output.code, 0) << output.text;
}

/// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("warploom_cli_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

/// "" or why the file could not be written.
std::string write_tensors(const std::string& path, const std::vector<warploom::cli::NamedTensor>& tensors) {
  return warploom::cli::write_whole(path, warploom::cli::to_safetensors(tensors)).sentence;
}

TEST(Cli, TensorsFromAFileToAFile) {
  using warploom::DType;
  const Folder folder;
  constexpr int m = 3, n = 5, k = 20;
  std::vector<uint16_t> a(m * k), b(n * k), c(m * n);
  std::vector<float> bias(n);
  auto code = [](float value) { return warploom::to_bf16(value).bits; };
  for (size_t i = 0; i < a.size(); ++i) a[i] = code(static_cast<float>(i % 7) - 3);
  for (size_t i = 0; i < b.size(); ++i) b[i] = code(static_cast<float>(i % 5) - 2);
  for (size_t i = 0; i < c.size(); ++i) c[i] = code(static_cast<float>(i));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = 0.5f * static_cast<float>(i);
  auto write = [&](const char* name, std::vector<int64_t> b_shape) {
    const std::string path = folder.file(name);
    EXPECT_EQ(write_tensors(path, {{"a", DType::bf16, {m, k}, std::as_bytes(std::span(a))},
                                   {"b", DType::bf16, b_shape, std::as_bytes(std::span(b))},
                                   {"c", DType::bf16, {m, n}, std::as_bytes(std::span(c))},
                                   {"bias", DType::f32, {n}, std::as_bytes(std::span(bias))}}),
              "");
    return path;
  };
  const std::string in = write("in.safetensors", {n, k}), out = folder.file("out.safetensors");
  const Output output = program("run gemm --tensors " + in + " --beta 1 --bias n --out " + out);
  ASSERT_EQ(output.code, 0) << output.text;
  auto file = warploom::cli::SafeTensors::read(out);
  ASSERT_TRUE(file) << file.error();
  const warploom::cli::SafeTensor* d = file->find("d");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->type, DType::bf16);
  ASSERT_EQ(d->shape, (std::vector<int64_t>{m, n}));
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      float sum = static_cast<float>(i * n + j) + bias[j];
      for (size_t q = 0; q < k; ++q)
        sum += (static_cast<float>((i * k + q) % 7) - 3) * (static_cast<float>((j * k + q) % 5) - 2);
      uint16_t got = 0;
      std::memcpy(&got, d->data.data() + (i * n + j) * 2, 2);
      EXPECT_EQ(got, code(sum)) << i << " " << j;
    }
  const std::pair<const char*, const char*> refused[] = {
      {"--m 4", "--m is 4, and the file has 3; leave --m out"},
      {"--n 4", "--n is 4, and the file has 5; leave --n out"},
      {"--k 512", "--k is 512, and the file has 20; leave --k out"},
      {"--batch 2", "--batch is 2, and the file has 1; leave --batch out"},
      {"--a-type f16", "--a-type is f16, and the file has bf16; leave --a-type out"},
      {"--b-type f16", "--b-type is f16, and the file has bf16; leave --b-type out"},
      {"--bias n --bias-type bf16", "--bias-type is bf16, and the file has f32; leave --bias-type out"},
      {"--data integer", "--data is for tensors that are made up; --tensors brings its own"},
      {"--data-seed 2", "--data-seed is for tensors that are made up"},
  };
  for (const auto& [option, sentence] : refused)
    for (const char* command : {"run", "check"}) {
      const Output answer = program(std::string(command) + " gemm --beta 0 --tensors " + in + " " + option);
      EXPECT_EQ(answer.code, 2) << option;
      EXPECT_NE(answer.text.find(sentence), std::string::npos) << answer.text;
    }
  EXPECT_NE(program("check gemm --mode ring --tensors " + in).text.find("--mode is for tensors that are made up"),
            std::string::npos);
  EXPECT_EQ(program("run gemm --m 3 --n 5 --k 20 --a-type bf16 --tensors " + in).code, 0);
  const Output same = program("run gemm --tensors " + in + " --out " + folder.file("./in.safetensors"));
  EXPECT_EQ(same.code, 2);
  EXPECT_NE(same.text.find("--out is the file that --tensors names"), std::string::npos) << same.text;
  EXPECT_TRUE(warploom::cli::SafeTensors::read(in)) << "it is as it was";
  const Output unscaled = program("run blockwise-fp8 --tensors " + in);
  EXPECT_EQ(unscaled.code, 2);
  EXPECT_NE(unscaled.text.find("a_scales must be there"), std::string::npos) << unscaled.text;
  const Output wrong = program("run gemm --tensors " + write("wrong.safetensors", {k, n}));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.text.find("they disagree on k"), std::string::npos) << wrong.text;
  const Output none = program("run gemm --tensors " + out);
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.text.find("the file has no tensor 'a'; it has d"), std::string::npos) << none.text;
}

/// bf16 operands with scales beside them: the other kernel takes them. No option changes a file's types.
TEST(Cli, TensorsForTheOtherKernel) {
  using warploom::DType;
  const Folder folder;
  constexpr int m = 4, n = 8, k = 128;
  const std::vector<uint16_t> a(m * k), b(n * k);
  const std::vector<float> a_scales(m, 1.0f), b_scales(1, 1.0f);
  const std::string in = folder.file("in.safetensors");
  ASSERT_EQ(write_tensors(in, {{"a", DType::bf16, {m, k}, std::as_bytes(std::span(a))},
                               {"b", DType::bf16, {n, k}, std::as_bytes(std::span(b))},
                               {"a_scales", DType::f32, {1, m}, std::as_bytes(std::span(a_scales))},
                               {"b_scales", DType::f32, {1, 1}, std::as_bytes(std::span(b_scales))}}),
            "");
  const Output scaled = program("run blockwise-fp8 --tensors " + in);
  EXPECT_EQ(scaled.code, 2);
  EXPECT_NE(scaled.text.find("with scales both must be e4m3; the kernel gemm works"), std::string::npos) << scaled.text;
  ASSERT_EQ(write_tensors(in, {{"a", DType::bf16, {m, k}, std::as_bytes(std::span(a))},
                               {"b", DType::f16, {n, k}, std::as_bytes(std::span(b))}}),
            "");
  EXPECT_EQ(program("run gemm --tensors " + in).text,
            "warploom: A is bf16 and B f16; 16-bit operands are of one type, and only e4m3 and e5m2 mix\n");
}

TEST(Cli, TensorsOfOtherTypesAreNamed) {
  const Folder folder;
  const std::string in = folder.file("in.safetensors");
  const std::string header = R"({"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}})";
  const uint64_t length = header.size();
  std::ofstream(in, std::ios::binary).write(reinterpret_cast<const char*>(&length), 8) << header << "eight by";
  const Output output = program("run gemm --tensors " + in);
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("tensor 'a' is F64; F32, F16, BF16, F8_E4M3 and F8_E5M2 are read"), std::string::npos)
      << output.text;
}

/// With scales, of two matrices: each has its own.
TEST(Cli, ScaledTensorsFromAFile) {
  using warploom::DType;
  const Folder folder;
  constexpr int batch = 2, m = 3, n = 8, k = 160, blocks = 2;
  auto code = [](int value) { return warploom::to_e4m3(static_cast<float>(value)).bits; };
  std::vector<uint8_t> a(batch * m * k), b(batch * n * k);
  std::vector<float> a_scales(batch * blocks * m), b_scales(batch * blocks);
  for (size_t i = 0; i < a.size(); ++i) a[i] = code(static_cast<int>(i % 7) - 3);
  for (size_t i = 0; i < b.size(); ++i) b[i] = code(static_cast<int>(i % 5) - 2);
  for (size_t i = 0; i < a_scales.size(); ++i) a_scales[i] = static_cast<float>(1 << i % 4);
  for (size_t i = 0; i < b_scales.size(); ++i) b_scales[i] = 0.5f * static_cast<float>(1 << i);
  const std::string in = folder.file("in.safetensors"), out = folder.file("out.safetensors");
  ASSERT_EQ(write_tensors(in, {{"a", DType::e4m3, {batch, m, k}, std::as_bytes(std::span(a))},
                               {"b", DType::e4m3, {batch, n, k}, std::as_bytes(std::span(b))},
                               {"a_scales", DType::f32, {batch, blocks, m}, std::as_bytes(std::span(a_scales))},
                               {"b_scales", DType::f32, {batch, 1, blocks}, std::as_bytes(std::span(b_scales))}}),
            "");
  const Output output = program("run blockwise-fp8 --on loom:sm100 --d-type f32 --tensors " + in + " --out " + out);
  ASSERT_EQ(output.code, 0) << output.text;
  auto file = warploom::cli::SafeTensors::read(out);
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->find("d")->shape, (std::vector<int64_t>{batch, m, n}));
  for (size_t e = 0; e < batch * m * n; ++e) {
    const size_t matrix = e / (m * n), i = e / n % m, j = e % n;
    float sum = 0;
    for (size_t q = 0; q < k; ++q)
      sum += (static_cast<float>(((matrix * m + i) * k + q) % 7) - 3) *
             (static_cast<float>(((matrix * n + j) * k + q) % 5) - 2) * a_scales[(matrix * blocks + q / 128) * m + i] *
             b_scales[matrix * blocks + q / 128];
    float got = 0;
    std::memcpy(&got, file->find("d")->data.data() + e * sizeof(float), sizeof(float));
    EXPECT_EQ(got, sum) << matrix << " " << i << " " << j;
  }
}

TEST(Cli, DemoPlaysItsThreeActs) {
  const Output output = program("demo");
  EXPECT_EQ(output.code, 0);
  for (const char* part : {"1. ", "2. ", "3. ", "correct", "error DEADLOCK", "input.empty", "tensor core"})
    EXPECT_NE(output.text.find(part), std::string::npos) << part;
}

}  // namespace
