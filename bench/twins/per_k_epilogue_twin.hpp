// The twin of examples/per_k_epilogue_kernel.hpp, written by hand on `arch`: e4m3 GEMM with scales per K block, on one
// SM (group 1) or on a pair of CTAs (group 2) that share the columns of B.
//
// Stages and laps are plain integers, counts, bytes, masks and tensor-memory columns are worked out here. Same tiles,
// waits, fences, signals, products, promotion and stores.
#pragma once

#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/arch/umma.hpp"
#include "warploom/schedule/static_persistent.hpp"

namespace warploom::inline WARPLOOM_MACHINE::twins {

template <class Params_, int group>
struct PerKEpilogueTwin {
  static constexpr char name[] = "per-k-epilogue-twin";
  using Params = Params_;
  using Cluster = ClusterShape<group, group, 1>;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128, stages = 4, accumulators = 4, strip_columns = 64;
  static constexpr int epilogue_threads = 128, threads = epilogue_threads + 3 * 32;
  static constexpr int b_rows = tile_n / group, part_columns = 32, buffers = 2;
  struct Payload {  // what the host needs to know of the boxes
    static constexpr int a_slice_rows = tile_m, b_slice_rows = b_rows;
  };
  static constexpr uint32_t operand_bytes = group * (tile_m + b_rows) * tile_k, scale_bytes = tile_m * sizeof(float);
  static constexpr uint16_t everyone = (1u << group) - 1;

  struct Slot {
    alignas(1024) e4m3 a[tile_m * tile_k];
    alignas(1024) e4m3 b[b_rows * tile_k];
    alignas(128) float a_scales[tile_m];
  };
  struct Storage {
    Slot slots[stages];
    arch::Mbarrier full[stages], empty[stages], scales_full[stages];
    alignas(1024) bf16 strips[buffers][tile_m * strip_columns];
    arch::Mbarrier sum_full[accumulators], sum_empty[accumulators], dealloc;
    uint32_t tmem_address;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      for (int i = 0; i < stages; ++i) {
        arch::mbarrier_init(at(storage.full[i]), 1);
        arch::mbarrier_init(at(storage.empty[i]), 1 + epilogue_threads / 32);
      }
      for (int i = 0; i < stages; ++i) arch::mbarrier_init(at(storage.scales_full[i]), 1);
      for (int i = 0; i < accumulators; ++i) {
        arch::mbarrier_init(at(storage.sum_full[i]), 1);
        arch::mbarrier_init(at(storage.sum_empty[i]), group * epilogue_threads);
      }
      arch::mbarrier_init(at(storage.dealloc), group * epilogue_threads);
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    meet();
    arch::grid_dependency_wait();

    const StaticPersistent<Cluster> tiles(ceil_div(params.m, tile_m), ceil_div(params.n, tile_n),
                                          ceil_div(params.k, tile_k));
    if (warp < 4) {
      epilogue(params, storage, tiles);
    } else if (warp == 4) {
      if (arch::elect_one()) load(params, storage, tiles);
    } else if (warp == 5) {
      mma(storage, tiles);
    }
    arch::syncwarp();
    arch::grid_launch_dependents();
    if constexpr (group > 1) meet();
  }

 private:
  using Tiles = StaticPersistent<Cluster>;

  static WARPLOOM_FN arch::SharedAddress at(const arch::Mbarrier& barrier) noexcept {
    return arch::shared_address(&barrier);
  }
  static WARPLOOM_FN void meet() noexcept {
    if constexpr (group > 1)
      arch::cluster_sync();
    else
      arch::syncthreads();
  }

  static WARPLOOM_FN void load(const Params& params, Storage& storage, const Tiles& tiles) noexcept {
    uint32_t stage = 0, lap = 0;
    const uint32_t rank = group == 1 ? 0 : arch::cluster_rank();
    for (Tile tile : tiles) {
      for (int k = 0; k < tile.k_blocks(); ++k) {
        Slot& slot = storage.slots[stage];
        arch::SharedAddress full = at(storage.full[stage]);
        const arch::SharedAddress scales_full = at(storage.scales_full[stage]);
        arch::mbarrier_wait(at(storage.empty[stage]), lap);
        if (rank == 0) arch::mbarrier_arrive_expect_tx(full, operand_bytes);
        arch::mbarrier_arrive_expect_tx(scales_full, scale_bytes);
        if constexpr (group == 2) full = arch::pair_leader(full);
        arch::tma_load<group>(arch::shared_address(slot.a), params.a, full, {k * tile_k, tile.m * tile_m});
        arch::tma_load<group>(arch::shared_address(slot.b), params.b, full,
                              {k * tile_k, tile.n * tile_n + static_cast<int>(rank) * b_rows});
        arch::tma_load<group>(arch::shared_address(slot.a_scales), params.a_scales, scales_full, {tile.m * tile_m, k});
        if (++stage == stages) stage = 0, ++lap;
      }
    }
    for (int i = 0; i < stages; ++i) {
      arch::mbarrier_wait(at(storage.empty[stage]), lap);
      if (++stage == stages) stage = 0, ++lap;
    }
  }

