// The corpus of named bugs: each a small kernel on the arch layer, with its correct twin. corpus_test.cpp runs both
// under every schedule with the checker on; tools/detection.py makes docs/detection.md of what it found.
//
//   entry("17", "exit with a bulk store pending", "EXIT-PENDING", {.threads = 32}, [](const bool& buggy) {
//     ... SITE(bulk_store(...)); bulk_commit_group();
//     if (!buggy) bulk_wait_group<0>();
//   })
//
// SITE marks the operations that the report must name: the finding's own place, its other side, or, where nothing can
// make progress, a row of the waiting table or of its ledger.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/bulk.hpp"

namespace warploom::loom::corpus {

using namespace probe;

struct Mark {
  const char* file;
  uint32_t line;
};
inline std::vector<Mark> marks;  ///< of the run at hand; runs are on one worker

inline void mark(const char* file, uint32_t line) {
  for (const Mark& known : marks)
    if (known.line == line && known.file == file) return;
  marks.push_back({file, line});
}

#define SITE(...) SITE_IF(true, __VA_ARGS__)
/// The same for kernels of several mutants: a place of this report only if it is that mutant.
#define SITE_IF(condition, ...)                                        \
  do {                                                                 \
    if (condition) ::warploom::loom::corpus::mark(__FILE__, __LINE__); \
    __VA_ARGS__;                                                       \
    asm volatile("" ::"i"(__LINE__));                                  \
  } while (false)

/// Global memory that every launch of the corpus has: words to read, and words to write.
inline constexpr uint32_t global_words = 1 << 14;
alignas(1024) inline uint32_t input[global_words];
alignas(1024) inline uint32_t output[global_words];

/// How a bug is caught.
enum class Caught : uint8_t {
  on_the_loom,
  on_the_host  ///< refused before a launch: `refusal` answers with the sentence
};

struct Entry {
  std::string id;  ///< "12": of the catalogue; M of the compute-sanitizer experiment, B of other projects, X
  std::string title;
  std::vector<std::string> codes;  ///< which of them comes first may depend on the schedule
  std::function<Outcome(bool buggy, const Options&)> run = {};
  uint32_t ctas = 1;
  Caught caught = Caught::on_the_loom;
  std::string same_as = {};                   ///< the entry that is the same bug
  std::function<std::string()> refusal = {};  ///< on the host: the sentence
  std::function<bool()> right = {};           ///< is what the run left in `output` right? Code VALUE is a wrong one
};

/// kernel(param): buggy with the one parameter, right with the other.
template <class Param, class Kernel>
Entry entry(std::string id, std::string title, std::vector<std::string> codes, Launch launch, Kernel kernel,
            Param buggy, Param correct) {
  launch.tensors.push_back({input, sizeof(input), Access::read, "input"});
  launch.tensors.push_back({output, sizeof(output), Access::write, "output"});
  return {.id = std::move(id),
          .title = std::move(title),
          .codes = std::move(codes),
          .run = [=](bool bug,
                     const Options& options) { return probe::run(launch, kernel, bug ? buggy : correct, options); },
          .ctas = launch.cluster.count()};
}
template <class Kernel>
Entry entry(std::string id, std::string title, std::vector<std::string> codes, const Launch& launch, Kernel kernel) {
  return entry(std::move(id), std::move(title), std::move(codes), launch, kernel, true, false);
}
inline Entry same(std::string id, std::string title, std::string as) {
  return {.id = std::move(id), .title = std::move(title), .codes = {}, .same_as = std::move(as)};
}

using Entries = std::vector<Entry>;

/// What the structure layer makes of an entry.
struct StructureNote {
  const char *id, *what, *proof;
};
std::vector<StructureNote> structure_notes();

// One function per file.
Entries sanitizer_entries();       ///< the eleven that compute-sanitizer was given
Entries counterexample_entries();  ///< programs that fooled earlier rules
Entries ring_entries();
Entries proxy_entries();
Entries life_cycle_entries();
Entries cluster_entries();
Entries tensor_memory_entries();
Entries tensor_memory_rule_entries();
Entries lane_mask_entries();
Entries tma_entries();
Entries launch_control_entries();
Entries collective_entries();
Entries wgmma_entries();
Entries thread_entries();
Entries grid_entries();
Entries global_memory_entries();

struct Initialised {
  static constexpr Words text{"the other side"};
};

/// Barriers of ring Label, by thread 0. The caller synchronises.
template <class Label = Ring, size_t n>
WARPLOOM_FN void make_barriers(Mbarrier (&barriers)[n], uint32_t count, RingSide side = RingSide::full) {
  if (thread_index() != 0) return;
  for (Mbarrier& barrier : barriers) mbarrier_init(shared_address(&barrier), count);
  name_barriers<Label, Initialised>(barriers, n, side);
  fence_mbarrier_init();
}

WARPLOOM_FN void keep(uint32_t value) { asm volatile("" ::"r"(value)); }

}  // namespace warploom::loom::corpus
