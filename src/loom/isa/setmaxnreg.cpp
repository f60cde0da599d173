// setmaxnreg (hardware.md §6.7). A CTA owns the registers it was launched with: dec gives some to its pool, inc waits
// until the pool has enough for the warp. What an exited warp held does not come back.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void grant_registers(Cta& cta, uint64_t time) {
  Cluster& cluster = *cta.cluster;
  std::erase_if(cluster.register_waiters, [&](const RegisterWait& wait) {
    const uint32_t more = 32 * (wait.count - wait.warp->registers);
    if (wait.warp->cta != &cta || more > cta.free_registers) return false;
    cta.free_registers -= more;
    wait.warp->registers = wait.count;
    cluster.wake_warp(*wait.warp, time);
    return true;
  });
}

void set_max_registers(Warp& warp, Pc pc, uint32_t count, bool increase) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  Thread& thread = *cluster.running();
  Cta& cta = *warp.cta;
  const char* name = increase ? "setmaxnreg.inc" : "setmaxnreg.dec";
  if (mutate(cluster, name, pc, nullptr).times == 0) return;
  if (count < 24 || count > 256 || count % 8 != 0)
    cluster.fail(thread, pc, "REGISTERS",
                 fmt::format("{} to {}; a multiple of 8 from 24 to 256 is possible", name, count));
  const uint32_t first = warp.index / warpgroup_warps * warpgroup_warps;
  if (first + warpgroup_warps > cta.warps.size())
    cluster.fail(thread, pc, "REGISTERS",
                 fmt::format("warp {} executes {}, but the CTA has no warpgroup of warps {} to {}: it has {} warps",
                             warp.index, name, first, first + warpgroup_warps - 1, cta.warps.size()));
  Warpgroup& group = cluster.warpgroup(warp);
  if (warp.register_requests == group.requests.size())
    group.requests.push_back({.count = count, .increase = increase, .first = &warp, .pc = pc});
  RegisterRequest& request = group.requests[warp.register_requests++];
  request.joined |= 1u << (warp.index - first);
  if (request.count != count || request.increase != increase)
    cluster.fail(thread, pc, "REGISTERS",
                 fmt::format("warps {} and {} of a warpgroup execute different setmaxnreg: {} {} and {} {}",
                             request.first->index, warp.index, request.increase ? "inc" : "dec", request.count,
                             increase ? "inc" : "dec", count));
  if (increase ? count < warp.registers : count > warp.registers)
    cluster.fail(thread, pc, "REGISTERS",
                 fmt::format("{} to {} registers by a warp that has {} per thread", name, count, warp.registers));
  if (watch && increase && count != warp.registers) watch->registers_asked(warp, pc, 32 * (count - warp.registers));
  if (watch && !increase && count != warp.registers) watch->registers_given(warp, 32 * (warp.registers - count));
  if (!increase) {
    cta.free_registers += 32 * (warp.registers - count);
    warp.registers = count;
    grant_registers(cta, thread.time);
    return;
  }
  if (32 * (count - warp.registers) > cta.free_registers) {
    cluster.register_waiters.push_back({&warp, count});
    cluster.park_warp(warp, {.kind = WaitKind::registers, .pc = pc, .id = count, .operation = name});
    return;
  }
  cta.free_registers -= 32 * (count - warp.registers);
  warp.registers = count;
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void set_max_registers(uint32_t count, bool increase) noexcept try {
  const Pc pc = WARPLOOM_PLACE(set_max_registers);
  uniform_operation(pc, increase ? "setmaxnreg.inc" : "setmaxnreg.dec", {.a = count},
                    [&](const Collective&) { isa::set_max_registers(*thread().warp, pc, count, increase); });
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
