// Files and streams that the program writes: tried first, whole or not at all, and never in silence.
#include <gtest/gtest.h>

#include "cli/process.hpp"
#include "cli/safetensors.hpp"
#include "support/json.hpp"

namespace {

using warploom::test::content_of;
using warploom::test::Ended;
using warploom::test::Folder;
using warploom::test::run;

const std::string small = "gemm --m 8 --n 8 --k 8";
const std::string endless = "gemm --m 8192 --n 8192 --k 8192";  // many minutes

const std::string every_command[] = {"kernels",        "kernels --json",
                                     "machine",        "machine --json",
                                     "explain",        "explain RACE-SMEM",
                                     "plan gemm",      "plan gemm --json",
                                     "run " + small,   "run --json " + small,
                                     "bench --list",   "run --sites " + small,
                                     "check " + small, "check --json " + small,
                                     "--help",         "run --help",
                                     "--version",      "mutate --unchecked --schedule eager gemm --m 0"};

TEST(CliOutput, StandardOutputThatCannotBeWrittenIsAnError) {
  for (const std::string& command : every_command) {
    const Ended full = run(command, [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); });
    EXPECT_EQ(full.code, 3) << command << full.error;
    EXPECT_NE(full.error.find("warploom: cannot write standard output: No space left"), std::string::npos)
        << command << full.error;
  }
  for (const std::string& command : {every_command[0], every_command[9]}) {
    const Ended closed = run(command, [] { close(STDOUT_FILENO); });
    EXPECT_EQ(closed.code, 3) << command;
    EXPECT_EQ(closed.error, "warploom: standard output is closed\n");
    const Ended broken = run(command, [] {
      int ends[2];
      if (pipe(ends) == 0) dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
    });
    EXPECT_EQ(broken.signal, 0) << command;
    EXPECT_EQ(broken.code, 3) << command;
    EXPECT_EQ(broken.error, "warploom: cannot write standard output: Broken pipe\n");
  }
  // An error that cannot be told as JSON is told as a sentence, too.
  const Ended error = run("run nothing --json", [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); });
  EXPECT_EQ(error.code, 3);
  EXPECT_NE(error.error.find("cannot write standard output"), std::string::npos);
}

TEST(CliOutput, StandardErrorThatIsClosedChangesNothing) {
  const Ended ended = run("run " + small + " --json", [] { close(STDERR_FILENO), close(STDIN_FILENO); });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(warploom::test::parse_json(ended.out)["correct"], true);
}

TEST(CliOutput, APathIsTriedBeforeTheRun) {
  const Folder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  std::ofstream(folder.file("plain")) << "a file";
  const std::pair<std::string, const char*> cases[] = {
      {folder.file("none/d"), "No such file or directory"},
      {folder.file("plain/d"), "Not a directory"},
      {folder.path.string(), "is a directory, not an ordinary file"},
      {folder.file("d/"), "is a directory"},
      {folder.file("pipe"), "is a pipe, not an ordinary file"},
      {"/dev/full", "is a device, not an ordinary file"},
      {"/dev/null", "is a device, not an ordinary file"},
      {"-", "--out names a file; standard output has the report"},
      {folder.file(std::string(300, 'x')), "File name too long"},
  };
  for (const auto& [path, part] : cases) {
    const Ended ended = run("run " + endless + " --out " + path, {}, 10);
    EXPECT_EQ(ended.code, 2) << path << (ended.hung ? " hangs" : "") << ended.error;
    EXPECT_NE(ended.error.find(part), std::string::npos) << ended.error;
  }
  EXPECT_EQ(folder.count(), 2u);
  // A folder that is there and takes no file is nobody's mistake on the command line.
  EXPECT_EQ(run("run " + endless + " --out /proc/d", {}, 10).code, 2 + (access("/proc", W_OK) == 0 ? 0 : 1));
}

TEST(CliOutput, PipesAndDevicesAreNoInput) {
  const Folder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.file("pipe"), std::string("/dev/zero"), folder.path.string()}) {
    for (const char* option : {" --tensors ", " --resume "}) {
      const Ended ended = run((option[3] == 't' ? "run " : "check ") + small + option + path, {}, 10);
      EXPECT_EQ(ended.code, 2) << option << path << (ended.hung ? " hangs" : "") << ended.error;
      EXPECT_NE(ended.error.find("not an ordinary file"), std::string::npos) << ended.error;
    }
  }
}

