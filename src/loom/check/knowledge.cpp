#include "loom/check/knowledge.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace warploom::loom::check {
namespace {

/// A worker's own. Whoever gives a block back may have got it from another's: blocks are all alike.
struct Blocks {
  ~Blocks() {
    for (void* block : free) ::operator delete(block);
    closed = true;
  }
  std::vector<void*> free;
  size_t bytes = 0;
  bool closed = false;
};
thread_local Blocks blocks;
constexpr size_t most_blocks = 4096;

}  // namespace

void* take_block(size_t bytes) {
  if (blocks.bytes != bytes || blocks.free.empty()) return ::operator new(bytes);
  void* block = blocks.free.back();
  blocks.free.pop_back();
  return block;
}

void give_block(void* block, size_t bytes) noexcept {
  if (blocks.bytes == 0) blocks.bytes = bytes;
  if (blocks.closed || blocks.bytes != bytes || blocks.free.size() == most_blocks) {
    ::operator delete(block);
    return;
  }
  if (blocks.free.capacity() == 0) blocks.free.reserve(most_blocks);
  blocks.free.push_back(block);
}

Knowledge& Knowledge::operator=(const Knowledge& other) {
  if (this == &other) return *this;
  slots_ = other.slots_;
  planes_ = other.planes_;
  ticks_.resize(other.ticks_.size(), boost::container::default_init);
  for (const Plane plane : all_planes)
    if (has(plane)) std::memcpy(ticks_of(plane), other.ticks_of(plane), slots_ * sizeof(uint32_t));
  ahead_.assign(other.ahead_.begin(), other.ahead_.end());
  return *this;
}

void Knowledge::grow(uint32_t slots) {
  if (slots <= slots_) return;
  constexpr uint32_t step = 16;
  const uint32_t more = (slots + step - 1) / step * step;
  decltype(ticks_) ticks(size_t{plane_count} * more, boost::container::default_init);
  for (const Plane plane : all_planes) {
    if (!has(plane)) continue;
    uint32_t* to = ticks.data() + size_t{static_cast<uint32_t>(plane)} * more;
    std::memcpy(to, ticks_of(plane), slots_ * sizeof(uint32_t));
    std::memset(to + slots_, 0, (more - slots_) * sizeof(uint32_t));
  }
  ticks_ = std::move(ticks);
  slots_ = more;
}

uint32_t* Knowledge::open(Plane plane, uint32_t slots) {
  grow(slots);
  uint32_t* ticks = ticks_of(plane);
  if (!has(plane)) std::memset(ticks, 0, slots_ * sizeof(uint32_t));
  planes_ |= bit_of(plane);
  return ticks;
}

bool Knowledge::covers(Plane plane, const Stamp& stamp) const {
  if (tick(plane, stamp.slot) >= stamp.tick) return true;
  if (stamp.lane == whole_slot || ahead_.empty()) return false;
  const uint32_t key = key_of(plane, stamp.slot, stamp.lane);
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), key, [](const Ahead& a, uint32_t k) { return a.key < k; });
  return found != ahead_.end() && found->key == key && found->tick >= stamp.tick;
}

bool Knowledge::covers(Plane plane, const Knowledge& other, const Own& own) const {
  if (other.has(plane)) {
    const uint32_t* theirs = other.ticks_of(plane);
    const uint32_t common = has(plane) ? std::min(slots_, other.slots_) : 0;
    uint32_t behind = 0;
    if (common != 0) {
      const uint32_t* mine = ticks_of(plane);
      for (uint32_t i = 0; i < common; ++i) behind |= static_cast<uint32_t>(mine[i] < theirs[i]);
    }
    for (uint32_t i = common; i < other.slots_; ++i) behind |= theirs[i];
    // Perhaps it is only what the thread knows of its own warp.
    if (behind != 0) {
      for (uint32_t i = 0; i < other.slots_; ++i) {
        const uint32_t known = std::max(tick(plane, i), i == own.warp ? own.met : 0);
        if (known < theirs[i]) return false;
      }
    }
  }
  // Both lists are sorted by key.
  auto known = ahead_.begin();
  for (const Ahead& a : other.ahead_) {
    if (plane_of(a.key) != plane) continue;
    const uint32_t slot = slot_of(a.key);
    if (tick(plane, slot) >= a.tick) continue;
    if (slot == own.warp && (a.tick <= own.met || (a.key % lanes == own.lane && a.tick <= own.tick))) continue;
    while (known != ahead_.end() && known->key < a.key) ++known;
    if (known == ahead_.end() || known->key != a.key || known->tick < a.tick) return false;
  }
  return true;
}

void Knowledge::forget(Plane plane) {
  planes_ &= static_cast<uint8_t>(~bit_of(plane));
  if (ahead_.empty()) return;
  const auto gone =
      std::remove_if(ahead_.begin(), ahead_.end(), [&](const Ahead& a) { return plane_of(a.key) == plane; });
  ahead_.erase(gone, ahead_.end());
}

