#include "tune/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/cases.hpp"

namespace warploom::tune {
namespace {

using Json = nlohmann::json;

/// One row of the file; what it leaves out is counted by its reason.
Result<MeasuredCase> read_case(const Json& row, const ChipLimits& chip, std::map<std::string, int>& left_out) {
  if (!row.is_object() || !row.contains("case") || !row["case"].is_string()) return Error{"a row has no case"};
  const std::string label = row["case"];
  const auto read = bench::parse_case(label);
  if (!read) return Error{read.error()};
  MeasuredCase made{label, bench::somewhere(read->problem), chip, {}};
  for (const Json& plan : row["plans"]) {
    const bool whole = plan.is_object() && plan.contains("key") && plan["key"].is_string() && plan.contains("splits") &&
                       plan["splits"].is_number_integer() && plan["splits"] >= 1 && plan["splits"] <= 1000 &&
                       plan.contains("us") && plan["us"].is_number() && plan["us"].get<double>() > 0;
    if (!whole) return Error{fmt::format("a plan of {} lacks its key, splits or us", label)};
    const std::string key = plan["key"];
    const auto config = find_gemm_config(key);
    if (!config) {
      ++left_out[fmt::format("there is no kernel {} now", key)];
      continue;
    }
    const int splits = plan["splits"];
    if (const auto legal = plan_gemm(made.problem, **config, splits, chip); !legal) {
      ++left_out[fmt::format("{}: {}", key, legal.error())];
      continue;
    }
    made.plans.push_back({*config, splits, plan["us"]});
  }
  std::sort(made.plans.begin(), made.plans.end(), [](const MeasuredPlan& x, const MeasuredPlan& y) {
    return x.config != y.config ? x.config < y.config : x.splits < y.splits;
  });
  const auto best = std::min_element(made.plans.begin(), made.plans.end(),
                                     [](const MeasuredPlan& x, const MeasuredPlan& y) { return x.us < y.us; });
  made.best = static_cast<size_t>(best - made.plans.begin());
  return made;
}

}  // namespace

Result<std::string> read_text(const std::string& file) {
  std::error_code error;
  std::ifstream stream(file);
  if (!stream || !std::filesystem::is_regular_file(file, error)) return Error{fmt::format("cannot read {}", file)};
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

Result<Sweep> read_sweep(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return Error{text.error()};
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array())
    return Error{fmt::format("{} is no JSON of warploom bench", file)};
  ChipLimits chip;
  if (json.contains("sms") && json["sms"].is_number_integer() && json["sms"] > 0) chip.sms = json["sms"];
  Sweep sweep;
  std::map<std::string, int> left_out;
  for (const Json& row : json["rows"]) {
    if (!row.is_object() || !row.contains("plans") || !row["plans"].is_array()) continue;
    auto one = read_case(row, chip, left_out);
    if (!one) return Error{fmt::format("{}: {}", file, one.error())};
    if (one->plans.empty())
      sweep.notes.push_back(fmt::format("{}: {}: no plan is left", file, one->label));
    else
      sweep.cases.push_back(std::move(*one));
  }
  for (const auto& [reason, times] : left_out)
    sweep.notes.push_back(fmt::format("{}: {} plan{} left out: {}", file, times, times == 1 ? " is" : "s are", reason));
  if (sweep.cases.empty())
    return Error{fmt::format("{} has no timed plans; warploom bench --all-plans --json writes them", file)};
  return sweep;
}

std::string describe(const MeasuredPlan& plan) {
  return plan.splits > 1 ? fmt::format("{} /{}", plan.config->key, plan.splits) : std::string(plan.config->key);
}

}  // namespace warploom::tune
