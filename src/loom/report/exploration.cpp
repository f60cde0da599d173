// Where an exploration stands, as text: what it belongs to, what was tried, what is left, what failed. A file of it is
// taken only by the program that wrote it, for the subject that it was written for.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "loom/report/program.hpp"
#include "types/no_throw.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::loom {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "warploom exploration";
constexpr uint64_t format_version = 3;  // 1 named neither itself nor what it belonged to, 2 had no checksum
constexpr uint64_t most = 1'000'000'000'000;

template <class List>
uint64_t sum(const List& list) {
  return std::accumulate(list.begin(), list.end(), uint64_t{0});
}

/// The last field of the file, with a hash (FNV-1a) of all that stands before it: what somebody else changed is no
/// state of ours.
constexpr std::string_view checksum_field = ",\"checksum\":\"";
std::string checksum_of(std::string_view before) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : before) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{}{:016x}\"}}", checksum_field, hash);
}

std::string text_of(const Suppression& known) { return fmt::format("{}@{}:{}", known.code, known.file, known.line); }

/// Takes members out of a JSON object, and remembers whether all were as they should be.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  bool good = true;

  void operator()(const char* name, uint64_t& to) {
    if (const Json* found = find(name, &Json::is_number_unsigned)) to = found->get<uint64_t>();
  }
  void operator()(const char* name, std::string& to) {
    if (const Json* found = find(name, &Json::is_string)) to = found->get<std::string>();
  }
  void operator()(const char* name, std::vector<uint64_t>& to) {
    for (const Json& one : list(name)) {
      if (one.is_number_unsigned()) to.push_back(one.get<uint64_t>());
      good &= one.is_number_unsigned();
    }
  }
  /// An empty one where there is none.
  const Json& list(const char* name) {
    static const Json none = Json::array();
    const Json* found = find(name, &Json::is_array);
    return found != nullptr ? *found : none;
  }

 private:
  const Json* find(const char* name, bool (Json::*is)() const noexcept) {
    const auto found = json_.is_object() ? json_.find(name) : json_.end();
    if (json_.is_object() && found != json_.end() && ((*found).*is)()) return &*found;
    good = false;
    return nullptr;
  }

  const Json& json_;
};

}  // namespace

std::vector<Part> parts_of(const Subject& subject, const CheckOptions& options) {
  std::vector<Part> parts = subject.parts;
  const auto add = [&](const char* group, const char* name, std::string value) {
    parts.push_back({group, name, std::move(value)});
  };
  const Options& run = options.run;
  add("launch", "subject", subject.what);
  add("mutation", "mutation",
      run.mutation ? fmt::format("{} of {}{}", to_string(run.mutation->kind), run.mutation->site,
                                 run.mutation->only < 0 ? "" : fmt::format(", execution {}", run.mutation->only))
                   : "none");
  std::string suppressed;
  for (const Suppression& known : run.suppressed) suppressed += (suppressed.empty() ? "" : ", ") + text_of(known);
  add("suppression", "suppressed findings", suppressed.empty() ? "none" : suppressed);
  if (run.foreign) add("set of options", "kernel", "foreign: what the manual does not promise is a warning");
  add("schedule", "usual course", run.schedule.text());
  add("set of options", "deviations", fmt::format("{}", options.deviations));
  add("set of options", "processors", fmt::format("{}", run.processors));
  add("set of options", "step limit", fmt::format("{}", run.step_limit));
  add("set of options", "seconds limit", fmt::format("{}", run.seconds_limit));
  add("set of options", "numerics", to_string(run.numerics));
  add("set of options", "modulus", fmt::format("{}", run.ring));
  add("program", "loom model", fmt::format("{}", model_version));
  add("program", "compiler", compiler());
  add("program", "build", program_id());
  return parts;
}

std::string difference(const std::vector<Part>& there, const std::vector<Part>& here) {
  const auto in = [](const std::vector<Part>& list, const Part& part) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Part& other) {
      return other.group == part.group && other.name == part.name;
    });
    return found == list.end() ? std::string("nothing") : found->value;
  };
  // By group: the first that differs is named with all that differs in it.
  std::string group, list;
  const auto compare = [&](const Part& part) {
    const std::string was = in(there, part), is = in(here, part);
    if (was == is || (!group.empty() && group != part.group)) return;
    group = part.group;
    const std::string one = fmt::format("{} {} there, {} here", part.name, was, is);
    if (list.find(one) == std::string::npos) list += (list.empty() ? "" : "; ") + one;
  };
  for (const Part& part : there) compare(part);
  for (const Part& part : here) compare(part);
  return list.empty() ? "" : fmt::format("it belongs to another {}: {}", group, list);
}

