// What becomes of launches: told to `warploom ptx run` as JSON, one object in each line of a file, or, where nobody
// asked for that, in words on standard error when the program ends.
#pragma once

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cudart/settings.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::cudart {

/// One launch, after it has run.
struct Ran {
  std::string kernel = {};  ///< as the PTX calls it
  Dim3 grid = {}, block = {}, cluster = {};
  uint64_t shared_bytes = 0;
  double seconds = 0;
  double compile_seconds = 0;  ///< 0: nothing had to be compiled
  std::string ptx = {};        ///< the file that reports name
};

class Reporter {
 public:
  explicit Reporter(const Settings& settings);

  void began(uint32_t chip);
  void ran(const Ran& launch, const loom::Outcome& outcome);
  /// What the program asked for and cannot have, in a sentence.
  void trouble(const std::string& sentence);
  /// A kernel that is launched and cannot be run: what the program makes of it is not right.
  void not_translated(const std::string& sentence);
  /// ... and ends with.
  void unsupported(const std::string& sentence);
  void compiled(const std::string& kernel, double seconds);
  /// The program ends.
  void end();

 private:
  void line(const std::string& json);
  void say(const std::string& text) const;

  struct Seen {
    std::string text = {};
    uint64_t launches = 0;
  };

  const Settings& settings_;
  int file_ = -1;
  uint64_t launches_ = 0, failed_ = 0, steps_ = 0, suppressed_ = 0;
  double seconds_ = 0;
  std::vector<std::string> order_;
  std::map<std::string, Seen> seen_;  ///< findings, each once
  std::set<std::string> told_;        ///< sentences, each once
  bool ended_ = false;
};

}  // namespace warploom::cudart
