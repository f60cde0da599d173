// Every usage example of the original's pages runs inside a GEMM, on every policy of the loom, and gives the right
// bits.
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
loom::Outcome launch(const GemmProblem& problem, const Uses& uses, const loom::Options& options) {
  typename Kernel::Params params{};
  params.uses = uses;
  failed_line = 0;
  return launch_blockwise<Kernel>(problem, &entry<Kernel>, options, params);
}

using OneSm = ClusterShape<1, 1, 1>;
using TwoSm = ClusterShape<2, 2, 1>;

/// Several tiles per CTA. `deep`: K is long enough for every slot of the input ring to be used three times; `shallow`:
/// one K block, so that the next tile's residual is asked for before it can be there.
enum class Depth { deep, shallow };

template <class Kernel>
Reference& integers(Depth depth = Depth::deep) {
  const int k = depth == Depth::deep ? 128 * (2 * Kernel::stages + 1) : 128;
  return reference(256, Kernel::Cluster::size == 1 ? 256 : 384, k, Fill::integer);
}

template <class Kernel>
void run(const Uses& uses, Reference& r, const loom::Schedule& schedule) {
  SCOPED_TRACE(schedule.text());
  const loom::Outcome outcome = launch<Kernel>(r.problem(), uses, on(schedule));
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_EQ(failed_line, 0) << "a check in seed_examples_kernel.hpp";
  ASSERT_TRUE(r.right());
}

template <class Kernel>
void run_on_every_schedule(const Uses& uses) {
  for (const Depth depth : {Depth::deep, Depth::shallow})
    for (const loom::Schedule& schedule : schedules()) run<Kernel>(uses, integers<Kernel>(depth), schedule);
  Reference& normal = reference(256, 256, 3 * 128, Fill::normal);
  for (const loom::Schedule& schedule : {loom::Schedule{loom::Policy::eager}, loom::Schedule{loom::Policy::random, 4}})
    run<Kernel>(uses, normal, schedule);
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
    {"ToTheLetter", {MmaUse::literal_seed_commit, EpilogueUse::per_k_stage, ResidualUse::scoped}},
    {"GetPipeline", {MmaUse::linear, EpilogueUse::get_pipeline, ResidualUse::explicit_arrive}},
};

class SeedExamplesTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, SeedExamplesTest, testing::ValuesIn(cases),
                         [](const auto& test) { return test.param.name; });

TEST_P(SeedExamplesTest, OneSm) { run_on_every_schedule<SeedExamples<OneSm>>(GetParam().uses); }
TEST_P(SeedExamplesTest, TwoSm) { run_on_every_schedule<SeedExamples<TwoSm>>(GetParam().uses); }

// A commit written out with the instruction, besides the stage's own: two arrivals where the barrier counts one. The
// accumulator ring runs ahead of its consumers, and the loom says where.
TEST(SeedExamples, ASecondCommitIsReported) {
  using Kernel = SeedExamples<OneSm>;
  Reference& r = integers<Kernel>();
  const loom::Outcome outcome = launch<Kernel>(r.problem(), {.mma = MmaUse::double_commit}, {});
  ASSERT_FALSE(outcome.ok());
  const std::string& code = outcome.report.findings[0].code;
  EXPECT_TRUE(code == "PHASE" || code == "DEADLOCK") << code;
  const std::string text = to_text(outcome.report);
  EXPECT_NE(text.find("accum.full"), std::string::npos) << text;
  EXPECT_NE(text.find("seed_examples_kernel.hpp"), std::string::npos) << text;
}

// ---- contexts made by hand: no skeleton, counts and mask written out, arrivals by instruction

/// What is passed instead of the value that follows from the policies.
enum class Wrong { nothing, producer_count, consumer_count, mask };

/// With one SM the contexts come from create(), with two they are constructed from their parts.
template <class Cluster, Wrong wrong = Wrong::nothing>
struct ByHand : SeedExamples<Cluster> {
  using Base = SeedExamples<Cluster>;
  using Base::Base, Base::opc, Base::tile_n, Base::g;
  using typename Base::Output;
  using typename Base::Params;
  using typename Base::Storage;
  using MmaContext = MmaWarpContext<opc, 32, 128>;
  using EpilogueContext = EpilogueWarpContext<opc, 32, 128>;
  static constexpr uint16_t mma_complete_mask = (g == 1 ? 1 : 3) + (wrong == Wrong::mask ? 4 : 0);