std::string Exploration::nonsense() const {
  const std::pair<const char*, uint64_t> numbers[] = {{"done", done},
                                                      {"fixed", fixed},
                                                      {"skipped", skipped},
                                                      {"random", random},
                                                      {"orders", orders},
                                                      {"orders_known", orders_known},
                                                      {"fixed_known", fixed_known}};
  const auto large = [](uint64_t value) { return value > most; };
  if (std::any_of(made.begin(), made.end(), large) || std::any_of(known.begin(), known.end(), large))
    return "it names more decisions than there can be";
  for (const auto& [name, value] : numbers)
    if (value > most) return fmt::format("\"{}\" is {}, more than anybody has tried", name, value);
  if (fixed > fixed_known || skipped > fixed)
    return fmt::format("{} of {} fixed schedules, {} of them skipped, cannot be", fixed, fixed_known, skipped);
  const uint64_t tried = fixed - skipped + random + orders + sum(made);
  if (done != (of.empty() ? 0 : 1 + tried))
    return fmt::format("it says that {} schedules were tried, and its parts add up to {}", done, 1 + tried);
  if (orders > orders_known || made.size() > known.size())
    return "it says that more was tried than there is to be tried";
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i] > known[i]) return "it says that more was tried than there is to be tried";
  if (frontier.size() > sum(known) - sum(made) + orders_known - orders)
    return "it has more decisions left than it knows of";
  return {};
}

std::string Exploration::to_json() const {
  Json parts = Json::array();
  for (const Part& part : of) parts.push_back({part.group, part.name, part.value});
  Json left = Json::array();
  for (const std::vector<Decision>& decisions : frontier) {
    Json one = Json::array();
    for (const Decision& d : decisions) one.push_back({d.cluster, d.point, static_cast<uint32_t>(d.choice), d.order});
    left.push_back(std::move(one));
  }
  Json places = Json::array();
  for (const Point& point : points)
    places.push_back({{"operation", point.operation}, {"file", point.at.user.file}, {"line", point.at.user.line}});
  Json json{{"format", format_name}, {"version", format_version},
            {"of", parts},           {"done", done},
            {"fixed", fixed},        {"fixed_known", fixed_known},
            {"skipped", skipped},    {"random", random},
            {"orders", orders},      {"orders_known", orders_known},
            {"made", made},          {"known", known},
            {"turn", turn},          {"points", places}};
  if (failure) json["failure"] = {{"schedule", failure->schedule}, {"code", failure->code}};
  json["frontier"] = left;
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();  // the brace
  return text + checksum_of(text);
}

namespace {

Result<Exploration> exploration_of(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const Error bad{"the file does not hold the state of an exploration"};
  Reader read(json);
  std::string format;
  uint64_t version = 0;
  read("format", format);
  read("version", version);
  if (!read.good || format != format_name) return bad;
  if (version != format_version)
    return Error{fmt::format("the state of an exploration in version {} of its format; this program reads version {}",
                             version, format_version)};
  Exploration state;
  for (const Json& part : read.list("of")) {
    if (!part.is_array() || part.size() != 3 ||
        !std::all_of(part.begin(), part.end(), [](const Json& one) { return one.is_string(); }))
      return bad;
    state.of.push_back({part[0].get<std::string>(), part[1].get<std::string>(), part[2].get<std::string>()});
  }
  read("done", state.done);
  read("fixed", state.fixed);
  read("fixed_known", state.fixed_known);
  read("skipped", state.skipped);
  read("random", state.random);
  read("orders", state.orders);
  read("orders_known", state.orders_known);
  read("made", state.made);
  read("known", state.known);
  read("turn", state.turn);
  for (const Json& point : read.list("points")) {
    Reader of_point(point);
    Point place;
    uint64_t line = 0;
    of_point("operation", place.operation);
    of_point("file", place.at.user.file);
    of_point("line", line);
    if (!of_point.good || line > ~0u) return bad;
    place.at.user.line = static_cast<uint32_t>(line);
    state.points.push_back(std::move(place));
  }
  for (const Json& one : read.list("frontier")) {
    std::vector<Decision> decisions;
    if (!one.is_array() || one.empty()) return bad;
    for (const Json& d : one) {
      if (!d.is_array() || d.size() != 4 || !std::all_of(d.begin(), d.end(), [](const Json& n) {
            return n.is_number_unsigned() && n.get<uint64_t>() <= ~0u;
          }))
        return bad;
      const auto choice = d[2].get<uint32_t>();
      if (choice == 0 || choice > static_cast<uint32_t>(Choice::order)) return bad;
      decisions.push_back(
          {d[0].get<uint32_t>(), d[1].get<uint32_t>(), static_cast<Choice>(choice), d[3].get<uint32_t>()});
    }
    state.frontier.push_back(std::move(decisions));
  }
  if (json.contains("failure")) {
    Reader of_failure(json["failure"]);
    Exploration::Failure failure;
    of_failure("schedule", failure.schedule);
    of_failure("code", failure.code);
    if (!of_failure.good || !Schedule::parse(failure.schedule)) return bad;
    state.failure = std::move(failure);
  }
  if (!read.good || state.of.empty()) return bad;
  if (std::string sentence = state.nonsense(); !sentence.empty())
    return Error{"the numbers of the file make no sense: " + sentence};
  const size_t end = text.rfind(checksum_field);
  if (end == std::string_view::npos || !text.substr(end).starts_with(checksum_of(text.substr(0, end))))
    return Error{"the file was changed since it was written: its checksum is another"};
  return state;
}

}  // namespace

Result<Exploration> Exploration::from_json(std::string_view text) {
  return no_throw([&] { return exploration_of(text); });
}

}  // namespace warploom::loom
