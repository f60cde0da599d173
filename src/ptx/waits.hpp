// Loops that wait for an mbarrier, and what comes after a point of the program.
//
//   const Waits waits(function, graph);
//   if (waits.parks(i)) ...   // try_wait and its loop do nothing but wait: the lane may sleep until the phase is over
//
// A loop around mbarrier.try_wait or test_wait that has no other effect can be replaced by one wait that returns true.
// It has no other effect if, where the answer is false, what runs until the same instruction again is arithmetic, every
// register that this arithmetic reads has the same value in each turn, and nothing that runs for the answer false alone
// is read elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ptx/flow.hpp"
#include "ptx/module.hpp"

namespace warploom::ptx {

/// mbarrier.try_wait or mbarrier.test_wait
bool is_mbarrier_wait(const Instruction& instruction);

class Waits {
 public:
  Waits(const Function& function, const Graph& graph);

  /// The wait at that instruction may block: the loop around it does nothing but wait.
  bool parks(uint32_t instruction) const { return parks_[instruction]; }

 private:
  std::vector<bool> parks_;
};

/// Which classes of instructions may come next, as a set of bits that the caller chooses. What has no class is passed
/// over.
///
///   const NextOperations next(function, graph, [](const Instruction& i) { return is_wgmma(i) ? 1U : is_silent(i) ? 0U
///   : 2U; }); if (next.after(i) == 1) ...   // whatever way the program goes from here, a wgmma comes first
///
/// The end of the function has no class: a set may be empty.
class NextOperations {
 public:
  using Class = std::function<uint32_t(const Instruction&)>;
  NextOperations(const Function& function, const Graph& graph, const Class& classify);
  NextOperations(const Function&, Graph&&, const Class&) = delete;  // it is kept

  /// Behind that instruction. Behind an mbarrier wait: behind its success.
  uint32_t after(uint32_t instruction) const;

 private:
  uint32_t from(uint32_t position, uint32_t block) const;

  const Function& function_;
  const Graph& graph_;
  std::vector<uint32_t> class_;   ///< of each instruction
  std::vector<uint32_t> before_;  ///< at the beginning of each block
};

}  // namespace warploom::ptx
