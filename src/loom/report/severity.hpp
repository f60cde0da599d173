// Which findings about foreign code are warnings (Options::foreign): those that say no more than that it relies on what
// the manual does not promise, and after which the machine can go on. One table; everything else is an error, and on
// kernels of the library so is this. docs/reports.md has the same table.
//
//   if (const ForeignRow* row = warning_of("TMEM-FENCE", Concern::any)) ...   // row->clause
#pragma once

#include <string_view>

namespace warploom::loom {

/// What a finding is about, where its code says too little.
enum class Concern {
  any,
  equal_stores,   ///< a race of two stores that leave the same
  unfenced_init,  ///< an mbarrier.init that is ordered before, and that no fence makes known
};

struct ForeignRow {
  std::string_view code;
  Concern concern;          ///< any: all findings of the code
  std::string_view clause;  ///< where the manual says it, and what
  std::string_view then;    ///< how the machine goes on
};

inline constexpr ForeignRow foreign_rows[] = {
    {"EXIT-PENDING", Concern::any,
     "PTX ISA, cp.async.bulk.wait_group, cp.async.wait_group, wgmma.wait_group: work is over for its thread when the "
     "thread has waited for it; what becomes of it behind the thread's exit is not said",
     "the thread exits; copies that would land in a CTA that has exited are dropped, other work completes"},
    {"FRAGMENT", Concern::any,
     "PTX ISA, tcgen05.wait, wgmma.wait_group: registers of an instruction in flight may be touched behind its wait, "
     "anything before is undefined",
     "of a tcgen05.ld, the loads of the warp complete there; of a wgmma, the access finds what the registers hold"},
    {"TMEM-FENCE", Concern::any,
     "PTX ISA, tcgen05 memory consistency: tcgen05 operations of two threads are ordered by a tcgen05.fence on both "
     "sides of what synchronises the threads",
     "as if the fences were there"},
    {"RACE-SMEM", Concern::equal_stores,
     "PTX ISA, memory consistency model: two stores that nothing orders are a race, whatever they store",
     "the value is there, whichever comes last"},
    {"RACE-GLOBAL", Concern::equal_stores,
     "PTX ISA, memory consistency model: two stores that nothing orders are a race, whatever they store",
     "the value is there, whichever comes last"},
    {"BAR-UNINIT", Concern::unfenced_init,
     "PTX ISA, membar and fence: fence.mbarrier_init makes an mbarrier.init known to other CTAs and to the async proxy",
     "as if the fence were there"},
};

/// The row that makes it a warning; null: it is an error.
constexpr const ForeignRow* warning_of(std::string_view code, Concern concern) {
  for (const ForeignRow& row : foreign_rows)
    if (row.code == code && (row.concern == Concern::any || row.concern == concern)) return &row;
  return nullptr;
}

}  // namespace warploom::loom
