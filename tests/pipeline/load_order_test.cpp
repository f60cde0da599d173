// The order between operand loads and residual loads. That it cannot deadlock is shown by visiting every reachable
// state of the roles' protocol; the same search finds the deadlock of the obvious design, one barrier whose phase both
// sides toggle. That it holds is shown on the loom.
#include "warploom/pipeline/load_order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::test {
namespace {

// ---- every state of a protocol. Roles are lists of waits and arrivals; TMA and the tensor core answer at once.

class Protocol {
 public:
  /// `slots` slots with a full and an empty barrier each, one arrival per phase; `readers` arrivals free a slot.
  struct Ring {
    Protocol* protocol;
    int first, slots;
  };
  Ring ring(int slots, int readers = 1) {
    const int first = static_cast<int>(counts_.size());
    for (int i = 0; i < slots; ++i) counts_.push_back(1);
    for (int i = 0; i < slots; ++i) counts_.push_back(readers);
    return {this, first, slots};
  }
  int barrier() {
    counts_.push_back(1);
    return static_cast<int>(counts_.size()) - 1;
  }

  /// One side of a ring, with its position.
  class Side {
   public:
    Side(const Ring& ring, std::vector<int>* role, bool producer) : ring_(ring), role_(role), producer_(producer) {}
    void wait() const { role_->push_back(encode(own(), (producer_ ? lap_ + 1 : lap_) & 1)); }
    void signal() const { role_->push_back(encode(other(), -1)); }
    void step() {
      if (++slot_ == ring_.slots) {
        slot_ = 0;
        ++lap_;
      }
    }
    void pass() {
      wait();
      signal();
      step();
    }
    void drain() {
      for (int i = 0; i < ring_.slots; ++i) {
        wait();
        step();
      }
    }

   private:
    int own() const { return ring_.first + slot_ + (producer_ ? ring_.slots : 0); }
    int other() const { return ring_.first + slot_ + (producer_ ? 0 : ring_.slots); }
    Ring ring_;
    std::vector<int>* role_;
    bool producer_;
    int slot_ = 0, lap_ = 0;
  };

  std::vector<int>* role() { return &roles_.emplace_back(); }
  /// A role waits until the barrier's phase parity differs from `parity`, or arrives (parity -1).
  static int encode(int barrier, int parity) { return barrier * 4 + parity + 1; }

  struct Answer {
    bool deadlock = false;
    size_t states = 0;
  };
  /// Breadth first over the roles' positions, which determine the barriers: arrivals commute.
  Answer explore() const {
    using State = std::vector<uint8_t>;
    std::set<State> seen;
    std::vector<State> frontier{State(roles_.size(), 0)};
    seen.insert(frontier[0]);
    while (!frontier.empty()) {
      std::vector<State> next;
      for (const State& state : frontier) {
        std::vector<int> arrivals(counts_.size(), 0);
        bool finished = true;
        for (size_t r = 0; r < roles_.size(); ++r) {
          finished = finished && state[r] == roles_[r].size();
          for (size_t i = 0; i < state[r]; ++i)
            if (roles_[r][i] % 4 == 0) ++arrivals[static_cast<size_t>(roles_[r][i] / 4)];
        }
        bool moved = false;
        for (size_t r = 0; r < roles_.size(); ++r) {
          if (state[r] == roles_[r].size()) continue;
          const int operation = roles_[r][state[r]];
          const auto barrier = static_cast<size_t>(operation / 4);
          const int parity = operation % 4 - 1;
          if (parity >= 0 && (arrivals[barrier] / counts_[barrier]) % 2 == parity) continue;
          moved = true;
          State after = state;
          ++after[r];
          if (seen.insert(after).second) next.push_back(after);
        }
        if (!moved && !finished) return {true, seen.size()};
      }
      frontier.swap(next);
    }
    return {false, seen.size()};
  }

