#include "loom/units/panel_buffer.hpp"

#include <vector>

#include "loom/exec/per_thread.hpp"

namespace warploom::loom {
namespace {

// A worker's own: clusters never change worker.
thread_local PerThread<std::vector<std::unique_ptr<Panels>>> spare;

}  // namespace

std::shared_ptr<Panels> take_panels() {
  std::unique_ptr<Panels> panels;
  if (spare->empty()) {
    panels = std::make_unique<Panels>();
  } else {
    panels = std::move(spare->back());
    spare->pop_back();
  }
  return {panels.release(), [](Panels* used) { spare->emplace_back(used); }};
}

}  // namespace warploom::loom
