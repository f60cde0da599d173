// What threads tell the checker of shared memory.
#include "loom/observe/check/watch_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "loom/exec/cluster.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u, lane_count = 32;
constexpr uint32_t mbarrier_bytes = 8;

}  // namespace

void WatchMemory::synchronise(const Warp& warp, uint32_t mask) {
  // Lanes that all know the same learn nothing from each other.
  if (!gathered_.go_on(warp, all_lanes) || mask != all_lanes || !order_.alike(agent(warp).warp)) settle_stores();
  if (recorder_ != nullptr) recorder_->synchronise(warp, mask);
  order_.synchronise(agent(warp).warp, mask);
}

void WatchMemory::touch(Pc pc, const Warp& warp, Shadow& shadow, uint32_t first, uint32_t count, bool write,
                        const Viewpoint& view, const Record& record, bool tensor, const Alike* alike) {
  const auto on_conflict = [&](const Conflict& conflict) {
    if (conflict.kind == Conflict::Kind::update_order && in_scope(conflict.earlier, conflict.later))
      updated(conflict, shadow);
    else
      report(pc, warp, conflict, tensor ? nullptr : &shadow);
  };
  if (record.updates())  // by reference: it is not to be copied to the heap each time
    shadow.update(first, count, view, record, std::ref(on_conflict));
  else if (write)
    shadow.write(first, count, view, record, std::ref(on_conflict), alike);
  else
    shadow.read(first, count, view, record, std::ref(on_conflict));
}

void WatchMemory::note_store(Agent agent, const Record& store) {
  auto& stores = sites_[store.site].stores;
  const uint32_t met = order_.met(agent.warp);
  if (!stores.empty() && stores.front().first <= met)
    std::erase_if(stores, [&](const auto& earlier) { return earlier.first <= met; });
  if (stores.empty() || stores.back().first != store.tick)
    stores.emplace_back(store.tick, order_.knows(agent));
  else if (stores.back().second != order_.knows(agent))
    stores.back().second = order_.knows(agent);
}

/// Lanes may write the same value to a word with one instruction: whoever comes last, it is there. Each of them must be
/// ordered behind all that the others came over, which is gone from the shadow: it is enough that it knows what they
/// knew, and that they came over nothing of their own that they had not been told of.
class WatchMemory::AlikeStores final : public Alike {
 public:
  AlikeStores(const WatchMemory& watch, Agent agent, const Shadow& shadow, const Record& store)
      : watch_(watch), agent_(agent), shadow_(shadow), store_(store) {}

  bool hides(const Record& earlier) const override {
    if (earlier.slot != agent_.warp || earlier.tick <= watch_.order_.met(agent_.warp)) return false;
    return !Viewpoint(*watch_.order_.knows(agent_)).covers(Plane::visible, earlier);
  }
  bool excuses(const Record& other, uint32_t at) const override {
    const Record earlier = watch_.placed(other, shadow_, at);
    if (!store_.same || earlier.slot != agent_.warp || earlier.lanes == 0 || earlier.hides) return false;
    const Site &first = watch_.sites_[earlier.site], &second = watch_.sites_[store_.site];
    if (first.pc != second.pc || first.operation != second.operation) return false;
    const auto known = std::ranges::find(first.stores, earlier.tick, [](const auto& one) { return one.first; });
    // Both ways, so that it makes no difference which of them comes first.
    const KnowledgeRef& mine = watch_.order_.knows(agent_);
    return known != first.stores.end() && (known->second == mine || *known->second == *mine);
  }

 private:
  const WatchMemory& watch_;
  Agent agent_;
  const Shadow& shadow_;
  const Record& store_;
};

void WatchMemory::access(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes, bool write,
                         const char* operation, const void* value) {
  const Warp& warp = *thread.warp;
  const uint32_t lane = 1u << thread.id.lane;
  const bool unit = write && bytes == LineSet::unit_bytes && offset % bytes == 0 && &owner == thread.cta &&
                    !near_barriers(owner, offset, bytes);
  // A unit that comes again is another store: what it comes over is the one before.
  if (!unit || !gathered_.go_on(warp, lane) || gathered_.lines.contains(offset)) settle_stores();
  if (recorder_ != nullptr) recorder_->access(thread, owner, offset, bytes, write);
  const Agent me = agent(thread);
  const Viewpoint view(order_, me);
  Record single;
  Record& record = unit ? gather(warp, lane, pc, offset) : single;
  record = record_of(thread, owner, view, site(pc, warp, lane, operation));
  record.same = value != nullptr && std::memcmp(owner.window + offset, value, bytes) == 0;
  const bool here = write && value != nullptr && &owner == thread.cta;
  if (here) note_store(me, record);
  if (unit) {
    // Checked with those that follow.
  } else if (here) {
    const AlikeStores others(*this, me, shared_[rank_of(owner)], record);
    touch_shared(pc, warp, owner, offset, bytes, write, view, record, &others);
  } else {
    touch_shared(pc, warp, owner, offset, bytes, write, view, record);
  }
  if (&owner != thread.cta)
    came_into(owner, {order_.note(me), pc, thread.warp, 1u << thread.id.lane, operation});
  else
    order_.accessed_shared(me);
  released_[first_thread(*thread.warp) + thread.id.lane] = false;
}

