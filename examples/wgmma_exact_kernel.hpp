// wgmma in every combination of types, on numbers that make its arithmetic show: each CTA multiplies a tile of its own,
// once to four times onto one accumulator, with A in shared memory or in registers.
#pragma once

#include "wgmma_check_kernel.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// One form of the instruction.
template <int n_, class A_, class B_, WgmmaResult result_, WgmmaNegate negate_ = WgmmaNegate::none,
          WgmmaOverflow overflow_ = WgmmaOverflow::wrap>
struct ExactForm {
  static constexpr int n = n_;
  using A = A_;
  using B = B_;
  static constexpr WgmmaResult result = result_;
  static constexpr WgmmaNegate negate = negate_;
  static constexpr WgmmaOverflow overflow = overflow_;
};

/// The accumulator's registers, and how bits become one.
template <WgmmaResult result, int n>
struct ExactAccumulator {
  using Fragment = arch::Fragment<float, n / 2>;
  static constexpr int registers = n / 2;
  static WARPLOOM_FN float value(uint32_t bits) noexcept { return arch::as_float(bits); }
  static WARPLOOM_FN uint32_t bits(float value) noexcept { return arch::as_bits(value); }
};
template <int n>
struct ExactAccumulator<WgmmaResult::f16, n> {
  using Fragment = arch::Fragment<uint32_t, n / 4>;
  static constexpr int registers = n / 4;
  static WARPLOOM_FN uint32_t value(uint32_t bits) noexcept { return bits; }
  static WARPLOOM_FN uint32_t bits(uint32_t value) noexcept { return value; }
};
template <int n>
struct ExactAccumulator<WgmmaResult::s32, n> {
  using Fragment = arch::Fragment<int32_t, n / 2>;
  static constexpr int registers = n / 2;
  static WARPLOOM_FN int32_t value(uint32_t bits) noexcept { return static_cast<int32_t>(bits); }
  static WARPLOOM_FN uint32_t bits(int32_t value) noexcept { return static_cast<uint32_t>(value); }
};

/// What a tile does follows from its number, on both sides.
struct ExactTileRules {
  static constexpr uint32_t most_steps = 4;
  static WARPLOOM_CONST_FN uint32_t steps(uint32_t tile) { return 1u << tile % 3; }
  static WARPLOOM_CONST_FN bool reads_c(uint32_t tile) { return tile % 5 != 0; }
  static WARPLOOM_CONST_FN bool a_in_registers(uint32_t tile) { return tile % 2 == 1; }
};

template <class Form_>
struct WgmmaExactProbe : Probe<128> {
  static constexpr char name[] = "wgmma-exact";
  using Form = Form_;
  using A = typename Form::A;
  using B = typename Form::B;
  static constexpr int n = Form::n;
  static constexpr uint32_t most_steps = ExactTileRules::most_steps;
  using TileA = WgmmaTile<A, Major::k, Swizzle::b128, 64, most_steps>;
  using TileB = WgmmaTile<B, Major::k, Swizzle::b128, n, most_steps>;
  using Accumulator = ExactAccumulator<Form::result, n>;
  static constexpr int registers = Accumulator::registers;
  struct Params {
    uint32_t first_tile;
    const uint32_t* a;  ///< [tile], each as it lies in shared memory
    const uint32_t* b;
    const uint32_t* a_registers;  ///< [tile][thread][step][4]
    const uint32_t* c;            ///< [tile][thread][register]
    uint32_t* out;
  };
  struct alignas(1024) Storage {
    uint32_t a[TileA::bytes / 4];
    alignas(1024) uint32_t b[TileB::bytes / 4];
  };

  static WARPLOOM_FN void multiply(typename Accumulator::Fragment& d, SmemDescriptor a, SmemDescriptor b,
                                   bool accumulate) noexcept {
    if constexpr (Form::result == WgmmaResult::s32)
      arch::wgmma<n, A, B, Form::overflow>(d, a, b, accumulate);
    else
      arch::wgmma<n, A, B, Major::k, Major::k, Form::negate>(d, a, b, accumulate);
  }
  static WARPLOOM_FN void multiply(typename Accumulator::Fragment& d, const arch::Fragment<uint32_t, 4>& a,
                                   SmemDescriptor b, bool accumulate) noexcept {
    if constexpr (Form::result == WgmmaResult::s32)
      arch::wgmma_from_registers<n, A, B, Form::overflow>(d, a, b, accumulate);
    else
      arch::wgmma_from_registers<n, A, B, Major::k, Form::negate>(d, a, b, accumulate);
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), block = arch::block_index().x, tile = params.first_tile + block;
    copy_in<threads>(storage.a, params.a + block * (TileA::bytes / 4));
    copy_in<threads>(storage.b, params.b + block * (TileB::bytes / 4));
    arch::fence_proxy_async_shared();
    arch::syncthreads();
    const uint32_t at = (block * threads + thread) * registers;
    typename Accumulator::Fragment d;
    WARPLOOM_UNROLL
    for (int i = 0; i < registers; ++i) d[i] = Accumulator::value(arch::load_global(params.c + at + i));
    for (uint32_t step = 0; step < ExactTileRules::steps(tile); ++step) {
      const SmemDescriptor b = TileB::descriptor(address(storage.b), step);
      const bool accumulate = ExactTileRules::reads_c(tile) || step > 0;
      if (ExactTileRules::a_in_registers(tile)) {
        arch::Fragment<uint32_t, 4> a;
        WARPLOOM_UNROLL
        for (int i = 0; i < 4; ++i)
          a[i] = arch::load_global(params.a_registers + ((block * threads + thread) * most_steps + step) * 4 + i);
        arch::wgmma_fence(d, a);
        multiply(d, a, b, accumulate);
        arch::wgmma_commit_group();
        arch::wgmma_wait_group<0>(d);
      } else {
        arch::wgmma_fence(d);
        multiply(d, TileA::descriptor(address(storage.a), step), b, accumulate);
        arch::wgmma_commit_group();
        arch::wgmma_wait_group<0>(d);
      }
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < registers; ++i) arch::store_global(params.out + at + i, Accumulator::bits(d[i]));
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
