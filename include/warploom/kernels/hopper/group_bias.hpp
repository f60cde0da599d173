// The bias of a tile, fetched by the math group that needs it: asked for before the product, put into shared memory
// after it; or both after it, where registers are few.
//
//   bias.prepare(left, right);                                      // every thread of the group
//   multiply(sum);
//   bias.stage();                                                   // or only bias.bring(left, right)
//   writer.write(sum, parts, bias.values(), left, right, batch);
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
    if (params_.bias_along != BiasAlong::none) load(registers_, left, right);
  }
  /// ... and has it in shared memory, for the whole group.
  WARPLOOM_FN void stage() noexcept {
    if (params_.bias_along != BiasAlong::none) store(registers_);
  }
  /// Both at once: nothing is kept in registers during the product.
  WARPLOOM_FN void bring(int left, int right) noexcept {
    if (params_.bias_along == BiasAlong::none) return;
    uint32_t bits[count];
    load(bits, left, right);
    store(bits);
  }
  WARPLOOM_FN const float* values() const noexcept { return storage_->values[group_]; }

 private:
  static constexpr int count = (longest + 127) / 128;
  static constexpr int first_barrier = 2;
  /// Asked anew each time: kept, it would be one register too many beside some accumulators.
  static WARPLOOM_FN uint32_t thread() noexcept { return arch::thread_index() % 128; }
  WARPLOOM_FN void sync() const noexcept { arch::bar_sync(first_barrier + group_, 128); }

  WARPLOOM_FN void load(uint32_t (&bits)[count], int left, int right) const noexcept {
    const int first = bias_along_right<swap>(params_) ? right : left;
    WARPLOOM_UNROLL
    for (int i = 0; i < count; ++i) bits[i] = bias_bits(params_, first + 128 * i + static_cast<int>(thread()));
  }
  WARPLOOM_FN void store(const uint32_t (&bits)[count]) const noexcept {
    sync();  // the last tile's has been read
    WARPLOOM_UNROLL
    for (int i = 0; i < count; ++i) {
      const uint32_t at = 128 * i + thread();
      if (at < longest) arch::store_shared(&storage_->values[group_][at], bias_of(params_, bits[i]));
    }
    sync();
  }

  const Params& params_;
  Storage* storage_;
  uint32_t group_;
  uint32_t registers_[count] = {};  ///< as they came: nothing waits for them before the product
};

}  // namespace warploom::inline WARPLOOM_MACHINE
