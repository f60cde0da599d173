// The types around the five of the original's pages, in a GEMM that needs no skeleton: D = 2 * A * B^T in fp32 from
// bf16. The load and MMA roles go through each way into the input ring (typed ends, polls, must-release stages, by
// hand), the warps hold tensor memory through MmaWarp and EpilogueWarp, and the epilogue reads and writes it as an
// AccumTensor.
#pragma once

#include <bit>

#include "warp/seed_examples_kernel.hpp"  // the checks
#include "warploom/arch/cluster.hpp"
#include "warploom/warp/tmem_tensor.hpp"

namespace warploom::test {

enum class InputUse { ends, polls, stages, ring_stages, by_hand, wrong_bytes };

struct SeedTypesParams {
  TensorMap a, b;
  float* d;
  int m, n, k;
  InputUse use;
};

/// `k_group`: K blocks in a slot of the input ring.
template <class Cluster_, int k_group>
struct SeedTypes {
  using Cluster = Cluster_;
  using Params = SeedTypesParams;
  static constexpr int g = Cluster::cta_group, tile_m = 128, tile_n = 128, stages = 3;
  static constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = tile_n, .cta_group = g};
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>,
                                  freed_by<mma_commit<Mma, to_operand_sources>>, k_group>;
  using Op = MmaOp<typename Payload::A, typename Payload::B, Cluster>;

  struct Storage {
    typename Input::Storage input;
    OutputStorage<opc> output;
  };

