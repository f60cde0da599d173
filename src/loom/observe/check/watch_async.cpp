// What the checker is told of work that no thread executes: copies, tensor cores, commits.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u;

const char* operation_of(const AsyncOp& op) {
  if (op.reduction)
    return op.kind == AsyncOp::Kind::store_async ? "red.async"
           : op.kind == AsyncOp::Kind::bulk_send ? "cp.reduce.async.bulk between CTAs"
           : op.global != nullptr                ? "cp.reduce.async.bulk"
                                                 : "a TMA reduction";
  switch (op.kind) {
    case AsyncOp::Kind::tma_load: return op.global != nullptr ? "cp.async.bulk" : "a TMA load";
    case AsyncOp::Kind::tma_store: return op.global != nullptr ? "cp.async.bulk" : "a TMA store";
    case AsyncOp::Kind::mma: return "tcgen05.mma";
    case AsyncOp::Kind::commit: return "tcgen05.commit";
    case AsyncOp::Kind::cp_async: return "cp.async";
    case AsyncOp::Kind::cp_async_arrive: return "cp.async.mbarrier.arrive";
    case AsyncOp::Kind::store_async: return "st.async";
    case AsyncOp::Kind::try_cancel: return "clusterlaunchcontrol.try_cancel";
    case AsyncOp::Kind::wgmma: return "wgmma";
    case AsyncOp::Kind::tmem_copy: return "tcgen05.cp";
    case AsyncOp::Kind::tmem_shift: return "tcgen05.shift";
    case AsyncOp::Kind::bulk_send: return "cp.async.bulk between CTAs";
  }
  return "";
}

bool overlap(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count) { return a < b + b_count && b < a + a_count; }

}  // namespace

void WatchWork::issue(AsyncOp& op) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->issue(op);
  const Warp& warp = *op.issuer->warp;
  const uint32_t lane = 1u << op.issuer->id.lane;
  switch (op.kind) {
    case AsyncOp::Kind::mma:
    case AsyncOp::Kind::tmem_copy:
    case AsyncOp::Kind::tmem_shift: return issue_tensor(op);
    case AsyncOp::Kind::commit: return issue_commit(op);
    case AsyncOp::Kind::wgmma: return;  // wgmma() was told
    case AsyncOp::Kind::cp_async_arrive: {
      auto work = std::make_shared<Work>(order_.begin(agent(*op.issuer), Tells::end));
      for (const WorkRef& copy : copies_[op.issuer]) Order::include(*work, *copy);
      copies_[op.issuer].clear();
      op.work = std::move(work);
      came_into(op, operation_of(op));
      return;
    }
    default: break;
  }
  // cp.async and st.async are threads' own writes that land late: by the generic proxy (hardware.md §6.2, §6.10).
  const bool generic = op.kind == AsyncOp::Kind::cp_async || op.kind == AsyncOp::Kind::store_async;
  uint32_t bytes = op.bytes;
  if (op.kind == AsyncOp::Kind::tma_load && op.global == nullptr) bytes = tma_box_footprint(op.map, op.at.mode);
  const auto work = std::make_shared<Work>(
      op.kind == AsyncOp::Kind::tma_store
          ? order_.begin(agent(*op.issuer), Tells::end)
          : begin_write(agent(*op.issuer), *op.destination, op.offset, bytes, generic ? Tells::plain : Tells::memory));
  if (generic) order_.writes_to(*work, rank_of(*op.destination));
  op.work = work;
  if (op.kind != AsyncOp::Kind::tma_store && op.barrier_cta != nullptr) {
    Slot& slot = slots_[rank_of(*op.destination)][op.offset];
    if (slot.bytes != bytes) slot = {bytes, isa::find_barrier(*op.barrier_cta, op.barrier_offset)};
  }
  const Viewpoint view(*work);
  const Barrier* told = op.barrier_cta == nullptr ? nullptr : isa::find_barrier(*op.barrier_cta, op.barrier_offset);
  Record record = view.record(generic ? Proxy::generic : Proxy::async, site(op.pc, warp, lane, operation_of(op), told));
  if (op.kind == AsyncOp::Kind::bulk_send) {
    touch_shared(op.pc, warp, *op.issuer->cta, op.source_offset, bytes, false, view, record);
  }
  const bool within_cluster = op.kind == AsyncOp::Kind::bulk_send || op.kind == AsyncOp::Kind::store_async;
  if (op.reduction && within_cluster) record.update = update_of(*op.reduction, op.reduction_type);
  if (op.kind == AsyncOp::Kind::tma_store && op.global == nullptr)
    for_each_stored_run(op.map, op.at, op.offset, [&](uint32_t offset, uint32_t count) {
      touch_shared(op.pc, warp, *op.destination, offset, count, false, view, record);
    });
  else
    touch_shared(op.pc, warp, *op.destination, op.offset, bytes, op.kind != AsyncOp::Kind::tma_store, view, record);
  issue_global(op, record.site);
  if (op.kind != AsyncOp::Kind::tma_store) came_into(op, operation_of(op));
  if (op.kind == AsyncOp::Kind::tma_store) op.group->works.push_back(op.work);
  if (op.kind == AsyncOp::Kind::cp_async) {
    op.copies->works.push_back(op.work);
    copies_[op.issuer].push_back(op.work);
  }
}

