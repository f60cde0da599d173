#include "kernels/gemm_bound.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/gemm_values.hpp"

namespace warploom {
namespace {

constexpr double unit = 0x1p-24;  // half a unit in the last place of an fp32 number, relative
constexpr double largest_float = std::numeric_limits<float>::max();

/// The exponent of a double, -1023 for 0 and subnormals.
int exponent_of(double value) { return static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023; }
double power_of_two(int exponent) {
  return exponent < -1022 ? std::ldexp(1.0, exponent)
                          : std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// Half the distance of the type's values about there.
double half_unit_of(DType type, double value) {
  int mantissa = 23, smallest = -126;  // the exponent of the smallest normal number
  switch (type) {
    case DType::bf16: mantissa = 7; break;
    case DType::f16: mantissa = 10, smallest = -14; break;
    case DType::e4m3: mantissa = 3, smallest = -6; break;
    case DType::e5m2: mantissa = 2, smallest = -14; break;
    case DType::f32: break;
  }
  return power_of_two(std::max(exponent_of(value), smallest) - mantissa - 1);
}

/// The exponent of the last bit of a float that is not 0.
int last_bit(float value) {
  int exponent = 0;
  const float mantissa = std::frexp(value, &exponent);
  return exponent - 24 + std::countr_zero(static_cast<uint32_t>(std::ldexp(std::fabs(mantissa), 24)));
}

/// alpha S + beta C + bias of the integers that Fill::integer makes (operands to 3, C and bias to 8, scales to 4).
bool epilogue_is_exact(const GemmDataSpec& spec, double largest_sum) {
  int last = 0;
  if (spec.alpha != 0) last = std::min(last, last_bit(spec.alpha));
  if (spec.beta != 0) last = std::min(last, last_bit(spec.beta));
  const double largest =
      std::fabs(spec.alpha) * largest_sum + 8 * std::fabs(spec.beta) + (spec.bias != BiasAlong::none ? 8 : 0);
  return std::ldexp(largest, -last) <= 0x1p24;
}

/// Where the activation is least, and falls before and rises behind.
double lowest_of(Activation activation) {
  switch (activation) {
    case Activation::gelu: return -0.75179152;
    case Activation::gelu_tanh: return -0.75246142;
    case Activation::silu: return -1.27846454;
    default: return -INFINITY;
  }
}

/// What kernels/activation.hpp may be off by at a result (its header comment; tests/kernels/activation_test.cpp).
double activation_error(DType d, double value) {
  const double magnitude = std::fabs(value);
  const double relative = d == DType::f32 ? 4.25 * 0x1p-23 : magnitude > 1e-6 ? 2e-6 : 1e-5;
  return magnitude * relative + 1.1e-30;
}

}  // namespace

double activate_exactly(Activation activation, double x) {
  if (activation != Activation::none && std::isinf(x) && x < 0) return 0;  // the limit; the formulas have 0 times it
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x > 0 ? x : 0.0 * x;  // NaN stays NaN
    case Activation::gelu: return 0.5 * x * std::erfc(-x * M_SQRT1_2);
    // (1 + tanh(u)) / 2, without subtracting two numbers that are nearly the same
    case Activation::gelu_tanh: return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

double clamped_to(DType type, double value) { return type == DType::e4m3 ? std::clamp(value, -448.0, 448.0) : value; }

int64_t values_between(DType type, uint32_t x, uint32_t y) {
  const uint32_t sign = 1u << (8 * size_of(type) - 1);
  auto ordered = [&](uint32_t bits) { return (bits & sign) != 0 ? -int64_t{bits & ~sign} : int64_t{bits}; };
  return std::abs(ordered(x) - ordered(y));
}

GemmBound::GemmBound(const GemmDataSpec& spec, const HowItRan& how, bool integers) : spec_(spec) {
  const auto k = static_cast<double>(spec.k);
  const bool fp8 = size_of(spec.a) == 1;
  const bool hopper = how.plan == nullptr || how.plan->config->shape.chip == Chip::sm90;
  double splits = std::ceil(k / 64);
  if (how.plan != nullptr) {
    splits = how.plan->splits * how.plan->config->shape.cluster_k;
    if (splits == 1 && spec.scaling == Scaling::none) chains_ = 1;
  }
  // A K block that the tensor core adds up and the kernel scales costs two roundings more. A chip adds whole
  // instructions, of at most 32 k.
  const double products = how.numerics == loom::Numerics::exact ? std::ceil(k / 32) * 32 : k;
  additions_ = products + (spec.scaling == Scaling::none ? 0 : 3 * std::ceil(k / 64)) + splits;
  if (fp8 && hopper && how.numerics == loom::Numerics::exact) {
    step_ = 32;
    instructions_ = std::ceil(k / 32);
  }
  const double largest_sum = k * 9 * (spec.scaling == Scaling::none ? 1 : 16);
  exact_sums_ = integers && largest_sum <= 0x1p24;
  exact_epilogue_ = exact_sums_ && epilogue_is_exact(spec, largest_sum);
}

BoundedSum GemmBound::sum(double sum, double peak, const LineNorms& a, const LineNorms& b) const {
  BoundedSum made{.sum = sum};
  // Kernels multiply the two scale factors first. Beyond fp32 a block ends as an infinity, or as a NaN where it is 0.
  if (spec_.scaling != Scaling::none) made.ends = a.scale * b.scale < largest_float;
  // Cauchy-Schwarz: all that |a||b| can add up to, and what a step can.
  const double all = a.whole * b.whole, step = a.step * b.step;
  if (!std::isfinite(sum)) {  // an infinity or a NaN among the operands: it comes out, unless the others overflow
    made.ends = made.ends && all * (1 + 1e-9) < largest_float;
    return made;
  }
  if (spec_.k > 0) made.spread = all / std::sqrt(static_cast<double>(spec_.k));
  const double partial = std::min(all, chains_ * peak + step) * (1 + 1e-9);
  made.ends = made.ends && partial < largest_float;
  if (exact_sums_) return made;
  made.lost = made.drift = additions_ * unit * partial + (additions_ + 8) * 0x1p-149;
  // A product of scale factors below fp32's normal numbers is rounded to a multiple of 2^-149; e4m3 goes up to 448.
  if (spec_.scaling != Scaling::none) made.lost += spec_.k * (448.0 * 448.0) * 0x1p-150;
  if (instructions_ == 0) return made;
  // 33 terms of an instruction are cut to 13 bits below the largest, toward zero: half a unit on average, with the
  // term's sign. A chain is 4 instructions long where scales end it.
  const double chain = spec_.scaling == Scaling::none ? partial : std::min(partial, 4 * step);
  const double cut = 0x1p-13 * chain, n = instructions_;
  const auto of_one_sign = [&](double magnitude) { return all > 0 ? std::min(1.0, magnitude / all) : 1.0; };
  made.lost += cut * std::min(34 * n, 17 * n * of_one_sign(2 * peak) + 8 * std::sqrt(11 * n) + 17);
  // Of random terms that add up to S, more have its sign: of 33 n normal or uniform ones 0.64 or 0.75 times S / all.
  made.drift += cut * 0.75 * 17 * n * of_one_sign(std::fabs(sum));
  made.noise = cut * std::sqrt(11 * n);
  return made;
}

BoundedElement GemmBound::element(const BoundedSum& sum, double source, double bias) const {
  const double alpha = spec_.alpha, product = alpha * sum.sum, addend = spec_.beta == 0.0f ? 0 : spec_.beta * source;
  const double x = product + addend + bias;
  const double magnitude = std::fabs(product) + std::fabs(addend) + std::fabs(bias);
  double off = std::fabs(alpha) * sum.lost, slope = std::fabs(alpha), beyond = 0;
  if (!exact_epilogue_) off += 3.01 * unit * magnitude + 4 * 0x1p-149;
  BoundedElement made;
  const DType d = spec_.d;
  if (!std::isfinite(x)) {
    const double value = clamped_to(d, activate_exactly(spec_.activation, x));
    made.want = made.low = made.high = std::isnan(value) ? std::fabs(value) : value;
    // What is finite here may be an infinity of the other sign in fp32.
    double finite = 0;
    for (const double part : {product, addend, bias})
      if (std::isfinite(part)) finite += std::fabs(part);
    made.judged = sum.ends && finite < largest_float;
    return made;
  }
  made.judged = sum.ends && magnitude + off < largest_float;
  made.spread = std::fabs(alpha) * sum.spread;
  if (plain_activation()) {
    made.want = activate_exactly(spec_.activation, x);
    made.low = activate_exactly(spec_.activation, x - off);
    made.high = activate_exactly(spec_.activation, x + off);
  } else {
    made.want = activate_exactly(spec_.activation, x);
    const double below = activate_exactly(spec_.activation, x - off),
                 above = activate_exactly(spec_.activation, x + off);
    const double lowest = lowest_of(spec_.activation);
    if (off > 0) made.spread *= std::fabs(above - below) / (2 * off);  // where it is flat, all come to one value
    made.low = std::min({made.want, below, above});
    made.high = std::max({made.want, below, above});
    if (x - off < lowest && lowest < x + off) made.low = activate_exactly(spec_.activation, lowest);
    made.low -= activation_error(d, made.low);
    made.high += activation_error(d, made.high);
    slope *= 1.13;  // of gelu; the others' are less steep
    beyond = activation_error(d, made.want);
  }
  made.want = clamped_to(d, made.want);
  made.low = clamped_to(d, made.low);
  made.high = clamped_to(d, made.high);
  made.half_unit = half_unit_of(d, made.want);
  made.drift = slope * sum.drift + (exact_epilogue_ ? 0 : 4 * unit * magnitude) + beyond;
  made.noise = slope * sum.noise + made.half_unit;
  return made;
}

bool GemmBound::right(const BoundedElement& element, uint32_t bits) const {
  const DType type = spec_.d;
  const auto rounded = [&](double value) { return encode_value(type, static_cast<float>(value)); };
  const uint32_t wanted = rounded(element.want);
  if (bits == unwritten_bits(type)) return false;  // nobody wrote it, whatever the answer
  if (bits == wanted) return true;
  const float got = decode_bits(type, bits);
  // Partial sums that leave fp32's range end as an infinity or a NaN, or as what becomes of those.
  if (!element.judged && (!std::isfinite(got) || (type == DType::e4m3 && std::fabs(got) == 448.0f) ||
                          (spec_.activation != Activation::none && got == 0)))
    return true;
  if (std::isnan(element.want)) return std::isnan(got);
  // Rounding keeps order, and what a kernel rounds lies between the two; -0 and 0 are one value. NaN is beyond both.
  return got >= decode_bits(type, rounded(element.low)) && got <= decode_bits(type, rounded(element.high));
}

}  // namespace warploom
