// Tensor memory: allocation, and the warp's loads and stores between issue and wait.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/units/unconfirmed.hpp"

namespace warploom::loom {
namespace {

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

}  // namespace

void Cluster::tmem_alloc(Warp& warp, Pc pc, int cta_group, uint32_t slot, uint32_t columns) {
  Thread& thread = *running_;
  note_cta_group(thread, pc, cta_group);
  Cta& cta = *warp.cta;
  if (!legal_columns(columns))
    fail(thread, pc, "TMEM-RULE",
         fmt::format("tcgen05.alloc of {} columns; 32, 64, 128, 256 or 512 are possible", columns));
  if (cta.relinquished) fail(thread, pc, "TMEM-RULE", "tcgen05.alloc after relinquish_alloc_permit");
  if (columns > cta.last_allocation)
    fail(thread, pc, "TMEM-RULE",
         fmt::format("tcgen05.alloc of {} columns after one of {}: allocations must not grow", columns,
                     cta.last_allocation));
  if (owner(slot) != &cta || slot % 4 != 0 || !inside(cta, slot & offset_mask, 4))
    fail(thread, pc, "TMEM-RULE", "tcgen05.alloc writes its address to a word of this CTA's shared memory");

  AllocRequest request{.warp = &warp, .peer = nullptr, .pc = pc, .columns = columns, .slot = slot & offset_mask};
  if (cta_group == 1) {
    if (grant(request)) return;
    alloc_waiters_.push_back(request);
    park_warp(warp, {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc"});
    return;
  }
  const uint32_t pair = cta.rank / 2 * 2;
  PairWait& peer = pair_waits_[pair];
  if (peer.warp == nullptr) {
    peer = {&warp, pc, columns, slot & offset_mask};
    park_warp(warp, {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc (pair)"});
    return;
  }
  if (peer.warp->cta == &cta || peer.value != columns)
    fail(thread, pc, "TMEM-RULE", "the CTAs of a pair must run the same tcgen05.alloc, one warp each");
  request.peer = peer.warp;
  request.peer_slot = peer.slot;
  pair_waits_.erase(pair);
  if (grant(request)) {
    wake_warp(*request.peer, thread.time);
    return;
  }
  alloc_waiters_.push_back(request);
  const Wait wait{.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.alloc"};
  for (Thread* lane : request.peer->lanes) lane->wait.operation = wait.operation;  // no longer for the pair
  park_warp(warp, wait);
}

bool Cluster::grant(const AllocRequest& request) {
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
  if (watch_) {
    watch_->tmem_allocated(*request.warp, request.pc, base, request.columns, request.slot);
    if (other != nullptr) watch_->tmem_allocated(*request.peer, request.pc, base, request.columns, request.peer_slot);
  }
  return true;
}

void Cluster::grant_waiting(uint64_t time) {
  std::erase_if(alloc_waiters_, [&](const AllocRequest& request) {
    if (!grant(request)) return false;
    wake_warp(*request.warp, time);
    if (request.peer != nullptr) wake_warp(*request.peer, time);
    return true;
  });
}

void Cluster::tmem_dealloc(Warp& warp, Pc pc, int cta_group, uint32_t base, uint32_t columns) {
  Thread& thread = *running_;
  note_cta_group(thread, pc, cta_group);
  Cta& cta = *warp.cta;
  const auto allocation = cta.allocations.find(base);
  if (allocation == cta.allocations.end() || allocation->second != columns)
    fail(thread, pc, "TMEM-RULE",
         fmt::format("tcgen05.dealloc of {} columns at {}, which is no allocation of this CTA", columns, base));
  // Work in flight on these columns: the dealloc should have been ordered after it.
  auto touches = [&](uint32_t column, uint32_t count) { return column < base + columns && base < column + count; };
  for (const auto& other : cta.warps)
    for (const TmemAccess& access : other->accesses)
      if (touches(access.address & 0x1ff, register_columns(access.form, access.count)))
        fail(thread, pc, "TMEM-RULE",
             fmt::format("tcgen05.dealloc while a {} of warp {} on these columns has not been waited for",
                         access.load ? "tcgen05.ld" : "tcgen05.st", other->index));
  for (const auto& op : pending_) {
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
      fail(thread, pc, "TMEM-RULE",
           fmt::format("tcgen05.dealloc while a tcgen05.{} on these columns is in flight", core   ? "mma"
                                                                                           : copy ? "cp"
                                                                                                  : "shift"));
  }
  if (cta_group == 2) {
    const uint32_t pair = cta.rank / 2 * 2 + 1;
    PairWait& peer = pair_waits_[pair];
    if (peer.warp == nullptr) {
      peer = {&warp, pc, base, columns};
      park_warp(warp, {.kind = WaitKind::tmem_alloc, .pc = pc, .id = columns, .operation = "tcgen05.dealloc (pair)"});
      return;
    }
    if (peer.warp->cta == &cta || peer.value != base || peer.slot != columns)
      fail(thread, pc, "TMEM-RULE", "the CTAs of a pair must run the same tcgen05.dealloc, one warp each");
    Cta& other = *peer.warp->cta;
    if (watch_) watch_->tmem_freed(*peer.warp, peer.pc, other, base, columns);
    other.columns_taken &= static_cast<uint16_t>(~column_bits(base, columns));
    other.allocations.erase(base);
    forget_accumulators(other, base, columns);
    Warp* first = peer.warp;
    pair_waits_.erase(pair);
    wake_warp(*first, thread.time);
  }
  if (watch_) watch_->tmem_freed(warp, pc, cta, base, columns);
  cta.columns_taken &= static_cast<uint16_t>(~column_bits(base, columns));
  cta.allocations.erase(base);
  forget_accumulators(cta, base, columns);
  grant_waiting(thread.time);
}

void Cluster::tmem_relinquish(Warp& warp, Pc pc, int cta_group) {
  note_cta_group(*running_, pc, cta_group);
  if (watch_) watch_->tmem_relinquished(warp, pc);
  warp.cta->relinquished = true;
}

namespace {

/// Moves one access between TMEM and its values: reads for a load, writes for a store.
void touch(const Cta& cta, TmemAccess& access) {
  const uint32_t lane_base = access.address >> 16 & 0x7f;
  const uint32_t column_base = access.address & 0x1ff;
  access.touched = true;
  auto word = [&](uint32_t lane, uint32_t i, uint32_t half) -> uint32_t& {
    const TmemCell cell = register_cell(access.form, lane, i, half);
    return cta.tmem[(lane_base + cell.lane) * tmem_column_count + column_base + cell.column];
  };
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (access.form.shape == native::TmemShape::m32x32b &&
        !access.form.packed) {  // a lane's registers are columns, one after the other
      uint32_t* words = cta.tmem + (lane_base + lane) * tmem_column_count + column_base;
      uint32_t* values = access.values.data() + size_t{lane} * access.count;
      std::memcpy(access.load ? values : words, access.load ? words : values, access.count * sizeof(uint32_t));
      continue;
    }
    for (uint32_t i = 0; i < access.count; ++i) {
      uint32_t& value = access.values[lane * access.count + i];
      if (!access.form.packed) {
        if (access.load)
          value = word(lane, i, 0);
        else
          word(lane, i, 0) = value;
      } else if (access.load) {
        value = (word(lane, i, 0) & 0xffff) | word(lane, i, 1) << 16;
      } else {
        word(lane, i, 0) = (value & 0xffff) | unconfirmed::unpacked_upper_half << 16;
        word(lane, i, 1) = value >> 16 | unconfirmed::unpacked_upper_half << 16;
      }
    }
  }
}

}  // namespace

void Cluster::tmem_access(Warp& warp, Pc pc, const Collective& lanes, const native::TmemForm& form, uint32_t count,
                          uint32_t address, bool load) {
  Thread& thread = *running_;
  Cta& cta = *warp.cta;
  const char* name = load ? "tcgen05.ld" : "tcgen05.st";
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (lanes.lanes[lane].a != lanes.lanes[0].a)
      fail(thread, pc, "TMEM-RULE", fmt::format("{} with different addresses in lanes 0 and {}", name, lane));
  const uint32_t lane_base = address >> 16 & 0x7f;
  const uint32_t quarter = 32 * (warp.index % 4);
  if (const std::string broken = broken_register_count(form, count); !broken.empty())
    fail(thread, pc, "TMEM-RULE", fmt::format("{} {}", name, broken));
  const bool half = form.shape != native::TmemShape::m32x32b;
  if (lane_base != quarter && !(half && lane_base == quarter + 16))
    fail(thread, pc, "TMEM-LANE",
         fmt::format("{} at lane {} by warp {}, which may touch lanes {} to {} only", name, lane_base, warp.index,
                     quarter, quarter + 31));
  const uint32_t column = address & 0x1ff;
  const uint32_t columns = register_columns(form, count);
  const bool allocated = std::any_of(cta.allocations.begin(), cta.allocations.end(), [&](const auto& allocation) {
    return column >= allocation.first && column + columns <= allocation.first + allocation.second;
  });
  if (!allocated)
    fail(thread, pc, "TMEM-RULE",
         fmt::format("{} touches columns {} to {}, which are not allocated", name, column, column + columns - 1));

  check_accumulator(warp, 0xffffffffu, pc, name, column, columns);

  TmemAccess access;
  access.form = form;
  access.count = count;
  access.address = address;
  access.load = load;
  access.values.resize(32 * count);
  access.finish = thread.time + cost::tmem_latency + count * cost::tmem_register;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    auto* registers = static_cast<uint32_t*>(lanes.lanes[lane].p);
    access.registers[lane] = registers;
    if (load) {
      access.in_flight[lane] = static_cast<bool*>(lanes.lanes[lane].q);
      if (*access.in_flight[lane])
        fail(thread, pc, "FRAGMENT", "tcgen05.ld into a fragment whose load is still in flight");
      *access.in_flight[lane] = true;
      std::memset(registers, 0xff, count * sizeof(uint32_t));
    } else {
      std::copy_n(registers, count, access.values.data() + lane * count);
    }
  }
  record(load ? EventKind::tmem_load : EventKind::tmem_store, cta, warp.index, thread.time, access.finish, columns,
         name);
  if (watch_) watch_->tmem_access(warp, pc, access);
  const Policy policy = launch_.options->schedule.policy;
  if (policy == Policy::eager || (policy == Policy::random && random_.one_in(2))) {
    settle_tensor_memory(cta);
    touch(cta, access);
  }
  warp.accesses.push_back(std::move(access));
}

void Cluster::tmem_wait(Warp& warp, Pc pc, bool load) {
  (void)pc;
  uint64_t time = 0;
  for (TmemAccess& access : warp.accesses) {
    if (access.load != load) continue;
    if (!access.touched) {
      settle_tensor_memory(*warp.cta);
      touch(*warp.cta, access);
    }
    time = std::max(time, access.finish);
    if (watch_) watch_->tmem_waited(warp, access);
    if (!load) continue;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      std::copy_n(access.values.data() + lane * access.count, access.count, access.registers[lane]);
      *access.in_flight[lane] = false;
    }
  }
  std::erase_if(warp.accesses, [&](const TmemAccess& access) { return access.load == load; });
  for (Thread* lane : warp.lanes) lane->time = std::max(lane->time, time);
}

}  // namespace warploom::loom