 private:
  std::vector<int> counts_;
  std::vector<std::vector<int>> roles_ = [] {
    std::vector<std::vector<int>> roles;
    roles.reserve(8);  // sides keep pointers to them
    return roles;
  }();
};

enum class Hint { toggled_barrier, ring };

struct Shape {
  int tiles, k_blocks, input_slots, residual_slots, accumulators, depth;
  bool residual;
};

/// The four roles of a GEMM with a residual, statically scheduled.
Protocol::Answer explore(const Shape& s, Hint hint) {
  Protocol protocol;
  const auto input = protocol.ring(s.input_slots), accumulator = protocol.ring(s.accumulators),
             residual = protocol.ring(s.residual_slots), order = protocol.ring(s.depth);
  const int toggled = protocol.barrier();

  std::vector<int>* load = protocol.role();
  Protocol::Side load_input(input, load, true), load_order(order, load, true);
  for (int tile = 0; tile < s.tiles; ++tile) {
    auto announce = [&] {
      if (hint == Hint::ring)
        load_order.pass();
      else
        load->push_back(Protocol::encode(toggled, -1));
    };
    for (int k = 0; k < s.k_blocks; ++k) {
      load_input.pass();
      if (k + 1 == s.input_slots) announce();
    }
    if (s.k_blocks < s.input_slots) announce();
  }
  load_input.drain();

  std::vector<int>* mma = protocol.role();
  Protocol::Side mma_input(input, mma, false), mma_accumulator(accumulator, mma, true);
  for (int tile = 0; tile < s.tiles; ++tile) {
    mma_accumulator.wait();
    for (int k = 0; k < s.k_blocks; ++k) mma_input.pass();
    mma_accumulator.signal();
    mma_accumulator.step();
  }

  std::vector<int>* epilogue = protocol.role();
  Protocol::Side done(accumulator, epilogue, false), add(residual, epilogue, false);
  for (int tile = 0; tile < s.tiles; ++tile) {
    done.pass();
    if (s.residual)
      for (int strip = 0; strip < s.residual_slots; ++strip) add.pass();
  }

  std::vector<int>* epilogue_load = protocol.role();
  Protocol::Side wait_order(order, epilogue_load, false), bring(residual, epilogue_load, true);
  for (int tile = 0; tile < s.tiles; ++tile) {
    if (hint == Hint::ring)
      wait_order.pass();
    else
      epilogue_load->push_back(Protocol::encode(toggled, tile & 1));
    if (s.residual)
      for (int strip = 0; strip < s.residual_slots; ++strip) bring.pass();
  }
  return protocol.explore();
}

std::vector<Shape> shapes(int tiles) {
  std::vector<Shape> all;
  for (const auto& [k_blocks, slots] : {std::pair{1, 3}, {2, 3}, {4, 3}, {1, 6}, {0, 3}})
    for (const int residual_slots : {1, 2})
      for (const int depth : {1, 2, 3})
        for (const bool residual : {true, false})
          all.push_back({tiles, k_blocks, slots, residual_slots, 2, depth, residual});
  return all;
}

void expect_no_deadlock(int tiles) {
  for (const Shape& shape : shapes(tiles)) {
    const Protocol::Answer answer = explore(shape, Hint::ring);
    EXPECT_FALSE(answer.deadlock) << shape.tiles << " tiles, " << shape.k_blocks << " K blocks, " << shape.input_slots
                                  << " slots, depth " << shape.depth;
    EXPECT_GT(answer.states, 20u);
  }
}

TEST(LoadOrder, NoReachableStateIsADeadlock) { expect_no_deadlock(3); }
TEST(LoadOrderFull, NoReachableStateIsADeadlock) {
  expect_no_deadlock(4);
  expect_no_deadlock(5);
}

// The search can see it: the original's barrier, signalled twice before it is waited for, loses a signal.
TEST(LoadOrder, OneToggledBarrierDeadlocks) {
  int deadlocks = 0;
  for (const Shape& shape : shapes(4)) deadlocks += explore(shape, Hint::toggled_barrier).deadlock ? 1 : 0;
  EXPECT_GT(deadlocks, 0);
  EXPECT_TRUE(explore({4, 1, 3, 1, 2, 1, true}, Hint::toggled_barrier).deadlock);
}

// ---- on the loom: no residual before its tile's first operands are out

struct LoadOrderParams {
  int tiles, k_blocks, first;
  std::atomic<int>* issued;  ///< operand loads so far
  std::atomic<int>* early;   ///< residuals asked for too early
};

struct LoadOrderKernel {
  struct Producer : WarpRole<0, 1> {
    static constexpr char name[] = "load";
  };
  struct Residual : WarpRole<1, 1> {
    static constexpr char name[] = "epilogue-load";
  };
  using Order = LoadOrder<Producer, Residual>;

  static void run(const void* block) noexcept {
    const auto& params = *static_cast<const LoadOrderParams*>(block);
    auto& storage = arch::shared<Order::Storage>();
    if (arch::thread_index() == 0) {
      Order::init_barriers(storage);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Order order(storage);
    if (!arch::elect_one()) return;
    for (int tile = 0; tile < params.tiles; ++tile) {
      if (arch::warp_index() == 0) {
        auto first = order.first_loads(params.first);
        for (int k = 0; k < params.k_blocks; ++k) {
          ++*params.issued;
          first.issued();
        }
      } else {
        order.wait();
        const int needed = tile * params.k_blocks + std::min(params.first, params.k_blocks);
        if (*params.issued < needed) ++*params.early;
      }
    }
  }
};

void run_on_loom(int schedules) {
  for (const int k_blocks : {0, 1, 3, 5})
    for (int seed = 0; seed < schedules; ++seed) {
      std::atomic<int> issued = 0, early = 0;
      const LoadOrderParams params{5, k_blocks, 3, &issued, &early};
      const loom::LaunchConfig config{
          .kernel = "load-order", .threads = 64, .shared_bytes = sizeof(LoadOrderKernel::Order::Storage)};
      loom::Options options;
      options.schedule = {loom::Policy::random, static_cast<uint64_t>(seed)};
      const loom::Outcome outcome = loom::launch(config, &LoadOrderKernel::run, &params, {}, options);
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      ASSERT_EQ(early, 0);
      ASSERT_EQ(issued, 5 * k_blocks);
    }
}

TEST(LoadOrder, ResidualsWaitForTheFirstOperands) { run_on_loom(50); }
TEST(LoadOrderFull, ResidualsWaitForTheFirstOperands) { run_on_loom(10'000); }

}  // namespace
}  // namespace warploom::test
