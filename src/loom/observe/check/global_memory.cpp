#include "loom/observe/check/global_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace warploom::loom::check {
namespace {

constexpr uint16_t all_bytes = 0xffff;

Stamp stamp_of(const GlobalAccess& access, uint8_t lane) {
  return {access.slot, access.tick, access.by_thread ? lane : whole_slot};
}

}  // namespace

GlobalMemory::GlobalMemory(std::span<const TensorRef> tensors) : stores_(1) {
  sites_.emplace_back();
  for (const TensorRef& ref : tensors) {
    const auto begin = reinterpret_cast<uintptr_t>(ref.pointer);
    if (ref.access == Access::write && ref.bytes != 0) writable_.push_back({begin, begin + ref.bytes, ref.name});
  }
  for (const Writable& tensor : writable_)
    regions_.push_back({tensor.begin / page_bytes, (tensor.end - 1) / page_bytes, {}});
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.first < b.first; });
  std::vector<Region> apart;
  for (Region& region : regions_) {
    if (!apart.empty() && region.first <= apart.back().last)
      apart.back().last = std::max(apart.back().last, region.last);
    else
      apart.push_back(std::move(region));
  }
  regions_.swap(apart);
  for (Region& region : regions_) region.chunks.resize((region.last - region.first) / chunk_pages + 1);
}

bool GlobalMemory::follows(const void* begin, const void* end) const {
  const auto first = reinterpret_cast<uintptr_t>(begin), last = reinterpret_cast<uintptr_t>(end);
  return std::any_of(writable_.begin(), writable_.end(),
                     [&](const Writable& tensor) { return first < tensor.end && last > tensor.begin; });
}

std::string GlobalMemory::place_of(uintptr_t address) const {
  for (const Writable& tensor : writable_)
    if (address >= tensor.begin && address < tensor.end)
      return fmt::format("{} + 0x{:x}", tensor.name[0] != '\0' ? tensor.name : "a tensor", address - tensor.begin);
  return "global memory";
}

uint32_t GlobalMemory::add_site(const void* pc, const char* operation, const Agents& agents) {
  sites_.push_back({pc, operation, agents});
  return static_cast<uint32_t>(sites_.size() - 1);
}

uint32_t GlobalMemory::add_store() {
  stores_.emplace_back();
  return static_cast<uint32_t>(stores_.size() - 1);
}

// ---- order

bool GlobalMemory::covers(const View& view, Plane plane, uint32_t cluster, const Stamp& stamp) const {
  if (cluster == view.cluster) return view.here->covers(plane, stamp);
  const auto heard = acquires_.find(view.cluster);
  if (heard == acquires_.end()) return false;
  return std::any_of(heard->second.begin(), heard->second.end(), [&](const Acquire& acquire) {
    if (!view.here->covers(Plane::visible, acquire.at)) return false;
    return std::any_of(acquire.told->begin(), acquire.told->end(),
                       [&](const auto& told) { return told.first == cluster && told.second->covers(plane, stamp); });
  });
}

bool GlobalMemory::fenced_between(const GlobalAccess& earlier, const Stamp& stamp, const View& view) const {
  return std::any_of(fences_.rbegin(), fences_.rend(), [&](const Fence& fence) {
    const Viewpoint there(*fence.knows);
    return covers({fence.cluster, &there}, Plane::visible, earlier.cluster, stamp) &&
           covers(view, Plane::visible, fence.cluster, fence.at);
  });
}

/// The write, a release that knows of it, an acquire in the CTA of the use that knows of that, the use.
bool GlobalMemory::map_fenced_between(const GlobalAccess& earlier, const Stamp& stamp, const GlobalAccess& use,
                                      const View& view) const {
  const auto known_to = [&](const MapFence& fence, uint32_t cluster, const Stamp& moment) {
    const Viewpoint there(*fence.knows);
    return covers({fence.cluster, &there}, Plane::visible, cluster, moment);
  };
  return std::any_of(map_fences_.rbegin(), map_fences_.rend(), [&](const MapFence& acquire) {
    if (acquire.map == nullptr || acquire.map != view.map || acquire.cluster != use.cluster || acquire.cta != use.cta ||
        !covers(view, Plane::visible, acquire.cluster, acquire.at))
      return false;
    return std::any_of(map_fences_.rbegin(), map_fences_.rend(), [&](const MapFence& release) {
      return release.map == nullptr && known_to(acquire, release.cluster, release.at) &&
             known_to(release, earlier.cluster, stamp);
    });
  });
}

