// Schedules and alterations as text: what a report prints is what the command line takes.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {
namespace {

constexpr std::array kPolicies{Policy::eager, Policy::lazy, Policy::random, Policy::adversarial};
constexpr int kLargestRank = 15;  // the largest cluster of the chips has 16 CTAs

template <class T>
bool read_all(std::string_view text, T& value, int base) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, base);
  return !text.empty() && text.front() != '-' && error == std::errc{} && stop == end;
}

Error refuse(std::string_view text) {
  return {
      fmt::format("schedule \"{}\" is not of the form policy[:seed][:skew=cta] with policy eager, lazy, random or "
                  "adversarial, seed in at most 16 hex digits and cta a rank from 0 to {}, such as random:7f3a or "
                  "lazy:0:skew=1",
                  text, kLargestRank)};
}

}  // namespace

const char* to_string(Policy policy) {
  switch (policy) {
    case Policy::eager: return "eager";
    case Policy::lazy: return "lazy";
    case Policy::random: return "random";
    case Policy::adversarial: return "adversarial";
  }
  return "?";
}

const char* to_string(Alteration alteration) {
  switch (alteration) {
    case Alteration::drop: return "drop";
    case Alteration::twice: return "twice";
    case Alteration::count_plus: return "count+1";
    case Alteration::count_minus: return "count-1";
    case Alteration::bytes_plus: return "bytes+16";
    case Alteration::bytes_minus: return "bytes-16";
    case Alteration::flip_parity: return "flip-parity";
    case Alteration::wrong_stage: return "wrong-stage";
  }
  return "?";
}

/// Seed 0 is left out, unless a skew follows.
std::string Schedule::text() const {
  std::string text = to_string(policy);
  if (seed != 0 || skew >= 0) text += fmt::format(":{:x}", seed);
  if (skew >= 0) text += fmt::format(":skew={}", skew);
  return text;
}

Result<Schedule> Schedule::parse(std::string_view text) {
  Schedule schedule;
  std::string_view rest = text;
  const auto next = [&rest] {
    const size_t colon = rest.find(':');
    const std::string_view field = rest.substr(0, colon);
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon);
    return field;
  };

  const std::string_view name = next();
  bool known = false;
  for (const Policy policy : kPolicies) {
    if (name != to_string(policy)) continue;
    schedule.policy = policy;
    known = true;
  }
  if (!known) return refuse(text);

  constexpr std::string_view kSkew = ":skew=";
  if (!rest.empty() && !rest.starts_with(kSkew)) {
    rest.remove_prefix(1);
    if (!read_all(next(), schedule.seed, 16)) return refuse(text);
  }
  if (!rest.empty()) {
    if (!rest.starts_with(kSkew) || !read_all(rest.substr(kSkew.size()), schedule.skew, 10)) return refuse(text);
    if (schedule.skew > kLargestRank) return refuse(text);
  }
  return schedule;
}

}  // namespace warploom::loom
