// What an agent (a thread, or work in flight) may rely on: vector clocks over warps and asynchronous operations.
//
// A slot is a warp, or one asynchronous operation at a time. A warp's clock ticks per lane: the lanes of a warp are
// brought to one tick whenever they synchronise, so that code without divergence costs one number per warp; what a lane
// does beyond that is kept apart (`ahead`) until all its neighbours have caught up.
//
// There are four clocks, one per plane, because "it is over" and "I see what it wrote" are different things on this
// hardware (docs/hardware.md §1.6, §2.6, §4.5).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace warploom::loom::check {

enum class Plane : uint8_t {
  happened,  ///< it is over, in every schedule
  visible,   ///< its writes are seen by ordinary loads and stores
  async,     ///< ... by the async proxy: TMA, tensor cores
  tensor,    ///< ... by tcgen05 operations on tensor memory
};
inline constexpr uint32_t plane_count = 4;
inline constexpr Plane all_planes[] = {Plane::happened, Plane::visible, Plane::async, Plane::tensor};

inline constexpr uint8_t whole_slot = 0xff;  ///< the lane of a stamp that is an operation's

/// A moment of a slot. Ticks start at 1.
struct Stamp {
  uint32_t slot = 0;
  uint32_t tick = 0;
  uint8_t lane = whole_slot;

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

class Knowledge {
 public:
  bool covers(Plane plane, const Stamp& stamp) const;
  /// Everything that `other` knows on this plane.
  bool covers(Plane plane, const Knowledge& other) const { return covers(plane, other, {}); }
  /// What a thread knows beside this: its whole warp up to `met`, and its own lane up to `tick`.
  struct Own {
    uint32_t warp = ~0u;
    uint32_t met = 0;
    uint8_t lane = 0;
    uint32_t tick = 0;
  };
  bool covers(Plane plane, const Knowledge& other, const Own& own) const;

  /// All planes at once.
  void join(const Knowledge& other);
  void join(Plane plane, const Knowledge& other, Plane from);
  /// Keeps only what both know.
  void meet(const Knowledge& other);
  void forget(Plane plane);

  /// The whole slot up to this tick.
  void raise(Plane plane, uint32_t slot, uint32_t tick);
  /// One lane of a warp.
  void raise(Plane plane, uint32_t slot, uint8_t lane, uint32_t tick);
  void raise(Plane plane, const Stamp& stamp) {
    if (stamp.lane == whole_slot)
      raise(plane, stamp.slot, stamp.tick);
    else
      raise(plane, stamp.slot, stamp.lane, stamp.tick);
  }

  uint32_t tick(Plane plane, uint32_t slot) const {
    const size_t at = index(plane, slot);
    return at < ticks_.size() ? ticks_[at] : 0;
  }
  friend bool operator==(const Knowledge& a, const Knowledge& b);

 private:
  struct Ahead {
    uint32_t key = 0;  ///< index of the slot's tick, and the lane
    uint32_t tick = 0;
    friend bool operator==(const Ahead&, const Ahead&) = default;
  };
  static constexpr uint32_t lanes = 32;
  static constexpr size_t index(Plane plane, uint32_t slot) {
    return size_t{slot} * plane_count + static_cast<uint32_t>(plane);
  }
  void grow(size_t size) {
    if (ticks_.size() < size) ticks_.resize(size);
  }
  uint32_t& ahead_at(uint32_t key);
  uint32_t lane_tick(size_t at, uint8_t lane) const;
  /// Adds those, drops what the slots' own ticks cover, and lifts a slot all of whose lanes are ahead.
  void merge_ahead(std::span<const Ahead> theirs);

  std::vector<uint32_t> ticks_;  ///< [slot][plane]
  std::vector<Ahead> ahead_;     ///< sorted by key; above the slot's tick
};

using KnowledgeRef = std::shared_ptr<const Knowledge>;

}  // namespace warploom::loom::check
