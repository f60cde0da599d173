// Fences. What they order is the checker's to know: to the machine they are steps.
#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace native {

using namespace front;

void fence(MemoryScope scope) noexcept try {
  Thread& self = thread();
  self.cluster->step(self, WARPLOOM_PLACE(fence));
  if (check::Watch* watch = self.cluster->watch()) watch->fence(self, scope);
} catch (...) {
  break_off();
}

void fence_shared(bool release) noexcept try {
  Thread& self = thread();
  self.cluster->step(self, WARPLOOM_PLACE(fence_shared));
  if (check::Watch* watch = self.cluster->watch(); watch != nullptr && release) watch->fence_shared_release(self);
} catch (...) {
  break_off();
}

void fence_mbarrier_init() noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(fence_mbarrier_init));
  if (check::Watch* watch = thread().cluster->watch()) watch->fence_mbarrier_init(thread());
} catch (...) {
  break_off();
}

void fence_proxy_async(ProxyFence kind) noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(fence_proxy_async));
  check::Watch* watch = thread().cluster->watch();
  if (watch != nullptr && kind != ProxyFence::global && kind != ProxyFence::acquire)
    watch->fence_proxy_async(thread(), kind == ProxyFence::release, kind != ProxyFence::all);
  if (watch != nullptr && (kind == ProxyFence::global || kind == ProxyFence::all)) watch->fence_proxy_global(thread());
} catch (...) {
  break_off();
}

void tcgen05_fence(bool before) noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(tcgen05_fence));
  if (check::Watch* watch = thread().cluster->watch()) watch->tensor_fence(thread(), before);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
