// What four consecutive warps do together: wgmma between issue and wait, and setmaxnreg. wgmma.cpp and registers.cpp
// hold the rules.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "loom/units/wgmma_sum.hpp"
#include "warploom/loom/posted.hpp"

namespace warploom::loom {

struct Warp;
namespace check {
struct WarpIssue;
struct Work;
}  // namespace check

inline constexpr uint32_t warpgroup_warps = 4;
inline constexpr uint32_t whole_warpgroup = (1u << warpgroup_warps) - 1;

/// One wgmma. It starts once all four warps have issued it.
struct WgmmaInstruction {
  WgmmaOperation operation;
  const std::byte* shared = nullptr;
  uint64_t a_descriptor = 0, b_descriptor = 0;
  uint64_t sequence = 0;  ///< the how-many-th wgmma of its warps
  uint64_t commits = 0;   ///< that its warps executed before it
  uint32_t joined = 0;    ///< warps of the group, one bit each
  Warp* first = nullptr;  ///< who issued it first, and where
  const void* pc = nullptr;
  native::PostedRegisters* registers[warpgroup_warps] = {};
  uint32_t holders = 0;  ///< warps that have not waited for it, and the machine before it is complete
  bool complete = false;
  uint64_t issued = 0;  ///< when the last warp came
  uint64_t finish = 0;
  // Where the run is checked: what each warp knew when it came to it.
  std::shared_ptr<const check::WarpIssue> relies[warpgroup_warps];
  std::shared_ptr<const check::Work> work;
};

/// A warp's own view: what it has issued, committed and not yet waited for.
struct WgmmaQueue {
  using Group = std::vector<WgmmaInstruction*>;

  uint64_t issued = 0;
  uint64_t commits = 0;
  bool fenced = false;  ///< has executed a wgmma.fence
  Group open;           ///< not committed
  std::deque<Group> groups;
  bool waiting = false;
  uint32_t pending = 0;  ///< groups that the wait under way leaves in flight

  void commit() {
    groups.push_back(std::move(open));
    open = {};
    if (!spare.empty()) {
      open = std::move(spare.back());
      spare.pop_back();
    }
    ++commits;
  }
  void forget_oldest() {
    spare.push_back(std::move(groups.front()));
    spare.back().clear();
    groups.pop_front();
  }

 private:
  std::vector<Group> spare;  ///< empty ones, for the room they have
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

/// Executed wgmmas on one accumulator that nobody has waited for.
struct WgmmaChain {
  WgmmaSum sum;
  native::PostedRegisters* registers[warpgroup_warps] = {};
};

struct Warpgroup {
  std::vector<WgmmaInstruction*> forming;  ///< some warps have not issued it; in the order of issue
  std::vector<RegisterRequest> requests;   ///< in the order of execution
  std::vector<WgmmaChain> chains;
  std::vector<std::unique_ptr<WgmmaInstruction>> instructions;
  std::vector<WgmmaInstruction*> unused;

  WgmmaInstruction& new_instruction() {
    if (unused.empty()) unused.push_back(instructions.emplace_back(std::make_unique<WgmmaInstruction>()).get());
    WgmmaInstruction& instruction = *unused.back();
    unused.pop_back();
    instruction.joined = 0;
    instruction.complete = false;
    instruction.issued = 0;
    return instruction;
  }
  void let_go(WgmmaInstruction& instruction) {
    if (--instruction.holders == 0) unused.push_back(&instruction);
  }

  KnownWgmma& known_operation(uint64_t a_descriptor, uint64_t b_descriptor) {
    return operations[(a_descriptor * 5 + b_descriptor * 3) % operations.size()];
  }
  std::vector<KnownWgmma> operations = std::vector<KnownWgmma>(251);  ///< by a hash of their descriptors
};

}  // namespace warploom::loom
