// What the lanes of a warp do together: elect.sync, bar.warp.sync.
#include <fmt/format.h>

#include <bit>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace native {

using namespace front;

bool elect(uint32_t mask) noexcept try {
  collective(WARPLOOM_PLACE(elect), "elect.sync", mask, {}, [](const Collective&) {});
  return thread().id.lane == static_cast<uint32_t>(std::countr_zero(mask));
} catch (...) {
  break_off();
}

namespace {

constexpr char syncwarp_text[] = "bar.warp.sync";

[[gnu::noinline]] void sync_some(Pc pc, uint32_t mask) {
  collective(pc, syncwarp_text, mask, {}, [](const Collective&) {});
}

[[gnu::noinline]] void sync_all(Pc pc) {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Others may be there already, on their way to a signal.
  if (const Posted* posted = posted_for(self); posted != nullptr && posted->kind == PostedKind::sync) {
    post_sync(self, pc);
    return catch_up(self);
  }
  wait_or_execute(cluster, self, meet(cluster, self, pc, syncwarp_text), [](const Collective&) {});
}

}  // namespace

void syncwarp(uint32_t mask) noexcept try {
  if (mask != whole_warp) [[unlikely]]
    return sync_some(WARPLOOM_PLACE(syncwarp), mask);
  if (!pass_baton(thread(), syncwarp_text)) sync_all(WARPLOOM_PLACE(syncwarp));
} catch (...) {
  break_off();
}

void post_sync() noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Where lanes wait in it, it is a barrier like any other.
  if (cluster.runs_ahead() && !self.warp->whole.meets) return post_sync(self, WARPLOOM_PLACE(post_sync));
  if (!pass_baton(self, syncwarp_text)) sync_all(WARPLOOM_PLACE(post_sync));
} catch (...) {
  break_off();
}

uint32_t uniform(uint32_t value) noexcept try {
  uniform_operation(WARPLOOM_PLACE(uniform), "redux.sync.or", {.a = value}, [](const Collective&) {});
  return value;
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
