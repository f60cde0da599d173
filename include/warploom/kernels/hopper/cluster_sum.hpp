// K split within a cluster: each of its CTAs has a share of a tile's K blocks. One of them finishes a group's part of
// the tile, another one perhaps the next group's: the others send it their sums, straight from registers to its shared
// memory, and it adds them in the order of the shares.
//
//   ClusterSum<Accumulator, 1, 2> meeting(storage.meeting, group);      // the same in every CTA
//   decltype(meeting)::Whole whole;                                     // every thread of the group
//   if (meeting.meet(sum, whole)) meeting.done(), write(whole);         // the CTA that finishes goes on
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/types/text.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Whether the CTA of this rank finishes the part of group `group`.
WARPLOOM_FN bool finishes(int shares, uint32_t rank, uint32_t group) noexcept {
  return rank == group % static_cast<uint32_t>(shares);
}

/// `groups` that have a part of a tile each, in `shares` CTAs of a cluster.
template <class Accumulator, int groups, int shares>
class ClusterSum {
  static_assert(shares == 2 || groups == 1, "warploom: more than two shares are added in order by the first CTA only");

 public:
  /// What an epilogue takes for an accumulator.
  struct Whole {
    static constexpr int rows = Accumulator::rows;
    static constexpr int columns = Accumulator::columns;
    static constexpr int blocks = Accumulator::blocks;
    static constexpr int values_per_block = Accumulator::values_per_block;
    WARPLOOM_FN float value(int block, int i) const noexcept { return sums[block][i]; }
    WARPLOOM_FN void set(int block, int i, float value) noexcept { sums[block][i] = value; }
    float sums[blocks][values_per_block];
  };
  static constexpr int values = Whole::blocks * Whole::values_per_block;
  static constexpr uint32_t group_threads = 128, group_warps = group_threads / 32;

  /// Received for the groups that this CTA finishes; where all of it is in, and, in the others, where it has been read.
  struct Storage {
    alignas(16) Unit received[(groups + shares - 1) / shares][shares - 1][values / 4][group_threads];
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

  /// Hands over this CTA's share of a tile. The one that finishes gets the whole, and true.
  WARPLOOM_FN bool meet(const Accumulator& sum, Whole& whole) noexcept {
    const uint32_t rank = arch::cluster_rank();
    if (!finishes(shares, rank, group_)) {
      send(sum, rank < finisher() ? rank : rank - 1);
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

  /// The CTA that finishes, some time after it has met: the others may send their next shares.
  WARPLOOM_FN void done() const noexcept {
    arch::syncwarp();
    const uint32_t lane = arch::lane_index();
    if (lane < shares - 1)
      arch::mbarrier_arrive<arch::Scope::cluster>(
          arch::map_to_rank(arch::shared_address(&storage_->empty[group_]), lane < finisher() ? lane : lane + 1));
  }

  /// At the end, those that have sent: until all of it has been read, so that the last signal finds them there.
  WARPLOOM_FN void drain() const noexcept {
    if (!finishes(shares, arch::cluster_rank(), group_))
      arch::mbarrier_wait<arch::Scope::cluster>(arch::shared_address(&storage_->empty[group_]), tiles_);
  }

 private:
  struct Names {
    static constexpr char name[] = "cluster-sum";
  };
  struct Sent {
    static constexpr Text text{"the CTA that finishes, and the bytes that the others send"};
  };
  struct Read {
    static constexpr Text text{"one lane per math warp of the CTA that finishes"};
  };

  WARPLOOM_FN uint32_t finisher() const noexcept { return group_ % shares; }

  WARPLOOM_FN void send(const Accumulator& sum, uint32_t share) noexcept {
    arch::mbarrier_wait<arch::Scope::cluster>(arch::shared_address(&storage_->empty[group_]), tiles_);
    const arch::SharedAddress full = arch::map_to_rank(arch::shared_address(&storage_->full[group_]), finisher());
    const uint32_t thread = arch::thread_index() % group_threads;
    each([&](int block, int i) WARPLOOM_LAMBDA {
      uint32_t words[4];
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) words[j] = arch::as_bits(sum.value(block, i + j));
      arch::store_async(arch::map_to_rank(arch::shared_address(place(share, block, i, thread)), finisher()), words,
                        full);
    });
  }

  WARPLOOM_FN Unit* place(uint32_t share, int block, int i, uint32_t thread) const noexcept {
    return &storage_->received[group_ / shares][share][(block * Whole::values_per_block + i) / 4][thread];
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
