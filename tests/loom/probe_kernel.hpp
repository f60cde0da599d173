// Small kernels on the loom's arch layer, launched from a test: a captureless lambda is the kernel.
//
//   rule({.threads = 64}, [](bool buggy) { ...; if (buggy) OFFENDING(mbarrier_arrive(full)); },
//        {"ARRIVE-OVERFLOW", {"ring.full[0]"}});
//
// runs the kernel under every policy, twice: the buggy form must be reported with that code, those words and the line
// of OFFENDING; the correct form must run clean.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "loom/units/tma.hpp"
#include "warploom/arch/annotate.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/arch/umma.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::loom::probe {

using namespace warploom::arch;

/// The source line of the operation a test expects to see reported.
inline std::atomic<uint32_t> offending_line{0};

// The empty statement after the call, different in each line, keeps compilers from merging two calls into one.
#define OFFENDING(...)                                  \
  do {                                                  \
    ::warploom::loom::probe::offending_line = __LINE__; \
    __VA_ARGS__;                                        \
    asm volatile("" ::"i"(__LINE__));                   \
  } while (false)

/// The same for tests that speak of several lines: `line` is a static Line of the test.
#define AT_LINE(line, ...)            \
  do {                                \
    line = __LINE__;                  \
    __VA_ARGS__;                      \
    asm volatile("" ::"i"(__LINE__)); \
  } while (false)

using Line = std::atomic<uint32_t>;

struct Launch {
  Dim3 grid{};
  Dim3 cluster{};
  uint32_t threads = 32;
  size_t shared_bytes = 8192;
  std::vector<TensorRef> tensors{};
  bool launch_control = false;
  bool talks_across_clusters = false;
  const char* file = __builtin_FILE();  ///< of the test
};

inline LaunchConfig config_of(const Launch& launch) {
  return {.kernel = "probe",
          .grid = launch.grid,
          .cluster = launch.cluster,
          .threads = launch.threads,
          .shared_bytes = launch.shared_bytes,
          .launch_control = launch.launch_control,
          .talks_across_clusters = launch.talks_across_clusters};
}

/// The kernel is inlined here, and the empty statement keeps its last operation from being a tail call: either would
/// leave no return address in the kernel.
template <class Kernel, class Params>
void entry(const void* params) {
#if defined(__clang__)
  [[clang::always_inline]] Kernel{}(*static_cast<const Params*>(params));
#else
  Kernel{}(*static_cast<const Params*>(params));
#endif
  asm volatile("" ::: "memory");
}

/// Runs kernel(params) in every thread.
template <class Kernel, class Params>
Outcome run(const Launch& launch, Kernel, const Params& params, const Options& options = {}) {
  return ::warploom::loom::launch(config_of(launch), &entry<Kernel, Params>, &params, launch.tensors, options);
}

/// Policies, a few seeds of each kind of choice, and each CTA held back in turn.
inline std::vector<Schedule> schedules(const Launch& launch = {}) {
  std::vector<Schedule> list{{Policy::eager}, {Policy::lazy}, {Policy::adversarial}};
  for (uint64_t seed = 1; seed <= 4; ++seed) list.push_back({Policy::random, seed});
  list.push_back({Policy::lazy, 5});
  list.push_back({Policy::adversarial, 6});
  const int ctas = static_cast<int>(launch.cluster.count());
  for (int skew = 0; ctas > 1 && skew < ctas; ++skew) list.push_back({Policy::random, 7, skew});
  return list;
}

inline Options with(const Schedule& schedule) {
  Options options;
  options.schedule = schedule;
  return options;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline std::string file_name(std::string_view path) { return std::string(path.substr(path.find_last_of('/') + 1)); }

struct Expected {
  const char* code;
  std::vector<const char*> words{};  ///< of the message
  bool located = true;               ///< at the line of OFFENDING
};

inline void expect_finding(const Outcome& outcome, const Launch& launch, const Expected& expected) {
  ASSERT_EQ(outcome.report.findings.size(), 1u) << "no finding; expected " << expected.code;
  const Finding& finding = outcome.report.findings.front();
  EXPECT_EQ(finding.code, expected.code) << to_text(outcome.report);
  for (const char* word : expected.words)
    EXPECT_TRUE(contains(finding.message, word)) << "\"" << word << "\" is not in: " << finding.message;
  if (!expected.located) return;
  EXPECT_EQ(finding.at.user.line, offending_line.load()) << to_text(outcome.report);
  EXPECT_EQ(file_name(finding.at.user.file), file_name(launch.file)) << to_text(outcome.report);
}

inline void expect_clean(const Outcome& outcome) { EXPECT_TRUE(outcome.ok()) << to_text(outcome.report); }

template <class Kernel, class Params>
void always_clean(const Launch& launch, Kernel kernel, const Params& params) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    expect_clean(run(launch, kernel, params, with(schedule)));
  }
}

template <class Kernel, class Params>
void always_found(const Launch& launch, Kernel kernel, const Params& params, const Expected& expected) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    offending_line = 0;
    expect_finding(run(launch, kernel, params, with(schedule)), launch, expected);
  }
}

/// kernel(buggy): reported when true, clean when false, under every schedule.
template <class Kernel>
void rule(const Launch& launch, Kernel kernel, const Expected& expected) {
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, true, expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, false);
}

/// A barrier per stage on each side of a ring called "ring", and room for data.
struct Ring {
  static constexpr const char* name = "ring";
};
struct Words {
  const char* data;
};
struct Signallers {
  static constexpr Words text{"one lane of the producer"};
};
struct Producer {
  static constexpr const char* name = "producer";
};
struct Consumer {
  static constexpr const char* name = "consumer";
};

template <class T>
SharedAddress address(const T& object) {
  return shared_address(&object);
}

/// Thread 0 of each CTA initialises `barriers` with `count`; returns after a barrier of the whole cluster.
template <class Label = Ring, size_t n>
WARPLOOM_FN void init_barriers(Mbarrier (&barriers)[n], uint32_t count, RingSide side = RingSide::full) {
  if (thread_index() == 0) {
    for (Mbarrier& barrier : barriers) mbarrier_init(shared_address(&barrier), count);
    name_barriers<Label, Signallers>(barriers, n, side);
    fence_mbarrier_init();
  }
  cluster_sync();
}

/// A tensor map for the loom; the arguments must be legal.
inline TensorMap make_map(const TensorMapArgs& args) {
  Result<TensorMap> map = encode_tensor_map(args, Chip::sm100);
  if (!map) ADD_FAILURE() << map.error();
  return map ? *map : TensorMap{};
}

}  // namespace warploom::loom::probe
