#include "warploom/kernels/gemm_accuracy.hpp"

#include <fmt/format.h>

#include <cmath>

namespace warploom {

const char* name_of(WrongPlace place) {
  switch (place) {
    case WrongPlace::none: return "none";
    case WrongPlace::element: return "element";
    case WrongPlace::rows: return "rows";
    case WrongPlace::columns: return "columns";
    case WrongPlace::tiles: return "tiles";
    case WrongPlace::everywhere: return "everywhere";
    case WrongPlace::scattered: return "scattered";
  }
  return "?";
}

const char* name_of(WrongCause cause) {
  switch (cause) {
    case WrongCause::unknown: return "unknown";
    case WrongCause::unwritten: return "unwritten";
    case WrongCause::source: return "source";
    case WrongCause::exchanged: return "exchanged";
    case WrongCause::transposed: return "transposed";
    case WrongCause::k_missing: return "k_missing";
    case WrongCause::k_twice: return "k_twice";
    case WrongCause::k_stale: return "k_stale";
  }
  return "?";
}

std::string GemmAccuracy::text() const {
  if (elements == 0 && padding_untouched) return "correct: D has no elements";
  const std::string all = elements == 1 ? "the one element" : fmt::format("all {} elements", elements);
  if (wrong == 0 && biased == 0 && padding_untouched) {
    const std::string unknown =
        unjudged == 0 ? ""
                      : fmt::format("; sums of {} of them may leave fp32's range, where any end is right", unjudged);
    if (modulus != 0) return fmt::format("correct: {} the answer in double modulo {}", all, modulus);
    if (exact) return fmt::format("correct: {} equal to the bit the answer in double, rounded once{}", all, unknown);
    return fmt::format(
        "correct: {} compared with double, each within its own bound (at most {:.2g} of the largest value); largest "
        "error {:.3g} ({:.2g} of the largest value, {:.0f} % of its bound), diff {:.2e}{}",
        all, largest_bound, max_abs_error, max_rel_error, 100 * worst, diff, unknown);
  }
  std::string text = "WRONG:";
  if (wrong > 0)
    text += fmt::format(" {} of {} elements: {}; the first is D[{}][{}]{}, {:.9g}, and should be {:.9g}{}", wrong,
                        elements, pattern, first.row, first.column,
                        first.matrix == 0 ? "" : fmt::format(" of matrix {}", first.matrix), first.got, first.expected,
                        exact ? "" : fmt::format(" within {:.3g}", first.bound));
  if (wrong == 0 && biased > 0) {
    const std::string which = first_biased.of == std::string("row") ? fmt::format("row {}", first_biased.row)
                              : first_biased.of == std::string("column")
                                  ? fmt::format("column {}", first_biased.column)
                                  : fmt::format("the tile at [{}][{}]", first_biased.row, first_biased.column);
    text += fmt::format(
        " each element is within its bound, but {}{} is {:.2g} % too {} as a whole, and rounding explains {:.2g} %{}",
        which, first_biased.matrix == 0 ? "" : fmt::format(" of matrix {}", first_biased.matrix),
        100 * std::fabs(first_biased.bias), first_biased.bias > 0 ? "large" : "small", 100 * first_biased.allowed,
        biased == 1 ? "" : fmt::format("; so are {} more rows, columns and tiles", biased - 1));
  }
  if (!padding_untouched)
    text += fmt::format("{} memory between or behind the rows of D was written", wrong > 0 || biased > 0 ? ";" : "");
  return text;
}

}  // namespace warploom
