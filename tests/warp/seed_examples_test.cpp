// Every usage example of the original's pages runs inside a GEMM, on every policy of the loom, and gives the right bits.
#include <gtest/gtest.h>

#include "warp/blockwise_launch.hpp"
#include "warp/seed_examples_kernel.hpp"

namespace warploom::test {
namespace {

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const typename Kernel::Params*>(params));
}

template <class Kernel>
loom::Outcome launch(const BlockwiseFP8Problem& problem, const Uses& uses, const loom::Options& options) {
  typename Kernel::Params params{};
  params.uses = uses;
  failed_line = 0;
  return launch_blockwise<Kernel>(problem, &entry<Kernel>, options, params);
}

using OneSm = ClusterShape<1, 1, 1>;
using TwoSm = ClusterShape<2, 2, 1>;

/// Several tiles per CTA, and K long enough for every slot of the input ring to be used three times.
template <class Kernel>
Reference& reference_for(Fill fill) {
  return reference(256, Kernel::Cluster::size == 1 ? 256 : 384, 128 * (2 * Kernel::stages + 1), fill);
}

template <class Kernel>
void run(const Uses& uses, Fill fill, const loom::Schedule& schedule) {
  SCOPED_TRACE(schedule.text());
  Reference& r = reference_for<Kernel>(fill);
  const loom::Outcome outcome = launch<Kernel>(r.problem(), uses, on(schedule));
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_EQ(failed_line, 0) << "a check in seed_examples_kernel.hpp";
  ASSERT_TRUE(r.data.d == r.answer);
}

template <class Kernel>
void run_on_every_schedule(const Uses& uses) {
  for (const loom::Schedule& schedule : schedules()) run<Kernel>(uses, Fill::integer, schedule);
  run<Kernel>(uses, Fill::normal, {loom::Policy::random, 4});
}

struct Case {
  const char* name;
  Uses uses;
};

// Each body at least once, in company that changes.
constexpr Case cases[] = {
    {"PerKStage", {MmaUse::per_k_stage, EpilogueUse::per_k_stage, ResidualUse::scoped}},
    {"PerKStages", {MmaUse::per_k_stages, EpilogueUse::per_k_stages, ResidualUse::linear}},
    {"PerKEpilogue", {MmaUse::per_k_stage, EpilogueUse::per_k_epilogue, ResidualUse::by_hand}},
    {"KContext", {MmaUse::per_k_produce, EpilogueUse::k_context, ResidualUse::explicit_arrive}},
    {"PerKView", {MmaUse::per_k_produce, EpilogueUse::per_k_consume, ResidualUse::linear_arrive}},
    {"Linear", {MmaUse::linear, EpilogueUse::linear, ResidualUse::linear}},
    {"AcquireRelease", {MmaUse::acquire_release, EpilogueUse::acquire_release, ResidualUse::by_hand}},
    {"GetPipeline", {MmaUse::linear, EpilogueUse::get_pipeline, ResidualUse::explicit_arrive}},
};

class SeedExamplesTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, SeedExamplesTest, testing::ValuesIn(cases), [](const auto& test) { return test.param.name; });

TEST_P(SeedExamplesTest, OneSm) { run_on_every_schedule<SeedExamples<OneSm>>(GetParam().uses); }
TEST_P(SeedExamplesTest, TwoSm) { run_on_every_schedule<SeedExamples<TwoSm>>(GetParam().uses); }

// consume_explicit exists for rings that fewer threads free than read: here four lanes instead of 128 threads.
TEST(SeedExamples, LaneGuardedConsumption) { run_on_every_schedule<SeedExamples<OneSm, true>>({}); }

