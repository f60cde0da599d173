// Two grids of one stream, the second a programmatic dependent of the first (B8).
#include "corpus/corpus.hpp"
#include "warploom/arch/pdl.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t blocks = 4, threads = 32;

void first(const void*) {
  grid_launch_dependents();
  store_global(output + block_index().x * threads + thread_index(), 3u);
  syncwarp();
}

void second(const void* params) {
  const bool buggy = *static_cast<const bool*>(params);
  const uint32_t i = block_index().x * threads + thread_index();
  if (!buggy) grid_dependency_wait();
  uint32_t value = 0;
  SITE(value = load_global(output + i));
  store_global(output + blocks * threads + i, value + 1);
  syncwarp();
}

Outcome run_both(bool buggy, const Options& options) {
  static const std::vector<TensorRef> tensors{{output, sizeof(output), Access::write, "output"}};
  const LaunchConfig config{.kernel = "first", .grid = {blocks}, .threads = threads};
  LaunchConfig dependent = config;
  dependent.kernel = "second";
  const GridLaunch grids[] = {{config, &first, &buggy, tensors}, {dependent, &second, &buggy, tensors}};
  std::vector<Outcome> outcomes = launch_dependent(grids, options);
  return std::move(outcomes.back());
}

}  // namespace

Entries grid_entries() {
  return {{.id = "B8",
           .title = "memory of the grid before read without griddepcontrol.wait (cutlass#2760)",
           .codes = {"PDL-EARLY"},
           .run = run_both}};
}

}  // namespace warploom::loom::corpus
