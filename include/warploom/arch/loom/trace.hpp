// The loom side of arch/trace.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class Label>
WARPLOOM_FN void trace_begin() noexcept {
  native::trace_point(native::TracePoint::begin, Label::name);
}
template <class Label>
WARPLOOM_FN void trace_end() noexcept {
  native::trace_point(native::TracePoint::end, Label::name);
}
template <class Label>
WARPLOOM_FN void trace_instant() noexcept {
  native::trace_point(native::TracePoint::instant, Label::name);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