  static WARPLOOM_FN SmemDescriptor descriptor(const e4m3* tile) noexcept {
    return encode_smem_descriptor({.start = arch::shared_address(tile).value,
                                   .leading_byte_offset = 16,
                                   .stride_byte_offset = 8 * tile_k,
                                   .base_offset = 0,
                                   .swizzle = Swizzle::b128});
  }
  static WARPLOOM_FN void commit(const arch::Mbarrier& barrier) noexcept {
    if constexpr (group == 1)
      arch::umma_commit<1>(at(barrier));
    else
      arch::umma_commit_multicast<2>(at(barrier), everyone);
  }

  static WARPLOOM_FN void mma(Storage& storage, const Tiles& tiles) noexcept {
    arch::tmem_alloc<group>(arch::shared_address(&storage.tmem_address), 512);
    arch::syncwarp();
    const arch::TmemAddress tmem{arch::load_shared(&storage.tmem_address)};
    arch::tcgen05_fence_before();
    arch::bar_arrive(1, 32 + epilogue_threads);  // the epilogue may read the address

    constexpr InstructionDescriptor instruction =
        encode_instruction({.accumulator = 1, .a_type = 0, .b_type = 0, .m = group * tile_m, .n = tile_n});
    uint32_t stage = 0, lap = 0, sum = 0, sum_lap = 0;
    if (arch::elect_one() && (group == 1 || arch::cluster_rank() == 0)) {
      for (Tile tile : tiles) {
        for (int k = 0; k < tile.k_blocks(); ++k) {
          arch::mbarrier_wait(at(storage.sum_empty[sum]), sum_lap);
          arch::tcgen05_fence_after();
          arch::mbarrier_wait(at(storage.full[stage]), lap + 1);
          arch::tcgen05_fence_after();
          const SmemDescriptor a = descriptor(storage.slots[stage].a), b = descriptor(storage.slots[stage].b);
          WARPLOOM_UNROLL
          for (uint32_t byte = 0; byte < tile_k; byte += mma_k_bytes)
            arch::umma<MmaKind::f8f6f4, group>(tmem.column(sum * tile_n), a.advance(byte), b.advance(byte), instruction,
                                               byte > 0);
          commit(storage.empty[stage]);
          if (++stage == stages) stage = 0, ++lap;
          commit(storage.sum_full[sum]);
          if (++sum == accumulators) sum = 0, ++sum_lap;
        }
      }
    }
    arch::syncwarp();
    arch::tmem_relinquish<group>();
    arch::mbarrier_wait(at(storage.dealloc), 1);
    arch::tcgen05_fence_after();
    arch::syncwarp();
    arch::tmem_dealloc<group>(tmem, 512);
  }

