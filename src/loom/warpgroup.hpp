// What four consecutive warps do together: wgmma between issue and wait, and setmaxnreg. wgmma.cpp and registers.cpp
// hold the rules.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "loom/units/wgmma_sum.hpp"

namespace warploom::loom {

struct Warp;
namespace check {
struct Work;
}

inline constexpr uint32_t warpgroup_warps = 4;
inline constexpr uint32_t whole_warpgroup = (1u << warpgroup_warps) - 1;

/// One wgmma. It starts once all four warps have issued it.
struct WgmmaInstruction {
  WgmmaOperation operation;
  WgmmaMemory memory;
  uint64_t a_descriptor = 0, b_descriptor = 0;
  uint64_t sequence = 0;  ///< the how-many-th wgmma of its warps
  uint64_t commits = 0;   ///< that its warps executed before it
  uint32_t joined = 0;    ///< warps of the group, one bit each
  Warp* first = nullptr;  ///< who issued it first, and where
  const void* pc = nullptr;
  native::WgmmaRegisters* d_state[warpgroup_size] = {};
  native::WgmmaRegisters* a_state[warpgroup_size] = {};
  bool complete = false;
  uint64_t issued = 0;  ///< when the last warp came
  uint64_t finish = 0;
  std::shared_ptr<const check::Work> work;  ///< where the run is checked
};

/// A warp's own view: what it has issued, committed and not yet waited for.
struct WgmmaQueue {
  using Group = std::vector<std::shared_ptr<WgmmaInstruction>>;

  uint64_t issued = 0;
  uint64_t commits = 0;
  bool fenced = false;  ///< has executed a wgmma.fence
  Group open;           ///< not committed
  std::deque<Group> groups;
  bool waiting = false;
  uint32_t pending = 0;  ///< groups that the wait under way leaves in flight

  void commit() {
    groups.push_back(std::move(open));
    open.clear();
    ++commits;
  }
};

/// One setmaxnreg that warps of the group have executed.
struct RegisterRequest {
  uint32_t count = 0;
  bool increase = false;
  uint32_t joined = 0;
  Warp* first = nullptr;
  const void* pc = nullptr;
};

/// A wgmma that was found legal.
struct KnownWgmma {
  const native::WgmmaForm* form = nullptr;
  uint64_t a_descriptor = 0, b_descriptor = 0;
  WgmmaOperation operation;
};

struct Warpgroup {
  std::vector<std::shared_ptr<WgmmaInstruction>> forming;  ///< some warps have not issued it
  std::vector<RegisterRequest> requests;                   ///< in the order of execution
  std::vector<WgmmaSum> sums;                              ///< of executed wgmmas that nobody has waited for
  PackedB last_b;                                          ///< of wgmmas that execute one right after the other
  std::vector<std::shared_ptr<WgmmaInstruction>> known;    ///< all there have been, to be used again

  std::shared_ptr<WgmmaInstruction> unused_instruction() {
    for (auto& instruction : known) {
      if (instruction.use_count() != 1) continue;
      instruction->joined = 0;
      instruction->complete = false;
      instruction->issued = 0;
      return instruction;
    }
    return known.emplace_back(std::make_shared<WgmmaInstruction>());
  }

  KnownWgmma& known_operation(uint64_t a_descriptor, uint64_t b_descriptor) {
    return operations[(a_descriptor * 5 + b_descriptor * 3) % operations.size()];
  }
  std::vector<KnownWgmma> operations = std::vector<KnownWgmma>(251);  ///< by a hash of their descriptors
};

}  // namespace warploom::loom
