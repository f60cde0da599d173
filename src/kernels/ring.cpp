#include "warploom/kernels/ring.hpp"

#include <algorithm>
#include <cmath>

namespace warploom {
namespace {

/// All integers up to it are values of the type.
int64_t exact_integers(DType type) {
  switch (type) {
    case DType::f32: return int64_t{1} << 24;
    case DType::f16: return 2048;
    case DType::bf16: return 256;
    case DType::e4m3: return 16;
    case DType::e5m2: return 8;
  }
  return 0;
}

bool prime(int64_t number) {
  for (int64_t by = 2; by * by <= number; ++by)
    if (number % by == 0) return false;
  return number >= 2;
}

}  // namespace

RingData ring_for(DType d, DType a, DType b, int64_t k, int64_t terms) {
  constexpr int64_t largest_modulus = 251;
  int64_t modulus = std::min(largest_modulus, exact_integers(d) / std::max<int64_t>(terms, 1) + 1);
  while (modulus >= 2 && !prime(modulus)) --modulus;
  if (modulus < 2) return {};
  const auto room = static_cast<double>(exact_integers(DType::f32) - modulus);
  const auto by_sum = static_cast<int64_t>(std::sqrt(room / static_cast<double>(std::max<int64_t>(k, 1))));
  const int64_t largest = std::min({modulus - 1, exact_integers(a), exact_integers(b), by_sum});
  if (largest < 1) return {};
  return {static_cast<uint32_t>(modulus), static_cast<uint32_t>(largest)};
}

bool same_in_ring(double got, double want, uint32_t modulus) {
  return std::floor(got) == got && std::isfinite(got) && std::fmod(got - want, modulus) == 0;
}

}  // namespace warploom
