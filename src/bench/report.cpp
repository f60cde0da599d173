#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/statistics.hpp"

namespace warploom::bench {

const Entry* Row::find(std::string_view name) const {
  for (const Entry& entry : entries)
    if (entry.name == name && entry.absent.empty()) return &entry;
  return nullptr;
}
double Row::tflops(const Entry& entry) const { return problem.flops() / entry.microseconds * 1e-6; }
double Row::gigabytes_per_second(const Entry& entry) const { return problem.bytes() / entry.microseconds * 1e-3; }
double Row::ratio(std::string_view name) const {
  const Entry* other = find(name);
  return entries.empty() || !entries.front().absent.empty() || other == nullptr
             ? 0
             : other->microseconds / entries.front().microseconds;
}

bool Report::all_right() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.entries.begin(), row.entries.end(), [](const Entry& e) { return e.wrong.empty(); });
  });
}

// ---- figures of another day

Result<References> References::load(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) return Error{fmt::format("cannot read {}", file)};
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (json.is_discarded() || !json.contains("name") || !json.contains("rows"))
    return Error{fmt::format("{} is no file of reference figures", file)};
  References made;
  made.name_ = json["name"];
  for (const auto& row : json["rows"]) {
    if (!row.contains("case") || !row.contains("theirs") || !row.contains("cublas"))
      return Error{fmt::format("{}: a row has no case, theirs or cublas", file)};
    made.figures_[row["case"]] = {row["theirs"], row["cublas"]};
  }
  return made;
}

std::optional<double> References::scaled(const Row& row) const {
  const auto found = figures_.find(row.problem.label());
  if (found == figures_.end()) return std::nullopt;
  // FP8 was measured beside tensor scales, which every shape has.
  const Entry* today = row.find(row.problem.kind == Kind::blockwise ? "cuBLASLt tensor" : "cuBLASLt");
  if (today == nullptr) return std::nullopt;
  return row.tflops(*today) * found->second.theirs / found->second.cublas;
}

