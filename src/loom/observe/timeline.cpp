// The event stream as rows of block characters: one row per role and per engine of each CTA, one column per slice of
// nominal time. The height of a block is the share of its slice that was spent working.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "types/no_throw.hpp"
#include "warploom/loom/event.hpp"

namespace warploom::loom {

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::role: return "role";
    case EventKind::wait: return "wait";
    case EventKind::tma_load: return "tma_load";
    case EventKind::tma_store: return "tma_store";
    case EventKind::mma: return "mma";
    case EventKind::commit: return "commit";
    case EventKind::tmem_load: return "tmem_load";
    case EventKind::tmem_store: return "tmem_store";
    case EventKind::arrive: return "arrive";
    case EventKind::phase: return "phase";
    case EventKind::span: return "span";
    case EventKind::instant: return "instant";
  }
  return "?";
}

namespace {

struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
};

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  for (const Interval& next : intervals) {
    if (next.end <= next.begin) continue;
    if (!result.empty() && next.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, next.end);
    } else {
      result.push_back(next);
    }
  }
  return result;
}

/// The time axis of one cluster, cut into columns.
class Axis {
 public:
  Axis(uint64_t begin, uint64_t end, uint32_t columns) : begin_(begin), end_(end), columns_(columns) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  uint32_t columns() const { return columns_; }
  double slice() const { return static_cast<double>(end_ - begin_) / columns_; }

  /// Adds `weight` x the time that `interval` spends in each column.
  void add(std::vector<double>& cells, const Interval& interval, double weight = 1.0) const {
    if (interval.end <= interval.begin) return;
    const double from = static_cast<double>(interval.begin - begin_) / slice();
    const double to = static_cast<double>(interval.end - begin_) / slice();
    const auto last = std::min(static_cast<uint32_t>(to), columns_ - 1);
    for (auto column = std::min(static_cast<uint32_t>(from), columns_ - 1); column <= last; ++column) {
      const double inside = std::min(to, column + 1.0) - std::max(from, static_cast<double>(column));
      if (inside > 0) cells[column] += weight * inside * slice();
    }
  }

  uint32_t column_of(uint64_t time) const {
    return std::min(static_cast<uint32_t>(static_cast<double>(time - begin_) / slice()), columns_ - 1);
  }

 private:
  uint64_t begin_;
  uint64_t end_;
  uint32_t columns_;
};

constexpr double kAbsent = -1.0;  // a cell where the row's warps do not run

struct Row {
  std::string label;
  std::vector<double> cells;  // kAbsent or 0..1
  double busy = 0;            // share of the whole axis
  uint64_t peak = 0;          // most in flight at once; 0: does not apply
  uint64_t times = 0;         // of instants; 0: does not apply
  bool engine = false;
};

Row role_row(const Axis& axis, std::string label, const std::map<uint32_t, std::vector<Interval>>& alive_of_warp,
             const std::map<uint32_t, std::vector<Interval>>& waits_of_warp) {
  std::vector<double> alive(axis.columns());
  std::vector<double> waiting(axis.columns());
  for (const auto& [warp, lives] : alive_of_warp) {
    const auto waits = waits_of_warp.find(warp);
    for (const Interval& life : merged(lives)) {
      axis.add(alive, life);
      if (waits == waits_of_warp.end()) continue;
      for (const Interval& wait : waits->second) {  // merged by the caller
        axis.add(waiting, {std::max(wait.begin, life.begin), std::min(wait.end, life.end)});
      }
    }
  }
  Row row;
  row.label = std::move(label);
  double working = 0;
  for (uint32_t i = 0; i < axis.columns(); ++i) {
    // Slices are cut with rounding: a warp that touches a column by less than this is not there.
    const bool present = alive[i] > 1e-6 * axis.slice();
    row.cells.push_back(present ? std::clamp(1.0 - waiting[i] / alive[i], 0.0, 1.0) : kAbsent);
    working += std::max(alive[i] - waiting[i], 0.0);
  }
  row.busy = working / (axis.slice() * axis.columns() * static_cast<double>(alive_of_warp.size()));
  return row;
}

