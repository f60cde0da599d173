// tcgen05.cp, from shared to tensor memory, and tcgen05.shift within it (hardware.md §4.12, 4.13). One thread issues,
// asynchronously; a later tcgen05.mma of the same thread sees the result, anybody else after umma_commit. With
// cta_group 2 both CTAs of the pair copy, each from its own shared memory.
//
//   tmem_copy<TmemCopy::m32x128b, 1>(scales, scale_atom_descriptor(start));     512 bytes of scale factors, 4 columns
#pragma once

#include "warploom/arch/tmem.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/tmem_copy.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// tcgen05.cp.cta_group::G.SHAPE{.warpx2::.., .warpx4}{.b8x16.b6x16_p32, .b8x16.b4x16_p64} [destination], source: the
/// source is a K-major matrix of bytes; byte b of a row goes to column b/4. Expanding makes 16 containers of 8 bits of
/// each 16 bytes (§4.10).
template <TmemCopy shape, int cta_group, Expand expand = Expand::none>
WARPLOOM_FN void tmem_copy(TmemAddress destination, SmemDescriptor source) noexcept;

/// tcgen05.shift.cta_group::G.down [address]: 8 columns of 32 lanes, each row to the place of the row before it
template <int cta_group>
WARPLOOM_FN void tmem_shift_down(TmemAddress address) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/tmem_copy.hpp"
#else
#include "warploom/arch/loom/tmem_copy.hpp"
#endif
