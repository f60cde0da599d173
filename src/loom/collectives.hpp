// What the lanes of a warp do together: collectives, in which a lane waits for the others, and operations that lanes
// post (warploom/loom/posted.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "warploom/loom/native.hpp"

namespace warploom::loom {

inline constexpr uint32_t whole_warp = 0xffffffffu;

/// What one lane brings to a warp collective.
struct LaneArguments {
  uint64_t a = 0;
  uint64_t b = 0;
  void* p = nullptr;
  void* q = nullptr;
};

/// A collective of some lanes. The n-th one that a lane joins with a mask belongs together with the n-th of the others.
struct Collective {
  const char* operation = "";
  uint32_t mask = 0;
  uint64_t sequence = 0;
  uint32_t arrived = 0;
  uint32_t first_lane = 0;
  const void* pc = nullptr;
  uint64_t time = 0;     ///< of the lane that came last in nominal time
  LaneArguments common;  ///< of the first lane, where all must bring the same
  LaneArguments lanes[32];
};

using native::Posted;
using native::PostedKind;
using native::PostedRegisters;

const char* name_of(PostedKind kind);

/// An arrival that a lane has to offer once what it posted before it has executed.
struct PostedArrival {
  uint64_t after = 0;  ///< so many collectives of the whole warp
  uint32_t lane = 0;
  uint32_t address = 0, count = 0;
  const void* pc = nullptr;
};

/// The collectives of the whole warp that have begun and are not over: posted ones, and after them at most one in which
/// lanes wait.
class WholeWarp {
 public:
  static constexpr uint32_t most_posted = 96;  ///< a lane waits before it posts more

  uint64_t over = 0;         ///< how many are
  bool meets = false;        ///< lanes wait in one
  bool held_up = false;      ///< the oldest posted one waits for wgmma groups
  uint32_t catching_up = 0;  ///< lanes that wait for what they have posted

  uint32_t posted() const { return count_; }
  bool full() const { return first_ + count_ == most_posted; }
  Posted& operator[](uint64_t i) { return list_[first_ + i]; }
  const Posted& operator[](uint64_t i) const { return list_[first_ + i]; }
  Posted* begin() { return list_.data() + first_; }
  Posted* end() { return begin() + count_; }
  Posted& push() {
    if (list_.empty()) {
      list_.resize(most_posted);
      registers_.resize(most_posted);
    }
    Posted& posted = list_[first_ + count_];
    posted.registers = &own_registers(count_++);
    posted.same_registers = false;
    return posted;
  }
  void pop() {
    ++first_;
    if (--count_ == 0) first_ = 0;
  }

  PostedRegisters& own_registers(uint64_t i) { return registers_[first_ + i]; }

  Collective meeting;  ///< the one in which lanes wait
  std::vector<PostedArrival> arrivals;

 private:
  std::vector<Posted> list_;
  std::vector<PostedRegisters> registers_;
  uint32_t first_ = 0, count_ = 0;
};

}  // namespace warploom::loom
