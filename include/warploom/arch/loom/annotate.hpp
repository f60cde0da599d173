// The loom side of arch/annotate.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void name_barriers(const Mbarrier* first, uint32_t count, const char* ring, RingSide side,
                               const char* signalled_by) noexcept {
  native::name_barriers(native::shared_address(first), count, ring, static_cast<uint8_t>(side), signalled_by);
}
WARPLOOM_FN void name_role(const char* role) noexcept { native::name_role(role); }
WARPLOOM_FN void name_named_barrier(uint32_t id, const char* name) noexcept { native::name_named_barrier(id, name); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