Work WatchWork::begin_write(Agent issuer, const Cta& cta, uint32_t offset, uint32_t bytes, Tells tells) {
  const uint64_t place = uint64_t{rank_of(cta)} << 48 | uint64_t{offset} << 24 | bytes;
  const auto [before, first] = writers_.try_emplace(place);
  Work work = first ? order_.begin(issuer, tells) : order_.begin_over(issuer, before->second, tells);
  before->second = work.stamp;
  return work;
}

void WatchWork::deliver(const AsyncOp& op, const Barrier& barrier, bool arrival) {
  if (op.work == nullptr) return;
  delivering_ = &op;
  usable(op.pc, *op.issuer->warp, 1u << op.issuer->id.lane, barrier, Viewpoint(*op.work),
         op.kind != AsyncOp::Kind::cp_async_arrive, operation_of(op));
  // A thread's own store, though it lands late: another CTA sees it as it sees all that threads do.
  const bool remote = op.kind == AsyncOp::Kind::store_async && barrier.cta != op.issuer->cta;
  // No phase waits for a copy of no bytes: whoever waits at the barrier learns nothing of it.
  if (!arrival && op.bytes == 0) {
    delivering_ = nullptr;
    return;
  }
  if (!arrival) order_.count_bytes(*op.work, barrier.watched, -static_cast<int64_t>(op.bytes), op.pc);
  order_.complete(*op.work, barrier.watched,
                  !arrival    ? Order::Ends::bytes
                  : op.raised ? Order::Ends::raised
                              : Order::Ends::arrival,
                  op.pc, remote);
  delivering_ = nullptr;
}

void WatchWork::finished(const AsyncOp& op) {
  // Tensor cores' work is retired by who learns of it, a write by the next one in its place.
  const bool silent = op.kind == AsyncOp::Kind::commit || op.kind == AsyncOp::Kind::tma_store ||
                      op.kind == AsyncOp::Kind::cp_async_arrive;
  if (op.work != nullptr && silent) order_.retire(*op.work);
}

void WatchWork::learn(Thread& thread, std::vector<WorkRef>& works) {
  settle_stores();
  if (recorder_ != nullptr && !works.empty()) recorder_->learn(thread, works.size());
  for (const WorkRef& work : works) order_.learn(agent(thread), *work);
  works.clear();
}

void WatchWork::learn(const Warp& warp, const KnowledgeRef& news) { order_.learn_all(agent(warp).warp, news); }

// ---- wgmma

void WatchWork::flush(Batch& batch) {
  if (batch.flushed) return;
  batch.flushed = true;
  const Viewpoint view(*batch.work);
  const Record record = view.record(Proxy::async, batch.site);
  for (uint32_t i = 0; i < batch.ctas; ++i) {
    const Cta& cta = cluster_.cta(batch.first_cta + i);
    for (const auto& [first, count] : footprints_.runs(batch.lines))
      touch_shared(batch.pc, *batch.warp, cta, first, count, false, view, record);
  }
}

void WatchWork::wgmma_joined(const Warp& warp, WgmmaInstruction& op) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->wgmma(warp, op);
  // A warp's part may begin when that warp has come to it, whatever it learns while it goes on.
  const Agent me = agent(warp);
  WgmmaIssuer& mine = wgmma_issuers_[me.warp];
  const auto [knows, tick] = order_.moment(me);
  if (mine.relies == nullptr || mine.relies->knows != knows || mine.tick != tick)
    mine = {tick, std::make_shared<WarpIssue>(order_.issue_met(me.warp))};
  op.relies[warp.index % warpgroup_warps] = mine.relies;
}

void WatchWork::wgmma(const Warp& first, WgmmaInstruction& op) {
  Batch& batch = wgmmas_[first.cta->rank * first.cta->warpgroups.size() + first.index / warpgroup_warps];
  if (batch.flushed || !std::equal(op.relies, op.relies + warpgroup_warps, batch.issuers)) {
    flush(batch);
    Knowledge relies = Order::issue_together(op.relies);
    batch.work = std::make_shared<Work>(batch.work == nullptr ? order_.begin(std::move(relies), Tells::end)
                                                              : order_.begin_behind(std::move(relies), *batch.work));
    std::copy_n(op.relies, warpgroup_warps, batch.issuers);
    batch.lines = Footprints::nothing;
    batch.site = site(op.pc, first, all_lanes, "wgmma");
    batch.warp = &first;
    batch.pc = op.pc;
    batch.first_cta = first.cta->rank;
    batch.flushed = false;
  }
  op.work = batch.work;
  batch.lines = footprints_.with(batch.lines, op.operation);
}

