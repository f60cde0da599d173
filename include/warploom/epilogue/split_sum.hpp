// Split K: several CTAs each have a share of a tile's K blocks. Each writes its partial sums to a workspace; the last to
// arrive adds them up, in the order of the splits whoever it is, and goes on with the epilogue. Nobody waits.
//
//   SplitSum<Params> split(params, &storage.last[group], group);
//   if (!split.meet(sum, tile_number, tile.split, share)) return;     // every thread of the group
#pragma once

#include "warploom/arch/atomic.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `shares`: groups that have a part of a tile each; `tile_floats`: of the whole tile.
template <class Accumulator, int groups, int64_t tile_floats>
class SplitSum {
 public:
  /// Adds up the tile with this number. True for the group that has the whole sum.
  template <class Params>
  static WARPLOOM_FN bool meet(Accumulator& sum, const Params& params, int64_t number, int split, uint32_t share,
                               uint32_t barrier, uint32_t thread, uint32_t* last) noexcept {
    float* const parts = params.partials + number * params.splits * tile_floats + share * own_floats + 4 * thread;
    uint32_t* const counter = params.counters + number * groups + share;
    each([&](int block, int i) WARPLOOM_LAMBDA {
      Unit part;
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) part.words[j] = arch::as_bits(sum.value(block, i + j));
      arch::store_global(reinterpret_cast<Unit*>(parts + split * tile_floats + offset(block, i)), part);
    });
    arch::fence_gpu();
    arch::bar_sync(barrier, 128);
    if (thread == 0) arch::store_shared(last, arch::fetch_add_global(counter, 1));
    arch::bar_sync(barrier, 128);
    if (arch::load_shared(last) + 1 != static_cast<uint32_t>(params.splits)) return false;
    arch::fence_gpu();
    WARPLOOM_ROLLED
    for (int s = 0; s < params.splits; ++s)
      each([&](int block, int i) WARPLOOM_LAMBDA {
        const Unit part =
            arch::load_global(reinterpret_cast<const Unit*>(parts + s * tile_floats + offset(block, i)));
        WARPLOOM_UNROLL
        for (int j = 0; j < 4; ++j) {
          const float value = arch::as_float(part.words[j]);
          sum.set(block, i + j, s == 0 ? value : arch::add(sum.value(block, i + j), value));
        }
      });
    if (thread == 0) arch::store_global(counter, 0u);  // as the next launch expects it
    return true;
  }

 private:
  static constexpr int64_t own_floats = int64_t{Accumulator::rows} * Accumulator::columns;
  static WARPLOOM_CONST_FN int64_t offset(int block, int i) {
    return (int64_t{block} * Accumulator::values_per_block + i) * 128;
  }
  /// Four registers at a time.
  template <class F>
  static WARPLOOM_FN void each(F&& f) noexcept {
    WARPLOOM_UNROLL
    for (int block = 0; block < Accumulator::blocks; ++block) {
      WARPLOOM_UNROLL
      for (int i = 0; i < Accumulator::values_per_block; i += 4) f(block, i);
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
