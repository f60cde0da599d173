// Targets: whose barrier a signal reaches. A policy names one; counts and masks follow from it and the cluster's shape.
//
//   lane_per_warp<Math, to_operand_sources>    // a slot that several CTAs fill is free when all its readers told all
//   of them
//
// `mask`: the CTAs that this CTA tells. `sources`: how many CTAs tell one barrier. `leaders`: the same, where only the
// leaders of CTA pairs signal, on behalf of both.
#pragma once

#include "warploom/arch/mbarrier.hpp"
#include "warploom/pipeline/text.hpp"
#include "warploom/pipeline/topology.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

struct to_self {
  static constexpr Text text{""};
  template <class Cluster>
  static constexpr uint32_t sources = 1;
  template <class Cluster>
  static constexpr uint32_t leaders = 1;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return static_cast<uint16_t>(1u << rank);
  }
};
/// The even CTA of the pair; with cta_group 1 the CTA itself.
struct to_pair_leader {
  static constexpr Text text{" of the pair"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::cta_group;
  template <class Cluster>
  static constexpr uint32_t leaders = 1;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return static_cast<uint16_t>(1u << rank / Cluster::cta_group * Cluster::cta_group);
  }
};
/// Both CTAs of the pair.
struct to_pair {
  static constexpr Text text{" of the pair"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::cta_group;
  template <class Cluster>
  static constexpr uint32_t leaders = 1;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return Cluster::pair_mask(rank);
  }
};
/// The CTAs of this row of the cluster, which share an A tile.
struct to_row {
  static constexpr Text text{" of the cluster row"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::a_sharers;
  template <class Cluster>
  static constexpr uint32_t leaders = Cluster::a_sharers;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return Cluster::a_mask(rank);
  }
};
/// The CTAs of this column of the cluster that share a B tile.
struct to_column {
  static constexpr Text text{" of the cluster column"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::b_sharers;
  template <class Cluster>
  static constexpr uint32_t leaders = Cluster::b_sharers;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return Cluster::b_mask(rank);
  }
};
/// Every CTA whose loads feed the operands just consumed.
struct to_operand_sources {
  static constexpr Text text{" of each CTA that reads the slot"};
  template <class Cluster>
  static constexpr uint32_t sources = [] {
    static_assert(Cluster::cta_group == 1, "warploom: with CTA pairs the leader's tensor core frees operand slots");
    return Cluster::operand_consumers;
  }();
  template <class Cluster>
  static constexpr uint32_t leaders = Cluster::operand_consumers;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t rank) {
    return Cluster::operand_sources_mask(rank);
  }
};
/// Every CTA of the cluster.
struct to_cluster {
  static constexpr Text text{" of every CTA"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::size;
  template <class Cluster>
  static constexpr uint32_t leaders = Cluster::size / Cluster::cta_group;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t) {
    return static_cast<uint16_t>((1u << Cluster::size) - 1);
  }
};
/// CTA 0 of the cluster.
struct to_first {
  static constexpr Text text{" of every CTA, in CTA 0"};
  template <class Cluster>
  static constexpr uint32_t sources = Cluster::size;
  template <class Cluster>
  static constexpr uint32_t leaders = Cluster::size / Cluster::cta_group;
  template <class Cluster>
  static WARPLOOM_CONST_FN uint16_t mask(uint32_t) {
    return 1;
  }
};

/// Whether each CTA tells every CTA: no mask to look at then. (A compiler does not know that ranks are below the size.)
template <class Target, class Cluster>
inline constexpr bool reaches_everyone = [] {
  for (uint32_t rank = 0; rank < Cluster::size; ++rank)
    if (Target::template mask<Cluster>(rank) != (1u << Cluster::size) - 1) return false;
  return true;
}();

/// One arrival of this thread on the barrier in every CTA of the target.
template <class Target, class Cluster>
WARPLOOM_FN void arrive_at(arch::SharedAddress barrier) noexcept {
  if constexpr (Cluster::size == 1 || std::is_same_v<Target, to_self>) {
    arch::mbarrier_arrive(barrier);
  } else if constexpr (std::is_same_v<Target, to_pair_leader>) {
    arch::mbarrier_arrive(Cluster::cta_group == 2 ? arch::pair_leader(barrier) : barrier);
  } else if constexpr (std::is_same_v<Target, to_pair>) {
    // This CTA last: once it has heard, it may exit.
    if constexpr (Cluster::cta_group == 2) arch::mbarrier_arrive(arch::map_to_rank(barrier, arch::cluster_rank() ^ 1));
    arch::mbarrier_arrive(barrier);
  } else {
    const uint32_t rank = arch::cluster_rank();
    const uint32_t mask = Target::template mask<Cluster>(rank);
    WARPLOOM_UNROLL
    for (uint32_t other = 0; other < Cluster::size; ++other)
      if (other != rank && (mask >> other & 1) != 0) arch::mbarrier_arrive(arch::map_to_rank(barrier, other));
    if ((mask >> rank & 1) != 0) arch::mbarrier_arrive(barrier);
  }
}

}  // namespace warploom::inline WARPLOOM_MACHINE