bool GlobalMemory::follows_update(const Entry& entry, const View& view) const {
  const GlobalAccess& earlier = accesses_[entry.access];
  const Stamp stamp = earlier.store != 0 ? stores_[earlier.store] : stamp_of(earlier, entry.lane);
  return stamp.tick != 0 && covers(view, Plane::happened, earlier.cluster, stamp);
}

std::optional<GlobalConflict::Kind> GlobalMemory::conflict(const Entry& entry, const GlobalAccess& later,
                                                           const View& view) const {
  using Kind = GlobalConflict::Kind;
  const GlobalAccess& earlier = accesses_[entry.access];
  const bool atomics = earlier.touch == Touch::atomic && later.touch == Touch::atomic;
  if (atomics &&
      SyncWords::reaches({earlier.scope, earlier.cluster, earlier.cta, {}}, later.scope, later.cluster, later.cta)) {
    if (!order_shows(earlier.update, later.update) || follows_update(entry, view)) return std::nullopt;
    return Kind::update_order;
  }
  Stamp stamp = stamp_of(earlier, entry.lane);
  Plane plane = entry.writes ? Plane::visible : Plane::happened;
  if (earlier.store != 0) {
    // Its writes are over when its group was waited for, which makes them seen by who waited.
    stamp = stores_[earlier.store];
    if (stamp.tick == 0) return atomics ? Kind::narrow_scope : Kind::not_waited;
    plane = later.touch == Touch::write ? Plane::happened : Plane::visible;
  }
  if (!covers(view, plane, earlier.cluster, stamp)) {
    if (atomics) return Kind::narrow_scope;
    return plane != Plane::happened && covers(view, Plane::happened, earlier.cluster, stamp) ? Kind::not_visible
                                                                                             : Kind::race;
  }
  if (entry.writes && earlier.proxy == Proxy::generic && later.proxy == Proxy::async &&
      !fenced_between(earlier, stamp, view))
    return Kind::no_proxy_fence;
  if (entry.writes && earlier.proxy == Proxy::generic && later.proxy == Proxy::tensor &&
      !map_fenced_between(earlier, stamp, later, view))
    return Kind::no_map_fence;
  return std::nullopt;
}

ToldRef GlobalMemory::known(uint32_t cluster, const KnowledgeRef& own) const {
  auto told = std::make_shared<Told>();
  told->emplace_back(cluster, own);
  const auto heard = acquires_.find(cluster);
  if (heard == acquires_.end()) return told;
  // Most threads know of all that was acquired before: that need not be put together anew each time.
  const std::vector<Acquire>& acquires = heard->second;
  Gathered& gathered = gathered_[cluster];
  const auto knows = [&](const Acquire& acquire) { return own->covers(Plane::visible, acquire.at); };
  const auto last = acquires.begin() + static_cast<std::ptrdiff_t>(gathered.count);
  bool all = std::all_of(acquires.begin(), last, knows);
  if (all) told->insert(told->end(), gathered.told.begin(), gathered.told.end());
  for (auto acquire = all ? last : acquires.begin(); acquire != acquires.end(); ++acquire) {
    if (knows(*acquire))
      for (const auto& [other, knowledge] : *acquire->told) add(*told, other, knowledge);
    else
      all = false;
  }
  if (all) gathered = {acquires.size(), Told(told->begin() + 1, told->end())};
  return told;
}

void GlobalMemory::acquired(uint32_t cluster, const Stamp& at, const ToldRef& told) {
  acquires_[cluster].push_back({at, told});
}

void GlobalMemory::proxy_fence(uint32_t cluster, const Stamp& at, const KnowledgeRef& knows) {
  fences_.push_back({cluster, at, knows});
}

// ---- what was touched

