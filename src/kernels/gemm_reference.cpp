// The answer in double precision, and how far a result is from it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gemm_values.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom {
namespace {

constexpr int64_t block = 128;
constexpr int panel = 8;  // columns of B that are multiplied at a time
constexpr int64_t rows_at_once = 256;

// ---- 8 columns of B, [k][8], by rows of A

using Wide [[gnu::vector_size(panel * sizeof(double))]] = double;

template <int rows>
[[gnu::always_inline]] inline void multiply_rows(const double* a, int64_t k, const double* b, double* y,
                                                 int64_t pitch) {
  Wide sums[rows] = {};
  for (int64_t q = 0; q < k; ++q) {
    Wide column;
    std::memcpy(&column, b + q * panel, sizeof column);
    for (int r = 0; r < rows; ++r) sums[r] += a[r * k + q] * column;
  }
  for (int r = 0; r < rows; ++r) std::memcpy(y + r * pitch, &sums[r], sizeof(Wide));
}

template <int rows>
[[gnu::always_inline]] inline void multiply_panel(const double* a, int64_t count, int64_t k, const double* b, double* y,
                                                  int64_t pitch) {
  int64_t r = 0;
  for (; r + rows <= count; r += rows) multiply_rows<rows>(a + r * k, k, b, y + r * pitch, pitch);
  for (; r < count; ++r) multiply_rows<1>(a + r * k, k, b, y + r * pitch, pitch);
}

// As many rows at a time as the sums of fit into registers.
#if defined(__x86_64__)
[[gnu::target("avx512f")]] void panel_avx512(const double* a, int64_t count, int64_t k, const double* b, double* y,
                                             int64_t pitch) {
  multiply_panel<8>(a, count, k, b, y, pitch);
}
[[gnu::target("avx2")]] void panel_avx2(const double* a, int64_t count, int64_t k, const double* b, double* y,
                                        int64_t pitch) {
  multiply_panel<4>(a, count, k, b, y, pitch);
}
#endif
void panel_portable(const double* a, int64_t count, int64_t k, const double* b, double* y, int64_t pitch) {
  multiply_panel<2>(a, count, k, b, y, pitch);
}

using Panel = decltype(&panel_portable);
Panel best_panel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &panel_avx512;
  if (__builtin_cpu_supports("avx2")) return &panel_avx2;
#endif
  return &panel_portable;
}

