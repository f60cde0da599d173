// How a ring's barriers are signalled. A ring states one filled-by policy and a list of freed-by policies in its type;
// arrive counts, byte counts and masks follow from them, nobody writes an integer.
//
//   freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>
//
// says: a slot is free once the tensor core is done with it on behalf of every leader that reads it, and one lane of
// each epilogue warp has let go of it.
#pragma once

#include <type_traits>

#include "warploom/arch/cp_async.hpp"
#include "warploom/arch/umma.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/pipeline/target.hpp"
#include "warploom/warp/roles.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

// ---- Who signals, and with what. `arrivals`: per phase on one barrier.

/// TMA: the loading lane announces the slot's bytes, which is the one arrival; the copies complete them. With CTA pairs
/// the bytes of both CTAs complete on the leader's barrier, and the leader announces them.
template <class Role>
struct tma_bytes {
  using role = Role;
  static constexpr Text text = Text{"TMA bytes armed by "} + Text{Role::name};
  template <class Cluster>
  static constexpr uint32_t arrivals = 1;

  template <class Cluster>
  static WARPLOOM_FN void arm(arch::SharedAddress barrier, uint32_t bytes) noexcept {
    if (Cluster::leads(arch::cluster_rank())) arch::mbarrier_arrive_expect_tx(barrier, bytes);
  }
};

/// The bytes of a copy that one CTA issues for all (cluster launch control, multicast): its warp announces them in
/// every CTA of the cluster, one lane each.
template <class Role>
struct remote_expect {
  using role = Role;
  static constexpr Text text = Text{"bytes armed in every CTA by "} + Text{Role::name} + Text{" of CTA 0"};
  template <class Cluster>
  static constexpr uint32_t arrivals = 1;

  template <class Cluster>
  static WARPLOOM_FN void arm(arch::SharedAddress barrier, uint32_t bytes) noexcept {
    // Once armed, the slot may go all the way round: no lane may still be at its wait for it.
    arch::syncwarp();
    const uint32_t lane = arch::lane_index();
    if (lane < Cluster::size) arch::mbarrier_arrive_expect_tx(arch::map_to_rank(barrier, lane), bytes);
  }
};

/// cp.async: every thread of the role arrives once its own copies have landed.
template <class Role>
struct cp_async_arrive {
  using role = Role;
  static constexpr Text text = Text{"cp.async of every thread of "} + Text{Role::name};
  template <class Cluster>
  static constexpr uint32_t arrivals = Role::threads;

  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    arch::cp_async_mbarrier_arrive_noinc(barrier);
  }
};

/// tcgen05.commit: one arrival per leader, once the work issued before it is complete.
template <class Role, class Target>
struct mma_commit {
  using role = Role;
  static constexpr bool reads_generic = false;
  static constexpr Text text = Text{"tcgen05.commit by "} + Text{Role::name};
  template <class Cluster>
  static constexpr uint32_t arrivals = Target::template leaders<Cluster>;

  template <class Cluster, arch::Scope = arch::Scope::cta>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    signal<Cluster>(barrier, Target::template mask<Cluster>(arch::cluster_rank()));
  }
  template <class Cluster>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier, uint16_t to) noexcept {
    if constexpr (Cluster::size == 1)
      arch::umma_commit<Cluster::cta_group>(barrier);
    else
      arch::umma_commit_multicast<Cluster::cta_group>(barrier, to);
  }
  /// tcgen05 work may only follow a wait through this fence.
  static WARPLOOM_FN void after_wait() noexcept { arch::tcgen05_fence_after(); }
};

/// Every thread of the role arrives.
template <class Role, class Target = to_self>
struct every_thread {
  using role = Role;
  static constexpr bool reads_generic = true;
  static constexpr Text text = Text{"every thread of "} + Text{Role::name} + Target::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Role::threads * Target::template sources<Cluster>;

  template <class Cluster, arch::Scope scope = arch::Scope::cta>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    arrive_at<Target, Cluster, scope>(barrier);
  }
};

/// The one thread that plays the role (bodies of load, mma, epilogue-load) arrives.
template <class Role, class Target = to_self>
struct one_thread : every_thread<Role, Target> {
  static constexpr Text text = Text{"one thread of "} + Text{Role::name} + Target::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Target::template sources<Cluster>;
};
/// The same where the role runs in the leaders of CTA pairs only.
template <class Role, class Target = to_self>
struct leader_thread : one_thread<Role, Target> {
  template <class Cluster>
  static constexpr uint32_t arrivals = Target::template leaders<Cluster>;
};

