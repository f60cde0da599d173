// Accumulators of scaled FP8 operands on Hopper: the tensor core multiplies one K block of 128 at a time, and its
// result is scaled and added to a sum in ordinary fp32 registers. While one warpgroup adds, the other's product runs.
//
//   PromotedAccumulator<64, 128, true, false, false> sum;    // scales of left rows and of blocks
//   sum.multiply<Math>(input, k_blocks, rows_before, {place_of_first_scale});    // every thread of a math warpgroup
//   use(sum.value(0, i));                                    // registers as in warp/wgmma.hpp
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/kernels/hopper/slot_operand.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Where a tile finds the scales of 128 x 128 blocks in the line of all of them, for its first K block; and the first
/// of its columns that belongs to the next block.
struct BlockPlaces {
  uint32_t first = 0, next = 0;
  int boundary = 0;
};

/// rows x columns over a warpgroup. The payload's slots bring one scale per left row, per right row or both; where they
/// do not, they bring that of a 128 x 128 block, and of the next one where the tile's columns straddle two.
template <int rows_, int columns_, bool left_scaled, bool right_scaled, bool straddles>
class PromotedAccumulator {
 public:
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  static constexpr int blocks = rows / arch::wgmma_m;
  static constexpr int values_per_block = columns / 2;
  static_assert(left_scaled || right_scaled, "warploom: scales come per row of one operand at least");

  /// Sums the products of `k_blocks` slots. `rows_before`: of the slot's left tile, that belong to other groups.
  template <class Role, class Input>
  WARPLOOM_FN void multiply(Input& input, int k_blocks, int rows_before, BlockPlaces places) noexcept {
    WARPLOOM_UNROLL
    for (int block = 0; block < blocks; ++block) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values_per_block; ++i) sum_[block][i] = 0.0f;
    }
    if constexpr (straddles)  // or they are computed anew for every K block
      places = {arch::uniform(places.first), arch::uniform(places.next),
                static_cast<int>(arch::uniform(static_cast<uint32_t>(places.boundary)))};
    const uint32_t lane = arch::lane_index();
    const uint32_t row = static_cast<uint32_t>(rows_before) + 16 * (arch::warp_index() % 4) + lane / 4;
    const SlotOperand a(input, input.a(0).template part<64>(rows_before));
    const SlotOperand b(input, input.b(0));
    arch::Ready ready = input.pipeline.try_wait_producer();
    WARPLOOM_ROLLED
    for (int k = 0; k < k_blocks; ++k) {
      const uint32_t stage = input.pipeline.consumer_stage();
      Scales scales;
      input.pipeline.wait_producer_if_needed(ready);
      WARPLOOM_UNROLL
      for (int block = 0; block < blocks; ++block) {
        part_.start();
        part_.fence();
        part_.mma(a.in(stage, 64 * block), b.in(stage));
        part_.commit();
        if (block == 0) scales.fetch(input.slot(stage), row, lane, k, places);  // while the product runs
        // The slot goes back to TMA after the product: what this thread has read of it is fenced off meanwhile.
        if (block == blocks - 1) arch::fence_proxy_async_shared();
        part_.wait();
        if (block == blocks - 1) {
          input.pipeline.template signal_free<Role>(stage);
          input.pipeline.consumer_step();
          ready = input.pipeline.try_wait_producer();  // the answer comes while the product is added
        }
        promote(block, scales, places.boundary);
      }
    }
    if (k_blocks < 0) pair_up(input.slot(0));
  }

  WARPLOOM_FN float value(int block, int i) const noexcept { return sum_[block][i]; }
  WARPLOOM_FN void set(int block, int i, float value) noexcept { sum_[block][i] = value; }

 private:
  struct alignas(8) Pair {
    float first, second;
  };
  using Part = WarpgroupAccumulator<arch::wgmma_m, columns>;

  /// What a K block is scaled with, in this thread's registers.
  struct Scales {
    float of_rows[left_scaled ? blocks : 1][2] = {};
    Pair of_columns[right_scaled ? columns / 8 : 1] = {};
    float one = 1.0f, other = 1.0f;  ///< of the block of B, and of the next one

    template <class Slot>
    WARPLOOM_FN void fetch(Slot& slot, uint32_t row, uint32_t lane, int k, const BlockPlaces& places) noexcept {
      if constexpr (!(left_scaled && right_scaled)) {
        one = arch::load_shared(slot.block_scale(0, places.first + k));
        if constexpr (straddles) other = arch::load_shared(slot.block_scale(1, places.next + k));
      }
      if constexpr (left_scaled) {
        WARPLOOM_UNROLL
        for (int block = 0; block < blocks; ++block) {
          of_rows[block][0] = arch::load_shared(slot.a_scales() + row + 64 * block);
          of_rows[block][1] = arch::load_shared(slot.a_scales() + row + 64 * block + 8);
        }
      }
      if constexpr (right_scaled) {
        WARPLOOM_UNROLL
        for (int i = 0; i < columns / 8; ++i)
          of_columns[i] = arch::load_shared(reinterpret_cast<const Pair*>(slot.b_scales() + 8 * i + 2 * (lane % 4)));
      }
    }
  };

  /// Never called, and yet of use: vector stores fix which registers the compiler puts the sums in. With the two of a
  /// pair swapped, a sum lies next to its product's register bank instead of in it, and no addition reads one bank
  /// three times.
  template <class Slot>
  WARPLOOM_FN void pair_up(Slot& slot) const noexcept {
    WARPLOOM_UNROLL
    for (int block = 0; block < blocks; ++block) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values_per_block; i += 2)
        arch::store_shared(reinterpret_cast<Pair*>(slot.a_scales()) + i, Pair{sum_[block][i + 1], sum_[block][i]});
    }
  }

  WARPLOOM_FN void promote(int block, const Scales& scales, int boundary) noexcept {
    float scale[2][2];  // by half of the 16 rows, by block of columns
    if constexpr (left_scaled && !right_scaled) {
      WARPLOOM_UNROLL
      for (int half = 0; half < 2; ++half) {
        scale[half][0] = arch::multiply(scales.of_rows[block][half], scales.one);
        scale[half][1] = straddles ? arch::multiply(scales.of_rows[block][half], scales.other) : scale[half][0];
      }
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < values_per_block; ++i) {
      const int half = i / 2 % 2;
      float s;
      if constexpr (!right_scaled) {
        s = in_second_block(8 * (i / 4), boundary) ? scale[half][1] : scale[half][0];
      } else {
        const float column = i % 2 == 0 ? scales.of_columns[i / 4].first : scales.of_columns[i / 4].second;
        s = arch::multiply(left_scaled ? scales.of_rows[block][half] : scales.one, column);
      }
      sum_[block][i] = arch::fma(part_.value(0, i), s, sum_[block][i]);
    }
  }

  /// Tiles start at multiples of their common divisor with 128, and so do the blocks inside them.
  static WARPLOOM_FN bool in_second_block(int column, int boundary) noexcept {
    constexpr int step = columns & -columns;
    const int first = column / step * step;
    return straddles && (first >= 128 || (first >= step && first >= boundary));
  }

  Part part_;
  float sum_[blocks][values_per_block];
};

}  // namespace warploom::inline WARPLOOM_MACHINE