// ---- for people

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const auto& line : lines_)
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  size_t all = 0;
  for (const size_t width : widths) all += width + 2;
  std::string text;
  for (size_t row = 0; row < lines_.size(); ++row) {
    if (std::find(rules_.begin(), rules_.end(), row) != rules_.end())
      text += std::string(all >= 2 ? all - 2 : 0, '-') + '\n';
    std::string line;
    for (size_t i = 0; i < lines_[row].size(); ++i) {
      const bool left = std::find(left_.begin(), left_.end(), i) != left_.end();
      line +=
          left ? fmt::format("{:<{}}", lines_[row][i], widths[i]) : fmt::format("{:>{}}", lines_[row][i], widths[i]);
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string to_table(const Report& report, const References* references) {
  // Contenders in the order in which they first appear; ours is first everywhere.
  std::vector<std::string> names;
  for (const Row& row : report.rows)
    for (const Entry& entry : row.entries)
      if (std::find(names.begin(), names.end(), entry.name) == names.end()) names.push_back(entry.name);
  if (names.empty()) return "nothing was measured\n";

  const bool sustained = report.protocol == "sustained";
  bool referenced = false;
  for (const Row& row : report.rows) referenced |= references != nullptr && references->scaled(row).has_value();
  std::vector<std::string> header = {"TFLOP/s"};
  for (const std::string& name : names) header.push_back(name);
  header.emplace_back("us");
  for (size_t i = 1; i < names.size(); ++i) header.push_back("/" + names[i]);
  if (referenced) header.push_back("/" + references->name() + "*");
  header.emplace_back("memory");
  if (sustained) header.insert(header.end(), {"MHz", "W"});
  header.emplace_back("error");
  header.emplace_back("plan");

  Table table(header);
  table.left(header.size() - 1);
  table.rule();
  std::vector<std::vector<double>> ratios(names.size());
  std::vector<double> to_reference;
  const auto number = [](double value) {
    return value < 10 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
  };
  for (const Row& row : report.rows) {
    if (row.entries.empty()) continue;
    const Entry& ours = row.entries.front();
    std::vector<std::string> line = {row.problem.label()};
    for (const std::string& name : names) {
      const Entry* entry = row.find(name);
      line.push_back(entry != nullptr ? number(row.tflops(*entry)) : "-");
    }
    const bool ran = ours.absent.empty();
    line.push_back(ran ? fmt::format("{:.1f}", ours.microseconds) : "-");
    for (size_t i = 1; i < names.size(); ++i) {
      const double ratio = row.ratio(names[i]);
      if (ratio > 0) ratios[i].push_back(ratio);
      line.push_back(ratio > 0 ? fmt::format("{:.3f}", ratio) : "-");
    }
    if (referenced) {
      const auto theirs = references->scaled(row);
      if (theirs && ran) to_reference.push_back(row.tflops(ours) / *theirs);
      line.push_back(theirs && ran ? fmt::format("{:.3f}", to_reference.back()) : "-");
    }
    line.push_back(ran ? fmt::format("{:.0f} %", 1e11 * row.gigabytes_per_second(ours) / report.bytes_per_second)
                       : "-");
    if (sustained) line.insert(line.end(), {fmt::format("{:.0f}", ours.clock_mhz), fmt::format("{:.0f}", ours.watts)});
    std::string wrong;
    for (const Entry& entry : row.entries)
      if (!entry.wrong.empty()) wrong += (wrong.empty() ? "WRONG: " : ", ") + entry.name;
    line.push_back(!wrong.empty() ? wrong : ran ? fmt::format("{:.2f}", ours.worst_error) : "-");
    line.push_back(ran ? ours.detail : ours.absent);
    table.add(line);
  }
  const auto summary = [&](const char* what, auto&& of) {
    std::vector<std::string> line = {what};
    for (size_t i = 0; i < names.size() + 1; ++i) line.emplace_back("");
    for (size_t i = 1; i < names.size(); ++i)
      line.push_back(ratios[i].empty() ? "" : fmt::format("{:.3f}", of(ratios[i])));
    if (referenced) line.push_back(to_reference.empty() ? "" : fmt::format("{:.3f}", of(to_reference)));
    table.add(line);
  };
  table.rule();
  summary("geometric mean", [](const std::vector<double>& all) { return geometric_mean(all); });
  summary("least", [](const std::vector<double>& all) { return *std::min_element(all.begin(), all.end()); });

  std::string text = fmt::format("{}, driver for CUDA {}, {}; protocol {}, {} repeats\n\n", report.device,
                                 report.driver, report.cublaslt, report.protocol, report.repeat);
  text += table.text();
  text +=
      "\n/name: ours over theirs, above 1 we are faster. memory: bytes that must move once, over time, in percent of "
      "the peak.\nerror: the largest, in units of what rounding allows; above 1 is wrong.\n";
  if (referenced)
    text += fmt::format("/{}*: its figure of another day, scaled by what cuBLAS gave then and gives now.\n",
                        references->name());
  for (const Row& row : report.rows)
    for (const Entry& entry : row.entries)
      if (!entry.wrong.empty())
        text += fmt::format("WRONG: {}, {}: {}\n", row.problem.label(), entry.name, entry.wrong);
  return text;
}

// ---- for programs

std::string to_json(const Report& report) {
  nlohmann::ordered_json json;
  json["device"] = report.device;
  json["sms"] = report.sms;
  json["driver"] = report.driver;
  json["cublaslt"] = report.cublaslt;
  json["protocol"] = report.protocol;
  json["repeat"] = report.repeat;
  json["pause_ms"] = report.pause_ms;
  json["peak"] = {{"bytes_per_second", report.bytes_per_second}, {"bf16_flops", report.bf16_flops}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    nlohmann::ordered_json one;
    one["case"] = row.problem.label();
    one["kind"] = to_string(row.problem.kind);
    one["m"] = row.problem.problem.m;
    one["n"] = row.problem.problem.n;
    one["k"] = row.problem.problem.k;
    if (!row.problem.model.empty()) one["model"] = row.problem.model;
    if (const std::string epilogue = row.problem.epilogue(); !epilogue.empty()) one["epilogue"] = epilogue;
    one["entries"] = nlohmann::ordered_json::array();
    for (const Entry& entry : row.entries) {
      nlohmann::ordered_json e;
      e["name"] = entry.name;
      if (!entry.absent.empty()) {
        e["absent"] = entry.absent;
      } else {
        e["detail"] = entry.detail;
        e["us"] = entry.microseconds;
        e["us_fastest"] = entry.fastest;
        e["us_slowest"] = entry.slowest;
        e["tflops"] = row.tflops(entry);
        e["gb_per_second"] = row.gigabytes_per_second(entry);
        if (entry.clock_mhz > 0) e["mhz"] = entry.clock_mhz;
        if (entry.watts > 0) e["watts"] = entry.watts;
        e["error"] = entry.worst_error;
        if (!entry.wrong.empty()) e["wrong"] = entry.wrong;
      }
      one["entries"].push_back(e);
    }
    for (const TimedPlan& plan : row.plans)
      one["plans"].push_back({{"key", plan.key},
                              {"splits", plan.splits},
                              {"raster", plan.raster},
                              {"predicted_us", plan.predicted_us},
                              {"us", plan.us}});
    json["rows"].push_back(one);
  }
  return json.dump(2) + "\n";
}

}  // namespace warploom::bench
