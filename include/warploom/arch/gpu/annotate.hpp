// The GPU side of arch/annotate.hpp: nothing at all.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <class Label, class Signaller>
WARPLOOM_FN void name_barriers(const Mbarrier*, uint32_t, RingSide) noexcept {}
template <class Role>
WARPLOOM_FN void name_role() noexcept {}
template <class Label>
WARPLOOM_FN void name_named_barrier(uint32_t) noexcept {}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
