// `warploom ptx`: kernels of PTX files on the loom, with what it refuses. Programs: tests/cudart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace warploom::cli {
namespace {

const std::string add = std::string(WARPLOOM_TEST_DATA) + "/add.ptx";

test::Output ptx(const std::string& words) {
  return test::run_program(fmt::format("{} ptx {}", WARPLOOM_PROGRAM, words));
}
test::Output launch(const std::string& words) { return ptx(fmt::format("launch {} {}", add, words)); }
bool says(const test::Output& output, const std::string& text) { return output.text.find(text) != std::string::npos; }

const std::string shape = "--kernel add --grid 4 --block 32 ";
const std::string arguments =
    "--arg 'f32[100]:iota' --arg 'f32[100]:2' --arg 'f32[100]:unwritten,print=4' --arg i32:100 ";

TEST(PtxLaunch, RunsAndPrints) {
  for (const char* how : {"", "--check", "--policy adversarial --check"}) {
    const test::Output output = launch(shape + arguments + how);
    EXPECT_EQ(output.code, 0) << output.text;
    EXPECT_TRUE(says(output, "argument 2: 2 3 4 5\n")) << output.text;
  }
}

TEST(PtxLaunch, ABlockNeedNotBeWholeWarps) {
  const test::Output output = launch("--grid 5 --block 20 " + arguments);
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_TRUE(says(output, "argument 2: 2 3 4 5\n")) << output.text;
  // ... unless it has barriers.
  const std::string path = ::testing::TempDir() + "warploom_barrier.ptx";
  std::ofstream(path)
      << ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n  bar.sync 0;\n  ret;\n}\n";
  EXPECT_EQ(ptx("launch " + path + " --block 64").code, 0);
  const test::Output refused = ptx("launch " + path + " --block 33");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_TRUE(says(refused, "warploom_barrier.ptx:6 executes bar.sync")) << refused.text;
  std::remove(path.c_str());
}

TEST(PtxLaunch, ComparesWithAFile) {
  const std::string path = ::testing::TempDir() + "warploom_ptx_expected";
  std::vector<float> expected(100);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<float>(i) + 2.0f;
  const auto write = [&] {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(expected.data()), 400);
  };
  const std::string compared =
      fmt::format("--arg 'f32[100]:iota' --arg 'f32[100]:2' --arg 'f32[100]:zero,expect={}' --arg i32:100", path);
  write();
  EXPECT_EQ(launch(shape + compared).code, 0);
  expected[17] = 0;
  write();
  const test::Output output = launch(shape + compared);
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_TRUE(says(output, "1 of 100 elements")) << output.text;
  EXPECT_TRUE(says(output, "the first is [17]: 19, expected 0")) << output.text;
  std::remove(path.c_str());
}

TEST(PtxLaunch, AFindingNamesTheSourceLineAndThePtxLine) {
  const test::Output output =
      launch(shape + "--arg 'f32[100]:iota' --arg 'f32[100]:2' --arg 'f32[90]:zero' --arg i32:100");
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_TRUE(says(output, "error OOB-GLOBAL")) << output.text;
  // How much of the path is there depends on where the tree lies.
  EXPECT_TRUE(says(output, "  add.cu:8 (")) << output.text;
  EXPECT_TRUE(says(output, "data/add.ptx:49)")) << output.text;
}

TEST(PtxLaunch, JsonHasTheRun) {
  const test::Output output = launch(shape + arguments + "--json");
  EXPECT_EQ(output.code, 0) << output.text;
  for (const char* field :
       {"\"schema\": 1", "\"kernel\": \"add\"", "\"correct\": true", "\"schedule\": \"lazy\"", "argument 2: 2 3 4 5"})
    EXPECT_TRUE(says(output, field)) << field << " in " << output.text;
}

struct Refusal {
  std::string words, sentence;
};

