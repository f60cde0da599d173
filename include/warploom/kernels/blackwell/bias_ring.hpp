// The bias of a tile, from the epilogue-load warp to the epilogue: in fp32, whatever its type and wherever it lies, one
// value per right or left row of the tile, zeros beyond the last.
//
//   biases.load(left, right);                     // epilogue-load: the whole warp, tiles ahead of the epilogue
//   auto bias = biases.of_tile();                 // epilogue, every thread; leaving gives the slot back
//   use(bias.values());
#pragma once

#include "warploom/kernels/gemm/patch.hpp"
#include "warploom/pipeline/epi_load.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Params, int left_rows, int right_rows, bool swap>
class BiasRing {
 public:
  static constexpr int longest = left_rows > right_rows ? left_rows : right_rows;
  using Ring = EpiLoadPipeline<2, BiasRow<float, longest>, freed_by<lane_per_warp<Epilogue>>,
                               filled_by<lane_per_warp<EpilogueLoad>>>;
  using Storage = typename Ring::Storage;
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Ring::init_barriers(storage); }

  WARPLOOM_FN BiasRing(const Params& params, Storage& storage) noexcept : params_(params), ring_(storage) {}

  /// Of the tile that starts at these rows of the operands.
  WARPLOOM_FN void load(int left, int right) noexcept {
    if (!any()) return;
    const int first = bias_along_right<swap>(params_) ? right : left;
    auto slot = ring_.produce();
    float* const row = ring_.tile(slot.index()).data;
    WARPLOOM_ROLLED
    for (int i = static_cast<int>(arch::lane_index()); i < longest; i += 32)
      arch::store_shared(row + i, bias_of(params_, bias_bits(params_, first + i)));
  }

  /// The next tile's, for one scope; nothing where there is no bias.
  class [[nodiscard]] OfTile : Scope {
   public:
    WARPLOOM_FN explicit OfTile(BiasRing& ring) noexcept : ring_(ring) {
      if (ring.any()) ring.ring_.wait_producer();
    }
    WARPLOOM_FN ~OfTile() noexcept {
      if (!ring_.any()) return;
      ring_.ring_.pipeline.template signal_free<Epilogue>();
      ring_.ring_.consumer_step();
    }
    WARPLOOM_FN const float* values() const noexcept { return ring_.ring_.tile(ring_.ring_.consumer_stage()).data; }

   private:
    BiasRing& ring_;
  };
  WARPLOOM_FN OfTile of_tile() noexcept { return OfTile(*this); }

 private:
  WARPLOOM_FN bool any() const noexcept { return params_.bias_along != BiasAlong::none; }

  const Params& params_;
  Ring ring_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
