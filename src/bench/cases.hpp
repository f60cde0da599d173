// What is measured: problems without pointers, and the lists of them that have names.
//
//   for (const Case& c : *suite("decode")) fmt::print("{}\n", c.label());       // "bf16 1x7168x2048", ...
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::bench {

/// The operand types a case is about: bf16, f16, FP8 (e4m3) without scales, FP8 with scales of 1 x 128 blocks of A and
/// 128 x 128 blocks of B.
enum class Kind : uint8_t { bf16, f16, fp8, blockwise };
const char* to_string(Kind kind);
Result<Kind> parse_kind(std::string_view text);

struct Case {
  Kind kind = Kind::bf16;
  GemmProblem problem = {};  ///< sizes, strides, types and epilogue; no pointers
  std::string model = {};    ///< what the shape is part of, "" where it stands for itself

  /// "bf16 4096x7168x2048 +C +bias silu"
  std::string label() const;
  std::string epilogue() const;  ///< "", "+C", "+bias", "+C +bias silu"
  double flops() const;
  double bytes() const;  ///< that must cross the memory bus once: operands, scales, C, D
};

/// Unpadded row-major operands, bf16 output (f16 for f16).
Case make_case(Kind kind, int m, int n, int k);
/// The case that has this label, with a residual and a bias of the output's type.
Result<Case> parse_case(std::string_view label);
/// The problem with pointers that a plan accepts and nobody follows.
GemmProblem somewhere(GemmProblem problem);

/// A plan in a few words: its key, splits and raster.
std::string describe(const GemmPlan& plan);
/// "m8": panels of 8 along m; "m0": none.
std::string raster_text(const Raster& raster);

struct Suite {
  const char* name;
  const char* what;
  std::vector<Case> (*cases)();
};
const std::vector<Suite>& suites();
/// Its cases, or a sentence with the names there are.
Result<std::vector<Case>> suite(std::string_view name);

struct Sizes {
  int m = 0, n = 0, k = 0;
};
/// "4096x7168x2048"
Result<Sizes> parse_sizes(std::string_view text);

/// The plan with this configuration and number of splits; the planner's where no key is given.
Result<GemmPlan> plan_for(const std::string& key, int splits, const GemmProblem& problem, const ChipLimits& chip);

}  // namespace warploom::bench
