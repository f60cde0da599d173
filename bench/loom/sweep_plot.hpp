// The sweep as a picture: one panel per extent, core seconds upwards from zero, the points of each kernel and its line.
//
//   std::ofstream("sweep.svg") << sweep_svg({{"m", "loom, Hopper", points, linear_fit(points)}, ...});
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "linear_fit.hpp"

namespace warploom::bench {

struct Series {
  std::string along;  ///< the extent that varies
  std::string name;
  std::vector<Point> points;
  LinearFit fit;
};

inline std::string sweep_svg(const std::vector<Series>& all) {
  constexpr double width = 300, height = 260, left = 50, bottom = 40, top = 30;
  constexpr const char* colours[] = {"#1b6ca8", "#c0392b", "#2e7d32", "#7b1fa2"};
  std::vector<std::string> panels, names;
  double most_x = 0, most_y = 0;
  const auto place = [](std::vector<std::string>& list, const std::string& text) {
    size_t i = 0;
    while (i < list.size() && list[i] != text) ++i;
    if (i == list.size()) list.push_back(text);
    return i;
  };
  for (const Series& series : all) {
    place(panels, series.along);
    place(names, series.name);
    for (const Point& p : series.points) {
      most_x = std::max(most_x, p.x);
      most_y = std::max(most_y, p.y);
    }
  }
  const double panel_width = width + left + 20, panel_height = height + bottom + top;
  const double legend = 20.0 * static_cast<double>(names.size()) + 10;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      panel_width * static_cast<double>(panels.size()), panel_height + legend);
  for (size_t i = 0; i < panels.size(); ++i) {
    const double x0 = panel_width * static_cast<double>(i) + left;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#888\"/>\n", x0, top,
        width, height);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{} up to {:.0f}; core seconds up to {:.3g}</text>\n", x0,
                       top - 8, panels[i], most_x, most_y);
  }
  for (const Series& series : all) {
    const size_t panel = place(panels, series.along), name = place(names, series.name);
    const char* colour = colours[name % std::size(colours)];
    const double x0 = panel_width * static_cast<double>(panel) + left;
    const auto x = [&](double value) { return x0 + width * value / most_x; };
    const auto y = [&](double value) { return top + height * (1 - value / (1.05 * most_y)); };
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x(0),
                       y(series.fit.at(0)), x(most_x), y(series.fit.at(most_x)), colour);
    for (const Point& p : series.points)
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(p.x), y(p.y), colour);
    if (panel == 0)
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n", left,
                         panel_height + 20.0 * static_cast<double>(name), colour, series.name);
  }
  return svg + "</svg>\n";
}

}  // namespace warploom::bench
