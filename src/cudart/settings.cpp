#include "cudart/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace warploom::cudart {
namespace {

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class T>
Result<T> number_of(const char* name, T otherwise) {
  const std::string text = value_of(name);
  if (text.empty()) return otherwise;
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return Error{fmt::format("{} is '{}', which is no number", name, text)};
  return value;
}

/// Puts a value where it belongs, and remembers the first sentence.
struct Reader {
  std::string error = {};
  template <class T>
  void operator()(T& to, Result<T> result) {
    if (result)
      to = std::move(*result);
    else if (error.empty())
      error = result.error();
  }
};

Result<loom::MutationKind> kind_named(std::string_view text) {
  using Kind = loom::MutationKind;
  for (const Kind kind : {Kind::drop, Kind::twice, Kind::count_plus, Kind::count_minus, Kind::bytes_plus,
                          Kind::bytes_minus, Kind::flip_parity, Kind::wrong_stage})
    if (text == to_string(kind)) return kind;
  return Error{fmt::format("WARPLOOM_PTX_MUTATION is '{}', which is no mutation", text)};
}

}  // namespace

Result<Settings> Settings::from_environment() {
  Settings s;
  Reader read;
  read(s.chip, number_of<uint32_t>("WARPLOOM_PTX_CHIP", 0));
  read(s.seconds, number_of<double>("WARPLOOM_PTX_SECONDS", s.seconds));
  read(s.workers, number_of<unsigned>("WARPLOOM_PTX_WORKERS", 0));
  read(s.processors, number_of<uint32_t>("WARPLOOM_PTX_SMS", s.processors));
  if (const std::string text = value_of("WARPLOOM_PTX_SCHEDULE"); !text.empty())
    read(s.schedule, loom::Schedule::parse(text));
  if (const std::string text = value_of("WARPLOOM_PTX_NUMERICS"); !text.empty())
    read(s.numerics, loom::parse_numerics(text));
  s.check = value_of("WARPLOOM_PTX_CHECK") == "1";
  s.strict = value_of("WARPLOOM_PTX_STRICT") == "1";
  s.sites = value_of("WARPLOOM_PTX_SITES") == "1";
  s.timeline = value_of("WARPLOOM_PTX_TIMELINE") == "1";
  s.verbose = value_of("WARPLOOM_PTX_VERBOSE") == "1";
  s.report = value_of("WARPLOOM_PTX_REPORT");
  if (const std::string text = value_of("WARPLOOM_PTX_MUTATION"); !text.empty()) {
    loom::Mutation mutation{.site = value_of("WARPLOOM_PTX_MUTATION_SITE")};
    read(mutation.kind, kind_named(text));
    s.mutation = mutation;
    s.mutated_kernel = value_of("WARPLOOM_PTX_MUTATION_KERNEL");
  }
  const std::string list = value_of("WARPLOOM_PTX_SUPPRESS");
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    loom::Suppression one;
    read(one, loom::Suppression::parse(std::string_view(list).substr(at, end - at)));
    s.suppressed.push_back(std::move(one));
    at = end + 1;
  }
  if (s.chip != 0 && s.chip != 90 && s.chip != 100 && read.error.empty())
    read.error = fmt::format("WARPLOOM_PTX_CHIP is 90 or 100, not {}", s.chip);
  if ((s.processors == 0 || s.processors > 1024) && read.error.empty())
    read.error = fmt::format("WARPLOOM_PTX_SMS lies between 1 and 1024, not {}", s.processors);
  if (!read.error.empty()) return Error{read.error};
  return s;
}

}  // namespace warploom::cudart
