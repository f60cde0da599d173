// wgmma that is not waited for, or not executed by a whole warpgroup; setmaxnreg likewise.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/wgmma.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

using Flight = native::WgmmaRegisters::Flight;

/// Bits of a warpgroup's warps in words: "warp 5", "warps 1 to 3", "warps 0, 2".
std::string warps_text(uint32_t first, uint32_t bits) {
  const auto low = static_cast<uint32_t>(std::countr_zero(bits));
  const auto count = static_cast<uint32_t>(std::popcount(bits));
  if (count == 1) return fmt::format("warp {}", first + low);
  if (bits >> low == (1u << count) - 1) return fmt::format("warps {} to {}", first + low, first + low + count - 1);
  std::string text = "warps";
  for (uint32_t i = 0; i < warpgroup_warps; ++i)
    if ((bits >> i & 1) != 0) text += fmt::format("{} {}", i == low ? "" : ",", first + i);
  return text;
}

void wgmma_misuse(Thread& thread, Pc pc, const char* what, const native::WgmmaRegisters* registers) {
  Cluster& cluster = *thread.cluster;
  catch_up(thread);  // the wgmma may not have executed yet: what is said below is about one that has
  // Registers that are gone would be written later, whatever is there by then.
  const auto found = [&](std::string message, std::vector<std::string> notes) {
    if (std::string_view(what) == "destroyed")
      cluster.fail(thread, pc, "FRAGMENT", std::move(message), std::move(notes));
    cluster.fail_or_warn(thread, pc, "FRAGMENT", std::move(message), std::move(notes));
  };
  if (registers->flight == Flight::unnamed)
    return found(
        fmt::format("a fragment is {} that the wait for its wgmma did not name; the compiler may move the access above "
                    "that wait",
                    what),
        {"wgmma_wait_group<...>(fragment) keeps it below"});
  const WgmmaQueue& queue = thread.warp->wgmma;
  const uint32_t lane = thread.id.lane;
  auto uses = [&](const WgmmaInstruction* op) {
    const PostedRegisters& used = *op->registers[thread.id.warp % warpgroup_warps];
    return used.d_state[lane] == registers || (op->operation.a_in_registers && used.a_state[lane] == registers);
  };
  const auto uncommitted = std::find_if(queue.open.rbegin(), queue.open.rend(), uses);
  const WgmmaInstruction* last = uncommitted == queue.open.rend() ? nullptr : *uncommitted;
  for (auto group = queue.groups.rbegin(); last == nullptr && group != queue.groups.rend(); ++group)
    if (const auto op = std::find_if(group->rbegin(), group->rend(), uses); op != group->rend()) last = *op;
  std::vector<std::string> notes;
  if (last != nullptr) {
    const Location at = cluster.location_from_fiber(last->pc);
    notes.push_back(fmt::format("the wgmma at {}:{} {} it", at.user.file, at.user.line,
                                registers->flight == Flight::operand ? "reads" : "writes"));
  }
  found(fmt::format("a fragment is {} while a wgmma {} it; {}", what,
                    registers->flight == Flight::operand ? "reads" : "writes",
                    uncommitted != queue.open.rend() ? "wgmma.commit_group and wgmma.wait_group come first"
                                                     : "a wgmma.wait_group that covers it comes first"),
        std::move(notes));
}

}  // namespace

bool wgmma_left_at_exit(Thread& thread) {
  const WgmmaQueue& queue = thread.warp->wgmma;
  if (!queue.open.empty()) {
    return ends_run(thread, queue.open.front()->pc, "EXIT-PENDING",
                    "a warp exits with a wgmma that it never committed to a group");
  }
  for (const WgmmaQueue::Group& group : queue.groups) {
    if (group.empty()) continue;
    return ends_run(thread, group.front()->pc, "EXIT-PENDING",
                    "a warp exits without waiting for the group of this wgmma; it writes registers that are gone");
  }
  return false;
}

bool partial_warpgroup(Cluster& cluster) {
  for (const auto& cta : cluster.ctas) {
    for (uint32_t index = 0; index < cta->warpgroups.size(); ++index) {
      const uint32_t first = index * warpgroup_warps;
      const Warpgroup& group = cta->warpgroups[index];
      for (const RegisterRequest& request : group.requests) {
        bool gone = request.joined != whole_warpgroup;  // a warp that waits elsewhere may yet come
        for (uint32_t i = 0; i < warpgroup_warps; ++i)
          if ((request.joined >> i & 1) == 0)
            gone = gone && cta->warps[first + i]->lanes[0]->state == Thread::State::exited;
        if (!gone) continue;
        add_finding(cluster, request.first->lanes[0], request.pc, "REGISTERS",
                    fmt::format("only {} of the warpgroup of warps {} to {} executed this setmaxnreg",
                                warps_text(first, request.joined), first, first + warpgroup_warps - 1),
                    {});
        return true;
      }
      for (const auto& op : group.forming) {
        const uint32_t missing = whole_warpgroup & ~op->joined;
        // A warp that has come before may come again, once what holds it up is mended.
        bool never = true;
        for (uint32_t i = 0; i < warpgroup_warps; ++i)
          if ((missing >> i & 1) != 0) never = never && cta->warps[first + i]->wgmma.issued == 0;
        if (!never) continue;
        // The end of this warpgroup and the beginning of the next: four warps that are no warpgroup.
        const Warpgroup* next = index + 1 < cta->warpgroups.size() ? &cta->warpgroups[index + 1] : nullptr;
        const bool shifted = next != nullptr && !next->forming.empty() && next->forming.front()->joined == missing &&
                             std::has_single_bit(missing + 1);
        const auto shift = static_cast<uint32_t>(std::popcount(missing));
        add_finding(
            cluster, op->first->lanes[0], op->pc, "WGMMA-GROUP",
            shifted
                ? fmt::format("warps {} to {} execute wgmma together, but a warpgroup begins at a multiple of four: "
                              "warps {} to {} are one",
                              first + shift, first + shift + 3, first, first + warpgroup_warps - 1)
                : fmt::format("only {} of the warpgroup of warps {} to {} executed this wgmma",
                              warps_text(first, op->joined), first, first + warpgroup_warps - 1),
            {});
        return true;
      }
    }
  }
  return false;
}

}  // namespace isa

namespace native {

using namespace front;

void wgmma_misuse(const char* what, const WgmmaRegisters* registers) noexcept try {
  isa::wgmma_misuse(thread(), WARPLOOM_PLACE(wgmma_misuse), what, registers);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