void Knowledge::merge_ahead(std::span<const Ahead> theirs) {
  static thread_local std::vector<Ahead> merged;
  merged.clear();
  size_t begin = 0;  // in `merged`, of the slot at hand
  auto mine = ahead_.begin();
  auto other = theirs.begin();
  while (mine != ahead_.end() || other != theirs.end()) {
    Ahead next;
    if (other == theirs.end() || (mine != ahead_.end() && mine->key < other->key)) {
      next = *mine++;
    } else if (mine == ahead_.end() || other->key < mine->key) {
      next = *other++;
    } else {
      next = {mine->key, std::max(mine->tick, other->tick)};
      ++mine, ++other;
    }
    if (next.tick <= tick(plane_of(next.key), slot_of(next.key))) continue;
    const uint32_t group = next.key / lanes;
    if (merged.size() > begin && merged[begin].key / lanes != group) begin = merged.size();
    merged.push_back(next);
    if (merged.size() - begin < lanes) continue;
    // All lanes are ahead: so is the slot.
    uint32_t least = ~0u;
    for (size_t i = begin; i < merged.size(); ++i) least = std::min(least, merged[i].tick);
    open(plane_of(next.key), slot_of(next.key) + 1)[slot_of(next.key)] = least;
    const auto first = merged.begin() + static_cast<std::ptrdiff_t>(begin);
    merged.erase(std::remove_if(first, merged.end(), [&](const Ahead& a) { return a.tick <= least; }), merged.end());
    begin = merged.size();
  }
  ahead_.assign(merged.begin(), merged.end());
}

void Knowledge::join_ticks(Plane plane, const Knowledge& other, Plane from) {
  if (!other.has(from)) return;
  grow(other.slots_);
  const uint32_t* theirs = other.ticks_of(from);
  uint32_t* mine = ticks_of(plane);
  if (has(plane)) {
    for (uint32_t i = 0; i < other.slots_; ++i) mine[i] = std::max(mine[i], theirs[i]);
    return;
  }
  std::memcpy(mine, theirs, other.slots_ * sizeof(uint32_t));
  std::memset(mine + other.slots_, 0, (slots_ - other.slots_) * sizeof(uint32_t));
  planes_ |= bit_of(plane);
}

void Knowledge::join(const Knowledge& other) {
  for (const Plane plane : all_planes) join_ticks(plane, other, plane);
  if (!ahead_.empty() || !other.ahead_.empty()) merge_ahead({other.ahead_.data(), other.ahead_.size()});
}

void Knowledge::join(Plane plane, const Knowledge& other, Plane from) {
  join_ticks(plane, other, from);
  if (ahead_.empty() && other.ahead_.empty()) return;
  static thread_local std::vector<Ahead> moved;
  moved.clear();
  for (const Ahead& a : other.ahead_)
    if (plane_of(a.key) == from) moved.push_back({key_of(plane, slot_of(a.key), a.key % lanes), a.tick});
  merge_ahead(moved);
}

void Knowledge::meet(const Knowledge& other) {
  static thread_local std::vector<Ahead> kept;
  kept.clear();
  auto mine = ahead_.begin();
  auto theirs = other.ahead_.begin();
  while (mine != ahead_.end() || theirs != other.ahead_.end()) {
    const bool only_mine = theirs == other.ahead_.end() || (mine != ahead_.end() && mine->key < theirs->key);
    const bool only_theirs = !only_mine && (mine == ahead_.end() || theirs->key < mine->key);
    const uint32_t key = only_theirs ? theirs->key : mine->key;
    const uint32_t a = only_theirs ? tick(plane_of(key), slot_of(key)) : mine->tick;
    const uint32_t b = only_mine ? other.tick(plane_of(key), slot_of(key)) : theirs->tick;
    if (!only_theirs) ++mine;
    if (!only_mine) ++theirs;
    if (std::min(a, b) != 0) kept.push_back({key, std::min(a, b)});
  }
  planes_ &= other.planes_;
  for (const Plane plane : all_planes) {
    if (!has(plane)) continue;
    const uint32_t common = std::min(slots_, other.slots_);
    uint32_t* ticks = ticks_of(plane);
    const uint32_t* others = other.ticks_of(plane);
    for (uint32_t i = 0; i < common; ++i) ticks[i] = std::min(ticks[i], others[i]);
    std::memset(ticks + common, 0, (slots_ - common) * sizeof(uint32_t));
  }
  ahead_.clear();
  if (!kept.empty()) merge_ahead(kept);
}

void Knowledge::raise(Plane plane, uint32_t slot, uint32_t tick) {
  uint32_t& known = open(plane, slot + 1)[slot];
  if (known >= tick) return;
  known = tick;
  if (ahead_.empty()) return;
  const uint32_t group = key_of(plane, slot, 0) / lanes;
  const auto gone = std::remove_if(ahead_.begin(), ahead_.end(),
                                   [&](const Ahead& a) { return a.key / lanes == group && a.tick <= tick; });
  ahead_.erase(gone, ahead_.end());
}

void Knowledge::raise(Plane plane, uint32_t slot, uint8_t lane, uint32_t tick) {
  if (this->tick(plane, slot) >= tick) return;
  const uint32_t key = key_of(plane, slot, lane);
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), key, [](const Ahead& a, uint32_t k) { return a.key < k; });
  if (found != ahead_.end() && found->key == key) {
    found->tick = std::max(found->tick, tick);
    return;
  }
  ahead_.insert(found, {key, tick});
  if (ahead_.size() >= lanes) merge_ahead({});
}

bool operator==(const Knowledge& a, const Knowledge& b) {
  for (const Plane plane : all_planes)
    if (!a.covers(plane, b) || !b.covers(plane, a)) return false;
  return true;
}

}  // namespace warploom::loom::check
