// What was measured, and how it is shown: a table for people, JSON for programs (bench/README.md names the fields).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases.hpp"

namespace warploom::bench {

/// One contender of one case.
struct Entry {
  std::string name = {}, detail = {};
  std::string absent = {};  ///< why it did not take part; the rest is then empty
  double microseconds = 0, fastest = 0, slowest = 0;
  double clock_mhz = 0, watts = 0;
  double worst_error = 0;  ///< in units of what rounding allows
  std::string wrong = {};  ///< "" or the element that is not right
};

/// One legal plan of a case, timed in a few launches (--all-plans).
struct TimedPlan {
  std::string key;
  int splits = 1;
  std::string raster;  ///< raster_text()
  double predicted_us = 0, us = 0;
};

struct Row {
  Case problem;
  std::vector<Entry> entries;         ///< ours first
  std::vector<TimedPlan> plans = {};  ///< the fastest first; empty unless asked for

  const Entry* find(std::string_view name) const;
  double tflops(const Entry& entry) const;
  double gigabytes_per_second(const Entry& entry) const;
  /// Ours over the named contender's: above 1 we are faster. 0 where either is absent.
  double ratio(std::string_view name) const;
};

struct Report {
  std::string device, driver, cublaslt, protocol;
  int sms = 0;
  int repeat = 0;
  double pause_ms = 0;  ///< protocol cold
  double bytes_per_second = 0, bf16_flops = 0;
  std::vector<Row> rows;

  bool all_right() const;
};

/// Figures of other libraries, taken on another day beside cuBLAS(Lt), whose figures of today they are scaled by.
class References {
 public:
  static Result<References> load(const std::string& file);
  /// TFLOP/s that the other library would have reached today, where the file knows this shape.
  std::optional<double> scaled(const Row& row) const;
  const std::string& name() const { return name_; }

 private:
  struct Figures {
    double theirs, cublas;
  };
  std::string name_;
  std::map<std::string, Figures> figures_;  ///< by Case::label()
};

std::string to_table(const Report& report, const References* references);
std::string to_json(const Report& report);

/// Columns of text, the first to the left and the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : lines_{std::move(header)} {}
  void add(std::vector<std::string> line) { lines_.push_back(std::move(line)); }
  /// Lines under the header and before these rows.
  void rule() { rules_.push_back(lines_.size()); }
  /// Columns that are to the left, besides the first.
  void left(size_t column) { left_.push_back(column); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> lines_;
  std::vector<size_t> rules_, left_ = {0};
};

}  // namespace warploom::bench