  static void run(const void* block) noexcept {
    const Params& params = *static_cast<const Params*>(block);
    Storage& storage = arch::shared<Storage>();
    auto& [barriers, dealloc, tmem_address] = storage.output;
    if (arch::thread_index() == 0) {
      Input::init_barriers(storage.input, 1, Cluster::operand_consumers);
      OutputTilePipeline<opc>::init_barriers(barriers.ptr());
      TmemDeallocBarrier<g>::init(dealloc.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::cluster_sync();

    SeedTypes kernel{params, Input(storage.input)};
    const uint32_t warp = arch::warp_index();
    if (warp < Epilogue::warps) {
      EpilogueWarp<opc>::Sync::wait();
      auto made = EpilogueWarp<opc>::create(tmem_address, barriers.ptr(), dealloc);
      auto held = std::move(made);
      for (Tile tile : kernel.tiles()) kernel.epilogue(held, tile);
      held.release();
    } else if (warp == Load::first_warp) {
      if (arch::elect_one()) {
        for (Tile tile : kernel.tiles()) kernel.load(tile);
        if (params.use == InputUse::by_hand)
          kernel.input.drain_producer();
        else
          kernel.input.producer().drain();
      }
    } else if (warp == Mma::first_warp) {
      auto made = MmaWarp<opc>::create(tmem_address, barriers.ptr(), dealloc);
      auto held = std::move(made);
      if (arch::elect_one() && Cluster::leads(arch::cluster_rank()))
        for (Tile tile : kernel.tiles()) kernel.mma(held, tile);
      held.release();
    }
    arch::syncwarp();
    arch::cluster_sync();
  }

  // ---- load: one lane

  void load(Tile tile) noexcept {
    const auto a = TileLoader{&params.a, tile_m}[tile.m], b = TileLoader{&params.b, tile_n}[tile.n];
    auto ends = input.producer();
    for (int k = 0; k < tile.k_blocks(); k += k_group) {
      switch (params.use) {
        case InputUse::ends:
        case InputUse::wrong_bytes: {
          auto slot = ends.acquire(k);
          expect(slot, k);
          slot.load(a, b);
          break;
        }
        case InputUse::polls: {
          const arch::Ready ready = ends.try_acquire();
          auto slot = ends.acquire_if_needed(ready, k);
          expect(slot, k);
          slot.load(a, b);
          break;
        }
        case InputUse::stages: {
          auto acquired = ends.acquire_stage(k);
          auto slot = std::move(acquired);
          expect(slot, k);
          slot.load(a, b);
          slot.release();
          break;
        }
        case InputUse::ring_stages: {
          auto slot = input.acquire_producer(k);
          expect(slot, k);
          slot.load(a, b);
          slot.release();
          break;
        }
        case InputUse::by_hand: {
          input.wait_consumer_if_needed(asks(k) ? input.try_acquire_producer() : arch::Ready{});
          input.pipeline.arm();
          const uint32_t stage = input.producer_stage();
          const auto full = arch::shared_address(input.producer_mbar(stage));
          for (int i = 0; i < k_group; ++i)
            Payload::load(input.slot(stage, i), k + i, {g == 2 ? arch::pair_leader(full) : full, {}}, a, b);
          input.pipeline.producer_step();
          break;
        }
      }
    }
  }
  /// Every other time by hand nobody polls: a poll lets others run, and the wait would never be needed.
  static bool asks(int k) noexcept { return k / k_group % 2 == 0; }
  template <class Slot>
  void expect(const Slot& slot, int k) noexcept {
    slot.expect_bytes(Payload::operand_bytes * k_group + (params.use == InputUse::wrong_bytes ? 16 : 0));
    WARPLOOM_KERNEL_CHECK(slot.k() == k && slot.stage() == input.producer_stage());
    WARPLOOM_KERNEL_CHECK(slot.barrier() == input.producer_mbar(slot.stage()));
    WARPLOOM_KERNEL_CHECK(&slot.payload(k_group - 1) == &input.slot(slot.stage(), k_group - 1));
  }

  // ---- mma: one lane of the leader

  WARPLOOM_FN void mma(MmaWarp<opc>& warp, Tile tile) noexcept {
    auto acc = warp.acquire_k_stage_linear();
    auto ends = input.consumer();
    bool onto = false;
    for (int k = 0; k < tile.k_blocks(); k += k_group) {
      switch (params.use) {
        case InputUse::ends:
        case InputUse::wrong_bytes: multiply(acc, ends.acquire(), onto); break;
        case InputUse::polls: {
          const arch::Ready ready = ends.try_acquire();
          multiply(acc, ends.acquire_if_needed(ready), onto);
          break;
        }
        case InputUse::stages: {
          auto acquired = ends.acquire_stage();
          auto in = std::move(acquired);
          multiply(acc, in, onto);
          in.release();
          break;
        }
        case InputUse::ring_stages: {
          auto in = input.acquire_consumer();
          multiply(acc, in, onto);
          in.release();
          break;
        }
        case InputUse::by_hand: {
          input.wait_producer_if_needed(asks(k) ? input.try_acquire_consumer() : arch::Ready{});
          arch::tcgen05_fence_after();
          const uint32_t stage = input.consumer_stage();
          for (int i = 0; i < k_group; ++i) {
            Op::mma(input.a(stage, i), input.b(stage, i), acc.tmem_offset(), how(onto));
            onto = true;
          }
          Op::commit(input.consumer_mbar(stage));
          input.pipeline.consumer_step();
          break;
        }
      }
    }
    acc.release();
  }
  template <class Slot>
  WARPLOOM_FN void multiply(const MmaStage<opc>& acc, const Slot& in, bool& onto) noexcept {
    WARPLOOM_KERNEL_CHECK(in.stage() == input.consumer_stage() && in.mbar() == input.consumer_mbar(in.stage()));
    WARPLOOM_KERNEL_CHECK(&in.payload() == &input.slot(in.stage()));
    for (int i = 0; i < k_group; ++i) {
      umma(acc.tmem(), in.a(i), in.b(i), how(onto));
      onto = true;
    }
  }
  static Accumulate how(bool onto) noexcept { return onto ? Accumulate::onto : Accumulate::fresh; }

  // ---- epilogue: four warps

  WARPLOOM_FN void epilogue(EpilogueWarp<opc>& warp, Tile tile) noexcept {
    auto stage = warp.acquire_k_stage_linear();
    const AccumTensor<tile_m, tile_n, g> acc{stage.tmem_offset()};
    using Part = TmemFragments<tile_n>;
    Part part;
    acc.load_fragments(part);
    part.wait_load();
    // Doubled in place: what is stored is what the second load brings.
    uint32_t upper[tile_n / 2], lower[tile_n / 2];
    for (int i = 0; i < tile_n / 2; ++i) {
      upper[i] = twice(part.upper[i]);
      lower[i] = twice(part.lower[i]);
    }
    acc.store_fragments(upper, lower);
    Part::wait_store();
    Part doubled;
    acc.load_fragments(doubled);
    doubled.wait_load();
    stage.release();

    const uint32_t lane = arch::lane_index();
    const int row = tile.m * tile_m + static_cast<int>(32 * arch::warp_index() + lane / 4);
    const int column = tile.n * tile_n + static_cast<int>(2 * (lane % 4));
    for (int i = 0; i < tile_n / 2; ++i) {
      float* d = params.d + (row + 8 * (i / 2 % 2)) * params.n + column + 8 * (i / 4) + i % 2;
      arch::store_global(d, arch::as_float(doubled.upper[i]));
      arch::store_global(d + 16 * params.n, arch::as_float(doubled.lower[i]));
    }
  }
  static uint32_t twice(uint32_t bits) noexcept { return std::bit_cast<uint32_t>(2.0f * arch::as_float(bits)); }

  StaticPersistent<Cluster> tiles() const noexcept {
    return {params.m / tile_m, params.n / tile_n, params.k / Payload::tile_k};
  }

  const Params& params;
  Input input;
};

// ---- a ring by its parts: hand-offs without a slot, polls, slots given back early and late

struct Left : WarpRole<0, 1> {
  static constexpr char name[] = "left";
};
struct Right : WarpRole<1, 1> {
  static constexpr char name[] = "right";
};

enum class HandOff { signal, polls, freed_early, freed_late };

template <HandOff how>
struct HandOffs {
  static constexpr int rounds = 12, depth = 2;
  struct Protocol {
    static constexpr char name[] = "hand-off";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<one_thread<Left>>;
    using freed = freed_by<one_thread<Right>>;
    static constexpr uint32_t bytes = 0;
  };
  using Ring = ProducerConsumerPipeline<depth, Protocol>;
  struct Storage {
    typename Ring::BarrierArray barriers;
    uint32_t sent[rounds], seen[rounds];
  };

  static void run(const void*) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_mbars(storage.barriers.ptr(), 1, 1);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    if (arch::lane_index() != 0) return;
    Ring ring(storage.barriers.ptr());
    if (arch::warp_index() == 0) {
      for (int i = 0; i < rounds; ++i) left(ring, storage, i);
      ring.drain();
    } else {
      for (int i = 0; i < rounds; i += how == HandOff::freed_late ? 2 : 1) right(ring, storage, i);
    }
  }
  static void left(Ring& ring, Storage& storage, int i) noexcept {
    arch::store_shared(storage.sent + i, 100u + static_cast<uint32_t>(i));
    if constexpr (how == HandOff::polls) {
      ring.wait_consumer_if_needed(i % 2 == 0 ? ring.try_wait_consumer() : arch::Ready{});
      ring.signal_full();
      ring.producer_step();
    } else {
      ring.producer_signal_and_step();
    }
    // It had to wait for the right side to be no more than `depth` rounds behind.
    if (i >= depth)
      WARPLOOM_KERNEL_CHECK(arch::load_shared(storage.seen + i - depth) == 200u + static_cast<uint32_t>(i - depth));
  }
  static void right(Ring& ring, Storage& storage, int i) noexcept {
    arch::store_shared(storage.seen + i, 200u + static_cast<uint32_t>(i));
    if constexpr (how == HandOff::signal) {
      ring.consumer_signal_and_step();
    } else if constexpr (how == HandOff::polls) {
      ring.wait_producer_if_needed(i % 2 == 0 ? ring.try_wait_producer() : arch::Ready{});
      ring.template signal_free<Right>();
      ring.consumer_step();
    } else if constexpr (how == HandOff::freed_late) {
      arch::store_shared(storage.seen + i + 1, 200u + static_cast<uint32_t>(i + 1));
      auto older = ring.acquire_late();
      auto newer = ring.acquire_late();
      WARPLOOM_KERNEL_CHECK(older.index() == 0 && newer.index() == 1 && ring.consumer_stage() == 0);
      WARPLOOM_KERNEL_CHECK(newer.mbar() == ring.consumer_mbar(1));
      older.release();
      newer.release();
    } else {
      auto slot = ring.consume();
      const uint32_t index = slot.index();
      slot.free();
      slot.free();  // nothing is held any more
      // Still inside the scope: the slot can be full again only because it was given back.
      if (i + depth < rounds)
        arch::mbarrier_wait(arch::shared_address(ring.producer_mbar(index)), ring.consumer_lap() + 2);
    }
    WARPLOOM_KERNEL_CHECK(arch::load_shared(storage.sent + i) == 100u + static_cast<uint32_t>(i));
  }
};

}  // namespace warploom::test
