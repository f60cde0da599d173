// The loom side of arch/annotate.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class Label, class Signaller>
WARPLOOM_FN void name_barriers(const Mbarrier* first, uint32_t count, RingSide side) noexcept {
  native::name_barriers(native::shared_address(first), count, Label::name, static_cast<uint8_t>(side),
                        Signaller::text.data);
}
template <class Role>
WARPLOOM_FN void name_role() noexcept {
  native::name_role(Role::name);
}
template <class Label>
WARPLOOM_FN void name_named_barrier(uint32_t id) noexcept {
  native::name_named_barrier(id, Label::name);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
