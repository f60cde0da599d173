// Names for the loom's reports and timelines: which ring a barrier belongs to, which role a warp plays. No code on the
// GPU.
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

enum class RingSide : uint8_t { full, empty, once };

/// `count` barriers from `first` on are ring `ring`'s full or empty barriers, stage 0 onwards. `signalled_by` says in
/// words who arrives there.
WARPLOOM_FN void name_barriers(const Mbarrier* first, uint32_t count, const char* ring, RingSide side,
                               const char* signalled_by) noexcept;
/// This warp plays `role` from here on.
WARPLOOM_FN void name_role(const char* role) noexcept;
/// Named barrier `id` is called `name`.
WARPLOOM_FN void name_named_barrier(uint32_t id, const char* name) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/annotate.hpp"
#else
#include "warploom/arch/loom/annotate.hpp"
#endif
