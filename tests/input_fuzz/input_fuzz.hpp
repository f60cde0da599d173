// Random input: command lines, tensor files, states of explorations, calls of the C functions. Each is tried once and
// judged by what docs/program.md, docs/json.md and warploom/c_api.h promise of any input, and by answers that are
// computed here: an exit code of 0 stands for a right result of the problem that was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/process.hpp"

namespace warploom::test::input_fuzz {

/// What became of one input.
struct Judged {
  std::string broken;  ///< "" or which promise, in words
  std::string input;   ///< for a report
  int code = 0;        ///< exit code of the program, or status of a C function
  double seconds = 0;
};

enum class Domain : uint8_t { commands, tensors, states, c_calls };
inline constexpr Domain domains[] = {Domain::commands, Domain::tensors, Domain::states, Domain::c_calls};
const char* to_string(Domain domain);

/// No input takes longer, unless the whole machine is busy; a sanitizer takes its own time.
inline constexpr double longest_seconds = sanitized ? 60 : 10;

/// The input of this seed. Files are made in `folder`, and gone afterwards.
Judged try_command(uint64_t seed, const Folder& folder);
Judged try_tensors(uint64_t seed, const Folder& folder);
Judged try_state(uint64_t seed, const Folder& folder);
/// Calls in this process: a crash ends it.
Judged try_c_calls(uint64_t seed);
/// `try_c_calls` of consecutive seeds in a child of this process, which has made no threads.
std::vector<Judged> try_c_calls_apart(uint64_t first_seed, uint32_t count);

/// "" or the promise that an end of the program breaks, whatever its input.
std::string broken_by(const std::vector<std::string>& words, const Ended& ended);
/// "" or in what a run that exited with 0 differs from what its words ask for.
std::string unlike_asked(const std::vector<std::string>& words, const Ended& ended);

/// Words as a shell takes them.
std::string quoted(const std::vector<std::string>& words);

/// The program with these words, in that folder, with memory and time for any of these inputs.
Ended run_limited(const std::vector<std::string>& words, const Folder& folder, double& seconds);

}  // namespace warploom::test::input_fuzz
