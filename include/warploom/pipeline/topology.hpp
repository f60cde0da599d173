// The shape of a cluster, and who shares what in it. Ranks run along M first: rank = m + cluster_m * n; with CTA pairs
// (cta_group 2) the pair is two neighbours along M, the even one leads.
//
// CTAs of one row of the cluster (same m) need the same A tile, CTAs of one column (same n; with pairs, the same half
// of the pair) the same B tile. Each loads a slice and multicasts it. Policies, targets and payloads ask it for masks.
//
//   using Cluster = ClusterShape<2, 4, 2>;          // two pairs along M, two columns
//   Cluster::a_mask(rank), Cluster::b_mask(rank);   // who receives what this CTA loads
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

template <int group, int cluster_m, int cluster_n>
struct ClusterShape {
  static_assert(group == 1 || group == 2, "warploom: cta_group is 1 or 2");
  static_assert(cluster_m >= 1 && cluster_n >= 1 && cluster_m * cluster_n <= 16,
                "warploom: a cluster has 1 to 16 CTAs");
  static_assert(cluster_m % group == 0, "warploom: CTA pairs lie along M, so cluster_m must be even");

  static constexpr int cta_group = group;
  static constexpr int m = cluster_m;
  static constexpr int n = cluster_n;
  static constexpr int size = cluster_m * cluster_n;
  static constexpr int a_sharers = cluster_n;          ///< CTAs that share one A tile
  static constexpr int b_sharers = cluster_m / group;  ///< CTAs that share one B tile

  // A compiler does not know that a rank is below the cluster's size: where there is one row or column, do not ask it.
  static WARPLOOM_CONST_FN uint32_t rank_m(uint32_t rank) {
    return cluster_m > 1 && cluster_n == 1 ? rank : rank % cluster_m;
  }
  static WARPLOOM_CONST_FN uint32_t rank_n(uint32_t rank) { return cluster_n == 1 ? 0 : rank / cluster_m; }
  static WARPLOOM_CONST_FN bool leads(uint32_t rank) { return rank % group == 0; }

  /// CTAs that receive the A slice this CTA loads.
  static WARPLOOM_CONST_FN uint16_t a_mask(uint32_t rank) {
    uint32_t mask = 0;
    for (int j = 0; j < cluster_n; ++j) mask |= 1u << (rank_m(rank) + cluster_m * j);
    return static_cast<uint16_t>(mask);
  }
  /// CTAs that receive the B slice this CTA loads.
  static WARPLOOM_CONST_FN uint16_t b_mask(uint32_t rank) {
    uint32_t mask = 0;
    for (int i = 0; i < b_sharers; ++i) mask |= 1u << (group * i + rank_m(rank) % group + cluster_m * rank_n(rank));
    return static_cast<uint16_t>(mask);
  }
  /// This CTA and, with pairs, its peer.
  static WARPLOOM_CONST_FN uint16_t pair_mask(uint32_t rank) {
    const uint32_t leader = rank / group * group;
    return static_cast<uint16_t>(((1u << group) - 1) << leader);
  }
  /// Every CTA whose loads reach the operands of the MMA that this leader issues: who must hear of their end.
  static WARPLOOM_CONST_FN uint16_t operand_sources_mask(uint32_t rank) {
    uint32_t mask = 0;
    for (uint32_t consumer = 0; consumer < static_cast<uint32_t>(size); ++consumer)
      if ((pair_mask(rank) >> consumer & 1) != 0) mask |= static_cast<uint32_t>(a_mask(consumer)) | b_mask(consumer);
    return static_cast<uint16_t>(mask);
  }
  /// Leaders whose MMAs read what this CTA loads: the commits its slots must wait for.
  static constexpr uint32_t operand_consumers = cluster_m / group + cluster_n - 1;
};

}  // namespace warploom
