// The program as a process of its own: its streams apart, its end by a code or by a signal, never longer than a while.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace warploom::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The program's file: that of this build, unless somebody else's is to be tried.
inline std::string& program() {
  static std::string file = WARPLOOM_PROGRAM;
  return file;
}

/// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("warploom_cli_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  size_t count() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {})); }
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Ended {
  int code = -1;   ///< of an exit
  int signal = 0;  ///< that ended it instead
  bool hung = false;
  std::string out, error;
};

class Process {
 public:
  /// Starts the program; `prepare` runs in the child, before it.
  explicit Process(std::vector<std::string> words, const std::function<void()>& prepare = {})
      : out_(memfd_create("out", MFD_CLOEXEC)), error_(memfd_create("error", MFD_CLOEXEC)) {
    words.insert(words.begin(), program());
    child_ = fork();
    if (child_ != 0) return;
    dup2(out_, STDOUT_FILENO);
    dup2(error_, STDERR_FILENO);
    // A shell has what it starts in the background ignore SIGINT.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    if (prepare) prepare();
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program().c_str(), arguments.data());
    _exit(99);
  }
  ~Process() {
    if (child_ > 0) wait(0);
    close(out_);
    close(error_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const { kill(child_, signal); }
  /// A limit from now on.
  void limit(int resource, rlim_t value) const {
    const rlimit both{value, value};
    prlimit(child_, static_cast<__rlimit_resource>(resource), &both, nullptr);
  }
  /// Waits until it has said something on standard output. False: it has ended, or never did.
  bool says_something() const {
    for (int i = 0; i < 30'000; ++i, usleep(1000)) {
      if (!text_of(out_).empty()) return true;
      if (kill(child_, 0) != 0) return false;
    }
    return false;
  }

  /// Waits until the program takes SIGTERM itself, however long a busy machine needs to start it. False: it never did.
  bool takes_signals() const {
    const std::string status = "/proc/" + std::to_string(child_) + "/status";
    for (int i = 0; i < 30'000; ++i, usleep(1000)) {
      const std::string text = content_of(status);
      const size_t at = text.find("SigBlk:");
      if (at == std::string::npos || text.find("State:\tZ") != std::string::npos) return false;  // it has ended
      if ((std::stoull(text.substr(at + 7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0) return true;
    }
    return false;
  }

  /// Its end; whoever takes longer than so many seconds is killed.
  Ended wait(double seconds = 60) {
    Ended ended;
    int status = 0;
    const auto start = std::chrono::steady_clock::now();
    while (waitpid(child_, &status, WNOHANG) == 0) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) {
        ended.hung = true;
        kill(child_, SIGKILL);
        waitpid(child_, &status, 0);
        break;
      }
      usleep(1000);
    }
    child_ = 0;
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    ended.out = text_of(out_);
    ended.error = text_of(error_);
    return ended;
  }

 private:
  static std::string text_of(int file) {
    std::string text;
    char buffer[4096];
    off_t at = 0;
    for (ssize_t n = 0; (n = pread(file, buffer, sizeof(buffer), at)) > 0; at += n)
      text.append(buffer, static_cast<size_t>(n));
    return text;
  }

  int out_, error_;
  pid_t child_ = 0;
};

/// Words between spaces, as a command line has them.
inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

inline Ended run(std::vector<std::string> words, const std::function<void()>& prepare = {}, double seconds = 60) {
  return Process(std::move(words), prepare).wait(seconds);
}
inline Ended run(const std::string& line, const std::function<void()>& prepare = {}, double seconds = 60) {
  return run(words_of(line), prepare, seconds);
}

/// In a child: a limit of its own.
inline void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

}  // namespace warploom::test
