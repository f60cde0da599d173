// What the program says: results on standard output, errors in one sentence, JSON, how far a long run is, and the exit
// code that goes with each (docs/program.md). Nobody else prints.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "types/no_throw.hpp"
#include "warploom/types/result.hpp"

namespace warploom::cli {

using Json = nlohmann::ordered_json;

/// Of every JSON document that the program prints (docs/json.md). It changes when a field goes away or means another
/// thing, and not when one is added.
inline constexpr int json_schema = 1;

enum Exit : int {
  right = 0,
  finding = 1,       ///< or a wrong result
  bad_input = 2,     ///< another command line or file would do
  could_not = 3,     ///< memory, threads, a disk or a pipe did not do what was needed
  interrupted = 128  ///< and the number of the signal
};

/// Why a command ends early.
struct Trouble {
  std::string sentence = {};  ///< "": there is none
  Exit exit = bad_input;

  explicit operator bool() const { return !sentence.empty(); }
};

/// Standard output cannot be written. Caught in main.
struct OutputFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// To standard output, in ASCII where the locale is not UTF-8; throws OutputFailed.
void put(std::string_view text);
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  put(fmt::format(format, std::forward<Values>(values)...));
}
/// What was put so far has arrived; throws OutputFailed.
void flush();
/// One document: the schema, then these fields. ASCII alone, whatever bytes its strings have.
void put_json(const Json& fields, int indent = 2);
/// A line on standard error behind "warploom: ".
void remark(std::string_view sentence);

/// The one place where errors are told: as a sentence on standard error, or as JSON on standard output. Returns the
/// exit code.
int fail(const Trouble& trouble, bool json, int signal = 0);
inline int bad(const std::string& sentence, bool json) { return fail({sentence, bad_input}, json); }
/// Another command line helps against some errors of the library, and another machine against others.
constexpr Exit exit_for(ErrorCode code) {
  const bool machine = code == ErrorCode::out_of_memory || code == ErrorCode::no_threads ||
                       code == ErrorCode::device_failed || code == ErrorCode::internal;
  return machine ? could_not : bad_input;
}
template <class T>
int bad(const Result<T>& result, bool json) {
  return fail({result.error(), exit_for(result.code())}, json);
}
/// Of a launch that was refused; there may have been no memory to say why.
template <class Outcome>
Error why_refused(const Outcome& outcome) {
  const auto& findings = outcome.report.findings;
  return {findings.empty() ? out_of_memory_sentence : findings.front().message, outcome.refusal};
}
template <class Outcome>
int refused(const Outcome& outcome, bool json) {
  const Error why = why_refused(outcome);
  return fail({why.message, exit_for(why.code)}, json);
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A line on the terminal that says how far a long run is; nothing where standard error is none, or in the first
/// second.
class Progress {
 public:
  Progress() = default;
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "12 of 40 clusters"; from any thread.
  void show(uint64_t done, uint64_t total, std::string_view what);
  void clear();

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  size_t width_ = 0;  ///< of what stands there
};

/// "a", "a and b", "a, b and c".
std::string in_words(const std::vector<std::string>& list);

}  // namespace warploom::cli
