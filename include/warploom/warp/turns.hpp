// Warpgroups that take turns (ping-pong): while one multiplies, the other runs its epilogue. Group g's turn t begins
// when group g-1 has passed its turn t on; group 0 begins. The order is what makes it right that a group passes over
// ring slots it never waits for: all of them were waited for before its turn began.
//
//   Turns<2> turns(storage.turns, group);
//   { auto turn = turns.take();  multiply(); }     // waits for the turn; leaving passes it on, unless pass() has
//   store();                                       // while the next group multiplies
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/pipeline/must_release.hpp"
#include "warploom/pipeline/policy.hpp"
#include "warploom/pipeline/storage.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <int groups, int group_warps = 4>
class Turns {
 public:
  struct Group : WarpRole<0, group_warps> {
    static constexpr char name[] = "the group before";
  };
  using Policy = lane_per_warp<Group>;
  using Cluster = ClusterShape<1, 1, 1>;
  static constexpr char name[] = "turn";

  struct Storage {
    SMemArray<SharedMemBarrier, groups> begin;  ///< one per group
  };

  WARPLOOM_FN Turns(Storage& storage, uint32_t group) noexcept : storage_(&storage), group_(group) {}

  /// One thread, once per CTA.
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    for (int i = 0; i < groups; ++i)
      arch::mbarrier_init(arch::shared_address(storage.begin[i]), Policy::template arrivals<Cluster>);
    arch::name_barriers<Turns, Policy>(storage.begin.ptr(), groups, arch::RingSide::once);
  }

  /// A turn for one scope.
  class [[nodiscard]] Turn : Scope {
   public:
    WARPLOOM_FN explicit Turn(Turns& turns) noexcept : turns_(turns) { turns.wait(); }
    WARPLOOM_FN ~Turn() noexcept { pass(); }
    /// Early: what is left to do is not the next group's concern.
    WARPLOOM_FN void pass() noexcept {
      held_.settle([&]() WARPLOOM_LAMBDA { turns_.pass(); });
    }

   private:
    Turns& turns_;
    Held<Turns> held_;
  };
  WARPLOOM_FN Turn take() noexcept { return Turn(*this); }

  WARPLOOM_FN void wait() const noexcept {
    arch::mbarrier_wait(arch::shared_address(storage_->begin[static_cast<int>(group_)]),
                        group_ == 0 ? turn_ : turn_ + 1);
  }
  WARPLOOM_FN void pass() noexcept {
    const uint32_t next = group_ + 1 == groups ? 0 : group_ + 1;
    Policy::template signal<Cluster>(arch::shared_address(storage_->begin[static_cast<int>(next)]));
    ++turn_;
  }

 private:
  Storage* storage_;
  uint32_t group_;
  uint32_t turn_ = 0;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
