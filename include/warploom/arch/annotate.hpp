// Names for reports and timelines: which ring a barrier belongs to, which role a warp plays. No code on the GPU, except
// in instrumented builds.
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

enum class RingSide : uint8_t { full, empty, once };

// Labels are types with a static `name`: text that device code cannot refer to, and need not (instrumented builds copy
// it: gpu/device_text.hpp).

/// `count` barriers from `first` on are the full or empty barriers of ring Label::name, stage 0 onwards;
/// Signaller::text says in words who arrives there.
template <class Label, class Signaller>
WARPLOOM_FN void name_barriers(const Mbarrier* first, uint32_t count, RingSide side) noexcept;
/// This warp plays Role::name from here on.
template <class Role>
WARPLOOM_FN void name_role() noexcept;
/// Named barrier `id` is called Label::name.
template <class Label>
WARPLOOM_FN void name_named_barrier(uint32_t id) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/annotate.hpp"
#else
#include "warploom/arch/loom/annotate.hpp"
#endif
