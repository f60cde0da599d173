// Split K: several CTAs each have a share of a tile's K blocks. Each writes its partial sums to a workspace; the last
// to arrive goes on with the epilogue, which adds them up in the order of the splits, whoever was last. Nobody waits.
//
//   const PartialSums parts = Split::meet(sum, params, number, tile.split, share, barrier, thread, &storage.last);
//   if (parts.splits == 0) return;                                    // every thread of the group: others will go on
//   parts.take(values, first, alpha);                                 // registers of the whole sum, times alpha
#pragma once

#include "warploom/arch/atomic.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// The partial sums of one group's part of a tile, as one thread finds them.
struct PartialSums {
  const float* data = nullptr;
  int64_t stride = 0;  ///< from split to split
  int splits = 0;

  /// v[0 .. count - 1] = alpha * the sum of registers first .. first + count - 1.
  template <int count>
  WARPLOOM_FN void take(float (&v)[count], int first, float alpha) const noexcept {
    add<count, true>(v, first, 0);
    WARPLOOM_ROLLED
    for (int s = 1; s < splits; ++s) add<count, false>(v, first, s);
    WARPLOOM_UNROLL
    for (int i = 0; i < count; ++i) v[i] = arch::multiply(alpha, v[i]);
  }

 private:
  template <int count, bool fresh>
  WARPLOOM_FN void add(float (&v)[count], int first, int split) const noexcept {
    const float* const from = data + split * stride + int64_t{128} * first;
    WARPLOOM_UNROLL
    for (int i = 0; i < count; i += 4) {
      const Unit part = arch::load_global(reinterpret_cast<const Unit*>(from + 128 * i));
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j)
        v[i + (j ^ 1)] =
            fresh ? arch::as_float(part.words[j]) : arch::add(v[i + (j ^ 1)], arch::as_float(part.words[j]));
    }
  }
};

/// `groups` that have a part of a tile each; `tile_floats`: of the whole tile.
template <class Accumulator, int groups, int64_t tile_floats>
class SplitSum {
 public:
  /// Hands in this split's part of the tile with this number. The last to do so gets all of them.
  template <class Sum, class Params>
  static WARPLOOM_FN PartialSums meet(Sum& sum, const Params& params, int64_t number, int split, uint32_t share,
                                      uint32_t barrier, uint32_t thread, uint32_t* last) noexcept {
    float* const parts = params.partials + number * params.splits * tile_floats + share * own_floats + 4 * thread;
    uint32_t* const counter = params.counters + number * groups + share;
    hand_in(sum, parts + split * tile_floats);
    arch::fence_gpu();
    arch::bar_sync(barrier, 128);
    if (thread == 0) arch::store_shared(last, arch::fetch_add_global(counter, 1));
    arch::bar_sync(barrier, 128);
    // A uniform answer, or the compiler takes all that follows, the next tile's products too, for divergent.
    if (arch::uniform(arch::load_shared(last)) + 1 != static_cast<uint32_t>(params.splits)) return {};
    arch::fence_gpu();
    if (thread == 0) arch::store_global(counter, 0u);  // as the next launch expects it
    return {parts, tile_floats, params.splits};
  }

 private:
  static constexpr int64_t own_floats = int64_t{Accumulator::rows} * Accumulator::columns;
  static constexpr int of_block = Accumulator::values_per_block;

  template <class Sum>
  static WARPLOOM_FN void hand_in(Sum& sum, float* to) noexcept {
    if constexpr (requires { sum.done(); }) {  // in tensor memory
      WARPLOOM_ROLLED
      for (int first = 0; first < Sum::blocks * of_block; first += Sum::values_at_once) {
        float values[Sum::values_at_once];
        sum.take(values, first / of_block, first % of_block, 1.0f);
        WARPLOOM_UNROLL
        for (int i = 0; i < Sum::values_at_once; i += 4)
          store(to, first + i, [&](int j) WARPLOOM_LAMBDA { return values[i + j]; });
      }
      sum.done();
    } else {
      WARPLOOM_UNROLL
      for (int block = 0; block < Accumulator::blocks; ++block) {
        WARPLOOM_UNROLL
        for (int i = 0; i < of_block; i += 4)
          store(to, block * of_block + i, [&](int j) WARPLOOM_LAMBDA { return sum.value(block, i + j); });
      }
    }
  }
  /// Four registers, with the two of a pair swapped, as PromotedAccumulator wants them to lie.
  template <class Value>
  static WARPLOOM_FN void store(float* to, int first, Value&& value) noexcept {
    Unit part;
    WARPLOOM_UNROLL
    for (int j = 0; j < 4; ++j) part.words[j] = arch::as_bits(value(j ^ 1));
    arch::store_global(reinterpret_cast<Unit*>(to + int64_t{128} * first), part);
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
