// Targets: whose barrier a signal reaches. A policy names one; counts and masks follow from it and the cluster's shape.
//
//   lane_per_warp<Math, to_operand_sources>    // a slot that several CTAs fill: its readers tell all of them
//
// `mask`: the CTAs that this CTA tells. `sources`: how many CTAs tell one barrier. `leaders`: the same, where only the
// leaders of CTA pairs signal, on behalf of both.
#pragma once

#include "warploom/arch/mbarrier.hpp"
#include "warploom/pipeline/topology.hpp"
#include "warploom/types/text.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

enum class To { self, pair_leader, pair, row, column, operand_sources, cluster, first };

template <To to>
struct Target {
  template <class Cluster>
  static constexpr uint32_t sources = [] {
    static_assert(to != To::operand_sources || Cluster::cta_group == 1,
                  "warploom: with CTA pairs the leader's tensor core frees operand slots");
    switch (to) {
      case To::self: return 1u;
      case To::pair_leader:
      case To::pair: return static_cast<uint32_t>(Cluster::cta_group);
      case To::row: return static_cast<uint32_t>(Cluster::a_sharers);
      case To::column: return static_cast<uint32_t>(Cluster::b_sharers);
      case To::operand_sources: return Cluster::operand_consumers;
      default: return static_cast<uint32_t>(Cluster::size);
    }
  }();
  template <class Cluster>
  static constexpr uint32_t leaders = [] {
    if constexpr (to == To::operand_sources)
      return Cluster::operand_consumers;
    else if constexpr (to == To::cluster || to == To::first)
      return static_cast<uint32_t>(Cluster::size / Cluster::cta_group);
    else
      return to == To::pair || to == To::pair_leader ? 1u : sources<Cluster>;
  }();
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    switch (to) {
      case To::self: return static_cast<uint16_t>(1u << rank);
      case To::pair_leader: return static_cast<uint16_t>(1u << rank / Cluster::cta_group * Cluster::cta_group);
      case To::pair: return Cluster::pair_mask(rank);
      case To::row: return Cluster::a_mask(rank);
      case To::column: return Cluster::b_mask(rank);
      case To::operand_sources: return Cluster::operand_sources_mask(rank);
      case To::cluster: return static_cast<uint16_t>((1u << Cluster::size) - 1);
      default: return 1;
    }
  }
  static constexpr auto text = [] {
    if constexpr (to == To::self) return Text{""};
    if constexpr (to == To::pair || to == To::pair_leader) return Text{" of the pair"};
    if constexpr (to == To::row) return Text{" of the cluster row"};
    if constexpr (to == To::column) return Text{" of the cluster column"};
    if constexpr (to == To::operand_sources) return Text{" of each CTA that reads the slot"};
    if constexpr (to == To::cluster) return Text{" of every CTA"};
    if constexpr (to == To::first) return Text{" of every CTA, in CTA 0"};
  }();
};

using to_self = Target<To::self>;
using to_pair_leader = Target<To::pair_leader>;          ///< the even CTA of the pair; with cta_group 1 the CTA itself
using to_pair = Target<To::pair>;                        ///< both CTAs of the pair
using to_row = Target<To::row>;                          ///< the CTAs of this row of the cluster, which share an A tile
using to_column = Target<To::column>;                    ///< the CTAs of this column that share a B tile
using to_operand_sources = Target<To::operand_sources>;  ///< every CTA whose loads feed the operands just consumed
using to_cluster = Target<To::cluster>;                  ///< every CTA
using to_first = Target<To::first>;                      ///< CTA 0 of the cluster

/// Whether each CTA tells every CTA: no mask to look at then. (A compiler does not know that ranks are below the size.)
template <class Target, class Cluster>
inline constexpr bool reaches_everyone = [] {
  for (uint32_t rank = 0; rank < Cluster::size; ++rank)
    if (Target::template mask<Cluster>(rank) != (1u << Cluster::size) - 1) return false;
  return true;
}();

/// One arrival of this thread on the barrier in every CTA of the target; `scope`: how far its own accesses are told.
template <class Target, class Cluster, arch::Scope scope = arch::Scope::cta>
WARPLOOM_FN void arrive_at(arch::SharedAddress barrier) noexcept {
  if constexpr (Cluster::size == 1 || std::is_same_v<Target, to_self>) {
    arch::mbarrier_arrive(barrier);
  } else if constexpr (std::is_same_v<Target, to_pair_leader>) {
    arch::mbarrier_arrive<scope>(Cluster::cta_group == 2 ? arch::pair_leader(barrier) : barrier);
  } else if constexpr (std::is_same_v<Target, to_first>) {
    arch::mbarrier_arrive<scope>(arch::map_to_rank(barrier, 0));
  } else if constexpr (std::is_same_v<Target, to_pair>) {
    // This CTA last: once it has heard, it may exit.
    if constexpr (Cluster::cta_group == 2)
      arch::mbarrier_arrive<scope>(arch::map_to_rank(barrier, arch::cluster_rank() ^ 1));
    arch::mbarrier_arrive(barrier);
  } else {
    const uint32_t rank = arch::cluster_rank();
    const uint32_t mask = Target::template mask<Cluster>(rank);
    WARPLOOM_UNROLL
    for (uint32_t other = 0; other < Cluster::size; ++other)
      if (other != rank && (mask >> other & 1) != 0) arch::mbarrier_arrive<scope>(arch::map_to_rank(barrier, other));
    if ((mask >> rank & 1) != 0) arch::mbarrier_arrive(barrier);
  }
}

}  // namespace warploom::inline WARPLOOM_MACHINE
