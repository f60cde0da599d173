// Problems that nobody would choose: odd sizes, padded and unpadded strides, every type, epilogue and scaling.
#pragma once

#include <cstdint>
#include <string>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::bench {

struct RandomProblem {
  GemmProblem problem = {};  ///< without pointers
  bool integers = false;     ///< exact data
  bool c_is_d = false;
};

/// Depends on its arguments alone. About one in four breaks some rule.
RandomProblem random_problem(uint64_t seed, uint64_t number);

/// One line that says all of it.
std::string describe(const GemmProblem& problem);

}  // namespace warploom::bench