uint64_t most_in_flight(const std::vector<Interval>& intervals) {
  std::vector<std::pair<uint64_t, int>> edges;
  for (const Interval& interval : intervals) {
    if (interval.end <= interval.begin) continue;
    edges.emplace_back(interval.begin, 1);
    edges.emplace_back(interval.end, -1);
  }
  std::ranges::sort(edges);  // an end comes before a begin at the same time
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& [time, step] : edges) most = std::max(most, now += step);
  return static_cast<uint64_t>(most);
}

/// Cells show the mean number in flight against the most at once, or, for a serial engine, the share of time it was
/// busy.
Row engine_row(const Axis& axis, std::string label, const std::vector<Interval>& intervals, bool serial) {
  Row row;
  row.label = std::move(label);
  row.engine = true;
  row.cells.resize(axis.columns());
  const std::vector<Interval> busy = merged(intervals);
  double total = 0;
  for (const Interval& interval : busy) total += static_cast<double>(interval.end - interval.begin);
  row.busy = total / static_cast<double>(axis.end() - axis.begin());
  row.peak = serial ? 0 : most_in_flight(intervals);
  const double full = axis.slice() * static_cast<double>(std::max<uint64_t>(row.peak, 1));
  for (const Interval& interval : serial ? busy : intervals) axis.add(row.cells, interval, 1.0 / full);
  for (double& cell : row.cells) cell = std::min(cell, 1.0);
  return row;
}

/// A full cell wherever it happened.
Row instant_row(const Axis& axis, std::string label, const std::vector<Interval>& instants) {
  Row row;
  row.label = std::move(label);
  row.engine = true;
  row.cells.resize(axis.columns());
  row.times = instants.size();
  for (const Interval& instant : instants) row.cells[axis.column_of(instant.begin)] = 1.0;
  return row;
}

// ---------------------------------------------------------------------------------------------------------- drawing

size_t display_width(std::string_view text) {  // code points; none of ours is wide
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string fit(std::string_view text, size_t width) {
  const size_t has = display_width(text);
  if (has <= width) return std::string(text) + std::string(width - has, ' ');
  std::string result;
  size_t points = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++points == width) break;
    result += c;
  }
  return result + "…";
}

const char* glyph(double cell) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (cell == kAbsent) return " ";
  if (cell < 0.02) return "·";
  return kBlocks[std::clamp(static_cast<int>(std::lround(cell * 8)), 1, 8) - 1];
}

std::string cells_text(const Row& row, bool color) {
  std::string text;
  const char* current = "";
  for (const double cell : row.cells) {
    if (color) {
      const char* wanted = cell == kAbsent ? "" : cell < 0.02 ? "\033[90m" : row.engine ? "\033[36m" : "\033[32m";
      if (std::string_view(wanted) != current) text += *wanted == '\0' ? "\033[0m" : wanted;
      current = wanted;
    }
    text += glyph(cell);
  }
  if (*current != '\0') text += "\033[0m";
  return text;
}

/// 1, 2 or 5 times a power of ten, so that no two labels stand closer than 10 columns.
uint64_t tick_step(const Axis& axis) {
  const double wanted = std::max(1.0, axis.slice() * 10);
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= wanted) return static_cast<uint64_t>(factor * power);
  }
  return static_cast<uint64_t>(10 * power);
}

