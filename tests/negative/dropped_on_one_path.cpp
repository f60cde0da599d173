// A handle is moved on, and released on one path only.
#include "misuse.hpp"

using namespace misuse;

MISUSE_ENTRY drop(SharedMemBarrier* barriers, bool early) {
  Ring ring(barriers);
  auto acquired = ring.acquire_consumer();
  auto stage = static_cast<decltype(acquired)&&>(acquired);
  if (early) {
    stage.release();
    return;
  }
#if defined(WARPLOOM_POSITIVE)
  stage.arrive();
  stage.release_without_signal();
#endif
}