void WatchWork::wgmma_commit(const Warp& warp) {
  if (recorder_ != nullptr) recorder_->wgmma_commit(warp);
  flush(wgmmas_[warp.cta->rank * warp.cta->warpgroups.size() + warp.index / warpgroup_warps]);
}

void WatchWork::wgmma_waited(const Warp& warp, const WgmmaInstruction& last) {
  settle_stores();
  if (last.work == nullptr) return;
  if (recorder_ != nullptr) recorder_->wgmma_waited(warp, last);
  Batch& batch = wgmmas_[warp.cta->rank * warp.cta->warpgroups.size() + warp.index / warpgroup_warps];
  flush(batch);
  if (batch.waited != last.work) {
    batch.waited = last.work;
    batch.told = make_knowledge(Order::completion(*last.work));
  }
  learn(warp, batch.told);
}

// ---- tcgen05

void WatchWork::issue_tensor(AsyncOp& op) {
  TensorThread& mine = tensor_threads_[op.issuer];
  const Warp& warp = *op.issuer->warp;
  const Agent issuer = agent(*op.issuer);
  const uint32_t lane = 1u << op.issuer->id.lane;
  const bool multiply = op.kind == AsyncOp::Kind::mma;
  TensorWork here;
  here.copy = op.kind == AsyncOp::Kind::tmem_copy;
  if (multiply) {
    here.column = op.mma.d & 0xffff;
    here.columns = accumulator_columns(op.cta_group, op.mma.m, op.mma.n, op.mma.weight_stationary);
  } else if (here.copy) {
    here.column = op.copy.destination & 0xffff;
    here.columns = op.copy.columns();
  } else {
    here.column = op.offset & 0x1ff;
    here.columns = shift_columns;
  }
  const uint32_t group = static_cast<uint32_t>(op.cta_group);
  const uint32_t first_cta = op.issuer->cta->rank / group * group;

  Batch& batch = mine.batch;
  const bool goes_on = multiply && !batch.flushed && !mine.works.empty() && mine.works.back().work == batch.work &&
                       mine.works.back().column == here.column && mine.works.back().columns == here.columns &&
                       batch.moment == order_.moment(issuer) && op.mma.scales == 0 && !op.mma.a_in_tmem &&
                       !op.mma.masked && !batch.masked;
  if (goes_on) {
    op.work = batch.work;
    batch.lines = footprints_.with(batch.lines, op.mma);
    return;
  }
  flush(batch);
  // Behind what the hardware orders it behind: products on the same columns, copies before products (§4.5).
  const TensorWork* behind = nullptr;
  for (const TensorWork& other : mine.works)
    if (multiply && !other.copy && overlap(other.column, other.columns, here.column, here.columns)) behind = &other;
  auto work = std::make_shared<Work>(behind == nullptr ? order_.begin(issuer, Tells::tensor)
                                                       : order_.begin_behind(order_.issue(issuer), *behind->work));
  for (const TensorWork& other : mine.works)
    if ((multiply && other.copy) || (!multiply && !here.copy && !other.copy))
      work->relies.join(Order::completion(*other.work));
  here.work = work;
  op.work = work;
  for (uint32_t i = 0; i < group; ++i)
    came_into(cluster_.cta(first_cta + i), {work->stamp, op.pc, &warp, lane, operation_of(op)});
  const Viewpoint view(*work);
  const uint32_t at = site(op.pc, warp, lane, operation_of(op));
  const Record record = view.record(Proxy::tensor, at);
  if (multiply) {
    const std::vector<CellRun> operands = operand_cells(op.mma);
    touch_cells(op.pc, warp, first_cta, operands, false, view, record);
    const std::vector<CellRun>& accumulator = footprints_.accumulator_cells(op.mma);
    if (op.mma.accumulate)
      for (const CellRun& run : accumulator)
        run.for_each(tmem_column_count, [&](uint32_t first, uint32_t count) {
          if (!tensor_[first_cta + run.cta].initialised(first, count))
            report(op.pc, warp, {Conflict::Kind::uninitialised, Record(), record, false, false, first, true}, nullptr);
        });
    touch_cells(op.pc, warp, first_cta, accumulator, true, view, record);
  } else if (here.copy) {
    touch_cells(op.pc, warp, first_cta, cells_of(op.copy, group), true, view, record);
  } else {
    std::vector<CellRun> moved;
    for (uint32_t cta = 0; cta < group; ++cta)
      for (uint32_t half = 0; half < 2; ++half)
        moved.push_back({cta, (op.offset >> 16 & 0x7f) / tmem_group_lanes + half, here.column, here.columns});
    touch_cells(op.pc, warp, first_cta, moved, true, view, record);
  }
  if (op.kind != AsyncOp::Kind::tmem_shift) {
    batch.work = work;
    batch.moment = order_.moment(issuer);
    batch.lines = multiply ? footprints_.with(Footprints::nothing, op.mma) : footprints_.add(lines_of(op.copy));
    batch.site = at;
    batch.warp = &warp;
    batch.pc = op.pc;
    batch.first_cta = first_cta;
    batch.ctas = group;
    batch.masked = multiply && op.mma.masked;
    batch.flushed = false;
    if (here.copy) flush(batch);
  }
  std::erase_if(mine.works, [&](const TensorWork& other) {
    if (other.copy != here.copy || !overlap(other.column, other.columns, here.column, here.columns)) return false;
    if (&other != behind) order_.retire(*other.work);
    return true;
  });
  mine.works.push_back(std::move(here));
}