TEST(CliOutput, WhatIsWrittenTakesThePlaceOfTheOldFile) {
  const Folder folder;
  const std::string out = folder.file("d.safetensors");
  ASSERT_EQ(run("run " + small + " --out " + out).code, 0);
  EXPECT_TRUE(warploom::cli::SafeTensors::read(out));
  const std::string before = content_of(out);
  chmod(out.c_str(), 0640);
  std::filesystem::create_symlink("d.safetensors", folder.file("link"));
  std::filesystem::create_symlink("new.safetensors", folder.file("ahead"));
  const Ended ended = run("run " + small + " --data-seed 2 --json --out " + folder.file("link"));
  EXPECT_EQ(ended.code, 0) << ended.error;
  EXPECT_EQ(warploom::test::parse_json(ended.out)["written"], true);
  EXPECT_NE(content_of(out), before);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  struct stat there = {};
  ASSERT_EQ(stat(out.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777u, 0640u);
  EXPECT_EQ(run("run " + small + " --out " + folder.file("ahead")).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("ahead")));
  EXPECT_TRUE(warploom::cli::SafeTensors::read(folder.file("new.safetensors")));
  EXPECT_EQ(folder.count(), 4u) << "nothing else is left there";
}

/// A limit on the size of files is a disk that is full, as far as a program can tell.
TEST(CliOutput, ADiskThatIsFullLeavesTheOldFile) {
  const Folder folder;
  const std::string out = folder.file("d.safetensors");
  ASSERT_EQ(run("run " + small + " --out " + out).code, 0);
  const std::string before = content_of(out);
  const std::string again = "run gemm --m 64 --n 64 --k 8 --out " + out;
  for (const char* json : {"", " --json"}) {
    const Ended ended = run(again + json, [] { warploom::test::limit(RLIMIT_FSIZE, 1000); });
    EXPECT_EQ(ended.signal, 0) << "by a signal";
    EXPECT_EQ(ended.code, 3) << ended.out << ended.error;
    const std::string& told = *json == '\0' ? ended.error : ended.out;
    EXPECT_NE(told.find("cannot write '" + out + "': File too large"), std::string::npos) << told;
    EXPECT_EQ(content_of(out), before);
    EXPECT_EQ(folder.count(), 1u) << "nothing else is left there";
  }
}

TEST(CliOutput, AWrongResultIsNotWritten) {
  const Folder folder;
  const std::string out = folder.file("d.safetensors");
  const std::string problem = "gemm --m 64 --n 64 --k 200 --schedule random:1";
  const auto mutants =
      warploom::test::parse_json(run("mutate --unchecked --json --beta 0 --sms 0 " + problem).out)["list"];
  int seen[2] = {};
  for (const auto& mutant : mutants) {
    const bool wrong = mutant["verdict"] == "wrong result", found = !wrong && mutant["verdict"] != "not seen";
    if ((!wrong && !found) || seen[wrong]++ > 0) continue;
    const std::string altered = "run " + problem + " --mutate " + mutant["mutation"].get<std::string>() + "@" +
                                std::to_string(mutant["site"].get<int>()) + " --out " + out;
    std::ofstream(out) << "as it was";
    const Ended text = run(altered);
    EXPECT_EQ(text.code, 1) << mutant << text.out << text.error;
    EXPECT_NE(text.out.find("d is not written to '" + out + "': the result is not right"), std::string::npos)
        << text.out;
    EXPECT_EQ(content_of(out), "as it was");
    const Ended json = run(altered + " --json");
    EXPECT_EQ(json.code, 1);
    EXPECT_EQ(warploom::test::parse_json(json.out)["written"], false);
    EXPECT_EQ(content_of(out), "as it was");
    EXPECT_EQ(folder.count(), 1u);
  }
  EXPECT_GT(seen[0], 0) << "no mutation has a finding";
  EXPECT_GT(seen[1], 0) << "no mutation has a wrong result only";
}

/// The report goes there already.
TEST(CliOutput, TheFileThatAStreamGoesToIsRefused) {
  const Folder folder;
  const std::string log = folder.file("log"), problem = "run gemm --m 64 --n 64 --k 64 --out ";
  for (const std::string& name : {std::string("/dev/stdout"), std::string("/proc/self/fd/1"), log}) {
    std::ofstream(log) << "keep\n";
    const Ended ended = run(problem + name, [&] {
      const int file = open(log.c_str(), O_WRONLY | O_APPEND);
      dup2(file, STDOUT_FILENO);
    });
    EXPECT_EQ(ended.code, 2) << name;
    EXPECT_NE(ended.error.find("redirected to"), std::string::npos) << ended.error;
    EXPECT_EQ(content_of(log), "keep\n") << name;
  }
}

/// Nothing is left over, however early the end comes.
TEST(CliOutput, AnEarlyEndLeavesNothingOver) {
  const Folder folder;
  for (int i = 0; i < 40; ++i) {
    warploom::test::Process process(warploom::test::words_of("run gemm --m 512 --k 2048 --out " + folder.file("d")));
    usleep(static_cast<useconds_t>(500 + i * 150));
    process.send(SIGTERM);
    const Ended ended = process.wait(15);
    const bool there = std::filesystem::exists(folder.file("d"));
    EXPECT_EQ(folder.count(), there ? 1u : 0u) << "a file is left over";
    if (ended.error.find("nothing was written") != std::string::npos) {
      EXPECT_FALSE(there) << ended.error;
    }
    std::filesystem::remove(folder.file("d"));
  }
}

}  // namespace
