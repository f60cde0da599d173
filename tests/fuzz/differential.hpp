// The verdict against other schedules: what is clean on one, without a point that depends on the schedule, must be
// clean with equal values on all (docs/verdict.md). A program that is not is a refutation, and is made as small as it
// goes.
#pragma once

#include <map>

#include "fuzz/interpreter.hpp"

namespace warploom::loom::fuzz {

enum class Kind : uint8_t {
  holds,    ///< clean, no points, and the same on every schedule tried
  points,   ///< clean, and depends on the schedule
  finding,  ///< reported
  refuted,  ///< holds on the first schedule and not on another
  crashed,  ///< the machine itself went wrong
};

struct Judgement {
  Kind kind = Kind::holds;
  Schedule schedule;  ///< that refutes, or that the crash was on
  std::string how;    ///< the code of the finding there, or what is not equal
  Report report;
};

/// Those that a program is tried on beside the first; more seeds are slower and find more.
std::vector<Schedule> schedules_for(const Program& program, uint32_t seeds);

struct Trial {
  Schedule first{};  ///< the schedule that stands for all
  uint32_t seeds = 4;
  /// A checker that knows less: codes of findings it does not have, and operations that it takes for no points
  /// ("points": all of them). What it then misses must be refuted, or the fuzzer is blind there.
  std::vector<std::string> without{};
  bool memory_at_end = true;  ///< global memory must end as on the first schedule, even where nobody reads it
};

Judgement judge(const Program& program, const Trial& trial);

/// The smallest program found that is refuted (or crashes) as well.
Program shrink(const Program& program, const Trial& trial);

struct Tally {
  uint64_t programs = 0, holds = 0, points = 0, findings = 0, refuted = 0, crashed = 0;
  double seconds = 0;
  std::map<std::string, uint64_t> codes;  ///< of findings
};

struct Refutation {
  Program program;
  Judgement judgement;
  uint64_t seed = 0;  ///< of the program it was made of
};
std::string to_text(const Refutation& refutation);
/// What went wrong, and with which operations: refutations that look alike have the same.
std::string signature(const Refutation& refutation);

}  // namespace warploom::loom::fuzz
