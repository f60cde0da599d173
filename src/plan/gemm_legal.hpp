// Why a GEMM cannot run, with a code. The two parts of it are apart, because a plan that is kept says that a problem of
// the same form can run, wherever its tensors lie.
#pragma once

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {

/// ErrorCode::none: nothing.
Error trouble_with(const GemmProblem& problem, Chip chip);
Error trouble_with(const GemmProblem& problem, const GemmConfig& config);
/// What depends on pointers, strides and extents alone: the last of the rules for a chip.
Error trouble_with_memory(const GemmProblem& problem);

}  // namespace warploom
