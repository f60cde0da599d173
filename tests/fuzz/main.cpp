// The differential fuzzer as a program of its own, and the main of its tests.
//
//   build/tests/test_fuzz --domain atomics --seconds 60 --shrink
//   build/tests/test_fuzz --programs 30000                  every domain
//   build/tests/test_fuzz --domain tests --replay 4711      one program, as text, and what becomes of it
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "fuzz/differential.hpp"

namespace {

using namespace warploom::loom;
using namespace warploom::loom::fuzz;

struct Arguments {
  std::vector<Domain> domains;
  double seconds = 0;
  uint64_t programs = 0;
  uint64_t seed = 1;
  bool shrinks = false;
  uint64_t most_shown = 20;
  std::optional<uint64_t> replay;
  Trial trial;
};

constexpr const char* usage =
    R"(usage: test_fuzz [--domain NAME]... [--seconds S] [--programs N] [--seed FIRST] [--shrink] [--replay SEED]
                 [--first SCHEDULE] [--seeds N] [--show N] [--without RULE]...
                 [--ignore-memory-at-end]

Random kernels, each run under the checker on one schedule and, where that says that it holds on all, on others.
  --domain NAME      lanes, clusters, tensor-memory, wgmma, global, atomics, tests, registers, launch-control,
                     dependents; all of them unless given
  --seconds S        for each domain
  --programs N       of each domain (1000 unless --seconds is given)
  --seed FIRST       the first program's; they count up from there (1)
  --shrink           make refuted programs as small as they go, and show each kind once
  --replay SEED      show this program of the domain and what becomes of it
  --first SCHEDULE   the schedule that stands for all (eager)
  --seeds N          random schedules that it is held against (4)
  --show N           refutations that are printed (20)
  --without RULE     as if the checker had no findings of this code, or took this operation for no point
                     (`points`: none for one)
  --ignore-memory-at-end   global memory may end with other values where nobody reads them
Exit status: 0, or 1 where something was refuted. Other arguments are GoogleTest's.
)";

/// Of this process alone: a busy machine makes it no slower.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

[[noreturn]] void refuse(const std::string& what) {
  fmt::print(stderr, "test_fuzz: {}\n{}", what, usage);
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  const auto number = [](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0) || value > 1e18)
      refuse(fmt::format("'{}' is not a number", text));
    return value;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--shrink") {
      arguments.shrinks = true;
      continue;
    }
    if (option == "--ignore-memory-at-end") {
      arguments.trial.memory_at_end = false;
      continue;
    }
    if (option == "--help") {
      fmt::print("{}", usage);
      std::exit(0);
    }
    if (i + 1 == argc) refuse(fmt::format("'{}' is no option, or its value is missing", option));
    const std::string value = argv[++i];
    if (option == "--domain") {
      const uint32_t domain = parse_domain(value);
      if (domain == domain_count) refuse(fmt::format("there is no domain '{}'", value));
      arguments.domains.push_back(static_cast<Domain>(domain));
    } else if (option == "--seconds") {
      arguments.seconds = number(value);
    } else if (option == "--programs") {
      arguments.programs = static_cast<uint64_t>(number(value));
    } else if (option == "--seed") {
      arguments.seed = static_cast<uint64_t>(number(value));
    } else if (option == "--replay") {
      arguments.replay = static_cast<uint64_t>(number(value));
    } else if (option == "--seeds") {
      arguments.trial.seeds = static_cast<uint32_t>(number(value));
    } else if (option == "--without") {
      arguments.trial.without.push_back(value);
    } else if (option == "--show") {
      arguments.most_shown = static_cast<uint64_t>(number(value));
    } else if (option == "--first") {
      const auto schedule = Schedule::parse(value);
      if (!schedule) refuse(schedule.error());
      arguments.trial.first = *schedule;
    } else {
      refuse(fmt::format("'{}' is no option", option));
    }
  }
  if (arguments.domains.empty())
    for (uint32_t d = 0; d < domain_count; ++d) arguments.domains.push_back(static_cast<Domain>(d));
  if (arguments.programs == 0) arguments.programs = arguments.seconds > 0 ? ~uint64_t{0} : 1000;
  return arguments;
}

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"holds", "depends on the schedule", "reported", "REFUTED", "CRASHED"};
  return names[static_cast<int>(kind)];
}

