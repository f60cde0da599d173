#include "cli/state_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <utility>

namespace warploom::cli {
namespace {

constexpr double between_notes = 0.2;  // seconds: a state may be large
constexpr double between_writes = 2.0;

double seconds_of_process() {
  static const auto start = std::chrono::steady_clock::now();
  return seconds_since(start);
}

}  // namespace

StateFile::StateFile(std::string path) : path_(std::move(path)) {
  problem_ = try_to_write("--resume", path_);
  if (problem_) return;
  struct stat there = {};
  if (stat(path_.c_str(), &there) != 0) return;
  const Result<std::string> text = read_whole(path_);
  if (!text) {
    problem_ = {text.error()};
    return;
  }
  Result<loom::Exploration> read = loom::Exploration::from_json(*text);
  if (read)
    found_ = std::move(*read);
  else
    problem_ = {fmt::format("{}: {}", path_, read.error())};
}

void StateFile::note(const loom::Exploration& state) {
  if (seconds_of_process() - noted_ < between_notes && noted_ >= 0) return;
  const std::lock_guard lock(mutex_);
  latest_ = state;
  written_ = false;
  noted_ = seconds_of_process();
}

Trouble StateFile::save(const loom::Exploration& state) {
  const std::lock_guard lock(mutex_);
  latest_.reset();
  written_ = true;
  return write(state);
}

void StateFile::tick() {
  const std::lock_guard lock(mutex_);
  if (written_ || (wrote_ >= 0 && seconds_of_process() - wrote_ < between_writes)) return;
  written_ = !write(*latest_);  // what is wrong with it is told at the end
  wrote_ = seconds_of_process();
}

std::string StateFile::last_words() {
  const std::lock_guard lock(mutex_);
  if (!written_)
    if (const Trouble trouble = write(*latest_)) return "interrupted; " + trouble.sentence;
  if (!latest_ && found_.of.empty())
    return fmt::format("interrupted before the first schedule had ended; there is nothing to keep in {}", path_);
  return fmt::format("interrupted; the state of the exploration is in {}", path_);
}

}  // namespace warploom::cli
