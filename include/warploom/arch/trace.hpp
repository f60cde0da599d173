// Trace points: named moments and stretches of a role, for timelines. On the loom they are events of the run; on the
// GPU nothing, unless the build asks for them with WARPLOOM_TRACE=1 (docs/instrumentation.md). Waits on named barriers
// are traced without being asked.
//
//   struct Promote { static constexpr char name[] = "promote"; };
//   arch::trace_begin<Promote>();
//   sum.promote(part, scale);
//   arch::trace_end<Promote>();
//
// The lanes of a warp share a trace point: all of them pass it together, and it is one event.
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <class Label>
WARPLOOM_FN void trace_begin() noexcept;
template <class Label>
WARPLOOM_FN void trace_end() noexcept;  ///< of the latest begin with this label
template <class Label>
WARPLOOM_FN void trace_instant() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/trace.hpp"
#else
#include "warploom/arch/loom/trace.hpp"
#endif
