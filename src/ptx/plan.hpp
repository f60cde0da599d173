// What the emitter must know of a function before it writes it: register lists that asynchronous instructions use,
// copies of registers that are still on their way, loops that wait for an mbarrier, loads of tensor memory that nobody
// waits for.
//
//   const Plan plan = plan_of(module, function);
//   if (plan.waits[i] == WaitLoop::parks) ...   // instruction i is a wait, not a poll
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

/// The registers of one list, `{%f1, %f2, ...}`, of wgmma or tcgen05.ld: an array of the translation.
struct FragmentGroup {
  std::vector<uint32_t> registers;  ///< `no_index` for `_`
  bool tensor_memory = false;       ///< of a tcgen05.ld
  /// Its registers lie elsewhere: some are in another list too, or one is here twice. For tcgen05.ld the array is
  /// copied to them by tcgen05.wait::ld, for the A operand of wgmma they are copied into the array before it.
  bool copied = false;
  uint32_t line = 0;  ///< of the first instruction that has it
};

enum class WaitLoop : uint8_t { none, poll, parks, parks_before_wgmma };

struct FragmentPlace {
  uint32_t group = no_index;
  uint32_t element = 0;
};

struct Plan {
  std::vector<FragmentGroup> groups;
  std::vector<FragmentPlace> places;                 ///< per register: where it lies, if in a fragment
  std::vector<std::vector<FragmentPlace>> group_of;  ///< per instruction: the group of each operand, if it has one
  std::vector<WaitLoop> waits;                       ///< per instruction
  std::unordered_set<uint32_t> dropped;              ///< copies of fragment registers: the same place by another name
  std::unordered_set<uint32_t> loads_without_wait;   ///< tcgen05.ld whose registers are read before any wait
  std::vector<std::vector<uint32_t>> checks;         ///< per instruction: groups that may still be with the machine
  std::vector<bool> is_target;                       ///< per instruction (and one more): a label is before it
  std::unordered_set<uint32_t> whole_warps;          ///< activemask where all lanes of a warp come together
  bool uses_wgmma = false;
  bool uses_bulk_groups = false;
  std::string failure;  ///< a sentence with a line, where the function cannot be translated
};

Plan plan_of(const Module& module, const Function& function);

}  // namespace warploom::ptx
