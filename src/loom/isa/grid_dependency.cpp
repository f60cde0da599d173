// Programmatic dependent launch (hardware.md §6.8): what a cluster may do before the grids that its own depends on have
// ended. Everything but touch their memory.
#include "loom/isa/grid_dependency.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void grid_dependency_wait(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  thread.cta->waited_for_grids = true;
  while (cluster.grids.early) {
    thread.wait = {.kind = WaitKind::grid_dependency, .pc = pc, .operation = "griddepcontrol.wait"};
    cluster.grids.waiters.push_back(&thread);
    cluster.park(thread);
  }
  if (watch) watch->grid_waited(thread);
}

void grid_launch_dependents(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  cluster.grids.triggered = true;
  Cta& cta = *thread.cta;
  cta.triggered = true;
  // The checker asks whether some wait comes first in every schedule.
  const bool waited = watch ? watch->knows_grid_wait(thread) : cta.waited_for_grids;
  if (!waited) cta.triggered_before_wait = true;
}

}  // namespace

bool passes_early(const Cluster& cluster) {
  return std::ranges::all_of(cluster.ctas, [](const auto& cta) {
    return cta->triggered ? cta->triggered_before_wait : !cta->waited_for_grids;
  });
}

void check_unfinished(Thread& thread, Pc pc, const void* begin, const void* end, bool write) {
  Cluster& cluster = *thread.cluster;
  if (!cluster.grids.early) return;
  for (const PriorGrid& grid : cluster.launch().unfinished)
    for (const TensorRef& ref : grid.tensors) {
      const auto* base = static_cast<const std::byte*>(ref.pointer);
      if (begin >= base + ref.bytes || end <= base || (!write && ref.access == Access::read)) continue;
      cluster.fail(
          thread, pc, "PDL-EARLY",
          fmt::format("a {} of {}, which grid {} before this one {}, while that may still run",
                      write ? "write" : "read", ref.name[0] != '\0' ? ref.name : "global memory", grid.kernel,
                      ref.access == Access::write ? "writes" : "reads"),
          {"griddepcontrol.wait (grid_dependency_wait) comes before every access to what earlier grids touch"});
    }
}

}  // namespace isa

namespace native {

using namespace front;

void grid_dependency_wait() noexcept try {
  isa::grid_dependency_wait(thread(), WARPLOOM_PLACE(grid_dependency_wait));
} catch (...) {
  break_off();
}

void grid_launch_dependents() noexcept try {
  isa::grid_launch_dependents(thread(), WARPLOOM_PLACE(grid_launch_dependents));
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
