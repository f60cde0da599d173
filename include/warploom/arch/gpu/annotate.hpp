// The GPU side of arch/annotate.hpp: names are for the loom alone.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void name_barriers(const Mbarrier*, uint32_t, const char*, RingSide, const char*) noexcept {}
WARPLOOM_FN void name_role(const char*) noexcept {}
WARPLOOM_FN void name_named_barrier(uint32_t, const char*) noexcept {}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
