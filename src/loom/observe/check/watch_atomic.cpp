// Atomics, loads and stores with an order, and the fences around them: what they touch, what they learn where they
// acquire, and what they tell where they release. The same for shared and for global memory, each with its words.
#include <algorithm>
#include <memory>

#include "loom/exec/cluster.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u;

/// What one thread may have found before a fence, without what it found before.
void add_found(std::vector<SyncWords::Release>& notes, std::span<const SyncWords::Release> found) {
  for (const SyncWords::Release& release : found) {
    const auto same = [&](const SyncWords::Release& other) {
      return other.told == release.told && other.scope == release.scope;
    };
    if (std::none_of(notes.begin(), notes.end(), same)) notes.push_back(release);
  }
}

}  // namespace

void WatchBarriers::acquire(Thread& thread, std::span<const SyncWords::Release> releases) {
  const Agent me = agent(thread);
  auto others = std::make_shared<Told>();
  for (const SyncWords::Release& release : releases)
    for (const auto& [cluster, knowledge] : *release.told) {
      if (cluster == cluster_.index())
        order_.learn(me, knowledge);
      else
        others->emplace_back(cluster, knowledge);
    }
  if (!others->empty()) global_->acquired(cluster_.index(), order_.mark(me), others);
}

void WatchBarriers::acquire_at(Thread& thread, const SyncWords& words, const void* word, size_t bytes,
                               const Strong& strong) {
  if (strong.update == Update::store) return;
  const std::vector<SyncWords::Release> found =
      words.found(word, bytes, strong.scope, cluster_.index(), thread.cta->rank);
  // Clusters do not take turns: that the other one came first is this schedule's choice. (The visit is the latest
  // point.)
  if (strong.update == Update::load &&
      std::any_of(found.begin(), found.end(), [&](const auto& release) { return release.cluster != cluster_.index(); }))
    points_.back().matters = true;
  if (acquires(strong.order))
    acquire(thread, found);
  else if (!found.empty())
    add_found(fence_notes_[&thread].found, found);
}

void WatchBarriers::release_at(Thread& thread, SyncWords& words, const void* word, size_t bytes, const Strong& strong) {
  if (strong.update == Update::load) return;
  if (strong.update == Update::store) words.overwrite(word, bytes);
  const Agent me = agent(thread);
  const uint32_t cta = thread.cta->rank, cluster = cluster_.index();
  if (releases(strong.order)) {
    words.release(word, bytes, {strong.scope, cluster, cta, global_->known(cluster, order_.tell(me))});
    return;
  }
  const auto notes = fence_notes_.find(&thread);
  if (notes == fence_notes_.end() || notes->second.told.empty()) return;
  // The fence and this operation release together: what came before the fence, and the operation itself.
  const Stamp self = order_.mark(me);
  for (const SyncWords::Release& fenced : notes->second.told) {
    auto told = std::make_shared<Told>(*fenced.told);
    auto own = make_knowledge(*told->front().second);
    for (const Plane plane : {Plane::happened, Plane::visible}) own->raise(plane, self);
    told->front().second = std::move(own);
    words.release(word, bytes, {std::min(strong.scope, fenced.scope), cluster, cta, std::move(told)});
  }
}

void WatchBarriers::global_atomic(Thread& thread, Pc pc, const void* word, size_t bytes, const Strong& strong) {
  settle_stores();
  const Agent me = agent(thread);
  acquire_at(thread, global_->words(), word, bytes, strong);
  GlobalAccess access = global_access_of(
      *thread.warp, order_.now(me), site(pc, *thread.warp, all_lanes, strong.operation), Touch::atomic, Proxy::generic);
  access.scope = strong.scope;
  access.update = strong.update;
  touch_global(pc, *thread.warp, word, bytes, access, me.lane, Viewpoint(order_, me));
  order_.accessed_global(me);
  if (writes(strong.update)) released_[first_thread(*thread.warp) + thread.id.lane] = false;
  release_at(thread, global_->words(), word, bytes, strong);
}

void WatchBarriers::shared_atomic(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes,
                                  const Strong& strong) {
  settle_stores();
  const Agent me = agent(thread);
  const uint32_t lane = 1u << thread.id.lane;
  const void* const word = owner.window + offset;
  acquire_at(thread, words_, word, bytes, strong);
  const Viewpoint view(order_, me);
  Record record = record_of(thread, owner, view, site(pc, *thread.warp, lane, strong.operation));
  record.update = strong.update;
  record.same = strong.scope == MemoryScope::cta;
  touch_shared(pc, *thread.warp, owner, offset, bytes, writes(strong.update), view, record);
  if (&owner != thread.cta)
    came_into(owner, {order_.note(me), pc, thread.warp, lane, strong.operation});
  else
    order_.accessed_shared(me);
  released_[first_thread(*thread.warp) + thread.id.lane] = false;
  release_at(thread, words_, word, bytes, strong);
}

bool WatchNotes::in_scope(const Record& a, const Record& b) const {
  return (!a.same && !b.same) || sites_[a.site].warp->cta == sites_[b.site].warp->cta;
}

void WatchBarriers::fence(Thread& thread, MemoryScope scope) {
  settle_stores();
  FenceNotes& notes = fence_notes_[&thread];
  const uint32_t cta = thread.cta->rank, cluster = cluster_.index();
  std::vector<SyncWords::Release> heard;
  std::copy_if(notes.found.begin(), notes.found.end(), std::back_inserter(heard),
               [&](const SyncWords::Release& release) { return SyncWords::reaches(release, scope, cluster, cta); });
  acquire(thread, heard);
  released_[first_thread(*thread.warp) + thread.id.lane] = scope != MemoryScope::cta;
  // A later one tells more, to those that it reaches.
  std::erase_if(notes.told, [&](const SyncWords::Release& earlier) { return earlier.scope <= scope; });
  notes.told.push_back({scope, cluster, cta, global_->known(cluster, order_.tell(agent(thread)))});
}

}  // namespace warploom::loom::check
