// The epilogue's unit of work: 64 left rows x `columns` right rows of the product, 16 rows for each of four warps, in
// their registers on the way to an output tile in shared memory. wgmma leaves its sums like that, and a load of 16 x
// 256 bits from tensor memory brings them so. fp32 arithmetic and one rounding: acc -> * alpha -> + beta * C -> + bias
// -> activation -> cast.
//
//   Patch<64, false> patch(place);  patch.take(sum, block, first);             // every thread of the group
//   patch.add_residual(beta, c_type, slots);  patch.add_bias(bias, true);
//   patch.apply<false>(Activation::silu, DType::bf16);
//   patch.stage(DType::bf16, slots);                        // to shared memory, as the output's tensor map asks
//
// A slot is lines of 128 bytes: line r holds row r of the output in 16 bits, all columns of the patch. In f32 a patch
// takes two slots, half the columns each; in e4m3 lines have 64 bytes. With `swap` the right rows are output rows.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/kernels/activation.hpp"
#include "warploom/kernels/gemm/split_sum.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Shared memory of one patch; `second` is used in f32.
struct PatchSlots {
  char* first;
  char* second;
};

/// This thread in its warpgroup. Made once: a warp's index is a shuffle, which compilers do not merge.
struct GroupPlace {
  uint32_t warp, lane;
  WARPLOOM_FN GroupPlace() noexcept : warp(arch::warp_index() % 4), lane(arch::lane_index()) {}
  WARPLOOM_FN uint32_t thread() const noexcept { return 32 * warp + lane; }
};

WARPLOOM_FN float widen(DType type, uint32_t bits) noexcept {
  return type == DType::f16 ? arch::to_float(f16{static_cast<uint16_t>(bits)}) : arch::as_float(bits << 16);
}

/// The bias as a tile sees it: one value per right row or per left row.
template <bool swap, class Params>
WARPLOOM_FN bool bias_along_right(const Params& params) noexcept {
  return (params.bias_along == BiasAlong::n) != swap;
}
/// Its element at a row or column of D, as it lies in memory, and its value; 0 beyond the last.
template <class Params>
WARPLOOM_FN uint32_t bias_bits(const Params& params, int at) noexcept {
  if (at >= (params.bias_along == BiasAlong::n ? params.n : params.m)) return 0;
  if (params.bias_type == DType::f32) return arch::load_global(static_cast<const uint32_t*>(params.bias) + at);
  return arch::load_global(static_cast<const uint16_t*>(params.bias) + at);
}
template <class Params>
WARPLOOM_FN float bias_of(const Params& params, uint32_t bits) noexcept {
  return params.bias_type == DType::f32 ? arch::as_float(bits) : widen(params.bias_type, bits);
}

/// In f32 the second slot begins at column `half`.
template <int columns_, bool swap, int half = (swap ? 64 : columns_) / 2>
class Patch {
 public:
  static constexpr int columns = columns_;
  static constexpr int values = columns / 2;  ///< per thread
  static constexpr int output_rows = swap ? columns : 64, output_columns = swap ? 64 : columns;
  static constexpr uint32_t warp_rows = 16, warp_bytes = 128 * warp_rows;  ///< unswapped: a warp's share of a slot
  static_assert(columns % 8 == 0 && columns <= 64, "warploom: a patch has 8, 16, ... 64 columns");

  WARPLOOM_FN explicit Patch(const GroupPlace& place) noexcept : place_(place) {}

