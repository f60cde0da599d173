// Dynamic scheduling by cluster launch control (sm_100): one cluster is launched per cluster tile, and a cluster that
// runs takes over the tiles of others that have not been launched yet, until there are none. `Items` knows which.
//
// A scheduler warp in CTA 0 of the cluster asks, one request at a time; the answers go round in a ring that every role
// of every CTA reads. A role loops over its tiles as with a static schedule, once:
//
//   for (Tile tile : schedule.tiles<Load>()) kernel.load(tile);       // the first tile is the cluster's own
//   schedule.run();                                                   // the scheduler warp
//
// Who takes tiles is listed in the type, as freed_by<...> with target to_first. The first role of the list sets the
// pace: a request is made when that role starts a tile, so a cluster never holds more than one it has not begun.
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/clc.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/pipeline/policy.hpp"
#include "warploom/pipeline/storage.hpp"
#include "warploom/schedule/tile.hpp"
#include "warploom/warp/roles.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Who takes tiles, as Skeleton runs its roles (warp/skeleton.hpp): all tell CTA 0 that an answer has been read.
using SkeletonRoles = freed_by<one_thread<Load, to_first>, leader_thread<Mma, to_first>,
                               one_thread<EpilogueLoad, to_first>, lane_per_warp<Epilogue, to_first>>;

template <class Cluster, int stages = 2, class Takers = SkeletonRoles, class Items = CtaTiles<Cluster>>
class ClcScheduler {
 public:
  static constexpr bool uses_launch_control = true;
  static constexpr int num_stages = stages;
  static constexpr uint32_t full_count = 1;  ///< the arming; the answer brings the bytes
  static constexpr uint32_t empty_count = Takers::template arrivals<Cluster>;
  using PaceSetter = typename Takers::first_role;
  static_assert(Takers::first::template arrivals<ClusterShape<1, 1, 1>> == 1,
                "warploom: the role that is named first sets the pace, and does so with one thread");

