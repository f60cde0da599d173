// One CTA: its shared and tensor memory, barriers, threads, and what its units are busy with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "loom/state/warp.hpp"

namespace warploom::loom {

/// An accumulator of a ring in tensor memory, and which lanes of which warps hold it at the moment.
struct Accumulator {
  const char* ring = "";
  uint32_t stage = 0;
  uint32_t column = 0;
  uint32_t columns = 0;
  std::map<uint32_t, uint32_t> holders[2];  ///< per side: warp -> lanes
};

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t rank = 0;
  Dim3 block;
  std::byte* window = nullptr;  ///< byte at window offset o is window[o]
  uint32_t window_bytes = 0;
  std::byte* alias = nullptr;  ///< what the kernel takes for it: nothing is there
  uint32_t* tmem = nullptr;
  std::vector<Thread*> threads;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::unique_ptr<Barrier>> barriers;
  uint32_t barriers_begin = ~0u, barriers_end = 0;  ///< where they lie
  NamedBarrier named[16];
  uint32_t alive = 0;
  uint32_t exited_warps = 0;
  // Tensor memory
  uint16_t columns_taken = 0;  ///< one bit per 32 columns
  std::map<uint32_t, uint32_t> allocations;
  Pc allocated_at = nullptr;  ///< the latest tcgen05.alloc
  uint32_t last_allocation = tmem_column_count;
  std::vector<Accumulator> accumulators;  ///< by column
  bool relinquished = false;
  bool waited_for_grids = false;                          ///< a thread has executed griddepcontrol.wait
  bool triggered = false, triggered_before_wait = false;  ///< griddepcontrol.launch_dependents
  bool launch_refused = false;  ///< a thread of this CTA has seen a clusterlaunchcontrol request fail, at ...
  Pc refusal_seen_at = nullptr;
  uint64_t tensor_free_at = 0;
  uint64_t tma_free_at = 0;
  std::vector<Warpgroup> warpgroups;
  PackedB packed_b;             ///< of wgmmas that execute one right after the other
  uint32_t free_registers = 0;  ///< given back by setmaxnreg.dec and not taken
};

}  // namespace warploom::loom
