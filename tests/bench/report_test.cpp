#include "bench/report.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "bench/statistics.hpp"
#include "bench/svg.hpp"
#include "support/json.hpp"

namespace warploom::bench {
namespace {

Entry entry(const char* name, double microseconds) {
  Entry made;
  made.name = name;
  made.detail = "detail of " + made.name;
  made.microseconds = made.fastest = made.slowest = microseconds;
  return made;
}

/// Two cases: we are twice as fast in the first, and half as fast in the second.
Report two_rows() {
  Report report;
  report.device = "GPU <with> & without";
  report.protocol = "cold";
  report.repeat = 30;
  report.bytes_per_second = 4e12;
  report.bf16_flops = 1e15;
  report.rows.push_back({make_case(Kind::bf16, 1000, 1000, 1000), {entry("warploom", 4), entry("cuBLASLt", 8)}});
  report.rows.push_back({make_case(Kind::bf16, 1, 8192, 8192), {entry("warploom", 100), entry("cuBLASLt", 50)}});
  return report;
}

TEST(Statistics, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 3}), 3);
  EXPECT_EQ(median({1, 9, 3, 5}), 4);
}

TEST(Statistics, GeometricMean) {
  EXPECT_EQ(geometric_mean({}), 0);
  EXPECT_NEAR(geometric_mean({2, 0.5}), 1, 1e-12);
  EXPECT_NEAR(geometric_mean({1, 4, 16}), 4, 1e-12);
}

TEST(Report, ComputesSpeedAndRatio) {
  const Report report = two_rows();
  EXPECT_NEAR(report.rows[0].tflops(report.rows[0].entries[0]), 500, 1e-9);
  EXPECT_NEAR(report.rows[0].gigabytes_per_second(report.rows[0].entries[0]), 6e6 / 4e-6 * 1e-9, 1e-9);
  EXPECT_EQ(report.rows[0].ratio("cuBLASLt"), 2);
  EXPECT_EQ(report.rows[1].ratio("cuBLASLt"), 0.5);
  EXPECT_EQ(report.rows[1].ratio("nobody"), 0);
}

TEST(Report, TableIsAlignedAndSummedUp) {
  const std::string text = to_table(two_rows(), nullptr);
  EXPECT_NE(text.find("bf16 1000x1000x1000"), std::string::npos);
  EXPECT_NE(text.find("geometric mean"), std::string::npos);
  const size_t mean = text.find("geometric mean"), least = text.find("least");
  EXPECT_NE(text.find("1.000", mean), std::string::npos);
  EXPECT_LT(text.find("1.000", mean), least);
  EXPECT_NE(text.find("0.500", least), std::string::npos);
  EXPECT_EQ(text.find("WRONG"), std::string::npos);
}

TEST(Report, AWrongResultIsSaidAloud) {
  Report report = two_rows();
  EXPECT_TRUE(report.all_right());
  report.rows[1].entries[0].wrong = "3 elements; D[0][1] is 5, and should be 4";
  EXPECT_FALSE(report.all_right());
  const std::string text = to_table(report, nullptr);
  EXPECT_NE(text.find("WRONG: bf16 1x8192x8192, warploom: 3 elements"), std::string::npos) << text;
  EXPECT_EQ(test::parse_json(to_json(report))["rows"][1]["entries"][0]["wrong"],
            "3 elements; D[0][1] is 5, and should be 4");
}

TEST(Report, WhoDidNotTakePartHasAReasonAndNoFigures) {
  Report report = two_rows();
  report.rows[0].entries[1] = Entry{};
  report.rows[0].entries[1].name = "cuBLASLt";
  report.rows[0].entries[1].absent = "cuBLASLt has no algorithm for this";
  EXPECT_EQ(report.rows[0].ratio("cuBLASLt"), 0);
  const auto json = test::parse_json(to_json(report));
  EXPECT_EQ(json["rows"][0]["entries"][1]["absent"], "cuBLASLt has no algorithm for this");
  EXPECT_FALSE(json["rows"][0]["entries"][1].contains("us"));
  // The mean is over the cases that both ran.
  const std::string text = to_table(report, nullptr);
  EXPECT_NE(text.find("0.500", text.find("geometric mean")), std::string::npos);
}

