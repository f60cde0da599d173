#include "cudart/reporter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ptx/program.hpp"
#include "warploom/loom/event.hpp"

namespace warploom::cudart {
namespace {

using Json = nlohmann::ordered_json;

Json list_of(const Dim3& d) { return Json::array({d.x, d.y, d.z}); }

/// The same finding of another launch.
std::string identity_of(const loom::Report& report) {
  std::string text = report.kernel;
  for (const auto* list : {&report.findings, &report.warnings})
    for (const loom::Finding& finding : *list)
      text += fmt::format("\n{} {}:{} {}:{}", finding.code, finding.at.user.file, finding.at.user.line,
                          finding.at.library.file, finding.at.library.line);
  return text;
}

}  // namespace

Reporter::Reporter(const Settings& settings) : settings_(settings) {
  if (!settings.report.empty()) file_ = open(settings.report.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void Reporter::line(const std::string& json) {
  if (file_ < 0) return;
  const std::string text = json + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file_, text.data() + at, text.size() - at);
    if (written <= 0) break;  // whoever reads it finds that the end is missing
    at += static_cast<size_t>(written);
  }
}

void Reporter::say(const std::string& text) const {
  std::fflush(stdout);  // in the order in which it happened
  std::fputs(text.c_str(), stderr);
}

void Reporter::began(uint32_t chip) { line(Json{{"chip", chip}, {"schedule", settings_.schedule.text()}}.dump()); }

void Reporter::compiled(const std::string& kernel, double seconds) {
  if (settings_.verbose)
    say(fmt::format("warploom: translated and compiled {} in {:.1f} s\n", ptx::shown_kernel_name(kernel.c_str()),
                    seconds));
}

void Reporter::ran(const Ran& launch, const loom::Outcome& outcome) {
  ++launches_;
  steps_ += outcome.steps;
  suppressed_ += outcome.suppressed;
  seconds_ += launch.seconds;
  const bool clean = outcome.ok();
  if (settings_.verbose)
    say(fmt::format("warploom: {} <<<{}x{}x{}, {}x{}x{}, {} bytes>>>: {:.3f} s, {} operations{}\n",
                    ptx::shown_kernel_name(launch.kernel.c_str()), launch.grid.x, launch.grid.y, launch.grid.z,
                    launch.block.x, launch.block.y, launch.block.z, launch.shared_bytes, launch.seconds, outcome.steps,
                    clean ? "" : ", a finding"));
  const bool quiet = clean && outcome.report.warnings.empty();
  if (!clean) ++failed_;
  if (!quiet) {
    const std::string identity = identity_of(outcome.report);
    const auto [entry, added] = seen_.try_emplace(identity);
    if (added) {
      order_.push_back(identity);
      entry->second.text = to_text(outcome.report);
    }
    ++entry->second.launches;
  }
  if (file_ < 0) return;
  Json json{{"kernel", launch.kernel},
            {"name", ptx::shown_kernel_name(launch.kernel.c_str())},
            {"ptx", launch.ptx},
            {"grid", list_of(launch.grid)},
            {"block", list_of(launch.block)},
            {"cluster", list_of(launch.cluster)},
            {"shared_bytes", launch.shared_bytes},
            {"seconds", launch.seconds},
            {"compile_seconds", launch.compile_seconds},
            {"steps", outcome.steps},
            {"nominal_cycles", outcome.nominal_cycles},
            {"suppressed", outcome.suppressed},
            {"clean", clean},
            {"refused", outcome.refused},
            {"warnings", outcome.report.warnings.size()}};
  if (!quiet) {
    json["identity"] = identity_of(outcome.report);
    json["text"] = to_text(outcome.report);
    json["report"] = Json::parse(to_json(outcome.report), nullptr, false);
  }
  if (settings_.sites) {
    Json sites = Json::array();
    for (const loom::Site& site : outcome.sites) {
      Json mutations = Json::array();
      for (const loom::MutationKind kind : loom::mutations_of(site.operation)) mutations.push_back(to_string(kind));
      sites.push_back({{"key", site.key()},
                       {"operation", site.operation},
                       {"object", site.object},
                       {"file", site.at.user.file},
                       {"line", site.at.user.line},
                       {"ptx_file", site.at.library.file},
                       {"ptx_line", site.at.library.line},
                       {"executions", site.executions},
                       {"mutations", mutations}});
    }
    json["sites"] = sites;
  }
  if (settings_.timeline)
    json["timeline"] = render_timeline(outcome.events, {.cluster = outcome.report.cluster, .width = 100});
  line(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

void Reporter::trouble(const std::string& sentence) {
  if (!told_.insert(sentence).second) return;
  say(fmt::format("warploom: {}\n", sentence));
  line(Json{{"trouble", sentence}}.dump(-1, ' ', true, Json::error_handler_t::replace));
}

void Reporter::not_translated(const std::string& sentence) {
  if (!told_.insert(sentence).second) return;
  say(fmt::format("warploom: {}\n", sentence));
  line(Json{{"not_translated", sentence}}.dump(-1, ' ', true, Json::error_handler_t::replace));
}

void Reporter::unsupported(const std::string& sentence) {
  say(fmt::format("warploom: {}\n", sentence));
  line(Json{{"unsupported", sentence}}.dump(-1, ' ', true, Json::error_handler_t::replace));
}

void Reporter::end() {
  if (ended_) return;
  ended_ = true;
  line(Json{{"end", true}, {"launches", launches_}, {"failed", failed_}}.dump());
  if (file_ >= 0) return;
  for (const std::string& identity : order_) {
    const Seen& seen = seen_[identity];
    say(seen.text);
    if (seen.launches > 1) say(fmt::format("  ... and so in {} more launches\n", seen.launches - 1));
  }
  if (failed_ > 0 || settings_.verbose)
    say(fmt::format("warploom: {} launches, {} of them with findings; {:.2f} s\n", launches_, failed_, seconds_));
}

}  // namespace warploom::cudart
