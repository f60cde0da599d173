// Operations of a whole warp that a lane need not wait in, because they give it nothing to look at: wgmma, its fence
// and its commit. The first lane of a warp that comes to one posts it; the others find what it posted and only tick it
// off, without a call into the machine; the last one executes it. Before its next operation of any other kind a lane
// waits until all it has posted has executed, so that no kernel can tell. Part of native.hpp.
#pragma once

#include <atomic>
#include <cstddef>

#include "warploom/arch/config.hpp"
#include "warploom/types/descriptor.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct Identity;
struct WgmmaForm;
struct WgmmaRegisters;

/// What a posted wgmma has of each lane. Those of a chain have the same, and so has the next chain on that accumulator:
/// lanes only compare.
struct PostedRegisters {
  uint32_t uses = 0;  ///< wgmmas posted and not waited for; unless there are none, nothing changes here
  const WgmmaForm* form = nullptr;
  void* d[32];
  WgmmaRegisters* d_state[32];
  const uint32_t* a[32];
  WgmmaRegisters* a_state[32];
};

enum class PostedKind : uint8_t { fence, wgmma, commit, wait, sync, phase };

/// One line of a cache: every lane looks at every one of them.
struct alignas(64) Posted {
  PostedKind kind = PostedKind::fence;  ///< this and the next three are compared as one word
  bool accumulate = false;
  uint8_t k = 0;        ///< of a wgmma with both operands in shared memory; 0: one that lanes cannot tick off
  uint8_t pending = 0;  ///< groups that a wait leaves
  uint32_t ends = 0;    ///< lanes that have come to this one and no further
  union {
    const WgmmaForm* form = nullptr;
    void* barrier;  ///< that is waited for
  };
  uint64_t a_descriptor = 0, b_descriptor = 0;  ///< where an mbarrier is waited for: its address, and phases
  PostedRegisters* registers = nullptr;
  uint64_t time = 0;  ///< nominal, of the last lane
  const void* pc = nullptr;
  uint8_t first_lane = 0;
  bool begun = false;           ///< its first lane has said what it is
  bool executes = false;        ///< false: the mutation hook dropped it
  bool same_registers = false;  ///< as those of a wgmma before it: there is nothing to note
};
static_assert(sizeof(Posted) == 64);

/// What an operation without a call changes of a thread.
struct ThreadHead {
  uint64_t time = 0;
  uint64_t joined = 0;  ///< collectives of the whole warp
};

/// An mbarrier that warps of its CTA have waited for: how many of its phases are complete, and since when.
struct KnownBarrier {
  uint32_t address = 0;
  uint32_t warps = 0;  ///< those, one bit each
  const uint64_t* phase = nullptr;
  const uint64_t* time = nullptr;
  void* barrier = nullptr;
};

/// What the running thread needs to know of the machine in order not to ask it.
struct Script {
  // What is posted: all of it, what the thread has come to, and what of that it has accounted for. Empty where
  // anything is recorded or altered, or where threads give way to each other.
  Posted* list = nullptr;
  Posted* next = nullptr;
  Posted* end = nullptr;
  Posted* accounted = nullptr;
  uint32_t lane = 0;
  bool runs_ahead = false;  ///< a wait that is over need not wait for what was posted
  uint32_t warp_bit = 0;
  ThreadHead* thread = nullptr;
  const Identity* identity = nullptr;
  std::atomic<uint64_t>* beats = nullptr;  ///< steps of this worker
  // Its CTA's shared memory, as the kernel has its address: reserved, and not to be touched.
  const std::byte* alias = nullptr;
  uint32_t window_bytes = 0;
  uint32_t rank_bits = 0;
  KnownBarrier barriers[64];  ///< by a hash

  KnownBarrier& known_barrier(uint32_t address) { return barriers[(address >> 3 ^ (address >> 24) * 21) % 64]; }
};
extern thread_local constinit Script script;

inline constexpr uint64_t step_cost = 4;  ///< nominal cycles of any operation

#pragma GCC visibility pop
}  // namespace warploom::loom::native
