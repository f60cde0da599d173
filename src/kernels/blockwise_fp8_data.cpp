#include "warploom/kernels/blockwise_fp8_data.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "warploom/types/convert.hpp"

namespace warploom {
namespace {

constexpr int block = 128;

int round_up(int value, int to) { return (value + to - 1) / to * to; }

/// y += sum over rows of A times rows of B, both unpadded doubles, for one output row. Four sums at a time, or the
/// latency of one addition after the other would be the speed of it.
void accumulate_row(const double* a, const std::vector<double>& b, int n, int k, double* y) {
  constexpr int at_once = 4;
  const auto depth = static_cast<size_t>(k);
  for (int j = 0; j < n; j += at_once) {
    double sums[at_once] = {};
    const double* rows[at_once];
    for (int r = 0; r < at_once; ++r) rows[r] = b.data() + static_cast<size_t>(std::min(j + r, n - 1)) * depth;
    for (size_t i = 0; i < depth; ++i)
      for (int r = 0; r < at_once; ++r) sums[r] += a[i] * rows[r][i];
    for (int r = 0; r < at_once && j + r < n; ++r) y[j + r] += sums[r];
  }
}

struct Sums {
  double xy = 0, xx = 0, yy = 0;
  void add(double x, double y) {
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  double diff() const { return xx + yy == 0 ? 0 : 1.0 - 2.0 * xy / (xx + yy); }
};

}  // namespace

BlockwiseFP8Data::BlockwiseFP8Data(int m_, int n_, int k_, Fill fill, uint64_t seed)
    : m(m_),
      n(n_),
      k(k_),
      // The epilogue adds up the K blocks, and C.
      ring_(fill == Fill::ring ? ring_for(DType::bf16, DType::e4m3, DType::e4m3, k_, (k_ + block - 1) / block + 1)
                               : RingData{}),
      k_blocks_((k_ + block - 1) / block),
      k_stride_(round_up(k_, 16)),
      n_stride_(round_up(n_, 8)),
      m_stride_(round_up(m_, 4)) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> standard;
  std::uniform_real_distribution<float> flat(-1.0f, 1.0f);
  auto value = [&] { return fill == Fill::uniform ? flat(random) : standard(random); };
  auto residue = [&](uint32_t largest) { return static_cast<float>(random() % (largest + 1)); };
  auto small = [&](int limit) { return static_cast<float>(static_cast<int>(random() % (2 * limit + 1)) - limit); };
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const auto blocks = static_cast<size_t>(k_blocks_);
  const auto k_stride = static_cast<size_t>(k_stride_);
  a_.assign(rows * k_stride, e4m3{0x7f});  // padding is NaN: it must never be read
  b_.assign(columns * k_stride, e4m3{0x7f});
  a_scales_.assign(blocks * static_cast<size_t>(m_stride_), NAN);
  b_scales_.assign((columns + block - 1) / block * blocks, 0.0f);
  c_.assign(rows * static_cast<size_t>(n_stride_), bf16{0x7fff});
  d.assign(rows * static_cast<size_t>(n_stride_), bf16{0x7fff});
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      c_[i * static_cast<size_t>(n_stride_) + j] =
          to_bf16(fill == Fill::integer ? small(8)
                  : fill == Fill::ring  ? residue(std::max(ring_.modulus, 1u) - 1)
                                        : value());

  if (fill == Fill::integer) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t q = 0; q < depth; ++q) a_[i * k_stride + q] = to_e4m3(small(3));
    for (size_t j = 0; j < columns; ++j)
      for (size_t q = 0; q < depth; ++q) b_[j * k_stride + q] = to_e4m3(small(3));
    for (size_t kb = 0; kb < blocks; ++kb)
      for (size_t i = 0; i < rows; ++i)
        a_scales_[kb * static_cast<size_t>(m_stride_) + i] = static_cast<float>(1u << random() % 3);
    for (float& scale : b_scales_) scale = static_cast<float>(1u << random() % 3);
    return;
  }

  if (fill == Fill::ring) {
    for (size_t i = 0; i < rows; ++i)
      for (size_t q = 0; q < depth; ++q) a_[i * k_stride + q] = to_e4m3(residue(ring_.largest));
    for (size_t j = 0; j < columns; ++j)
      for (size_t q = 0; q < depth; ++q) b_[j * k_stride + q] = to_e4m3(residue(ring_.largest));
    for (size_t kb = 0; kb < blocks; ++kb)
      std::fill_n(a_scales_.begin() + static_cast<std::ptrdiff_t>(kb * static_cast<size_t>(m_stride_)), rows, 1.0f);
    std::fill(b_scales_.begin(), b_scales_.end(), 1.0f);
    return;
  }

  a_source_.resize(rows * depth);
  b_source_.resize(columns * depth);
  for (float& element : a_source_) element = value();
  for (float& element : b_source_) element = value();
  constexpr float largest = 448.0f;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t kb = 0; kb < blocks; ++kb) {
      const size_t first = kb * block, last = std::min(depth, first + block);
      float amax = 0;
      for (size_t q = first; q < last; ++q) amax = std::max(amax, std::fabs(a_source_[i * depth + q]));
      const float scale = amax > 0 ? amax / largest : 1.0f;
      a_scales_[kb * static_cast<size_t>(m_stride_) + i] = scale;
      for (size_t q = first; q < last; ++q) a_[i * k_stride + q] = to_e4m3(a_source_[i * depth + q] / scale);
    }
  }
  for (size_t nb = 0; nb * block < columns; ++nb) {
    for (size_t kb = 0; kb < blocks; ++kb) {
      const size_t j_last = std::min(columns, (nb + 1) * block), q_last = std::min(depth, (kb + 1) * block);
      float amax = 0;
      for (size_t j = nb * block; j < j_last; ++j)
        for (size_t q = kb * block; q < q_last; ++q) amax = std::max(amax, std::fabs(b_source_[j * depth + q]));
      const float scale = amax > 0 ? amax / largest : 1.0f;
      b_scales_[nb * blocks + kb] = scale;
      for (size_t j = nb * block; j < j_last; ++j)
        for (size_t q = kb * block; q < q_last; ++q) b_[j * k_stride + q] = to_e4m3(b_source_[j * depth + q] / scale);
    }
  }
}

