// Programmatic dependent launch (hardware.md §6.8): what a cluster may do before the grids that its own depends on have
// ended. Everything but touch their memory.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

void Cluster::run_early() {
  early_ = true;
  run();
}

void Cluster::continue_after_wait() {
  early_ = false;
  if (grid_waiters_.empty()) return;  // it ended without waiting
  std::vector<Thread*> waiters;
  waiters.swap(grid_waiters_);
  for (Thread* waiter : waiters) wake(*waiter, waiter->time);
  run();
}

void Cluster::grid_dependency_wait(Thread& thread, Pc pc) {
  step(thread, pc);
  thread.cta->waited_for_grids = true;
  while (early_) {
    thread.wait = {.kind = WaitKind::grid_dependency, .pc = pc, .operation = "griddepcontrol.wait"};
    grid_waiters_.push_back(&thread);
    park(thread);
  }
  if (watch_) watch_->grid_waited(thread);
}

void Cluster::grid_launch_dependents(Thread& thread, Pc pc) {
  step(thread, pc);
  triggered = true;
  Cta& cta = *thread.cta;
  cta.triggered = true;
  // The checker asks whether some wait comes first in every schedule.
  const bool waited = watch_ ? watch_->knows_grid_wait(thread) : cta.waited_for_grids;
  if (!waited) cta.triggered_before_wait = true;
}

bool Cluster::passes_early() const {
  return std::ranges::all_of(
      ctas_, [](const auto& cta) { return cta->triggered ? cta->triggered_before_wait : !cta->waited_for_grids; });
}

void Cluster::check_unfinished(Thread& thread, Pc pc, const void* begin, const void* end, bool write) {
  if (!early_) return;
  for (const PriorGrid& grid : launch_.unfinished)
    for (const TensorRef& ref : grid.tensors) {
      const auto* base = static_cast<const std::byte*>(ref.pointer);
      if (begin >= base + ref.bytes || end <= base || (!write && ref.access == Access::read)) continue;
      fail(thread, pc, "PDL-EARLY",
           fmt::format("a {} of {}, which grid {} before this one {}, while that may still run",
                       write ? "write" : "read", ref.name[0] != '\0' ? ref.name : "global memory", grid.kernel,
                       ref.access == Access::write ? "writes" : "reads"),
           {"griddepcontrol.wait (grid_dependency_wait) comes before every access to what earlier grids touch"});
    }
}

}  // namespace warploom::loom
