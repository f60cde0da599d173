// What an agent (a thread, or work in flight) may rely on: vector clocks over warps and asynchronous operations.
//
// A slot is a warp, or one asynchronous operation at a time. A warp's clock ticks per lane: the lanes of a warp are
// brought to one tick whenever they synchronise, so that code without divergence costs one number per warp; what a lane
// does beyond that is kept apart (`ahead`) until all its neighbours have caught up.
//
// There are four clocks, one per plane, because "it is over" and "I see what it wrote" are different things on this
// hardware (docs/hardware.md §1.6, §2.6, §4.5).
#pragma once

#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstdint>
#include <span>
#include <utility>

#include "loom/observe/check/pooled.hpp"

namespace warploom::loom::check {

enum class Plane : uint8_t {
  happened,  ///< it is over, in every schedule
  visible,   ///< its writes are seen by ordinary loads and stores
  async,     ///< ... by the async proxy: TMA, tensor cores
  tensor,    ///< ... by tcgen05 operations on tensor memory
};
inline constexpr uint32_t plane_count = 4;
inline constexpr Plane all_planes[] = {Plane::happened, Plane::visible, Plane::async, Plane::tensor};

inline constexpr uint32_t whole_slot = 0xff;  ///< the lane of a stamp that is an operation's

/// A moment of a slot. Ticks start at 1.
struct Stamp {
  uint32_t slot = 0;
  uint32_t tick = 0;
  uint32_t lane = whole_slot;  ///< no byte: one written into padding is slow to read back as a word

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// Bare arrivals of one lane at barriers: what it does between meetings of its warp, when it does nothing else. They
/// have a slot of their own, so that nobody has to keep the lane apart from its warp.
struct Voice {
  uint32_t slot = 0;
  uint32_t lane = 0;
  uint32_t said = 0;  ///< so many times
  uint32_t met = 0;   ///< ... that the other lanes know of
};

class Knowledge {
 public:
  Knowledge() = default;
  Knowledge(const Knowledge& other) { *this = other; }
  Knowledge(Knowledge&& other) noexcept { *this = std::move(other); }
  Knowledge& operator=(const Knowledge& other);
  Knowledge& operator=(Knowledge&& other) noexcept {
    slots_ = std::exchange(other.slots_, 0);
    planes_ = std::exchange(other.planes_, 0);
    ticks_ = std::move(other.ticks_);
    ahead_ = std::move(other.ahead_);
    return *this;
  }
  ~Knowledge() = default;

  bool covers(Plane plane, const Stamp& stamp) const;
  /// Everything that `other` knows on this plane.
  bool covers(Plane plane, const Knowledge& other) const { return covers(plane, other, {}); }
  /// What a thread knows beside this: its whole warp up to `met`, and its own lane up to `tick` (0: whichever it is).
  struct Own {
    uint32_t warp = ~0u;
    uint32_t met = 0;
    uint32_t lane = 0;
    uint32_t tick = 0;
    std::span<const Voice> voices = {};  ///< of the warp

    uint32_t tick_of(uint32_t slot) const {
      if (slot == warp) return met;
      for (const Voice& voice : voices)
        if (voice.slot == slot) return voice.lane == lane && tick != 0 ? voice.said : voice.met;
      return 0;
    }
  };
  bool covers(Plane plane, const Knowledge& other, const Own& own) const;

  /// All planes at once. Says whether it is what one of the two knew already.
  enum class Same : uint8_t { neither, mine, theirs };
  Same join(const Knowledge& other);
  /// Becomes what both know. Nobody else's, neither of the two.
  Same become(const Knowledge& a, const Knowledge& b);
  void join(Plane plane, const Knowledge& other, Plane from);
  /// Keeps only what both know.
  void meet(const Knowledge& other);
  void forget(Plane plane);

  /// The whole slot up to this tick.
  void raise(Plane plane, uint32_t slot, uint32_t tick);
  /// One lane of a warp.
  void raise(Plane plane, uint32_t slot, uint32_t lane, uint32_t tick);
  void raise(Plane plane, const Stamp& stamp) {
    if (stamp.lane == whole_slot)
      raise(plane, stamp.slot, stamp.tick);
    else
      raise(plane, stamp.slot, stamp.lane, stamp.tick);
  }

  uint32_t tick(Plane plane, uint32_t slot) const { return slot < slots_ && has(plane) ? ticks_of(plane)[slot] : 0; }
  friend bool operator==(const Knowledge& a, const Knowledge& b);
  /// Equal, and written down the same way: quick to tell, and not for all that are equal.
  [[nodiscard]] bool identical(const Knowledge& other) const;

 private:
  struct Ahead {
    uint32_t key = 0;  ///< slot, plane and lane
    uint32_t tick = 0;
    friend bool operator==(const Ahead&, const Ahead&) = default;
  };
  static constexpr uint32_t lanes = 32;
  static constexpr uint32_t key_of(Plane plane, uint32_t slot, uint32_t lane) {
    return (slot * plane_count + static_cast<uint32_t>(plane)) * lanes + lane;
  }
  static constexpr Plane plane_of(uint32_t key) { return static_cast<Plane>(key / lanes % plane_count); }
  static constexpr uint32_t slot_of(uint32_t key) { return key / (lanes * plane_count); }
  static constexpr uint8_t bit_of(Plane plane) { return static_cast<uint8_t>(1u << static_cast<uint32_t>(plane)); }

  bool has(Plane plane) const { return (planes_ & bit_of(plane)) != 0; }
  const uint32_t* ticks_of(Plane plane) const { return ticks_.data() + size_t{static_cast<uint32_t>(plane)} * slots_; }
  uint32_t* ticks_of(Plane plane) { return ticks_.data() + size_t{static_cast<uint32_t>(plane)} * slots_; }
  /// To be raised: of at least so many slots.
  uint32_t* open(Plane plane, uint32_t slots);
  void grow(uint32_t slots);
  /// Who knew more than the other.
  struct More {
    bool me = false, other = false;
  };
  More join_ticks(Plane plane, const Knowledge& other, Plane from);
  /// Adds those, drops what the slots' own ticks cover, and lifts a slot all of whose lanes are ahead.
  More merge_ahead(std::span<const Ahead> theirs);

  uint32_t slots_ = 0;      ///< of each plane
  uint8_t planes_ = 0;      ///< those on which anything is known; the ticks of others mean nothing
  Pooled<uint32_t> ticks_;  ///< [plane][slot]
  Pooled<Ahead> ahead_;     ///< sorted by key; above the slot's tick
};

/// Counted without atomics: a cluster is run, and its knowledge passed around, by one thread at a time.
using KnowledgeRef = boost::local_shared_ptr<const Knowledge>;
using OwnKnowledge = boost::local_shared_ptr<Knowledge>;

/// Where shared knowledge lies: much of it is made, and most lives shortly.
template <class T>
struct KnowledgePool {
  using value_type = T;
  KnowledgePool() = default;
  template <class U>
  KnowledgePool(const KnowledgePool<U>&) {}
  T* allocate(size_t count) {
    size_t bytes = count * sizeof(T);
    return static_cast<T*>(take_block(bytes));
  }
  void deallocate(T* block, size_t count) noexcept { give_block(block, count * sizeof(T)); }
  friend bool operator==(const KnowledgePool&, const KnowledgePool&) { return true; }
};

template <class... Arguments>
OwnKnowledge make_knowledge(Arguments&&... arguments) {
  return boost::allocate_local_shared<Knowledge>(KnowledgePool<Knowledge>(), std::forward<Arguments>(arguments)...);
}

}  // namespace warploom::loom::check
