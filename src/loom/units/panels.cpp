// What runs everywhere, and the choice of what runs here. Intrinsics behind a run-time choice rather than
// target_clones: those need ifuncs, which sanitizers and static linking dislike, and leave it to the compiler whether a
// loop becomes fused multiply-adds.
#include "loom/units/panels.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "loom/units/panels_x86.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t canonical_nan = 0x7fffffff;

void pack_portable(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  // Through rows of K, which is how operands are converted elsewhere; the last step is only a transposition.
  constexpr uint32_t most_rows = 256, most_k = mma_k_bytes;
  static thread_local std::array<float, size_t{most_rows} * most_k> rows;
  convert_operand(operand, shared, rows.data(), operand.k, 1);
  for (uint32_t row = 0; row < operand.rows; ++row) {
    float* column = panels + row / panel_rows * stride + row % panel_rows;
    for (uint32_t k = 0; k < operand.k; ++k) column[size_t{panel_rows} * k] = rows[row * operand.k + k];
  }
}

// std::fma and not a*b+c: the compiler may or may not contract the latter, and the result must not depend on it.
void multiply_portable(const PanelTile& t) {
  for (uint32_t row = 0; row < t.rows; ++row)
    for (uint32_t column = 0; column < t.n; ++column) {
      const float* a = t.a + row / panel_rows * t.a_stride + row % panel_rows;
      const float* b = t.b + column / panel_rows * t.b_stride + column % panel_rows;
      uint32_t& d = t.d[row * t.d_pitch + column];
      float sum = t.accumulate ? std::bit_cast<float>(d) : 0.0f;
      for (size_t k = 0; k < t.k_extent; ++k) sum = std::fma(a[panel_rows * k], b[panel_rows * k], sum);
      d = std::isnan(sum) ? canonical_nan : std::bit_cast<uint32_t>(sum);
    }
}

const PanelKernels& best_kernels() {
  static const PanelKernels best = [] {
    for (const Isa isa : {Isa::avx512, Isa::avx2})
      if (const PanelKernels kernels = panel_kernels(isa); kernels.multiply != nullptr) return kernels;
    return panel_kernels(Isa::portable);
  }();
  return best;
}

}  // namespace

PanelKernels panel_kernels(Isa isa) {
#if WARPLOOM_X86
  __builtin_cpu_init();
  if (isa == Isa::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
               ? PanelKernels{pack_avx512, multiply_avx512}
               : PanelKernels{};
  if (isa == Isa::avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")
               ? PanelKernels{pack_avx2, multiply_avx2}
               : PanelKernels{};
#endif
  return isa == Isa::portable ? PanelKernels{pack_portable, multiply_portable} : PanelKernels{};
}

bool packs(const Operand& operand) {
  const bool type = operand.type == DType::bf16 || operand.type == DType::f16 || operand.type == DType::e4m3 ||
                    operand.type == DType::e5m2;
  const Swizzle swizzle = operand.descriptor.swizzle;
  return type && operand.rows % 8 == 0 &&
         (swizzle == Swizzle::none || swizzle == Swizzle::b32 || swizzle == Swizzle::b64 || swizzle == Swizzle::b128);
}

void pack_panels(const Operand& operand, const std::byte* shared, float* panels, size_t stride) {
  best_kernels().pack(operand, shared, panels, stride);
}

void multiply_panels(const PanelTile& tile) { best_kernels().multiply(tile); }

}  // namespace warploom::loom
