// tcgen05.alloc, dealloc and relinquish_alloc_permit: columns of tensor memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/tcgen05.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/observe/claims.hpp"

namespace warploom::loom {

namespace isa {
namespace {

using AllocRequest = TensorState::AllocRequest;
using PairWait = TensorState::PairWait;

constexpr uint32_t unit = 32;  // columns per allocation unit

/// First free run of `columns` in a CTA's bitmap, or 512.
uint32_t find_columns(uint16_t taken, uint32_t columns) {
  const uint32_t units = columns / unit;
  const uint32_t run = (1u << units) - 1;
  for (uint32_t first = 0; first + units <= tmem_column_count / unit; ++first)
    if ((taken & run << first) == 0) return first * unit;
  return tmem_column_count;
}

uint16_t column_bits(uint32_t base, uint32_t columns) {
  return static_cast<uint16_t>(((1u << columns / unit) - 1) << base / unit);
}

bool legal_columns(uint32_t columns) {
  return std::has_single_bit(columns) && columns >= unit && columns <= tmem_column_count;
}

bool grant(const AllocRequest& request) {
  check::Watch* const watch = request.warp->cluster->watch();
  Cta& cta = *request.warp->cta;
  Cta* other = request.peer == nullptr ? nullptr : request.peer->cta;
  const uint16_t taken = other == nullptr ? cta.columns_taken : cta.columns_taken | other->columns_taken;
  const uint32_t base = find_columns(taken, request.columns);
  if (base == tmem_column_count) return false;
  auto give = [&](Cta& to, uint32_t offset) {
    to.columns_taken |= column_bits(base, request.columns);
    to.allocations[base] = request.columns;
    to.allocated_at = request.pc;
    to.last_allocation = request.columns;
    std::memcpy(to.window + offset, &base, sizeof(base));
  };
  give(cta, request.slot);
  if (other != nullptr) give(*other, request.peer_slot);
  if (watch) {
    watch->tmem_allocated(*request.warp, request.pc, base, request.columns, request.slot);
    if (other != nullptr) watch->tmem_allocated(*request.peer, request.pc, base, request.columns, request.peer_slot);
  }
  return true;
}

void grant_waiting(Cluster& cluster, uint64_t time) {
  std::erase_if(cluster.tensor.alloc_waiters, [&](const AllocRequest& request) {
    if (!grant(request)) return false;
    cluster.wake_warp(*request.warp, time);
    if (request.peer != nullptr) cluster.wake_warp(*request.peer, time);
    return true;
  });
}

void tmem_alloc(Warp& warp, Pc pc, int cta_group, uint32_t slot, uint32_t columns) {
  Cluster& cluster = *warp.cluster;
  Thread& thread = *cluster.running();
  note_cta_group(thread, pc, cta_group);
  Cta& cta = *warp.cta;
  if (!legal_columns(columns))
    cluster.fail(thread, pc, "TMEM-RULE",
                 fmt::format("tcgen05.alloc of {} columns; 32, 64, 128, 256 or 512 are possible", columns));
  if (cta.relinquished) cluster.fail(thread, pc, "TMEM-RULE", "tcgen05.alloc after relinquish_alloc_permit");
  if (columns > cta.last_allocation)
    cluster.fail(thread, pc, "TMEM-RULE",
                 fmt::format("tcgen05.alloc of {} columns after one of {}: allocations must not grow", columns,
                             cta.last_allocation));
  if (cluster.owner(slot) != &cta || slot % 4 != 0 || !inside(cta, slot & offset_mask, 4))
    cluster.fail(thread, pc, "TMEM-RULE", "tcgen05.alloc writes its address to a word of this CTA's shared memory");

  AllocRequest request{.warp = &warp, .peer = nullptr, .pc = pc, .columns = columns, .slot = slot & offset_mask};
  if (cta_group == 1) {
    if (grant(request)) return;
    cluster.tensor.alloc_waiters.push_back(request);
    cluster.park_warp(warp, {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc"});
    return;
  }
  const uint32_t pair = cta.rank / 2 * 2;
  PairWait& peer = cluster.tensor.pair_waits[pair];
  if (peer.warp == nullptr) {
    peer = {&warp, pc, columns, slot & offset_mask};
    cluster.park_warp(warp,
                      {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc (pair)"});
    return;
  }
  if (peer.warp->cta == &cta || peer.value != columns)
    cluster.fail(thread, pc, "TMEM-RULE", "the CTAs of a pair must run the same tcgen05.alloc, one warp each");
  request.peer = peer.warp;
  request.peer_slot = peer.slot;
  cluster.tensor.pair_waits.erase(pair);
  if (grant(request)) {
    cluster.wake_warp(*request.peer, thread.time);
    return;
  }
  cluster.tensor.alloc_waiters.push_back(request);
  const Wait wait{.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc"};
  for (Thread* lane : request.peer->lanes) lane->wait.operation = wait.operation;  // no longer for the pair
  cluster.park_warp(warp, wait);
}

void tmem_dealloc(Warp& warp, Pc pc, int cta_group, uint32_t base, uint32_t columns) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  Thread& thread = *cluster.running();
  note_cta_group(thread, pc, cta_group);
  Cta& cta = *warp.cta;
  const auto allocation = cta.allocations.find(base);
  if (allocation == cta.allocations.end() || allocation->second != columns)
    cluster.fail(thread, pc, "TMEM-RULE",
                 fmt::format("tcgen05.dealloc of {} columns at {}, which is no allocation of this CTA", columns, base));
  // Work in flight on these columns: the dealloc should have been ordered after it.
  auto touches = [&](uint32_t column, uint32_t count) { return column < base + columns && base < column + count; };
  for (const auto& other : cta.warps)
    for (const TmemAccess& access : other->accesses)
      if (touches(access.address & 0x1ff, register_columns(access.form, access.count)))
        cluster.fail(thread, pc, "TMEM-RULE",
                     fmt::format("tcgen05.dealloc while a {} of warp {} on these columns has not been waited for",
                                 access.load ? "tcgen05.ld" : "tcgen05.st", other->index));
  for (const auto& op : cluster.pending) {
    const bool core = op->kind == AsyncOp::Kind::mma, copy = op->kind == AsyncOp::Kind::tmem_copy,
               shift = op->kind == AsyncOp::Kind::tmem_shift;
    if ((!core && !copy && !shift) ||
        first_of_group(*op->issuer, op->cta_group) !=
            cta.rank / static_cast<uint32_t>(op->cta_group) * static_cast<uint32_t>(op->cta_group))
      continue;
    bool used = false;
    if (core)
      for (const TmemUse& use : tmem_uses(op->mma)) used = used || touches(use.column, use.columns);
    if (copy) used = touches(op->copy.destination & 0xffff, op->copy.columns());
    if (shift) used = touches(op->offset & 0x1ff, shift_columns);
    if (used)
      cluster.fail(thread, pc, "TMEM-RULE",
                   fmt::format("tcgen05.dealloc while a tcgen05.{} on these columns is in flight", core   ? "mma"
                                                                                                   : copy ? "cp"
                                                                                                          : "shift"));
  }
  if (cta_group == 2) {
    const uint32_t pair = cta.rank / 2 * 2 + 1;
    PairWait& peer = cluster.tensor.pair_waits[pair];
    if (peer.warp == nullptr) {
      peer = {&warp, pc, base, columns};
      cluster.park_warp(warp,
                        {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.dealloc (pair)"});
      return;
    }
    if (peer.warp->cta == &cta || peer.value != base || peer.slot != columns)
      cluster.fail(thread, pc, "TMEM-RULE", "the CTAs of a pair must run the same tcgen05.dealloc, one warp each");
    Cta& other = *peer.warp->cta;
    if (watch) watch->tmem_freed(*peer.warp, peer.pc, other, base, columns);
    other.columns_taken &= static_cast<uint16_t>(~column_bits(base, columns));
    other.allocations.erase(base);
    forget_accumulators(other, base, columns);
    Warp* first = peer.warp;
    cluster.tensor.pair_waits.erase(pair);
    cluster.wake_warp(*first, thread.time);
  }
  if (watch) watch->tmem_freed(warp, pc, cta, base, columns);
  cta.columns_taken &= static_cast<uint16_t>(~column_bits(base, columns));
  cta.allocations.erase(base);
  forget_accumulators(cta, base, columns);
  grant_waiting(cluster, thread.time);
}

void tmem_relinquish(Warp& warp, Pc pc, int cta_group) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  note_cta_group(*cluster.running(), pc, cta_group);
  if (watch) watch->tmem_relinquished(warp, pc);
  warp.cta->relinquished = true;
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void tmem_alloc(int cta_group, uint32_t slot, uint32_t columns) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_alloc);
  uniform_operation(pc, "tcgen05.alloc", {.a = slot, .b = columns},
                    [&](const Collective&) { isa::tmem_alloc(*thread().warp, pc, cta_group, slot, columns); });
} catch (...) {
  break_off();
}

void tmem_relinquish(int cta_group) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_relinquish);
  warp_operation(pc, "tcgen05.relinquish_alloc_permit", {},
                 [&](const Collective&) { isa::tmem_relinquish(*thread().warp, pc, cta_group); });
} catch (...) {
  break_off();
}

void tmem_dealloc(int cta_group, uint32_t base, uint32_t columns) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_dealloc);
  uniform_operation(pc, "tcgen05.dealloc", {.a = base, .b = columns},
                    [&](const Collective&) { isa::tmem_dealloc(*thread().warp, pc, cta_group, base, columns); });
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
