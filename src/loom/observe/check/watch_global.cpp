// Global memory, as threads and copies tell the checker of it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/observe/check/global_report.hpp"
#include "loom/observe/check/watch.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u;

}  // namespace

GlobalAccess WatchMemory::global_access_of(const Warp& warp, const Stamp& stamp, uint32_t at, Touch touch,
                                           Proxy proxy) {
  GlobalAccess access;
  access.cluster = cluster_.index();
  access.cta = warp.cta->rank;
  access.slot = stamp.slot;
  access.tick = stamp.tick;
  access.by_thread = stamp.lane != whole_slot;
  access.touch = touch;
  access.proxy = proxy;
  Site& site = sites_[at];
  if (site.global == 0)
    site.global = global_->add_site(site.pc, site.operation,
                                    {.cta = warp.cta->rank,
                                     .first_warp = warp.index,
                                     .last_warp = warp.index,
                                     .lanes = site.lanes,
                                     .role = warp.role});
  access.site = site.global;
  return access;
}

void WatchMemory::touch_global(Pc pc, const Warp& warp, const void* begin, size_t bytes, const GlobalAccess& access,
                               uint8_t lane, const Viewpoint& view, const AsyncOp* store, bool same) {
  const auto on_conflict = [&](const GlobalConflict& conflict) {
    const GlobalAccess& earlier = conflict.earlier;
    if (conflict.kind == GlobalConflict::Kind::update_order) {
      updated(conflict);
      return false;
    }
    if (conflict.kind == GlobalConflict::Kind::equal_stores) {
      depends(global_->site(earlier.site).pc, global_->site(earlier.site).operation);
      depends(global_->site(conflict.later.site).pc, global_->site(conflict.later.site).operation);
      return false;
    }
    // Whoever comes last, the bytes are there. Each must be ordered behind what the other came over (`behind`).
    if (!conflict.behind && store != nullptr && leaves_the_same(*store, conflict)) return true;
    // Lanes that write the same value with one instruction: whoever comes last, it is there.
    if (!conflict.behind && same && earlier.by_thread && earlier.touch == Touch::write &&
        earlier.cluster == access.cluster && earlier.slot == access.slot && earlier.site == access.site)
      return true;
    GlobalFinding finding = describe(conflict, *global_, *global_);
    OtherSide first;
    first.what = std::move(finding.first);
    first.agents = std::move(finding.first_agents);
    first.pc = finding.first_pc;
    stop(cluster_, &warp, finding.second_agents.lanes, pc, finding.code, std::move(finding.message),
         {std::move(finding.fix)}, {std::move(first)},
         same && conflict.kind == GlobalConflict::Kind::race && earlier.touch == Touch::write ? Concern::equal_stores
                                                                                              : Concern::any);
    return false;
  };
  const void* const map = access.proxy == Proxy::tensor ? begin : nullptr;
  global_->touch(static_cast<const std::byte*>(begin), bytes, access, lane, {access.cluster, &view, same, map},
                 std::ref(on_conflict));
}

void WatchMemory::global_access(Thread& thread, Pc pc, const void* begin, size_t bytes, bool write, const void* value) {
  settle_stores();
  if (!global_->follows(begin, static_cast<const std::byte*>(begin) + bytes)) return;
  const Agent me = agent(thread);
  // The lane is the access's own, not the place's.
  const uint32_t at = site(pc, *thread.warp, all_lanes, write ? "st.global" : "ld.global");
  const GlobalAccess access =
      global_access_of(*thread.warp, order_.now(me), at, write ? Touch::write : Touch::read, Proxy::generic);
  const bool same = value != nullptr && std::memcmp(begin, value, bytes) == 0;
  touch_global(pc, *thread.warp, begin, bytes, access, me.lane, Viewpoint(order_, me), nullptr, same);
  if (write) global_->words().overwrite(begin, bytes);
  if (write) released_[first_thread(*thread.warp) + thread.id.lane] = false;
  order_.accessed_global(me);
}

// ---- tensor maps

Stamp WatchMemory::map_changed(Thread& thread, Pc pc, const TensorMap* map, bool released) {
  global_access(thread, pc, map, sizeof(*map), true);
  return released ? map_release(thread) : order_.mark(agent(thread));
}

Stamp WatchMemory::map_release(Thread& thread) {
  settle_stores();
  const Agent me = agent(thread);
  const KnowledgeRef knows = order_.tell(me);
  const Stamp at = order_.mark(me);
  global_->map_fence({cluster_.index(), thread.cta->rank, nullptr, at, knows});
  return at;
}

Stamp WatchMemory::map_acquire(Thread& thread, const TensorMap* map) {
  settle_stores();
  const Agent me = agent(thread);
  const KnowledgeRef knows = order_.tell(me);
  const Stamp at = order_.mark(me);
  if (global_->follows(map, map + 1)) global_->map_fence({cluster_.index(), thread.cta->rank, map, at, knows});
  return at;
}

void WatchMemory::map_used(Thread& thread, Pc pc, const TensorMap& map) {
  settle_stores();
  if (!global_->follows(&map, &map + 1)) return;
  const Agent me = agent(thread);
  const uint32_t at = site(pc, *thread.warp, all_lanes, "a TMA copy");
  // Proxy::tensor stands for the tensormap proxy here: nothing else of it reaches global memory.
  const GlobalAccess access = global_access_of(*thread.warp, order_.now(me), at, Touch::read, Proxy::tensor);
  touch_global(pc, *thread.warp, &map, sizeof(map), access, me.lane, Viewpoint(order_, me));
  order_.accessed_global(me);
}