double activate(Activation activation, double x) {
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

struct Sums {
  double xy = 0, xx = 0, yy = 0;
  void add(double x, double y) {
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  double diff() const { return xx + yy == 0 ? 0 : 1.0 - 2.0 * xy / (xx + yy); }
};

/// What rounding may lose of a value near zero, where a type's values are evenly spaced: half of its smallest one. The
/// sum before is rounded to fp32: as much again for f32, next to nothing for bf16.
double least_rounding(DType type) {
  switch (type) {
    case DType::bf16: return std::ldexp(1.0, -134) + std::ldexp(1.0, -149);
    case DType::f16: return std::ldexp(1.0, -25);
    case DType::f32: return std::ldexp(1.0, -149);
    default: return std::ldexp(1.0, -10);
  }
}

/// Half a unit in the last place of a value in that type, and a little.
double rounding(DType type, double value) {
  const double magnitude = std::fabs(value), least = least_rounding(type);
  switch (type) {
    case DType::bf16: return std::ldexp(magnitude, -8) + least;
    case DType::f16: return std::ldexp(magnitude, -10) + least;
    case DType::f32: return std::ldexp(magnitude, -22) + least;
    default: return std::ldexp(magnitude, -4) + least;
  }
}

/// The smallest magnitude that rounds to infinity; e4m3 has none.
double least_infinite(DType type) {
  switch (type) {
    case DType::bf16: return std::ldexp(1.0, 128) - std::ldexp(1.0, 119);
    case DType::f16: return 65520;
    case DType::f32: return std::ldexp(1.0, 128) - std::ldexp(1.0, 103);
    default: return INFINITY;
  }
}

/// e4m3 saturates.
double clamped(DType type, double value) { return type == DType::e4m3 ? std::clamp(value, -448.0, 448.0) : value; }

bool is_fp8(DType type) { return size_of(type) == 1; }

/// How many values of a type lie between two of them.
int64_t ulps_between(DType type, uint32_t x, uint32_t y) {
  const uint32_t sign = 1u << (8 * size_of(type) - 1);
  auto ordered = [&](uint32_t bits) { return (bits & sign) != 0 ? -int64_t{bits & ~sign} : int64_t{bits}; };
  return std::abs(ordered(x) - ordered(y));
}

}  // namespace

void GemmData::decode_a_row(int64_t matrix, int64_t row, double* values) const {
  if (spec_.a_major == Major::k)
    decode_values(a_.type, a_.at(matrix, row), 1, spec_.k, values);
  else
    decode_values(a_.type, a_.at(matrix, 0) + row * size_of(a_.type), a_.stride, spec_.k, values);
  if (spec_.scaling == Scaling::none) return;
  const float* const scales = a_scales_.of(matrix);
  for (int64_t q = 0; q < spec_.k; ++q) values[q] *= scales[q / block * a_scales_.stride + row];
}

void GemmData::decode_b_columns(int64_t matrix, int64_t first, int count, double* to) const {
  const int64_t k = spec_.k;
  const float* const scales = b_scales_.of(matrix);
  std::vector<double> column(static_cast<size_t>(k));
  for (int c = 0; c < panel; ++c) {
    const int64_t row = first + std::min(c, count - 1);
    if (spec_.b_major == Major::k)
      decode_values(b_.type, b_.at(matrix, row), 1, k, column.data());
    else
      decode_values(b_.type, b_.at(matrix, 0) + row * size_of(b_.type), b_.stride, k, column.data());
    for (int64_t q = 0; q < k; ++q) {
      double value = column[static_cast<size_t>(q)];
      if (spec_.scaling == Scaling::a_rows_b_rows) value *= scales[q / block * b_scales_.stride + row];
      if (spec_.scaling == Scaling::a_rows_b_blocks) value *= scales[row / block * b_scales_.stride + q / block];
      to[q * panel + c] = value;
    }
  }
}

/// y[r][j] = rows[r] . B[j] for all columns, `pitch` of y being n rounded up to whole panels.
void GemmData::multiply(int64_t matrix, const std::vector<double>& rows, int64_t count, bool unquantised,
                        std::vector<double>& y, std::vector<double>* b_norms) const {
  const Panel multiply_by = best_panel();
  const int64_t k = spec_.k, panels = (spec_.n + panel - 1) / panel, pitch = panels * panel;
  in_parallel(panels, panels * panel * k, [&](int64_t index) {
    const int64_t first = index * panel;
    const int width = static_cast<int>(std::min<int64_t>(panel, spec_.n - first));
    std::vector<double> b(static_cast<size_t>(panel * k));
    if (unquantised) {
      std::vector<float> row(static_cast<size_t>(k));
      for (int c = 0; c < panel; ++c) {
        unquantised_row(stream_b, matrix * spec_.n + first + std::min(c, width - 1), row.data());
        for (int64_t q = 0; q < k; ++q) b[static_cast<size_t>(q * panel + c)] = row[static_cast<size_t>(q)];
      }
    } else {
      decode_b_columns(matrix, first, width, b.data());
    }
    if (b_norms != nullptr)
      for (int c = 0; c < panel; ++c) {
        double sum = 0;
        for (int64_t q = 0; q < k; ++q) {
          const double value = b[static_cast<size_t>(q * panel + c)];
          sum += value * value;
        }
        (*b_norms)[static_cast<size_t>(first + c)] = sum;
      }
    multiply_by(rows.data(), count, k, b.data(), y.data() + first, pitch);
  });
}

GemmData::Accuracy GemmData::compare(int64_t max_rows) const {
  const int64_t m = spec_.m, n = spec_.n, k = spec_.k, total = m * spec_.batch;
  const int64_t compared = std::min(total, std::max<int64_t>(max_rows, 1));
  const int64_t pitch = (n + panel - 1) / panel * panel;
  const DType type = d_.type;
  const bool against_source =
      spec_.scaling != Scaling::none && made_up_ && spec_.fill != Fill::integer && spec_.fill != Fill::ring;
  // What summing in fp32 may lose, relative to the product of the operands' norms: Hopper keeps about 13 bits of an FP8
  // sum (hardware.md §4.17).
  const int lost = is_fp8(spec_.a) ? -10 : -20;

  Accuracy accuracy;
  accuracy.rows = compared;
  Sums stored, source;
  double largest = 0;
  std::vector<double> b_norms(static_cast<size_t>(pitch));
  for (int64_t done = 0; done < compared;) {
    const int64_t matrix = done * total / compared / m;
    std::vector<int64_t> rows;
    for (; done < compared && done * total / compared / m == matrix && static_cast<int64_t>(rows.size()) < rows_at_once;
         ++done)
      rows.push_back(done * total / compared % m);
    const auto count = static_cast<int64_t>(rows.size());
    std::vector<double> a(static_cast<size_t>(count * k)), y(static_cast<size_t>(count * pitch)), y_source;
    for (int64_t r = 0; r < count; ++r) decode_a_row(matrix, rows[static_cast<size_t>(r)], a.data() + r * k);
    multiply(matrix, a, count, false, y, &b_norms);
    if (against_source) {
      std::vector<double> a_source(static_cast<size_t>(count * k));
      std::vector<float> row(static_cast<size_t>(k));
      for (int64_t r = 0; r < count; ++r) {
        unquantised_row(stream_a, (spec_.shared_a ? 0 : matrix * m) + rows[static_cast<size_t>(r)], row.data());
        std::copy(row.begin(), row.end(), a_source.begin() + r * k);
      }
      y_source.resize(y.size());
      multiply(matrix, a_source, count, true, y_source, nullptr);
    }
    for (int64_t r = 0; r < count; ++r) {
      const int64_t i = rows[static_cast<size_t>(r)];
      double a_norm = 0;
      for (int64_t q = 0; q < k; ++q) a_norm += a[static_cast<size_t>(r * k + q)] * a[static_cast<size_t>(r * k + q)];
      const std::byte* d_row = d_.at(matrix, i);
      for (int64_t j = 0; j < n; ++j) {
        double addend = 0;
        if (spec_.beta != 0.0f)
          addend = static_cast<double>(spec_.beta) * decode_value(c_.type, c_.at(matrix, i) + j * size_of(c_.type));
        if (spec_.bias != BiasAlong::none)
          addend +=
              decode_value(bias_.type, bias_.bytes.data() + (spec_.bias == BiasAlong::n ? j : i) * size_of(bias_.type));
        auto finished = [&](double sum) {
          return clamped(type, activate(spec_.activation, static_cast<double>(spec_.alpha) * sum + addend));
        };
        const double want = finished(y[static_cast<size_t>(r * pitch + j)]);
        const uint32_t got_bits = load_bits(type, d_row + j * size_of(type));
        const double stored_value = decode_value(type, d_row + j * size_of(type));
        const uint32_t want_bits = encode_value(type, static_cast<float>(want));
        // A NaN or an infinity that is the right answer is no error. One that is not must not vanish in a maximum; but
        // an infinity is as far from a finite answer as the values are that round to it.
        const bool right_without_end =
            (std::isnan(stored_value) && std::isnan(want)) || (std::isinf(stored_value) && got_bits == want_bits);
        const double got = std::isinf(stored_value) && std::isfinite(want)
                               ? std::copysign(least_infinite(type), stored_value)
                               : stored_value;
        const double error = right_without_end                         ? 0
                             : std::isnan(got) || !std::isfinite(want) ? INFINITY
                                                                       : std::fabs(got - want);
        if (spec_.fill == Fill::ring && made_up_) {
          const bool same = ring_.modulus != 0 && same_in_ring(stored_value, want, ring_.modulus);
          accuracy.rounding_mismatches += !same;
          accuracy.within_rounding = accuracy.within_rounding && same;
          accuracy.max_abs_error = std::max(accuracy.max_abs_error, same ? 0.0 : 1.0);
          continue;
        }
        if (right_without_end) continue;
        const double magnitude =
            std::fabs(spec_.alpha) * std::sqrt(a_norm * b_norms[static_cast<size_t>(j)]) + std::fabs(addend);
        const double sum_error = std::ldexp(magnitude, lost);
        accuracy.within_rounding =
            accuracy.within_rounding && std::isfinite(error) && error <= rounding(type, want) + 1.2 * sum_error;
        accuracy.max_abs_error = std::max(accuracy.max_abs_error, error);
        // -0 and 0 are one value: which of them a sum of zeros gives is not the answer's business.
        accuracy.rounding_mismatches += got_bits != want_bits && !(got == 0 && want == 0);
        if (std::fabs(want) > 1e-30)
          accuracy.max_ulps = std::max(accuracy.max_ulps, ulps_between(type, got_bits, want_bits));
        if (std::isfinite(want)) largest = std::max(largest, std::fabs(want));
        // Where all of D lies near zero, what rounding there loses is no measure of the kernel.
        const double judged = error <= least_rounding(type) ? want : got;
        stored.add(judged, want);
        if (against_source) source.add(judged, finished(y_source[static_cast<size_t>(r * pitch + j)]));
      }
    }
  }
  // Whatever is not an element of D is as it was.
  const uint32_t untouched = nan_bits(type);
  auto check = [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      accuracy.padding_untouched =
          accuracy.padding_untouched && load_bits(type, d_.bytes.data() + e * size_of(type)) == untouched;
  };
  int64_t at = 0;
  if (n > 0)
    for (int64_t line = 0; line < total; ++line) {
      const int64_t begin = d_.offset + line / m * d_.batch_stride + line % m * d_.stride;
      check(at, begin);
      at = begin + n;
    }
  check(at, static_cast<int64_t>(d_.bytes.size() / size_of(type)));
  accuracy.max_rel_error = largest > 0 ? accuracy.max_abs_error / largest : accuracy.max_abs_error;
  accuracy.diff = stored.diff();
  accuracy.diff_unquantised = source.diff();
  return accuracy;
}

GemmData::Accuracy GemmData::compare_quickly() const {
  constexpr double quick = 8e9;  // multiply-adds in double
  const double row = std::max(1.0, static_cast<double>(spec_.n) * spec_.k * (spec_.scaling != Scaling::none ? 2 : 1));
  return compare(static_cast<int64_t>(std::clamp(quick / row, 8.0, 1e15)));
}

bool GemmData::acceptable(const Accuracy& accuracy) const {
  if (!accuracy.padding_untouched) return false;
  if (made_up_ && spec_.fill == Fill::ring) return accuracy.rounding_mismatches == 0;
  const bool exact = spec_.activation == Activation::none || spec_.activation == Activation::relu;
  if (made_up_ && spec_.fill == Fill::integer && exact) return accuracy.rounding_mismatches == 0;
  // Few outputs are judged one by one. Over many, the rounding of D alone gives a diff of about 1.4e-6 in bf16, 2e-8 in
  // f16 and 3e-4 in e4m3; sums of FP8 products lose bits on Hopper, the more the longer they are.
  if (accuracy.rows * spec_.n < 512) return accuracy.within_rounding;
  double limit = 0;
  switch (spec_.d) {
    case DType::bf16: limit = 3e-6; break;
    case DType::f16: limit = 1e-7; break;
    case DType::f32: limit = 1e-9; break;
    default: limit = 1e-3; break;
  }
  if (is_fp8(spec_.a)) limit += spec_.scaling == Scaling::none ? 5e-5 : 1e-6;
  return accuracy.diff < limit && accuracy.diff_unquantised < (spec_.d == DType::e4m3 ? 2e-3 : 1e-3);
}

}  // namespace warploom
