// From runs to a verdict: one checked run speaks for all schedules of a launch whose order of events does not depend on
// the schedule; where it does, many schedules are tried (docs/verdict.md).
//
//   Verdict verdict = check({.what = "my gemm, 512x512x1024",
//                            .launch = [&](const Options& options) { return launch(config, entry, &p, tensors,
//                            options); }});
//   fmt::print("{}\n", verdict.sentence());
//   return verdict.good() ? 0 : 1;
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {

/// Changes when the loom's rules do.
inline constexpr uint32_t model_version = 2;

/// What is checked: a launch that can be repeated, with the same inputs each time.
struct Subject {
  std::string what = {};  ///< kernel, shape and configuration, as the verdict names them
  std::function<Outcome(const Options&)> launch = {};
  /// After a launch without findings: "", or what is wrong with the result.
  std::function<std::string()> wrong = {};
};

/// Where an exploration stands. It can be written down and gone on from.
struct Exploration {
  uint64_t done = 0;                                 ///< schedules tried
  uint64_t next_fixed = 0;                           ///< of the schedules that are tried first
  uint64_t next_seed = 1;                            ///< of the random ones
  std::vector<std::vector<Decision>> frontier = {};  ///< decisions to be tried, in this order
  uint64_t dropped = 0;                              ///< decisions beyond the bound on their number
  bool turn = false;                                 ///< a random schedule is next

  std::string to_json() const;
  static Result<Exploration> from_json(std::string_view text);
};

struct CheckOptions {
  Options run = {};          ///< `check` is set
  bool explore = false;      ///< tries schedules even where one run speaks for all
  uint64_t schedules = 256;  ///< at most
  uint32_t deviations = 2;   ///< how many decisions against the usual course a schedule makes
  double seconds = 0;        ///< no new schedule after so long; 0: no limit
  Exploration from = {};     ///< goes on from there
  std::function<void(const Exploration&)> progress = {};  ///< after each schedule
};

struct Verdict {
  enum class Kind : uint8_t {
    holds,       ///< on every schedule of this launch
    none_found,  ///< in the schedules tried; the run depends on the schedule
    fails,       ///< `report` says how
    wrong,       ///< no finding, and `wrong` says what is not right
  };
  Kind kind = Kind::holds;
  std::string what = {};
  Report report = {};
  std::string wrong_result = {};
  Schedule schedule = {};          ///< the shortest found that fails
  std::vector<Point> points = {};  ///< what the run depends on, each place once
  uint64_t suppressed = 0;         ///< findings let pass
  Exploration exploration = {};
  bool exhausted = false;  ///< nothing is left of the frontier

  bool good() const { return kind == Kind::holds || kind == Kind::none_found; }
  std::string sentence() const;
};

Verdict check(const Subject& subject, const CheckOptions& options = {});

}  // namespace warploom::loom
