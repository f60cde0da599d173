// The program told to end: what there is is said and kept, files are whole, and the exit code is 128 + signal.
#include <gtest/gtest.h>

#include "cli/process.hpp"
#include "support/json.hpp"

namespace {

using warploom::test::content_of;
using warploom::test::Ended;
using warploom::test::Folder;
using warploom::test::json;
using warploom::test::Process;
using warploom::test::run;
using warploom::test::words_of;

/// The program, sent a signal so many seconds after it has begun to listen.
Ended ended_by(const std::string& line, int signal, double after, const std::function<void()>& prepare = {}) {
  Process process(words_of(line), prepare);
  EXPECT_TRUE(process.takes_signals()) << line;
  usleep(static_cast<useconds_t>(after * 1e6));
  process.send(signal);
  return process.wait(15);
}

constexpr std::pair<int, int> signals[] = {{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}};

TEST(CliInterruption, ARunLeavesItsFile) {
  for (const auto& [signal, code] : signals) {
    const Folder folder;
    const std::string out = folder.file("d");
    std::ofstream(out) << "as it was";
    const std::string line = "run gemm --m 4096 --n 4096 --k 4096 --workers 1 --json --out " + out;
    const Ended ended = ended_by(line, signal, 0.15);
    EXPECT_EQ(ended.code, code) << ended.signal << ended.out << ended.error;
    const json document = json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << ended.out;
    EXPECT_EQ(document.value("interrupted", false), true);
    EXPECT_EQ(document.value("exit", 0), code);
    EXPECT_EQ(document.value("error", ""), "interrupted; nothing was written");
    EXPECT_EQ(content_of(out), "as it was");
    EXPECT_EQ(folder.count(), 1u);
  }
}

TEST(CliInterruption, MutationsSoFarAreTold) {
  const Ended ended = ended_by("mutate gemm --json --sms 1 --workers 1", SIGTERM, 0.5);
  EXPECT_EQ(ended.code, 143) << ended.signal << ended.out << ended.error;
  const json document = json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << ended.out;
  EXPECT_EQ(document.value("interrupted", false), true);
  if (!document.contains("error")) {  // it had time for one
    ASSERT_TRUE(document.contains("mutants") && document.contains("planned") && document.contains("list"));
    EXPECT_EQ(document["mutants"], document["list"].size());
    EXPECT_LT(document["mutants"], document["planned"]);
  }
  const Ended text = ended_by("mutate gemm --sms 1 --workers 1", SIGINT, 0.3);
  EXPECT_EQ(text.code, 130);
  EXPECT_NE((text.out + text.error).find("interrupted "), std::string::npos) << text.out;
}

TEST(CliInterruption, VerdictsSoFarAreTold) {
  const Ended ended = ended_by("check --all --json --workers 1", SIGTERM, 0.5);
  EXPECT_EQ(ended.code, 143) << ended.out << ended.error;
  const json document = json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << ended.out;
  EXPECT_EQ(document.value("schema", 0), 1);
  EXPECT_EQ(document.value("interrupted", false), true);
  ASSERT_TRUE(document.contains("verdicts") && document.contains("problems"));
  EXPECT_LT(document["verdicts"].size(), document["problems"]);
  const Ended one = ended_by("check gemm --m 4096 --n 4096 --k 4096 --workers 1 --json", SIGTERM, 0.2);
  EXPECT_EQ(one.code, 143) << one.out << one.error;
  EXPECT_EQ(warploom::test::parse_json(one.out)["error"], "interrupted before there was a verdict");
}

TEST(CliInterruption, WhatIsIgnoredIsIgnored) {
  const Ended ended =
      ended_by("run gemm --m 300 --n 300 --k 1000 --json", SIGHUP, 0.05, [] { std::signal(SIGHUP, SIG_IGN); });
  EXPECT_EQ(ended.code, 0) << ended.signal << ended.error;
  EXPECT_EQ(warploom::test::parse_json(ended.out)["correct"], true);
}

/// Whoever reads a pipe that is full does not keep the program from ending.
TEST(CliInterruption, AFullPipeDoesNotHoldItUp) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[1], F_SETPIPE_SZ, 4096);
  Process process(words_of("kernels --json"), [&] { dup2(ends[1], STDOUT_FILENO); });
  usleep(200'000);
  process.send(SIGTERM);
  const Ended ended = process.wait(5);
  EXPECT_FALSE(ended.hung);
  EXPECT_TRUE(ended.signal == SIGTERM || ended.code == 143);
  close(ends[0]);
  close(ends[1]);
}

