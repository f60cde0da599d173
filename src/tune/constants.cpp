#include "tune/constants.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace warploom::tune {
namespace {

constexpr Constant all[] = {
    {"clock_ghz", &GemmCosts::clock_ghz, 1.98, 1.98},  // would only scale all that is counted in cycles
    {"dram_bytes_per_us", &GemmCosts::dram_bytes_per_us, 2e6, 4.8e6},
    {"l2_bytes_per_us", &GemmCosts::l2_bytes_per_us, 4e6, 60e6},
    {"launch_us", &GemmCosts::launch_us, 1, 10},
    {"fill_cycles", &GemmCosts::fill_cycles, 300, 10000},
    {"flops_16_bit", &GemmCosts::flops_16_bit, 2500, 4096},
    {"flops_8_bit", &GemmCosts::flops_8_bit, 5000, 8192},
    {"shared_bytes", &GemmCosts::shared_bytes, 128, 128},
    {"operand_bytes", &GemmCosts::operand_bytes, 20, 120},
    {"load_latency_cycles", &GemmCosts::load_latency_cycles, 300, 4000},
    {"promoted_per_cycle", &GemmCosts::promoted_per_cycle, 128, 128},
    {"promotion_exposed", &GemmCosts::promotion_exposed, 0.05, 2},
    {"promotion_alone", &GemmCosts::promotion_alone, 0.05, 4},
    {"straddling", &GemmCosts::straddling, 1, 8},
    {"epilogue_cycles", &GemmCosts::epilogue_cycles, 100, 10000},
    {"epilogue_bytes", &GemmCosts::epilogue_bytes, 4, 256},
    {"plain_bytes", &GemmCosts::plain_bytes, 0.5, 32},
    {"unit_cycles", &GemmCosts::unit_cycles, 100, 10000},
    {"fused_cycles", &GemmCosts::fused_cycles, 50, 5000},
    {"residual_cycles", &GemmCosts::residual_cycles, 20, 5000},
    {"activations_per_cycle", &GemmCosts::activations_per_cycle, 5, 256},
    {"partial_bytes", &GemmCosts::partial_bytes, 1, 128},
    {"split_cycles", &GemmCosts::split_cycles, 100, 20000},
    {"cluster_sum_cycles", &GemmCosts::cluster_sum_cycles, 800, 10000},
    {"not_hidden", &GemmCosts::not_hidden, 0.01, 0.2},
    {"overlap_loss", &GemmCosts::overlap_loss, 0.02, 0.5},
};
static_assert(sizeof(GemmCosts) == std::size(all) * sizeof(double), "a constant of GemmCosts has no row here");

/// As C++ writes it, without digits that say nothing.
std::string literal(double value) {
  return value >= 1e6 ? fmt::format("{:.6g}e6", value / 1e6) : fmt::format("{:.6g}", value);
}

}  // namespace

std::span<const Constant> constants() { return all; }

std::string set_constant(GemmCosts& costs, std::string_view assignment) {
  const size_t equals = std::min(assignment.find('='), assignment.size());
  const std::string_view name = assignment.substr(0, equals),
                         text = assignment.substr(std::min(equals + 1, assignment.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
    return fmt::format("'{}' sets nothing; a positive constant is set as split_cycles=3000", assignment);
  std::string names;
  for (const Constant& one : all) {
    if (name == one.name) {
      costs.*one.member = value;
      return "";
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  return fmt::format("there is no constant '{}'; there are {}", name, names);
}

GemmCosts rounded(GemmCosts costs) {
  for (const Constant& one : all) {
    const double value = costs.*one.member;
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
    costs.*one.member = std::round(value / unit) * unit;
  }
  return costs;
}

std::string to_source(const GemmCosts& costs) {
  std::string text;
  for (const Constant& one : all) text += fmt::format("  double {} = {};\n", one.name, literal(costs.*one.member));
  return text;
}

Result<std::string> replaced_in(std::string source, const GemmCosts& costs) {
  for (const Constant& one : all) {
    const std::string declaration = fmt::format("  double {} = ", one.name);
    const size_t at = source.find(declaration);
    const size_t end = at == std::string::npos ? at : source.find(';', at);
    if (end == std::string::npos) return Error{fmt::format("there is no line 'double {} = ...;'", one.name)};
    source.replace(at, end - at, declaration + literal(costs.*one.member));
  }
  return source;
}

}  // namespace warploom::tune
