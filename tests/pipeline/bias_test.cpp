// A bias row through the epilogue-load ring by cp.async: lengths that end inside a 16-byte copy, and none at all.
#include <gtest/gtest.h>

#include <vector>

#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/pipeline/epi_load.hpp"

namespace warploom::test {
namespace {

using Row = BiasRow<float, 160>;  // more copies than lanes

struct BiasParams {
  const float* bias;
  float* seen;  ///< [tiles][Row::columns][128]
  int tiles, count;
};

struct BiasKernel {
  using Ring = BiasPipeline<2, Row>;
  static_assert(Ring::Pipeline::producer_count == 32 && Ring::Pipeline::consumer_count == 128);

  static void run(const void* block) noexcept {
    const auto& params = *static_cast<const BiasParams*>(block);
    auto& storage = arch::shared<Ring::Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_barriers(storage);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Ring ring(storage);
    const uint32_t warp = arch::warp_index(), thread = arch::thread_index();
    if (warp == EpilogueLoad::first_warp) {
      arch::name_role<EpilogueLoad>();
      for (int tile = 0; tile < params.tiles; ++tile) {
        auto slot = ring.produce();
        ring.load_row(slot, params.bias + tile * Row::columns, params.count);
      }  // leaving arrives once this lane's copies have landed
    } else if (warp < Epilogue::warps) {
      arch::name_role<Epilogue>();
      for (int tile = 0; tile < params.tiles; ++tile) {
        auto slot = ring.consume();
        const Row row = ring.tile(slot.index());
        for (int i = 0; i < Row::columns; ++i)
          arch::store_global(params.seen + (tile * Row::columns + i) * 128 + thread, arch::load_shared(row.data + i));
      }
    }
  }
};

void run(int count, const loom::Schedule& schedule) {
  SCOPED_TRACE(schedule.text());
  constexpr int tiles = 5;
  std::vector<float> bias(static_cast<size_t>(tiles * Row::columns));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) + 1.0f;
  std::vector<float> seen(bias.size() * 128, -1.0f);
  const BiasParams params{bias.data(), seen.data(), tiles, count};
  const loom::TensorRef tensors[] = {{bias.data(), bias.size() * 4, loom::Access::read, "bias"},
                                     {seen.data(), seen.size() * 4, loom::Access::write, "seen"}};
  const loom::LaunchConfig config{.kernel = "bias",
                                  .grid = {},
                                  .cluster = {},
                                  .threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>,
                                  .shared_bytes = sizeof(BiasKernel::Ring::Storage)};
  loom::Options options;
  options.schedule = schedule;
  const loom::Outcome outcome = loom::launch(config, &BiasKernel::run, &params, tensors, options);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  for (size_t i = 0; i < bias.size(); ++i) {
    const float expected = static_cast<int>(i) % Row::columns < count ? bias[i] : 0.0f;
    for (size_t thread = 0; thread < 128; ++thread) ASSERT_EQ(seen[i * 128 + thread], expected) << i;
  }
}

void run_all(int schedules) {
  for (const int count : {160, 157, 128, 3, 0}) {
    for (const loom::Policy policy : {loom::Policy::eager, loom::Policy::lazy, loom::Policy::adversarial})
      run(count, {policy});
    for (int seed = 0; seed < schedules; ++seed) run(count, {loom::Policy::random, static_cast<uint64_t>(seed)});
  }
}

TEST(Bias, RowsOfEveryLength) { run_all(5); }
TEST(BiasFull, RowsOfEveryLength) { run_all(2'000); }

}  // namespace
}  // namespace warploom::test
