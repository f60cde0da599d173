// Programs that launch through the CUDA runtime, on the loom's: what they are told, and what the user is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/json.hpp"
#include "support/program.hpp"

namespace warploom {
namespace {

const std::string add_ptx = std::string(WARPLOOM_TEST_DATA) + "/add.ptx";

test::Output run(const std::string& options, const std::string& scenario) {
  return test::run_program(
      fmt::format("{} ptx {} {} {} {}", WARPLOOM_PROGRAM, options, WARPLOOM_CUDART_PROGRAM, add_ptx, scenario));
}

bool says(const test::Output& output, const std::string& text) { return output.text.find(text) != std::string::npos; }

TEST(Cudart, RunsAProgram) {
  for (const char* options : {"run", "check --policy random --seed 3"}) {
    const test::Output output = run(options, "add");
    EXPECT_EQ(output.code, 0) << output.text;
    EXPECT_TRUE(says(output, "0 0 wrong")) << output.text;
    EXPECT_TRUE(says(output, "symbol: cudaSuccess")) << output.text;
    EXPECT_TRUE(says(output, "2 launches on loom:sm90")) << output.text;
  }
}

TEST(Cudart, AnAccessBesideAnAllocationIsAFindingWithItsLine) {
  const test::Output output = run("run", "beyond");
  EXPECT_EQ(output.code, 1) << output.text;
  EXPECT_TRUE(says(output, "error OOB-GLOBAL")) << output.text;
  EXPECT_TRUE(says(output, "add.cu:7 (")) << output.text;
  EXPECT_TRUE(says(output, ".ptx:43)")) << output.text;
  // As on a GPU: the launch succeeds, whoever waits for it hears of its end, and so does everybody after.
  EXPECT_TRUE(says(output, "launch: cudaSuccess")) << output.text;
  EXPECT_TRUE(says(output, "synchronize: cudaErrorLaunchFailure")) << output.text;
  EXPECT_TRUE(says(output, "again: cudaErrorLaunchFailure")) << output.text;
}

TEST(Cudart, AFindingIsJson) {
  const test::Output output = run("run --json", "beyond");
  EXPECT_EQ(output.code, 1) << output.text;
  const std::string json = output.text.substr(std::min(output.text.find('{'), output.text.size()));
  for (const char* field : {"\"schema\": 1", "\"reports\"", "\"OOB-GLOBAL\"", "\"launches\": 1", "\"program_exit\": 0"})
    EXPECT_NE(json.find(field), std::string::npos) << field << " in " << json;
}

TEST(Cudart, ACallThatIsNotThereEndsTheProgramWithASentence) {
  const test::Output output = run("run", "unknown-call");
  EXPECT_EQ(output.code, 3) << output.text;
  EXPECT_TRUE(says(output, "the program calls cudaGraphCreate")) << output.text;
}

TEST(Cudart, WhatNoGpuWouldDoIsRefused) {
  const test::Output output = run("run", "refused");
  EXPECT_EQ(output.code, 0) << output.text;
  for (const char* line :
       {"threads: cudaErrorInvalidConfiguration", "last: cudaErrorInvalidConfiguration", "none: cudaSuccess",
        "copy: cudaErrorInvalidValue", "set: cudaErrorInvalidValue", "function: cudaErrorInvalidDeviceFunction",
        "driver: cudaSuccess", "driver: cudaErrorSymbolNotFound", "cuFrobnicate", "a block has up to 1024 threads",
        "end 4 bytes behind the end of cudaMalloc #1 (800 bytes)"})
    EXPECT_TRUE(says(output, line)) << line << " in " << output.text;
}

TEST(Cudart, AnswersQuestionsAndKeepsTheProgramsExitCode) {
  const test::Output output = run("run --sms 20", "questions");
  EXPECT_EQ(output.code, 5) << output.text;
  EXPECT_TRUE(says(output, "20 SMs, capability 9, 8 blocks")) << output.text;
  // Programs change the bytes of tensor maps where the driver is 13.1 or older.
  EXPECT_TRUE(says(output, "runtime 13000, driver 13020")) << output.text;
  EXPECT_TRUE(says(output, "shared: cudaErrorInvalidValue")) << output.text;
}

TEST(Cudart, AProgramThatNeverCallsItIsAnError) {
  const test::Output output = test::run_program(fmt::format("{} ptx run true", WARPLOOM_PROGRAM));
  EXPECT_EQ(output.code, 2) << output.text;
  EXPECT_TRUE(says(output, "-cudart shared")) << output.text;
}

}  // namespace
}  // namespace warploom
