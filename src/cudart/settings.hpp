// What `warploom ptx run` tells the CUDA runtime inside of the program that it starts, in environment variables.
// Without them a program runs all the same, with findings told on standard error.
#pragma once

#include <optional>
#include <string>

#include "warploom/loom/launch.hpp"
#include "warploom/types/result.hpp"

namespace warploom::cudart {

struct Settings {
  uint32_t chip = 0;  ///< WARPLOOM_PTX_CHIP: 90 or 100; 0: what the program's PTX asks for
  loom::Schedule schedule = {.policy = loom::Policy::lazy};  ///< WARPLOOM_PTX_SCHEDULE
  bool check = false;                                        ///< WARPLOOM_PTX_CHECK=1
  bool strict = false;                                       ///< WARPLOOM_PTX_STRICT=1
  bool sites = false;                                        ///< WARPLOOM_PTX_SITES=1
  bool timeline = false;                                     ///< WARPLOOM_PTX_TIMELINE=1
  bool verbose = false;                            ///< WARPLOOM_PTX_VERBOSE=1: a line on standard error for each launch
  double seconds = 300;                            ///< WARPLOOM_PTX_SECONDS: for code that makes no call of the loom
  unsigned workers = 0;                            ///< WARPLOOM_PTX_WORKERS
  uint32_t processors = 16;                        ///< WARPLOOM_PTX_SMS
  loom::Numerics numerics = loom::Numerics::fast;  ///< WARPLOOM_PTX_NUMERICS
  std::optional<loom::Mutation> mutation = {};     ///< WARPLOOM_PTX_MUTATION and WARPLOOM_PTX_MUTATION_SITE
  std::string mutated_kernel = {};                 ///< WARPLOOM_PTX_MUTATION_KERNEL
  std::vector<loom::Suppression> suppressed = {};  ///< WARPLOOM_PTX_SUPPRESS, separated by commas
  std::string report = {};  ///< WARPLOOM_PTX_REPORT: a file for one JSON object in each line; "": standard error

  static Result<Settings> from_environment();
};

}  // namespace warploom::cudart
