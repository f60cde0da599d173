// What threads and barriers tell the checker.
#include "loom/observe/check/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "loom/exec/cluster.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u, lane_count = 32;
constexpr uint32_t mbarrier_bytes = 8;

}  // namespace

Watch::Watch(Cluster& cluster)
    : cluster_(cluster),
      warps_per_cta_(static_cast<uint32_t>(cluster.cta(0).warps.size())),
      order_(cluster.size() * warps_per_cta_),
      wgmma_issuers_(cluster.size() * warps_per_cta_),
      wgmmas_(cluster.size() * cluster.cta(0).warpgroups.size()),
      released_(size_t{cluster.size()} * cluster.cta(0).threads.size()) {
  order_.violated = [this](const Order::Violation& violation) { report(violation); };
  shared_.reserve(cluster.size());
  tensor_.reserve(cluster.size());
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
    shared_.emplace_back((cluster.cta(rank).window_bytes + Shadow::line_cells - 1) / Shadow::line_cells,
                         Shadow::Block::tile, window_start);
    tensor_.emplace_back(tmem_lane_count * tmem_column_count / Shadow::line_cells, Shadow::Block::tile);
  }
  units_.resize(cluster.size());
  incoming_.resize(cluster.size());
  slots_.resize(cluster.size());
  allocations_.resize(cluster.size());
  cancels_.resize(cluster.size());
  exits_.resize(cluster.size());
  grid_waits_.resize(cluster.size());
  live_.resize(cluster.size());
  pools_.resize(cluster.size());
  sites_.emplace_back();
  cluster_barrier_ = order_.make_barrier(true);
  barriers_.push_back({.name = "the cluster barrier"});
  recorder_ = Recorder::take(cluster);
  global_ = cluster.launch().global;
  if (global_ == nullptr) {
    own_global_ = std::make_unique<GlobalMemory>(cluster.launch().tensors);
    global_ = own_global_.get();
  }
}

uint32_t Watch::rank_of(const Cta& cta) { return cta.rank; }
size_t Watch::first_thread(const Warp& warp) {
  return size_t{warp.cta->rank} * warp.cta->threads.size() + size_t{warp.index} * lane_count;
}

Agent Watch::agent(const Warp& warp, uint8_t lane) const {
  return {warp.cta->rank * warps_per_cta_ + warp.index, lane};
}
Agent Watch::agent(const Thread& thread) const { return agent(*thread.warp, static_cast<uint8_t>(thread.id.lane)); }

const Warp& Watch::warp_of(uint32_t slot) const {
  return *cluster_.cta(slot / warps_per_cta_).warps[slot % warps_per_cta_];
}

uint32_t Watch::site(Pc pc, const Warp& warp, uint32_t lanes, const char* operation, const Barrier* object) {
  uint64_t key = reinterpret_cast<uintptr_t>(pc) * 0x9e3779b97f4a7c15u;
  key = (key ^ reinterpret_cast<uintptr_t>(&warp)) * 0xd1b54a32d192ed03u;
  key = (key ^ reinterpret_cast<uintptr_t>(operation) ^ uint64_t{lanes} << 32) * 0x9e3779b97f4a7c15u;
  key = (key ^ reinterpret_cast<uintptr_t>(object)) * 0xd1b54a32d192ed03u;
  auto& recent = recent_sites_[key >> 32 & (recent_sites_.size() - 1)];
  if (recent.second != 0 && recent.first == key) return recent.second;
  const auto [entry, added] = site_index_.try_emplace(key, static_cast<uint32_t>(sites_.size()));
  if (added) sites_.push_back({pc, &warp, lanes, operation, object == nullptr ? std::string() : object->name()});
  recent = *entry;
  return entry->second;
}

// ---- threads

void Watch::synchronise(const Warp& warp, uint32_t mask) {
  // Lanes that all know the same learn nothing from each other.
  if (!gathered_.go_on(warp, all_lanes) || mask != all_lanes || !order_.alike(agent(warp).warp)) settle_stores();
  if (recorder_ != nullptr) recorder_->synchronise(warp, mask);
  order_.synchronise(agent(warp).warp, mask);
}

