// Names of barriers and phases, as reports have them.
#include "loom/state/barrier.hpp"

#include <fmt/format.h>

namespace warploom::loom {

std::string phase_text(uint64_t phases) { return phases == 0 ? "0 phases" : fmt::format("phase {}", phases - 1); }

std::string Barrier::name() const {
  if (ring == nullptr) return fmt::format("mbarrier at 0x{:x}", offset);
  const char* end = side == 0 ? ".full" : side == 1 ? ".empty" : "";
  if (stages <= 1 && side == 2) return ring;
  return fmt::format("{}{}[{}]", ring, end, stage);
}

std::vector<std::string> signalled_by(const Barrier& barrier) {
  if (barrier.signalled_by[0] == '\0') return {};
  return {fmt::format("{} is signalled by {}", barrier.name(), barrier.signalled_by)};
}

uint32_t NamedBarrier::result() const {
  switch (reduction) {
    case native::BarReduction::none: break;
    case native::BarReduction::popc: return yes;
    case native::BarReduction::bit_and: return static_cast<uint32_t>(yes == arrived);
    case native::BarReduction::bit_or: return static_cast<uint32_t>(yes != 0);
  }
  return 0;
}

}  // namespace warploom::loom
