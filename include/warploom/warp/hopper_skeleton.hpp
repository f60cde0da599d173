// What every Hopper GEMM does around its role bodies: barrier initialisation, cluster hand-shake, register
// reallocation, role dispatch and drains. A kernel is its storage and its bodies.
//
// load and epilogue_load run on one elected lane, math on every thread of a math warpgroup. With `ping_pong` warpgroups
// take tiles in turn, pass over each other's ring slots, and may share a tile; otherwise all work on every tile.
//
//   struct Kernel { Storage, Params, Cluster, Roles, ping_pong; init_barriers, tiles, load, math, pass_over; };
//   void entry(const void* params) { HopperSkeleton<Kernel>::run(*static_cast<const Kernel::Params*>(params)); }
#pragma once

#include "warploom/arch/pdl.hpp"
#include "warploom/arch/registers.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/warp/named.hpp"
#include "warploom/warp/roles.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Kernel>
class HopperSkeleton {
 public:
  using Params = typename Kernel::Params;
  using Roles = typename Kernel::Roles;
  // What is left for the warpgroup that loads, and what the math warpgroups take: 65536 registers in all.
  static constexpr bool crowded = Roles::groups == 2 && requires { requires Kernel::crowded; };
  static constexpr uint32_t load_registers = crowded ? 24 : Roles::groups <= 2 ? 40 : 32;
  static constexpr uint32_t math_registers = crowded ? 240 : Roles::groups == 1 ? 248 : Roles::groups == 2 ? 232 : 160;

  static WARPLOOM_FN void run(const Params& params) noexcept {
    auto& storage = arch::shared<typename Kernel::Storage>();
    const uint32_t warp = arch::warp_index();
    const uint32_t group = warp / 4;
    Kernel kernel(params, storage, group);
    const auto tiles = kernel.tiles();
    constexpr bool early = requires { requires Kernel::first_tile_early; };
    Tile first;
    if (warp == Roles::Load::first_warp) {
      if constexpr (requires { Kernel::prefetch(params); })
        if (arch::elect_one()) Kernel::prefetch(params);
      if constexpr (early) first = *tiles.begin();  // of a schedule that may be asked beyond the end
    }
    if (warp == 0 && arch::elect_one()) {
      Kernel::init_barriers(storage);
      arch::fence_mbarrier_init();
    }
    if constexpr (requires { Kernel::init_more_barriers(storage); }) {  // by another warp at the same time
      if (warp == 1 && arch::elect_one()) {
        Kernel::init_more_barriers(storage);
        arch::fence_mbarrier_init();
      }
    }
    arch::syncwarp();
    meet<typename Kernel::Cluster, true>();
    // Every role reads global memory, so every role waits for the grids before this one.
    arch::grid_dependency_wait();
    if (group < static_cast<uint32_t>(Roles::groups)) {
      arch::register_increase<math_registers>();
      arch::name_role<typename Roles::Math>();
      uint32_t turn = 0;
      for (auto at = tiles.begin(); at != tiles.end(); ++at) {
        const Tile tile = *at;
        const bool mine = !Kernel::ping_pong || turn++ % Roles::groups == group;
        if constexpr (requires { kernel.shares(tile); })
          mine || kernel.shares(tile) ? kernel.math(tile, mine) : kernel.pass_over(tile);
        else if (mine)
          kernel.math(tile);
        else if constexpr (Kernel::ping_pong)
          kernel.pass_over(tile);
      }
      kernel.writer.finish();
      if constexpr (requires { kernel.drain(); }) kernel.drain();
    } else {
      arch::register_decrease<load_registers>();
      if (warp == Roles::Load::first_warp) {
        arch::name_role<typename Roles::Load>();
        if (arch::elect_one()) {
          auto at = tiles.begin();
          if constexpr (requires { requires Kernel::short_launches; }) {  // few tiles: the first copy is what counts
            if (at != tiles.end())
              for (kernel.load(early ? first : *at), ++at; at != tiles.end(); ++at) kernel.load(*at);
          } else if constexpr (early)
            for (; at != tiles.end(); ++at, first = *at) kernel.load(first);
          else
            for (; at != tiles.end(); ++at) kernel.load(*at);
          kernel.input.drain();
        }
      } else if (warp == Roles::EpilogueLoad::first_warp) {
        if constexpr (requires(Tile tile) { kernel.epilogue_load(tile); }) {
          arch::name_role<typename Roles::EpilogueLoad>();
          if (arch::elect_one())
            for (Tile tile : tiles) kernel.epilogue_load(tile);
        }
      }
    }
    arch::syncwarp();
    arch::grid_launch_dependents();
    // No CTA leaves while a peer may still signal its barriers: its roles have waited for the last signals (drain).
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