int replay(const Arguments& arguments) {
  int status = 0;
  for (const Domain domain : arguments.domains) {
    Refutation refutation{generate(domain, *arguments.replay), {}, *arguments.replay};
    refutation.judgement = judge(refutation.program, arguments.trial);
    const Kind kind = refutation.judgement.kind;
    fmt::print("{}-- {} {}\n", to_text(refutation.program), name_of(kind), refutation.judgement.how);
    if (kind != Kind::refuted && kind != Kind::crashed) continue;
    status = 1;
    if (arguments.shrinks) {
      refutation.program = shrink(refutation.program, arguments.trial);
      refutation.judgement = judge(refutation.program, arguments.trial);
    }
    fmt::print("{}", to_text(refutation));
  }
  return status;
}

int fuzz_all(const Arguments& arguments) {
  fmt::print("{:<15} {:>9} {:>9} {:>6} {:>9} {:>9} {:>8} {:>8} {:>7}\n", "domain", "programs", "holds", "", "points",
             "reported", "refuted", "crashed", "per s");
  std::map<std::string, std::pair<uint64_t, Refutation>> kinds;
  std::vector<Refutation> shown;
  Tally all;
  for (const Domain domain : arguments.domains) {
    Tally tally;
    const double begin = now();
    double shrinking = 0;
    for (uint64_t i = 0; i < arguments.programs; ++i) {
      if (arguments.seconds > 0 && now() - begin - shrinking > arguments.seconds) break;
      const uint64_t seed = arguments.seed + i;
      Refutation refutation{generate(domain, seed), {}, seed};
      refutation.judgement = judge(refutation.program, arguments.trial);
      ++tally.programs;
      switch (refutation.judgement.kind) {
        case Kind::holds: ++tally.holds; continue;
        case Kind::points: ++tally.points; continue;
        case Kind::finding:
          ++tally.findings;
          ++tally.codes[refutation.judgement.how];
          continue;
        case Kind::refuted: ++tally.refuted; break;
        case Kind::crashed: ++tally.crashed; break;
      }
      const double then = now();
      if (arguments.shrinks) {
        refutation.program = shrink(refutation.program, arguments.trial);
        refutation.judgement = judge(refutation.program, arguments.trial);
        const auto [known, fresh] = kinds.try_emplace(signature(refutation), 0, refutation);
        ++known->second.first;
        if (!fresh && refutation.program.steps() < known->second.second.program.steps())
          known->second.second = refutation;
      } else if (shown.size() < arguments.most_shown) {
        shown.push_back(refutation);
      }
      shrinking += now() - then;
    }
    tally.seconds = now() - begin - shrinking;
    fmt::print("{:<15} {:>9} {:>9} {:>5.1f}% {:>9} {:>9} {:>8} {:>8} {:>7.0f}\n", to_string(domain), tally.programs,
               tally.holds,
               100.0 * static_cast<double>(tally.holds) / static_cast<double>(std::max<uint64_t>(1, tally.programs)),
               tally.points, tally.findings, tally.refuted, tally.crashed,
               static_cast<double>(tally.programs) / tally.seconds);
    std::fflush(stdout);
    if (std::getenv("WARPLOOM_FUZZ_CODES") != nullptr)
      for (const auto& [code, times] : tally.codes) fmt::print("    {:<18} {}\n", code, times);
    all.programs += tally.programs;
    all.holds += tally.holds;
    all.points += tally.points;
    all.findings += tally.findings;
    all.refuted += tally.refuted;
    all.crashed += tally.crashed;
    all.seconds += tally.seconds;
  }
  fmt::print("{:<15} {:>9} {:>9} {:>5.1f}% {:>9} {:>9} {:>8} {:>8} {:>7.0f}\n", "all", all.programs, all.holds,
             100.0 * static_cast<double>(all.holds) / static_cast<double>(std::max<uint64_t>(1, all.programs)),
             all.points, all.findings, all.refuted, all.crashed, static_cast<double>(all.programs) / all.seconds);
  uint64_t printed = 0;
  for (const auto& [text, kind] : kinds) {
    if (printed++ == arguments.most_shown) break;
    fmt::print("\n{} x {}\n{}", kind.first, text, to_text(kind.second));
  }
  for (const Refutation& refutation : shown) fmt::print("\n{}", to_text(refutation));
  return all.refuted + all.crashed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // A launch takes memory and gives it back; it need not go back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  const bool tests = argc == 1 || std::strncmp(argv[1], "--gtest", 7) == 0;
  if (tests) {
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  const Arguments arguments = parse(argc, argv);
  return arguments.replay ? replay(arguments) : fuzz_all(arguments);
}
