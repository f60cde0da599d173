// warploom check: verdicts, exit codes, JSON, one sentence for bad input.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

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

TEST(CliCheck, AMutationIsFoundAndReplays) {
  const std::string problem = "gemm --m 70 --n 90 --k 1200";
  const auto sites =
      warploom::test::parse_json(warploom::test::run_program(std::string(WARPLOOM_PROGRAM) + " run " + problem +
                                                             " --sms 4 --beta 1 --sites --json")
                                     .text)["sites"];
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

/// A file that is gone afterwards, with whatever else was left beside it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "warploom_check_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string file(const char* name = "state.json") const { return (folder_ / name).string(); }
  /// How many files there are.
  size_t count() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

 private:
  std::filesystem::path folder_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* dynamic =
    "blockwise-fp8 --b-scales rows --config e4m3-rows-128x128-2sm-2x1-clc --m 300 --n 176 --k 128 --sms 2";

TEST(CliCheck, AnExplorationIsKeptInAFile) {
  const Scratch scratch;
  const std::string run = std::string(dynamic) + " --json --resume " + scratch.file() + " --schedules ";
  EXPECT_EQ(warploom::test::parse_json(check(run + "9").text)["schedules"], 9);
  const auto json = warploom::test::parse_json(check(run + "11").text);
  EXPECT_EQ(json["schedules"], 11);
  EXPECT_EQ(json["verdict"], "none_found");
  EXPECT_EQ(json["depends_on"].size(), 1u);
  // All of it has been tried: what was found out is said again, and not that nothing depends on the schedule.
  const auto again = warploom::test::parse_json(check(run + "5").text);
  EXPECT_EQ(again["sentence"], json["sentence"]);
  EXPECT_EQ(scratch.count(), 1u);
  std::ofstream(scratch.file()) << "{}";
  const Output broken = check(run + "12");
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.text.find("does not hold the state of an exploration"), std::string::npos) << broken.text;
}

TEST(CliCheck, AFailureInAFileFailsAgain) {
  const Scratch scratch;
  const auto sites = warploom::test::parse_json(
      warploom::test::run_program(std::string(WARPLOOM_PROGRAM) + " run gemm --m 70 --n 90 --k 1200 --sms 4 --beta 1 " +
                                  "--sites --json")
          .text)["sites"];
  size_t site = 0;
  while (site < sites.size() && !(sites[site]["operation"] == "mbarrier.wait" && sites[site]["object"] == "input.full"))
    ++site;
  const std::string run = "gemm --m 70 --n 90 --k 1200 --resume " + scratch.file();
  const std::string altered = run + " --mutate drop@" + std::to_string(site);
  const Output first = check(altered);
  EXPECT_EQ(first.code, 1) << first.text;
  const Output second = check(altered);
  EXPECT_EQ(second.code, 1) << second.text;
  EXPECT_EQ(second.text, first.text);
  // The kernel as it is written is another matter, and the other way round.
  const Output other = check(run);
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.text.find("it belongs to another mutation: mutation drop of mbarrier.wait@input.full@"),
            std::string::npos)
      << other.text;
  EXPECT_NE(other.text.find("there, none here"), std::string::npos) << other.text;
}

TEST(CliCheck, AFileOfSomethingElseIsRefused) {
  const Scratch scratch;
  const std::string resume = " --resume " + scratch.file();
  const std::string problem = "gemm --m 70 --n 90 --k 200";
  ASSERT_EQ(check(problem + resume).code, 0);
  const std::string kept = text_of(scratch.file());
  const std::pair<std::string, const char*> cases[] = {
      {"gemm --m 80 --n 90 --k 200", "it belongs to another problem: m 70 there, 80 here"},
      {problem + " --beta 0", "it belongs to another problem: beta 1 there, 0 here"},
      {problem + " --activation relu", "activation none there, relu here"},
      {problem + " --d-type f32", "D bf16 there, f32 here"},
      {problem + " --data-seed 2", "another set of data: data seed 1 there, 2 here"},
      {problem + " --data integer", "another set of data: data normal there, integer here"},
      {problem + " --schedule lazy", "another schedule: usual course eager there, lazy here"},
      {problem + " --numerics exact", "numerics fast there, exact here"},
      {problem + " --deviations 1", "deviations 2 there, 1 here"},
      {problem + " --suppress RACE-SMEM", "another suppression"},
      {"blockwise-fp8 --m 70 --n 96 --k 200 --on loom:sm90", "another kernel: kernel gemm there, blockwise-fp8 here"},
  };
  for (const auto& [arguments, sentence] : cases) {
    const Output output = check(arguments + resume);
    EXPECT_EQ(output.code, 2) << arguments << "\n" << output.text;
    EXPECT_NE(output.text.find(sentence), std::string::npos) << arguments << "\n" << output.text;
    EXPECT_EQ(text_of(scratch.file()), kept) << "the file is somebody else's";
  }
  std::string senseless = kept;
  senseless.replace(senseless.find("\"done\":1"), 8, "\"done\":4000000000");
  std::ofstream(scratch.file()) << senseless;
  const Output output = check(problem + resume);
  EXPECT_EQ(output.code, 2) << output.text;
  EXPECT_NE(output.text.find("the numbers of the file make no sense: it says that 4000000000 schedules were tried"),
            std::string::npos)
      << output.text;
}