Record WatchMemory::record_of(const Thread& thread, const Cta& owner, const Viewpoint& view, uint32_t site) {
  if (&owner == thread.cta) return view.record(Proxy::generic, site);
  return Record::of(order_.accessed_elsewhere(agent(thread), rank_of(owner)), 0, Proxy::generic, site);
}

void WatchMemory::access(const Warp& warp, Pc pc, std::span<const uint32_t> offsets, uint32_t bytes, bool write,
                         const char* operation) {
  const auto spares_barriers = [&](uint32_t offset) { return !near_barriers(*warp.cta, offset, bytes); };
  const bool units = write && bytes == LineSet::unit_bytes && order_.alike(agent(warp).warp) &&
                     std::ranges::all_of(offsets, spares_barriers) && !names_a_unit_twice(*warp.cta, offsets);
  if (!units || !gathered_.go_on(warp, all_lanes)) settle_stores();
  const Viewpoint view(order_, agent(warp));
  const Record record = view.record_of_warp(Proxy::generic, site(pc, warp, all_lanes, operation));
  for (const uint32_t offset : offsets) {
    if (recorder_ != nullptr) recorder_->access(warp, offset, bytes, write);
    if (units)
      gather(warp, all_lanes, pc, offset) = record;
    else
      touch_shared(pc, warp, *warp.cta, offset, bytes, write, view, record);
  }
  order_.accessed_shared_all(agent(warp).warp);
  if (write) std::fill_n(released_.begin() + first_thread(warp), lane_count, false);
}

bool WatchMemory::names_a_unit_twice(const Cta& cta, std::span<const uint32_t> offsets) {
  std::vector<Unit>& units = units_[rank_of(cta)];
  if (units.empty()) units.resize(cta.window_bytes / LineSet::unit_bytes + 1);
  ++instructions_;
  return std::ranges::any_of(offsets, [&](uint32_t offset) {
    return std::exchange(units[offset / LineSet::unit_bytes].instruction, instructions_) == instructions_;
  });
}

void WatchMemory::check_stores() {
  const Warp& warp = *std::exchange(gathered_.warp, nullptr);
  const Agent me = agent(warp, static_cast<uint8_t>(std::countr_zero(gathered_.lanes)));
  const Viewpoint view(order_, me);
  Shadow& shadow = shared_[rank_of(*warp.cta)];
  // They are one moment to all others: nobody has heard of the first that has not heard of the last.
  Record record = gathered_.each.back().record;
  record.gathered = true;
  bool clean = true;
  gathered_.lines.for_each(
      [&](uint32_t first, uint32_t count) { clean = clean && shadow.writable(first, count, view, record); });
  if (clean) {
    const AlikeStores others(*this, me, shadow, record);
    gathered_.lines.for_each([&](uint32_t first, uint32_t count) {
      shadow.overwrite(first, count, record, gathered_.lanes == all_lanes ? nullptr : &others);
    });
    std::vector<Unit>& units = units_[rank_of(*warp.cta)];
    if (units.empty()) units.resize(warp.cta->window_bytes / LineSet::unit_bytes + 1);
    for (const Stores::One& one : gathered_.each) units[one.offset / LineSet::unit_bytes].site = one.record.site;
  } else {
    for (const Stores::One& one : gathered_.each) {
      const AlikeStores others(*this, me, shadow, one.record);
      touch(one.pc, warp, shadow, one.offset, LineSet::unit_bytes, true, view, one.record, false,
            gathered_.lanes == all_lanes ? nullptr : &others);
    }
  }
  gathered_.each.clear();
  gathered_.lines.clear();
}

void WatchMemory::LiveBarriers::add(const Barrier& barrier) {
  if (!std::exchange(at[barrier.offset], &barrier)) {
    const size_t line = barrier.offset / line_bytes;
    if (lines.size() <= line) lines.resize(line + 1);
    ++lines[line];
  }
}

void WatchMemory::LiveBarriers::remove(const Barrier& barrier) {
  if (at.erase(barrier.offset) != 0) --lines[barrier.offset / line_bytes];
}

void WatchMemory::spare_barriers(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
                                 const Record& record) {
  const auto& live = live_[rank_of(cta)].at;
  auto found = live.upper_bound(offset >= mbarrier_bytes ? offset - mbarrier_bytes : 0);
  if (found == live.end() || found->first >= offset + bytes) return;
  const Barrier& barrier = *found->second;
  const Site& site = sites_[record.site];
  const Stamp& init = *barriers_[barrier.watched].init;
  stop(cluster_, &warp, record.lanes != 0 ? record.lanes : site.lanes, pc, "BAR-UNINIT",
       fmt::format("{} {} {} bytes at 0x{:x}, among them those of {} at 0x{:x}, which is live", site.operation,
                   write ? "overwrites" : "reads", bytes, offset, barrier.name(), barrier.offset),
       {"only mbarrier operations touch a barrier between mbarrier.init and mbarrier.inval; a copy that reaches "
        "into it is too long or at the wrong place"},
       {{"mbarrier.init", &warp_of(init.slot), 1u << init.lane, barriers_[barrier.watched].init_at}});
}

}  // namespace warploom::loom::check
