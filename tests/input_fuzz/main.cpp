// The fuzzer of inputs as a program of its own, and the main of its tests.
//
//   build/tests/test_input_fuzz --count 25000 --jobs 2            25 000 of each domain
//   build/tests/test_input_fuzz --domain tensors --seed 4711      one input, and what becomes of it
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "input_fuzz/many.hpp"

namespace {

using namespace warploom::test::input_fuzz;

constexpr const char* usage =
    R"(usage: test_input_fuzz [--domain NAME]... [--count N] [--seed FIRST] [--jobs N] [--program FILE]

Random command lines, files and calls of the C functions, each judged by what the documents promise of any input.
  --domain NAME   commands, tensors (files), states (of `check --resume`), c-calls; all of them unless given
  --count N       of each domain (1000; 1 where --seed is given)
  --seed FIRST    the first input's; they count up from there (1)
  --jobs N        processes at a time (one for each core)
  --program FILE  the warploom to try (that of this build)
Exit status: 0, or 1 where a promise was broken. Other arguments are GoogleTest's.
)";

[[noreturn]] void refuse(const std::string& what) {
  fmt::print(stderr, "test_input_fuzz: {}\n{}", what, usage);
  std::exit(2);
}

int fuzz(int argc, char** argv) {
  std::vector<Domain> chosen;
  std::optional<uint64_t> count, seed;
  uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      fmt::print("{}", usage);
      return 0;
    }
    if (i + 1 == argc) refuse(fmt::format("'{}' is no option, or its value is missing", option));
    const std::string value = argv[++i];
    const auto number = [&] {
      char* end = nullptr;
      const uint64_t parsed = std::strtoull(value.c_str(), &end, 10);
      if (value.empty() || *end != '\0' || value[0] == '-') refuse(fmt::format("'{}' is not a number", value));
      return parsed;
    };
    if (option == "--domain") {
      const size_t before = chosen.size();
      for (const Domain domain : domains)
        if (value == to_string(domain)) chosen.push_back(domain);
      if (chosen.size() == before) refuse(fmt::format("there is no domain '{}'", value));
    } else if (option == "--count") {
      count = number();
    } else if (option == "--seed") {
      seed = number();
    } else if (option == "--jobs") {
      jobs = static_cast<uint32_t>(number());
    } else if (option == "--program") {
      warploom::test::program() = value;
    } else {
      refuse(fmt::format("'{}' is no option", option));
    }
  }
  if (chosen.empty()) chosen.assign(std::begin(domains), std::end(domains));
  const uint64_t each = count.value_or(seed ? 1 : 1000);
  uint64_t inputs = 0, broken = 0;
  fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>7}\n", "domain", "inputs", "0", "1", "2", "3",
             "others", "broken", "longest", "per s");
  for (const Domain domain : chosen) {
    const Tally tally = try_many(domain, seed.value_or(1), each, jobs, [](const Judged& judged) {
      fmt::print("BROKEN: {}\n  {}\n", judged.broken, judged.input);
      std::fflush(stdout);
    });
    uint64_t others = 0;
    for (size_t code = 4; code < std::size(tally.codes); ++code) others += tally.codes[code];
    fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7.2f} s {:>7.0f}\n", to_string(domain),
               tally.inputs, tally.codes[0], tally.codes[1], tally.codes[2], tally.codes[3], others, tally.broken,
               tally.longest, static_cast<double>(tally.inputs) / tally.seconds);
    std::fflush(stdout);
    inputs += tally.inputs;
    broken += tally.broken;
  }
  fmt::print("{} inputs, {} broken\n", inputs, broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strncmp(argv[1], "--gtest", 7) != 0) return fuzz(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