  /// Registers [first, first + values) of a block of the accumulator. In registers these are not even copies.
  template <class Accumulator>
  WARPLOOM_FN void take(const Accumulator& sum, int block, int first) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < values; ++i) v_[i] = sum.value(block, first + i);
  }

  /// The same, times alpha, of one that is not in registers.
  template <class Accumulator>
  WARPLOOM_FN void take(const Accumulator& sum, int block, int first, float alpha) noexcept {
    sum.take(v_, block, first, alpha);
  }

  /// The same of sums that lie in memory in parts.
  WARPLOOM_FN void take(const PartialSums& sums, int first, float alpha) noexcept { sums.take(v_, first, alpha); }

  /// + beta * C, brought to the slots by TMA.
  WARPLOOM_FN void add_residual(float beta, DType type, const PatchSlots& slots) noexcept {
    if (type == DType::f32) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values; i += 2) {
        if constexpr (swap) {
          WARPLOOM_UNROLL
          for (int j = i; j < i + 2; ++j)
            add(j, beta, arch::load_shared(reinterpret_cast<const float*>(at<4>(j, slots))));
        } else {
          const Pair c = arch::load_shared(reinterpret_cast<const Pair*>(at<4>(i, slots)));
          add(i, beta, c.first), add(i + 1, beta, c.second);
        }
      }
      return;
    }
    if constexpr (swap) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values; ++i)
        add(i, beta, widen(type, arch::load_shared(reinterpret_cast<const uint16_t*>(at<2>(i, slots)))));
    } else if (type == DType::f16) {
      add_residual<f16>(beta, slots);
    } else {
      add_residual<bf16>(beta, slots);
    }
  }
  /// The same of a type of 16 bits, unswapped.
  template <class Half>
  WARPLOOM_FN void add_residual(float beta, const PatchSlots& slots) noexcept {
    add_halves(beta, slots, [](uint32_t pair) WARPLOOM_LAMBDA {
      if constexpr (std::is_same_v<Half, f16>)
        return Pair{arch::to_float(f16{static_cast<uint16_t>(pair)}),
                    arch::to_float(f16{static_cast<uint16_t>(pair >> 16)})};
      else
        return Pair{arch::as_float(pair << 16), arch::as_float(pair & 0xffff0000u)};
    });
  }

  /// + the bias of the patch's right rows (`along_right`) or of this warp's left rows, in shared memory.
  WARPLOOM_FN void add_bias(const float* bias, bool along_right) noexcept {
    if (along_right) {
      WARPLOOM_UNROLL
      for (int i = 0; i < values; i += 4) {
        const Pair b = arch::load_shared(reinterpret_cast<const Pair*>(bias + column(i)));
        v_[i] = arch::add(v_[i], b.first), v_[i + 1] = arch::add(v_[i + 1], b.second);
        v_[i + 2] = arch::add(v_[i + 2], b.first), v_[i + 3] = arch::add(v_[i + 3], b.second);
      }
    } else {
      const float* const own = bias + place_.lane / 4;
      const float upper = arch::load_shared(own), lower = arch::load_shared(own + 8);
      WARPLOOM_UNROLL
      for (int i = 0; i < values; ++i) v_[i] = arch::add(v_[i], i % 4 < 2 ? upper : lower);
    }
  }

  /// v = f(v), in fp32, before the rounding.
  template <class F>
  WARPLOOM_FN void each(F&& f) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < values; ++i) v_[i] = f(v_[i]);
  }
  /// The same four values at a time, the others moving up behind them, for an `f` of many instructions: they stand
  /// there four times instead of `values` times, and compile sooner, for a move more per value.
  template <class F>
  WARPLOOM_FN void each_in_turn(F&& f) noexcept {
    static_assert(values % 4 == 0);
    WARPLOOM_ROLLED
    for (int i = 0; i < values; i += 4) {
      float next[4];
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) next[j] = f(v_[j]);
      WARPLOOM_UNROLL
      for (int j = 0; j < values - 4; ++j) v_[j] = v_[j + 4];
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) v_[values - 4 + j] = next[j];
    }
  }
  /// The activation and the type of D are the same for the whole launch: one branch, then straight code. `compact`: the
  /// accurate functions, those of a D in f32, in turn.
  template <bool compact>
  WARPLOOM_FN void apply(Activation activation, DType type) noexcept {
    const bool narrow = type != DType::f32;
    const auto accurate = [&](auto&& f) WARPLOOM_LAMBDA {
      if constexpr (compact)
        each_in_turn(f);
      else
        each(f);
    };
    switch (activation) {
      case Activation::none: break;
      case Activation::relu: each([](float x) WARPLOOM_LAMBDA { return relu(x); }); break;
      case Activation::gelu:
        if (narrow)
          each([](float x) WARPLOOM_LAMBDA { return narrow::gelu(x); });
        else
          accurate([](float x) WARPLOOM_LAMBDA { return gelu(x); });
        break;
      case Activation::gelu_tanh:
        if (narrow)
          each([](float x) WARPLOOM_LAMBDA { return narrow::gelu_tanh(x); });
        else
          accurate([](float x) WARPLOOM_LAMBDA { return gelu_tanh(x); });
        break;
      case Activation::silu:
        if (narrow)
          each([](float x) WARPLOOM_LAMBDA { return narrow::silu(x); });
        else
          accurate([](float x) WARPLOOM_LAMBDA { return silu(x); });
        break;
    }
  }

  /// Rounds and writes the patch to its slots.
  WARPLOOM_FN void stage(DType type, const PatchSlots& slots) const noexcept {
    switch (type) {
      case DType::bf16: stage<bf16>(slots); break;
      case DType::f16: stage<f16>(slots); break;
      case DType::f32: stage_floats(slots); break;
      default: stage_bytes(slots); break;
    }
  }

  /// The same in a type of 16 bits.
  template <class Half>
  WARPLOOM_FN void stage(const PatchSlots& slots) const noexcept {
    stage_halves(slots, [](float x, float y) WARPLOOM_LAMBDA {
      return std::is_same_v<Half, f16> ? arch::pack_f16(x, y) : arch::pack_bf16(x, y);
    });
  }
  /// Two values at a time, 8 x 8 tiles.
  template <class Pack>
  WARPLOOM_FN void stage_halves(const PatchSlots& slots, Pack&& pack) const noexcept {
    const arch::SharedAddress line = tile_line(slots);
    WARPLOOM_UNROLL
    for (int i = 0; i < values; i += 8) {
      if (i + 8 <= values) {
        uint32_t packed[4];
        WARPLOOM_UNROLL
        for (int j = 0; j < 4; ++j) packed[j] = pack(v_[i + 2 * j], v_[i + 2 * j + 1]);
        arch::store_matrix<4, swap>(tiles_at(line, i), packed);
      } else {  // the last eight columns of an odd number: lanes 16 to 31 name nothing
        const uint32_t packed[2] = {pack(v_[i], v_[i + 1]), pack(v_[i + 2], v_[i + 3])};
        arch::store_matrix<2, swap>(tiles_at(line, i), packed);
      }
    }
  }

  // ---- element by element, for tensors that TMA's 16-byte rules keep it from; the element of line 0 of the slots is
  // given, as if all lines were as this warp's are, and `rows` x `columns_left` elements exist from there on. Each warp
  // has its own lines, unless the patch is swapped.

  /// Brings C to the slots, and zeros where there is none: the whole patch is read.
  static WARPLOOM_FN void copy_in(DType type, const PatchSlots& slots, const void* c, int64_t stride, int rows,
                                  int columns_left, const GroupPlace& place_of) noexcept {
    each_place(place_of, [&](uint32_t r, uint32_t col) WARPLOOM_LAMBDA {
      const int64_t from = r * stride + col;
      const bool there = inside(r, col, rows, columns_left);
      if (type == DType::f32)
        arch::store_shared(reinterpret_cast<float*>(place<4>(r, col, slots)),
                           there ? arch::load_global(static_cast<const float*>(c) + from) : 0.0f);
      else
        arch::store_shared(reinterpret_cast<uint16_t*>(place<2>(r, col, slots)),
                           there ? arch::load_global(static_cast<const uint16_t*>(c) + from) : uint16_t{0});
    });
  }
  /// Takes a staged patch to D.
  static WARPLOOM_FN void copy_out(DType type, const PatchSlots& slots, void* d, int64_t stride, int rows,
                                   int columns_left, const GroupPlace& place_of) noexcept {
    each_place(place_of, [&](uint32_t r, uint32_t col) WARPLOOM_LAMBDA {
      if (!inside(r, col, rows, columns_left)) return;
      const int64_t to = r * stride + col;
      if (type == DType::f32)
        arch::store_global(static_cast<float*>(d) + to,
                           arch::load_shared(reinterpret_cast<const float*>(place<4>(r, col, slots))));
      else if (type == DType::e4m3)
        arch::store_global(static_cast<uint8_t*>(d) + to,
                           arch::load_shared(reinterpret_cast<const uint8_t*>(place<1>(r, col, slots))));
      else
        arch::store_global(static_cast<uint16_t*>(d) + to,
                           arch::load_shared(reinterpret_cast<const uint16_t*>(place<2>(r, col, slots))));
    });
  }

 private:
  struct alignas(8) Pair {
    float first, second;
  };

  // ---- where register i lies
  WARPLOOM_FN uint32_t row(int i) const noexcept { return 16 * place_.warp + place_.lane / 4 + 8 * (i / 2 % 2); }
  WARPLOOM_FN uint32_t column(int i) const noexcept { return 8 * (i / 4) + 2 * (place_.lane % 4) + i % 2; }
  WARPLOOM_FN uint32_t output_row(int i) const noexcept { return swap ? column(i) : row(i); }
  WARPLOOM_FN uint32_t output_column(int i) const noexcept { return swap ? row(i) : column(i); }
  template <int size>
  WARPLOOM_FN char* at(int i, const PatchSlots& slots) const noexcept {
    return place<size>(output_row(i), output_column(i), slots);
  }
  /// An element of `size` bytes in the slots.
  template <int size>
  static WARPLOOM_FN char* place(uint32_t r, uint32_t c, const PatchSlots& slots) noexcept {
    if constexpr (size == 1) {
      // A warp stays where the C of its own rows lay.
      const uint32_t warp = swap ? 0 : r / warp_rows;
      return slots.first + warp * warp_bytes + swizzle_address(Swizzle::b64, (r - warp * warp_rows) * 64 + c);
    } else if constexpr (size == 2) {
      return slots.first + swizzle_address(Swizzle::b128, r * 128 + c * 2);
    } else {
      const bool second = c >= half;
      return (second ? slots.second : slots.first) +
             swizzle_address(Swizzle::b128, r * 128 + (c - (second ? half : 0)) * 4);
    }
  }

  // ---- 8 x 8 tiles of 16 bits, two or four at a time: lane l names line l % 8 of tile l / 8. Tiles 0 and 1 are rows
  // 0-7 and 8-15 of eight columns, 2 and 3 the same of the next eight.
  WARPLOOM_FN arch::SharedAddress tile_line(const PatchSlots& slots) const noexcept {
    const uint32_t tile = place_.lane / 8, line = place_.lane % 8;
    return arch::shared_address(swap ? place<2>(8 * (tile / 2) + line, 16 * place_.warp + 8 * (tile % 2), slots)
                                     : place<2>(16 * place_.warp + 8 * (tile % 2) + line, 8 * (tile / 2), slots));
  }
  /// The same of registers [i, i + 8): 16 output rows on, or 32 bytes, which the swizzle, its lines being aligned,
  /// leaves one exclusive or away.
  static WARPLOOM_FN arch::SharedAddress tiles_at(arch::SharedAddress line, int i) noexcept {
    return swap ? line + 256 * static_cast<uint32_t>(i)
                : arch::SharedAddress{line.value ^ 4 * static_cast<uint32_t>(i)};
  }

  template <class Widen>
  WARPLOOM_FN void add_halves(float beta, const PatchSlots& slots, Widen&& widen_pair) noexcept {
    const arch::SharedAddress line = tile_line(slots);
    const auto add_pair = [&](int i, uint32_t pair) WARPLOOM_LAMBDA {
      const Pair c = widen_pair(pair);
      add(i, beta, c.first), add(i + 1, beta, c.second);
    };
    WARPLOOM_UNROLL
    for (int i = 0; i < values; i += 8) {
      if (i + 8 <= values) {
        uint32_t packed[4];
        arch::load_matrix<4>(tiles_at(line, i), packed);
        WARPLOOM_UNROLL
        for (int j = 0; j < 4; ++j) add_pair(i + 2 * j, packed[j]);
      } else {
        uint32_t packed[2];
        arch::load_matrix<2>(tiles_at(line, i), packed);
        add_pair(i, packed[0]), add_pair(i + 2, packed[1]);
      }
    }
  }

  static WARPLOOM_FN bool inside(uint32_t r, uint32_t c, int rows, int columns_left) noexcept {
    return static_cast<int>(r) < rows && static_cast<int>(c) < columns_left;
  }
  /// Of the patch, those that are this thread's to copy.
  template <class F>
  static WARPLOOM_FN void each_place(const GroupPlace& place_of, F&& f) noexcept {
    constexpr uint32_t threads = swap ? 128 : 32, mine = swap ? output_rows : warp_rows;
    const uint32_t first = swap ? 0 : warp_rows * place_of.warp;
    WARPLOOM_ROLLED
    for (uint32_t e = swap ? place_of.thread() : place_of.lane; e < mine * output_columns; e += threads) {
      f(first + e / output_columns, e % output_columns);
    }
  }

  WARPLOOM_FN void add(int i, float beta, float c) noexcept { v_[i] = arch::fma(beta, c, v_[i]); }

  WARPLOOM_FN void stage_floats(const PatchSlots& slots) const noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < values; i += 2) {
      if constexpr (swap) {
        arch::store_shared(reinterpret_cast<float*>(at<4>(i, slots)), v_[i]);
        arch::store_shared(reinterpret_cast<float*>(at<4>(i + 1, slots)), v_[i + 1]);
      } else {
        arch::store_shared(reinterpret_cast<Pair*>(at<4>(i, slots)), Pair{v_[i], v_[i + 1]});
      }
    }
  }
  WARPLOOM_FN void stage_bytes(const PatchSlots& slots) const noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < values; i += 2) {
      const uint16_t packed = arch::pack_e4m3(v_[i], v_[i + 1]);
      if constexpr (swap) {
        arch::store_shared(reinterpret_cast<uint8_t*>(at<1>(i, slots)), static_cast<uint8_t>(packed));
        arch::store_shared(reinterpret_cast<uint8_t*>(at<1>(i + 1, slots)), static_cast<uint8_t>(packed >> 8));
      } else {
        arch::store_shared(reinterpret_cast<uint16_t*>(at<1>(i, slots)), packed);
      }
    }
  }

  GroupPlace place_;
  float v_[values];
};

}  // namespace warploom::inline WARPLOOM_MACHINE
