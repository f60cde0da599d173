// The constants of GemmCosts by name, with the bounds between which a fit looks for them.
//
//   for (const Constant& one : constants()) fmt::print("{} = {}\n", one.name, costs.*one.member);
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/gemm_costs.hpp"

namespace warploom::tune {

struct Constant {
  const char* name;
  double GemmCosts::* member;
  double low, high;

  /// Equal bounds: known from the chip, or one of two that only matter together.
  bool fitted() const { return low < high; }
};

/// All of them, in the struct's order.
std::span<const Constant> constants();

/// "split_cycles=3000": "" or what is wrong with it.
std::string set_constant(GemmCosts& costs, std::string_view assignment);

/// To three digits, as a fit can tell.
GemmCosts rounded(GemmCosts costs);

/// Lines of the struct, "  double split_cycles = 3000;".
std::string to_source(const GemmCosts& costs);
/// A source file with the struct, its values replaced and all else kept; or a sentence.
Result<std::string> replaced_in(std::string source, const GemmCosts& costs);

}  // namespace warploom::tune
