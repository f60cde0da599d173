// Schedules and mutations as text: what a report prints is what the command line takes.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "types/no_throw.hpp"
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
  return {fmt::format(
      "schedule \"{}\" is not of the form policy[:seed][:skew=cta][:faults=names][:hold=points][:refuse=points]"
      "[:deny=points][:order=points] with policy eager, lazy, random or adversarial, seed in at most 16 hex digits, "
      "cta "
      "a rank from 0 to {}, faults clc, timeout, multicast and test, and points as cluster.point, of order "
      "cluster.point.number, such as random:7f3a, lazy:0:skew=1 or eager:hold=0.3,0.7",
      text, kLargestRank)};
}

/// Calls `take` with each part between commas; false once it, or an empty part, says so.
template <class Take>
bool each_part(std::string_view list, Take&& take) {
  for (;;) {
    const size_t comma = list.find(',');
    if (!take(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

bool read_faults(std::string_view list, Schedule& schedule) {
  return each_part(list, [&](std::string_view name) {
    for (const Fault fault : all_faults) {
      if (name != to_string(fault) || schedule.has(fault)) continue;
      schedule.add(fault);
      return true;
    }
    return false;
  });
}

bool read_points(std::string_view list, Choice choice, Schedule& schedule) {
  return each_part(list, [&](std::string_view part) {
    Decision decision{.choice = choice};
    const auto number = [&](uint32_t& to, bool last) {
      const size_t dot = last ? std::string_view::npos : part.find('.');
      if (!last && dot == std::string_view::npos) return false;
      const std::string_view digits = part.substr(0, dot);
      part.remove_prefix(last ? part.size() : dot + 1);
      return read_all(digits, to, 10);
    };
    const bool ordered = choice == Choice::order;
    if (!number(decision.cluster, false) || !number(decision.point, !ordered)) return false;
    if (ordered && !number(decision.order, true)) return false;
    schedule.decisions.push_back(decision);
    return true;
  });
}

std::string points_text(const std::vector<Decision>& decisions, Choice choice, const char* name) {
  std::string text;
  for (const Decision& decision : decisions)
    if (decision.choice == choice) {
      text += fmt::format("{}{}.{}", text.empty() ? name : ",", decision.cluster, decision.point);
      if (choice == Choice::order) text += fmt::format(".{}", decision.order);
    }
  return text;
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

const char* to_string(MutationKind kind) {
  switch (kind) {
    case MutationKind::drop: return "drop";
    case MutationKind::twice: return "twice";
    case MutationKind::count_plus: return "count+1";
    case MutationKind::count_minus: return "count-1";
    case MutationKind::bytes_plus: return "bytes+16";
    case MutationKind::bytes_minus: return "bytes-16";
    case MutationKind::flip_parity: return "flip-parity";
    case MutationKind::wrong_stage: return "wrong-stage";
  }
  return "?";
}

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::clc: return "clc";
    case Fault::timeout: return "timeout";
    case Fault::multicast: return "multicast";
    case Fault::test: return "test";
  }
  return "?";
}

/// Seed 0 is left out, unless a skew follows.
std::string Schedule::text() const {
  std::string text = to_string(policy);
  if (seed != 0 || skew >= 0) text += fmt::format(":{:x}", seed);
  if (skew >= 0) text += fmt::format(":skew={}", skew);
  const char* before = ":faults=";
  for (const Fault fault : all_faults) {
    if (!has(fault)) continue;
    text += fmt::format("{}{}", before, to_string(fault));
    before = ",";
  }
  text += points_text(decisions, Choice::hold, ":hold=");
  text += points_text(decisions, Choice::refuse, ":refuse=");
  text += points_text(decisions, Choice::deny, ":deny=");
  return text + points_text(decisions, Choice::order, ":order=");
}

namespace {

Result<Schedule> schedule_of(std::string_view text) {
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

  // Each part at most once, in this order.
  if (!rest.empty() && rest.substr(1, rest.find(':', 1) - 1).find('=') == std::string_view::npos) {
    rest.remove_prefix(1);
    if (!read_all(next(), schedule.seed, 16)) return refuse(text);
  }
  const auto part = [&](std::string_view label, auto&& read) {
    if (!rest.starts_with(label)) return true;
    rest.remove_prefix(label.size());
    return read(next());
  };
  const bool good =
      part(":skew=",
           [&](std::string_view rank) { return read_all(rank, schedule.skew, 10) && schedule.skew <= kLargestRank; }) &&
      part(":faults=", [&](std::string_view list) { return read_faults(list, schedule); }) &&
      part(":hold=", [&](std::string_view list) { return read_points(list, Choice::hold, schedule); }) &&
      part(":refuse=", [&](std::string_view list) { return read_points(list, Choice::refuse, schedule); }) &&
      part(":deny=", [&](std::string_view list) { return read_points(list, Choice::deny, schedule); }) &&
      part(":order=", [&](std::string_view list) { return read_points(list, Choice::order, schedule); });
  if (!good || !rest.empty()) return refuse(text);
  return schedule;
}

Result<Suppression> suppression_of(std::string_view text) {
  const size_t at = text.find('@');
  Suppression known{.code = std::string(text.substr(0, at))};
  bool good =
      !known.code.empty() && known.code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string::npos;
  if (good && at != std::string_view::npos) {
    const std::string_view place = text.substr(at + 1);
    const size_t colon = place.rfind(':');
    known.file = std::string(place.substr(0, colon));
    good = !known.file.empty() &&
           (colon == std::string_view::npos || (read_all(place.substr(colon + 1), known.line, 10) && known.line != 0));
  }
  if (!good)
    return Error{
        fmt::format("\"{}\" names no finding; CODE, CODE@file or CODE@file:line does, such as "
                    "RACE-SMEM@kernels/mine.hpp:88",
                    text)};
  return known;
}

}  // namespace

Result<Schedule> Schedule::parse(std::string_view text) {
  return no_throw([&] { return schedule_of(text); });
}

Result<Suppression> Suppression::parse(std::string_view text) {
  return no_throw([&] { return suppression_of(text); });
}

bool Suppression::matches(const Location& at) const {
  const auto is = [&](const SourceLine& place) {
    if (line != 0 && place.line != line) return false;
    if (!place.file.ends_with(file)) return false;
    const size_t rest = place.file.size() - file.size();
    return rest == 0 || file.empty() || place.file[rest - 1] == '/';
  };
  return is(at.user) || is(at.library);
}

}  // namespace warploom::loom
