// From runs to a verdict: one checked run speaks for all schedules of a launch whose order of events does not depend on
// the schedule; where it does, many schedules are tried (docs/verdict.md).
//
//   Verdict verdict = check({.what = "my gemm, 512x512x1024",
//                            .launch = [&](const Options& o) { return launch(config, entry, &p, tensors, o); }});
//   fmt::print("{}\n", verdict.sentence());
//   return verdict.good() ? 0 : 1;
//
// Grids that depend on each other are one subject:
//
//   .launch = [&](const Options& o) { return combined(launch_dependent(grids, o)); }
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// Changes when the loom's rules do.
inline constexpr uint32_t model_version = 2;

/// Something that a verdict is about, in words: {"problem", "m", "300"}. Two explorations with the same parts are the
/// same one.
struct Part {
  std::string group = {};  ///< "kernel", "problem", "data", ...: what is another one where the values differ
  std::string name = {};
  std::string value = {};

  friend bool operator==(const Part&, const Part&) = default;
};

/// What is checked: a launch that can be repeated, with the same inputs each time.
struct Subject {
  std::string what = {};  ///< kernel, shape and configuration, as the verdict names them
  std::function<Outcome(const Options&)> launch = {};
  /// After a launch without findings: "", or what is wrong with the result.
  std::function<std::string()> wrong = {};
  /// Everything besides `what`, the options and the program itself that another run of the same exploration must share.
  std::vector<Part> parts = {};
};

/// Where an exploration stands. It can be written down and gone on from, by the same program with the same subject.
struct Exploration {
  /// A schedule that failed. Whoever goes on from here runs it again.
  struct Failure {
    std::string schedule = {};
    std::string code = {};
  };

  std::vector<Part> of = {};         ///< what it belongs to; empty: it has not begun
  uint64_t done = 0;                 ///< schedules tried: the usual course, and those that follow
  uint64_t fixed = 0;                ///< ... of the schedules that are tried first: policies, faults, a CTA held back
  uint64_t fixed_known = 0;          ///< how many of these there are
  uint64_t skipped = 0;              ///< of `fixed`, those that the launch cannot have
  uint64_t random = 0;               ///< ... with seeds from 1 on
  uint64_t orders = 0;               ///< ... in which the threads at one object have another order
  uint64_t orders_known = 0;         ///< orders there are, of as many threads
  std::vector<uint64_t> made = {};   ///< [i]: ... with i + 1 decisions against the usual course
  std::vector<uint64_t> known = {};  ///< [i]: how many of these there are, as far as is known
  std::list<std::vector<Decision>> frontier = {};  ///< decisions to be tried, in this order
  uint64_t turn = 0;                               ///< of the frontier and the random schedules
  std::vector<Point> points = {};                  ///< what the runs depended on, each place once
  std::optional<Failure> failure = {};

  std::string to_json() const;
  static Result<Exploration> from_json(std::string_view text);
  /// "" or why the numbers cannot be those of an exploration.
  std::string nonsense() const;
};

struct CheckOptions {
  Options run = {};          ///< `check` is set
  bool explore = false;      ///< tries schedules even where one run speaks for all
  uint64_t schedules = 256;  ///< at most
  uint32_t deviations = 2;   ///< how many decisions against the usual course a schedule makes
  double seconds = 0;        ///< no new schedule after so long; 0: no limit
  Exploration from = {};     ///< goes on from there; refused where it belongs to something else
  std::function<void(const Exploration&)> progress = {};  ///< after each schedule
};

struct Verdict {
  enum class Kind : uint8_t {
    holds,       ///< on every schedule of this launch
    none_found,  ///< in the schedules tried; the run depends on the schedule
    fails,       ///< `report` says how
    wrong,       ///< no finding, and `wrong` says what is not right
    refused,     ///< what was asked for is not possible, as `refusal` says: there is no verdict
  };
  Kind kind = Kind::holds;
  std::string what = {};
  Report report = {};
  std::string wrong_result = {};
  std::string refusal = {};
  ErrorCode refusal_code = ErrorCode::none;  ///< of a refused one
  Schedule schedule = {};                    ///< the shortest found that fails
  std::vector<Point> points = {};            ///< what the run depends on, each place once
  uint64_t suppressed = 0;                   ///< findings let pass
  std::vector<Finding> warnings = {};        ///< of all runs, each place once; only of foreign code
  Exploration exploration = {};
  Launched launched = {};
  uint32_t deviations = 0;  ///< CheckOptions::deviations

  bool good() const { return kind == Kind::holds || kind == Kind::none_found; }
  std::string sentence() const;
  /// What was tried and what was left, in numbers; "" where one run was enough.
  std::string tried() const;
  /// What exploration cannot find here, each in a few words.
  std::vector<std::string> not_covered() const;
};

Verdict check(const Subject& subject, const CheckOptions& options = {});

/// What `check` adds to the subject's parts: options that change a run, and the program.
std::vector<Part> parts_of(const Subject& subject, const CheckOptions& options);
/// "" or in what `there` is not `here`: "it belongs to another problem: m 300 there, 512 here".
std::string difference(const std::vector<Part>& there, const std::vector<Part>& here);

#pragma GCC visibility pop
}  // namespace warploom::loom
