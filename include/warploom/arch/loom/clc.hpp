// The loom side of arch/clc.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void clc_try_cancel(SharedAddress response, SharedAddress barrier) noexcept {
  native::clc_try_cancel(response.value, barrier.value, false);
}
WARPLOOM_FN void clc_try_cancel_multicast(SharedAddress response, SharedAddress barrier) noexcept {
  native::clc_try_cancel(response.value, barrier.value, true);
}
WARPLOOM_FN bool clc_is_canceled(const ClcResponse& response) noexcept {
  return native::clc_is_canceled(response.words);
}
WARPLOOM_FN Dim3 clc_first_cta(const ClcResponse& response) noexcept { return native::clc_first_cta(response.words); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
