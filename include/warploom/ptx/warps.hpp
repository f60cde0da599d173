// Identity, warps and barriers of translated PTX. Part of runtime.hpp.
#pragma once

#include "warploom/loom/collective.hpp"
#include "warploom/loom/parity.hpp"
#include "warploom/ptx/memory.hpp"

namespace warploom::ptx::rt {

#pragma GCC visibility push(default)
[[noreturn]] void trap(const char* what) noexcept;
/// nanosleep: others may run.
void yield() noexcept;
[[noreturn]] void assert_fail(const u8* message, const u8* file, const u8* line, const u8* function,
                              const u8* character_bytes) noexcept;
void print(u8* result, const u8* format, const u8* arguments) noexcept;
/// The token of the thread's last arrival that gave none.
u64 last_token() noexcept;
u64 clock_now() noexcept;
#pragma GCC visibility pop

// ---- identity

WARPLOOM_PTX u32 tid_x(const Launch* l) {
  const u32 thread = native::self().thread;
  return l->block[1] == 1 && l->block[2] == 1 ? thread : thread % l->block[0];
}
WARPLOOM_PTX u32 tid_y(const Launch* l) { return native::self().thread / l->block[0] % l->block[1]; }
WARPLOOM_PTX u32 tid_z(const Launch* l) { return native::self().thread / (l->block[0] * l->block[1]); }
WARPLOOM_PTX u32 block_threads(const Launch* l) { return l->block[0] * l->block[1] * l->block[2]; }
/// The lanes of the caller's warp.
WARPLOOM_PTX u32 whole_warp(const Launch* l) {
  const u32 lanes = block_threads(l) - native::self().warp * 32;
  return lanes >= 32 ? ~0U : (1U << lanes) - 1;
}
WARPLOOM_PTX u32 cluster_ctas(const Launch* l) { return l->cluster[0] * l->cluster[1] * l->cluster[2]; }

// ---- what lanes tell each other

WARPLOOM_PTX u32 ballot(u32 members, bool value) { return native::vote(native::Vote::ballot, members, value); }
WARPLOOM_PTX bool vote_any(u32 members, bool value) { return native::vote(native::Vote::any, members, value) != 0; }
WARPLOOM_PTX bool vote_all(u32 members, bool value) { return native::vote(native::Vote::all, members, value) != 0; }
WARPLOOM_PTX bool vote_uni(u32 members, bool value) { return native::vote(native::Vote::uniform, members, value) != 0; }
WARPLOOM_PTX u32 match_all(u32 members, u64 value, bool& all) {
  const u32 lanes = native::match_all(members, value);
  all = lanes != 0;
  return lanes;
}

// ---- mbarriers

template <bool cluster>
WARPLOOM_PTX void wait_parity(u32 barrier, u32 parity) {
  if constexpr (cluster)
    native::mbarrier_wait_parity_cluster(barrier, parity);
  else
    native::mbarrier_wait_parity(barrier, parity);
}

}  // namespace warploom::ptx::rt