TEST(CliCheck, AFileThatCannotBeWrittenIsRefusedAtOnce) {
  const Scratch scratch;
  const std::string large = "gemm --m 4096 --n 4096 --k 4096 --resume ";  // would run for a long time
  const std::string folder = std::filesystem::path(scratch.file()).parent_path();
  for (const std::string& path : {folder + "/none/state.json", folder, std::string("/dev/null"), std::string("''")}) {
    const Output output = check(large + path);
    EXPECT_EQ(output.code, 2) << path << "\n" << output.text;
  }
  ASSERT_EQ(mkfifo(scratch.file("fifo").c_str(), 0600), 0);
  const Output output = check(large + scratch.file("fifo"));
  EXPECT_EQ(output.code, 2);
  EXPECT_NE(output.text.find("is a pipe, not an ordinary file"), std::string::npos) << output.text;
}

/// `check` with these arguments, told to end by `signal` once the file is there and a moment has passed.
Output interrupted(const std::vector<std::string>& arguments, const Scratch& scratch, int signal) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string output = scratch.file("output");
    if (freopen(output.c_str(), "w", stdout) == nullptr || dup2(STDOUT_FILENO, STDERR_FILENO) < 0) _exit(99);
    std::signal(signal, SIG_DFL);  // a shell has what it starts in the background ignore SIGINT
    std::vector<char*> words{const_cast<char*>(WARPLOOM_PROGRAM), const_cast<char*>("check")};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(WARPLOOM_PROGRAM, words.data());
    _exit(99);
  }
  for (int i = 0; i < 3000 && !std::filesystem::exists(scratch.file()); ++i) usleep(10'000);
  usleep(400'000);
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(scratch.file("output"))};
}

TEST(CliCheck, AnInterruptedExplorationIsSaved) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const Scratch scratch;
    const std::string run = std::string(dynamic) + " --resume " + scratch.file();
    std::istringstream words(run + " --schedules 1000000000");
    const Output output = interrupted({std::istream_iterator<std::string>(words), {}}, scratch, signal);
    EXPECT_EQ(output.code, code) << output.text;
    EXPECT_NE(output.text.find("interrupted; the state of the exploration is in " + scratch.file()), std::string::npos)
        << output.text;
    EXPECT_EQ(scratch.count(), 2u) << "nothing else is left there";
    const auto state = warploom::test::parse_json(text_of(scratch.file()));
    EXPECT_GE(state["done"], 1);
    const auto json = warploom::test::parse_json(check(run + " --schedules 1 --json").text);
    EXPECT_EQ(json["verdict"], "none_found");
    EXPECT_EQ(json["schedules"], state["done"]);
  }
}

TEST(CliCheck, SaysInNumbersWhatWasTried) {
  const auto json = warploom::test::parse_json(check(std::string(dynamic) + " --schedules 12 --json").text);
  const auto& explored = json["explored"];
  EXPECT_EQ(explored["fixed"]["tried"], explored["fixed"]["known"]);
  EXPECT_EQ(explored["with_decisions"][0]["decisions"], 1);
  uint64_t tried = 1 + explored["fixed"]["tried"].get<uint64_t>() + explored["random"].get<uint64_t>() +
                   explored["orders"]["tried"].get<uint64_t>();
  for (const auto& depth : explored["with_decisions"]) tried += depth["tried"].get<uint64_t>();
  EXPECT_EQ(tried, 12u);
  EXPECT_FALSE(explored["not_covered"].empty());
  EXPECT_GE(json["processors"], 1);
  const std::string sentence = json["sentence"];
  EXPECT_NE(sentence.find("Tried: the usual course, "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("Not covered: "), std::string::npos) << sentence;
}

TEST(CliCheck, BadInputIsOneSentence) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "name a kernel, or give --all"},
      {"conv", "conv"},
      {"gemm --suppress race", "\"race\" names no finding"},
      {"gemm --suppress RACE-SMEN", "there is no finding RACE-SMEN; the nearest are RACE-SMEM"},
      {"--all --suppress NOPE@a.cpp:3", "there is no finding NOPE; the nearest are"},
      {"gemm --schedules -1", "--schedules is a number from 1 to 1000000000, not '-1'"},
      {"gemm --schedules 0", "--schedules is a number from 1 to 1000000000, not '0'"},
      {"gemm --schedules 100000000000000000000000", "--schedules is a number from 1 to 1000000000, not '1000"},
      {"gemm --schedules ''", "--schedules"},
      {"--all --schedules -1", "--schedules is a number from 1 to 1000000000, not '-1'"},
      {"gemm --deviations -1", "--deviations is a number from 0 to 1000, not '-1'"},
      {"gemm --seconds -1", "--seconds is a number of at least 0"},
      {"gemm --config bf16-kk-128x256-coop-2x1 --schedule lazy:0:skew=2", "skew=2 names no CTA of a cluster of 2"},
      {"gemm --schedule eager:hold=3", "hold=points"},
      {"gemm --mutate drop@9999", "--mutate takes MUTATION@SITE"},
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
