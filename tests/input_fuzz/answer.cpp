#include "input_fuzz/answer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "kernels/gemm_values.hpp"

namespace warploom::test::input_fuzz {
namespace {

double element(const void* data, DType type, int64_t at) {
  return decode_value(type, static_cast<const std::byte*>(data) + at * size_of(type));
}

/// Of tf32 the tensor core reads the upper bits.
double operand(const OperandRef& ref, int64_t matrix, int64_t line, int64_t k) {
  const int64_t at =
      matrix * ref.batch_stride + (ref.major == Major::k ? line * ref.stride + k : k * ref.stride + line);
  double value = 0;
  decode_values(ref.type, static_cast<const std::byte*>(ref.data) + at * size_of(ref.type), 1, 1, &value);
  return value;
}

double act(Activation activation, double x) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return std::fmax(x, 0);
    case Activation::gelu: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh: return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

struct Rounding {
  double relative, least, largest;  ///< of a value, and of its smallest units; beyond the largest it overflows
};
Rounding rounding_of(DType type) {
  switch (type) {
    case DType::f32: return {1e-6, 1e-30, 1e38};
    case DType::f16: return {0x1p-10, 0x1p-24, 65000};
    case DType::bf16: return {0x1p-8, 1e-30, 1e38};
    case DType::e4m3: return {0x1p-4, 0x1p-9, 448};
    case DType::e5m2: return {0x1p-3, 0x1p-16, 57344};
  }
  return {};
}

}  // namespace

std::string wrong_answer(const GemmProblem& p, bool few_bits) {
  const Rounding rounding = rounding_of(p.d.type);
  const int64_t k_blocks = (p.k + 127) / 128;
  for (int64_t z = 0; z < p.batch; ++z)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0, sizes = 0, largest_scale = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          double product = operand(p.a, z, i, k) * operand(p.b, z, j, k);
          if (p.scaling != Scaling::none) {
            const int64_t line = k / 128 * p.b_scales.stride;
            const int64_t of_b = p.scaling == Scaling::a_rows_b_rows ? line + j : j / 128 * k_blocks + k / 128;
            const double scale =
                double{p.a_scales.data[z * p.a_scales.batch_stride + k / 128 * p.a_scales.stride + i]} *
                double{p.b_scales.data[z * p.b_scales.batch_stride + of_b]};
            product *= scale;
            largest_scale = std::fmax(largest_scale, std::fabs(scale));
          }
          sum += product;
          sizes += std::fabs(product);
        }
        const double scaled = p.alpha * sum;
        const double source =
            p.beta == 0 ? 0 : p.beta * element(p.c.data, p.c.type, z * p.c.batch_stride + i * p.c.stride + j);
        const double bias = p.bias.along == BiasAlong::none
                                ? 0
                                : element(p.bias.data, p.bias.type, p.bias.along == BiasAlong::n ? j : i);
        const double x = scaled + source + bias, largest = sizes * std::fmax(1, std::fabs(double{p.alpha}));
        // A NaN, an infinity or a partial sum near one: what comes of it depends on the order of the sum.
        if (!std::isfinite(x) || !(largest + largest_scale + std::fabs(source) + std::fabs(bias) < 1e37)) continue;
        const double expected = act(p.activation, x);
        const double lost = std::fabs(double{p.alpha}) * sizes * (few_bits ? 0x1p-9 : (p.k + 64) * 0x1p-22) +
                            0x1p-20 * (std::fabs(scaled) + std::fabs(source) + std::fabs(bias));
        const double bound = 1.2 * lost + rounding.relative * std::fabs(expected) + rounding.least + 2e-6;
        if (p.d.type == DType::f16 && std::fabs(expected) + bound > rounding.largest) continue;
        const double limited = std::fmax(-rounding.largest, std::fmin(rounding.largest, expected));
        const double got = element(p.d.data, p.d.type, z * p.d.batch_stride + i * p.d.stride + j);
        if (std::fabs(got - limited) <= bound) continue;
        return fmt::format("D[{}][{}, {}] is {}, and the answer {} (within {:.3g})", z, i, j, got, limited, bound);
      }
  return {};
}

}  // namespace warploom::test::input_fuzz
