// The sum of a tile whose operands have fp32 scales: the tensor core leaves the product of each 128-wide K block in
// tensor memory by itself, and the epilogue warps scale it and add it to a sum in their registers.
//
//   PromotedSum<WarpAfterWarp, 2, 128, true, false, false> sum;       // scales of left rows and of blocks
//   sum.add_up(context, input, tile.k_blocks(), {place_of_first_scale});     // every epilogue thread
//   use(sum.value(block, i));                                   // registers as TileProduct takes them
//
// A K block is taken a few columns at a time, the next of them on their way while one is added. Its slot goes back to
// TMA once its scales are in registers, its accumulator to the tensor core after the last load, before the arithmetic.
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/pipeline/per_k.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Where a tile finds the scales of 128 x 128 blocks in the line of all of them, for K block 0; and the first of its
/// columns that belongs to the next block.
struct ScalePlaces {
  uint32_t first = 0, next = 0;
  int boundary = 0;
};

/// `blocks_` of 16 lanes per warp, `columns_` wide, whose rows lie as Places says (gemm/patch_writer.hpp). The slots
/// bring one scale per left row, per right row or both; where they do not, they bring that of a 128 x 128 block, and of
/// the next one where the tile's columns straddle two.
template <class Places, int blocks_, int columns_, bool left_scaled, bool right_scaled, bool straddles>
class PromotedSum {
 public:
  static constexpr int blocks = blocks_;
  static constexpr int rows = 64 * blocks;
  static constexpr int columns = columns_;
  static constexpr int values_per_block = columns / 2;
  static_assert(left_scaled || right_scaled, "warploom: scales come per row of one operand at least");
  static_assert(columns % 16 == 0, "warploom: scaled products are taken 16 or 32 columns at a time");

  WARPLOOM_FN PromotedSum() noexcept {
    WARPLOOM_UNROLL
    for (int block = 0; block < blocks; ++block) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values_per_block; ++i) sum_[block][i] = 0.0f;
    }
  }

  /// sum += product * scales, for every K block.
  template <class Context, class Input>
  WARPLOOM_FN void add_up(Context& context, Input& input, KBlocks k_blocks, const ScalePlaces& places) noexcept {
    const uint32_t warp = arch::warp_index() % 4, lane = arch::lane_index();
    WARPLOOM_ROLLED
    for (auto part : context.per_k_stages(input, k_blocks)) {  // waits for accumulator and scales
      auto& slot = input.slot(part.input_stage_index);
      const Scales scales(slot, warp, lane, static_cast<uint32_t>(part.k()), places);
      if constexpr (!right_scaled) part.arrive_input();
      add_from<0>(part, part.tmem().address().lane(32 * warp), slot.b_scales() + 2 * (lane % 4), scales,
                  []() WARPLOOM_LAMBDA {});
    }
  }

  WARPLOOM_FN float value(int block, int i) const noexcept { return sum_[block][i]; }
  WARPLOOM_FN void set(int block, int i, float value) noexcept { sum_[block][i] = value; }

 private:
  static constexpr int at_once = columns % 32 == 0 ? 32 : 16;  ///< columns
  using Part = arch::Fragment<uint32_t, at_once / 2>;
  struct alignas(8) Pair {
    float first, second;
  };

  /// What a K block's rows are scaled with: by block, by half of its 16 rows, and in either block of B's columns.
  struct Scales {
    float of_rows[blocks][2][straddles ? 2 : 1];
    int boundary;

    template <class Slot>
    WARPLOOM_FN Scales(Slot& slot, uint32_t warp, uint32_t lane, uint32_t k, const ScalePlaces& places) noexcept
        : boundary(places.boundary) {
      constexpr bool of_blocks = !(left_scaled && right_scaled);
      const float one = of_blocks ? arch::load_shared(slot.block_scale(0, places.first + k)) : 1.0f;
      const float other = straddles ? arch::load_shared(slot.block_scale(1, places.next + k)) : one;
      WARPLOOM_UNROLL
      for (int block = 0; block < blocks; ++block) {
        WARPLOOM_UNROLL
        for (int half = 0; half < 2; ++half) {
          const float* const row = slot.a_scales() + Places::row(block, warp) + 8 * half + lane / 4;
          const float own = left_scaled ? arch::load_shared(row) : 1.0f;
          of_rows[block][half][0] = left_scaled && of_blocks ? arch::multiply(own, one) : left_scaled ? own : one;
          if constexpr (straddles) of_rows[block][half][1] = arch::multiply(own, other);
        }
      }
    }
    /// Tiles start at multiples of their common divisor with 128, and so do the blocks inside them.
    WARPLOOM_FN float at(int block, int half, int column) const noexcept {
      constexpr int step = columns & -columns;
      const int first = column / step * step;
      const bool second = straddles && (first >= 128 || (first >= step && first >= boundary));
      return second ? of_rows[block][half][straddles ? 1 : 0] : of_rows[block][half][0];
    }
  };

  // Recursion instead of a loop keeps every index a constant: fragments and sums must stay in registers.
  template <int first, class KStage, class Previous>
  WARPLOOM_FN void add_from(KStage& stage, arch::TmemAddress lanes, const float* of_columns, const Scales& scales,
                            Previous&& previous) noexcept {
    constexpr bool last = first + at_once == columns;
    Part parts[blocks];
    WARPLOOM_UNROLL
    for (int block = 0; block < blocks; ++block)
      arch::tmem_load_16x256b(parts[block], lanes.lane(16 * block).column(first));
    previous();
    Pair by_column[right_scaled ? at_once / 8 : 1];
    if constexpr (right_scaled) {
      WARPLOOM_UNROLL
      for (int i = 0; i < at_once / 8; ++i)
        by_column[i] = arch::load_shared(reinterpret_cast<const Pair*>(of_columns + first + 8 * i));
      if constexpr (last) stage.arrive_input();
    }
    arch::tmem_wait_load();
    const auto add = [&]() WARPLOOM_LAMBDA {
      WARPLOOM_UNROLL
      for (int block = 0; block < blocks; ++block) {
        WARPLOOM_UNROLL
        for (int i = 0; i < at_once / 2; ++i) {
          float scale = scales.at(block, i / 2 % 2, first + 8 * (i / 4));
          if constexpr (right_scaled)
            scale = arch::multiply(scale, i % 2 == 0 ? by_column[i / 4].first : by_column[i / 4].second);
          float& sum = sum_[block][first / 2 + i];
          sum = arch::fma(arch::as_float(parts[block][i]), scale, sum);
        }
      }
    };
    if constexpr (last) {
      stage.free_accumulator();
      add();
    } else {
      add_from<first + at_once>(stage, lanes, of_columns, scales, add);
    }
  }

  float sum_[blocks][values_per_block];
};

}  // namespace warploom::inline WARPLOOM_MACHINE
