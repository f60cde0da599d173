// A report as text for people. Its form: docs/reports.md.
#include "warploom/loom/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "types/no_throw.hpp"

namespace warploom::loom {

const char* to_string(SignalKind kind) {
  switch (kind) {
    case SignalKind::arrive: return "arrive";
    case SignalKind::expect_tx: return "expect_tx";
    case SignalKind::arrive_expect_tx: return "arrive.expect_tx";
    case SignalKind::complete_tx: return "complete_tx";
    case SignalKind::commit: return "commit";
    case SignalKind::arrive_drop: return "arrive_drop";
  }
  return "?";
}

const char* to_string(Severity severity) { return severity == Severity::warning ? "warning" : "error"; }

const char* to_string(WaitKind kind) {
  switch (kind) {
    case WaitKind::mbarrier: return "mbarrier";
    case WaitKind::named_barrier: return "named_barrier";
    case WaitKind::cluster_barrier: return "cluster_barrier";
    case WaitKind::warp_collective: return "warp_collective";
    case WaitKind::bulk_group: return "bulk_group";
    case WaitKind::tmem_alloc: return "tmem_alloc";
    case WaitKind::wgmma_group: return "wgmma_group";
    case WaitKind::registers: return "registers";
    case WaitKind::grid_dependency: return "grid_dependency";
    case WaitKind::held: return "held";
    case WaitKind::atomic: return "atomic";
  }
  return "?";
}

namespace {

constexpr size_t kWidth = 120;
constexpr size_t kIndent = 2;
constexpr size_t kDetailIndent = 6;

// ---------------------------------------------------------------------------------------------------------- words

std::string lanes_text(uint32_t lanes) {
  if (lanes == 0 || lanes == 0xffffffffu) return {};
  const int first = __builtin_ctz(lanes);
  const int last = 31 - __builtin_clz(lanes);
  if (first == last) return fmt::format(" lane {}", first);
  if (__builtin_popcount(lanes) == last - first + 1) return fmt::format(" lanes {}-{}", first, last);
  return fmt::format(" lanes 0x{:08x}", lanes);
}

/// "warp 0-3", "warp 5 lane 0"
std::string warps_text(const Agents& agents) {
  std::string text = fmt::format("warp {}", agents.first_warp);
  if (agents.last_warp > agents.first_warp) text += fmt::format("-{}", agents.last_warp);
  return text + lanes_text(agents.lanes);
}

/// "cta 0, warp 5 lane 0 mma"
std::string agents_text(const Agents& agents) {
  std::string text = fmt::format("cta {}, {}", agents.cta, warps_text(agents));
  if (!agents.role.empty()) text += ' ' + agents.role;
  return text;
}

std::string line_text(const SourceLine& at) {
  if (!at.file.empty() && at.line != 0) return fmt::format("{}:{}", at.file, at.line);
  return at.function;
}

std::string place_text(const Location& at) {
  std::string text = line_text(at.user);
  if (text.empty()) text = line_text(at.library);
  return text.empty() ? "?" : text;
}

/// The user's line, and in brackets the library frame where it says more.
std::string place_with_library(const Location& at) {
  std::string text = place_text(at);
  const std::string library = line_text(at.library);
  if (library.empty() || library == text) return text;
  text += " (" + library;
  if (library != at.library.function && !at.library.function.empty()) text += ' ' + at.library.function;
  return text + ')';
}

/// Breaks at spaces; lines after the first are indented by `indent`, `text` itself starts where the caller is.
std::string wrap(std::string_view text, size_t column, size_t indent) {
  std::string result;
  while (!text.empty()) {
    size_t end = text.find(' ');
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (!result.empty()) {
      if (column + 1 + word.size() > kWidth) {
        result += '\n' + std::string(indent, ' ');
        column = indent;
      } else {
        result += ' ';
        ++column;
      }
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string bullet(std::string_view mark, std::string_view text, size_t indent) {
  const size_t hang = indent + mark.size();
  return std::string(indent, ' ') + std::string(mark) + wrap(text, hang, hang) + '\n';
}

// ---------------------------------------------------------------------------------------------------------- tables

/// Rows of cells, padded to columns; the columns named in `right` are set flush right.
class Table {
 public:
  void row(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  void right(size_t column) { right_.push_back(column); }
  size_t width() const {
    size_t sum = 0;
    for (const size_t width : widths_) sum += width == 0 ? 0 : width + 2;
    return sum == 0 ? 0 : sum - 2;
  }

  std::string line(size_t index) const {
    std::string text;
    for (size_t i = 0; i < rows_[index].size(); ++i) {
      if (widths_[i] == 0) continue;  // a column nobody filled takes no room
      const std::string& cell = rows_[index][i];
      const std::string gap(widths_[i] - cell.size(), ' ');
      const bool flush_right = std::ranges::find(right_, i) != right_.end();
      text += flush_right ? gap + cell : cell + gap;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  size_t size() const { return rows_.size(); }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
  std::vector<size_t> right_;
};

// ---------------------------------------------------------------------------------------------------------- agents

auto agents_key(const Agents& a) { return std::tie(a.cta, a.role, a.lanes, a.first_warp, a.last_warp); }

/// Neighbouring warps that do the same become one entry.
std::vector<Agents> collapse(std::vector<Agents> agents) {
  std::ranges::sort(agents, [](const Agents& a, const Agents& b) { return agents_key(a) < agents_key(b); });
  std::vector<Agents> result;
  for (const Agents& next : agents) {
    if (!result.empty()) {
      Agents& last = result.back();
      if (last.cta == next.cta && last.role == next.role && last.lanes == next.lanes &&
          next.first_warp <= last.last_warp + 1) {
        last.last_warp = std::max(last.last_warp, next.last_warp);
        continue;
      }
    }
    result.push_back(next);
  }
  std::ranges::sort(result, [](const Agents& a, const Agents& b) {
    return std::tie(a.cta, a.first_warp, a.role, a.lanes) < std::tie(b.cta, b.first_warp, b.role, b.lanes);
  });
  return result;
}

/// Agents that differ only in their CTA share a row: "cta 0-1".
std::vector<std::pair<std::string, Agents>> rows_of(const std::vector<Agents>& agents) {
  std::vector<std::pair<std::vector<uint32_t>, Agents>> rows;
  for (const Agents& next : collapse(agents)) {
    auto same = std::ranges::find_if(rows, [&](const auto& row) {
      Agents here = row.second;
      here.cta = next.cta;
      return agents_key(here) == agents_key(next);
    });
    if (same == rows.end()) same = rows.insert(rows.end(), {{}, next});
    same->first.push_back(next.cta);
  }
  std::vector<std::pair<std::string, Agents>> result;
  for (const auto& [ctas, who] : rows) {
    const bool run = ctas.size() > 1 && ctas.back() - ctas.front() + 1 == ctas.size();
    std::string text = fmt::format("cta {}", ctas.front());
    if (run) text += fmt::format("-{}", ctas.back());
    for (size_t i = 1; !run && i < ctas.size(); ++i) text += fmt::format(",{}", ctas[i]);
    result.emplace_back(std::move(text), who);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------- ledger

/// One contributor to a barrier: what it brought in the phase before and in the current one.
struct Entry {
  const Contribution* who;
  int64_t before = 0;
  int64_t now = 0;
};

bool same_source(const Contribution& a, const Contribution& b) {
  const auto line = [](const SourceLine& at) { return std::tie(at.file, at.line, at.function); };
  return a.kind == b.kind && agents_key(a.agents) == agents_key(b.agents) && line(a.at.user) == line(b.at.user) &&
         line(a.at.library) == line(b.at.library);
}

template <class Amount>
std::vector<Entry> entries(const Waiter& waiter, Amount amount) {
  std::vector<Entry> result;
  const auto add = [&](const std::vector<Contribution>& list, int64_t Entry::* side) {
    for (const Contribution& contribution : list) {
      const int64_t value = amount(contribution);
      if (value == 0) continue;
      auto entry =
          std::ranges::find_if(result, [&](const Entry& known) { return same_source(*known.who, contribution); });
      if (entry == result.end()) entry = result.insert(result.end(), Entry{&contribution});
      (*entry).*side += value;
    }
  };
  add(waiter.previous, &Entry::before);
  add(waiter.contributions, &Entry::now);
  return result;
}

int64_t arrivals(const Contribution& c) { return c.arrivals; }
int64_t armed(const Contribution& c) {
  return c.kind == SignalKind::expect_tx || c.kind == SignalKind::arrive_expect_tx ? c.bytes : 0;
}
int64_t landed(const Contribution& c) {
  return c.kind == SignalKind::expect_tx || c.kind == SignalKind::arrive_expect_tx ? 0 : c.bytes;
}

/// Who brought what: the phase before beside the current one, so that a missing contributor shows as a dash.
std::string ledger(const Waiter& waiter) {
  if (waiter.contributions.empty() && waiter.previous.empty()) return {};
  const bool before = !waiter.previous.empty();
  Table table;
  table.right(1);
  table.right(2);
  const std::string earlier = waiter.current == 0 ? "before" : fmt::format("phase {}", waiter.current - 1);
  table.row({"", before ? earlier : "", fmt::format("phase {}", waiter.current)});
  const auto group = [&](std::string title, const std::vector<Entry>& list, bool with_kind) {
    for (const Entry& entry : list) {
      const auto number = [](int64_t value) { return value == 0 ? std::string("-") : fmt::format("{}", value); };
      table.row({std::exchange(title, ""), before ? number(entry.before) : "", number(entry.now),
                 with_kind ? to_string(entry.who->kind) : "", agents_text(entry.who->agents),
                 place_text(entry.who->at)});
    }
  };
  group("arrivals", entries(waiter, arrivals), true);
  group("bytes armed", entries(waiter, armed), false);
  group("bytes landed", entries(waiter, landed), false);

  std::string text;
  for (size_t i = 0; i < table.size(); ++i) text += std::string(kDetailIndent, ' ') + table.line(i) + '\n';
  return text;
}

// ---------------------------------------------------------------------------------------------------------- waiters

std::string object_text(const Waiter& waiter) {
  std::string text = waiter.object.empty() ? to_string(waiter.kind) : waiter.object;
  const bool elsewhere = !waiter.owner.empty() && std::ranges::any_of(waiter.agents, [&](const Agents& agents) {
    return waiter.owner != fmt::format("cta {}", agents.cta);
  });
  if (elsewhere) text += " of " + waiter.owner;
  return text;
}

std::string phase_text(const Waiter& waiter) {
  const bool counted = waiter.kind == WaitKind::mbarrier || waiter.phase != 0 || waiter.current != 0;
  if (!counted) return {};
  std::string text = fmt::format("phase {}", waiter.phase);
  if (waiter.current != waiter.phase) text += fmt::format(" (is in {})", waiter.current);
  return text;
}

std::string arrived_text(const Waiter& waiter) {
  if (waiter.expected == 0 && waiter.arrived == 0) return {};
  return fmt::format("{}/{} arrived", waiter.arrived, waiter.expected);
}

std::string bytes_text(const Waiter& waiter) {
  if (waiter.bytes_armed == 0 && waiter.bytes_landed == 0) return {};
  return fmt::format("{}/{} bytes landed", waiter.bytes_landed, waiter.bytes_armed);
}

std::string waiting_text(const std::vector<Waiter>& waiting) {
  Table who;    // cta, warps, role, place
  Table state;  // object, phase, arrivals
  std::vector<size_t> counts;
  for (const Waiter& waiter : waiting) {
    const auto rows = rows_of(waiter.agents);
    counts.push_back(std::max<size_t>(rows.size(), 1));
    if (rows.empty()) who.row({"?", "", "", place_text(waiter.at)});
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& [ctas, agents] = rows[i];
      who.row({ctas, warps_text(agents), agents.role, i == 0 ? place_text(waiter.at) : ""});
    }
    state.row({object_text(waiter), phase_text(waiter), arrived_text(waiter)});
  }
  const bool one_line = kIndent + who.width() + 2 + state.width() <= kWidth;
  const size_t state_column = one_line ? kIndent + who.width() + 2 : kDetailIndent;

  std::string text;
  size_t row = 0;
  bool detailed = false;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Waiter& waiter = waiting[i];
    if (detailed) text += '\n';
    std::string line = std::string(kIndent, ' ') + who.line(row);
    if (one_line) {
      line.resize(state_column, ' ');
    } else {
      text += line + '\n';
      line.assign(state_column, ' ');
    }
    line += state.line(i);
    if (const std::string bytes = bytes_text(waiter); !bytes.empty()) {
      const bool fits = line.size() + 2 + bytes.size() <= kWidth;
      line += fits ? ", " + bytes : '\n' + std::string(state_column, ' ') + bytes;
    }
    text += line + '\n';
    for (size_t more = 1; more < counts[i]; ++more) text += std::string(kIndent, ' ') + who.line(row + more) + '\n';
    row += counts[i];

    const size_t size = text.size();
    for (const std::string& cause : waiter.causes) text += bullet("^ ", cause, kDetailIndent);
    if (!waiter.signalled_by.empty()) text += bullet("signalled by ", waiter.signalled_by, kDetailIndent);
    text += ledger(waiter);
    detailed = text.size() != size;
  }
  if (detailed) text += '\n';
  return text;
}

// ---------------------------------------------------------------------------------------------------------- findings

/// A deadlock or a step limit is nobody's in particular, unless the machine named someone.
bool has_place(const Finding& finding) {
  const bool named = finding.agent.cta != 0 || finding.agent.first_warp != 0 || !finding.agent.role.empty() ||
                     (finding.agent.lanes != 0 && finding.agent.lanes != 0xffffffffu);
  const bool placed = !line_text(finding.at.user).empty() || !line_text(finding.at.library).empty();
  const bool of_cluster = finding.code == "DEADLOCK" || finding.code == "STEP-LIMIT";
  return !of_cluster || named || placed;
}

std::string finding_details(const Finding& finding) {
  std::string text;
  // Of two accesses it is said which came first, in this run.
  static constexpr std::string_view accesses[] = {"RACE-SMEM", "RACE-TMEM",   "RACE-GLOBAL",
                                                  "PROXY",     "NOT-VISIBLE", "TMEM-FENCE"};
  const bool two =
      !finding.sides.empty() && std::find(std::begin(accesses), std::end(accesses), finding.code) != std::end(accesses);
  const char *const second = two ? "second access: " : "", *const first = two ? "first access:  " : "";
  if (has_place(finding)) {
    text +=
        fmt::format("{:{}}{}{}  {}\n", "", kIndent, second, agents_text(finding.agent), place_with_library(finding.at));
  }
  for (const FindingSide& side : finding.sides) {
    const bool other = two && &side != &finding.sides.front();  // not an access
    text += fmt::format("{:{}}{}{}  {}\n{}", "", kIndent, other ? "" : first, agents_text(side.agent),
                        place_with_library(side.at), bullet(other ? "" : "first: ", side.what, kDetailIndent));
  }
  for (const std::string& note : finding.notes) text += bullet("", note, kDetailIndent);
  if (!finding.clause.empty()) text += bullet("manual: ", finding.clause, kDetailIndent);
  return text;
}

/// What is wrong in red, the other side in yellow, what would mend it in green.
std::string colored(const std::string& text) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line(text.data() + at, end - at - 1);
    const size_t first = line.find_first_not_of(' ');
    const std::string_view rest = first == std::string_view::npos ? std::string_view() : line.substr(first);
    const char* color = rest.starts_with("error ")                                          ? "\033[1;31m"
                        : rest.starts_with("warning ")                                      ? "\033[1;33m"
                        : rest.starts_with("first: ") || rest.starts_with("first access: ") ? "\033[33m"
                        : rest.starts_with("^ ") || first == kDetailIndent                  ? "\033[32m"
                        : rest.starts_with("replay: ") || rest.starts_with("mutation: ")    ? "\033[2m"
                                                                                            : nullptr;
    result += color == nullptr ? std::string(line) : fmt::format("{}{}\033[0m", color, line);
    result += '\n';
    at = end;
  }
  return result;
}

std::string text_of(const Report& report, bool color) {
  std::string text;
  if (report.clean() && report.warnings.empty())
    text = fmt::format("clean: nothing found  (kernel {})\n", report.kernel);
  if (report.clean() && !report.warnings.empty())
    text = fmt::format("no errors, {} warning{}  (kernel {})\n", report.warnings.size(),
                       report.warnings.size() == 1 ? "" : "s", report.kernel);
  const auto add = [&](const Finding& finding, const std::string& where) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{} {}: {}{}\n{}", to_string(finding.severity), finding.code, finding.message, where,
                        finding_details(finding));
  };
  for (const Finding& finding : report.findings)
    add(finding, &finding == &report.findings.front()
                     ? fmt::format("  (kernel {}, cluster {})", report.kernel, report.cluster)
                     : std::string());
  for (const Finding& warning : report.warnings)
    add(warning, warning.times == 1 ? std::string() : fmt::format("  ({} times)", warning.times));
  if (!report.waiting.empty()) {
    // One finding and its waiters are one block; after several, the table needs a title.
    if (report.findings.size() != 1 || !report.warnings.empty()) text += "\nwaiting\n";
    text += waiting_text(report.waiting);
  }
  if (!report.mutation.empty()) text += fmt::format("  mutation: {}\n", report.mutation);
  if (!report.schedule.empty()) text += fmt::format("  replay: --schedule {}\n", report.schedule);
  return color ? colored(text) : text;
}

}  // namespace

std::string to_text(const Report& report, bool color) {
  return sentence_of([&] { return text_of(report, color); });
}

}  // namespace warploom::loom
