// The file of `check --resume`: where an exploration stands, kept up to date while it goes on.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "cli/tell.hpp"
#include "cli/whole_file.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

/// Reads the file and keeps it up to date every few seconds, and when the program is told to end, in the middle of a
/// schedule too: an Interruption's `tick` and `last` call it on another thread.
class StateFile {
 public:
  /// Looks at the file, and whether it can be written.
  explicit StateFile(std::string path);

  /// What is wrong with the file or its path.
  const Trouble& problem() const { return problem_; }
  const loom::Exploration& found() const { return found_; }

  /// To be written soon.
  void note(const loom::Exploration& state);
  /// To be written now.
  Trouble save(const loom::Exploration& state);
  /// Writes what was noted, a while after the last time.
  void tick();
  /// Writes what was noted, and says in a sentence where it is.
  std::string last_words();

 private:
  Trouble write(const loom::Exploration& state) const { return write_whole(path_, state.to_json() + "\n"); }

  std::string path_;
  Trouble problem_;
  loom::Exploration found_;
  std::mutex mutex_;
  std::optional<loom::Exploration> latest_;
  bool written_ = true;  ///< `latest_` is in the file
  double noted_ = -1;    ///< seconds since the start
  double wrote_ = -1;
};

}  // namespace warploom::cli
