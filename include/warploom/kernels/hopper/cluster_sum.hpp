// K split within a cluster: each of its CTAs has a share of a tile's K blocks. All but the first send their sums to the
// first one's shared memory, straight from registers; it adds them in the order of the shares and has the whole tile.
//
//   ClusterSum<Accumulator, 1, 2> meeting(storage.meeting, group);      // the same in every CTA
//   decltype(meeting)::Whole whole;                                     // every thread of the group
//   if (meeting.meet(sum, whole)) write(whole), meeting.done();         // the first CTA goes on
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/types/text.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `groups` that have a part of a tile each, in `shares` CTAs of a cluster.
template <class Accumulator, int groups, int shares>
class ClusterSum {
 public:
  /// What an epilogue takes for an accumulator.
  struct Whole {
    static constexpr int rows = Accumulator::rows;
    static constexpr int columns = Accumulator::columns;
    static constexpr int blocks = Accumulator::blocks;
    static constexpr int values_per_block = Accumulator::values_per_block;
    WARPLOOM_FN float value(int block, int i) const noexcept { return sums[block][i]; }
    float sums[blocks][values_per_block];
  };
  static constexpr int values = Whole::blocks * Whole::values_per_block;
  static constexpr uint32_t group_threads = 128, group_warps = group_threads / 32;

  /// Received by the first CTA; where all of it is in, and, in the others, where it has been read.
  struct Storage {
    alignas(16) Unit received[groups][shares - 1][values / 4][group_threads];
    arch::Mbarrier full[groups], empty[groups];
  };
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    for (int i = 0; i < groups; ++i) {
      arch::mbarrier_init(arch::shared_address(&storage.full[i]), 1);
      arch::mbarrier_init(arch::shared_address(&storage.empty[i]), group_warps);  // a lane of every warp that reads
    }
    arch::name_barriers<Names, Sent>(storage.full, groups, arch::RingSide::full);
    arch::name_barriers<Names, Read>(storage.empty, groups, arch::RingSide::empty);
  }

  WARPLOOM_FN ClusterSum(Storage& storage, uint32_t group) noexcept
      : storage_(&storage), group_(group < groups ? group : 0) {}

  /// Hands over this CTA's share of a tile. The first CTA gets the whole one, and true.
  WARPLOOM_FN bool meet(const Accumulator& sum, Whole& whole) noexcept {
    const uint32_t rank = arch::cluster_rank();
    if (rank != 0) {
      send(sum, rank - 1);
      ++tiles_;
      return false;
    }
    const uint32_t thread = arch::thread_index() % group_threads;
    const arch::SharedAddress full = arch::shared_address(&storage_->full[group_]);
    if (thread == 0) arch::mbarrier_arrive_expect_tx(full, sizeof(storage_->received[0]));
    each([&](int block, int i) WARPLOOM_LAMBDA {
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) whole.sums[block][i + j] = sum.value(block, i + j);
    });
    arch::mbarrier_wait<arch::Scope::cluster>(full, ++tiles_);
    WARPLOOM_UNROLL
    for (int share = 0; share < shares - 1; ++share) {
      each([&](int block, int i) WARPLOOM_LAMBDA {
        const Unit part = arch::load_shared(place(share, block, i, thread));
        WARPLOOM_UNROLL
        for (int j = 0; j < 4; ++j) {
          float& to = whole.sums[block][i + j];
          to = arch::add(to, arch::as_float(part.words[j]));
        }
      });
    }
    return true;
  }

  /// The first CTA, some time after it has met: the others may send their next shares.
  WARPLOOM_FN void done() const noexcept {
    arch::syncwarp();
    const uint32_t lane = arch::lane_index();
    if (lane < shares - 1)
      arch::mbarrier_arrive<arch::Scope::cluster>(
          arch::map_to_rank(arch::shared_address(&storage_->empty[group_]), lane + 1));
  }

  /// At the end, the other CTAs: until the first one has read all they sent, so that its last signal finds them there.
  WARPLOOM_FN void drain() const noexcept {
    if (arch::cluster_rank() != 0)
      arch::mbarrier_wait<arch::Scope::cluster>(arch::shared_address(&storage_->empty[group_]), tiles_);
  }

 private:
  struct Names {
    static constexpr char name[] = "cluster-sum";
  };
  struct Sent {
    static constexpr Text text{"the first CTA, and the bytes that the others send"};
  };
  struct Read {
    static constexpr Text text{"one lane per math warp of the first CTA"};
  };

  WARPLOOM_FN void send(const Accumulator& sum, uint32_t share) noexcept {
    arch::mbarrier_wait<arch::Scope::cluster>(arch::shared_address(&storage_->empty[group_]), tiles_);
    const arch::SharedAddress full = arch::map_to_rank(arch::shared_address(&storage_->full[group_]), 0);
    const uint32_t thread = arch::thread_index() % group_threads;
    each([&](int block, int i) WARPLOOM_LAMBDA {
      uint32_t words[4];
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) words[j] = arch::as_bits(sum.value(block, i + j));
      arch::store_async(arch::map_to_rank(arch::shared_address(place(share, block, i, thread)), 0), words, full);
    });
  }

  WARPLOOM_FN Unit* place(uint32_t share, int block, int i, uint32_t thread) const noexcept {
    return &storage_->received[group_][share][(block * Whole::values_per_block + i) / 4][thread];
  }
  template <class F>
  static WARPLOOM_FN void each(F&& f) noexcept {
    WARPLOOM_UNROLL
    for (int block = 0; block < Whole::blocks; ++block) {
      WARPLOOM_UNROLL
      for (int i = 0; i < Whole::values_per_block; i += 4) f(block, i);
    }
  }

  Storage* storage_;
  uint32_t group_;
  uint32_t tiles_ = 0;  ///< met for
};

/// Where nothing is split.
template <class Accumulator, int groups>
class ClusterSum<Accumulator, groups, 1> {
 public:
  struct Storage {};
  static WARPLOOM_FN void init_barriers(Storage&) noexcept {}
  WARPLOOM_FN ClusterSum(Storage&, uint32_t) noexcept {}
  WARPLOOM_FN void drain() const noexcept {}
};

}  // namespace warploom::inline WARPLOOM_MACHINE
