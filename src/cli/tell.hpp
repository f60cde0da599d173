// What the commands say besides their results: errors in a sentence, and how far a long run is.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warploom::cli {

using Json = nlohmann::ordered_json;

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A line on the terminal that says how far a long run is; nothing when the output is not one.
inline auto progress_line() {
  return [start = std::chrono::steady_clock::now()](uint32_t done, uint32_t total) {
    if (isatty(STDERR_FILENO) == 0 || seconds_since(start) < 1.0) return;
    fmt::print(stderr, "\r{} of {} clusters{}", done, total, done == total ? "\r                              \r" : "");
    std::fflush(stderr);
  };
}

/// "a", "a and b", "a, b and c".
inline std::string in_words(const std::vector<std::string>& list) {
  if (list.size() < 2) return list.empty() ? "" : list.front();
  return fmt::format("{} and {}", fmt::join(list.begin(), list.end() - 1, ", "), list.back());
}

inline int bad(const std::string& sentence, bool json) {
  if (json)
    fmt::print("{}\n", Json{{"error", sentence}}.dump());
  else
    fmt::print(stderr, "warploom: {}\n", sentence);
  return 2;
}

}  // namespace warploom::cli
