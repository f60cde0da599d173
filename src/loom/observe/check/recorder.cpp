#include "loom/observe/check/recorder.hpp"

#include "loom/exec/cluster.hpp"
#include "loom/observe/check/footprint.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u;
using Kind = Operation::Kind;

void add_lines(std::vector<Region>& regions, const LineSet& lines, uint32_t cta) {
  lines.for_each([&](uint32_t first, uint32_t count) { regions.push_back({cta, false, false, first, count}); });
}

void add_cells(std::vector<Region>& regions, const std::vector<CellRun>& runs, uint32_t first_cta, bool writes) {
  for (const CellRun& run : runs)
    regions.push_back({first_cta + run.cta, true, writes, run.group * tmem_column_count + run.column, run.count});
}

}  // namespace

Recorder* Recorder::take(Cluster& cluster) {
  Recorder* recorder = next_.exchange(nullptr);
  if (recorder == nullptr) return nullptr;
  recorder->ctas = cluster.size();
  recorder->warps_per_cta = static_cast<uint32_t>(cluster.cta(0).warps.size());
  recorder->number_of(recorder, "the cluster barrier", 0);
  return recorder;
}

Operation& Recorder::add(Kind kind, const Warp& warp, uint32_t lanes) {
  return operations.emplace_back(
      Operation{.kind = kind, .warp = warp.cta->rank * warps_per_cta + warp.index, .lanes = lanes});
}

Operation& Recorder::add(Kind kind, const Thread& thread) { return add(kind, *thread.warp, 1u << thread.id.lane); }

uint32_t Recorder::number_of(const void* barrier, const std::string& name, uint32_t count) {
  const auto [entry, added] = numbers_.try_emplace(barrier, static_cast<uint32_t>(barriers.size()));
  if (added) barriers.push_back({name, count});
  return entry->second;
}

void Recorder::synchronise(const Warp& warp, uint32_t mask) { add(Kind::meet, warp, mask); }

void Recorder::access(const Thread& thread, const Cta& owner, uint32_t offset, uint32_t bytes, bool write) {
  add(Kind::access, thread).regions = {{owner.rank, false, write, offset, bytes}};
}

void Recorder::access(const Warp& warp, uint32_t offset, uint32_t bytes, bool write) {
  add(Kind::access, warp, all_lanes).regions = {{warp.cta->rank, false, write, offset, bytes}};
}

void Recorder::fence_proxy(const Thread& thread) { add(Kind::fence_proxy, thread); }

void Recorder::tensor_fence(const Thread& thread, bool before) {
  add(before ? Kind::tensor_before : Kind::tensor_after, thread);
}

void Recorder::signal(const Thread& thread, const Barrier& barrier, SignalKind kind, uint32_t arrivals, int64_t bytes,
                      bool tells) {
  Operation& operation = add(Kind::unsupported, thread);
  operation.barrier = number_of(&barrier, barrier.name(), barrier.state.expected);
  operation.count = arrivals;
  operation.bytes = bytes;
  switch (kind) {
    case SignalKind::arrive: operation.kind = tells ? Kind::arrive : Kind::arrive_relaxed; break;
    case SignalKind::arrive_expect_tx:
      if (tells) operation.kind = Kind::arrive_expect;
      break;
    case SignalKind::expect_tx: operation.kind = Kind::expect; break;
    default: break;
  }
  operation.note = to_string(kind);
}

void Recorder::passed(const Thread& thread, const Barrier& barrier, uint64_t phases) {
  Operation& operation = add(Kind::wait, thread);
  operation.barrier = number_of(&barrier, barrier.name(), barrier.state.expected);
  operation.phases = phases;
}

void Recorder::arrive(const Warp& warp, const NamedBarrier& barrier) {
  Operation& operation = add(Kind::sync, warp, all_lanes);
  operation.barrier = number_of(&barrier, barrier.name, barrier.expected / 32);
  operation.count = 1;
}

void Recorder::completed(const NamedBarrier& barrier, std::span<Warp* const> waiting) {
  const uint32_t number = number_of(&barrier, barrier.name, barrier.expected / 32);
  for (const Warp* warp : waiting) add(Kind::passed, *warp, all_lanes).barrier = number;
}

void Recorder::cluster_arrive(const Thread& thread, bool tells) {
  add(tells ? Kind::cluster_arrive : Kind::cluster_arrive_relaxed, thread).count = 1;
}

void Recorder::cluster_passed(const Thread& thread) { add(Kind::cluster_wait, thread); }

void Recorder::issue(const AsyncOp& op) {
  if (op.kind == AsyncOp::Kind::wgmma) return;  // wgmma() was told
  Operation& operation = add(Kind::unsupported, *op.issuer);
  if (op.barrier_cta != nullptr) {
    for (const auto& barrier : op.barrier_cta->barriers)
      if (barrier->live && barrier->offset == op.barrier_offset)
        operation.barrier = number_of(barrier.get(), barrier->name(), barrier->state.expected);
  }
  const uint32_t box = op.global != nullptr ? op.bytes : tma_box_footprint(op.map, op.at.mode);
  switch (op.kind) {
    case AsyncOp::Kind::tma_load:
      operation.kind = Kind::load;
      operation.bytes = op.bytes;
      operation.regions = {{op.destination->rank, false, true, op.offset, box}};
      break;
    case AsyncOp::Kind::tma_store:
      operation.kind = Kind::store;
      operation.regions = {{op.destination->rank, false, false, op.offset, box}};
      break;
    case AsyncOp::Kind::mma: {
      operation.kind = Kind::multiply;
      const auto group = static_cast<uint32_t>(op.cta_group);
      const uint32_t first = op.issuer->cta->rank / group * group;
      for (uint32_t i = 0; i < group; ++i) add_lines(operation.regions, lines_of(op.mma), first + i);
      add_cells(operation.regions, operand_cells(op.mma), first, false);
      add_cells(operation.regions, accumulator_cells(op.mma), first, true);
      break;
    }
    case AsyncOp::Kind::commit: operation.kind = Kind::commit; break;
    default: operation.note = "an asynchronous operation"; break;
  }
}

void Recorder::learn(const Thread& thread, size_t stores) {
  add(Kind::wait_store, thread).count = static_cast<uint32_t>(stores);
}

void Recorder::wgmma(const Warp& warp, const WgmmaInstruction& op) {
  add_lines(add(Kind::wgmma, warp, all_lanes).regions, lines_of(op.operation), warp.cta->rank);
}

void Recorder::wgmma_commit(const Warp& warp) { add(Kind::wgmma_commit, warp, all_lanes); }

void Recorder::wgmma_waited(const Warp& warp, const WgmmaInstruction& last) {
  add(Kind::wgmma_wait, warp, all_lanes).count = static_cast<uint32_t>(last.commits);
}

void Recorder::tensor_freed(const Warp& warp, const Cta& cta, uint32_t column, uint32_t columns) {
  Operation& operation = add(Kind::access, warp, all_lanes);
  for (uint32_t group = 0; group < tmem_groups; ++group)
    operation.regions.push_back({cta.rank, true, true, group * tmem_column_count + column, columns});
}

void Recorder::tensor_access(const Warp& warp, const TmemAccess& access) {
  add_cells(add(Kind::tensor_access, warp, all_lanes).regions, cells_of(access.form, access.count, access.address),
            warp.cta->rank, !access.load);
}

void Recorder::tensor_waited(const Warp& warp) { add(Kind::tensor_wait, warp, all_lanes); }

}  // namespace warploom::loom::check
