#include "loom/observe/check/knowledge.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

#include "loom/exec/per_thread.hpp"

namespace warploom::loom::check {
namespace {

/// A worker's own. Whoever gives a block back may have got it from another's: blocks of a size are all alike.
constexpr size_t least_bytes = 128, sizes = 7;
struct Blocks {
  ~Blocks() {
    for (auto& list : free)
      for (void* block : list) ::operator delete(block);
    closed = true;
  }
  std::vector<void*> free[sizes];  ///< of 128 bytes, 256 and so on
  bool closed = false;
};
thread_local PerThread<Blocks> blocks;
constexpr size_t most_blocks = 4096;

/// The later of each two, and who was the later one anywhere. Ticks fit into 31 bits, and signed ones are quicker to
/// compare for a processor of which nothing is known.
struct Later {
  bool a = false, b = false;
};
Later latest(uint32_t* to, const uint32_t* a, const uint32_t* b, uint32_t count) {
  int32_t differs_from_a = 0, differs_from_b = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto x = static_cast<int32_t>(a[i]), y = static_cast<int32_t>(b[i]);
    const int32_t later = x > y ? x : y;
    differs_from_a |= later ^ x;
    differs_from_b |= later ^ y;
    to[i] = static_cast<uint32_t>(later);
  }
  return {differs_from_b != 0, differs_from_a != 0};
}

size_t size_of(size_t bytes) { return std::bit_width((std::max(bytes, least_bytes) - 1) / least_bytes); }

}  // namespace

void* take_block(size_t& bytes) {
  const size_t size = size_of(bytes);
  if (size >= sizes) return ::operator new(bytes);
  bytes = least_bytes << size;
  std::vector<void*>& free = blocks->free[size];
  if (free.empty()) return ::operator new(bytes);
  void* block = free.back();
  free.pop_back();
  return block;
}

void give_block(void* block, size_t bytes) noexcept {
  const size_t size = size_of(bytes);
  if (blocks->closed || size >= sizes || blocks->free[size].size() == most_blocks) {
    ::operator delete(block);
    return;
  }
  std::vector<void*>& free = blocks->free[size];
  if (free.capacity() == 0) free.reserve(most_blocks);
  free.push_back(block);
}

Knowledge& Knowledge::operator=(const Knowledge& other) {
  if (this == &other) return *this;
  slots_ = other.slots_;
  planes_ = other.planes_;
  ticks_.renew(other.ticks_.size());
  for (const Plane plane : all_planes)
    if (has(plane)) std::memcpy(ticks_of(plane), other.ticks_of(plane), slots_ * sizeof(uint32_t));
  ahead_ = other.ahead_;
  return *this;
}

void Knowledge::grow(uint32_t slots) {
  if (slots <= slots_) return;
  constexpr uint32_t step = 16;
  const uint32_t more = (slots + step - 1) / step * step;
  Pooled<uint32_t> ticks;
  ticks.renew(size_t{plane_count} * more);
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
        if (tick(plane, i) < theirs[i] && own.tick_of(i) < theirs[i]) return false;
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
  ahead_.cut(gone);
}

Knowledge::More Knowledge::merge_ahead(std::span<const Ahead> theirs) {
  static thread_local PerThread<std::vector<Ahead>> merged_of_thread;
  std::vector<Ahead>& merged = *merged_of_thread;
  merged.clear();
  bool lifted = false;
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
    lifted = true;
  }
  const More more{lifted || !std::ranges::equal(merged, theirs), lifted || !std::ranges::equal(merged, ahead_)};
  if (more.other) ahead_.assign(merged);
  return more;
}

Knowledge::More Knowledge::join_ticks(Plane plane, const Knowledge& other, Plane from) {
  if (!other.has(from)) return {has(plane), false};
  grow(other.slots_);
  const uint32_t* theirs = other.ticks_of(from);
  uint32_t* mine = ticks_of(plane);
  if (has(plane)) {
    const Later later = latest(mine, mine, theirs, other.slots_);
    const bool longer = std::any_of(mine + other.slots_, mine + slots_, [](uint32_t tick) { return tick != 0; });
    return {later.a || longer, later.b};
  }
  std::memcpy(mine, theirs, other.slots_ * sizeof(uint32_t));
  std::memset(mine + other.slots_, 0, (slots_ - other.slots_) * sizeof(uint32_t));
  planes_ |= bit_of(plane);
  return {false, true};
}