GlobalMemory::Page* GlobalMemory::page_at(uintptr_t address) {
  const uintptr_t number = address / page_bytes;
  if (number == last_page_) return last_;
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [&](const Region& r) { return r.first <= number && number <= r.last; });
  if (region == regions_.end()) return nullptr;
  const uintptr_t index = number - region->first;
  std::unique_ptr<Chunk>& chunk = region->chunks[index / chunk_pages];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  Page*& page = chunk->pages[index % chunk_pages];
  if (page == nullptr) page = &pages_.emplace_back();
  last_page_ = number;
  return last_ = page;
}

template <class Visit>
void GlobalMemory::for_each_line(Visit&& visit) const {
  for (size_t region = 0; region < regions_.size(); ++region)
    for (size_t c = 0; c < regions_[region].chunks.size(); ++c) {
      const Chunk* const chunk = regions_[region].chunks[c].get();
      for (size_t p = 0; chunk != nullptr && p < chunk_pages; ++p) {
        if (chunk->pages[p] == nullptr) continue;
        const size_t page = c * chunk_pages + p;
        for (size_t i = 0; i < page_bytes / line_bytes; ++i) {
          const Line& line = chunk->pages[p]->lines[i];
          if (line.only.bytes != 0 || line.lists != 0)
            visit(region, page * (page_bytes / line_bytes) + i,
                  (regions_[region].first + page) * page_bytes + i * line_bytes, line);
        }
      }
    }
}

uint32_t GlobalMemory::number_of(const GlobalAccess& access) {
  if (accesses_.empty() || accesses_.back() != access) accesses_.push_back(access);
  return static_cast<uint32_t>(accesses_.size() - 1);
}

bool GlobalMemory::of_one_thread(const GlobalAccess& one, const GlobalAccess& two) const {
  const Agents &a = sites_[one.site].agents, &b = sites_[two.site].agents;
  return one.cluster == two.cluster && a.cta == b.cta && a.first_warp == b.first_warp && a.lanes == b.lanes;
}

void GlobalMemory::visit(Entries& entries, uint16_t bytes, uintptr_t address, uintptr_t length, uint32_t access,
                         uint8_t lane, const View& view, const Report& report) {
  const GlobalAccess me = accesses_[access];
  const bool writes = me.writes(), loads = me.touch == Touch::atomic && !writes;
  const auto tell = [&](const Entry& entry, uint16_t common) {
    const auto kind = conflict(entry, me, view);
    if (!kind) return false;
    const auto first = static_cast<uint32_t>(std::countr_zero(common));
    const auto last =
        common == all_bytes ? static_cast<uint32_t>(length) : static_cast<uint32_t>(std::bit_width(common));
    return report({*kind, accesses_[entry.access], me, entry.lane, lane, address + first, last - first, entry.behind});
  };
  uint16_t alike = 0;     // bytes of stores that this one leaves the same as
  bool equalled = false;  // ... of other threads
  uint16_t again = 0;     // ... of the same store, made before
  Entries covered;        // what it comes over
  for (Entry& entry : entries) {
    const auto common = static_cast<uint16_t>(entry.bytes & bytes);
    if (common == 0 || entry.behind) continue;
    if (entry.covered && me.touch != Touch::atomic) {  // who is ordered behind the update is behind it
      if (me.touch == Touch::write) entry.bytes = static_cast<uint16_t>(entry.bytes & ~bytes);
      continue;
    }
    if ((entry.writes || writes) && tell(entry, common)) {
      alike |= common;
      if (me.store != 0 && !of_one_thread(accesses_[entry.access], me)) entry.equalled = equalled = true;
      continue;
    }
    // What it replaces: all that a write is ordered behind, atomics that it tells of, its own reads before.
    const GlobalAccess& earlier = accesses_[entry.access];
    if (loads) {  // an update need not be ordered behind it, but behind what it comes over
      const bool before = !entry.covered && earlier.touch == Touch::atomic && !earlier.writes() &&
                          earlier.scope == me.scope && earlier.cluster == me.cluster && earlier.slot == me.slot &&
                          entry.lane == lane;
      if (before) entry.bytes = static_cast<uint16_t>(entry.bytes & ~bytes);
      continue;
    }
    bool replaced = me.touch == Touch::write;
    if (me.touch == Touch::atomic && earlier.touch != Touch::atomic) {
      if (entry.covered) continue;
      covered.push_back(entry);
      covered.back().bytes = common;
      covered.back().covered = true;
      replaced = true;
    } else if (me.touch == Touch::atomic)
      replaced = covers(view, Plane::visible, earlier.cluster, stamp_of(earlier, entry.lane)) && earlier.store == 0;
    else if (me.touch == Touch::read)
      replaced = !entry.writes && earlier.cluster == me.cluster && earlier.slot == me.slot && entry.lane == lane;
    if (!replaced) continue;
    if (me.touch == Touch::atomic && earlier.touch == Touch::atomic && earlier.update != me.update) {
      // Of another kind: who may come in any order with this one need not with that.
      if (entry.covered) continue;
      covered.push_back(entry);
      covered.back().bytes = common;
      covered.back().covered = true;
    }
    entry.bytes = static_cast<uint16_t>(entry.bytes & ~bytes);
    if (me.touch != Touch::write) continue;
    if (view.same && earlier.site == me.site && earlier.cluster == me.cluster && entry.lane == lane) {
      again |= common;
      continue;
    }
    covered.push_back(entry);
    covered.back().bytes = common;
    covered.back().behind = true;
  }
  // Were the store that this one equals the last of the three, it would have to be ordered behind the first, too.
  for (const Entry& entry : covered)
    if (entry.equalled && equalled && (entry.bytes & alike) != 0)
      report({GlobalConflict::Kind::equal_stores, accesses_[entry.access], me, entry.lane, lane, address, 1, true});
  for (Entry& entry : entries) {
    if (!entry.behind) continue;
    if (const auto common = static_cast<uint16_t>(entry.bytes & alike); common != 0) tell(entry, common);
    // Further back than that nobody needs to look: who is ordered behind one of these is behind what it came over.
    if (me.touch == Touch::write) entry.bytes = static_cast<uint16_t>(entry.bytes & ~(bytes & ~(alike | again)));
  }
  entries.erase(std::remove_if(entries.begin(), entries.end(), [](const Entry& entry) { return entry.bytes == 0; }),
                entries.end());
  entries.insert(entries.end(), covered.begin(), covered.end());
  for (Entry& entry : entries) {
    if (entry.access != access || entry.lane != lane || entry.behind || entry.covered) continue;
    entry.bytes |= bytes;
    entry.equalled |= equalled;
    return;
  }
  entries.push_back({access, bytes, lane, writes, false, false, equalled});
}