bool WatchMemory::knows(const Thread& thread, const Stamp& moment) const {
  return order_.covers(agent(thread), Plane::happened, moment);
}

// ---- copies to and from it

void WatchMemory::fence_proxy_global(Thread& thread) {
  settle_stores();
  if (!global_->fences_matter()) return;
  const Agent me = agent(thread);
  const Stamp at = order_.now(me);
  global_->proxy_fence(cluster_.index(), at, order_.tell(me));
}

namespace {

/// What a bulk store leaves in global memory, from the first byte that it writes to the last.
std::pair<const std::byte*, std::vector<std::byte>> stored_bytes(const AsyncOp& op) {
  const std::byte* const window = op.destination->window;
  if (op.global != nullptr) {
    const std::byte* const from = op.read_done ? op.staging.data() : window + op.offset;
    return {op.global, {from, from + op.bytes}};
  }
  std::vector<std::byte> staging = op.staging;
  if (!op.read_done) {
    staging.resize(op.bytes);
    tma_read_box(op.map, op.at.mode, window, op.offset, staging.data());
  }
  const ByteRange range = tma_global_range(op.map, op.at, true);
  std::vector<std::byte> image(static_cast<size_t>(range.end - range.begin));
  TensorMapArgs elsewhere = op.map;
  elsewhere.address = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(op.map.address) +
                                                    reinterpret_cast<uintptr_t>(image.data()) -
                                                    reinterpret_cast<uintptr_t>(range.begin));
  tma_write_box(elsewhere, op.at, staging.data());
  return {range.begin, std::move(image)};
}

}  // namespace

/// Boxes may overlap where both bring the same values, as the last two of a row that is no multiple of them do: whoever
/// comes last, the bytes are the same.
bool WatchMemory::leaves_the_same(const AsyncOp& store, const GlobalConflict& conflict) const {
  const GlobalAccess& earlier = conflict.earlier;
  if (earlier.store == 0 || earlier.touch != Touch::write || store.reduction || earlier.cluster != cluster_.index())
    return false;
  const auto* const begin = reinterpret_cast<const std::byte*>(conflict.address);
  const auto bytes_of = [&](const AsyncOp& op) {
    const auto [first, image] = stored_bytes(op);
    return std::vector<std::byte>(image.begin() + (begin - first), image.begin() + (begin - first) + conflict.bytes);
  };
  const AsyncOp* const before = in_flight(cluster_, {earlier.slot, earlier.tick, whole_slot});
  const std::vector<std::byte> first =
      before != nullptr ? bytes_of(*before) : std::vector<std::byte>(begin, begin + conflict.bytes);
  return first == bytes_of(store);
}

void WatchMemory::issue_global(const AsyncOp& op, uint32_t at) {
  const Warp& warp = *op.issuer->warp;
  const Viewpoint view(*op.work);
  const auto touch = [&](const std::byte* begin, size_t bytes, const GlobalAccess& access) {
    touch_global(op.pc, warp, begin, bytes, access, 0, view, access.store != 0 ? &op : nullptr);
  };
  if (op.kind == AsyncOp::Kind::tma_store) {
    if (op.group->store == 0) op.group->store = global_->add_store();
    GlobalAccess access =
        global_access_of(warp, op.work->stamp, at, op.reduction ? Touch::atomic : Touch::write, Proxy::async);
    access.store = op.group->store;
    if (op.reduction)
      access.update = update_of(
          *op.reduction, op.global != nullptr ? op.reduction_type : tensor_reduction(*op.reduction, op.map.type).type);
    if (op.global == nullptr) {
      for_each_global_run(op.map, op.at, true,
                          [&](const std::byte* begin, uint32_t bytes) { touch(begin, bytes, access); });
    } else if (op.byte_mask == 0xffff) {
      touch(op.global, op.bytes, access);
    } else {
      for (uint32_t byte = 0; byte < op.bytes; ++byte)
        if ((op.byte_mask >> byte % 16 & 1) != 0) touch(op.global + byte, 1, access);
    }
    return;
  }
  const std::byte* begin = op.global;
  size_t bytes = op.bytes;
  if (op.kind == AsyncOp::Kind::cp_async) {
    begin = static_cast<const std::byte*>(op.source);
    bytes = op.source_bytes;
  }
  if (begin == nullptr && op.kind == AsyncOp::Kind::tma_load) {
    const ByteRange range = tma_global_range(op.map, op.at, false);
    if (range.begin == range.end || !global_->follows(range.begin, range.end)) return;
    const GlobalAccess access = global_access_of(warp, op.work->stamp, at, Touch::read, Proxy::async);
    for_each_global_run(op.map, op.at, false, [&](const std::byte* run, uint32_t count) { touch(run, count, access); });
    return;
  }
  if (begin == nullptr || bytes == 0 || !global_->follows(begin, begin + bytes)) return;
  touch(begin, bytes,
        global_access_of(warp, op.work->stamp, at, Touch::read,
                         op.kind == AsyncOp::Kind::cp_async ? Proxy::generic : Proxy::async));
}

void WatchMemory::bulk_committed(const Thread& thread, const BulkGroup& group) {
  stores_[&thread].push_back(group.store);
}

void WatchMemory::bulk_waited(const Thread& thread, uint32_t pending) {
  settle_stores();
  std::vector<uint32_t>& groups = stores_[&thread];
  if (groups.size() <= pending) return;
  const Stamp waited = order_.mark(agent(thread));
  const auto end = groups.end() - static_cast<std::ptrdiff_t>(pending);
  for (auto store = groups.begin(); store != end; ++store)
    if (*store != 0) global_->stored(*store, waited);
  groups.erase(groups.begin(), end);
}

}  // namespace warploom::loom::check
