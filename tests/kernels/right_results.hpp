// Right results without a kernel: the sums of a GEMM in fp32, in orders that kernels have, and their epilogue.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/gemm_values.hpp"
#include "warploom/kernels/activation.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom::test {

/// Sums over consecutive parts of k, each in ascending or descending order, added to each other.
struct Order {
  int parts = 1;
  bool descending = false;
  bool truncating = false;  ///< toward zero, as a tensor core's
};

inline float cut_toward_zero(double value) {
  const auto nearest = static_cast<float>(value);
  return std::fabs(nearest) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}
inline float plus(double a, double b, bool truncating) {
  return truncating ? cut_toward_zero(a + b) : static_cast<float>(a + b);
}

inline std::byte* element_at(const GemmProblem& p, int64_t matrix, int64_t i, int64_t j) {
  return static_cast<std::byte*>(p.d.data) + (matrix * p.d.batch_stride + i * p.d.stride + j) * size_of(p.d.type);
}

/// An operand's line, decoded.
inline std::vector<double> line_of(const OperandRef& ref, int64_t matrix, int64_t line, int k) {
  std::vector<double> values(static_cast<size_t>(k));
  const bool along = ref.major == Major::k;
  const int64_t at = matrix * ref.batch_stride + (along ? line * ref.stride : line);
  decode_values(ref.type, static_cast<const std::byte*>(ref.data) + at * size_of(ref.type), along ? 1 : ref.stride, k,
                values.data());
  return values;
}

inline float epilogue(const GemmProblem& p, int64_t z, int64_t i, int64_t j, float sum) {
  float x = p.alpha == 1.0f ? sum : p.alpha * sum;
  if (p.beta != 0.0f)
    x = std::fma(p.beta,
                 decode_value(p.c.type, static_cast<const std::byte*>(p.c.data) +
                                            (z * p.c.batch_stride + i * p.c.stride + j) * size_of(p.c.type)),
                 x);
  if (p.bias.along != BiasAlong::none)
    x += decode_value(p.bias.type, static_cast<const std::byte*>(p.bias.data) +
                                       (p.bias.along == BiasAlong::n ? j : i) * size_of(p.bias.type));
  if (p.d.type == DType::f32) return activate(p.activation, x);
  switch (p.activation) {
    case Activation::gelu: return narrow::gelu(x);
    case Activation::gelu_tanh: return narrow::gelu_tanh(x);
    case Activation::silu: return narrow::silu(x);
    default: return activate(p.activation, x);
  }
}

/// D of the whole problem.
inline void solve_in_fp32(const GemmProblem& p, const Order& order = {}) {
  std::vector<std::vector<double>> columns(static_cast<size_t>(p.n));
  const int parts = std::max(1, std::min(order.parts, (p.k + 127) / 128));
  const int share = (((p.k + 127) / 128) + parts - 1) / parts * 128;
  for (int64_t z = 0; z < p.batch; ++z) {
    for (int64_t j = 0; j < p.n; ++j) columns[static_cast<size_t>(j)] = line_of(p.b, z, j, p.k);
    for (int64_t i = 0; i < p.m; ++i) {
      const std::vector<double> row = line_of(p.a, z, i, p.k);
      for (int64_t j = 0; j < p.n; ++j) {
        const std::vector<double>& column = columns[static_cast<size_t>(j)];
        float whole = 0;
        for (int begin = 0; begin < p.k; begin += share) {
          const int end = std::min(p.k, begin + share);
          float part = 0, block = 0;
          for (int q = begin; q < end; ++q) {
            const auto at = static_cast<size_t>(order.descending ? begin + end - 1 - q : q);
            block = plus(block, row[at] * column[at], order.truncating);
            const bool scaled = p.scaling != Scaling::none;
            const int next = order.descending ? begin + end - 2 - q : q + 1;
            if (q + 1 < end && (!scaled || next / 128 == static_cast<int>(at) / 128)) continue;
            if (scaled) {
              const auto kb = static_cast<int64_t>(at / 128);
              const float of_b =
                  p.scaling == Scaling::a_rows_b_rows
                      ? p.b_scales.data[z * p.b_scales.batch_stride + kb * p.b_scales.stride + j]
                      : p.b_scales.data[z * p.b_scales.batch_stride + j / 128 * ((p.k + 127) / 128) + kb];
              part = std::fma(block, p.a_scales.data[z * p.a_scales.batch_stride + kb * p.a_scales.stride + i] * of_b,
                              part);
            } else {
              part = block;
            }
            block = 0;
          }
          whole += part;
        }
        const float y = epilogue(p, z, i, j, whole);
        store_bits(p.d.type, element_at(p, z, i, j), encode_value(p.d.type, y));
      }
    }
  }
}

}  // namespace warploom::test
