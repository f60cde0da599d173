// The file of `check --resume`: where an exploration stands, kept up to date while it goes on.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

/// Reads the file, keeps it up to date every few seconds from a thread of its own, and saves it when the program is
/// told to end (SIGINT, SIGTERM, SIGHUP), in the middle of a schedule too. Made before any other thread is.
class StateFile {
 public:
  /// Looks at the file, and whether it can be written. `json`: how an interruption is told.
  StateFile(std::string path, bool json);
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  /// "" or what is wrong with the file or its path.
  const std::string& problem() const { return problem_; }
  const loom::Exploration& found() const { return found_; }

  /// To be written soon.
  void note(const loom::Exploration& state);
  /// To be written now; "" or why that cannot be.
  std::string save(const loom::Exploration& state);

 private:
  std::string write(const loom::Exploration& state) const;
  void watch();
  [[noreturn]] void end(int signal);

  std::string path_;
  bool json_;
  std::string problem_;
  loom::Exploration found_;
  std::mutex mutex_;
  std::optional<loom::Exploration> latest_;
  bool written_ = true;  ///< `latest_` is in the file
  double noted_ = -1;    ///< seconds since the start
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace warploom::cli
