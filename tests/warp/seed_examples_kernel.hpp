// The usage examples of the original system's API pages, in C++, as role bodies of a blockwise FP8 GEMM: the shipped
// kernel with a body replaced. Which example a run uses is a launch parameter, so that any MMA body meets any epilogue
// body. The once-per-tile examples are in plain_gemm_kernel.hpp.
#pragma once

#include <atomic>

#include "../../examples/blockwise_fp8_kernel.hpp"

namespace warploom::test {

/// Line of the first check that failed inside a kernel; 0: none did.
inline std::atomic<int> failed_line = 0;
inline void check(bool holds, int line) noexcept {
  int none = 0;
  if (!holds) failed_line.compare_exchange_strong(none, line);
}
#define WARPLOOM_KERNEL_CHECK(condition) ::warploom::test::check(condition, __LINE__)

enum class MmaUse {
  per_k_stage,
  per_k_stages,
  per_k_produce,
  linear,
  acquire_release,
  literal_seed_commit,
  double_commit
};
enum class EpilogueUse {
  per_k_stage,
  per_k_stages,
  per_k_epilogue,
  k_context,
  per_k_consume,
  linear,
  acquire_release,
  get_pipeline
};
enum class ResidualUse { scoped, linear, by_hand, explicit_arrive, linear_arrive };

struct Uses {
  MmaUse mma = MmaUse::per_k_stage;
  EpilogueUse epilogue = EpilogueUse::per_k_stage;
  ResidualUse residual = ResidualUse::scoped;
};

struct SeedExamplesParams : examples::BlockwiseFP8Params {
  Uses uses;
};

template <class Cluster_>
struct SeedExamples : examples::BlockwiseFP8<Cluster_> {
  using Base = examples::BlockwiseFP8<Cluster_>;
  using Cluster = Cluster_;
  using Params = SeedExamplesParams;
  using Base::input, Base::residual, Base::writer, Base::params, Base::opc, Base::tile_m, Base::tile_n,
      Base::strip_columns;
  using typename Base::Input;
  using typename Base::Residual;
  using typename Base::Storage;
  using Output = OutputTilePipeline<opc>;
  static constexpr int g = Cluster::cta_group;

  SeedExamples(const Params& p, Storage& storage) noexcept : Base(p, storage), uses(p.uses), storage_(storage) {}

  static void init_barriers(Storage& storage) noexcept { Base::init_barriers(storage); }

  // ---- MMA: one lane