TEST(Report, JsonHoldsTheFigures) {
  const auto json = test::parse_json(to_json(two_rows()));
  EXPECT_EQ(json["protocol"], "cold");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["m"], 1000);
  EXPECT_EQ(json["rows"][0]["entries"][0]["us"], 4.0);
  EXPECT_NEAR(json["rows"][0]["entries"][0]["tflops"].get<double>(), 500, 1e-9);
}

TEST(Report, JsonHoldsEveryTimedPlan) {
  Report report = two_rows();
  report.sms = 132;
  report.rows[1].plans = {{"bf16-kk-64x64-one-1x1", 4, "n8", 51.5, 50.25}, {"bf16-kk-64x192-one-1x1", 1, "m0", 60, 61}};
  const auto json = test::parse_json(to_json(report));
  EXPECT_EQ(json["sms"], 132);
  EXPECT_FALSE(json["rows"][0].contains("plans"));
  ASSERT_EQ(json["rows"][1]["plans"].size(), 2u);
  const auto& first = json["rows"][1]["plans"][0];
  EXPECT_EQ(first["key"], "bf16-kk-64x64-one-1x1");
  EXPECT_EQ(first["splits"], 4);
  EXPECT_EQ(first["raster"], "n8");
  EXPECT_EQ(first["predicted_us"], 51.5);
  EXPECT_EQ(first["us"], 50.25);
}

TEST(References, AreScaledByTheLibraryBesideWhichTheyWereTaken) {
  const std::string file = testing::TempDir() + "references.json";
  std::ofstream(file)
      << R"({"name": "Other", "rows": [{"case": "bf16 1000x1000x1000", "theirs": 300, "cublas": 200}]})";
  const auto references = References::load(file);
  ASSERT_TRUE(references);
  const Report report = two_rows();
  ASSERT_TRUE(references->scaled(report.rows[0]));
  EXPECT_NEAR(*references->scaled(report.rows[0]), 250 * 1.5, 1e-9);  // cuBLASLt gives 250 today
  EXPECT_FALSE(references->scaled(report.rows[1]));
  const std::string text = to_table(report, &*references);
  EXPECT_NE(text.find("/Other*"), std::string::npos);
  EXPECT_NE(text.find("1.333"), std::string::npos) << text;  // 500 of ours over 375
  std::remove(file.c_str());
  EXPECT_FALSE(References::load(file));
}

TEST(Table, AlignsColumns) {
  Table table({"name", "n", "plan"});
  table.left(2);
  table.rule();
  table.add({"a", "1", "x"});
  table.add({"longer", "1000", "yy"});
  EXPECT_EQ(table.text(),
            "name       n  plan\n"
            "------------------\n"
            "a          1  x\n"
            "longer  1000  yy\n");
}

// ---- the chart

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Svg, HasABarAndADotPerMeasurement) {
  const std::string svg = to_svg(two_rows());
  EXPECT_EQ(count(svg, "<circle"), 4u);
  EXPECT_EQ(count(svg, " us</title></rect>"), 4u);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Svg, IsWellFormed) {
  const std::string svg = to_svg(two_rows());
  EXPECT_NE(svg.find("GPU &lt;with&gt; &amp; without"), std::string::npos);
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "<title>"), count(svg, "</title>"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  // Every attribute value is closed.
  EXPECT_EQ(count(svg, "'") % 2, 0u);
}

TEST(Svg, OfNothingIsStillADrawing) {
  Report report = two_rows();
  report.rows.clear();
  const std::string svg = to_svg(report);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Svg, LongerBarsAreFasterOnes) {
  const std::string svg = to_svg(two_rows());
  const auto width = [&](const std::string& title) {
    const size_t at = svg.rfind("width='", svg.find(title));
    return std::stod(svg.substr(at + 7));
  };
  EXPECT_NEAR(width("bf16 1000x1000x1000, warploom: 500.0"), 2 * width("bf16 1000x1000x1000, cuBLASLt: 250.0"), 0.2);
}

}  // namespace
}  // namespace warploom::bench
