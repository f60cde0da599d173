// The watchdog of an instrumented GPU build (WARPLOOM_WATCHDOG=1): a wait on an mbarrier past the limit says who waits
// where, for what and what has come, then traps, so that the launch fails instead of hanging.
//
// One report per warp and barrier, all from the first cluster that runs into the limit. Where the host has provided
// memory (gpu/watchdog.hpp), they go there, since nothing promises that printf's buffer outlives a trap; else to
// printf.
#pragma once

#include <cstdio>

#include "warploom/arch/gpu/barrier_notes.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

namespace records = ::warploom::gpu;

// One copy of each per .cu file: without relocatable device code a header cannot share them between files.
static __device__ uint64_t watchdog_limit = WARPLOOM_WATCHDOG_NS;
static __device__ records::StuckWaits* watchdog_memory;  ///< the host's; null: watchdog_spare, and printf
static __device__ records::StuckWaits watchdog_spare;
static __device__ uint32_t watchdog_cluster;  ///< 1 + index of the cluster that reports; 0: none yet
static __device__ uint32_t watchdog_reports;

/// From the report to the trap: time for the other warps of the cluster to run into the limit too.
constexpr uint64_t watchdog_grace = 100'000'000;

/// The role of a warp: by SM and warp, since a warp has no memory of its own. Two CTAs of one SM differ in their block.
struct RoleEntry {
  const DeviceText* role;
  uint32_t block;
};
constexpr uint32_t role_table_sms = 256, role_table_warps = 32;
static __device__ RoleEntry role_table[role_table_sms * role_table_warps];

WARPLOOM_FN uint32_t linear_block() noexcept {
  return ::blockIdx.x + ::gridDim.x * (::blockIdx.y + ::gridDim.y * ::blockIdx.z);
}
WARPLOOM_FN RoleEntry& role_entry() noexcept {
  const uint32_t sm = ptx::get_sreg_smid() % role_table_sms;
  return role_table[sm * role_table_warps + ::threadIdx.x / warp_size % role_table_warps];
}
WARPLOOM_FN void note_role(const DeviceText* role) noexcept {
  if (speaks_for_warp()) role_entry() = {role, linear_block()};
}

template <uint32_t size>
WARPLOOM_FN void copy_characters(char (&to)[size], const char* from) noexcept {
  uint32_t i = 0;
  for (; i + 1 < size && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

/// True for the waiters of the first cluster that asks.
WARPLOOM_FN bool cluster_reports() noexcept {
  const uint32_t cluster = 1 + ptx::get_sreg_clusterid_x() +
                           ptx::get_sreg_nclusterid_x() * (ptx::get_sreg_clusterid_y() +
                                                           ptx::get_sreg_nclusterid_y() * ptx::get_sreg_clusterid_z());
  const uint32_t first = atomicCAS(&watchdog_cluster, 0u, cluster);
  return first == 0 || first == cluster;
}

/// Writes the report of this thread to `out`.
static __device__ __noinline__ void describe_wait(records::StuckWait& out, SharedAddress barrier, uint32_t phases,
                                                  uint64_t waited) {
  const BarrierNotes& notes = notes_of(barrier);
  const RoleEntry& entry = role_entry();
  copy_characters(out.role,
                  entry.role != nullptr && entry.block == linear_block() ? entry.role->characters() : "unnamed");
  copy_characters(out.ring, notes.ring != nullptr ? notes.ring->characters() : "unnamed");
  copy_characters(out.signalled_by, notes.signalled_by != nullptr ? notes.signalled_by->characters() : "unknown");
  out.block[0] = ::blockIdx.x;
  out.block[1] = ::blockIdx.y;
  out.block[2] = ::blockIdx.z;
  out.cluster_rank = ptx::get_sreg_cluster_ctarank();
  out.sm = ptx::get_sreg_smid();
  out.warp = ::threadIdx.x / warp_size;
  out.lane = ptx::get_sreg_laneid();
  out.waited_ms = static_cast<uint32_t>(waited / 1'000'000);
  out.barrier = barrier.value;
  out.side = notes.side;
  out.stage = notes.stage;
  out.phase = phases - 1;
  const uint64_t seen = *static_cast<const volatile uint64_t*>(&notes.seen);
  out.expected = *static_cast<const volatile uint32_t*>(&notes.expected);
  out.seen = *static_cast<const volatile uint32_t*>(&notes.arrived) - static_cast<uint32_t>(seen);
  out.seen_phases = static_cast<uint32_t>(seen >> 32);
  out.unobservable = notes.unobservable;
}

static __device__ __noinline__ void report_wait(SharedAddress barrier, uint32_t phases, uint64_t waited) {
  const uint32_t slot = atomicAdd(&watchdog_reports, 1u);
  if (slot >= records::max_stuck_waits) return;
  const bool to_host = watchdog_memory != nullptr;
  records::StuckWait& out = (to_host ? watchdog_memory : &watchdog_spare)->waits[slot];
  describe_wait(out, barrier, phases, waited);
  if (to_host) {
    __threadfence_system();
    *static_cast<volatile uint32_t*>(&out.written) = 1;
  } else {
    printf(WARPLOOM_STUCK_WAIT_FORMAT, WARPLOOM_STUCK_WAIT_ARGUMENTS(out, out.role, out.ring, out.signalled_by));
  }
}

/// Reports once per warp and barrier, waits for the others, ends the launch.
[[noreturn]] static __device__ __noinline__ void give_up(SharedAddress barrier, uint32_t phases, uint64_t waited) {
  const uint32_t bit = 1u << ::threadIdx.x / warp_size % 32;
  const bool first = (atomicOr(&notes_of(barrier).reported_warps, bit) & bit) == 0;
  if (first && cluster_reports()) report_wait(barrier, phases, waited);
  const uint64_t reported = global_nanoseconds();
  while (global_nanoseconds() - reported < watchdog_grace) __nanosleep(1'000'000);
  __threadfence_system();
  __trap();
  __builtin_unreachable();
}

/// Watches one wait: still_waiting() after every try that did not pass.
class WaitWatch {
 public:
  WARPLOOM_FN void still_waiting(SharedAddress barrier, uint32_t phases) noexcept {
    const uint64_t now = global_nanoseconds();
    if (since_ == 0) since_ = now;
    if (now - since_ > watchdog_limit) give_up(barrier, phases, now - since_);
  }

 private:
  uint64_t since_ = 0;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