TEST(PtxLaunch, RefusesWhatItCannotDo) {
  const Refusal refusals[] = {
      {"launch /nowhere.ptx", "nowhere"},
      {"launch " + add + " --kernel addd", "no kernel 'addd'; the nearest are add"},
      {"launch " + add + " --grid 0", "--grid is X"},
      {"launch " + add + " --block 32,x", "--block is X"},
      {"launch " + add + " --grid 1,2,3,4", "--grid is X"},
      {"launch " + add, "the kernel has 4 parameters"},
      {"launch " + add + " --block 2048 " + arguments, "up to 1024 threads"},
      {"launch " + add + " --grid 3 --cluster 2 " + arguments, "is not made of clusters"},
      {"launch " + add + " --shared 300000 " + arguments, "bytes of shared memory"},
      {"launch " + add + " --arg f32:x", "'x' is no number of f32"},
      {"launch " + add + " --arg 7", "neither a number"},
      {"launch " + add + " --arg 'f32[0]:zero'", "memory is TYPE[COUNT]:FILL"},
      {"launch " + add + " --arg 'f32[4]:nothing'", "memory is filled with"},
      {"launch " + add + " --arg 'f32[4]:zero,frob=1'", "none of print=N"},
      {"launch " + add + " --arg 'map:0,f16,64x64,box=64x64'", "no argument before this one"},
      {"launch " + add + " --arg also:i32:1", "behind also: there is memory"},
      {"launch " + add + " --arg 'also:i32[4]:zero'", "--arg gives 0"},
      {"launch " + add + " --arg 'also:i32[4]:zero' --arg 'map:0,i32,4x2,box=4x2x1'", "another number of dimensions"},
      {"launch " + add + " --arg u8:1 --arg u8:1 --arg u8:1 --arg u8:1", "parameter 0 of the kernel has 8 bytes"},
      {"launch " + add + " --explore", "--explore is for --check"},
      {"launch " + add + " --schedule lazy --policy eager", "not both"},
      {"launch " + add + " --on gpu", "--on is loom:sm90 or loom:sm100"},
      {"launch " + add + " --numerics rough", "--numerics is fast or exact"},
      {"launch " + add + " --sms -1", "--sms is a number"},
      {"launch", "file is required"},
      {"", "subcommand is required"},
      {"frob", ""},
      {"info " WARPLOOM_TEST_DATA, "directory"},
      {"run", "name the program"},
      {"run --json", "name the program"},
      {"run --schedule frob true", "frob"},
      {"run /nowhere/program", "is no program that can be run"},
      {"run no-such-program-anywhere", "there is no program"},
      {"run --frob=1 true", "--frob"},
      {"check --sites --timeline true", "--sites lists barrier operations"},
  };
  for (const Refusal& refusal : refusals) {
    const test::Output output = ptx(refusal.words);
    EXPECT_EQ(output.code, 2) << refusal.words << "\n" << output.text;
    EXPECT_TRUE(says(output, refusal.sentence)) << refusal.words << "\n" << output.text;
  }
}

TEST(PtxLaunch, TextThatCannotBeTranslatedIsRefusedWithItsLine) {
  const std::string path = ::testing::TempDir() + "warploom_broken.ptx";
  std::ofstream(path)
      << ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  frobnicate.b32 %r1;\n}\n";
  const test::Output output = ptx("launch " + path);
  EXPECT_EQ(output.code, 2) << output.text;
  EXPECT_TRUE(says(output, ":5:")) << output.text;
  std::remove(path.c_str());
}

TEST(PtxInfo, NamesKernels) {
  const test::Output output = ptx("info " + add);
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_TRUE(says(output, "add")) << output.text;
  const test::Output json = ptx("info --json " + add);
  EXPECT_EQ(json.code, 0) << json.text;
  EXPECT_TRUE(says(json, "\"chip\": \"sm90\"")) << json.text;
}

TEST(Ptx, HelpOfEveryCommand) {
  for (const char* words : {"--help", "info --help", "launch --help", "run --help", "check --help"})
    EXPECT_EQ(ptx(words).code, 0) << words;
}

}  // namespace
}  // namespace warploom::cli
