// Hopper's tensor core through `arch`: products with operands in every place and layout, groups in flight, and a small
// mainloop in which a producer warpgroup hands registers to two math warpgroups. Threads write their accumulator
// registers to global memory; data are small integers, so that every sum is exact on both machines.
#pragma once

#include "arch_check_kernel.hpp"
#include "warploom/arch/registers.hpp"
#include "warploom/arch/wgmma.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// Where the operand of `rows` rows and several instructions along K lies in shared memory (hardware.md §3.2, 3.3).
template <class T, Major major_, Swizzle swizzle_, uint32_t rows_, uint32_t steps_>
struct WgmmaTile {
  using Element = T;
  static constexpr Major major = major_;
  static constexpr Swizzle swizzle = swizzle_;
  static constexpr uint32_t rows = rows_, steps = steps_, k = 32 / sizeof(T);
  static constexpr uint32_t span = swizzle_span(swizzle);
  static constexpr bool k_major = major == Major::k, plain = swizzle == Swizzle::none;

  /// K-major: a row is one span of bytes, 32 without swizzle. MN-major: panels of one span along M or N, 16 k each.
  static constexpr uint32_t row_bytes = plain ? 32 : span;
  static constexpr uint32_t panels = plain || k_major ? 1 : (rows * sizeof(T) + span - 1) / span;
  static constexpr uint32_t tile_bytes = k_major ? rows * row_bytes : plain ? rows * 32 : panels * 16 * span;
  static constexpr uint32_t leading = plain ? 128 : k_major ? 16 : 16 * span;
  static constexpr uint32_t stride = plain ? 256 : 8 * span;
  static constexpr uint32_t bytes =
      k_major ? (steps * 32 + row_bytes - 1) / row_bytes * tile_bytes : steps * tile_bytes;

  /// From the first instruction's operand to that of another one.
  static WARPLOOM_CONST_FN uint32_t step_offset(uint32_t step) {
    return k_major ? step * 32 / row_bytes * tile_bytes + step * 32 % row_bytes : step * tile_bytes;
  }
  static WARPLOOM_FN SmemDescriptor descriptor(arch::SharedAddress start, uint32_t step) noexcept {
    return encode_wgmma_descriptor({.start = start.value,
                                    .leading_byte_offset = leading,
                                    .stride_byte_offset = stride,
                                    .base_offset = 0,
                                    .swizzle = swizzle})
        .advance(step_offset(step));
  }
};

template <int threads, uint32_t count>
WARPLOOM_FN void copy_in(uint32_t (&words)[count], const uint32_t* source) noexcept {
  for (uint32_t i = arch::thread_index(); i < count; i += threads)
    arch::store_shared(&words[i], arch::load_global(source + i));
}

/// Registers of a fragment to out[thread][i].
template <int count>
WARPLOOM_FN void put_fragment(const arch::Fragment<float, count>& d, uint32_t thread, uint32_t* out) noexcept {
  WARPLOOM_UNROLL
  for (int i = 0; i < count; ++i) arch::store_global(out + thread * count + i, arch::as_bits(d[i]));
}

// ---- one product

template <int n_, class TileA_, class TileB_, bool a_in_registers_>
struct WgmmaProbe : Probe<128> {
  static constexpr char name[] = "wgmma";
  static constexpr int n = n_;
  using TileA = TileA_;
  using TileB = TileB_;
  using A = typename TileA::Element;
  using B = typename TileB::Element;
  static constexpr bool a_in_registers = a_in_registers_;
  static constexpr uint32_t steps = TileA::steps;
  struct Params {
    const uint32_t* a;  ///< the tile as it lies in shared memory
    const uint32_t* b;
    const uint32_t* registers;  ///< [thread][step][4]
    uint32_t* out;              ///< [thread][n / 2]
  };
  struct alignas(1024) Storage {
    uint32_t a[TileA::bytes / 4];
    alignas(1024) uint32_t b[TileB::bytes / 4];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index();
    copy_in<threads>(storage.a, params.a);
    copy_in<threads>(storage.b, params.b);
    arch::fence_proxy_async_shared();
    arch::syncthreads();
    arch::Fragment<float, n / 2> d;
    if constexpr (a_in_registers) {
      arch::Fragment<uint32_t, 4> a[steps];
      WARPLOOM_UNROLL
      for (uint32_t step = 0; step < steps; ++step) {
        WARPLOOM_UNROLL
        for (int i = 0; i < 4; ++i) a[step][i] = arch::load_global(params.registers + (thread * steps + step) * 4 + i);
        arch::wgmma_fence(a[step]);
      }
      arch::wgmma_fence(d);
      WARPLOOM_UNROLL
      for (uint32_t step = 0; step < steps; ++step)
        arch::wgmma_from_registers<n, A, B, TileB::major>(d, a[step], TileB::descriptor(address(storage.b), step),
                                                          step > 0);
      arch::wgmma_commit_group();
      arch::wgmma_wait_group<0>(d);
    } else {
      arch::wgmma_fence(d);
      WARPLOOM_UNROLL
      for (uint32_t step = 0; step < steps; ++step)
        arch::wgmma<n, A, B, TileA::major, TileB::major>(d, TileA::descriptor(address(storage.a), step),
                                                         TileB::descriptor(address(storage.b), step), step > 0);
      arch::wgmma_commit_group();
      arch::wgmma_wait_group<0>(d);
    }
    put_fragment(d, thread, params.out);
  }
};

