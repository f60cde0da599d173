#include "bench/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warploom::bench {
namespace {

constexpr const char* colours[] = {"#1b6ca8", "#e08e2b", "#7a9e48", "#9a6aa8", "#7f7f7f"};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  }
  return safe;
}

/// The elements of a drawing, with its size.
class Drawing {
 public:
  void line(double x1, double y1, double x2, double y2, const char* colour, double width = 1) {
    body_ += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='{}' stroke-width='{}'/>\n", x1,
                         y1, x2, y2, colour, width);
  }
  void bar(double x, double y, double width, double height, const char* colour, const std::string& title) {
    body_ +=
        fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'><title>{}</title></rect>\n",
                    x, y, width, height, colour, escaped(title));
  }
  void dot(double x, double y, const char* colour, const std::string& title) {
    body_ +=
        fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}' fill-opacity='0.75'><title>{}</title></circle>\n",
                    x, y, colour, escaped(title));
  }
  void text(double x, double y, const std::string& words, const char* anchor = "start", int size = 12) {
    body_ += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' font-size='{}'>{}</text>\n", x, y, anchor, size,
                         escaped(words));
  }
  std::string finish(double width, double height) const {
    return fmt::format(
               "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' "
               "font-family='sans-serif' fill='#222'>\n<rect width='100%' height='100%' fill='white'/>\n",
               width, height) +
           body_ + "</svg>\n";
  }

 private:
  std::string body_;
};

std::vector<std::string> names_of(const Report& report) {
  std::vector<std::string> names;
  for (const Row& row : report.rows)
    for (const Entry& entry : row.entries)
      if (entry.absent.empty() && std::find(names.begin(), names.end(), entry.name) == names.end())
        names.push_back(entry.name);
  return names;
}

/// 1, 2 or 5 times a power of ten, at least `value`.
double round_up(double value) {
  if (value <= 0) return 1;
  const double unit = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * unit >= value * (1 - 1e-12)) return factor * unit;
  return 10 * unit;
}

constexpr double margin = 20, label_width = 290, plot_width = 620, bar_height = 11, gap = 9;

double bars(Drawing& drawing, const Report& report, const std::vector<std::string>& names, double top) {
  double most = 0;
  for (const Row& row : report.rows)
    for (const Entry& entry : row.entries)
      if (entry.absent.empty()) most = std::max(most, row.tflops(entry));
  const double step = round_up(most / 8);
  const double limit = std::max(1.0, std::ceil(most / step)) * step;
  const double left = margin + label_width;
  const auto x = [&](double tflops) { return left + plot_width * tflops / limit; };

  double height = 0;
  for (const Row& row : report.rows) {
    size_t there = 0;
    for (const Entry& entry : row.entries) there += entry.absent.empty();
    height += static_cast<double>(std::max<size_t>(there, 1)) * bar_height + gap;
  }
  for (int i = 0; i <= std::lround(limit / step); ++i) {
    const double tick = i * step;
    drawing.line(x(tick), top, x(tick), top + height, "#dddddd");
    drawing.text(x(tick), top + height + 16, fmt::format("{:g}", tick), "middle", 11);
  }
  drawing.text(left + plot_width, top + height + 32, "TFLOP/s", "end", 11);
  double y = top + gap / 2;
  for (const Row& row : report.rows) {
    const double began = y;
    for (const Entry& entry : row.entries) {
      if (!entry.absent.empty()) continue;
      const size_t who = static_cast<size_t>(std::find(names.begin(), names.end(), entry.name) - names.begin());
      const double tflops = row.tflops(entry);
      drawing.bar(left, y, std::max(1.0, x(tflops) - left), bar_height - 2, colours[who % std::size(colours)],
                  fmt::format("{}, {}: {:.1f} TFLOP/s, {:.1f} us", row.problem.label(), entry.name, tflops,
                              entry.microseconds));
      drawing.text(x(tflops) + 4, y + bar_height - 3, fmt::format("{:.{}f}", tflops, tflops < 10 ? 1 : 0), "start", 9);
      y += bar_height;
    }
    if (y == began) y += bar_height;
    drawing.text(left - 8, 0.5 * (began + y) + 3, row.problem.label(), "end", 11);
    y += gap;
  }
  return top + height + 50;
}

