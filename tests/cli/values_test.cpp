// What is empty, too large, no number or without effect is refused in one sentence with exit code 2.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/process.hpp"

namespace {

using warploom::test::Ended;
using warploom::test::run;

void expect_refused(const std::vector<std::string>& words, const std::string& part) {
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  const Ended ended = run(words, {}, 10);
  EXPECT_EQ(ended.code, 2) << line << ended.out << ended.error;
  EXPECT_NE(ended.error.find(part), std::string::npos) << line << "\n" << ended.error;
  EXPECT_EQ(std::count(ended.error.begin(), ended.error.end(), '\n'), 1) << line << "\n" << ended.error;
  EXPECT_EQ(ended.out, "") << line;
}

TEST(CliValues, EmptyOnesAreNone) {
  for (const char* option : {"--m", "--tensors", "--config", "--schedule", "--out", "--seed", "--alpha", "--bias",
                             "--on", "--policy", "--mutate", "--numerics", "--data", "--workers"}) {
    expect_refused({"run", "gemm", option, ""}, std::string(option) + " is given without a value");
    expect_refused({"run", "gemm", std::string(option) + "="}, std::string(option) + " is given without a value");
  }
  // `--m $UNSET --json`: the next option is no value.
  const Ended ended = run({"run", "gemm", "--m", "--json"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("--m is given without a value"), std::string::npos) << ended.out << ended.error;
  expect_refused({"run", ""}, "kernel is given without a value");
  expect_refused({"explain", ""}, "code is given without a value");
  expect_refused({"check", "gemm", "--resume", ""}, "--resume is given without a value");
  expect_refused({"bench", "--list", "--shape", ""}, "--shape is given without a value");
}

TEST(CliValues, NumbersAreNumbersThatFit) {
  expect_refused({"run", "gemm", "--m", "100000000000000000000"}, "--m is a number from 0 to 16777216, not '1000");
  expect_refused({"run", "gemm", "--m", "16777217"}, "--m is a number from 0 to 16777216");
  expect_refused({"run", "gemm", "--seed", "100000000000000000000000"},
                 "--seed is a number from 0 to 18446744073709551615");
  expect_refused({"run", "gemm", "--seed", "-1"}, "--seed is a number from 0 to");
  expect_refused({"run", "gemm", "--workers", "-1"}, "--workers is a number from 0 to 1024, not '-1'");
  expect_refused({"check", "gemm", "--schedules", "-1"}, "--schedules is a number from 1 to");
  expect_refused({"run", "gemm", "--k", "12x"}, "--k is a number from 0 to 16777216, not '12x'");
  expect_refused({"run", "gemm", "--k", "0x10"}, "not '0x10'");
  expect_refused({"run", "gemm", "--k", " 5"}, "not ' 5'");
  expect_refused({"run", "gemm", "--k", "1.5"}, "not '1.5'");
  // A zero in front is no sign of base 8, and nothing becomes 0 without a word.
  const Ended padded = run({"run", "gemm", "--m", "0100", "--n", "010", "--k", "08", "--seed=010", "--json"});
  EXPECT_EQ(padded.code, 0) << padded.out << padded.error;
  for (const char* field : {"\"m\": 100,", "\"n\": 10,", "\"k\": 8,", "\"schedule\": \"random:a\""})
    EXPECT_NE(padded.out.find(field), std::string::npos) << field << padded.out;
  for (const char* value : {"1e-60", "1e-400", "-0.00000000000000000000000000000000000000000000000000001"})
    expect_refused({"run", "gemm", "--beta", value}, "would be 0");
  EXPECT_EQ(run({"run", "gemm", "--m", "8", "--n", "8", "--k", "8", "--beta", "0e5", "--alpha", "0.5"}).code, 0);
  for (const char* value : {"nan", "inf", "1e50", "1x", "0x1", " 1"})
    expect_refused({"run", "gemm", "--alpha", value}, "--alpha is a finite number, not '" + std::string(value) + "'");
  for (const char* value : {"nan", "-1", "inf", "1s"})
    expect_refused({"check", "gemm", "--seconds", value}, "--seconds is a number of at least 0, not");
  expect_refused({"bench", "--list", "--seed", "99999999999999999999999"}, "--seed is a number from 0 to");
}

TEST(CliValues, WhatWouldHaveNoEffectIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"run gemm --launches 3", "--launches is for a GPU"},
      {"run gemm --sites --out d.safetensors", "leave --out out"},
      {"run gemm --sites --timeline", "leave --timeline out"},
      {"run gemm --sites --mutate drop@1", "leave --mutate out"},
      {"run gemm --json=0", "--json takes no value"},
      {"bench --list --json figures.json", "excludes --list"},
      {"bench --list --random 5", "--list excludes --random"},
      {"bench --list --kind fp8", "--kind requires --shape"},
      {"bench --list --config nobody", "nobody"},
      {"run gemm --schedule lazy --seed 0", "give --schedule, or --policy and --seed, not both"},
      {"run gemm --bias-type f16", "--bias-type is the type of a bias, and there is none"},
      {"run gemm --on gpu --schedule lazy", "--schedule is for the loom"},
      {"check gemm --data normal --mode normal", "--data and --mode are the same"},
      {"check gemm --schedule lazy --replay lazy", "--schedule and --replay are the same"},
      {"check gemm --config bf16-kk-128x128-pp-1x2 --suppress NOPE", "there is no finding NOPE"},
      {"mutate gemm --every-schedule --schedule lazy", "--every-schedule tries eight schedules"},
  };
  for (const auto& [line, part] : cases) expect_refused(warploom::test::words_of(line), part);
}

/// It is the command line that is wrong, not the kernel.
TEST(CliValues, ASkewThatTheClusterDoesNotHaveIsBadInput) {
  const std::string problem = " blockwise-fp8 --m 8 --n 8 --k 8 --schedule lazy:0:skew=7";
  for (const char* command : {"run", "check", "mutate", "run --sites", "run --timeline", "run --mutate drop@0"})
    expect_refused(warploom::test::words_of(command + problem), "skew=7 names no CTA of a cluster of 1");
}

TEST(CliValues, WhoMistypesIsToldWhatIsNear) {
  expect_refused({}, "name a command: run, check, mutate, plan, ptx, bench, machine, kernels, explain and demo");
  expect_refused({"mutat"}, "there is no command 'mutat'; the nearest are mutate");
  expect_refused({"frob"}, "there is no command 'frob'; the nearest are ");
  expect_refused({"run", "gemm", "--tensor", "x"}, "the nearest are --tensors");
  expect_refused({"run", std::string(100'000, 'x')}, "there is no kernel");
  expect_refused({std::string(100'000, 'x')}, "there is no command");
}

TEST(CliValues, TheVersionIsSaid) {
  const Ended ended = run("--version");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.rfind("warploom ", 0), 0u) << ended.out;
  EXPECT_NE(ended.out.find('.'), std::string::npos) << ended.out;
}

}  // namespace
