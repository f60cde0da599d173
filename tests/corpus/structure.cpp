// What the structure layer makes of bugs that the corpus writes on the arch layer: some do not compile there, of others
// there is nothing to write down wrong, because a type computes it. `proof` is the test that shows it.
#include "corpus/corpus.hpp"

namespace warploom::loom::corpus {

std::vector<StructureNote> structure_notes() {
  const char* const counts = "the ring's type computes its counts";
  const char* const bytes = "the payload's type computes its bytes";
  const char* const phases = "the ring keeps slot and phase";
  const char* const counts_test = "tests/pipeline/counts_test.cpp";
  const char* const ring_test = "tests/pipeline/ring_test.cpp";
  const char* const dropped = "a stage that is not given back does not compile";
  const char* const dropped_test = "tests/negative/dropped_handle.cpp";
  return {
      {"4", phases, ring_test},
      {"5", phases, ring_test},
      {"6", counts, counts_test},
      {"7", counts, counts_test},
      {"8", bytes, counts_test},
      {"9", bytes, counts_test},
      {"10", "a slot is armed once, on entry", ring_test},
      {"11", phases, ring_test},
      {"20", dropped, dropped_test},
      {"22", "masks follow from the cluster's shape", counts_test},
      {"23", "masks follow from the cluster's shape", counts_test},
      {"40b", "a stage dropped on one path does not compile", "tests/negative/dropped_on_one_path.cpp"},
      {"M5", counts, counts_test},
      {"M6", bytes, counts_test},
      {"M8", phases, ring_test},
      {"M10", bytes, counts_test},
      {"B3", dropped, dropped_test},
      {"B7", counts, counts_test},
  };
}

}  // namespace warploom::loom::corpus
