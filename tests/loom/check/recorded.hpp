// Scripts from real runs: small kernels made of the library's rings, skeletons and writers run on the machine with the
// checker on, and what its recorder heard becomes a script (docs/verdict_evidence.md).
//
//   for (const RecordedKernel& kernel : recorded_kernels()) explore(record(kernel), 1'000'000);
#pragma once

#include "loom/observe/check/recorder.hpp"
#include "script.hpp"

namespace warploom::loom::check {

struct RecordedKernel {
  const char* name;
  /// Runs it under this schedule while the recorder listens; returns what went wrong.
  std::string (*run)(uint64_t seed);
  /// Leaves out how tensor memory is allocated and freed and the last meeting: many warps, and every order of them.
  bool middle_only = false;
};
/// recorded_kernels.cpp
std::vector<RecordedKernel> recorded_kernels();

/// What of a recording cannot be told in a script; empty if all of it can.
std::string script_of(const Recorder& recorder, Script& script, bool middle_only = false);

/// Runs the kernel once and makes a script of it. A failure is in `trouble`.
Script record(const RecordedKernel& kernel, uint64_t seed, std::string& trouble);

}  // namespace warploom::loom::check
