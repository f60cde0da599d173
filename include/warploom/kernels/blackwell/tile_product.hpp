// A tile's product in tensor memory, as the epilogue takes it: a few columns at a time, wherever they lie, and given
// back to the tensor core as soon as the last of them is in registers. A tile without K blocks has none: all zeros.
//
//   TileProduct<Pipeline, 2, 256, 64> sum(context.output_pipeline, tile.k_count != 0);   // waits for it
//   sum.take(values, block, first, alpha);        // every thread: its registers of 16 rows per warp
//   sum.done();                                   // the accumulator is free; leaving does it otherwise
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/pipeline/must_release.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `blocks_` of 16 lanes per warp, `columns_` wide, of which `at_once` are taken at a time where the caller does not
/// say.
template <class Pipeline, int blocks_, int columns_, int at_once>
class TileProduct : Scope {
 public:
  static constexpr int blocks = blocks_;
  static constexpr int rows = 64 * blocks;
  static constexpr int columns = columns_;
  static constexpr int values_per_block = columns / 2;
  static constexpr int values_at_once = at_once / 2;

  WARPLOOM_FN TileProduct(Pipeline& ring, bool exists) noexcept : ring_(ring), exists_(exists), held_(exists) {
    if (exists) lanes_ = ring.acquire_for_epilogue().tmem.address().lane(32 * (arch::warp_index() % 4));
  }
  WARPLOOM_FN ~TileProduct() noexcept {
    done();
    if (exists_) ring_.pipeline.consumer_step();
  }

  /// v = alpha * registers [first, first + count) of a block.
  template <int count>
  WARPLOOM_FN void take(float (&v)[count], int block, int first, float alpha) const noexcept {
    if (!exists_) {
      WARPLOOM_UNROLL
      for (int i = 0; i < count; ++i) v[i] = 0.0f;
      return;
    }
    arch::Fragment<uint32_t, count> part;
    arch::tmem_load_16x256b(part, lanes_.lane(16 * block).column(2 * first));
    arch::tmem_wait_load();
    WARPLOOM_UNROLL
    for (int i = 0; i < count; ++i) v[i] = arch::multiply(alpha, arch::as_float(part[i]));
  }

  /// Nothing more will be taken.
  WARPLOOM_FN void done() noexcept {
    if (held_) ring_.signal_epilogue_done();
    held_ = false;
  }

 private:
  Pipeline& ring_;
  arch::TmemAddress lanes_ = {};  ///< this warp's
  bool exists_, held_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
