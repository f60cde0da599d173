// The watchdog of an instrumented GPU build (WARPLOOM_WATCHDOG=1): a wait on an mbarrier past the limit says who waits
// where, for what and what has come, then traps, so that the launch fails instead of hanging.
//
// One report per warp and barrier, all from the first cluster that runs into the limit. Where the host has provided
// memory (gpu/watchdog.hpp), they go there, since nothing promises that printf's buffer outlives a trap; else to printf.
#pragma once

#include <cstdio>

#include "warploom/arch/gpu/barrier_notes.hpp"

/// How long a wait may take, in nanoseconds.
#ifndef WARPLOOM_WATCHDOG_NS
#define WARPLOOM_WATCHDOG_NS 1000000000
#endif

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

namespace records = ::warploom::gpu;

// One copy of each per .cu file: without relocatable device code a header cannot share them between files.
static __device__ uint64_t watchdog_limit = WARPLOOM_WATCHDOG_NS;
static __device__ records::StuckWaits* watchdog_memory;
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
  const uint32_t cluster =
      1 + ptx::get_sreg_clusterid_x() +
      ptx::get_sreg_nclusterid_x() *
          (ptx::get_sreg_clusterid_y() + ptx::get_sreg_nclusterid_y() * ptx::get_sreg_clusterid_z());
  const uint32_t first = atomicCAS(&watchdog_cluster, 0u, cluster);
  return first == 0 || first == cluster;
}

static __device__ void print_stuck_wait(const records::StuckWait& wait, const char* role, const char* ring,
                                        const char* signalled_by) {
  printf(
      "warploom watchdog: cta %u,%u,%u (cluster rank %u, sm %u) warp %u lane %u, role %s, has waited %u ms\n"
      "  for %s%s[%u] (mbarrier at 0x%x), phase %u: %u arrivals expected, %u by threads seen %s %u\n"
      "  signalled by %s%s%s\n",
      wait.block[0], wait.block[1], wait.block[2], wait.cluster_rank, wait.sm, wait.warp, wait.lane, role,
      wait.waited_ms, ring, wait.side == 0 ? ".full" : wait.side == 1 ? ".empty" : "", wait.stage, wait.barrier,
      wait.phase, wait.expected, wait.seen, wait.seen_phases == wait.phase ? "in phase" : "since the end of phase",
      wait.seen_phases == wait.phase ? wait.phase : wait.seen_phases - 1, signalled_by,
      (wait.unobservable & records::unobservable_bytes) != 0 ? "; TMA's bytes are not observable" : "",
      (wait.unobservable & records::unobservable_commits) != 0 ? "; tcgen05 commits are not observable" : "");
}

/// Reports once per warp and barrier, waits for the others, ends the launch.
[[noreturn]] static __device__ __noinline__ void give_up(SharedAddress barrier, uint32_t phases, uint64_t waited) {
  BarrierNotes& notes = notes_of(barrier);
  const uint32_t warp = ::threadIdx.x / warp_size;
  const uint32_t bit = 1u << warp % 32;
  const bool first = (atomicOr(&notes.reported_warps, bit) & bit) == 0;
  if (first && cluster_reports()) {
    if (const uint32_t slot = atomicAdd(&watchdog_reports, 1u); slot < records::max_stuck_waits) {
      const RoleEntry& entry = role_entry();
      const char* role = entry.role != nullptr && entry.block == linear_block() ? entry.role->characters() : "unnamed";
      const char* ring = notes.ring != nullptr ? notes.ring->characters() : "unnamed";
      const char* signalled_by = notes.signalled_by != nullptr ? notes.signalled_by->characters() : "unknown";
      const uint64_t seen = *static_cast<volatile uint64_t*>(&notes.seen);
      const uint32_t arrived = *static_cast<volatile uint32_t*>(&notes.arrived);
      records::StuckWait wait{};
      wait.block[0] = ::blockIdx.x;
      wait.block[1] = ::blockIdx.y;
      wait.block[2] = ::blockIdx.z;
      wait.cluster_rank = ptx::get_sreg_cluster_ctarank();
      wait.sm = ptx::get_sreg_smid();
      wait.warp = warp;
      wait.lane = ptx::get_sreg_laneid();
      wait.waited_ms = static_cast<uint32_t>(waited / 1'000'000);
      wait.barrier = barrier.value;
      wait.side = notes.side;
      wait.stage = notes.stage;
      wait.phase = phases - 1;
      wait.expected = *static_cast<volatile uint32_t*>(&notes.expected);
      wait.seen = arrived - static_cast<uint32_t>(seen);
      wait.seen_phases = static_cast<uint32_t>(seen >> 32);
      wait.unobservable = notes.unobservable;
      if (watchdog_memory != nullptr) {
        copy_characters(wait.role, role);
        copy_characters(wait.ring, ring);
        copy_characters(wait.signalled_by, signalled_by);
        records::StuckWait& kept = watchdog_memory->waits[slot];
        kept = wait;
        __threadfence_system();
        *static_cast<volatile uint32_t*>(&kept.written) = 1;
      } else {
        print_stuck_wait(wait, role, ring, signalled_by);
      }
    }
  }
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