void Watch::touch(Pc pc, const Warp& warp, Shadow& shadow, uint32_t first, uint32_t count, bool write,
                  const Viewpoint& view, const Record& record, bool tensor, const Alike* alike) {
  const auto on_conflict = [&](const Conflict& conflict) {
    if (conflict.kind == Conflict::Kind::update_order)
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

void Watch::note_store(Agent agent, const Record& store) {
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
class Watch::AlikeStores final : public Alike {
 public:
  AlikeStores(const Watch& watch, Agent agent, const Shadow& shadow, const Record& store)
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
  const Watch& watch_;
  Agent agent_;
  const Shadow& shadow_;
  const Record& store_;
};

void Watch::access(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes, bool write,
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

Record Watch::record_of(const Thread& thread, const Cta& owner, const Viewpoint& view, uint32_t site) {
  if (&owner == thread.cta) return view.record(Proxy::generic, site);
  return Record::of(order_.accessed_elsewhere(agent(thread), rank_of(owner)), 0, Proxy::generic, site);
}

void Watch::access(const Warp& warp, Pc pc, std::span<const uint32_t> offsets, uint32_t bytes, bool write,
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

bool Watch::names_a_unit_twice(const Cta& cta, std::span<const uint32_t> offsets) {
  std::vector<Unit>& units = units_[rank_of(cta)];
  if (units.empty()) units.resize(cta.window_bytes / LineSet::unit_bytes + 1);
  ++instructions_;
  return std::ranges::any_of(offsets, [&](uint32_t offset) {
    return std::exchange(units[offset / LineSet::unit_bytes].instruction, instructions_) == instructions_;
  });
}

void Watch::check_stores() {
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

void Watch::shared_atomic(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes) {
  const Agent me = agent(thread);
  const uint32_t lane = 1u << thread.id.lane;
  KnowledgeRef& word = words_[owner.window + offset];
  settle_stores();
  order_.learn(me, word);
  const Viewpoint view(order_, me);
  Record record = record_of(
      thread, owner, view, site(pc, *thread.warp, lane, &owner == thread.cta ? "atom.shared" : "atom.shared::cluster"));
  record.update = Update::answers;
  touch_shared(pc, *thread.warp, owner, offset, bytes, true, view, record);
  if (&owner != thread.cta)
    came_into(owner, {order_.note(me), pc, thread.warp, lane, "an atomic"});
  else
    order_.accessed_shared(me);
  released_[first_thread(*thread.warp) + thread.id.lane] = false;
  word = order_.tell(me);
}

void Watch::fence_proxy_async(Thread& thread, bool release, bool own_cta) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->fence_proxy(thread);
  order_.fence_proxy_async(agent(thread), own_cta ? rank_of(*thread.cta) : every_memory);
  released_[first_thread(*thread.warp) + thread.id.lane] = release;
  fence_mbarrier_init(thread);
}

void Watch::fence_shared_release(Thread& thread) {
  settle_stores();
  released_[first_thread(*thread.warp) + thread.id.lane] = true;
}

void Watch::tensor_fence(Thread& thread, bool before) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->tensor_fence(thread, before);
  if (before)
    order_.tensor_fence_before(agent(thread));
  else
    order_.tensor_fence_after(agent(thread));
}

void Watch::fence_mbarrier_init(Thread& thread) {
  settle_stores();
  if (fresh_inits_.empty()) return;
  const Agent me = agent(thread);
  std::erase_if(fresh_inits_, [&](const auto& fresh) {
    if (fresh.second.slot != me.warp || fresh.second.lane != me.lane) return false;
    barriers_[fresh.first].fenced = order_.note(me);
    return true;
  });
}

// ---- mbarriers

void Watch::write_barrier(Thread& thread, Pc pc, const Barrier& barrier, const char* operation) {
  const Viewpoint view(order_, agent(thread));
  touch(pc, *thread.warp, shared_[rank_of(*barrier.cta)], barrier.offset, mbarrier_bytes, true, view,
        view.record(Proxy::generic, site(pc, *thread.warp, 1u << thread.id.lane, operation)), false);
}

void Watch::LiveBarriers::add(const Barrier& barrier) {
  if (!std::exchange(at[barrier.offset], &barrier)) {
    const size_t line = barrier.offset / line_bytes;
    if (lines.size() <= line) lines.resize(line + 1);
    ++lines[line];
  }
}

void Watch::LiveBarriers::remove(const Barrier& barrier) {
  if (at.erase(barrier.offset) != 0) --lines[barrier.offset / line_bytes];
}

void Watch::spare_barriers(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
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

void Watch::invalidate(Thread& thread, Pc pc, const Barrier& barrier) {
  settle_stores();
  std::optional<std::pair<Stamp, Pc>> left;
  if (!order_.over(agent(thread), barrier.watched, left)) {
    std::vector<OtherSide> sides;
    if (left) sides.push_back({"waits", &warp_of(left->first.slot), 1u << left->first.lane, left->second});
    stop(cluster_, thread.warp, 1u << thread.id.lane, pc, "BAR-REINIT",
         fmt::format("mbarrier.inval of {}, and nothing orders {} before it", barrier.name(),
                     left ? "this wait" : "its arrivals"),
         {"everybody who uses the barrier synchronises with the thread that invalidates it first"}, std::move(sides));
  }
  write_barrier(thread, pc, barrier, "mbarrier.inval");
  live_[rank_of(*barrier.cta)].remove(barrier);
  BarrierNotes& notes = barriers_[barrier.watched];
  notes.ended_by = thread.warp;
  notes.ended_lane = 1u << thread.id.lane;
  notes.ended_at = pc;
}

void Watch::init(Thread& thread, Pc pc, Barrier& barrier) {
  settle_stores();
  write_barrier(thread, pc, barrier, "mbarrier.init");
  barrier.watched = order_.make_barrier();
  live_[rank_of(*barrier.cta)].add(barrier);
  const Stamp now = order_.note(agent(thread));
  barriers_.push_back({.barrier = &barrier, .init = now, .init_at = pc});
  fresh_inits_.emplace_back(barrier.watched, now);
}

void Watch::usable(Pc pc, const Warp& warp, uint32_t lanes, const Barrier& barrier, const Viewpoint& view, bool async,
                   const char* operation) {
  BarrierNotes& notes = barriers_[barrier.watched];
  if (notes.ended_by != nullptr)
    stop(cluster_, &warp, lanes, pc, "BAR-REINIT",
         fmt::format("{} of {}, which nothing orders before its mbarrier.inval", operation, barrier.name()),
         {"everybody who uses the barrier synchronises with the thread that invalidates it first"},
         {{"mbarrier.inval", notes.ended_by, notes.ended_lane, notes.ended_at}});
  if (!notes.init) return;
  const bool elsewhere = async || barrier.cta != warp.cta;
  std::vector<uint32_t>& known_to = notes.known_to[elsewhere];
  if (known_to.empty()) known_to.resize(order_.warps());
  uint32_t& known = known_to[agent(warp).warp];
  if ((lanes & ~known) == 0) return;
  const auto covered = [&](Plane plane, const Stamp& stamp) {
    return view.covers(plane, Record::of(stamp, 1u << stamp.lane));
  };
  const bool fenced = notes.fenced && covered(Plane::happened, *notes.fenced);
  const bool seen = fenced || covered(Plane::visible, *notes.init);
  if (seen && (fenced || !elsewhere)) {
    known |= lanes;
    return;
  }
  const Stamp& init = *notes.init;
  const OtherSide first{"mbarrier.init", &warp_of(init.slot), 1u << init.lane, notes.init_at};
  stop(cluster_, &warp, lanes, pc, "BAR-UNINIT",
       fmt::format("{} of {}, whose mbarrier.init {}", operation, barrier.name(),
                   !seen   ? "nothing orders before it"
                   : async ? "no fence makes known to the async proxy"
                           : "no fence makes known to other CTAs"),
       {!seen ? "after the init, fence_mbarrier_init() and a __syncthreads or cluster barrier that everybody passes"
              : "the thread that initialises the barriers executes fence_mbarrier_init() before it synchronises"},
       {first});
}

void Watch::signal(Thread& thread, Pc pc, const Barrier& barrier, SignalKind kind, uint32_t arrivals, int64_t bytes,
                   bool cluster_scope, bool not_last) {
  settle_stores();
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "an arrival");
  const Order::BarrierId id = barrier.watched;
  const bool tells = barrier.cta == thread.cta || cluster_scope;
  if (recorder_ != nullptr) recorder_->signal(thread, barrier, kind, arrivals, bytes, tells);
  const bool remote = barrier.cta != thread.cta;
  const auto arrive = [&] {
    return !tells     ? order_.arrive_relaxed(me, id, pc)
           : remote   ? order_.arrive_remote(me, id, pc)
           : not_last ? order_.arrive_not_last(me, id, pc)
                      : order_.arrive(me, id, pc);
  };
  if (bytes != 0) order_.count_bytes(me, id, kind == SignalKind::complete_tx ? -bytes : bytes, pc);
  Stamp moment;
  switch (kind) {
    case SignalKind::expect_tx: moment = order_.expect(me, id, pc); break;
    case SignalKind::complete_tx: moment = order_.complete_tx(me, id, pc); break;
    case SignalKind::arrive_expect_tx:
      order_.expect(me, id, pc);
      moment = arrive();
      break;
    default: moment = arrive();
  }
  if (remote)
    came_into(*barrier.cta, {.stamp = moment,
                             .pc = pc,
                             .warp = thread.warp,
                             .lanes = 1u << thread.id.lane,
                             .operation = "a signal",
                             .barrier = &barrier});
  if (!tells) note_mute(me.warp, {pc, 1u << thread.id.lane, id});
}

void Watch::increment(Thread& thread, Pc pc, const Barrier& barrier) {
  settle_stores();
  order_.increment(agent(thread), barrier.watched, pc);
}

void Watch::phase_completed(const Barrier& barrier) {
  settle_tests(barrier.watched);
  order_.phase_completed(barrier.watched);
}

void Watch::passed(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->passed(thread, barrier, phases);
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "a wait");
  order_.passed(me, barrier.watched, phases, pc, cluster_scope);
}

void Watch::passed(const Warp& warp, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope) {
  settle_stores();
  if (recorder_ != nullptr)
    for (Thread* lane : warp.lanes) recorder_->passed(*lane, barrier, phases);
  const Agent me = agent(warp);
  if (order_.alike(me.warp))
    usable(pc, warp, all_lanes, barrier, Viewpoint(order_, me), false, "a wait");
  else
    for (uint8_t lane = 0; lane < lane_count; ++lane)
      usable(pc, warp, 1u << lane, barrier, Viewpoint(order_, agent(warp, lane)), false, "a wait");
  order_.passed_all(me.warp, barrier.watched, phases, pc, cluster_scope);
}

void Watch::polled(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases) {
  settle_stores();
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "a poll");
  order_.polled(me, barrier.watched, phases, pc);
  order_.asked(me, barrier.watched, pc);
}

// ---- named barriers and the cluster barrier

Order::BarrierId Watch::number_of(const NamedBarrier& barrier) {
  const auto [entry, added] = named_.try_emplace(&barrier, 0);
  if (added) {
    entry->second = order_.make_barrier(false, false);
    barriers_.push_back({.name = barrier.name[0] != '\0' ? fmt::format("named barrier \"{}\"", barrier.name)
                                                         : std::string("a named barrier")});
  }
  return entry->second;
}

void Watch::arrive(const Warp& warp, Pc pc, const NamedBarrier& barrier) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->arrive(warp, barrier);
  order_.arrive(agent(warp), number_of(barrier), pc);
}

void Watch::completed(const Cta& cta, const NamedBarrier& barrier, std::span<Warp* const> waiting) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->completed(barrier, waiting);
  const Order::BarrierId id = number_of(barrier);
  // __syncthreads waits for the threads that have not exited.
  if (const auto& exits = exits_[rank_of(cta)]; barrier.whole && exits) order_.behind_exits(id, *exits);
  order_.phase_completed(id);
  for (const Warp* warp : waiting) order_.passed_all(agent(*warp).warp, id, order_.phases(id));
}