  static void run(const void* params) noexcept {
    Storage& storage = arch::shared<Storage>();
    auto& [barriers, dealloc, tmem_address] = storage.output;
    const uint32_t warp = arch::warp_index();
    if (arch::thread_index() == 0) {
      Base::init_barriers(storage);
      Output::init_barriers(barriers.ptr(), /*producer_arrivals=*/wrong == Wrong::producer_count ? 2 : 1,
                            /*consumer_arrivals=*/wrong == Wrong::consumer_count ? 4 : 128 * g);
      MmaContext::Dealloc::init(dealloc.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::cluster_sync();

    ByHand kernel(*static_cast<const Params*>(params), storage);
    if (warp < 4) {
      EpilogueContext::Sync::wait();  // the tensor-memory address is visible from here on
      if constexpr (g == 1) {
        auto context = EpilogueContext::create(tmem_address, barriers.ptr(), dealloc, mma_complete_mask);
        kernel.epilogue_all(context);
      } else {
        const auto tmem = EpilogueContext::Tmem::from_shared(tmem_address);
        EpilogueContext context(tmem, Output(barriers.ptr(), tmem, mma_complete_mask), {dealloc.ptr()});
        kernel.epilogue_all(context);
      }
      kernel.writer.finish();
    } else if (warp == Load::first_warp) {
      if (arch::elect_one()) {
        for (Tile tile : kernel.tiles()) kernel.load(tile);
        kernel.input.drain();
      }
    } else if (warp == Mma::first_warp) {
      if constexpr (g == 1) {
        auto context = MmaContext::create(tmem_address, barriers.ptr(), dealloc, mma_complete_mask);
        kernel.mma_all(context);
      } else {
        const auto tmem = MmaContext::Tmem::allocate(tmem_address);
        MmaContext context(tmem, Output(barriers.ptr(), tmem, mma_complete_mask), {dealloc.ptr()});
        kernel.mma_all(context);
      }
    } else if (arch::elect_one()) {
      for (Tile tile : kernel.tiles()) kernel.epilogue_load(tile);
    }
    arch::syncwarp();
    arch::cluster_sync();
  }

  void mma_all(MmaContext& context) noexcept {
    WARPLOOM_KERNEL_CHECK(context.output_pipeline.mma_complete_mask == mma_complete_mask);
    if (!arch::elect_one() || !Cluster::leads(arch::cluster_rank())) return;
    for (Tile tile : this->tiles())
      for (int k = 0; k < tile.k_blocks(); ++k) {
        auto stage = context.per_k_stage();
        this->multiply({stage.tmem().offset()});
      }
  }

  void epilogue_all(EpilogueContext& context) noexcept {
    Output& output_pipeline = context.output_pipeline;
    WARPLOOM_KERNEL_CHECK(output_pipeline.mma_complete_mask == mma_complete_mask);
    for (Tile tile : this->tiles()) {
      typename Base::Sum sum;
      for (int k = 0; k < tile.k_blocks(); ++k) {
        const auto stage = output_pipeline.acquire_for_epilogue();
        sum.add(stage.tmem.address(), this->take_scale(tile.n, k));
        arch::tcgen05_fence_before();
        const auto empty = arch::shared_address(output_pipeline.pipeline.consumer_mbar(stage.index));
        arch::mbarrier_arrive(g == 1 ? empty : arch::pair_leader(empty));
        output_pipeline.pipeline.consumer_step();
      }
      this->store(sum, tile);
    }
  }
};

template <class Cluster>
void run_by_hand() {
  using Kernel = ByHand<Cluster>;
  Reference& r = integers<Kernel>();
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    failed_line = 0;
    const loom::Outcome outcome = launch_blockwise<Kernel>(r.problem(), &Kernel::run, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0);
    ASSERT_TRUE(r.right());
  }
}

template <Wrong wrong>
void expect_argument_report(const char* words) {
  using Kernel = ByHand<OneSm, wrong>;
  const loom::Outcome outcome = launch_blockwise<Kernel>(integers<Kernel>().problem(), &Kernel::run, {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, "RING-ARGUMENT");
  const std::string text = to_text(outcome.report);
  EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(text.find("seed_examples_test.cpp"), std::string::npos) << text;
}
TEST(SeedExamples, CountsAndMaskAreThePolicies) {
  expect_argument_report<Wrong::producer_count>("given 2 as its producer arrivals; its policies say 1");
  expect_argument_report<Wrong::consumer_count>("given 4 as its consumer arrivals; its policies say 128");
  expect_argument_report<Wrong::mask>("given 5 as its completion mask; its policies say 1");
}

TEST(SeedExamples, ContextsByHandOneSm) { run_by_hand<OneSm>(); }
TEST(SeedExamples, ContextsByHandTwoSm) { run_by_hand<TwoSm>(); }

}  // namespace
}  // namespace warploom::test