double roofline(Drawing& drawing, const Report& report, const std::vector<std::string>& names, double top) {
  constexpr double height = 380;
  const double left = margin + 60, right = margin + label_width + plot_width;
  constexpr double least_x = 0, most_x = 4;    // powers of ten of flop per byte
  constexpr double least_y = 0, most_y = 3.5;  // of TFLOP/s
  const auto x = [&](double intensity) {
    return left + (right - left) * (std::clamp(std::log10(intensity), least_x, most_x) - least_x) / (most_x - least_x);
  };
  const auto y = [&](double tflops) {
    return top + height - height * (std::clamp(std::log10(tflops), least_y, most_y) - least_y) / (most_y - least_y);
  };
  for (const double tick : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
    drawing.line(x(tick), top, x(tick), top + height, "#dddddd");
    drawing.text(x(tick), top + height + 16, fmt::format("{:g}", tick), "middle", 11);
  }
  for (const double tick : {1.0, 10.0, 100.0, 1000.0}) {
    drawing.line(left, y(tick), right, y(tick), "#dddddd");
    drawing.text(left - 6, y(tick) + 4, fmt::format("{:g}", tick), "end", 11);
  }
  drawing.text(right, top + height + 32, "operations per byte that must cross the memory bus", "end", 11);
  drawing.text(left - 6, top - 6, "TFLOP/s", "end", 11);

  bool fp8 = false, wide = false;
  for (const Row& row : report.rows) {
    const bool small = row.problem.kind == Kind::fp8 || row.problem.kind == Kind::blockwise;
    fp8 |= small;
    wide |= !small;
  }
  for (const double factor : {1.0, 2.0}) {
    if (factor == 1.0 ? !wide : !fp8) continue;
    const double peak = factor * report.bf16_flops * 1e-12, knee = factor * report.bf16_flops / report.bytes_per_second;
    drawing.line(x(1), y(report.bytes_per_second * 1e-12), x(knee), y(peak), "#444444", 1.5);
    drawing.line(x(knee), y(peak), right, y(peak), "#444444", 1.5);
    drawing.text(right - 4, y(peak) - 5, fmt::format("{:.0f} TFLOP/s, {}", peak, factor == 1.0 ? "16 bits" : "FP8"),
                 "end", 11);
  }
  for (const Row& row : report.rows)
    for (const Entry& entry : row.entries) {
      if (!entry.absent.empty()) continue;
      const size_t who = static_cast<size_t>(std::find(names.begin(), names.end(), entry.name) - names.begin());
      drawing.dot(x(row.problem.flops() / row.problem.bytes()), y(row.tflops(entry)), colours[who % std::size(colours)],
                  row.problem.label() + ", " + entry.name);
    }
  return top + height + 50;
}

}  // namespace

std::string to_svg(const Report& report) {
  Drawing drawing;
  const std::vector<std::string> names = names_of(report);
  drawing.text(margin, 26, fmt::format("{}: {} launches", report.device, report.protocol), "start", 16);
  double x = margin;
  for (size_t i = 0; i < names.size(); ++i) {
    drawing.bar(x, 38, 12, 12, colours[i % std::size(colours)], names[i]);
    drawing.text(x + 17, 48, names[i]);
    x += 40 + 7.0 * static_cast<double>(names[i].size());
  }
  double below = bars(drawing, report, names, 62);
  below = roofline(drawing, report, names, below + 20);
  return drawing.finish(2 * margin + label_width + plot_width + 40, below);
}

}  // namespace warploom::bench