Knowledge::Same Knowledge::join(const Knowledge& other) {
  More more;
  const auto add = [&](More part) { more = {more.me || part.me, more.other || part.other}; };
  for (const Plane plane : all_planes) add(join_ticks(plane, other, plane));
  if (!ahead_.empty() || !other.ahead_.empty()) add(merge_ahead(other.ahead_));
  return !more.other ? Same::mine : !more.me ? Same::theirs : Same::neither;
}

Knowledge::Same Knowledge::become(const Knowledge& a, const Knowledge& b) {
  if (a.slots_ != b.slots_ || a.planes_ != b.planes_) {
    *this = a;
    return join(b);
  }
  slots_ = a.slots_;
  planes_ = a.planes_;
  ticks_.renew(a.ticks_.size());
  More more;
  for (const Plane plane : all_planes) {
    if (!has(plane)) continue;
    const Later later = latest(ticks_of(plane), a.ticks_of(plane), b.ticks_of(plane), slots_);
    more = {more.me || later.a, more.other || later.b};
  }
  ahead_ = a.ahead_;
  if (!a.ahead_.empty() || !b.ahead_.empty()) {
    const More ahead = merge_ahead(b.ahead_);
    more = {more.me || ahead.me, more.other || ahead.other};
  }
  return !more.other ? Same::mine : !more.me ? Same::theirs : Same::neither;
}

void Knowledge::join(Plane plane, const Knowledge& other, Plane from) {
  join_ticks(plane, other, from);
  if (ahead_.empty() && other.ahead_.empty()) return;
  static thread_local PerThread<std::vector<Ahead>> moved_of_thread;
  std::vector<Ahead>& moved = *moved_of_thread;
  moved.clear();
  for (const Ahead& a : other.ahead_)
    if (plane_of(a.key) == from) moved.push_back({key_of(plane, slot_of(a.key), a.key % lanes), a.tick});
  merge_ahead(moved);
}

void Knowledge::meet(const Knowledge& other) {
  static thread_local PerThread<std::vector<Ahead>> kept_of_thread;
  std::vector<Ahead>& kept = *kept_of_thread;
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
  const uint32_t first = key_of(plane, slot, 0);
  const auto begin =
      std::lower_bound(ahead_.begin(), ahead_.end(), first, [](const Ahead& a, uint32_t k) { return a.key < k; });
  if (begin == ahead_.end() || begin->key >= first + lanes) return;
  const auto gone =
      std::remove_if(begin, ahead_.end(), [&](const Ahead& a) { return a.key < first + lanes && a.tick <= tick; });
  ahead_.cut(gone);
}

void Knowledge::raise(Plane plane, uint32_t slot, uint32_t lane, uint32_t tick) {
  if (this->tick(plane, slot) >= tick) return;
  const uint32_t key = key_of(plane, slot, lane);
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), key, [](const Ahead& a, uint32_t k) { return a.key < k; });
  if (found != ahead_.end() && found->key == key) {
    found->tick = std::max(found->tick, tick);
    return;
  }
  auto first = ahead_.insert(found, {key, tick});
  // All lanes are ahead? Then so is the slot.
  auto last = first + 1;
  while (first != ahead_.begin() && (first - 1)->key / lanes == key / lanes) --first;
  while (last != ahead_.end() && last->key / lanes == key / lanes) ++last;
  if (last - first == lanes) merge_ahead({});
}

bool Knowledge::identical(const Knowledge& other) const {
  if (slots_ != other.slots_ || planes_ != other.planes_ || !std::ranges::equal(ahead_, other.ahead_)) return false;
  return std::ranges::all_of(all_planes, [&](Plane plane) {
    return !has(plane) || std::memcmp(ticks_of(plane), other.ticks_of(plane), slots_ * sizeof(uint32_t)) == 0;
  });
}

bool operator==(const Knowledge& a, const Knowledge& b) {
  for (const Plane plane : all_planes)
    if (!a.covers(plane, b) || !b.covers(plane, a)) return false;
  return true;
}

}  // namespace warploom::loom::check
