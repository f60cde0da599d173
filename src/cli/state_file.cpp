#include "cli/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/tell.hpp"

namespace warploom::cli {
namespace {

constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP};
constexpr double between_notes = 0.2;  // seconds: a state may be large
constexpr double between_writes = 2.0;

/// The signals that end the program, less those that somebody has it ignore.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : ending) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

double seconds_of_process() {
  static const auto start = std::chrono::steady_clock::now();
  return seconds_since(start);
}

}  // namespace

StateFile::StateFile(std::string path, bool json) : path_(std::move(path)), json_(json) {
  struct stat there = {};
  const bool exists = stat(path_.c_str(), &there) == 0;
  if (exists && !S_ISREG(there.st_mode)) {
    problem_ = fmt::format("{} is not a plain file", path_);
    return;
  }
  if (exists) {
    // Through a link to the file itself: what replaces it lies beside it.
    std::error_code error;
    if (const auto real = std::filesystem::canonical(path_, error); !error) path_ = real.string();
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || !text) {
      problem_ = fmt::format("cannot read {}", path_);
      return;
    }
    Result<loom::Exploration> read = loom::Exploration::from_json(text.str());
    if (!read) {
      problem_ = fmt::format("{}: {}", path_, read.error());
      return;
    }
    found_ = std::move(*read);
  }
  std::string trial = path_ + ".XXXXXX";
  const int file = mkstemp(trial.data());
  if (file < 0 || (exists && access(path_.c_str(), W_OK) != 0)) {
    problem_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
    if (file < 0) return;
  }
  close(file);
  unlink(trial.c_str());
  if (!problem_.empty()) return;
  // Threads that are made from here on inherit this: one alone hears of these signals.
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

StateFile::~StateFile() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  watcher_.join();
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void StateFile::note(const loom::Exploration& state) {
  if (seconds_of_process() - noted_ < between_notes && noted_ >= 0) return;
  const std::lock_guard lock(mutex_);
  latest_ = state;
  written_ = false;
  noted_ = seconds_of_process();
}

std::string StateFile::save(const loom::Exploration& state) {
  const std::lock_guard lock(mutex_);
  latest_.reset();
  written_ = true;
  return write(state);
}

std::string StateFile::write(const loom::Exploration& state) const {
  const std::string text = state.to_json() + "\n";
  std::string beside = path_ + ".XXXXXX";
  const int file = mkstemp(beside.data());
  bool good = file >= 0;
  for (size_t done = 0; good && done < text.size();) {
    const ssize_t more = ::write(file, text.data() + done, text.size() - done);
    if (more < 0 && errno == EINTR) continue;
    good = more > 0;
    done += good ? static_cast<size_t>(more) : 0;
  }
  // As the file was, or as the user has new ones be.
  struct stat there = {};
  const mode_t mask = umask(0);
  umask(mask);
  if (good) good = fchmod(file, stat(path_.c_str(), &there) == 0 ? there.st_mode & 0777 : 0666 & ~mask) == 0;
  if (good) good = fsync(file) == 0;
  if (file >= 0) good = close(file) == 0 && good;
  if (good) good = std::rename(beside.c_str(), path_.c_str()) == 0;
  if (!good) {
    const int reason = errno;
    if (file >= 0) unlink(beside.c_str());
    return fmt::format("cannot write {}: {}", path_, std::strerror(reason));
  }
  // The name is on the disk once its folder is.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY); opened >= 0) {
    (void)fsync(opened);
    close(opened);
  }
  return {};
}

void StateFile::watch() {
  const sigset_t signals = ending_signals();
  const timespec moment{.tv_sec = 0, .tv_nsec = 50'000'000};
  double wrote = -between_writes;  // the first state at once
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &moment);
    if (signal > 0) end(signal);
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (written_ || seconds_of_process() - wrote < between_writes) continue;
    written_ = write(*latest_).empty();  // what is wrong with it is told at the end
    wrote = seconds_of_process();
  }
}

void StateFile::end(int signal) {
  const std::lock_guard lock(mutex_);
  const std::string trouble = written_ ? "" : write(*latest_);
  std::string sentence = fmt::format("interrupted; the state of the exploration is in {}", path_);
  if (!trouble.empty())
    sentence = "interrupted; " + trouble;
  else if (!latest_ && found_.of.empty())
    sentence = fmt::format("interrupted before the first schedule had ended; there is nothing to keep in {}", path_);
  bad(sentence, json_);
  std::fflush(stdout);
  _exit(128 + signal);
}

}  // namespace warploom::cli
