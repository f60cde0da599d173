// The order of loads, as the two roles that load see it: a tile's residual is asked for after its first operand loads,
// and the load role is held back after two tiles.
#include "warploom/pipeline/load_order.hpp"

#include <gtest/gtest.h>

#include "warp/blockwise_launch.hpp"
#include "warp/seed_examples_kernel.hpp"  // the checks

namespace warploom::test {
namespace {

struct Operands : WarpRole<0, 1> {
  static constexpr char name[] = "operands";
};
struct Residuals : WarpRole<1, 1> {
  static constexpr char name[] = "residuals";
};

struct OrderKernel {
  using Order = LoadOrder<Operands, Residuals>;
  static constexpr int tiles = 9, first = 3;
  struct Storage {
    Order::Storage order;
    uint32_t issued[tiles];  ///< operand loads of a tile
    uint32_t asked[tiles];   ///< residuals of a tile
  };
  /// Some tiles have fewer loads than `first`: the end of the scope announces those.
  static constexpr int loads_of(int tile) { return 1 + tile * 5 % 7; }

  static void run(const void*) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Order::init_barriers(storage.order);
      for (int i = 0; i < tiles; ++i) storage.issued[i] = storage.asked[i] = 0;
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    if (arch::lane_index() != 0) return;
    Order order(storage.order);
    for (int tile = 0; tile < tiles; ++tile) {
      if (arch::warp_index() == 0) {
        load(order, storage, tile);
      } else {
        order.wait();
        const int least = loads_of(tile) < first ? loads_of(tile) : first;
        WARPLOOM_KERNEL_CHECK(arch::load_shared(storage.issued + tile) >= static_cast<uint32_t>(least));
        arch::store_shared(storage.asked + tile, 1u);
      }
    }
    if (arch::warp_index() == 0) order.pipeline.drain();
  }
  static void load(Order& order, Storage& storage, int tile) noexcept {
    auto first_loads = order.first_loads(first);
    for (int k = 0; k < loads_of(tile); ++k) {
      arch::store_shared(storage.issued + tile, static_cast<uint32_t>(k) + 1);
      first_loads.issued();
    }
    // Two tiles ahead of the other role's waits, and no further: that of three tiles ago is over.
    if (tile >= 3 && loads_of(tile) >= first) WARPLOOM_KERNEL_CHECK(arch::load_shared(storage.asked + tile - 3) == 1);
  }
};

TEST(LoadOrder, ResidualsComeAfterTheFirstOperands) {
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    failed_line = 0;
    const loom::Outcome outcome = loom::launch({.kernel = "load-order",
                                                .grid = {1},
                                                .cluster = {1},
                                                .threads = 64,
                                                .shared_bytes = sizeof(OrderKernel::Storage)},
                                               &OrderKernel::run, nullptr, {}, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0);
  }
}

}  // namespace
}  // namespace warploom::test
