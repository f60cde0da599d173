// The GPU side of arch/annotate.hpp: nothing at all, except in instrumented builds, whose reports and traces use the
// names.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

#if WARPLOOM_INSTRUMENTED

template <class Label, class Signaller>
WARPLOOM_FN void name_barriers(const Mbarrier* first, uint32_t count, RingSide side) noexcept {
  using Text = detail::SignallerText<Signaller>;
  for (uint32_t i = 0; i < count; ++i) {
    detail::BarrierNotes& notes = const_cast<Mbarrier*>(first + i)->notes;
    notes.ring = detail::device_text<detail::LabelName<Label>>();
    notes.signalled_by = detail::device_text<Text>();
    notes.stage = static_cast<uint16_t>(i);
    notes.side = static_cast<uint8_t>(side);
    notes.unobservable = detail::unobservable_signals<Text>;
  }
}
template <class Role>
WARPLOOM_FN void name_role() noexcept {
#if WARPLOOM_WATCHDOG
  detail::note_role(detail::device_text<detail::LabelName<Role>>());
#endif
#if WARPLOOM_TRACE
  detail::trace_role(detail::device_text<detail::LabelName<Role>>());
#endif
}

#else

template <class Label, class Signaller>
WARPLOOM_FN void name_barriers(const Mbarrier*, uint32_t, RingSide) noexcept {}
template <class Role>
WARPLOOM_FN void name_role() noexcept {}

#endif

template <class Label>
WARPLOOM_FN void name_named_barrier(uint32_t) noexcept {}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
