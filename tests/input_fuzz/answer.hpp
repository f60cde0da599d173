// A product computed element by element in double precision, with no part of the library but the decoding of types.
#pragma once

#include <string>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::test::input_fuzz {

/// "" or which element of the problem's D is not the answer. The bound is wider than the library's own: this finds
/// wrong answers, not wrong roundings. Elements that come near an overflow are left out. `few_bits`: FP8 products may
/// have been added with the 13 bits of Hopper's tensor core.
std::string wrong_answer(const GemmProblem& problem, bool few_bits);

}  // namespace warploom::test::input_fuzz
