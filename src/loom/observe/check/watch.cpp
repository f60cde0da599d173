// What the parts of the checker begin with, and who and where an operation is.
#include "loom/observe/check/watch.hpp"

#include "loom/exec/cluster.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t lane_count = 32;

}  // namespace

WatchNotes::WatchNotes(Cluster& cluster)
    : cluster_(cluster),
      warps_per_cta_(static_cast<uint32_t>(cluster.cta(0).warps.size())),
      order_(cluster.size() * warps_per_cta_),
      slots_(cluster.size()),
      units_(cluster.size()),
      recorder_(Recorder::take(cluster)) {
  order_.violated = [this](const Order::Violation& violation) { report(violation); };
  shared_.reserve(cluster.size());
  tensor_.reserve(cluster.size());
  for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
    shared_.emplace_back((cluster.cta(rank).window_bytes + Shadow::line_cells - 1) / Shadow::line_cells,
                         Shadow::Block::tile, window_start);
    tensor_.emplace_back(tmem_lane_count * tmem_column_count / Shadow::line_cells, Shadow::Block::tile);
  }
  sites_.emplace_back();
  cluster_barrier_ = order_.make_barrier(true);
  barriers_.push_back({.name = "the cluster barrier"});
}

WatchMemory::WatchMemory(Cluster& cluster)
    : WatchNotes(cluster),
      incoming_(cluster.size()),
      live_(cluster.size()),
      released_(size_t{cluster.size()} * cluster.cta(0).threads.size()),
      global_(cluster.launch().global) {
  if (global_ == nullptr) {
    own_global_ = std::make_unique<GlobalMemory>(cluster.launch().tensors);
    global_ = own_global_.get();
  }
}

WatchBarriers::WatchBarriers(Cluster& cluster) : WatchMemory(cluster), exits_(cluster.size()) {}

WatchWork::WatchWork(Cluster& cluster)
    : WatchBarriers(cluster),
      wgmma_issuers_(cluster.size() * warps_per_cta_),
      wgmmas_(cluster.size() * cluster.cta(0).warpgroups.size()),
      allocations_(cluster.size()) {}

Watch::Watch(Cluster& cluster)
    : WatchWork(cluster), cancels_(cluster.size()), grid_waits_(cluster.size()), pools_(cluster.size()) {}

uint32_t WatchNotes::rank_of(const Cta& cta) { return cta.rank; }

size_t WatchNotes::first_thread(const Warp& warp) {
  return size_t{warp.cta->rank} * warp.cta->threads.size() + size_t{warp.index} * lane_count;
}

Agent WatchNotes::agent(const Warp& warp, uint8_t lane) const {
  return {warp.cta->rank * warps_per_cta_ + warp.index, lane};
}

Agent WatchNotes::agent(const Thread& thread) const {
  return agent(*thread.warp, static_cast<uint8_t>(thread.id.lane));
}

const Warp& WatchNotes::warp_of(uint32_t slot) const {
  return *cluster_.cta(slot / warps_per_cta_).warps[slot % warps_per_cta_];
}

uint32_t WatchNotes::site(Pc pc, const Warp& warp, uint32_t lanes, const char* operation, const Barrier* object) {
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

}  // namespace warploom::loom::check
