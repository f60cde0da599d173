// What the lanes of a warp work out together (warploom/loom/collective.hpp): shfl, vote, match, redux, bar.red.
#include "loom/isa/vote.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/named_barrier.hpp"
#include "loom/observe/check/operations.hpp"
#include "warploom/loom/collective.hpp"

namespace warploom::loom {

/// All threads wait: whoever could come to the same place as these has come. A chip may have them apart all the same.
bool answer_active_masks(Cluster& cluster) {
  check::Watch* const watch = cluster.watch();
  if (cluster.polls.activating.empty()) return false;
  std::vector<Thread*> waiting;
  waiting.swap(cluster.polls.activating);
  while (!waiting.empty()) {
    const Warp* const warp = waiting.front()->warp;
    const Pc pc = waiting.front()->wait.pc;
    const auto together = [&](const Thread* lane) { return lane->warp == warp && lane->wait.pc == pc; };
    uint32_t mask = 0;
    for (const Thread* lane : waiting)
      if (together(lane)) mask |= 1u << lane->id.lane;
    const uint32_t apart = cluster.mode.shuffle ? mask & static_cast<uint32_t>(cluster.random.next()) : 0;
    if (watch) watch->depends(pc, "activemask");
    for (Thread* lane : waiting) {
      if (!together(lane)) continue;
      lane->collective_result = (apart >> lane->id.lane & 1) != 0 ? apart : mask & ~apart;
      cluster.wake(*lane, lane->time);
    }
    std::erase_if(waiting, together);
  }
  return true;
}

namespace isa {
namespace {

uint32_t active_mask(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  thread.wait = {.kind = WaitKind::warp_collective, .pc = pc, .operation = "activemask", .mask = 1u << thread.id.lane};
  cluster.polls.activating.push_back(&thread);
  cluster.park(thread);
  return thread.collective_result;
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

namespace {

/// Gives each lane of the mask what `result` says of it.
template <class Result>
void give(const Collective& all, const Thread& last, Result&& result) {
  for (Thread* lane : last.warp->lanes)
    if ((all.mask >> lane->id.lane & 1) != 0) lane->collective_result = result(lane->id.lane);
}

/// The lanes of the mask for which it holds.
template <class Holds>
uint32_t lanes_of(const Collective& all, Holds&& holds) {
  uint32_t lanes = 0;
  for (uint32_t rest = all.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    if (holds(all.lanes[lane].a)) lanes |= 1u << lane;
  }
  return lanes;
}

uint32_t vote_of(Vote mode, const Collective& all) {
  const uint32_t yes = lanes_of(all, [](uint64_t predicate) { return predicate != 0; });
  switch (mode) {
    case Vote::all: return static_cast<uint32_t>(yes == all.mask);
    case Vote::any: return static_cast<uint32_t>(yes != 0);
    case Vote::uniform: return static_cast<uint32_t>(yes == all.mask || yes == 0);
    case Vote::ballot: return yes;
  }
  return 0;
}

/// Of two numbers the smaller, -0 below +0; of a number and a NaN the number, or with `nan` the chip's NaN.
uint32_t smaller(uint32_t one, uint32_t two, bool nan, bool larger) {
  constexpr uint32_t chip_nan = 0x7fffffffu;
  const auto a = std::bit_cast<float>(one), b = std::bit_cast<float>(two);
  if (a != a || b != b) return nan || (a != a && b != b) ? chip_nan : a != a ? two : one;
  if (a == b) return larger ? one & two : one | two;
  return (a < b) != larger ? one : two;
}

uint32_t combine(Redux operation, uint32_t a, uint32_t b, bool nan) {
  const auto first = static_cast<int32_t>(a), second = static_cast<int32_t>(b);
  switch (operation) {
    case Redux::add: return a + b;
    case Redux::min_u32: return std::min(a, b);
    case Redux::max_u32: return std::max(a, b);
    case Redux::min_s32: return static_cast<uint32_t>(std::min(first, second));
    case Redux::max_s32: return static_cast<uint32_t>(std::max(first, second));
    case Redux::bit_and: return a & b;
    case Redux::bit_or: return a | b;
    case Redux::bit_xor: return a ^ b;
    case Redux::min_f32: return smaller(a, b, nan, false);
    case Redux::max_f32: return smaller(a, b, nan, true);
  }
  return 0;
}

uint32_t reduction_of(Redux operation, const Collective& all, bool absolute, bool nan) {
  const uint32_t bits = absolute ? 0x7fffffffu : ~0u;
  uint32_t rest = all.mask;
  const auto next = [&] {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    rest &= rest - 1;
    return static_cast<uint32_t>(all.lanes[lane].a) & bits;
  };
  uint32_t result = next();
  if (operation == Redux::min_f32 || operation == Redux::max_f32) result = combine(operation, result, result, nan);
  while (rest != 0) result = combine(operation, result, next(), nan);
  return result;
}

/// Which lane's value a lane is given, and whether it lies within the segment (PTX, shfl.sync).
struct Source {
  uint32_t lane;
  bool valid;
};

Source source_of(Shuffle mode, uint32_t lane, uint32_t by, uint32_t control) {
  const uint32_t b = by & 31, clamp = control & 31, segment = control >> 8 & 31;
  const uint32_t least = lane & segment, most = least | (clamp & ~segment);
  switch (mode) {
    case Shuffle::up: return lane >= most + b ? Source{lane - b, true} : Source{lane, false};
    case Shuffle::down: return lane + b <= most ? Source{lane + b, true} : Source{lane, false};
    case Shuffle::exclusive_or: return (lane ^ b) <= most ? Source{lane ^ b, true} : Source{lane, false};
    case Shuffle::index: {
      const uint32_t from = least | (b & ~segment);
      return from <= most ? Source{from, true} : Source{lane, false};
    }
  }
  return {lane, false};
}

uint32_t shuffle_from(Pc pc, Shuffle mode, uint32_t mask, uint32_t value, uint32_t from) {
  static constexpr const char* names[] = {"shfl.sync.idx", "shfl.sync.bfly", "shfl.sync.up", "shfl.sync.down"};
  const char* const name = names[static_cast<int>(mode)];
  Thread& self = thread();
  collective(pc, name, mask, {.a = value, .b = from}, [&](const Collective& all) {
    give(all, thread(), [&](uint32_t lane) {
      const auto source = static_cast<uint32_t>(all.lanes[lane].b);
      if ((mask >> source & 1) == 0)
        thread().cluster->fail(thread(), pc, "DIVERGENCE",
                               fmt::format("{} reads lane {}, which is not in mask 0x{:08x}", name, source, mask));
      return static_cast<uint32_t>(all.lanes[source].a);
    });
  });
  return self.collective_result;
}

}  // namespace

uint32_t shuffle(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane) noexcept try {
  const uint32_t control = mode == Shuffle::up ? 0 : 31;
  return shuffle_from(WARPLOOM_PLACE(shuffle), mode, mask, value, source_of(mode, self().lane, lane, control).lane);
} catch (...) {
  break_off();
}

uint32_t shuffle_segment(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane, uint32_t control,
                         bool* valid) noexcept try {
  const Source source = source_of(mode, self().lane, lane, control);
  if (valid != nullptr) *valid = source.valid;
  return shuffle_from(WARPLOOM_PLACE(shuffle_segment), mode, mask, value, source.lane);
} catch (...) {
  break_off();
}

uint32_t vote(Vote mode, uint32_t mask, bool predicate) noexcept try {
  static constexpr const char* names[] = {"vote.sync.all", "vote.sync.any", "vote.sync.uni", "vote.sync.ballot"};
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(vote);
  collective(pc, names[static_cast<int>(mode)], mask, {.a = predicate ? 1u : 0u}, [&](const Collective& all) {
    give(all, thread(), [result = vote_of(mode, all)](uint32_t) { return result; });
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

uint32_t match_any(uint32_t mask, uint64_t value) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(match_any);
  collective(pc, "match.any.sync", mask, {.a = value}, [](const Collective& all) {
    give(all, thread(), [&](uint32_t lane) {
      return lanes_of(all, [mine = all.lanes[lane].a](uint64_t other) { return other == mine; });
    });
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

uint32_t match_all(uint32_t mask, uint64_t value) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(match_all);
  collective(pc, "match.all.sync", mask, {.a = value}, [](const Collective& all) {
    const uint64_t one = all.lanes[std::countr_zero(all.mask)].a;
    const uint32_t same = lanes_of(all, [&](uint64_t other) { return other == one; });
    give(all, thread(), [&](uint32_t) { return same == all.mask ? same : 0; });
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

uint32_t redux(Redux operation, uint32_t mask, uint32_t value, bool absolute, bool nan) noexcept try {
  static constexpr const char* names[] = {
      "redux.sync.add", "redux.sync.min.u32", "redux.sync.max.u32", "redux.sync.min.s32", "redux.sync.max.s32",
      "redux.sync.and", "redux.sync.or",      "redux.sync.xor",     "redux.sync.min.f32", "redux.sync.max.f32"};
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(redux);
  collective(pc, names[static_cast<int>(operation)], mask, {.a = value}, [&](const Collective& all) {
    give(all, thread(), [result = reduction_of(operation, all, absolute, nan)](uint32_t) { return result; });
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

uint32_t active_mask() noexcept try { return isa::active_mask(thread(), WARPLOOM_PLACE(active_mask)); } catch (...) {
  break_off();
}

void bar_sync_all(uint32_t id) noexcept try {
  const Pc pc = WARPLOOM_PLACE(bar_sync_all);
  uniform_operation(pc, "bar.sync", {.a = id}, [&](const Collective&) {
    Warp& warp = *thread().warp;
    isa::named_barrier(warp, pc, id, static_cast<uint32_t>(warp.cta->threads.size()), true, true);
  });
} catch (...) {
  break_off();
}

uint32_t bar_reduce(BarReduction operation, uint32_t id, uint32_t threads, bool predicate) noexcept try {
  static constexpr const char* names[] = {"bar.sync", "bar.red.popc", "bar.red.and", "bar.red.or"};
  const char* const name = names[static_cast<int>(operation)];
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(bar_reduce);
  warp_operation(pc, name, {.a = predicate ? 1u : 0u, .b = uint64_t{threads} << 32 | id}, [&](const Collective& all) {
    Warp& warp = *thread().warp;
    for (uint32_t lane = 1; lane < 32; ++lane)
      if (all.lanes[lane].b != all.lanes[0].b)
        warp.cluster->fail(thread(), pc, "DIVERGENCE",
                           fmt::format("lanes 0 and {} execute {} with different arguments", lane, name));
    const uint32_t yes = lanes_of(all, [](uint64_t mine) { return mine != 0; });
    const bool whole = threads == 0;
    isa::named_barrier(warp, pc, id, whole ? static_cast<uint32_t>(warp.cta->threads.size()) : threads, true, whole,
                       {operation, static_cast<uint32_t>(std::popcount(yes))});
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
