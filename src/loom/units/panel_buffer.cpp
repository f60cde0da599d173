#include "loom/units/panel_buffer.hpp"

#include <vector>

namespace warploom::loom {
namespace {

// A worker's own: clusters never change worker.
thread_local std::vector<std::unique_ptr<PanelBuffer::Memory>> spare;

}  // namespace

void PanelBuffer::take() {
  if (memory_ != nullptr) return;
  if (spare.empty()) {
    memory_ = std::make_unique<Memory>();
  } else {
    memory_ = std::move(spare.back());
    spare.pop_back();
  }
}

void PanelBuffer::give_back() {
  if (memory_ != nullptr) spare.push_back(std::move(memory_));
}

}  // namespace warploom::loom
