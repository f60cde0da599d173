// The bias of a tile, fetched by the math group that needs it: asked for before the product, put into shared memory
// after it.
//
//   bias.prepare(left, right);                                      // every thread of the group
//   multiply(sum);
//   writer.write(sum, parts, bias.stage(), left, right, batch);
#pragma once

#include "warploom/arch/named_barrier.hpp"
#include "warploom/kernels/gemm/patch.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Params, int rows, int columns, int groups, bool swap>
class GroupBias {
 public:
  static constexpr int longest = rows > columns ? rows : columns;
  struct Storage {
    float values[groups][longest];
  };

  WARPLOOM_FN GroupBias(const Params& params, Storage& storage, uint32_t group) noexcept
      : params_(params), storage_(&storage), group_(group) {}

  /// Asks for the bias of the tile that starts at these rows of the operands.
  WARPLOOM_FN void prepare(int left, int right) noexcept {
    if (params_.bias_along == BiasAlong::none) return;
    const int first = bias_along_right<swap>(params_) ? right : left;
    WARPLOOM_UNROLL
    for (int i = 0; i < values; ++i)
      registers_[i] = bias_at(params_, first + 128 * i + static_cast<int>(place_.thread()));
  }

  /// ... and has it in shared memory, for the whole group.
  WARPLOOM_FN const float* stage() noexcept {
    if (params_.bias_along != BiasAlong::none) {
      sync();  // the last tile's has been read
      WARPLOOM_UNROLL
      for (int i = 0; i < values; ++i) {
        const uint32_t at = 128 * i + place_.thread();
        if (at < longest) arch::store_shared(&storage_->values[group_][at], registers_[i]);
      }
      sync();
    }
    return storage_->values[group_];
  }

 private:
  static constexpr int values = (longest + 127) / 128;
  static constexpr int first_barrier = 2;
  WARPLOOM_FN void sync() const noexcept { arch::bar_sync(first_barrier + group_, 128); }

  const Params& params_;
  Storage* storage_;
  uint32_t group_;
  GroupPlace place_;
  float registers_[values] = {};
};

}  // namespace warploom::inline WARPLOOM_MACHINE
