// The program on a terminal: NO_COLOR, TERM, COLUMNS, the locale, and lines that say how far it is.
#include <gtest/gtest.h>
#include <pty.h>

#include <algorithm>

#include "cli/process.hpp"

namespace {

using warploom::test::Ended;
using warploom::test::run;

/// Everything that the program shows on a terminal of so many columns. It is ended once it has shown `enough`.
std::string on_terminal(const std::string& line, const std::function<void()>& prepare, unsigned short columns = 80,
                        const std::string& enough = "") {
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == -1) {
    ADD_FAILURE() << "there is no pseudo-terminal (is /dev/pts mounted?): " << strerror(errno);
    return "";
  }
  if (child == 0) {
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    prepare();
    std::vector<std::string> words = warploom::test::words_of(line);
    words.insert(words.begin(), WARPLOOM_PROGRAM);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(WARPLOOM_PROGRAM, arguments.data());
    _exit(99);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(terminal, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
    if (!enough.empty() && text.find(enough) != std::string::npos) kill(child, SIGKILL);
  }
  close(terminal);
  waitpid(child, nullptr, 0);
  // A line that is written over, as progress is, is a line of its own.
  for (size_t at = 0; (at = text.find('\r', at)) != std::string::npos;)
    if (text.compare(at, 2, "\r\n") == 0)
      text.erase(at, 1);
    else
      text[at] = '\n';
  return text;
}

/// Of a chart, or of what is no code on a page.
size_t longest_line(const std::string& output) {
  std::string text;
  bool code = false;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("gemm ", 0) == 0) break;  // the chart is over
    if (line.rfind("```", 0) == 0) code = !code;
    if (!code) text += line + "\n";
  }
  size_t longest = 0, columns = 0;
  for (const char c : text) {
    columns = c == '\n' ? 0 : columns + ((static_cast<unsigned char>(c) & 0xc0) != 0x80);
    longest = std::max(longest, columns);
  }
  return longest;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

const std::string timeline = "run gemm --m 64 --n 64 --k 256 --timeline";

TEST(CliTerminal, ColoursAreForTerminalsThatHaveThemAndUsersWhoWantThem) {
  const auto has_escapes = [](const std::string& text) { return text.find('\033') != std::string::npos; };
  EXPECT_TRUE(has_escapes(on_terminal(timeline, [] {})));
  EXPECT_FALSE(has_escapes(on_terminal(timeline, [] { setenv("NO_COLOR", "1", 1); })));
  EXPECT_FALSE(has_escapes(on_terminal(timeline, [] { setenv("TERM", "dumb", 1); })));
  EXPECT_FALSE(has_escapes(run(timeline).out));
}

TEST(CliTerminal, TimelinesAndPagesAreAsWideAsTheTerminal) {
  for (const unsigned short columns : {72, 90, 140})
    EXPECT_LE(longest_line(on_terminal(timeline, [] { setenv("NO_COLOR", "1", 1); }, columns)), columns);
  const auto with_columns = [](const char* columns) {
    return [=] {
      setenv("COLUMNS", columns, 1);
      setenv("LC_ALL", "C.UTF-8", 1);
    };
  };
  EXPECT_LE(longest_line(run(timeline, with_columns("70")).out), 70u);
  EXPECT_GT(longest_line(run(timeline, with_columns("160")).out), 130u);
  EXPECT_LE(longest_line(run("explain UNINIT-SMEM", with_columns("90")).out), 90u);
  const std::string as_written = run("explain UNINIT-SMEM", with_columns("")).out;
  EXPECT_GT(longest_line(as_written), 90u);
  EXPECT_EQ(run("explain UNINIT-SMEM", with_columns("no number")).out, as_written);
}

TEST(CliTerminal, ALocaleWithoutUtf8GetsAscii) {
  const auto locale = [](const char* all, const char* type, const char* lang) {
    return [=] {
      setenv("LC_ALL", all, 1);
      setenv("LC_CTYPE", type, 1);
      setenv("LANG", lang, 1);
    };
  };
  EXPECT_FALSE(is_ascii(run(timeline, locale("C.UTF-8", "", "")).out));
  EXPECT_FALSE(is_ascii(run(timeline, locale("", "de_DE.utf8", "C")).out));
  EXPECT_TRUE(is_ascii(run(timeline, locale("C", "de_DE.utf8", "de_DE.utf8")).out));
  EXPECT_TRUE(is_ascii(run(timeline, locale("", "", "")).out));
  EXPECT_TRUE(is_ascii(run(timeline, locale("", "", "POSIX")).out));
  // JSON is ASCII everywhere.
  EXPECT_TRUE(is_ascii(run(timeline + " --json", locale("C.UTF-8", "", "")).out));
}

/// "1 of 40 mutations", from the second second on, of a command that would run for a minute.
bool says_how_far(const char* term, unsigned seconds) {
  const auto prepare = [=] {
    setenv("TERM", term, 1);
    alarm(seconds);
  };
  return on_terminal("mutate gemm --workers 1 --json", prepare, 80, " mutations").find(" mutations") !=
         std::string::npos;
}

TEST(CliTerminal, LongCommandsSayHowFarTheyAre) { EXPECT_TRUE(says_how_far("xterm", 40)); }

TEST(CliTerminalFull, ATerminalWithoutEscapesIsNotWrittenOver) { EXPECT_FALSE(says_how_far("dumb", 5)); }

TEST(CliTerminal, NamesCannotCommandTheTerminal) {
  const std::string name = "\033]0;owned\a\033[2J\xff";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", name},
                                                {"run", "gemm", "--config", name},
                                                {"run", "gemm", "--tensors", name},
                                                {"run", "gemm", "--out", "/nowhere/" + name},
                                                {"explain", name},
                                                {name},
                                                {"check", "gemm", "--suppress", name},
                                                {"run", "gemm", "--" + name},
                                                {"bench", "--list", "--suite", name},
                                                {"bench", "--list", "--shape", name},
                                                {"run", "gemm", "--m", name},
                                                {"check", "gemm", "--resume", "/nowhere/" + name}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2);
    for (const char c : ended.error) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << ended.error;
    EXPECT_NE(ended.error.find("\\x1b"), std::string::npos) << ended.error;
  }
}

}  // namespace