// ---- two groups in flight: a slot is filled again when the group that read it is complete and the next one runs

template <int n_, class T>
struct WgmmaGroupsProbe : Probe<128> {
  static constexpr char name[] = "wgmma-groups";
  static constexpr int n = n_;
  static constexpr uint32_t blocks = 7, steps = 4;
  using TileA = WgmmaTile<T, Major::k, Swizzle::b128, 64, steps>;
  using TileB = WgmmaTile<T, Major::k, Swizzle::b128, n, steps>;
  struct Params {
    const uint32_t* a;  ///< [block], each as it lies in shared memory
    const uint32_t* b;
    uint32_t* out;  ///< the even blocks' sum, then the odd blocks': [thread][n / 2] each
  };
  struct alignas(1024) Storage {
    uint32_t a[2][TileA::bytes / 4];
    uint32_t b[2][TileB::bytes / 4];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    arch::Fragment<float, n / 2> even, odd;
    arch::wgmma_fence(even, odd);
    WARPLOOM_UNROLL
    for (uint32_t block = 0; block < blocks; ++block) {
      copy_in<threads>(storage.a[block % 2], params.a + block * TileA::bytes / 4);
      copy_in<threads>(storage.b[block % 2], params.b + block * TileB::bytes / 4);
      arch::fence_proxy_async_shared();
      arch::syncthreads();
      WARPLOOM_UNROLL
      for (uint32_t step = 0; step < steps; ++step)
        arch::wgmma<n, T, T>(block % 2 == 0 ? even : odd, TileA::descriptor(address(storage.a[block % 2]), step),
                             TileB::descriptor(address(storage.b[block % 2]), step), block >= 2 || step > 0);
      arch::wgmma_commit_group();
      arch::wgmma_wait_group<1>();  // the group before: its slot is the next to be filled
      arch::syncthreads();
    }
    arch::wgmma_wait_group<0>(even, odd);
    put_fragment(even, arch::thread_index(), params.out);
    put_fragment(odd, arch::thread_index(), params.out + threads * n / 2);
  }
};

// ---- a mainloop: one producer warpgroup with few registers, two math warpgroups with many

struct WgmmaMainloopProbe : Probe<384> {
  static constexpr char name[] = "wgmma-mainloop";
  static constexpr int n = 128;
  static constexpr uint32_t m = 128, block_k = 64, stages = 3, blocks = 11, math_warps = 8;
  using TileA = WgmmaTile<bf16, Major::k, Swizzle::b128, 64, 4>;  // one math warpgroup's half
  using TileB = WgmmaTile<bf16, Major::k, Swizzle::b128, n, 4>;
  struct Params {
    TensorMap a;    ///< [m][K], boxes of m x block_k
    TensorMap b;    ///< [n][K]
    uint32_t* out;  ///< [math thread][n / 2]
  };
  struct alignas(1024) Stage {
    uint32_t a[2][TileA::bytes / 4];
    uint32_t b[TileB::bytes / 4];
  };
  struct alignas(1024) Storage {
    Stage stage[stages];
    arch::Mbarrier full[stages], empty[stages];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      for (uint32_t i = 0; i < stages; ++i) {
        arch::mbarrier_init(address(&storage.full[i]), 1);
        arch::mbarrier_init(address(&storage.empty[i]), math_warps);
      }
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    if (arch::warp_index() < 4) {
      arch::register_decrease<40>();
      if (arch::thread_index() == 0) load(params, storage);
    } else {
      arch::register_increase<232>();
      multiply(params, storage);
    }
  }

  static WARPLOOM_FN void load(const Params& params, Storage& storage) noexcept {
    for (uint32_t block = 0; block < blocks; ++block) {
      Stage& stage = storage.stage[block % stages];
      const arch::SharedAddress full = address(&storage.full[block % stages]);
      arch::mbarrier_wait(address(&storage.empty[block % stages]), block / stages);
      arch::mbarrier_arrive_expect_tx(full, sizeof(Stage));
      arch::tma_load<1>(address(stage.a), params.a, full, {static_cast<int32_t>(block * block_k), 0});
      arch::tma_load<1>(address(stage.b), params.b, full, {static_cast<int32_t>(block * block_k), 0});
    }
  }

  static WARPLOOM_FN void multiply(const Params& params, Storage& storage) noexcept {
    const uint32_t half = arch::warp_index() / 4 - 1;
    arch::Fragment<float, n / 2> d;
    for (uint32_t block = 0; block < blocks; ++block) {
      const Stage& stage = storage.stage[block % stages];
      arch::mbarrier_wait(address(&storage.full[block % stages]), block / stages + 1);
      arch::wgmma_fence(d);
      WARPLOOM_UNROLL
      for (uint32_t step = 0; step < 4; ++step)
        arch::wgmma<n, bf16, bf16>(d, TileA::descriptor(address(stage.a[half]), step),
                                   TileB::descriptor(address(stage.b), step), block > 0 || step > 0);
      arch::wgmma_commit_group();
      arch::wgmma_wait_group<1>(d);
      if (block > 0) release(storage, block - 1);
    }
    arch::wgmma_wait_group<0>(d);
    release(storage, blocks - 1);
    put_fragment(d, arch::thread_index() - 128, params.out);
  }

  static WARPLOOM_FN void release(Storage& storage, uint32_t block) noexcept {
    if (arch::elect_one()) arch::mbarrier_arrive(address(&storage.empty[block % stages]));
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
