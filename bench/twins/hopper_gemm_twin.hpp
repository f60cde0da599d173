// The twin of examples/hopper_gemm_kernel.hpp (cooperative), written by hand on `arch`: D = A * B^T in bf16, two math
// warpgroups with 64 rows of the tile each, a warp that loads, clusters of one or two CTAs along M that share B.
//
// Stage and lap are plain integers, counts, bytes and masks are worked out here. Same tiles, waits, fences, signals,
// products and stores; one wgmma group in flight while the slot before it is given back.
#pragma once

#include "warploom/arch/cluster.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/registers.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/arch/wgmma.hpp"
#include "warploom/schedule/static_persistent.hpp"

namespace warploom::inline WARPLOOM_MACHINE::twins {

template <class Params_, int cluster, int tile_n_, int stages_>
struct HopperGemmTwin {
  static constexpr char name[] = "hopper-gemm-twin";
  using Params = Params_;
  using Cluster = ClusterShape<1, cluster, 1>;
  static constexpr int tile_m = 128, tile_n = tile_n_, tile_k = 64, stages = stages_;
  static constexpr int group_rows = 64, strip_columns = 64, buffers = 2;
  static constexpr int math_warps = 8, threads = 32 * (math_warps + 4);
  static constexpr bool waits_for_earlier_grids = true;
  struct Payload {  // what the host needs to know of the boxes
    static constexpr int a_slice_rows = tile_m, b_slice_rows = tile_n / cluster;
  };
  static constexpr uint32_t row_bytes = tile_k * sizeof(bf16);
  static constexpr uint32_t slot_bytes = (tile_m + tile_n) * row_bytes;

  struct Slot {
    alignas(1024) bf16 a[tile_m * tile_k];
    alignas(1024) bf16 b[tile_n * tile_k];
  };
  struct Storage {
    Slot slots[stages];
    arch::Mbarrier full[stages], empty[stages];
    alignas(1024) bf16 strips[2][buffers][group_rows * strip_columns];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      for (int i = 0; i < stages; ++i) {
        arch::mbarrier_init(arch::shared_address(&storage.full[i]), 1);
        arch::mbarrier_init(arch::shared_address(&storage.empty[i]), math_warps * cluster);
      }
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    meet();
    arch::grid_dependency_wait();

    const StaticPersistent<Cluster> tiles(ceil_div(params.m, tile_m), ceil_div(params.n, tile_n),
                                          ceil_div(params.k, tile_k));
    if (warp < math_warps) {
      arch::register_increase<232>();
      math(params, storage, tiles, warp / 4);
    } else {
      arch::register_decrease<40>();
      if (warp == math_warps && arch::elect_one()) load(params, storage, tiles);
    }
    arch::syncwarp();
    arch::grid_launch_dependents();
    if constexpr (cluster > 1) meet();
  }

 private:
  static WARPLOOM_FN void meet() noexcept {
    if constexpr (cluster > 1)
      arch::cluster_sync();
    else
      arch::syncthreads();
  }

  static WARPLOOM_FN void load(const Params& params, Storage& storage,
                               const StaticPersistent<Cluster>& tiles) noexcept {
    uint32_t stage = 0, lap = 0;
    for (Tile tile : tiles) {
      for (int k = 0; k < tile.k_blocks(); ++k) {
        Slot& slot = storage.slots[stage];
        const arch::SharedAddress full = arch::shared_address(&storage.full[stage]);
        arch::mbarrier_wait(arch::shared_address(&storage.empty[stage]), lap);
        arch::mbarrier_arrive_expect_tx(full, slot_bytes);
        arch::tma_load<1>(arch::shared_address(slot.a), params.a, full, {k * tile_k, tile.m * tile_m});
        if constexpr (cluster == 1) {
          arch::tma_load<1>(arch::shared_address(slot.b), params.b, full, {k * tile_k, tile.n * tile_n});
        } else {
          // This CTA's share of B, to every CTA of the cluster.
          constexpr int share = tile_n / cluster;
          const uint32_t rank = arch::cluster_rank();
          const int row = static_cast<int>(rank) * share;
          arch::tma_load_multicast<1>(arch::shared_address(slot.b) + row * row_bytes, params.b, full,
                                      {k * tile_k, tile.n * tile_n + row}, (1u << cluster) - 1);
        }
        if (++stage == stages) stage = 0, ++lap;
      }
    }
    for (int i = 0; i < stages; ++i) {  // no arrival of a peer may meet a CTA that has left
      arch::mbarrier_wait(arch::shared_address(&storage.empty[stage]), lap);
      if (++stage == stages) stage = 0, ++lap;
    }
  }