void WatchWork::issue_commit(AsyncOp& op) {
  TensorThread& mine = tensor_threads_[op.issuer];
  flush(mine.batch);
  auto work = std::make_shared<Work>(order_.begin(agent(*op.issuer), Tells::end));
  for (const TensorWork& other : mine.works) Order::include(*work, *other.work);
  op.work = std::move(work);
  came_into(op, operation_of(op));
}

void WatchMemory::touch_cells(Pc pc, const Warp& warp, uint32_t first_cta, const std::vector<CellRun>& runs, bool write,
                              const Viewpoint& view, const Record& record) {
  for (const CellRun& run : runs)
    run.for_each(tmem_column_count, [&](uint32_t first, uint32_t count) {
      touch(pc, warp, tensor_[first_cta + run.cta], first, count, write, view, record, true);
    });
}

/// Which columns an allocation gets depends on those before it.
void WatchWork::allocation_changes(const Warp& warp, Pc pc, const char* operation) {
  std::optional<Stamp>& last = allocations_[warp.cta->rank];
  if (last && !order_.covers(agent(warp), Plane::happened, *last)) depends(pc, operation);
  last = order_.mark(agent(warp));
}

void WatchWork::tmem_allocated(const Warp& warp, Pc pc, uint32_t column, uint32_t columns, uint32_t slot) {
  settle_stores();
  for (uint32_t group = 0; group < tmem_groups; ++group)
    CellRun{0, group, column, columns}.for_each(
        tmem_column_count, [&](uint32_t first, uint32_t count) { tensor_[warp.cta->rank].forget(first, count); });
  access(warp, pc, {&slot, 1}, sizeof(uint32_t), true, "tcgen05.alloc");
  allocation_changes(warp, pc, "tcgen05.alloc");
}

void WatchWork::tmem_relinquished(const Warp& warp, Pc pc) {
  settle_stores();
  allocation_changes(warp, pc, "tcgen05.relinquish_alloc_permit");
}

void WatchWork::tmem_freed(const Warp& warp, Pc pc, const Cta& cta, uint32_t column, uint32_t columns) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->tensor_freed(warp, cta, column, columns);
  if (&cta == warp.cta) allocation_changes(warp, pc, "tcgen05.dealloc");
  const Viewpoint view(order_, agent(warp));
  const Record record = view.record_of_warp(Proxy::generic, site(pc, warp, all_lanes, "tcgen05.dealloc"));
  std::vector<CellRun> freed;
  for (uint32_t group = 0; group < tmem_groups; ++group) freed.push_back({0, group, column, columns});
  touch_cells(pc, warp, cta.rank, freed, true, view, record);
  order_.noted_all(agent(warp).warp);
}

void WatchWork::tmem_access(const Warp& warp, Pc pc, TmemAccess& access) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->tensor_access(warp, access);
  const auto work = std::make_shared<Work>(order_.begin(agent(warp), Tells::tensor));
  access.work = work;
  const Viewpoint view(*work);
  const Record record =
      view.record(Proxy::tensor, site(pc, warp, all_lanes, access.load ? "tcgen05.ld" : "tcgen05.st"));
  touch_cells(pc, warp, warp.cta->rank, footprints_.cells_of(access.form, access.count, access.address), !access.load,
              view, record);
}

void WatchWork::tmem_waited(const Warp& warp, const TmemAccess& access) {
  settle_stores();
  if (access.work == nullptr) return;
  if (recorder_ != nullptr) recorder_->tensor_waited(warp);
  order_.learn_tensor_all(agent(warp).warp, *access.work);
  order_.retire(*access.work);
}

}  // namespace warploom::loom::check
