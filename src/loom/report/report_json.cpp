// A report as JSON for programs. It is written as it goes: a tree of it, as nlohmann's, needs memory to be destroyed,
// and a report may be what is made when there is none.
#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json.hpp>
#include <string_view>

#include "types/no_throw.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::loom {
namespace {

class Writer {
 public:
  void value(const Report& report) {
    object("format", 1, "kernel", report.kernel, "cluster", report.cluster, "clean", report.clean(), "findings",
           report.findings, "waiting", report.waiting, "schedule", report.schedule, "mutation", report.mutation,
           "warnings", report.warnings);
  }
  std::string take() { return std::move(text_); }

 private:
  void value(const SourceLine& at) { object("file", at.file, "line", at.line, "function", at.function); }
  void value(const Location& at) { object("user", at.user, "library", at.library); }
  void value(const Agents& who) {
    object("cta", who.cta, "first_warp", who.first_warp, "last_warp", who.last_warp, "lanes", who.lanes, "role",
           who.role);
  }
  void value(const Contribution& c) {
    object("kind", to_string(c.kind), "agents", c.agents, "at", c.at, "times", c.times, "arrivals", c.arrivals, "bytes",
           c.bytes);
  }
  void value(const FindingSide& side) { object("what", side.what, "agent", side.agent, "at", side.at); }
  void value(const Finding& finding) {
    object("code", finding.code, "message", finding.message, "agent", finding.agent, "at", finding.at, "notes",
           finding.notes, "sides", finding.sides, "severity", to_string(finding.severity), "clause", finding.clause,
           "times", finding.times);
  }
  void value(const Waiter& w) {
    object("kind", to_string(w.kind), "agents", w.agents, "at", w.at, "object", w.object, "owner", w.owner, "phase",
           w.phase, "current", w.current, "arrived", w.arrived, "expected", w.expected, "bytes_armed", w.bytes_armed,
           "bytes_landed", w.bytes_landed, "signalled_by", w.signalled_by, "contributions", w.contributions, "previous",
           w.previous, "causes", w.causes);
  }

  void value(std::integral auto number) { text_ += fmt::format("{}", number); }  // a bool is true or false
  void value(const char* text) { value(std::string(text)); }
  void value(const std::string& text) {
    // A name with broken UTF-8 must not cost the user the report.
    using Json = nlohmann::json;
    text_ += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  template <class T>
  void value(const std::vector<T>& list) {
    begin('[');
    for (const T& item : list) {
      next();
      value(item);
    }
    end(']');
  }
  template <class... Members>
  void object(const Members&... members) {
    begin('{');
    add(members...);
    end('}');
  }
  template <class T, class... Rest>
  void add(const char* name, const T& of, const Rest&... rest) {
    next();
    text_ += fmt::format("\"{}\": ", name);
    value(of);
    if constexpr (sizeof...(rest) != 0) add(rest...);
  }

  void begin(char bracket) {
    text_ += bracket;
    ++depth_;
    empty_ = true;
  }
  void next() {
    if (!empty_) text_ += ',';
    empty_ = false;
    line();
  }
  void end(char bracket) {
    --depth_;
    if (!empty_) line();
    text_ += bracket;
    empty_ = false;
  }
  void line() {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }

  std::string text_;
  size_t depth_ = 0;
  bool empty_ = true;
};

}  // namespace

std::string to_json(const Report& report) {
  return no_throw<std::string>(
      [&] {
        Writer writer;
        writer.value(report);
        return writer.take();
      },
      [](const Error&) { return std::string(); });
}

}  // namespace warploom::loom
