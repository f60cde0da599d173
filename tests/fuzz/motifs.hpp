// What random programs are made of: small pieces that are correct by themselves (rings, hand-overs, reductions,
// tickets), each of which adds steps to the threads that play a part in it.
#pragma once

#include "fuzz/program.hpp"
#include "loom/exec/random.hpp"

namespace warploom::loom::fuzz {

/// Lanes of one warp that do something together.
struct Who {
  uint8_t rank = 0, warp = 0;
  uint32_t lanes = 1;
  friend bool operator==(const Who&, const Who&) = default;
};

class Builder {
 public:
  Builder(Program& program, Random& random) : p_(program), random_(random) {}

  /// A shape: CTAs, warps each, clusters. Begins a grid.
  void shape(uint32_t ctas, uint32_t warps, uint32_t clusters = 1);
  void begin_grid();

  // Any domain
  void sync_all();        ///< everybody of the cluster
  void ring();            ///< a producer, consumers, stages that go round; data by one of many ways
  void named_barriers();  ///< two warps hand over a cell by bar.sync, or bar.arrive and bar.sync
  void hand_over();       ///< a cell goes through several threads in turn
  void shared_counter();  ///< several threads count on a barrier that one waits for

  void among_lanes();
  void elected();
  void matrices();
  void multicast();
  void remote_words();
  void pair_load();
  void cluster_phases();
  void early_exit();
  void leavers();  ///< warps that exit before others meet; the last piece of a program

  void stores_out();
  void tensor_stores();
  void global_hand_over();
  void same_stores();
  void cp_async_groups();
  void unwaited_copy();

  void reductions(bool global);
  void tickets(bool global);
  void atomic_beside_reduction(bool global);

  void tests();
  void tokens();
  void drops();
  void byte_splits();
  void increments();
  void used_again();  ///< a barrier is invalidated and made anew

  void tensor_pipeline();
  void allocations();
  void wgmma_pipeline();
  void register_moves();
  void cancels();
  /// A value handed over by loads and stores with an order, most of them behind a barrier as well.
  void flags(bool global);
  /// Several threads update one word, and one reads it when all have.
  void sums(bool global);
  /// The same by red.async.
  void async_sums();
  void dependent_accesses(bool first, bool last);

  uint32_t below(uint32_t n) { return random_.below(n); }
  bool one_in(uint32_t n) { return random_.one_in(n); }
  bool room(uint32_t barriers, uint32_t cells) const {
    return barriers_ + barriers <= barrier_count && cells_ + cells <= cell_count;
  }

 private:
  Step& emit(const Who& who, Op op, std::initializer_list<uint32_t> x = {}, uint32_t n = 0);
  void all_warps(Op op, std::initializer_list<uint32_t> x = {});
  Who warp_of(const Who& who) const { return {who.rank, who.warp, all_lanes}; }
  Who thread(uint32_t rank);
  /// Threads that are not each other; fewer where there are not so many.
  std::vector<Who> threads(uint32_t count, uint32_t rank);
  uint32_t barrier(uint32_t count) {
    p_.counts[barriers_] = static_cast<uint8_t>(count);
    return barriers_++;
  }
  uint32_t cell() {
    if (cells_ == cell_count) __builtin_trap();
    return cells_++;
  }
  uint32_t global_cell() { return global_++ % cell_count; }
  uint32_t rank() { return below(p_.ctas); }
  uint32_t other_rank(uint32_t rank) { return (rank + 1 + below(p_.ctas - 1u)) % p_.ctas; }
  uint32_t reduction_code(bool global);
  /// The thread may do something or not, depending on what it read last.
  void maybe_branch(const Who& who);

  Program& p_;
  Random& random_;
  Bodies* bodies_ = nullptr;
  uint32_t barriers_ = 0, cells_ = 0, global_ = 0, named_ = 1;
};

/// Deletes, doubles, swaps, moves or alters a step, or adds one.
void mutate(Program& program, Random& random);

}  // namespace warploom::loom::fuzz
