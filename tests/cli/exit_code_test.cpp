// The exit codes that docs/program.md and --help promise, each by what brings it about.
#include <gtest/gtest.h>

#include "cli/process.hpp"
#include "docs/text.hpp"
#include "support/json.hpp"

namespace {

using warploom::test::Ended;
using warploom::test::run;
using warploom::test::words_of;

const std::string small = " gemm --m 64 --n 64 --k 200";

TEST(CliExitCodes, AreThoseOfThePage) {
  const std::string page = warploom::test::text_of(warploom::test::source_folder() / "docs/program.md");
  const Ended help = run("--help");
  const auto drop = " --mutate drop@5";
  struct Row {
    int code;
    const char* in_page;
    std::vector<std::string> lines;
  };
  const Row rows[] = {
      {0,
       "| 0 | right",
       {"run" + small, "check" + small, "kernels", "machine", "explain", "plan gemm", "--help", "bench --list",
        "run --sites" + small, "--version", "run gemm --m 0", "mutate --unchecked --schedule eager gemm --m 0"}},
      {1,
       "| 1 | a finding, or a wrong result",
       {"run" + small + drop, "check" + small + " --sms 0 --beta 0" + drop, "run --json" + small + drop}},
      {2,
       "| 2 | bad input",
       {"", "frob", "run", "run nothing", "check", "explain NOPE", "plan conv", "run" + small + " --m 4x",
        "mutate nothing", "bench --suite none", "run" + small + " --tensors /none", "--all",
        "run gemm --json --nonsense", "demo --json"}},
  };
  for (const Row& row : rows) {
    EXPECT_NE(page.find(row.in_page), std::string::npos) << row.in_page;
    EXPECT_NE(help.out.find(std::to_string(row.code) + " "), std::string::npos) << help.out;
    for (const std::string& line : row.lines) {
      const Ended ended = run(line);
      EXPECT_EQ(ended.code, row.code) << line << "\n" << ended.out << ended.error;
    }
  }
  EXPECT_NE(page.find("| 3 | it could not be done"), std::string::npos);
  EXPECT_NE(help.out.find("3 it could not be done"), std::string::npos);
  EXPECT_EQ(run("kernels", [] { close(STDOUT_FILENO); }).code, 3);
}

/// Too little memory for the program's own work is an error with a sentence; with --json, a document.
TEST(CliExitCodes, NoMemoryIsThree) {
  if (warploom::test::sanitized) GTEST_SKIP() << "a sanitizer needs more address space than there is memory";
  const auto little = [] { warploom::test::limit(RLIMIT_AS, 400u << 20); };
  for (const char* json : {"", " --json"}) {
    const Ended ended = run(std::string("run gemm --m 8192 --n 8192 --k 8192") + json, little);
    EXPECT_EQ(ended.signal, 0) << "by a signal";
    EXPECT_EQ(ended.code, 3) << ended.out << ended.error;
    if (*json == '\0')
      EXPECT_EQ(ended.error, "warploom: there is not enough memory for this\n");
    else
      EXPECT_EQ(warploom::test::parse_json(ended.out)["exit"], 3);
  }
  for (const char* command : {"demo", "run gemm --m 64 --n 64 --k 200", "mutate gemm --m 64 --n 64 --k 200",
                              "check gemm --m 64 --n 64 --k 200 --mutate drop@5"}) {
    const Ended ended = run(command, [] { warploom::test::limit(RLIMIT_AS, 100u << 20); });
    EXPECT_EQ(ended.code, 3) << command << "\n" << ended.out << ended.error;
    EXPECT_NE(ended.error.find("memory"), std::string::npos) << ended.error;
  }
}

/// In the middle of many launches, too: one that cannot be made is no mutation that was noticed.
TEST(CliExitCodes, NoMemoryForAMutationIsThree) {
  if (warploom::test::sanitized) GTEST_SKIP() << "a sanitizer needs more address space than there is memory";
  warploom::test::Process process(words_of("mutate --unchecked" + small));
  ASSERT_TRUE(process.says_something());
  process.limit(RLIMIT_AS, 1u << 20);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.signal, 0) << "by a signal";
  EXPECT_EQ(ended.code, 3) << ended.out << ended.error;
  EXPECT_NE(ended.error.find("memory"), std::string::npos) << ended.error;
  EXPECT_EQ(ended.out.find("LAUNCH"), std::string::npos) << ended.out;
}

/// A limit on processes is one on threads. It does not hold for root.
TEST(CliExitCodes, NoThreadIsThree) {
  for (const char* command : {"run", "check", "mutate"})
    for (const char* json : {"", " --json"}) {
      const Ended ended = run(command + small + json, [] {
        warploom::test::limit(RLIMIT_NPROC, 0);
        if (geteuid() == 0 && setuid(65534) != 0) _exit(98);
      });
      if (ended.code == 99 || ended.code == 98) GTEST_SKIP() << "the program cannot be run as nobody here";
      EXPECT_EQ(ended.signal, 0) << "by a signal";
      EXPECT_EQ(ended.code, 3) << command << ended.out << ended.error;
      const std::string sentence =
          *json == '\0' ? ended.error : warploom::test::parse_json(ended.out)["error"].get<std::string>();
      EXPECT_NE(sentence.find("the system refuses"), std::string::npos) << sentence;
    }
}

}  // namespace
