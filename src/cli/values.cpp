#include "cli/values.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "cli/session.hpp"

namespace warploom::cli {
namespace {

/// Ranges that are narrower than the option's type.
struct Range {
  std::string_view option;
  int64_t least;
  uint64_t most;
};
constexpr Range ranges[] = {
    {"--m", 0, largest_extent},     {"--n", 0, largest_extent},   {"--k", 0, largest_extent},
    {"--batch", 0, largest_extent}, {"--sms", 0, 1'000'000},      {"--splits", 0, 1'000'000},
    {"--workers", 0, 1024},         {"--launches", 1, 1'000'000}, {"--schedules", 1, 1'000'000'000},
    {"--deviations", 0, 1000},
};

template <class Number>
bool read(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

/// The number as the parser is to read it: to that, a zero in front means base 8.
std::string whole(const std::string& option, const std::string& text, int64_t least, uint64_t most) {
  uint64_t value = 0;
  int64_t negative = 0;
  const bool fits = text.starts_with('-')
                        ? read(text, negative) && negative >= least
                        : read(text, value) && value <= most && (least <= 0 || value >= static_cast<uint64_t>(least));
  if (!fits) throw BadValue(fmt::format("{} is a number from {} to {}, not '{}'", option, least, most, text));
  return text.starts_with('-') ? fmt::format("{}", negative) : fmt::format("{}", value);
}

void look_at_real(const std::string& option, const std::string& text) {
  const bool may_be_negative = option == "--alpha" || option == "--beta";
  char* stop = nullptr;
  const double value = std::strtod(text.c_str(), &stop);
  const bool number = text.find_first_not_of("+-.0123456789eE") == std::string::npos && *stop == '\0';
  if (!number || !std::isfinite(value) || std::abs(value) > FLT_MAX || (value < 0 && !may_be_negative))
    throw BadValue(
        fmt::format("{} is a {}, not '{}'", option, may_be_negative ? "finite number" : "number of at least 0", text));
  const bool is_zero = text.find_first_of("123456789") >= text.find_first_of("eE");
  if (may_be_negative && !is_zero && static_cast<float>(value) == 0)
    throw BadValue(fmt::format("{} is a number of fp32, where '{}' would be 0", option, text));
}

}  // namespace

void be_strict(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name(), type = option->get_type_name();
    if (type.empty()) continue;  // a flag
    int64_t least = type.starts_with("UINT") ? 0 : std::numeric_limits<int32_t>::min();
    uint64_t most =
        type.starts_with("UINT") ? std::numeric_limits<uint64_t>::max() : std::numeric_limits<int32_t>::max();
    for (const Range& range : ranges)
      if (name == range.option) {
        least = range.least;
        most = range.most;
      }
    const bool is_whole = type.starts_with("INT") || type.starts_with("UINT"), real = type.starts_with("FLOAT");
    option->transform([=](const std::string& text) {
      // What follows `--m $UNSET` is the next option.
      if (text.empty() || text.starts_with("--")) throw BadValue(fmt::format("{} is given without a value", name));
      if (real) look_at_real(name, text);
      return is_whole ? whole(name, text, least, most) : text;
    });
  }
}

void refuse_odd_values(const CLI::App& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (word == "--") return;
    if (!word.starts_with("--") || equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && option->get_type_name().empty()) throw BadValue(fmt::format("{} takes no value", name));
    if (equals == word.size() - 1) throw BadValue(fmt::format("{} is given without a value", name));
  }
}

}  // namespace warploom::cli
