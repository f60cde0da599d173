// Runs a program of the fuzzer on the loom under one schedule.
#pragma once

#include "fuzz/program.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::loom::fuzz {

struct Ran {
  Report report;              ///< of the first grid with a finding
  std::vector<Point> points;  ///< of all grids
  uint64_t read = 0;          ///< a hash of everything that threads read
  uint64_t left = 0;          ///< of global memory in the end
  bool clean() const { return report.clean(); }
};

/// `without`: findings of the checker that are let pass, by their codes.
Ran run(const Program& program, const Schedule& schedule, bool check, const std::vector<std::string>& without = {});

}  // namespace warploom::loom::fuzz
