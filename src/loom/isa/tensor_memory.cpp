// Tensor memory: the warp's loads and stores (tcgen05.ld, st) between issue and wait.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/tcgen05.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/observe/claims.hpp"
#include "loom/units/unconfirmed.hpp"

namespace warploom::loom {

namespace isa {
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

void tmem_wait(Warp& warp, Pc pc, bool load) {
  check::Watch* const watch = warp.cluster->watch();
  (void)pc;
  uint64_t time = 0;
  for (TmemAccess& access : warp.accesses) {
    if (access.load != load) continue;
    if (!access.touched) {
      settle_tensor_memory(*warp.cta);
      touch(*warp.cta, access);
    }
    time = std::max(time, access.finish);
    if (watch) watch->tmem_waited(warp, access);
    if (!load) continue;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      std::copy_n(access.values.data() + lane * access.count, access.count, access.registers[lane]);
      *access.in_flight[lane] = false;
    }
  }
  std::erase_if(warp.accesses, [&](const TmemAccess& access) { return access.load == load; });
  for (Thread* lane : warp.lanes) lane->time = std::max(lane->time, time);
}

void tmem_access(Warp& warp, Pc pc, const Collective& lanes, const native::TmemForm& form, uint32_t count,
                 uint32_t address, bool load) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  Thread& thread = *cluster.running();
  Cta& cta = *warp.cta;
  const char* name = load ? "tcgen05.ld" : "tcgen05.st";
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (lanes.lanes[lane].a != lanes.lanes[0].a)
      cluster.fail(thread, pc, "TMEM-RULE", fmt::format("{} with different addresses in lanes 0 and {}", name, lane));
  const uint32_t lane_base = address >> 16 & 0x7f;
  const uint32_t quarter = 32 * (warp.index % 4);
  if (const std::string broken = broken_register_count(form, count); !broken.empty())
    cluster.fail(thread, pc, "TMEM-RULE", fmt::format("{} {}", name, broken));
  const bool half = form.shape != native::TmemShape::m32x32b;
  if (lane_base != quarter && !(half && lane_base == quarter + 16))
    cluster.fail(thread, pc, "TMEM-LANE",
                 fmt::format("{} at lane {} by warp {}, which may touch lanes {} to {} only", name, lane_base,
                             warp.index, quarter, quarter + 31));
  const uint32_t column = address & 0x1ff;
  const uint32_t columns = register_columns(form, count);
  const bool allocated = std::any_of(cta.allocations.begin(), cta.allocations.end(), [&](const auto& allocation) {
    return column >= allocation.first && column + columns <= allocation.first + allocation.second;
  });
  if (!allocated)
    cluster.fail(
        thread, pc, "TMEM-RULE",
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
      if (*access.in_flight[lane]) {
        cluster.fail_or_warn(thread, pc, "FRAGMENT", "tcgen05.ld into a fragment whose load is still in flight");
        tmem_wait(warp, pc, true);
      }
      *access.in_flight[lane] = true;
      std::memset(registers, 0xff, count * sizeof(uint32_t));
    } else {
      std::copy_n(registers, count, access.values.data() + lane * count);
    }
  }
  record(load ? EventKind::tmem_load : EventKind::tmem_store, cta, warp.index, thread.time, access.finish, columns,
         name);
  if (watch) watch->tmem_access(warp, pc, access);
  const Policy policy = cluster.options().schedule.policy;
  if (policy == Policy::eager || (policy == Policy::random && cluster.random.one_in(2))) {
    settle_tensor_memory(cta);
    touch(cta, access);
  }
  warp.accesses.push_back(std::move(access));
}

void tmem_misuse(Thread& thread, Pc pc, const char* what) {
  Cluster& cluster = *thread.cluster;
  const std::string message =
      fmt::format("a fragment is {} while its tcgen05.ld is in flight; tcgen05.wait::ld comes first", what);
  // Registers that are gone would be written later, whatever is there by then.
  if (std::string_view(what) == "destroyed") cluster.fail(thread, pc, "FRAGMENT", message);
  cluster.fail_or_warn(thread, pc, "FRAGMENT", message);
  tmem_wait(*thread.warp, pc, true);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void tmem_load(const TmemForm& form, uint32_t count, uint32_t* registers, bool* in_flight, uint32_t address) noexcept
    try {
  const Pc pc = WARPLOOM_PLACE(tmem_load);
  warp_operation(pc, "tcgen05.ld", {.a = address, .p = registers, .q = in_flight}, [&](const Collective& lanes) {
    isa::tmem_access(*thread().warp, pc, lanes, form, count, address, true);
  });
} catch (...) {
  break_off();
}

void tmem_store(const TmemForm& form, uint32_t count, const uint32_t* registers, uint32_t address) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_store);
  warp_operation(pc, "tcgen05.st", {.a = address, .p = const_cast<uint32_t*>(registers)}, [&](const Collective& lanes) {
    isa::tmem_access(*thread().warp, pc, lanes, form, count, address, false);
  });
} catch (...) {
  break_off();
}

void tmem_wait_load() noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_wait_load);
  warp_operation(pc, "tcgen05.wait::ld", {}, [&](const Collective&) {
    if (mutate(*thread().cluster, "tcgen05.wait::ld", pc, nullptr).times > 0) isa::tmem_wait(*thread().warp, pc, true);
  });
} catch (...) {
  break_off();
}

void tmem_wait_store() noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_wait_store);
  warp_operation(pc, "tcgen05.wait::st", {}, [&](const Collective&) { isa::tmem_wait(*thread().warp, pc, false); });
} catch (...) {
  break_off();
}

void fragment_misuse(const char* what) noexcept try {
  isa::tmem_misuse(thread(), WARPLOOM_PLACE(fragment_misuse), what);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