  static WARPLOOM_FN void epilogue(const Params& params, Storage& storage, const Tiles& tiles) noexcept {
    arch::bar_sync(1, 32 + epilogue_threads);
    const arch::TmemAddress lanes =
        arch::TmemAddress{arch::load_shared(&storage.tmem_address)}.lane(32 * (arch::warp_index() % 4));
    const uint32_t thread = arch::thread_index();
    const int last_n = (params.n - 1) / 128;
    uint32_t stage = 0, lap = 0, sum = 0, sum_lap = 0, buffer = 0;
    for (Tile tile : tiles) {
      float values[tile_n];
      WARPLOOM_UNROLL
      for (int i = 0; i < tile_n; ++i) values[i] = 0.0f;
      const float* const b_scales = params.b_scales + (tile.n < last_n ? tile.n : last_n) * ceil_div(params.k, 128);

      for (int k = 0; k < tile.k_blocks(); ++k) {
        arch::mbarrier_wait(at(storage.sum_full[sum]), sum_lap + 1);
        arch::tcgen05_fence_after();
        arch::mbarrier_wait(at(storage.scales_full[stage]), lap + 1);
        const float b_scale = arch::load_global(b_scales + k);
        const float a_scale = arch::load_shared(&storage.slots[stage].a_scales[thread]);
        arch::fence_proxy_async_shared();  // TMA writes here next
        arch::syncwarp();
        if (arch::lane_index() == 0) arch::mbarrier_arrive(at(storage.empty[stage]));
        if (++stage == stages) stage = 0, ++lap;

        // Two loads of 32 columns in turn: one is added while the other is on its way.
        const float scale = arch::multiply(a_scale, b_scale);
        const arch::TmemAddress from = lanes.column(sum * tile_n);
        arch::Fragment<uint32_t, part_columns> even, odd;
        arch::tmem_load_32x32b(even, from);
        arch::tmem_wait_load();
        arch::tmem_load_32x32b(odd, from.column(32));
        promote(values, even, 0, scale);
        arch::tmem_wait_load();
        arch::tmem_load_32x32b(even, from.column(64));
        promote(values, odd, 32, scale);
        arch::tmem_wait_load();
        arch::tmem_load_32x32b(odd, from.column(96));
        promote(values, even, 64, scale);
        arch::tmem_wait_load();
        arch::tcgen05_fence_before();
        const arch::SharedAddress sum_empty = at(storage.sum_empty[sum]);
        arch::mbarrier_arrive(group == 2 ? arch::pair_leader(sum_empty) : sum_empty);
        promote(values, odd, 96, scale);
        if (++sum == accumulators) sum = 0, ++sum_lap;
      }
      WARPLOOM_UNROLL
      for (int i = 0; i < tile_n; ++i) values[i] = arch::multiply(params.alpha, values[i]);
      WARPLOOM_UNROLL
      for (int first = 0; first < tile_n; first += strip_columns)
        write(params, storage, values + first, tile.m * tile_m, tile.n * tile_n + first, buffer);
    }
    if (thread == 0) arch::bulk_wait_group_read<0>();
    arch::tcgen05_fence_before();
    if constexpr (group == 2) arch::mbarrier_arrive(arch::map_to_rank(at(storage.dealloc), arch::cluster_rank() ^ 1));
    arch::mbarrier_arrive(at(storage.dealloc));
  }

  static WARPLOOM_FN void promote(float (&values)[tile_n], const arch::Fragment<uint32_t, part_columns>& part,
                                  int first, float scale) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < part_columns; ++i)
      values[first + i] = arch::fma(arch::as_float(part[i]), scale, values[first + i]);
  }

  struct alignas(16) FourWords {
    uint32_t words[4];
  };

  /// 64 columns to bf16, through shared memory; plainly where a row ends inside TMA's 16 bytes.
  static WARPLOOM_FN void write(const Params& params, Storage& storage, const float* values, int row, int column,
                                uint32_t& buffer) noexcept {
    const uint32_t thread = arch::thread_index();
    if (thread == 0) arch::bulk_wait_group_read<buffers - 1>();
    arch::bar_sync(2, epilogue_threads);
    char* const staged = reinterpret_cast<char*>(storage.strips[buffer]);
    WARPLOOM_UNROLL
    for (int unit = 0; unit < strip_columns / 8; ++unit) {
      FourWords packed;
      WARPLOOM_UNROLL
      for (int i = 0; i < 4; ++i)
        packed.words[i] = arch::pack_bf16(values[8 * unit + 2 * i], values[8 * unit + 2 * i + 1]);
      const uint32_t offset = swizzle_address(Swizzle::b128, thread * 128 + 16 * static_cast<uint32_t>(unit));
      arch::store_shared(reinterpret_cast<FourWords*>(staged + offset), packed);
    }
    arch::fence_proxy_async_shared();
    arch::bar_sync(2, epilogue_threads);
    const bool ragged = params.n % 8 != 0 && column + strip_columns > params.n;
    if (ragged && column + static_cast<int>(thread % 64) < params.n) {
      for (uint32_t i = thread / 64; i < tile_m && row + static_cast<int>(i) < params.m; i += 2) {
        const uint32_t offset = swizzle_address(Swizzle::b128, i * 128 + thread % 64 / 8 * 16) + thread % 8 * 2;
        arch::store_global(params.d_data + (row + static_cast<int>(i)) * params.d_stride + column + thread % 64,
                           arch::load_shared(reinterpret_cast<const bf16*>(staged + offset)));
      }
    }
    if (thread == 0) {
      if (!ragged) arch::tma_store(params.d, arch::shared_address(staged), {column, row});
      arch::bulk_commit_group();
    }
    buffer = (buffer + 1) % buffers;
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::twins
