// How far a right element of D may be from the answer in real numbers (docs/oracle.md derives each line).
//
//   x = alpha S + beta C + bias,  S = sum of k products,  D = round(act(x))
//   |S' - S|  <= (k + 3 ceil(k/64) + splits) 2^-24 P          P: the largest partial sum there may have been
//   |x' - x|  <= |alpha| |S' - S| + 3.01 2^-24 (|alpha S| + |beta C| + |bias|)
//   D' lies between round(least act) and round(largest act) of [x - e, x + e], widened by what act itself is off by
//
// A Hopper tensor core keeps 13 bits of a sum of FP8 products: there |S' - S| has a larger unit and grows as its root.
#pragma once

#include "kernels/reference_product.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom {

/// A sum in double with what a kernel's sum may lose of it.
struct BoundedSum {
  double sum = 0;
  double lost = 0;    ///< no right kernel's sum is farther off
  double drift = 0;   ///< ... of which so much may have one sign in a whole row
  double noise = 0;   ///< ... and the rest is like a normal variable of this deviation, or narrower
  double spread = 0;  ///< how far sums of such lines lie from 0, of random data
  bool ends = true;   ///< fp32 can hold every partial sum
};

/// An element of D: the answer, and the values that are right.
struct BoundedElement {
  double want = 0;              ///< act(x), not rounded; clamped where D saturates
  double low = 0, high = 0;     ///< of act(x'), before it is rounded
  double half_unit = 0;         ///< of D's type at `want`
  double drift = 0, noise = 0;  ///< as of a sum, and of the rounding to D
  double spread = 0;            ///< how far its own sum moves it; what C and the bias give may be others' as well
  bool judged = true;           ///< false: any infinity or NaN passes, too

  /// The largest distance of a right element from `want`.
  double bound() const { return std::isfinite(want) ? std::max(want - low, high - want) + half_unit : 0; }
};

class GemmBound {
 public:
  /// `integers`: the data are made so that sums are exact.
  GemmBound(const GemmDataSpec& spec, const HowItRan& how, bool integers);

  /// Elements of k after which the reference looks at its partial sums.
  int64_t step() const { return step_; }
  /// Whether the only rounding anywhere is the last one.
  bool exact() const { return exact_sums_ && exact_epilogue_ && plain_activation(); }
  BoundedSum sum(double sum, double peak, const LineNorms& a, const LineNorms& b) const;
  BoundedElement element(const BoundedSum& sum, double source, double bias) const;
  /// Whether these bits of D are one of the values that are right.
  bool right(const BoundedElement& element, uint32_t bits) const;

 private:
  bool plain_activation() const { return spec_.activation == Activation::none || spec_.activation == Activation::relu; }

  GemmDataSpec spec_;
  int64_t step_ = 64;
  double additions_ = 0;     ///< roundings of a sum, in fp32
  double chains_ = 2;        ///< a partial sum is the difference of so many sums from the beginning of k
  double instructions_ = 0;  ///< of 32 FP8 products with 13 bits; 0: the tensor core keeps more than fp32
  bool exact_sums_ = false, exact_epilogue_ = false;
};

/// The activation in double.
double activate_exactly(Activation activation, double x);
/// e4m3 saturates.
double clamped_to(DType type, double value);
/// How many values of a type lie between two of them.
int64_t values_between(DType type, uint32_t x, uint32_t y);

}  // namespace warploom
