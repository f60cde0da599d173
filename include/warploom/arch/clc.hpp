// Cluster launch control (hardware.md §6.9, sm_100): a running cluster asks for the work of one that has not been
// launched yet. The answer, 16 bytes, arrives asynchronously; a cluster that was canceled never runs.
//
//   mbarrier_arrive_expect_tx(full, sizeof(ClcResponse));
//   clc_try_cancel(response, full);                              // one thread
//   mbarrier_wait(full, phases);
//   if (ClcResponse r = load_shared(slot); clc_is_canceled(r)) work_on(clc_first_cta(r));
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// The answer in shared memory. Read it as a whole (load_shared); the queries below know its bits.
struct alignas(16) ClcResponse {
  uint32_t words[4];
};

/// clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128: the answer lands at `response`
/// (16-byte aligned) through the async proxy and completes 16 bytes on `barrier`, both of this CTA. Must not be issued
/// by a CTA that has seen a request fail.
WARPLOOM_FN void clc_try_cancel(SharedAddress response, SharedAddress barrier) noexcept;

/// The same with .multicast::cluster::all: one answer for the whole cluster, at the same offsets of every CTA. Each
/// barrier must be armed with 16 bytes.
WARPLOOM_FN void clc_try_cancel_multicast(SharedAddress response, SharedAddress barrier) noexcept;

/// clusterlaunchcontrol.query_cancel.is_canceled: was a cluster canceled? The machine may refuse while work is left.
WARPLOOM_FN bool clc_is_canceled(const ClcResponse& response) noexcept;

/// clusterlaunchcontrol.query_cancel.get_first_ctaid: block index of the canceled cluster's first CTA. Only if
/// clc_is_canceled.
WARPLOOM_FN Dim3 clc_first_cta(const ClcResponse& response) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/clc.hpp"
#else
#include "warploom/arch/loom/clc.hpp"
#endif
