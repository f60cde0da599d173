// What the lanes of a warp do together: collectives, in which a lane waits for the others, and operations that lanes
// post (warploom/loom/posted.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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
  uint64_t number = 0;
  uint32_t lane = 0;
  uint32_t address = 0, count = 0;
  const void* pc = nullptr;
  bool cluster_scope = false;
};

/// The collectives of the whole warp that have begun and are not over: posted ones, and after them at most one in which
/// lanes wait.
class WholeWarp {
 public:
  static constexpr uint32_t most_posted = 768;  ///< a lane waits before it posts more: most tiles have fewer

  uint64_t over = 0;          ///< how many are
  bool meets = false;         ///< lanes wait in one
  bool held_up = false;       ///< the oldest posted one waits for wgmma groups
  uint32_t came = 0;          ///< lanes that have come to the oldest posted one
  uint32_t catching_up = 0;   ///< lanes that wait for what they have posted
  uint64_t caught_up_at = 0;  ///< how many must be over for one of them to go on

  uint32_t posted() const { return count_; }
  bool full() const { return first_ + count_ == most_posted; }
  Posted& operator[](uint64_t i) { return list_[first_ + i]; }
  const Posted& operator[](uint64_t i) const { return list_[first_ + i]; }
  Posted* begin() { return list_.data() + first_; }
  Posted* end() { return begin() + count_; }
  Posted& push() {
    if (list_.empty()) list_.resize(most_posted);
    Posted& posted = list_[first_ + count_++];
    posted.registers = nullptr;
    posted.same_registers = false;
    return posted;
  }
  /// The lane has come to so many more of them, the last of which is this one.
  void come(uint32_t lane, Posted& last, uint64_t more) {
    const uint32_t bit = 1u << lane;
    if (static_cast<uint64_t>(&last - begin()) >= more) (&last - more)->ends &= ~bit;
    last.ends |= bit;
    came |= bit;
  }
  void pop() {
    came &= ~list_[first_].ends;
    ++first_;
    if (--count_ == 0) first_ = 0;
  }

  /// Registers of wgmmas of this form, of which this lane's are those, if there are any.
  PostedRegisters* find_registers(uint32_t lane, const native::WgmmaForm* form, const void* d,
                                  const native::WgmmaRegisters* d_state) {
    for (auto& registers : registers_)
      if (registers->form == form && registers->d[lane] == d && registers->d_state[lane] == d_state &&
          registers->a_state[lane] == nullptr)
        return registers.get();
    return nullptr;
  }
  /// Whether a wgmma that nobody has waited for uses the lane's registers.
  bool uses(uint32_t lane, const native::WgmmaRegisters* state) const {
    for (const auto& registers : registers_)
      if (registers->uses != 0 && (registers->d_state[lane] == state || registers->a_state[lane] == state)) return true;
    return false;
  }
  /// What a lane touches when it comes to wgmmas.
  void prefetch_states(uint32_t lane) const {
    for (const auto& registers : registers_) __builtin_prefetch(registers->d_state[lane], 1);
  }
  PostedRegisters& unused_registers() {
    for (auto& registers : registers_)
      if (registers->uses == 0) return *registers = {};
    return *registers_.emplace_back(std::make_unique<PostedRegisters>());
  }

  Collective meeting;  ///< the one in which lanes wait
  /// Arrivals in the order in which they are due; of those that are due together, as they were posted.
  bool arrival_is_due() const { return !arrivals_.empty() && arrivals_.front().after <= over; }
  void post(PostedArrival arrival) {
    arrival.number = posted_arrivals_++;
    arrivals_.push_back(arrival);
    std::push_heap(arrivals_.begin(), arrivals_.end(), due_later);
  }
  PostedArrival next_arrival() {
    std::pop_heap(arrivals_.begin(), arrivals_.end(), due_later);
    const PostedArrival next = arrivals_.back();
    arrivals_.pop_back();
    return next;
  }

 private:
  static bool due_later(const PostedArrival& one, const PostedArrival& two) {
    return one.after != two.after ? one.after > two.after : one.number > two.number;
  }

  std::vector<PostedArrival> arrivals_;  ///< a heap
  uint64_t posted_arrivals_ = 0;
  std::vector<Posted> list_;
  std::vector<std::unique_ptr<PostedRegisters>> registers_;
  uint32_t first_ = 0, count_ = 0;
};

}  // namespace warploom::loom