void GlobalMemory::touch(const std::byte* begin, size_t bytes, const GlobalAccess& access, uint8_t lane,
                         const View& view, const Report& report) {
  const uint32_t number = number_of(access);
  if (access.writes() && access.proxy == Proxy::generic) plain_writes_ = true;
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t last = first + bytes;
  for (uintptr_t at = first / line_bytes * line_bytes; at < last; at += line_bytes) {
    Page* const page = page_at(at);
    if (page == nullptr) continue;
    Line& compact = page->lines[at % page_bytes / line_bytes];
    const bool whole = first <= at && at + line_bytes <= last;
    if (compact.lists == 0) {
      if (whole && compact.only.bytes == 0) {
        compact.only = {number, all_bytes, lane, access.writes(), false, false, false};
        continue;
      }
      compact.lists = static_cast<uint32_t>(lists_.size());
      lists_.emplace_back();
      if (compact.only.bytes != 0) lists_.back().whole.push_back(std::exchange(compact.only, {}));
    }
    Lists& line = lists_[compact.lists];
    if (whole && line.units == nullptr) {
      visit(line.whole, all_bytes, at, line_bytes, number, lane, view, report);
      continue;
    }
    if (line.units == nullptr) {
      line.units = std::make_unique<Entries[]>(line_units);
      for (uintptr_t unit = 0; unit < line_units; ++unit) line.units[unit] = line.whole;
      line.whole.clear();
    }
    for (uintptr_t unit = 0; unit < line_units; ++unit) {
      const uintptr_t place = at + unit * unit_bytes;
      if (place >= last || place + unit_bytes <= first) continue;
      uint32_t touched = all_bytes;
      if (first > place) touched &= all_bytes << (first - place);
      if (last < place + unit_bytes) touched &= all_bytes >> (place + unit_bytes - last);
      visit(line.units[unit], static_cast<uint16_t>(touched), place, unit_bytes, number, lane, view, report);
    }
    if (whole && access.touch == Touch::write &&
        std::all_of(line.units.get() + 1, line.units.get() + line_units,
                    [&](const Entries& unit) { return unit == line.units[0]; })) {
      line.whole = line.units[0];
      line.units.reset();
    }
  }
}