  void mma(MmaWarpContext<opc>& mma_ctx, Tile tile) noexcept {
    WARPLOOM_KERNEL_CHECK(mma_ctx.output_pipeline.mma_complete_mask == Cluster::pair_mask(arch::cluster_rank()));
    WARPLOOM_KERNEL_CHECK(mma_ctx.output_pipeline.tmem.addr.value == mma_ctx.tmem.addr.value);
    WARPLOOM_KERNEL_CHECK(mma_ctx.dealloc_barrier.barrier == storage_.output.dealloc.ptr());
    const int num_iters = tile.k_blocks();
    switch (uses.mma) {
      // for i in range(num_iters): with mma_ctx.per_k_stage() as mma_stage:
      //   mma(input_tiles, mma_op, AccumTensor(mma_stage.tmem.offset()))
      case MmaUse::per_k_stage:
        for (int i = 0; i < num_iters; ++i) {
          auto mma_stage = mma_ctx.per_k_stage();
          const uint32_t stage_columns = mma_stage.index() * Output::stage_stride_cols;
          WARPLOOM_KERNEL_CHECK(mma_stage.tmem().offset() == mma_ctx.tmem.addr.value + stage_columns);
          multiply({mma_stage.tmem().offset()});
        }  // exit signals mma_arrive automatically
        break;
      case MmaUse::per_k_stages: {
        int k = 0;
        for (auto acc : mma_ctx.per_k_stages(num_iters)) {
          WARPLOOM_KERNEL_CHECK(acc.k() == k++);
          auto in = input.consume();
          umma(acc, in.a(), in.b(), Accumulate::fresh);
        }
        WARPLOOM_KERNEL_CHECK(k == num_iters);
        break;
      }
      // The per-K view: signals after each K iteration.
      case MmaUse::per_k_produce:
        for (int i = 0; i < num_iters; ++i) {
          auto stage = mma_ctx.output_pipeline.per_k().produce();
          multiply(stage.tmem().address());
        }
        break;
      // var stage = output_pipeline.acquire_mma_linear()
      // mma_op.mma(a_tile, b_tile, stage.tmem_offset()) ... stage^.release()
      case MmaUse::linear:
        for (int i = 0; i < num_iters; ++i) {
          auto acquired = mma_ctx.output_pipeline.acquire_mma_linear();
          auto stage = std::move(acquired);
          WARPLOOM_KERNEL_CHECK(stage.mbar() == mma_ctx.output_pipeline.pipeline.producer_mbar(stage.index()));
          WARPLOOM_KERNEL_CHECK(stage.tmem().offset() == stage.tmem_offset());
          multiply({stage.tmem_offset()});
          stage.release();  // commits and advances
        }
        break;
      case MmaUse::acquire_release:
        for (int i = 0; i < num_iters; ++i) {
          const typename Output::Stage stage = mma_ctx.output_pipeline.acquire_for_mma();
          WARPLOOM_KERNEL_CHECK(stage.index == mma_ctx.output_pipeline.pipeline.producer_stage());
          multiply(stage.tmem.address());
          mma_ctx.output_pipeline.release_from_mma(stage);
        }
        break;
      // The page's example to the letter: it commits on stage.mbar() and then releases, which is the same commit.
      //   mma_op.mma(a_tile, b_tile, stage.tmem_offset()); mma_op.commit(stage.mbar()); stage^.release()
      case MmaUse::literal_seed_commit:
        for (int i = 0; i < num_iters; ++i) {
          auto stage = mma_ctx.output_pipeline.acquire_mma_linear();
          {
            auto in = input.consume();
            mma_op.mma(in.a(), in.b(), stage.tmem_offset());
          }
          mma_op.commit(stage.mbar());
          stage.release();
        }
        break;
      // The same, by hand: this commit is one too many.
      case MmaUse::double_commit:
        for (int i = 0; i < num_iters; ++i) {
          auto stage = mma_ctx.output_pipeline.acquire_mma_linear();
          multiply({stage.tmem_offset()});
          if constexpr (g == 1) arch::umma_commit<1>(arch::shared_address(stage.mbar()));
          stage.release();
        }
        break;
    }
  }

  // ---- epilogue: four warps

