#include "loom/check/knowledge.hpp"

#include <algorithm>

namespace warploom::loom::check {

uint32_t Knowledge::lane_tick(size_t at, uint8_t lane) const {
  const uint32_t base = at < ticks_.size() ? ticks_[at] : 0;
  if (ahead_.empty()) return base;
  const auto key = static_cast<uint32_t>(at * lanes + lane);
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), key, [](const Ahead& a, uint32_t k) { return a.key < k; });
  return found != ahead_.end() && found->key == key ? std::max(base, found->tick) : base;
}

bool Knowledge::covers(Plane plane, const Stamp& stamp) const {
  const size_t at = index(plane, stamp.slot);
  if (at < ticks_.size() && ticks_[at] >= stamp.tick) return true;
  return stamp.lane != whole_slot && lane_tick(at, stamp.lane) >= stamp.tick;
}

bool Knowledge::covers(Plane plane, const Knowledge& other, const Own& own) const {
  const size_t common = std::min(ticks_.size(), other.ticks_.size());
  const size_t mine = own.warp == ~0u ? ~size_t{0} : index(plane, own.warp);
  if (mine < other.ticks_.size() && other.ticks_[mine] > own.met &&
      (mine >= ticks_.size() || other.ticks_[mine] > ticks_[mine]))
    return false;
  size_t at = static_cast<uint32_t>(plane);
  bool all = true;
  for (; at < common; at += plane_count) all &= ticks_[at] >= other.ticks_[at] || at == mine;
  for (; at < other.ticks_.size(); at += plane_count) all &= other.ticks_[at] == 0 || at == mine;
  if (!all) return false;
  // Both lists are sorted by key.
  auto known = ahead_.begin();
  for (const Ahead& a : other.ahead_) {
    const size_t slot = a.key / lanes;
    if (slot % plane_count != static_cast<uint32_t>(plane)) continue;
    if (slot < ticks_.size() && ticks_[slot] >= a.tick) continue;
    if (slot == mine && (a.tick <= own.met || (a.key % lanes == own.lane && a.tick <= own.tick))) continue;
    while (known != ahead_.end() && known->key < a.key) ++known;
    if (known == ahead_.end() || known->key != a.key || known->tick < a.tick) return false;
  }
  return true;
}

void Knowledge::forget(Plane plane) {
  for (size_t at = static_cast<uint32_t>(plane); at < ticks_.size(); at += plane_count) ticks_[at] = 0;
  std::erase_if(ahead_, [&](const Ahead& a) { return a.key / lanes % plane_count == static_cast<uint32_t>(plane); });
}

uint32_t& Knowledge::ahead_at(uint32_t key) {
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), key, [](const Ahead& a, uint32_t k) { return a.key < k; });
  if (found != ahead_.end() && found->key == key) return found->tick;
  return ahead_.insert(found, {key, 0})->tick;
}

void Knowledge::merge_ahead(std::span<const Ahead> theirs) {
  static thread_local std::vector<Ahead> merged;
  merged.clear();
  size_t slot_begin = 0;  // in `merged`, of the slot at hand
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
    const size_t slot = next.key / lanes;
    if (next.tick <= ticks_[slot]) continue;
    if (merged.size() > slot_begin && merged[slot_begin].key / lanes != slot) slot_begin = merged.size();
    merged.push_back(next);
    if (merged.size() - slot_begin < lanes) continue;
    // All lanes are ahead: so is the slot.
    uint32_t least = ~0u;
    for (size_t i = slot_begin; i < merged.size(); ++i) least = std::min(least, merged[i].tick);
    ticks_[slot] = least;
    const auto begin = merged.begin() + static_cast<std::ptrdiff_t>(slot_begin);
    merged.erase(std::remove_if(begin, merged.end(), [&](const Ahead& a) { return a.tick <= least; }), merged.end());
    slot_begin = merged.size();
  }
  ahead_.assign(merged.begin(), merged.end());
}

void Knowledge::join(const Knowledge& other) {
  grow(other.ticks_.size());
  for (size_t i = 0; i < other.ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  if (!ahead_.empty() || !other.ahead_.empty()) merge_ahead(other.ahead_);
}

void Knowledge::join(Plane plane, const Knowledge& other, Plane from) {
  grow(other.ticks_.size());
  const auto to = static_cast<uint32_t>(plane), source = static_cast<uint32_t>(from);
  for (size_t i = 0; i + plane_count <= other.ticks_.size(); i += plane_count)
    ticks_[i + to] = std::max(ticks_[i + to], other.ticks_[i + source]);
  if (ahead_.empty() && other.ahead_.empty()) return;
  static thread_local std::vector<Ahead> moved;
  moved.clear();
  for (const Ahead& a : other.ahead_)
    if (a.key / lanes % plane_count == source) moved.push_back({a.key - source * lanes + to * lanes, a.tick});
  merge_ahead(moved);
}

void Knowledge::meet(const Knowledge& other) {
  static thread_local std::vector<Ahead> kept;
  kept.clear();
  const auto tick_of = [](const std::vector<uint32_t>& ticks, size_t slot) {
    return slot < ticks.size() ? ticks[slot] : 0;
  };
  auto mine = ahead_.begin();
  auto theirs = other.ahead_.begin();
  while (mine != ahead_.end() || theirs != other.ahead_.end()) {
    const bool only_mine = theirs == other.ahead_.end() || (mine != ahead_.end() && mine->key < theirs->key);
    const bool only_theirs = !only_mine && (mine == ahead_.end() || theirs->key < mine->key);
    const uint32_t key = only_theirs ? theirs->key : mine->key;
    const uint32_t a = only_theirs ? tick_of(ticks_, key / lanes) : mine->tick;
    const uint32_t b = only_mine ? tick_of(other.ticks_, key / lanes) : theirs->tick;
    if (!only_theirs) ++mine;
    if (!only_mine) ++theirs;
    if (std::min(a, b) != 0) kept.push_back({key, std::min(a, b)});
  }
  for (size_t i = 0; i < ticks_.size(); ++i)
    ticks_[i] = i < other.ticks_.size() ? std::min(ticks_[i], other.ticks_[i]) : 0;
  ahead_.clear();
  if (kept.empty()) return;
  grow((kept.back().key / lanes / plane_count + 1) * plane_count);
  merge_ahead(kept);
}

void Knowledge::raise(Plane plane, uint32_t slot, uint32_t tick) {
  const size_t at = index(plane, slot);
  grow((size_t{slot} + 1) * plane_count);
  if (ticks_[at] >= tick) return;
  ticks_[at] = tick;
  if (!ahead_.empty()) std::erase_if(ahead_, [&](const Ahead& a) { return a.key / lanes == at && a.tick <= tick; });
}

void Knowledge::raise(Plane plane, uint32_t slot, uint8_t lane, uint32_t tick) {
  const size_t at = index(plane, slot);
  grow((size_t{slot} + 1) * plane_count);
  if (ticks_[at] >= tick) return;
  uint32_t& mine = ahead_at(static_cast<uint32_t>(at * lanes + lane));
  const bool added = mine == 0;
  mine = std::max(mine, tick);
  if (added && ahead_.size() >= lanes) merge_ahead({});
}

bool operator==(const Knowledge& a, const Knowledge& b) {
  for (const Plane plane : all_planes)
    if (!a.covers(plane, b) || !b.covers(plane, a)) return false;
  return true;
}

}  // namespace warploom::loom::check
