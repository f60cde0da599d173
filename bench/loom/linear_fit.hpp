// The line nearest to some points, and how near it is: is a cost proportional to an extent?
//
//   const LinearFit fit = linear_fit({{512, 0.1}, {1024, 0.2}, {2048, 0.4}});
//   fit.at(4096);            // 0.8
//   fit.worst;               // 0: no point is off the line
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace warploom::bench {

struct Point {
  double x = 0, y = 0;
};

struct LinearFit {
  double offset = 0, slope = 0;
  double worst = 0;  ///< the largest distance of a point from the line, as a part of the line's value there
  double at(double x) const { return offset + slope * x; }
};

/// Least squares of the relative distances, so that small points count as much as large ones. Two different x at least;
/// every y positive.
inline LinearFit linear_fit(std::span<const Point> points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const Point& p : points) {
    const double weight = 1 / (p.y * p.y);
    w += weight;
    wx += weight * p.x;
    wy += weight * p.y;
    wxx += weight * p.x * p.x;
    wxy += weight * p.x * p.y;
  }
  LinearFit fit;
  fit.slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  fit.offset = (wy - fit.slope * wx) / w;
  for (const Point& p : points) fit.worst = std::max(fit.worst, std::abs(p.y / fit.at(p.x) - 1));
  return fit;
}

}  // namespace warploom::bench
