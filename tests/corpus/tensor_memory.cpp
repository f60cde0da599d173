// Tensor memory between tensor core and epilogue: who may touch an accumulator when (catalogue 20, 21, 26 to 33).
#include "corpus/gemm_kernel.hpp"

namespace warploom::loom::corpus {

using gemm::Bug, gemm::mutant;

Entries tensor_memory_entries() {
  return {
      mutant("20", Bug::no_commit, "tcgen05.commit is missing", {"DEADLOCK"}),
      mutant("21", Bug::commit_by_another_thread, "commit by a thread that did not issue the products",
             {"RACE-TMEM", "UNINIT-TMEM"}),
      mutant("26", Bug::release_before_wait_load, "accumulator given back before tcgen05.wait::ld", {"RACE-TMEM"}),
      mutant("27", Bug::registers_before_wait_load, "registers of tcgen05.ld used before the wait", {"FRAGMENT"}),
      mutant("28", Bug::wrong_accumulator, "epilogue reads the other accumulator", {"RACE-TMEM", "UNINIT-TMEM"}),
      mutant("29", Bug::first_step_accumulates, "first step along K accumulates", {"UNINIT-TMEM"}),
      mutant("29b", Bug::later_step_overwrites, "later steps along K overwrite", {"VALUE"}),
      mutant("30", Bug::full_overwrite_of_packed_columns, "product overwrites columns of its neighbour", {"RACE-TMEM"}),
      mutant("31", Bug::dealloc_early, "tensor memory freed while others still use it", {"RACE-TMEM", "TMEM-RULE"}),
      mutant("32", Bug::no_dealloc, "tensor memory is not freed", {"TMEM-LEAK"}),
      mutant("33", Bug::address_read_early, "address of tensor memory read before it is published",
             {"RACE-SMEM", "UNINIT-SMEM"}),
      mutant("T1", Bug::no_fence_after, "no tcgen05.fence::after_thread_sync behind the wait", {"TMEM-FENCE"}),
      mutant("T2", Bug::no_fence_before, "no tcgen05.fence::before_thread_sync before the arrival", {"TMEM-FENCE"}),
      mutant("B11", Bug::no_steps, "empty K leaves a stale accumulator (cutlass#2674)", {"UNINIT-TMEM"}),
      same("B13", "tensor memory allocated and freed without synchronisation (DeepGEMM#292)", "31"),
  };
}

}  // namespace warploom::loom::corpus