void Watch::cluster_arrive(Thread& thread, Pc pc, bool release) {
  settle_stores();
  const bool tells = release || released_[first_thread(*thread.warp) + thread.id.lane];
  if (recorder_ != nullptr) recorder_->cluster_arrive(thread, tells);
  if (tells)
    order_.arrive(agent(thread), cluster_barrier_, pc);
  else
    order_.arrive_relaxed(agent(thread), cluster_barrier_, pc);
  if (!tells) note_mute(agent(thread).warp, {pc, 1u << thread.id.lane, cluster_barrier_});
}

void Watch::cluster_completed() { order_.phase_completed(cluster_barrier_); }

void Watch::left_barriers(const Thread& thread, bool arrived) {
  settle_stores();
  order_.leave(agent(thread), cluster_barrier_, arrived);
  // Which later phases of barrier 0 are those of a __syncthreads shows when they complete.
  std::optional<Order::BarrierId>& exits = exits_[rank_of(*thread.cta)];
  if (!exits) {
    exits = order_.make_barrier(true);
    barriers_.push_back({.name = "exits"});
  }
  order_.leave(agent(thread), *exits);
}

void Watch::cluster_passed(Thread& thread, Pc pc) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->cluster_passed(thread);
  order_.passed(agent(thread), cluster_barrier_, order_.phases(cluster_barrier_), pc);
}

}  // namespace warploom::loom::check
