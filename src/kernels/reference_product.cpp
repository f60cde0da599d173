#include "kernels/reference_product.hpp"

#include <cstring>

namespace warploom {
namespace {

constexpr int64_t width = PackedLines::width;
using Wide [[gnu::vector_size(width * sizeof(double))]] = double;

/// What one step of k adds to 8 rows by `panels` times 8 columns.
struct Step {
  const double* a;  ///< [k][8]
  const double* b;  ///< [k][8], the next panel b_pitch behind
  int64_t b_pitch;
  int64_t k;
  double* sums;  ///< rows `pitch` apart
  double* peaks;
  int64_t pitch;
};

/// `rows` of the 8, from `first` on: as many as the sums of fit into registers.
template <int rows, int panels>
[[gnu::always_inline]] inline void add_rows(const Step& s, int first) {
  Wide sums[rows][panels];
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p) std::memcpy(&sums[r][p], s.sums + (first + r) * s.pitch + p * width, sizeof(Wide));
  for (int64_t q = 0; q < s.k; ++q) {
    Wide column[panels];
    for (int p = 0; p < panels; ++p) std::memcpy(&column[p], s.b + p * s.b_pitch + q * width, sizeof(Wide));
    for (int r = 0; r < rows; ++r)
      for (int p = 0; p < panels; ++p) sums[r][p] += s.a[q * width + first + r] * column[p];
  }
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < panels; ++p) {
      const int64_t at = (first + r) * s.pitch + p * width;
      Wide peak;
      std::memcpy(&peak, s.peaks + at, sizeof peak);
      const Wide magnitude = sums[r][p] < 0 ? -sums[r][p] : sums[r][p];
      peak = magnitude > peak ? magnitude : peak;
      std::memcpy(s.peaks + at, &peak, sizeof peak);
      std::memcpy(s.sums + at, &sums[r][p], sizeof(Wide));
    }
}

template <int rows, int panels>
[[gnu::always_inline]] inline void add_step(const Step& s) {
  for (int first = 0; first < width; first += rows) add_rows<rows, panels>(s, first);
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void one_avx512(const Step& s) { add_step<8, 1>(s); }
[[gnu::target("avx512f")]] void two_avx512(const Step& s) { add_step<8, 2>(s); }
[[gnu::target("avx2,fma")]] void one_avx2(const Step& s) { add_step<4, 1>(s); }
#endif
void one_portable(const Step& s) { add_step<2, 1>(s); }

struct Kernel {
  void (*one)(const Step&);
  void (*two)(const Step&);  ///< two panels at once, or null
};
Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {&one_avx512, &two_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {&one_avx2, nullptr};
#endif
  return {&one_portable, nullptr};
}

}  // namespace

void PackedLines::set(int64_t line, const double* values, double scale) {
  double* const to = values_.data() + line / width * k_ * width + line % width;
  LineNorms norms;
  for (int64_t begin = 0; begin < k_; begin += step_) {
    const int64_t end = std::min(k_, begin + step_);
    double squares = 0;
    for (int64_t q = begin; q < end; ++q) {
      to[q * width] = values[q];
      squares += std::isfinite(values[q]) ? values[q] * values[q] : 0;
    }
    norms.whole += squares;
    norms.step = std::max(norms.step, squares);
  }
  norms_[static_cast<size_t>(line)] = {std::sqrt(norms.whole), std::sqrt(norms.step), scale};
}

ReferencePanel::ReferencePanel(const PackedLines& a, int64_t first, int64_t count, const PackedLines& b) {
  static const Kernel kernel = best_kernel();
  const int64_t rows = (count + width - 1) / width, panels = (b.count() + width - 1) / width;
  pitch_ = panels * width;
  sums_.resize(static_cast<size_t>(rows * width * pitch_));
  peaks_.resize(sums_.size());
  // A step of all of A's rows stays in the caches while B's columns pass by.
  for (int64_t begin = 0; begin < a.k(); begin += a.step()) {
    const int64_t k = std::min(a.step(), a.k() - begin);
    for (int64_t panel = 0; panel < panels;) {
      const bool two = kernel.two != nullptr && panel + 2 <= panels;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t at = row * width * pitch_ + panel * width;
        (two ? kernel.two : kernel.one)({a.group(first / width + row) + begin * width, b.group(panel) + begin * width,
                                         b.k() * width, k, sums_.data() + at, peaks_.data() + at, pitch_});
      }
      panel += two ? 2 : 1;
    }
  }
}

}  // namespace warploom