  struct Storage {
    SMemArray<arch::ClcResponse, stages> answers;
    SMemArray<SharedMemBarrier, stages> full;
    SMemArray<SharedMemBarrier, stages> empty;  ///< CTA 0's; nobody uses the others'
    SMemArray<SharedMemBarrier, 1> started;     ///< CTA 0's: a phase per tile that the pace setter starts
  };

  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    for (int i = 0; i < stages; ++i) {
      arch::mbarrier_init(arch::shared_address(storage.full[i]), full_count);
      arch::mbarrier_init(arch::shared_address(storage.empty[i]), empty_count);
    }
    arch::mbarrier_init(arch::shared_address(storage.started.ptr()), 1);
    // The scheduler waits for both ends of the ring: only the empty one makes it the producer.
    arch::name_barriers<Full, Full>(storage.full.ptr(), stages, arch::RingSide::once);
    arch::name_barriers<Empty, Takers>(storage.empty.ptr(), stages, arch::RingSide::empty);
    arch::name_barriers<Started, Started>(storage.started.ptr(), 1, arch::RingSide::once);
  }

  /// Extents in tiles; the grid has one cluster per cluster tile, numbered along x.
  WARPLOOM_FN ClcScheduler(Storage& storage, int m_tiles, int n_tiles, int k_blocks, Raster raster = {}) noexcept
      : ClcScheduler(storage, {m_tiles, n_tiles, k_blocks, raster}) {}
  WARPLOOM_FN ClcScheduler(Storage& storage, const Items& items) noexcept : storage_(&storage), items_(items) {}

  /// The tiles as a role sees them; one pass.
  template <class Role>
  class Tiles {
    static_assert(Takers::template frees<Role>,
                  "warploom: this role is not among those that take tiles; name it in freed_by<...>");

   public:
    struct End {};
    class Iterator {
     public:
      WARPLOOM_FN explicit Iterator(const ClcScheduler& schedule) noexcept
          : schedule_(schedule), index_(static_cast<int>(arch::cluster_index().x)) {
        schedule_.template start<Role>();
      }
      WARPLOOM_FN Tile operator*() const noexcept { return schedule_.items_[index_]; }
      WARPLOOM_FN Iterator& operator++() noexcept {
        index_ = schedule_.template take<Role>(taken_++);
        if (index_ != none) schedule_.template start<Role>();
        return *this;
      }
      WARPLOOM_FN bool operator!=(End) const noexcept { return index_ != none; }

     private:
      const ClcScheduler& schedule_;
      int index_;
      uint32_t taken_ = 0;
    };
    WARPLOOM_FN explicit Tiles(const ClcScheduler& schedule) noexcept : schedule_(schedule) {}
    WARPLOOM_FN Iterator begin() const noexcept { return Iterator(schedule_); }
    WARPLOOM_FN End end() const noexcept { return {}; }

   private:
    const ClcScheduler& schedule_;
  };
  template <class Role>
  WARPLOOM_FN Tiles<Role> tiles() const noexcept {
    return Tiles<Role>(*this);
  }

  /// The scheduler warp. As many lanes work as the cluster has CTAs: each arms one of them.
  WARPLOOM_FN void run() const noexcept {
    constexpr uint32_t lanes = (1u << Cluster::size) - 1;
    const uint32_t lane = arch::lane_index();
    if (arch::cluster_rank() != 0 || lane >= Cluster::size) return;
    uint32_t requests = 0;
    for (int found = 0; found != none; ++requests) {
      arch::mbarrier_wait(address(storage_->started.ptr()), requests + 1);
      arch::mbarrier_wait(address(storage_->empty[slot(requests)]), lap(requests));
      const arch::SharedAddress full = address(storage_->full[slot(requests)]);
      arch::mbarrier_arrive_expect_tx(Cluster::size == 1 ? full : arch::map_to_rank(full, lane),
                                      sizeof(arch::ClcResponse));
      // Every lane has read the answer before, and all go on together: one that fell behind would miss a phase.
      arch::syncwarp(lanes);
      if (lane == 0) request(slot(requests));
      found = read(requests);
    }
    // Until every answer has been read by all: nobody signals this CTA after it has gone.
    for (uint32_t i = 0; i < stages; ++i, ++requests)
      arch::mbarrier_wait(address(storage_->empty[slot(requests)]), lap(requests));
  }

 private:
  struct Full {
    static constexpr char name[] = "tiles.full";
    static constexpr Text text = Text{"the answer to try_cancel, armed by "} + Text{Scheduler::name};
  };
  struct Empty {
    static constexpr char name[] = "tiles";
  };
  struct Started {
    static constexpr char name[] = "tiles.started";
    static constexpr Text text = Text{"one lane of "} + Text{PaceSetter::name};
  };
  static constexpr int none = -1;

  static WARPLOOM_FN int slot(uint32_t count) noexcept { return static_cast<int>(count % stages); }
  static WARPLOOM_FN uint32_t lap(uint32_t count) noexcept { return count / stages; }
  static WARPLOOM_FN arch::SharedAddress address(const SharedMemBarrier* barrier) noexcept {
    return arch::shared_address(barrier);
  }

  WARPLOOM_FN void request(int index) const noexcept {
    const arch::SharedAddress answer = arch::shared_address(storage_->answers[index]);
    if constexpr (Cluster::size == 1)
      arch::clc_try_cancel(answer, address(storage_->full[index]));
    else
      arch::clc_try_cancel_multicast(answer, address(storage_->full[index]));
  }

  /// The pace setter begins a tile, and the next one only after an answer that was asked for behind this phase.
  template <class Role>
  WARPLOOM_FN void start() const noexcept {
    if constexpr (std::is_same_v<Role, PaceSetter>)
      if (arch::cluster_rank() == 0) arch::mbarrier_arrive(address(storage_->started.ptr()));
  }

  /// The `count`-th answer: a cluster tile, or none.
  WARPLOOM_FN int read(uint32_t count) const noexcept {
    arch::mbarrier_wait(address(storage_->full[slot(count)]), lap(count) + 1);
    const arch::ClcResponse answer = arch::load_shared(storage_->answers[slot(count)]);
    // The next answer is written there through the async proxy.
    arch::fence_proxy_async_shared();
    if (!arch::clc_is_canceled(answer)) return none;
    const uint32_t ctas = arch::grid_dim().x / arch::cluster_count().x;  // of a cluster, along x
    return static_cast<int>(arch::clc_first_cta(answer).x / ctas);
  }

  /// ... and says so to the scheduler, which may be of another CTA.
  template <class Role>
  WARPLOOM_FN int take(uint32_t count) const noexcept {
    const int index = read(count);
    Takers::template signal<Role, Cluster, arch::Scope::cluster>(address(storage_->empty[slot(count)]));
    return index;
  }

  Storage* storage_;
  Items items_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
