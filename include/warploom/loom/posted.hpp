// Operations of a whole warp that a lane need not wait in, because they give it nothing to look at: wgmma, its fence
// and its commit. The first lane of a warp that comes to one posts it; the others find what it posted and only tick it
// off, without a call into the machine; the last one executes it. Before its next operation of any other kind a lane
// waits until all it has posted has executed, so that no kernel can tell. Part of native.hpp.
#pragma once

#include <atomic>

#include "warploom/arch/config.hpp"
#include "warploom/types/descriptor.hpp"

namespace warploom::loom::native {

struct WgmmaForm;
struct WgmmaRegisters;

/// What a posted wgmma has of each lane.
struct PostedRegisters {
  void* d[32];
  WgmmaRegisters* d_state[32];
  const uint32_t* a[32];
  WgmmaRegisters* a_state[32];
};

enum class PostedKind : uint8_t { fence, wgmma, commit };

struct Posted {
  PostedKind kind = PostedKind::fence;
  bool executes = false;  ///< false: the mutation seam dropped it
  bool accumulate = false;
  uint8_t k = 0;  ///< of a wgmma with both operands in shared memory; 0: one that lanes cannot tick off
  uint32_t arrived = 0;
  const WgmmaForm* form = nullptr;
  uint64_t a_descriptor = 0, b_descriptor = 0;
  PostedRegisters* registers = nullptr;
  uint64_t time = 0;  ///< nominal, of the last lane
  const void* pc = nullptr;
  uint32_t first_lane = 0;
};

/// What a tick changes of a thread.
struct ThreadHead {
  uint64_t time = 0;
  uint64_t joined = 0;  ///< collectives of the whole warp
};

/// What the running thread finds posted.
struct Script {
  Posted* next = nullptr;
  Posted* end = nullptr;
  ThreadHead* thread = nullptr;
  std::atomic<uint64_t>* beats = nullptr;  ///< steps of this worker
  uint32_t lane = 0;
};
extern thread_local constinit Script script;

inline constexpr uint64_t step_cost = 4;  ///< nominal cycles of any operation

/// The thread has done what `script.next` says.
[[gnu::always_inline]] inline bool tick(Script& s) noexcept {
  Posted& posted = *s.next++;
  posted.arrived |= 1u << s.lane;
  s.thread->time += step_cost;
  ++s.thread->joined;
  s.beats->store(s.beats->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return posted.arrived == 0xffffffffu;
}

/// The last lane has come: executes what was posted first.
void execute_posted() noexcept;

}  // namespace warploom::loom::native
