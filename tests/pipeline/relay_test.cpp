// Two rings of one type in one kernel: a warp that consumes from the first and produces into the second is on a side of
// each, not on both sides of one. And a drained ring goes on where it was.
#include <gtest/gtest.h>

#include <vector>

#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/pipeline/producer_consumer.hpp"

namespace warploom::test {
namespace {

struct AnyWarp : WarpRole<0, 1> {
  static constexpr char name[] = "any";
};
struct Parcels {
  static constexpr char name[] = "parcels";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<lane_per_warp<AnyWarp>>;
  using freed = freed_by<lane_per_warp<AnyWarp>>;
  static constexpr uint32_t bytes = 0;
};

struct RelayParams {
  uint32_t* out;  ///< [rounds][32]
};

/// Warp 0 fills the first ring, warp 1 carries from it to the second, warp 2 empties that.
template <bool drains_often, bool wrong_side>
struct RelayKernel {
  using Ring = ProducerConsumerPipeline<2, Parcels>;
  static constexpr uint32_t rounds = 9;
  struct Storage {
    uint32_t slots[2][2][32];
    Ring::BarrierArray barriers[2];
  };

  static void run(const void* block) noexcept {
    const auto& params = *static_cast<const RelayParams*>(block);
    auto& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      for (auto& barriers : storage.barriers) Ring::init_mbars(barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Ring first(storage.barriers[0].ptr()), second(storage.barriers[1].ptr());
    const uint32_t lane = arch::lane_index();
    if (arch::warp_index() == 0) {
      for (uint32_t i = 0; i < rounds; ++i) {
        auto slot = first.produce();
        arch::store_shared(&storage.slots[0][slot.index()][lane], i * 32 + lane);
      }
      first.drain();
      if constexpr (drains_often) first.drain();
    } else if (arch::warp_index() == 1) {
      for (uint32_t i = 0; i < rounds; ++i) {
        auto to = second.produce();
        auto from = first.consume();
        arch::store_shared(&storage.slots[1][to.index()][lane],
                           arch::load_shared(&storage.slots[0][from.index()][31 - lane]));
      }
      if constexpr (wrong_side) second.wait_producer();
    } else {
      for (uint32_t i = 0; i < rounds; ++i) {
        auto slot = second.consume();
        arch::store_global(params.out + i * 32 + lane, arch::load_shared(&storage.slots[1][slot.index()][lane]));
      }
    }
  }
};

template <class Kernel>
loom::Outcome launch(std::vector<uint32_t>& out, uint64_t seed) {
  out.assign(Kernel::rounds * 32, ~0u);
  const RelayParams params{out.data()};
  const loom::TensorRef tensors[] = {{out.data(), out.size() * 4, loom::Access::write, "out"}};
  const loom::LaunchConfig config{
      .kernel = "relay", .grid = {}, .cluster = {}, .threads = 96, .shared_bytes = sizeof(typename Kernel::Storage)};
  loom::Options options;
  options.schedule = {loom::Policy::random, seed};
  return loom::launch(config, &Kernel::run, &params, tensors, options);
}

template <class Kernel>
void expect_right() {
  std::vector<uint32_t> out;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const loom::Outcome outcome = launch<Kernel>(out, seed);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 32 * 32 + 31 - i % 32);
  }
}

TEST(TwoRingsOfOneType, AreTwoRings) { expect_right<RelayKernel<false, false>>(); }
TEST(TwoRingsOfOneType, DrainingTwiceIsDrainingOnce) { expect_right<RelayKernel<true, false>>(); }
TEST(TwoRingsOfOneType, EachKeepsItsSides) {
  std::vector<uint32_t> out;
  const loom::Outcome outcome = launch<RelayKernel<false, true>>(out, 1);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, "RING-SIDE") << to_text(outcome.report);
}

}  // namespace
}  // namespace warploom::test