// ---- clusters that nothing orders

void GlobalMemory::add_runs(const Line& line, uintptr_t begin, std::vector<Run>& runs) const {
  const auto add = [&](const Entry& entry, uintptr_t from, uintptr_t length) {
    if (entry.bytes == all_bytes) {
      runs.push_back({from, from + length, entry.access, entry.lane, entry.writes, this});
      return;
    }
    for (uint32_t byte = 0; byte < unit_bytes; ++byte)
      if ((entry.bytes >> byte & 1) != 0)
        runs.push_back({from + byte, from + byte + 1, entry.access, entry.lane, entry.writes, this});
  };
  if (line.only.bytes != 0) add(line.only, begin, line_bytes);
  if (line.lists == 0) return;
  const Lists& lists = lists_[line.lists];
  for (const Entry& entry : lists.whole)
    if (!entry.behind) add(entry, begin, line_bytes);
  for (uintptr_t unit = 0; lists.units != nullptr && unit < line_units; ++unit)
    for (const Entry& entry : lists.units[unit])
      if (!entry.behind) add(entry, begin + unit * unit_bytes, unit_bytes);
}

std::vector<GlobalMemory::Overlap> GlobalMemory::overlaps(std::span<const GlobalMemory* const> memories) {
  if (memories.empty()) return {};
  // Most lines belong to one cluster: only the others are looked at.
  constexpr uint32_t several = ~0u;
  std::vector<std::vector<uint32_t>> owners;  // of the lines of a region: its memory, from 1
  for (const Region& region : memories[0]->regions_)
    owners.emplace_back((region.last - region.first + 1) * (page_bytes / line_bytes));
  bool any = false;
  for (uint32_t i = 0; i < memories.size(); ++i)
    memories[i]->for_each_line([&](size_t region, size_t index, uintptr_t, const Line&) {
      uint32_t& owner = owners[region][index];
      any = any || owner != 0;
      owner = owner == 0 ? i + 1 : several;
    });
  if (!any) return {};
  std::vector<Run> runs;
  for (const GlobalMemory* memory : memories)
    memory->for_each_line([&](size_t region, size_t index, uintptr_t begin, const Line& line) {
      if (owners[region][index] == several) memory->add_runs(line, begin, runs);
    });
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::map<std::pair<const void*, const void*>, Overlap> found;  // by the two places
  const auto key = [](const GlobalConflict& c) { return std::tuple(c.later.cluster, c.earlier.cluster, c.address); };
  std::vector<const Run*> open;  // of those before, what reaches this far
  for (const Run& run : runs) {
    std::erase_if(open, [&](const Run* other) { return other->end <= run.begin; });
    for (const Run* other : open) {
      if ((!run.writes && !other->writes) || other->memory == run.memory) continue;
      const GlobalAccess &one = run.memory->accesses_[run.access], &two = other->memory->accesses_[other->access];
      const bool second = one.cluster > two.cluster;
      const Run &a = second ? *other : run, &b = second ? run : *other;
      const Overlap overlap{
          {GlobalConflict::Kind::race, second ? two : one, second ? one : two, a.lane, b.lane, run.begin, 1},
          a.memory,
          b.memory};
      const auto [entry, added] = found.try_emplace(
          {a.memory->sites_[overlap.conflict.earlier.site].pc, b.memory->sites_[overlap.conflict.later.site].pc},
          overlap);
      if (!added && key(overlap.conflict) < key(entry->second.conflict)) entry->second = overlap;
    }
    open.push_back(&run);
  }
  std::vector<Overlap> list;
  for (const auto& [places, overlap] : found) list.push_back(overlap);
  std::sort(list.begin(), list.end(),
            [&](const Overlap& a, const Overlap& b) { return key(a.conflict) < key(b.conflict); });
  return list;
}

}  // namespace warploom::loom::check
