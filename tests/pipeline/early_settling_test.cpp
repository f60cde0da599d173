// Leaving a stage signals what is still held, so a stage may be settled early: the input slot once its scales are in
// registers, the accumulator once its last column is. Here an epilogue settles early and then, still inside the stage,
// waits for the ring to fill the same slot again; it would wait for ever if the signal came only on leaving. A signal
// too many would be found by the loom.
#include <gtest/gtest.h>

#include "warp/blockwise_launch.hpp"

namespace warploom::test {
namespace {

enum class Settle { nothing, arrive_input, take_scales, free_accumulator, drain, all_by_hand };

struct SettlingParams : BlockwiseFP8Params {
  Settle settle;
};

template <class Cluster_>
struct Settling : BlockwiseFP8<Cluster_> {
  using Base = BlockwiseFP8<Cluster_>;
  using Cluster = Cluster_;
  using Params = SettlingParams;
  using Base::input, Base::params, Base::residual, Base::writer, Base::opc, Base::tile_m, Base::tile_n, Base::stages;
  using typename Base::Storage;
  static constexpr int strip_columns = Base::strip_columns;

  Settling(const Params& p, Storage& storage) noexcept : Base(p, storage), settle(p.settle) {}

  void epilogue(EpilogueWarpContext<opc>& context, Tile tile) noexcept {
    float sum[tile_n] = {};
    for (int k = 0; k < tile.k_blocks(); ++k) {
      auto part = context.per_k_stage(input);
      const bool slot_is_refilled = k + stages < tile.k_blocks();
      const bool accumulator_is_refilled = k + opc.num_stages < tile.k_blocks();
      float scale = 0;
      if (settle == Settle::take_scales || settle == Settle::drain) {
        scale = part.take_scales();
      } else {
        scale = arch::load_shared(input.a_scales(part.input_stage_index).data + arch::thread_index());
      }
      scale = arch::multiply(scale, this->b_scale(tile.n, k));

      if (settle == Settle::drain) {
        part.template drain<tile_n>([&](const auto& columns, int first) {
          // All columns are in registers when the last of them are handed over.
          if (first + 32 == tile_n && accumulator_is_refilled) wait_for_accumulator(context, part.output_stage.index);
          for (int i = 0; i < 32; ++i) sum[first + i] = arch::fma(arch::as_float(columns[i]), scale, sum[first + i]);
        });
        continue;
      }
      for (int first = 0; first < tile_n; first += 32) {
        arch::Fragment<uint32_t, 32> columns;
        arch::tmem_load_32x32b(
            columns, part.tmem().address().lane(32 * arch::warp_index()).column(static_cast<uint32_t>(first)));
        arch::tmem_wait_load();
        for (int i = 0; i < 32; ++i) sum[first + i] = arch::fma(arch::as_float(columns[i]), scale, sum[first + i]);
      }
      switch (settle) {
        case Settle::nothing:
        case Settle::drain: break;
        case Settle::take_scales:
          if (slot_is_refilled) wait_for_scales(part.input_stage_index);
          break;
        case Settle::arrive_input:
          part.arrive_input();
          part.arrive_input();  // nothing is held any more
          if (slot_is_refilled) wait_for_scales(part.input_stage_index);
          break;
        case Settle::free_accumulator:
          part.free_accumulator();
          part.free_accumulator();
          // The next block for this accumulator needs an input slot too: another one than the slot still held.
          if (accumulator_is_refilled && stages > opc.num_stages)
            wait_for_accumulator(context, part.output_stage.index);
          break;
        case Settle::all_by_hand:
          part.free_accumulator();
          part.arrive_input();
          if (accumulator_is_refilled) wait_for_accumulator(context, part.output_stage.index);
          if (slot_is_refilled) wait_for_scales(part.input_stage_index);
          break;
      }
    }
    for (int first = 0; first < tile_n; first += strip_columns) {
      Strip<strip_columns> strip(sum, first, params.alpha);
      {
        auto slot = residual.consume();
        strip.add(params.beta, residual.tile(slot.index()), arch::thread_index());
      }
      writer.write(strip, tile.m * tile_m, tile.n * tile_n + first);
    }
  }

 private:
  /// Until the current slot has been filled once more.
  void wait_for_scales(uint32_t stage) noexcept {
    arch::mbarrier_wait(arch::shared_address(input.scales_mbar(stage)), input.pipeline.consumer_lap() + 2);
  }
  static void wait_for_accumulator(EpilogueWarpContext<opc>& context, uint32_t stage) noexcept {
    const auto& ring = context.output_pipeline.pipeline;
    arch::mbarrier_wait(arch::shared_address(ring.producer_mbar(stage)), ring.consumer_lap() + 2);
  }

  Settle settle;
};

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const typename Kernel::Params*>(params));
}

template <class Cluster>
void run(Settle settle) {
  using Kernel = Settling<Cluster>;
  Reference& r = reference(256, Cluster::size == 1 ? 256 : 384, 128 * (2 * Kernel::stages + 1), Fill::integer);
  typename Kernel::Params params{};
  params.settle = settle;
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const loom::Outcome outcome = launch_blockwise<Kernel>(r.problem(), &entry<Kernel>, on(schedule), params);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_TRUE(r.right());
  }
}

struct Case {
  const char* name;
  Settle settle;
};
constexpr Case cases[] = {{"Nothing", Settle::nothing},
                          {"ArriveInput", Settle::arrive_input},
                          {"TakeScales", Settle::take_scales},
                          {"FreeAccumulator", Settle::free_accumulator},
                          {"Drain", Settle::drain},
                          {"AllByHand", Settle::all_by_hand}};

class EarlySettling : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, EarlySettling, testing::ValuesIn(cases), [](const auto& test) { return test.param.name; });

TEST_P(EarlySettling, OneSm) { run<ClusterShape<1, 1, 1>>(GetParam().settle); }
TEST_P(EarlySettling, TwoSm) { run<ClusterShape<2, 2, 1>>(GetParam().settle); }

}  // namespace
}  // namespace warploom::test
