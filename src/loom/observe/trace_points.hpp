// The trace points a warp has passed. Its lanes pass each of them one after another, as fibers, where a GPU's warp
// passes it once: the n-th time that a lane comes to a label is the same event as the n-th time of the other lanes, and
// the first of them records it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace warploom::loom {

/// How often something happened: to each lane, and to the warp.
class LaneCounts {
 public:
  /// True when `lane` is the first to get this far.
  bool first(uint32_t lane) {
    if (++lanes_[lane] <= warp_) return false;
    ++warp_;
    return true;
  }

 private:
  std::array<uint32_t, 32> lanes_{};
  uint32_t warp_ = 0;
};

struct TraceLabel {
  std::string_view name;
  LaneCounts begins, ends, instants;
  std::vector<uint64_t> open;  ///< when the spans not yet ended began, the latest last
};

struct TracePoints {
  std::vector<TraceLabel> labels;

  TraceLabel& label(std::string_view name) {
    for (TraceLabel& known : labels)
      if (known.name == name) return known;
    return labels.emplace_back(TraceLabel{name, {}, {}, {}, {}});
  }
};

}  // namespace warploom::loom