// ---- every way to end, at many moments

constexpr const char* dynamic =
    "check blockwise-fp8 --b-scales rows --config e4m3-rows-128x128-2sm-2x1-clc --m 300 --n 176 --k 128 --sms 2 --json "
    "--schedules 20 --resume ";
const std::string run_out = "run gemm --m 700 --n 900 --k 700 --sms 4 --json --out ";
const std::string mutants = "mutate gemm --m 64 --n 64 --k 200 --unchecked --schedule eager --json";

/// Whoever is root writes where others may not, and no limit on processes holds for them.
bool be_nobody() { return geteuid() != 0 || setuid(65534) == 0; }

struct Ending {
  const char* name;
  int signal;                                  ///< to be sent; 0: none
  std::function<void(double moment)> prepare;  ///< in the child; moments are from 0 to 1
};

const Ending endings[] = {
    {"kill -9", SIGKILL, {}},
    {"SIGTERM", SIGTERM, {}},
    {"full disk", 0,
     [](double moment) { warploom::test::limit(RLIMIT_FSIZE, static_cast<rlim_t>(1.5e6 * moment * moment)); }},
    {"ulimit -v", 0,
     [](double moment) { warploom::test::limit(RLIMIT_AS, static_cast<rlim_t>(2e7 + 2.5e9 * moment)); }},
    {"no more processes", 0,
     [](double moment) {
       if (!be_nobody()) _exit(98);
       warploom::test::limit(RLIMIT_NPROC, static_cast<rlim_t>(4 * moment));
     }},
    {"closed stdout", 0, [](double) { close(STDOUT_FILENO); }},
};
constexpr int moments = 20;

class InterruptedFull : public testing::TestWithParam<size_t> {
 protected:
  /// The program, ended this way at one of many moments of a run that takes so many seconds.
  Ended at(const std::string& line, int moment, double seconds) const {
    const Ending& ending = endings[GetParam()];
    std::mt19937_64 random(static_cast<uint64_t>(moment) * 7 + GetParam());
    const double fraction = (moment + std::uniform_real_distribution<>(0, 1)(random)) / moments;
    Process process(words_of(line), [&] {
      if (ending.prepare) ending.prepare(fraction);
    });
    if (ending.signal != 0) {
      usleep(static_cast<useconds_t>(fraction * 1.1 * seconds * 1e6));
      process.send(ending.signal);
    }
    const Ended ended = process.wait(60);
    EXPECT_FALSE(ended.hung) << line;
    EXPECT_TRUE(ended.signal == 0 || ended.signal == ending.signal)
        << ending.name << ": ended by signal " << ended.signal << "\n"
        << line << "\n"
        << ended.error;
    if (ended.signal == 0 && ended.code > 1 && ended.code != 3) {
      EXPECT_EQ(ended.code, 128 + ending.signal) << ended.out;
    }
    return ended;
  }
  bool may_leave_a_file() const { return endings[GetParam()].signal == SIGKILL; }

  /// Files besides those of a name that says that they can be deleted.
  size_t finished_files(const Folder& folder) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
      const bool unfinished = entry.path().filename().string().rfind(".warploom-unfinished-", 0) == 0;
      if (!may_leave_a_file()) {
        EXPECT_FALSE(unfinished) << "nothing is left over";
      }
      count += !unfinished;
    }
    return count;
  }
  void SetUp() override {
    if (warploom::test::sanitized && endings[GetParam()].name == std::string("ulimit -v"))
      GTEST_SKIP() << "a sanitizer needs more address space than there is memory";
  }
  static double seconds_of(const std::string& line) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run(line).code, 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

TEST_P(InterruptedFull, ARunLeavesTheOldFileOrTheNewOne) {
  const Folder folder;
  chmod(folder.path.c_str(), 0777);
  const std::string out = folder.file("d"), line = run_out + out;
  const double seconds = seconds_of(line);
  const std::string whole = content_of(out);
  ASSERT_GT(whole.size(), 1'000'000u);
  int old_ones = 0;
  for (int moment = 0; moment < moments; ++moment) {
    std::ofstream(out, std::ios::trunc) << "as it was";
    chmod(out.c_str(), 0666);
    const Ended ended = at(line, moment, seconds);
    const std::string there = content_of(out);
    EXPECT_TRUE(there == whole || there == "as it was") << there.size() << " bytes";
    if (ended.code == 0) {
      EXPECT_EQ(there, whole);
    }
    if (ended.code != 0 && endings[GetParam()].signal == 0) {
      EXPECT_EQ(there, "as it was") << ended.error;
    }
    old_ones += there != whole;
    EXPECT_EQ(finished_files(folder), 1u);
    // Where there was none, there is none or the whole.
    std::filesystem::remove(out);
    at(line, moment, seconds);
    EXPECT_TRUE(!std::filesystem::exists(out) || content_of(out) == whole);
  }
  EXPECT_GT(old_ones, 0) << "none was ended in time";
}