std::string axis_text(const Axis& axis, size_t margin) {
  std::string labels(axis.columns(), ' ');
  std::vector<bool> tick(axis.columns(), false);
  const uint64_t step = tick_step(axis);
  for (uint64_t time = (axis.begin() + step - 1) / step * step; time < axis.end(); time += step) {
    const uint32_t column = axis.column_of(time);
    const std::string label = fmt::format("{}", time);
    if (column + label.size() > axis.columns()) break;
    labels.replace(column, label.size(), label);
    tick[column] = true;
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  std::string text = std::string(margin, ' ') + labels + '\n' + std::string(margin, ' ');
  for (const bool here : tick) text += here ? "┬" : "─";
  return text + '\n';
}

std::string drawn(const EventLog& log, const TimelineOptions& options) {
  struct Cta {
    std::map<uint32_t, std::map<uint32_t, std::vector<Interval>>> roles;  // by name index, then by warp
    std::map<uint32_t, std::vector<Interval>> waits;                      // by warp
    std::vector<Interval> loads, stores, mmas;
    std::map<uint32_t, std::vector<Interval>> spans, instants;  // by name index
  };
  std::map<uint32_t, Cta> ctas;
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;
  for (const Event& event : log.events) {
    if (event.cluster != options.cluster) continue;
    begin = std::min(begin, event.begin);
    end = std::max(end, event.end);
    Cta& cta = ctas[event.cta];
    const Interval interval{event.begin, event.end};
    switch (event.kind) {
      case EventKind::role: cta.roles[event.name][event.warp].push_back(interval); break;
      case EventKind::wait: cta.waits[event.warp].push_back(interval); break;
      case EventKind::tma_load: cta.loads.push_back(interval); break;
      case EventKind::tma_store: cta.stores.push_back(interval); break;
      case EventKind::mma: cta.mmas.push_back(interval); break;
      case EventKind::span: cta.spans[event.name].push_back(interval); break;
      case EventKind::instant: cta.instants[event.name].push_back(interval); break;
      default: break;
    }
  }
  if (end <= begin) return fmt::format("cluster {}: no events recorded\n", options.cluster);

  const Axis axis(begin, end, std::max(options.width, 1u));
  std::map<uint32_t, std::vector<Row>> charts;
  size_t label_width = 0;
  bool any_peak = false;
  bool any_times = false;
  for (auto& [rank, cta] : ctas) {
    for (auto& [warp, waits] : cta.waits) waits = merged(std::move(waits));
    std::vector<Row>& rows = charts[rank];

    // In the order of their first warps, which is the order of the kernel's own role table.
    std::vector<std::pair<uint32_t, uint32_t>> order;
    order.reserve(cta.roles.size());
    for (const auto& [name, warps] : cta.roles) order.emplace_back(warps.begin()->first, name);
    std::ranges::sort(order);
    for (const auto& [first_warp, name] : order) {
      std::string label = name < log.names.size() ? log.names[name] : std::string();
      if (label.empty()) label = fmt::format("warp {}", first_warp);
      rows.push_back(role_row(axis, std::move(label), cta.roles[name], cta.waits));
    }
    if (!cta.loads.empty()) rows.push_back(engine_row(axis, "TMA in", cta.loads, false));
    if (!cta.mmas.empty()) rows.push_back(engine_row(axis, "tensor core", cta.mmas, true));
    if (!cta.stores.empty()) rows.push_back(engine_row(axis, "TMA out", cta.stores, false));
    for (const auto& [name, spans] : cta.spans) rows.push_back(engine_row(axis, log.names[name], spans, true));
    for (const auto& [name, instants] : cta.instants) rows.push_back(instant_row(axis, log.names[name], instants));
    for (const Row& row : rows) {
      label_width = std::max(label_width, display_width(row.label));
      any_peak = any_peak || row.peak != 0;
      any_times = any_times || row.times != 0;
    }
  }
  label_width = std::min<size_t>(label_width, 16);

  size_t rank_width = 0;
  for (const auto& [rank, chart] : charts) rank_width = std::max(rank_width, fmt::format("cta {}", rank).size());
  const size_t margin = rank_width + 2 + label_width + 1;

  std::string text = fmt::format("cluster {}, nominal cycles {} to {}, {:.4g} per column\n", options.cluster,
                                 axis.begin(), axis.end(), axis.slice());
  text += axis_text(axis, margin);
  for (const auto& [rank, chart] : charts) {
    bool first = true;
    for (const Row& row : chart) {
      const std::string title = std::exchange(first, false) ? fmt::format("cta {}", rank) : "";
      text += fit(title, rank_width) + "  " + fit(row.label, label_width) + ' ' + cells_text(row, options.color);
      text += row.times != 0 ? fmt::format(" {:3}x", row.times) : fmt::format(" {:3.0f}%", 100 * row.busy);
      if (row.peak != 0) text += fmt::format(" ≤{}", row.peak);
      text += '\n';
    }
  }
  text += fmt::format(
      "{:{}}· waiting or idle   ▁▂▃▄▅▆▇█ share of the slice spent working   blank: has no warp running\n", "", margin);
  text += fmt::format("{:{}}right: share of the whole time{}{}\n", "", margin,
                      any_peak ? "; ≤n: TMA boxes in flight at once at most, the height of █" : "",
                      any_times ? "; nx: how often it happened, at █" : "");
  return text;
}

}  // namespace

std::string render_timeline(const EventLog& log, const TimelineOptions& options) {
  return sentence_of([&] { return drawn(log, options); });
}

}  // namespace warploom::loom
