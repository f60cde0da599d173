// What of the loom's benchmark can be tested without measuring: the line through a sweep, and its picture.
#include <gtest/gtest.h>

#include "../../bench/loom/linear_fit.hpp"
#include "../../bench/loom/sweep_plot.hpp"

namespace warploom::bench {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(LinearFit, FindsTheLineItsPointsAreOn) {
  const Point points[] = {{512, 0.6}, {1024, 1.1}, {4096, 4.1}};  // 0.1 + x / 1024
  const LinearFit fit = linear_fit(points);
  EXPECT_NEAR(fit.slope, 1.0 / 1024, 1e-12);
  EXPECT_NEAR(fit.offset, 0.1, 1e-9);
  EXPECT_NEAR(fit.at(2048), 2.1, 1e-9);
  EXPECT_NEAR(fit.worst, 0, 1e-9);
}

TEST(LinearFit, TellsASquareFromALine) {
  std::vector<Point> line, square;
  for (int i = 1; i <= 8; ++i) {
    line.push_back({512.0 * i, i * (i % 2 == 0 ? 1.02 : 0.98)});  // 2 % of noise
    square.push_back({512.0 * i, 1.0 * i * i});
  }
  EXPECT_LT(linear_fit(line).worst, 0.03);
  EXPECT_GT(linear_fit(square).worst, 0.3);
}

TEST(LinearFit, SmallPointsCountAsMuchAsLargeOnes) {
  // Of two lines, y = x fits all but the largest point exactly; by plain least squares the large point would win.
  const Point points[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {1000, 1100}};
  EXPECT_NEAR(linear_fit(points).at(1), 1, 0.1);
}

TEST(SweepPlot, HasAPanelPerExtentAndALinePerSeries) {
  const std::vector<Point> points{{512, 1}, {1024, 2}};
  const std::string svg = sweep_svg({{"m", "one", points, linear_fit(points)},
                                     {"m", "two", points, linear_fit(points)},
                                     {"n", "one", points, linear_fit(points)},
                                     {"n", "two", points, linear_fit(points)}});
  EXPECT_EQ(count(svg, "stroke=\"#888\""), 2u);
  EXPECT_EQ(count(svg, "<line "), 4u);
  EXPECT_EQ(count(svg, "<circle "), 8u);
  EXPECT_EQ(count(svg, ">one</text>"), 1u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(SweepPlot, PutsTheLargestPointAtTheRight) {
  const std::vector<Point> points{{0, 0.5}, {100, 1}};
  const std::string svg = sweep_svg({{"k", "one", points, linear_fit(points)}});
  EXPECT_NE(svg.find("cx=\"50.0\""), std::string::npos);   // x 0 at the panel's left edge
  EXPECT_NE(svg.find("cx=\"350.0\""), std::string::npos);  // x 100, 300 further on
}

}  // namespace
}  // namespace warploom::bench