TEST_P(InterruptedFull, AnExplorationGoesOnFromItsFile) {
  const Folder folder;
  chmod(folder.path.c_str(), 0777);
  const std::string file = folder.file("state"), line = dynamic + file;
  const double seconds = seconds_of(line);
  const std::string finished = warploom::test::parse_json(run(line).out)["sentence"];
  std::filesystem::remove(file);
  uint64_t done = 0;
  for (int moment = 0; moment < moments; ++moment) {
    at(line, moment, seconds);
    EXPECT_LE(finished_files(folder), 1u);
    if (!std::filesystem::exists(file)) continue;
    chmod(file.c_str(), 0666);
    const json state = json::parse(content_of(file), nullptr, false);
    ASSERT_TRUE(state.is_object()) << content_of(file);
    EXPECT_GE(state["done"].get<uint64_t>(), done) << "it goes on, and not from the start";
    done = state["done"];
    if (done < 20) continue;
    std::filesystem::remove(file);  // all of it was tried: once more
    done = 0;
  }
  const Ended rest = run(line);
  EXPECT_EQ(rest.code, 0) << rest.out << rest.error;
  EXPECT_EQ(warploom::test::parse_json(rest.out)["sentence"], finished);
}

TEST_P(InterruptedFull, MutationsAreTold) {
  const double seconds = seconds_of(mutants);
  for (int moment = 0; moment < moments; ++moment) {
    const Ended ended = at(mutants, moment, seconds);
    if (ended.signal == SIGKILL || endings[GetParam()].name == std::string("closed stdout")) {
      EXPECT_NE(ended.code, 0);
      continue;
    }
    if (ended.code == 3) continue;                         // told where there was room for it
    if (ended.signal != 0 && ended.out.empty()) continue;  // before it could hear of signals, or when all was told
    const json document = json::parse(ended.out, nullptr, false);
    if (ended.signal != 0 && document.is_discarded()) continue;  // while it told the whole
    ASSERT_TRUE(document.is_object()) << ended.code << ended.out << ended.error;
    EXPECT_EQ(document.value("schema", 0), 1);
    if (ended.code > 128) {
      EXPECT_EQ(document.value("interrupted", false), true);
    }
    if (ended.code == 0) {
      EXPECT_EQ(document.value("mutants", 0), document.value("planned", 1));
    }
  }
}

/// The one moment that random ones miss: while the file is being written.
TEST(CliInterruptionFull, AnEndInTheMiddleOfWritingLeavesTheOldFile) {
  int in_the_middle = 0;
  for (const int signal : {SIGKILL, SIGTERM, SIGKILL, SIGTERM, SIGKILL, SIGTERM}) {
    const Folder folder;
    const std::string out = folder.file("d"), old = "as it was";
    std::ofstream(out) << old;
    Process process(words_of("run gemm --m 4096 --n 4096 --k 8 --d-type f32 --out " + out));
    const auto being_written = [&] {
      if (std::filesystem::file_size(out) != old.size()) return true;
      for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
        std::error_code gone;
        const auto size = entry.path() == out ? 0 : std::filesystem::file_size(entry.path(), gone);
        if (!gone && size > 0) return true;
      }
      return false;
    };
    const auto start = std::chrono::steady_clock::now();
    while (!being_written() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) usleep(200);
    process.send(signal);
    const Ended ended = process.wait(15);
    EXPECT_FALSE(ended.hung);
    const std::string there = content_of(out);
    if (there != old) {
      EXPECT_GT(there.size(), size_t{4096} * 4096 * 4) << "neither the old file nor the new one";
      continue;
    }
    ++in_the_middle;
    size_t left_over = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) left_over += entry.path() != out;
    EXPECT_LE(left_over, signal == SIGKILL ? 1u : 0u);
  }
  EXPECT_GT(in_the_middle, 0);
}

INSTANTIATE_TEST_SUITE_P(Endings, InterruptedFull, testing::Range<size_t>(0, std::size(endings)));

}  // namespace
