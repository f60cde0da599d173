// Every operation of the machine, and why one checked run speaks for its answer and its effect in all schedules (P4 of
// docs/verdict.md). An operation has a row here or it does not compile: the front end takes the place of a call in the
// source, which everything else asks for, with the name of a row (WARPLOOM_PLACE).
//
// A rule either orders what an operation does with everything that could change it, and reports where nothing does, or
// makes the operation a point: then one run does not speak for all, and no verdict says so.
#pragma once

#include <cstdint>
#include <string_view>

namespace warploom::loom::check {

enum class Rule : uint16_t {
  own = 1 << 0,         ///< concerns its own thread alone: program order
  lanes = 1 << 1,       ///< the lanes of a warp that name each other meet: the same ones in every schedule
  memory = 1 << 2,      ///< accesses that conflict are ordered, or reported
  phases = 1 << 3,      ///< P1, P1b, P2: signals and waits belong to one phase, or are reported
  bytes = 1 << 4,       ///< P3: the byte count stays in its range in every order, or is reported
  answers = 1 << 5,     ///< a test is ordered with the phases that change its answer, or is a point
  updates = 1 << 6,     ///< atomics, reductions and equal stores of the same bytes are ordered or commute, or points
  registers = 1 << 7,   ///< the CTA's spare registers are enough in every order, or the increase is a point
  allocation = 1 << 8,  ///< changes of what is allocated are ordered, or points
  exits = 1 << 9,       ///< a thread of the CTA it works on knows its end before it exits, or it is reported
  grids = 1 << 10,      ///< nothing of earlier grids is touched before griddepcontrol.wait, or it is reported
  launch_control = 1 << 11,  ///< a point while clusters are left; requests come before the first failure is seen
  maps = 1 << 12,            ///< a published tensor map is used behind its publication and a fence, or reported
  chance = 1 << 13,          ///< always a point
};

struct Rules {
  uint16_t bits = 0;
  constexpr Rules(Rule rule) : bits(static_cast<uint16_t>(rule)) {}
  constexpr Rules(uint16_t all) : bits(all) {}
  constexpr bool has(Rule rule) const { return (bits & static_cast<uint16_t>(rule)) != 0; }
};
constexpr Rules operator|(Rules a, Rules b) { return {static_cast<uint16_t>(a.bits | b.bits)}; }
constexpr Rules operator|(Rule a, Rule b) { return Rules(a) | Rules(b); }

/// A row: the front end's function, the instruction, the rules.
struct Row {
  std::string_view operation;
  std::string_view instruction;
  Rules rules;
};

namespace rows {
using enum Rule;
inline constexpr Rules copy_in = memory | phases | bytes | exits;  ///< writes shared memory, then brings bytes
}  // namespace rows

inline constexpr Row operation_rows[] = {
    // identity, shared memory
    {"shared_base", "", rows::own},
    {"foreign_address", "cvta.to.shared", rows::own},
    {"window_address", "cvta.to.shared", rows::own},
    {"generic_address", "cvta.shared", rows::own},
    {"space_of", "isspacep", rows::own},
    {"map_to_rank", "mapa", rows::own},
    {"rank_of", "getctarank", rows::own},
    {"shared_memory", "ld.shared, st.shared", rows::memory},
    {"store_matrix", "stmatrix", rows::lanes | rows::memory},
    {"load_matrix", "ldmatrix", rows::lanes | rows::memory},
    {"cluster_memory", "ld.shared::cluster, st.shared::cluster", rows::memory | rows::exits},
    {"store_async", "st.async", rows::copy_in},
    {"reduce_async", "red.async", rows::updates | rows::copy_in},
    {"atomic_shared", "atom.shared, red.shared", rows::updates | rows::memory | rows::exits},
    {"load_ordered_shared", "ld.relaxed.shared, ld.acquire.shared", rows::updates | rows::memory | rows::exits},
    {"store_ordered_shared", "st.relaxed.shared, st.release.shared", rows::updates | rows::memory | rows::exits},
    // global memory
    {"check_global", "ld.global, st.global", rows::memory | rows::grids},
    {"atomic_global", "atom.global, red.global", rows::updates | rows::memory | rows::grids},
    {"load_ordered_global", "ld.relaxed.global, ld.acquire.global", rows::updates | rows::memory | rows::grids},
    {"store_ordered_global", "st.relaxed.global, st.release.global", rows::updates | rows::memory | rows::grids},
    // fences: what they order is the thread's own
    {"fence", "fence.acq_rel", rows::own},
    {"fence_shared", "fence.sync_restrict", rows::own},
    {"fence_mbarrier_init", "fence.mbarrier_init", rows::own},
    {"fence_proxy_async", "fence.proxy.async", rows::own},
    {"tcgen05_fence", "tcgen05.fence", rows::own},
    // warps
    {"elect", "elect.sync", rows::lanes},
    {"syncwarp", "bar.warp.sync", rows::lanes},
    {"post_sync", "bar.warp.sync", rows::lanes},
    {"shuffle", "shfl.sync", rows::lanes},
    {"shuffle_segment", "shfl.sync", rows::lanes},
    {"uniform", "redux.sync.or", rows::lanes},
    {"vote", "vote.sync", rows::lanes},
    {"match_any", "match.any.sync", rows::lanes},
    {"match_all", "match.all.sync", rows::lanes},
    {"redux", "redux.sync", rows::lanes},
    {"active_mask", "activemask", rows::chance},
    // named and cluster barriers
    {"bar_sync", "bar.sync", rows::lanes | rows::phases},
    {"bar_arrive", "bar.arrive", rows::lanes | rows::phases},
    {"syncthreads", "bar.sync 0", rows::lanes | rows::phases},
    {"bar_sync_all", "bar.sync", rows::lanes | rows::phases},
    {"bar_reduce", "bar.red", rows::lanes | rows::phases},
    {"cluster_arrive", "barrier.cluster.arrive", rows::phases},
    {"cluster_wait", "barrier.cluster.wait", rows::phases},
    // mbarriers
    {"mbarrier_init", "mbarrier.init", rows::memory},
    {"mbarrier_invalidate", "mbarrier.inval", rows::memory | rows::phases},
    {"mbarrier_arrive", "mbarrier.arrive", rows::phases | rows::exits},
    {"mbarrier_arrive_expect_tx", "mbarrier.arrive.expect_tx", rows::phases | rows::bytes | rows::exits},
    {"mbarrier_expect_tx", "mbarrier.expect_tx", rows::phases | rows::bytes | rows::exits},
    {"mbarrier_complete_tx", "mbarrier.complete_tx", rows::phases | rows::bytes | rows::exits},
    {"mbarrier_arrive_drop", "mbarrier.arrive_drop", rows::phases | rows::exits},
    {"mbarrier_arrive_drop_expect_tx", "mbarrier.arrive_drop.expect_tx", rows::phases | rows::bytes | rows::exits},
    {"mbarrier_arrive_token", "mbarrier.arrive, .noComplete", rows::phases},
    {"mbarrier_pending_count", "mbarrier.pending_count", rows::chance},
    {"mbarrier_wait", "mbarrier.try_wait", rows::phases},
    {"post_phase_wait", "mbarrier.try_wait", rows::phases},
    {"mbarrier_wait_cluster", "mbarrier.try_wait.acquire.cluster", rows::phases},
    {"mbarrier_wait_token", "mbarrier.try_wait", rows::phases},
    {"mbarrier_wait_parity", "mbarrier.try_wait.parity", rows::phases},
    {"mbarrier_wait_parity_cluster", "mbarrier.try_wait.parity.acquire.cluster", rows::phases},
    {"post_parity_wait", "mbarrier.try_wait.parity", rows::phases},
    {"mbarrier_poll", "mbarrier.try_wait, a hint", rows::phases},
    {"mbarrier_wait_unless", "mbarrier.try_wait", rows::phases},
    {"mbarrier_test", "mbarrier.test_wait", rows::answers | rows::phases},
    {"mbarrier_test_token", "mbarrier.test_wait", rows::answers | rows::phases},
    {"mbarrier_test_parity", "mbarrier.test_wait.parity", rows::answers | rows::phases},
    // TMA, bulk copies
    {"tma_load", "cp.async.bulk.tensor, to shared", rows::copy_in | rows::grids | rows::maps},
    {"tma_store", "cp.async.bulk.tensor, to global", rows::updates | rows::memory | rows::grids | rows::maps},
    {"tma_reduce", "cp.reduce.async.bulk.tensor", rows::updates | rows::memory | rows::grids | rows::maps},
    {"tma_prefetch", "cp.async.bulk.prefetch.tensor", rows::maps},
    {"bulk_load", "cp.async.bulk, to shared", rows::copy_in | rows::grids},
    {"bulk_store", "cp.async.bulk, cp.reduce.async.bulk, to global", rows::updates | rows::memory | rows::grids},
    {"bulk_send", "cp.async.bulk, cp.reduce.async.bulk, to another CTA", rows::updates | rows::copy_in},
    {"bulk_prefetch", "cp.async.bulk.prefetch", rows::own},
    {"bulk_commit_group", "cp.async.bulk.commit_group", rows::own},
    {"bulk_wait_group", "cp.async.bulk.wait_group", rows::own},
    {"tensor_map_replace", "tensormap.replace", rows::memory},
    {"publish_tensor_map", "tensormap.cp_fenceproxy", rows::lanes | rows::memory | rows::maps},
    {"tensor_map_replace_global", "tensormap.replace", rows::memory | rows::grids | rows::maps},
    {"release_tensor_maps", "fence.proxy.tensormap, release", rows::maps},
    {"acquire_tensor_map", "fence.proxy.tensormap, acquire", rows::maps},
    // cp.async
    {"cp_async", "cp.async", rows::memory | rows::exits | rows::grids},
    {"cp_async_mbarrier_arrive", "cp.async.mbarrier.arrive", rows::phases | rows::exits},
    {"cp_async_commit_group", "cp.async.commit_group", rows::own},
    {"cp_async_wait_group", "cp.async.wait_group", rows::own},
    // launch control, dependent launches
    {"clc_try_cancel", "clusterlaunchcontrol.try_cancel", rows::launch_control | rows::copy_in},
    {"clc_is_canceled", "clusterlaunchcontrol.query_cancel.is_canceled", rows::launch_control},
    {"clc_first_cta", "clusterlaunchcontrol.query_cancel.get_first_ctaid", rows::own},
    {"grid_dependency_wait", "griddepcontrol.wait", rows::grids},
    {"grid_launch_dependents", "griddepcontrol.launch_dependents", rows::grids},
    // tensor memory, tensor cores
    {"tmem_alloc", "tcgen05.alloc", rows::lanes | rows::allocation | rows::memory},
    {"tmem_relinquish", "tcgen05.relinquish_alloc_permit", rows::lanes | rows::allocation},
    {"tmem_dealloc", "tcgen05.dealloc", rows::lanes | rows::allocation | rows::memory},
    {"tmem_load", "tcgen05.ld", rows::lanes | rows::memory},
    {"tmem_store", "tcgen05.st", rows::lanes | rows::memory},
    {"tmem_wait_load", "tcgen05.wait::ld", rows::lanes},
    {"tmem_wait_store", "tcgen05.wait::st", rows::lanes},
    {"umma", "tcgen05.mma", rows::memory | rows::exits},
    {"tmem_copy", "tcgen05.cp", rows::memory | rows::exits},
    {"tmem_shift_down", "tcgen05.shift", rows::memory | rows::exits},
    {"umma_commit", "tcgen05.commit", rows::phases | rows::exits},
    {"post_wgmma", "wgmma.mma_async", rows::lanes | rows::memory},
    {"post_wgmma_fence", "wgmma.fence", rows::lanes},
    {"post_wgmma_commit", "wgmma.commit_group", rows::lanes},
    {"wgmma_wait_group", "wgmma.wait_group", rows::lanes},
    {"post_wgmma_wait", "wgmma.wait_group", rows::lanes},
    {"set_max_registers", "setmaxnreg", rows::lanes | rows::registers},
    // translated PTX
    {"ptx_trap", "trap", rows::own},
    {"ptx_assert", "__assertfail", rows::own},
    {"ptx_yield", "nanosleep", rows::own},
    {"ptx_local", "ld.local, st.local", rows::own},
    // what the structure layer says about its own use, names
    {"fragment_misuse", "", rows::own},
    {"wgmma_misuse", "", rows::own},
    {"stage_misuse", "", rows::own},
    {"wrong_argument", "", rows::own},
    {"claim_published", "", rows::own},
    {"claim_accumulators", "", rows::own},
    {"hold_accumulator", "", rows::own},
    {"name_barriers", "", rows::own},
};

constexpr bool has_row(std::string_view operation) {
  for (const Row& row : operation_rows)
    if (row.operation == operation) return true;
  return false;
}

template <bool there>
constexpr void require_row() {
  static_assert(there,
                "warploom: this operation of the machine has no row in operations.hpp; say there by which rule a "
                "schedule cannot change its answer or effect, or that it is a point");
}

}  // namespace warploom::loom::check

/// Where the operation was called, for reports: a return address. Not without a row.
#define WARPLOOM_PLACE(operation) \
  (::warploom::loom::check::require_row<::warploom::loom::check::has_row(#operation)>(), __builtin_return_address(0))