  static WARPLOOM_FN void release(Storage& storage, uint32_t stage) noexcept {
    const arch::SharedAddress empty = arch::shared_address(&storage.empty[stage]);
    const uint32_t lane = arch::lane_index();
    arch::syncwarp();
    if constexpr (cluster == 1) {
      if (lane == 0) arch::mbarrier_arrive(empty);
    } else {
      if (lane < cluster) arch::mbarrier_arrive(arch::map_to_rank(empty, lane));
    }
  }

  static WARPLOOM_FN SmemDescriptor descriptor(const bf16* tile) noexcept {
    return encode_wgmma_descriptor({.start = arch::shared_address(tile).value,
                                    .leading_byte_offset = 16,
                                    .stride_byte_offset = 8 * row_bytes,
                                    .base_offset = 0,
                                    .swizzle = Swizzle::b128});
  }

  static WARPLOOM_FN void math(const Params& params, Storage& storage, const StaticPersistent<Cluster>& tiles,
                               uint32_t group) noexcept {
    uint32_t stage = 0, lap = 0, buffer = 0;
    for (Tile tile : tiles) {
      arch::Fragment<float, tile_n / 2> sum;
      multiply(storage, sum, tile.k_blocks(), group, stage, lap);
      write(params, storage, sum, tile.m * tile_m + static_cast<int>(group) * group_rows, tile.n * tile_n, group,
            buffer);
    }
    if (arch::thread_index() % 128 == 0) arch::bulk_wait_group_read<0>();
  }

  static WARPLOOM_FN void multiply(Storage& storage, arch::Fragment<float, tile_n / 2>& sum, int k_blocks,
                                   uint32_t group, uint32_t& stage, uint32_t& lap) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < tile_n / 2; ++i) sum[i] = 0.0f;  // what a tile without K blocks holds
    uint32_t before = 0;
    for (int k = 0; k < k_blocks; ++k) {
      arch::mbarrier_wait(arch::shared_address(&storage.full[stage]), lap + 1);
      arch::wgmma_fence(sum);
      const SmemDescriptor a = descriptor(storage.slots[stage].a + group * group_rows * tile_k);
      const SmemDescriptor b = descriptor(storage.slots[stage].b);
      WARPLOOM_UNROLL
      for (uint32_t byte = 0; byte < row_bytes; byte += mma_k_bytes)
        arch::wgmma<tile_n, bf16, bf16>(sum, a.advance(byte), b.advance(byte), k > 0 || byte > 0);
      arch::wgmma_commit_group();
      if (k > 0) {
        arch::wgmma_wait_group<1>();
        release(storage, before);
      }
      before = stage;
      if (++stage == stages) stage = 0, ++lap;
    }
    arch::wgmma_wait_group<0>(sum);
    if (k_blocks > 0) release(storage, before);
  }

  /// To bf16, through shared memory, 64 columns at a time.
  static WARPLOOM_FN void write(const Params& params, Storage& storage, const arch::Fragment<float, tile_n / 2>& sum,
                                int row, int column, uint32_t group, uint32_t& buffer) noexcept {
    const bool stores = arch::thread_index() % 128 == 0;
    const uint32_t lane = arch::lane_index();
    const uint32_t strip_row = 16 * (arch::warp_index() % 4) + 8 * (lane / 8 % 2) + lane % 8;
    WARPLOOM_UNROLL
    for (int strip = 0; strip < tile_n / strip_columns; ++strip) {
      bf16* const staged = storage.strips[group][buffer];
      if (stores) arch::bulk_wait_group_read<buffers - 1>();
      arch::bar_sync(2 + group, 128);
      WARPLOOM_UNROLL
      for (int unit = 0; unit < strip_columns / 8; unit += 2) {
        const int first = 4 * (strip * strip_columns / 8 + unit);
        uint32_t packed[4];
        WARPLOOM_UNROLL
        for (int i = 0; i < 4; ++i) packed[i] = arch::pack_bf16(sum[first + 2 * i], sum[first + 2 * i + 1]);
        const uint32_t offset = swizzle_address(Swizzle::b128, strip_row * row_bytes + (unit + lane / 16) * 16);
        arch::store_matrix<4>(arch::shared_address(staged) + offset, packed);
      }
      arch::fence_proxy_async_shared();
      arch::bar_sync(2 + group, 128);
      if (stores) {
        arch::tma_store(params.d, arch::shared_address(staged), {column + strip * strip_columns, row});
        arch::bulk_commit_group();
      }
      buffer = (buffer + 1) % buffers;
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::twins
