// The register side of blockwise FP8: one row of the output tile per epilogue thread, summed in fp32 over K blocks that
// arrive with scales of their own.
//
//   BlockwiseFP8Accumulator<128> sum;
//   for (auto part : context.per_k_stages(input, k_blocks)) sum.promote(part, b_scale(part.k()));
//   use(sum[column]);
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/pipeline/per_k.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <int columns_>
class BlockwiseFP8Accumulator {
 public:
  static constexpr int columns = columns_;

  WARPLOOM_FN BlockwiseFP8Accumulator() noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < columns; ++i) values_[i] = 0.0f;
  }

  /// sum += accumulator * (A scale of this row) * (B scale of these columns), for one K block.
  template <class KStage>
  WARPLOOM_FN void promote(KStage& stage, float b_scale) noexcept {
    const float scale = arch::multiply(stage.take_scales(), b_scale);
    stage.template drain<columns>([&](const auto& part, int first) WARPLOOM_LAMBDA {
      WARPLOOM_UNROLL
      for (int i = 0; i < KStage::columns_per_load; ++i)
        values_[first + i] = arch::fma(arch::as_float(part[i]), scale, values_[first + i]);
    });
  }

  WARPLOOM_FN float operator[](int column) const noexcept { return values_[column]; }

 private:
  float values_[columns];
};

}  // namespace warploom::inline WARPLOOM_MACHINE