// The page's example for acquire_mma_linear commits on stage.mbar() and releases, which commits too: two arrivals where
// the barrier counts one. The accumulator ring runs ahead of its consumers, and the loom says where.
TEST(SeedExamples, TheLinearExampleToTheLetterCommitsTwice) {
  using Kernel = SeedExamples<OneSm>;
  Reference& r = reference_for<Kernel>(Fill::integer);
  const loom::Outcome outcome = launch<Kernel>(r.problem(), {.mma = MmaUse::literal_seed_commit}, {});
  ASSERT_FALSE(outcome.ok());
  const std::string& code = outcome.report.findings[0].code;
  EXPECT_TRUE(code == "PHASE" || code == "DEADLOCK") << code;
  const std::string text = to_text(outcome.report);
  EXPECT_NE(text.find("accum.full"), std::string::npos) << text;
  EXPECT_NE(text.find("seed_examples_kernel.hpp"), std::string::npos) << text;
}

// ---- contexts made by hand: constructors instead of create(), explicit counts and mask, no skeleton

template <class Cluster>
struct ByHand : SeedExamples<Cluster> {
  using Base = SeedExamples<Cluster>;
  using Base::Base;
  using typename Base::Params;
  using typename Base::Storage;
  using MmaContext = MmaWarpContext<Base::opc, 32, 128>;
  using EpilogueContext = EpilogueWarpContext<Base::opc, 32, 128>;

  static void run(const void* params) noexcept {
    constexpr int g = Cluster::cta_group;
    Storage& storage = arch::shared<Storage>();
    SharedMemBarrier* accum_barriers = storage.output.barriers.ptr();
    const uint32_t warp = arch::warp_index();
    if (arch::thread_index() == 0) {
      Base::init_barriers(storage);
      Base::Output::init_barriers(accum_barriers, /*producer_arrivals=*/1, /*consumer_arrivals=*/128 * g);
      MmaContext::Dealloc::init(storage.output.dealloc.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::cluster_sync();
    const uint16_t mma_complete_mask = static_cast<uint16_t>(g == 1 ? 1 : 3);

    ByHand kernel(*static_cast<const Params*>(params), storage);
    if (warp < 4) {
      EpilogueContext::Sync::wait();  // the tensor-memory address is visible from here on
      const auto tmem = EpilogueContext::Tmem::from_shared(storage.output.tmem_address);
      EpilogueContext context(tmem, typename EpilogueContext::Pipeline(accum_barriers, tmem, mma_complete_mask),
                              typename EpilogueContext::Dealloc{storage.output.dealloc.ptr()});
      for (Tile tile : kernel.tiles()) kernel.epilogue(context, tile);
      kernel.writer.finish();
    } else if (warp == Load::first_warp) {
      if (arch::elect_one()) {
        for (Tile tile : kernel.tiles()) kernel.load(tile);
        kernel.input.drain();
      }
    } else if (warp == Mma::first_warp) {
      const auto tmem = MmaContext::Tmem::allocate(storage.output.tmem_address);
      MmaContext context(tmem, typename MmaContext::Pipeline(accum_barriers, tmem, mma_complete_mask),
                         typename MmaContext::Dealloc{storage.output.dealloc.ptr()});
      if (arch::elect_one() && Cluster::leads(arch::cluster_rank()))
        for (Tile tile : kernel.tiles()) kernel.mma(context, tile);
    } else if (arch::elect_one()) {
      for (Tile tile : kernel.tiles()) kernel.epilogue_load(tile);
    }
    arch::syncwarp();
    arch::cluster_sync();
  }
};

template <class Cluster>
void run_by_hand() {
  using Kernel = ByHand<Cluster>;
  Reference& r = reference_for<Kernel>(Fill::integer);
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    failed_line = 0;
    const loom::Outcome outcome = launch_blockwise<Kernel>(r.problem(), &Kernel::run, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0);
    ASSERT_TRUE(r.data.d == r.answer);
  }
}

TEST(SeedExamples, ContextsByHandOneSm) { run_by_hand<OneSm>(); }
TEST(SeedExamples, ContextsByHandTwoSm) { run_by_hand<TwoSm>(); }

}  // namespace
}  // namespace warploom::test