BlockwiseFP8Problem BlockwiseFP8Data::problem(float alpha, float beta) {
  std::fill(d.begin(), d.end(), bf16{0x7fff});
  return {.m = m,
          .n = n,
          .k = k,
          .a = {a_.data(), k_stride_},
          .b = {b_.data(), k_stride_},
          .a_scales = {a_scales_.data(), m_stride_},
          .b_scales = b_scales_.data(),
          .c = {c_.data(), n_stride_},
          .d = {d.data(), n_stride_},
          .alpha = alpha,
          .beta = beta};
}

BlockwiseFP8Data::Accuracy BlockwiseFP8Data::compare(float alpha, float beta, int max_rows) const {
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const auto blocks = static_cast<size_t>(k_blocks_);
  std::vector<double> b(columns * depth), b_source(b_source_.begin(), b_source_.end());
  for (size_t j = 0; j < columns; ++j)
    for (size_t q = 0; q < depth; ++q)
      b[j * depth + q] = static_cast<double>(to_float(b_[j * static_cast<size_t>(k_stride_) + q])) *
                         b_scales_[j / block * blocks + q / block];

  Accuracy accuracy;
  Sums dequantised, source;
  double largest = 0;
  std::vector<double> a(depth), y(columns), y_source(columns), magnitude(columns), b_norms(columns);
  for (size_t j = 0; j < columns; ++j)
    for (size_t q = 0; q < depth; ++q) b_norms[j] += b[j * depth + q] * b[j * depth + q];
  const double alpha_magnitude = std::fabs(alpha);
  const size_t compared = std::min(rows, static_cast<size_t>(std::max(max_rows, 1)));
  accuracy.rows = static_cast<int>(compared);
  for (size_t r = 0; r < compared; ++r) {
    const size_t i = r * rows / compared;
    for (size_t q = 0; q < depth; ++q)
      a[q] = static_cast<double>(to_float(a_[i * static_cast<size_t>(k_stride_) + q])) *
             a_scales_[q / block * static_cast<size_t>(m_stride_) + i];
    std::fill(y.begin(), y.end(), 0.0);
    accumulate_row(a.data(), b, n, k, y.data());
    // A bound on what the sum of magnitudes may be, by Cauchy and Schwarz: cheap, and tight enough for a rounding
    // bound.
    double a_norm = 0;
    for (double value : a) a_norm += value * value;
    for (size_t j = 0; j < columns; ++j) magnitude[j] = std::sqrt(a_norm * b_norms[j]);
    if (!b_source.empty()) {
      for (size_t q = 0; q < depth; ++q) a[q] = a_source_[i * depth + q];
      std::fill(y_source.begin(), y_source.end(), 0.0);
      accumulate_row(a.data(), b_source, n, k, y_source.data());
    }
    for (size_t j = 0; j < static_cast<size_t>(n_stride_); ++j) {
      const bf16 got = d[i * static_cast<size_t>(n_stride_) + j];
      if (j >= columns) {
        accuracy.padding_untouched = accuracy.padding_untouched && got.bits == 0x7fff;
        continue;
      }
      double residual = 0;
      if (beta != 0) residual = static_cast<double>(beta) * to_float(c_[i * static_cast<size_t>(n_stride_) + j]);
      const double want = alpha * y[j] + residual;
      const double have = to_float(got);
      if (ring_.modulus != 0) {
        const bool same = same_in_ring(have, want, ring_.modulus);
        accuracy.rounding_mismatches += !same;
        accuracy.within_rounding = accuracy.within_rounding && same;
        accuracy.max_abs_error = std::max(accuracy.max_abs_error, same ? 0.0 : 1.0);
        continue;
      }
      // A NaN in the result must not vanish in a maximum.
      const double error = std::isnan(have) ? INFINITY : std::fabs(have - want);
      const double sum_error = std::ldexp(alpha_magnitude * magnitude[j] + std::fabs(residual), -20);
      accuracy.within_rounding = accuracy.within_rounding && error <= std::ldexp(std::fabs(want), -8) + sum_error;
      accuracy.max_abs_error = std::max(accuracy.max_abs_error, error);
      largest = std::max(largest, std::fabs(want));
      dequantised.add(have, want);
      if (!b_source.empty()) source.add(have, alpha * y_source[j] + residual);
      accuracy.rounding_mismatches += to_bf16(static_cast<float>(want)) != got;
    }
  }
  accuracy.max_rel_error = largest > 0 ? accuracy.max_abs_error / largest : accuracy.max_abs_error;
  accuracy.diff = dequantised.diff();
  accuracy.diff_unquantised = source.diff();
  return accuracy;
}

}  // namespace warploom
