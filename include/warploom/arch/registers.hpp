// setmaxnreg: a warpgroup gives registers back to its CTA, or takes some (hardware.md §6.7). A kernel whose producer
// needs few and whose math warpgroups need many starts with equal shares and moves them:
//
//   if (producer) register_decrease<40>();  else register_increase<232>();
//
// All four warps of an aligned warpgroup execute it. On the GPU ptxas must know the share at launch: the kernel carries
// __launch_bounds__(threads, 1).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// setmaxnreg.inc.sync.aligned.u32: waits until the CTA's pool has enough; the new registers hold nothing
template <uint32_t count>
WARPLOOM_FN void register_increase() noexcept;
/// setmaxnreg.dec.sync.aligned.u32
template <uint32_t count>
WARPLOOM_FN void register_decrease() noexcept;

namespace detail {
template <uint32_t count>
struct RegisterCount {
  static_assert(count >= 24 && count <= 256 && count % 8 == 0,
                "warploom: setmaxnreg takes a multiple of 8 from 24 to 256");
  static constexpr uint32_t value = count;
};
}  // namespace detail

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/registers.hpp"
#else
#include "warploom/arch/loom/registers.hpp"
#endif
