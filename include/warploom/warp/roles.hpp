// Warp roles: which warps of the CTA play which part. Policies take their counts from here, reports their names.
//
//   struct Watcher : WarpRole<7, 1> { static constexpr char name[] = "watcher"; };
//   freed_by<every_thread<Epilogue>, lane_per_warp<Watcher>>      // 128 arrivals and 1
#pragma once

#include "warploom/arch/identity.hpp"

namespace warploom {

template <int first, int count>
struct WarpRole {
  static constexpr int first_warp = first;
  static constexpr int warps = count;
  static constexpr int threads = 32 * count;
};

/// Four warps, the first of the CTA: a warp may touch only the tensor-memory lanes of its index modulo 4.
struct Epilogue : WarpRole<0, 4> {
  static constexpr char name[] = "epilogue";
};
struct Load : WarpRole<4, 1> {
  static constexpr char name[] = "load";
};
struct Mma : WarpRole<5, 1> {
  static constexpr char name[] = "mma";
};
struct EpilogueLoad : WarpRole<6, 1> {
  static constexpr char name[] = "epilogue-load";
};
/// Asks for the next tile where the scheduler is dynamic (schedule/clc.hpp).
struct Scheduler : WarpRole<7, 1> {
  static constexpr char name[] = "scheduler";
};

/// Threads of a CTA with these roles.
template <class... Roles>
inline constexpr int threads_of = (0 + ... + Roles::threads);

/// Hopper: accumulators live in registers, so the math warpgroups multiply and run the epilogue both; a last warpgroup
/// loads, and gives most of its registers to them.
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