/// One lane of every warp of the role arrives, once its whole warp is there. Where the slot is filled from several
/// CTAs (Hopper multicast: to_operand_sources), one lane for each of them.
template <class Role, class Target = to_self>
struct lane_per_warp {
  using role = Role;
  static constexpr bool reads_generic = true;
  static constexpr Text text = Text{"one lane per warp of "} + Text{Role::name} + Target::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Role::warps * Target::template sources<Cluster>;

  template <class Cluster, arch::Scope scope = arch::Scope::cta>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    arch::syncwarp_before_signal();
    const uint32_t lane = arch::lane_index();
    if constexpr (Cluster::size == 1 || std::is_same_v<Target, to_self>) {
      if (lane == 0) arch::mbarrier_arrive(barrier);
    } else if constexpr (reaches_everyone<Target, Cluster>) {
      if (lane < Cluster::size) arch::mbarrier_arrive<scope>(arch::map_to_rank(barrier, lane));
    } else {
      if (lane < Cluster::size && (Target::template mask<Cluster>(arch::cluster_rank()) >> lane & 1) != 0)
        arch::mbarrier_arrive<scope>(arch::map_to_rank(barrier, lane));
    }
  }
};

/// lane_per_warp for warps that read the slot through the tensor core only: nothing to fence.
template <class Role, class Target = to_self>
struct wgmma_warps : lane_per_warp<Role, Target> {
  static constexpr bool reads_generic = false;
};

template <class Policy>
struct filled_by {
  using policy = Policy;
  static constexpr Text text = Policy::text;
  template <class Cluster>
  static constexpr uint32_t arrivals = Policy::template arrivals<Cluster>;

  /// Whether the slot is full when its bytes have landed, and not by arrivals alone.
  static constexpr bool counts_bytes =
      requires(arch::SharedAddress barrier) { Policy::template arm<ClusterShape<1, 1, 1>>(barrier, 0u); };
  /// Announces bytes on a slot about to be filled, where the policy counts bytes.
  template <class Cluster>
  static WARPLOOM_FN void arm(arch::SharedAddress barrier, uint32_t bytes) noexcept {
    if constexpr (requires { Policy::template arm<Cluster>(barrier, bytes); })
      Policy::template arm<Cluster>(barrier, bytes);
  }
  /// What the producer owes to a slot it has filled. Nothing where bytes say it: the arming was the arrival.
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

template <class First, class... Rest>
struct freed_by {
  /// The role a ring's consume() means when none is named: the first, or none if that could be a mistake.
  using first = First;
  using first_role = typename First::role;
  using only_role = std::conditional_t<sizeof...(Rest) == 0, first_role, void>;
  static constexpr Text text = detail::join_texts<First, Rest...>();
  template <class Cluster>
  static constexpr uint32_t arrivals = (First::template arrivals<Cluster> + ... + Rest::template arrivals<Cluster>);

  /// Does what the policies of this role say. `scope` cluster: where ordinary reads must be over for other CTAs, too.
  template <class Role, class Cluster, arch::Scope scope = arch::Scope::cta>
  static WARPLOOM_FN void signal(arch::SharedAddress barrier) noexcept {
    static_assert(frees<Role>, "warploom: this role is not among those that free the ring; name it in freed_by<...>");
    signal_if<First, Role, Cluster, scope>(barrier);
    (signal_if<Rest, Role, Cluster, scope>(barrier), ...);
  }
  /// What the role's work demands right after its wait for a full slot.
  template <class Role>
  static WARPLOOM_FN void after_wait() noexcept {
    after_wait_if<First, Role>();
    (after_wait_if<Rest, Role>(), ...);
  }
  template <class Role>
  static constexpr bool frees =
      (std::is_same_v<typename First::role, Role> || ... || std::is_same_v<typename Rest::role, Role>);
  /// Whether this role reads the slot with ordinary loads: it must then fence before TMA may write there again.
  template <class Role>
  static constexpr bool reads_generic = ((std::is_same_v<typename First::role, Role> && First::reads_generic) || ... ||
                                         (std::is_same_v<typename Rest::role, Role> && Rest::reads_generic));

 private:
  template <class Policy, class Role, class Cluster, arch::Scope scope>
  static WARPLOOM_FN void signal_if(arch::SharedAddress barrier) noexcept {
    if constexpr (std::is_same_v<typename Policy::role, Role>) Policy::template signal<Cluster, scope>(barrier);
  }
  template <class Policy, class Role>
  static WARPLOOM_FN void after_wait_if() noexcept {
    if constexpr (std::is_same_v<typename Policy::role, Role> && requires { Policy::after_wait(); })
      Policy::after_wait();
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
