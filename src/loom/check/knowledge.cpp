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
  for (const Ahead& a : other.ahead_) {
    const size_t slot = a.key / lanes;
    const auto lane = static_cast<uint8_t>(a.key % lanes);
    if (slot % plane_count != static_cast<uint32_t>(plane)) continue;
    if (slot == mine && (a.tick <= own.met || (lane == own.lane && a.tick <= own.tick))) continue;
    if (lane_tick(slot, lane) < a.tick) return false;
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

void Knowledge::join(const Knowledge& other) {
  grow(other.ticks_.size());
  for (size_t i = 0; i < other.ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  for (const Ahead& a : other.ahead_) {
    const size_t at = a.key / lanes;
    if (at < ticks_.size() && ticks_[at] >= a.tick) continue;
    uint32_t& mine = ahead_at(a.key);
    mine = std::max(mine, a.tick);
  }
  if (!ahead_.empty()) settle();
}

void Knowledge::join(Plane plane, const Knowledge& other, Plane from) {
  grow(other.ticks_.size());
  const auto to = static_cast<uint32_t>(plane), source = static_cast<uint32_t>(from);
  for (size_t i = 0; i + plane_count <= other.ticks_.size(); i += plane_count)
    ticks_[i + to] = std::max(ticks_[i + to], other.ticks_[i + source]);
  const std::vector<Ahead> theirs = &other == this ? other.ahead_ : std::vector<Ahead>();
  for (const Ahead& a : &other == this ? theirs : other.ahead_) {
    const size_t at = a.key / lanes;
    if (at % plane_count != source) continue;
    const size_t target = at - source + to;
    grow((target / plane_count + 1) * plane_count);
    if (ticks_[target] >= a.tick) continue;
    uint32_t& mine = ahead_at(static_cast<uint32_t>(target * lanes + a.key % lanes));
    mine = std::max(mine, a.tick);
  }
  if (!ahead_.empty()) settle();
}

void Knowledge::meet(const Knowledge& other) {
  std::vector<Ahead> kept;
  const auto keep = [&](const Ahead& a) {
    const auto lane = static_cast<uint8_t>(a.key % lanes);
    const uint32_t tick = std::min(lane_tick(a.key / lanes, lane), other.lane_tick(a.key / lanes, lane));
    if (tick != 0) kept.push_back({a.key, tick});
  };
  for (const Ahead& a : ahead_) keep(a);
  for (const Ahead& a : other.ahead_) keep(a);
  for (size_t i = 0; i < ticks_.size(); ++i)
    ticks_[i] = i < other.ticks_.size() ? std::min(ticks_[i], other.ticks_[i]) : 0;
  std::sort(kept.begin(), kept.end(), [](const Ahead& a, const Ahead& b) { return a.key < b.key; });
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  ahead_ = std::move(kept);
  if (!ahead_.empty()) settle();
}

void Knowledge::raise(Plane plane, uint32_t slot, uint32_t tick) {
  const size_t at = index(plane, slot);
  grow((size_t{slot} + 1) * plane_count);
  if (ticks_[at] >= tick) return;
  ticks_[at] = tick;
  if (!ahead_.empty()) settle();
}

void Knowledge::raise(Plane plane, uint32_t slot, uint8_t lane, uint32_t tick) {
  const size_t at = index(plane, slot);
  grow((size_t{slot} + 1) * plane_count);
  if (ticks_[at] >= tick) return;
  uint32_t& mine = ahead_at(static_cast<uint32_t>(at * lanes + lane));
  mine = std::max(mine, tick);
  settle();
}

void Knowledge::settle() {
  size_t kept = 0;
  for (size_t i = 0; i < ahead_.size();) {
    const size_t at = ahead_[i].key / lanes;
    size_t end = i;
    uint32_t least = ~0u;
    for (; end < ahead_.size() && ahead_[end].key / lanes == at; ++end) least = std::min(least, ahead_[end].tick);
    if (end - i == lanes && ticks_[at] < least) ticks_[at] = least;
    for (; i < end; ++i)
      if (ahead_[i].tick > ticks_[at]) ahead_[kept++] = ahead_[i];
  }
  ahead_.resize(kept);
}

bool operator==(const Knowledge& a, const Knowledge& b) {
  for (const Plane plane : all_planes)
    if (!a.covers(plane, b) || !b.covers(plane, a)) return false;
  return true;
}

}  // namespace warploom::loom::check
