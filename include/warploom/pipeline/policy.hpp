// How a ring's barriers are signalled. A ring states one filled-by policy and a list of freed-by policies in its type;
// arrive counts, byte counts and masks follow from them, nobody writes an integer.
//
//   freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>
//
// says: a slot is free once the tensor core is done with it on behalf of every leader that reads it, and one lane of
// each epilogue warp has let go of it. Each policy knows how many arrivals one barrier receives per phase, and how its
// role makes them.
#pragma once

#include <type_traits>

#include "warploom/arch/umma.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/pipeline/text.hpp"
#include "warploom/pipeline/topology.hpp"
#include "warploom/warp/roles.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

// ---- Targets: whose barrier a signal reaches

struct to_self {
  static constexpr Text text{""};
  template <class Cluster>
  static constexpr uint32_t sources = 1;
};
/// The even CTA of the pair; with cta_group 1 the CTA itself.
struct to_pair_leader {
  static constexpr Text text{" of the pair"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::cta_group;
};
/// Both CTAs of the pair.
struct to_pair {
  static constexpr Text text{" of the pair"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::cta_group;
};
/// Every CTA whose loads feed the operands just consumed.
struct to_operand_sources {
  static constexpr Text text{""};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::operand_consumers;
};

// ---- Filled-by and freed-by policies

/// TMA: the loading lane announces the slot's bytes, which is the one arrival; the copies complete them.
template <class Role>
struct tma_bytes {
  using role = Role;
  static constexpr bool reads_generic = false;
  static constexpr Text text = Text{"TMA bytes armed by "} + Text{Role::name};
  template <class Cluster>
  static constexpr uint32_t arrivals = 1;
};

/// tcgen05.commit: one arrival per leader, once the work issued before it is complete.
template <class Role, class Target>
struct mma_commit {
  using role = Role;
  static constexpr bool reads_generic = false;
  static constexpr Text text = Text{"tcgen05.commit by "} + Text{Role::name};
  // A pair has one leader, so what reaches both of its CTAs still reaches each of them once.
  template <class Cluster>
  static constexpr uint32_t arrivals = std::is_same_v<Target, to_operand_sources> ? Cluster::operand_consumers : 1;

  template <class Cluster>
  static WARPLOOM_FN uint16_t mask() noexcept {
    const uint32_t rank = arch::cluster_rank();
    if constexpr (std::is_same_v<Target, to_operand_sources>)
      return Cluster::operand_sources_mask(rank);
    else
      return Cluster::pair_mask(rank);
  }
  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    signal<Cluster>(barrier, mask<Cluster>());
  }
  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier, uint16_t to) noexcept {
    if constexpr (Cluster::size == 1)
      arch::umma_commit<Cluster::cta_group>(barrier);
    else
      arch::umma_commit_multicast<Cluster::cta_group>(barrier, to);
  }
};

/// Every thread of the role arrives.
template <class Role, class Target = to_self>
struct every_thread {
  using role = Role;
  static constexpr bool reads_generic = true;
  static constexpr Text text = Text{"every thread of "} + Text{Role::name} + Target::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Role::threads * Target::template sources<Cluster>;

  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    if constexpr (Cluster::cta_group == 2 && std::is_same_v<Target, to_pair_leader>) {
      arch::mbarrier_arrive(arch::pair_leader(barrier));
    } else if constexpr (Cluster::cta_group == 2 && std::is_same_v<Target, to_pair>) {
      arch::mbarrier_arrive(arch::map_to_rank(barrier, arch::cluster_rank() ^ 1));
      arch::mbarrier_arrive(barrier);
    } else {
      arch::mbarrier_arrive(barrier);
    }
  }
};

/// One lane of every warp of the role arrives, once its whole warp is there.
template <class Role>
struct lane_per_warp {
  using role = Role;
  static constexpr bool reads_generic = true;
  static constexpr Text text = Text{"one lane per warp of "} + Text{Role::name};
  template <class Cluster>
  static constexpr uint32_t arrivals = Role::warps;

  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    arch::syncwarp();
    if (arch::lane_index() == 0) arch::mbarrier_arrive(barrier);
  }
};

template <class Policy>
struct filled_by {
  using policy = Policy;
  static constexpr Text text = Policy::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Policy::template arrivals<Cluster>;

  /// What the producer owes to a slot it has filled. Nothing where TMA brings it: the arming was the arrival.
  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    if constexpr (requires { Policy::template signal<Cluster>(barrier); }) Policy::template signal<Cluster>(barrier);
  }
};

namespace detail {
template <class First, class... Rest>
constexpr auto join_texts() {
  if constexpr (sizeof...(Rest) == 0)
    return First::text;
  else
    return First::text + Text{" and "} + join_texts<Rest...>();
}
}  // namespace detail

template <class... Policies>
struct freed_by {
  static constexpr Text text = detail::join_texts<Policies...>();
  template <class Cluster>
  static constexpr uint32_t arrivals = (0 + ... + Policies::template arrivals<Cluster>);

  /// Does what the policies of this role say.
  template <class Role, class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    static_assert((std::is_same_v<typename Policies::role, Role> || ...),
                  "warploom: this role is not among those that free the ring; name it in freed_by<...>");
    (signal_if<Policies, Role, Cluster>(barrier), ...);
  }
  /// Whether this role reads the slot with ordinary loads: it must then fence before TMA may write there again.
  template <class Role>
  static constexpr bool reads_generic =
      ((std::is_same_v<typename Policies::role, Role> && Policies::reads_generic) || ...);

 private:
  template <class Policy, class Role, class Cluster>
  static WARPLOOM_FN void signal_if(arch::SharedAddress barrier) noexcept {
    if constexpr (std::is_same_v<typename Policy::role, Role>) Policy::template signal<Cluster>(barrier);
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
