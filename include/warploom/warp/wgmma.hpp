// Hopper's accumulators: fp32 tiles in the registers of one warpgroup, filled from the input ring with one wgmma group
// in flight. While the tensor core works on a slot, the slot before it goes back to the load role.
//
//   WarpgroupAccumulator<64, 256> sum;                                   // every thread of a math warpgroup
//   for (auto in : sum.over<Math>(input, tile.k_blocks()))               // a filled slot
//     sum.mma(in.a().template part<64>(64 * group), in.b());             // leaving commits; the older slot is freed
//   use(sum.value(0, i));                                                // all of it is done
#pragma once

#include <utility>

#include "warploom/arch/wgmma.hpp"
#include "warploom/pipeline/input.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Accumulator, class Input, class Role>
class Mainloop;

/// A tile as the tensor core is told of it.
template <class Tile>
struct Operand {
  SmemDescriptor descriptor;
  WARPLOOM_FN explicit Operand(const Tile& tile) noexcept : descriptor(encode_wgmma_descriptor(operand_fields(tile))) {}
};

/// rows x columns of fp32, in blocks of 64 rows, over the 128 threads of a warpgroup.
template <int rows_, int columns_>
class WarpgroupAccumulator {
 public:
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  static constexpr int blocks = rows / arch::wgmma_m;
  static constexpr int values_per_block = columns / 2;  ///< registers of a thread
  static_assert(rows % arch::wgmma_m == 0, "warploom: a warpgroup accumulates whole blocks of 64 rows");

  /// The filled slots of `k_blocks` K blocks, one after the other; the first product starts the sum.
  template <class Role, class Input>
  WARPLOOM_FN Mainloop<WarpgroupAccumulator, Input, Role> over(Input& input, int k_blocks) noexcept {
    return {*this, input, Input::slots_of(k_blocks)};
  }

  /// sum += A * B^T over the K extent of the tiles: A is rows x K, B columns x K. Every thread of the warpgroup.
  template <class A, class B>
  WARPLOOM_FN void mma(const A& a, const B& b) noexcept {
    mma(Operand<A>(a), Operand<B>(b));
  }
  template <class A, class B>
  WARPLOOM_FN void mma(const Operand<A>& a, const Operand<B>& b) noexcept {
    static_assert(A::rows == rows && B::rows == columns, "warploom: the tiles do not have the accumulator's extents");
    static_assert(A::row_bytes == B::row_bytes, "warploom: A and B tiles must have the same K extent");
    WARPLOOM_UNROLL
    for (uint32_t k = 0; k < A::row_bytes / mma_k_bytes; ++k) {
      WARPLOOM_UNROLL
      for (int block = 0; block < blocks; ++block)
        arch::wgmma<columns, typename A::Element, typename B::Element, A::major, B::major>(
            blocks_[block], a.descriptor.advance(block * A::block_step + k * A::k_step),
            b.descriptor.advance(k * B::k_step), onto_ || k > 0);
    }
    onto_ = true;
  }

  /// Register i of block `block`: row 64*block + 16*w + l/4 + 8*((i/2)%2), column 8*(i/4) + 2*(l%4) + i%2 (w: warp of
  /// the group, l: lane).
  WARPLOOM_FN float value(int block, int i) const noexcept { return blocks_[block][i]; }
  WARPLOOM_FN void set(int block, int i, float value) noexcept { blocks_[block][i] = value; }
  WARPLOOM_FN void clear() noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < blocks * values_per_block; ++i) set(i / values_per_block, i % values_per_block, 0.0f);
  }

  WARPLOOM_FN void start() noexcept { onto_ = false; }  ///< the next product starts the sum
  /// Before the wgmmas of a group: what ordinary code did to the registers comes first.
  WARPLOOM_FN void fence() noexcept { fence_all(std::make_integer_sequence<int, blocks>{}); }
  static WARPLOOM_FN void commit() noexcept { arch::wgmma_commit_group(); }
  /// Until all groups are complete: the values may be read.
  WARPLOOM_FN void wait() noexcept { wait_all(std::make_integer_sequence<int, blocks>{}); }
  /// Until all groups but the latest are complete.
  static WARPLOOM_FN void wait_older() noexcept { arch::wgmma_wait_group<1>(); }

 private:
  template <int... i>
  WARPLOOM_FN void fence_all(std::integer_sequence<int, i...>) noexcept {
    arch::wgmma_fence(blocks_[i]...);
  }
  template <int... i>
  WARPLOOM_FN void wait_all(std::integer_sequence<int, i...>) noexcept {
    arch::wgmma_wait_group<0>(blocks_[i]...);
  }

  arch::Fragment<float, values_per_block> blocks_[blocks];
  bool onto_ = false;
};

/// The range of WarpgroupAccumulator::over(): its stages are scopes, its end waits for the last product.
template <class Accumulator, class Input, class Role>
class [[nodiscard]] Mainloop : Scope {
 public:
  /// A filled slot for one scope. Leaving commits the wgmmas issued in it and frees the slot before this one.
  class [[nodiscard]] Stage : public detail::FilledSlot<Input, Stage>, Scope {
    using Slot = detail::FilledSlot<Input, Stage>;

   public:
    WARPLOOM_FN Stage(Mainloop* loop, int) noexcept
        : Slot(loop->input_, loop->input_.pipeline.consumer_stage()), loop_(*loop) {
      loop->input_.pipeline.template wait_producer<true>();
      loop->accumulator_.fence();
    }
    WARPLOOM_FN ~Stage() noexcept {
      Accumulator::commit();
      loop_.input_.pipeline.consumer_step();
      if (loop_.done_ > 0) {
        arch::wgmma_wait_group_before_signal<1>();
        loop_.input_.pipeline.template signal_free<Role>(loop_.held_);
      }
      loop_.held_ = this->stage_;
      ++loop_.done_;
    }
    WARPLOOM_FN void claim() const noexcept {}  // a scope holds its slot to the end

   private:
    Mainloop& loop_;
  };

  WARPLOOM_FN Mainloop(Accumulator& accumulator, Input& input, int slots) noexcept
      : accumulator_(accumulator), input_(input), slots_(slots) {
    accumulator.start();
    if (slots == 0) accumulator.clear();
  }
  WARPLOOM_FN ~Mainloop() noexcept {
    accumulator_.wait();
    if (done_ > 0) input_.pipeline.template signal_free<Role>(held_);
  }

  WARPLOOM_FN auto begin() noexcept { return StageRange<Stage, Mainloop*>(this, slots_); }
  WARPLOOM_FN auto end() const noexcept { return typename StageRange<Stage, Mainloop*>::End{}; }

 private:
  Accumulator& accumulator_;
  Input& input_;
  int slots_;
  int done_ = 0;       ///< stages left
  uint32_t held_ = 0;  ///< the last of them, whose wgmmas may be in flight
};

}  // namespace warploom::inline WARPLOOM_MACHINE
