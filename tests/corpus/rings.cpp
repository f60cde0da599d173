// Rings between a loader, a tensor core and an epilogue: waits, counts and bytes (catalogue 1 to 11).
#include "corpus/gemm_kernel.hpp"

namespace warploom::loom::corpus {

using gemm::Bug, gemm::mutant;

Entries ring_entries() {
  return {
      mutant("1", Bug::no_full_wait, "consumer skips the wait for full", {"RACE-SMEM", "PHASE-AMBIG"}),
      mutant("2", Bug::no_empty_wait, "producer skips the wait for empty", {"PHASE-AMBIG", "ARRIVE-OVERFLOW"}),
      mutant("3", Bug::release_by_arrive, "slot given back by an arrive, not by tcgen05.commit", {"RACE-SMEM"}),
      mutant("4", Bug::full_wait_a_phase_early, "consumer waits for the phase before, whose parity is over",
             {"UNINIT-SMEM", "RACE-SMEM", "DEADLOCK"}),
      mutant("5", Bug::empty_wait_a_phase_late, "producer's first wait on a fresh empty barrier is for phase 0",
             {"DEADLOCK"}),
      mutant("6", Bug::empty_count_high, "empty barrier counts one arrival more than come", {"DEADLOCK"}),
      mutant("7", Bug::commit_twice, "consumer arrives twice", {"PHASE-AMBIG"}),
      mutant("8", Bug::bytes_short, "fewer bytes announced than loaded: the phase ends early, or never",
             {"RACE-SMEM", "UNINIT-SMEM", "PHASE-AMBIG"}),
      mutant("9", Bug::bytes_long, "more bytes announced than loaded", {"DEADLOCK"}),
      mutant("10", Bug::arrive_before_expect, "arrive comes before its expect_tx", {"RACE-SMEM", "UNINIT-SMEM"}),
      mutant("11", Bug::wrong_full_barrier, "TMA signals the other stage's barrier", {"RACE-SMEM"}),
      same("B7", "consumer's arrival count written by hand and wrong (cutlass#2418)", "6"),
      same("B16", "wait moved behind the product, or taken away (CUTracer#106)", "1"),
  };
}

}  // namespace warploom::loom::corpus
