// The GPU side of arch/clc.hpp. sm_100 and later; multicast needs sm_100a.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void clc_try_cancel(SharedAddress response, SharedAddress barrier) noexcept {
  detail::ptx::clusterlaunchcontrol_try_cancel(detail::generic_pointer<void>(response),
                                               detail::generic_pointer<uint64_t>(barrier));
}
WARPLOOM_FN void clc_try_cancel_multicast(SharedAddress response, SharedAddress barrier) noexcept {
  detail::ptx::clusterlaunchcontrol_try_cancel_multicast(detail::generic_pointer<void>(response),
                                                         detail::generic_pointer<uint64_t>(barrier));
}
WARPLOOM_FN bool clc_is_canceled(const ClcResponse& response) noexcept {
  return detail::ptx::clusterlaunchcontrol_query_cancel_is_canceled(response);
}
WARPLOOM_FN Dim3 clc_first_cta(const ClcResponse& response) noexcept {
  uint32_t block[4];
  detail::ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid(block, response);
  return {block[0], block[1], block[2]};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
