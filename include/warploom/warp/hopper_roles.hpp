// The roles of a Hopper kernel. Accumulators live in registers, so the math warpgroups multiply and run the epilogue
// both; a last warpgroup loads, and gives most of its registers to them.
//
//   using Roles = HopperRoles<2>;                                   // two math warpgroups and one that loads
//   freed_by<wgmma_warps<Roles::Math, to_operand_sources>>          // cooperative: both read every slot
//   freed_by<wgmma_warps<Roles::Group, to_operand_sources>>         // ping-pong: one of them does
#pragma once

#include "warploom/warp/roles.hpp"

namespace warploom {

template <int groups_>
struct HopperRoles {
  static constexpr int groups = groups_;
  static constexpr int group_threads = 128;
  static constexpr int threads = group_threads * (groups + 1);

  /// All math warpgroups, the first of the CTA.
  struct Math : WarpRole<0, 4 * groups> {
    static constexpr char name[] = "math";
  };
  /// One of them at a time.
  struct Group : WarpRole<0, 4> {
    static constexpr char name[] = "one math group";
  };
  struct Load : WarpRole<4 * groups, 1> {
    static constexpr char name[] = "load";
  };
  struct EpilogueLoad : WarpRole<4 * groups + 1, 1> {
    static constexpr char name[] = "epilogue-load";
  };
};

}  // namespace warploom