  void epilogue(EpilogueWarpContext<opc>& epi_ctx, Tile tile) noexcept {
    Output& output_pipeline = epi_ctx.output_pipeline;
    WARPLOOM_KERNEL_CHECK(output_pipeline.mma_complete_mask == Cluster::pair_mask(arch::cluster_rank()));
    WARPLOOM_KERNEL_CHECK(output_pipeline.tmem.addr.value == epi_ctx.tmem.addr.value);
    WARPLOOM_KERNEL_CHECK(epi_ctx.dealloc_barrier.barrier == storage_.output.dealloc.ptr());
    const int num_iters = tile.k_blocks();
    switch (uses.epilogue) {
      // for k_iter in range(num_iters): with epi_ctx.per_k_stage(input_pipeline) as epi_stage:
      //   accum.promote(epi_stage, ...)
      case EpilogueUse::per_k_stage: {
        BlockwiseFP8Accumulator<tile_n> accum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          auto epi_stage = epi_ctx.per_k_stage(input);
          accum.promote(epi_stage, this->b_scale(tile.n, k_iter));
        }  // both pipelines signalled automatically
        store(accum, tile);
        break;
      }
      case EpilogueUse::per_k_stages: {
        BlockwiseFP8Accumulator<tile_n> accum;
        int k = 0;
        for (auto part : epi_ctx.per_k_stages(input, num_iters)) {
          WARPLOOM_KERNEL_CHECK(part.k() == k++);
          accum.promote(part, this->b_scale(tile.n, part.k()));
        }
        WARPLOOM_KERNEL_CHECK(k == num_iters);
        store(accum, tile);
        break;
      }
      // for k_iter in range(num_iters): with output_pipeline.per_k_epilogue(input_pipeline) as stage:
      //   accum.promote(stage, ...)
      // Here the promotion is spelled out with the context's fields, and nothing is let go early.
      case EpilogueUse::per_k_epilogue: {
        Sum sum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          auto stage = output_pipeline.per_k_epilogue(input);
          WARPLOOM_KERNEL_CHECK(stage.output_pipeline_ptr == &output_pipeline && stage.input_pipeline_ptr == &input);
          WARPLOOM_KERNEL_CHECK(stage.output_stage.index == output_pipeline.pipeline.consumer_stage());
          WARPLOOM_KERNEL_CHECK(stage.tmem().offset() == stage.output_stage.tmem.offset());
          const float scale = a_scale(stage.input_stage_index);
          sum.add(stage.output_stage.tmem.address(), arch::multiply(scale, this->b_scale(tile.n, k_iter)));
        }  // exit signals BOTH pipelines
        store(sum, tile);
        break;
      }
      case EpilogueUse::k_context: {
        BlockwiseFP8Accumulator<tile_n> accum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          EpilogueKContext<opc, Input> stage(output_pipeline, input, k_iter);
          accum.promote(stage, this->b_scale(tile.n, stage.k()));
        }
        store(accum, tile);
        break;
      }
      // The per-K view knows nothing of the input ring: the scales are waited for and given back by hand.
      case EpilogueUse::per_k_consume: {
        Sum sum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          auto stage = output_pipeline.per_k().consume();
          WARPLOOM_KERNEL_CHECK(stage.index() == output_pipeline.pipeline.consumer_stage());
          sum.add(stage.tmem().address(), take_scale(tile.n, k_iter));
        }
        store(sum, tile);
        break;
      }
      // var stage = output_pipeline.acquire_epilogue_linear()
      // process_tmem(stage.tmem())
      // stage^.release()
      case EpilogueUse::linear: {
        Sum sum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          auto acquired = output_pipeline.acquire_epilogue_linear();
          auto stage = std::move(acquired);
          WARPLOOM_KERNEL_CHECK(stage.index() == output_pipeline.pipeline.consumer_stage());
          WARPLOOM_KERNEL_CHECK(stage.tmem_offset() == stage.tmem().offset());
          sum.add(stage.tmem().address(), take_scale(tile.n, k_iter));
          stage.release();  // frees it and advances
        }
        store(sum, tile);
        break;
      }
      case EpilogueUse::acquire_release: {
        Sum sum;
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          const typename Output::Stage stage = output_pipeline.acquire_for_epilogue();
          sum.add(stage.tmem.address(), take_scale(tile.n, k_iter));
          output_pipeline.release_from_epilogue();
        }
        store(sum, tile);
        break;
      }
      // A copy of the ring follows it: same barriers, state of its own.
      case EpilogueUse::get_pipeline: {
        Sum sum;
        typename Output::Pipeline ring = output_pipeline.get_pipeline();
        for (int k_iter = 0; k_iter < num_iters; ++k_iter) {
          ring.wait_producer();
          arch::tcgen05_fence_after();
          const TmemStage<opc> tmem{output_pipeline.tmem.addr, ring.consumer_stage()};
          const auto stage = OutputStage<opc>::from_raw(ring, tmem.index, tmem.offset());
          WARPLOOM_KERNEL_CHECK(stage.pipeline == &ring && stage.tmem.base.value == output_pipeline.tmem.addr.value);
          sum.add(stage.tmem.address(), take_scale(tile.n, k_iter));
          arch::tcgen05_fence_before();
          ring.template signal_free<Epilogue>();
          ring.consumer_step();
        }
        output_pipeline.pipeline = ring;
        store(sum, tile);
        break;
      }
    }
  }

  // ---- the residual ring: epilogue-load (one lane) and epilogue

  void epilogue_load(Tile tile) noexcept {
    this->order.wait();
    for (int strip = 0; strip < tile_n / strip_columns; ++strip) {
      const int row = tile.m * tile_m, column = tile.n * tile_n + strip * strip_columns;
      switch (uses.residual) {
        // with epi_load_pipeline.produce() as stage: tma_load(c_tile, stage.mbar(), ...)
        case ResidualUse::scoped:
        case ResidualUse::explicit_arrive: {
          auto stage = residual.produce();
          arch::tma_load<1>(residual.tile(stage.index()).address(), params.c, arch::shared_address(stage.mbar()),
                            {column, row});
          break;
        }  // exit advances producer stage
        case ResidualUse::linear:
        case ResidualUse::linear_arrive: {
          auto acquired = residual.acquire_producer();
          auto stage = std::move(acquired);
          residual.load(stage, this->c[tile.m], column);
          stage.release();
          break;
        }
        case ResidualUse::by_hand:
          residual.wait_consumer();
          residual.arm();
          WARPLOOM_KERNEL_CHECK(residual.producer_mbar() == residual.pipeline.producer_mbar(residual.producer_stage()));
          arch::tma_load<1>(residual.tile(residual.producer_stage()).address(), params.c,
                            arch::shared_address(residual.producer_mbar()), {column, row});
          residual.producer_step();
          break;
      }
    }
  }

  void add_residual(Strip<strip_columns>& strip) noexcept {
    const uint32_t row = arch::thread_index();
    switch (uses.residual) {
      // with epi_load_pipeline.consume() as stage: c_tile = smem.src_tiles()[stage.index()] ...
      case ResidualUse::scoped: {
        auto stage = residual.consume();
        WARPLOOM_KERNEL_CHECK(stage.mbar() == residual.pipeline.consumer_mbar(stage.index()));
        strip.add(params.beta, residual.tile(stage.index()), row);
        break;
      }  // exit signals consumption and advances
      case ResidualUse::linear: {
        auto acquired = residual.acquire_consumer();
        auto stage = std::move(acquired);
        strip.add(params.beta, residual.tile(stage.index()), row);
        stage.release();
        break;
      }
      case ResidualUse::linear_arrive: {
        auto stage = residual.acquire_consumer();
        strip.add(params.beta, residual.tile(stage.index()), row);
        stage.arrive();
        stage.release_without_signal();
        break;
      }
      case ResidualUse::by_hand:
        residual.wait_producer();
        strip.add(params.beta, residual.tile(residual.consumer_stage()), row);
        arch::fence_proxy_async_shared();
        arch::mbarrier_arrive(arch::shared_address(residual.pipeline.consumer_mbar(residual.consumer_stage())));
        residual.consumer_step();
        break;
      case ResidualUse::explicit_arrive: {
        auto stage = residual.consume_explicit();
        WARPLOOM_KERNEL_CHECK(stage.mbar() == residual.pipeline.consumer_mbar(stage.index()));
        strip.add(params.beta, residual.tile(stage.index()), row);
        stage.arrive();
        break;
      }  // exit advances only
    }
  }

  // ---- what the bodies share

  void multiply(arch::TmemAddress accumulator) noexcept {
    auto in = input.consume();
    umma_tile<g>(accumulator, in.a(), in.b(), Accumulate::fresh);
  }

  float a_scale(uint32_t stage) noexcept {
    return arch::load_shared(input.a_scales(stage).data + arch::thread_index());
  }
  /// The scale of this thread's row and of these columns; the slot is free again and the input ring has advanced.
  float take_scale(int n, int k) noexcept {
    input.wait_scales();
    const float scale = arch::multiply(a_scale(input.pipeline.consumer_stage()), this->b_scale(n, k));
    input.pipeline.template signal_free<Epilogue>();
    input.pipeline.consumer_step();
    return scale;
  }

  /// One row of the tile, as BlockwiseFP8Accumulator sums it.
  struct Sum {
    float values[tile_n] = {};

    void add(arch::TmemAddress accumulator, float scale) noexcept {
      for (int column = 0; column < tile_n; column += 32) {
        arch::Fragment<uint32_t, 32> part;
        arch::tmem_load_32x32b(part, accumulator.lane(32 * arch::warp_index()).column(static_cast<uint32_t>(column)));
        arch::tmem_wait_load();
        for (int i = 0; i < 32; ++i) values[column + i] = arch::fma(arch::as_float(part[i]), scale, values[column + i]);
      }
    }
    float operator[](int column) const noexcept { return values[column]; }
  };

  template <class Accumulator>
  void store(const Accumulator& sum, Tile tile) noexcept {
    for (int index = 0; index < tile_n / strip_columns; ++index) {
      Strip<strip_columns> strip(sum, index * strip_columns, params.alpha);
      add_residual(strip);
      writer.write(strip, tile.m * tile_m, tile.n * tile_n + index * strip_columns);
    }
  }

  using Op = MmaOp<typename Base::Payload::A, typename Base::Payload::B, Cluster>;
  Op mma_op;
  Uses uses;
  Storage& storage_;
};

}  // namespace warploom::test
