// Two roles free the ring, and the consumer does not say which it is. -DHANDLE_... says of which handle.
#include "misuse.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
#define ROLE <Epilogue>
#else
#define ROLE
#endif

MISUSE_ENTRY consume(SharedMemBarrier* barriers) {
  SharedRing ring(barriers);
#if defined(HANDLE_SCOPED)
  auto slot = ring.consume ROLE();
#elif defined(HANDLE_EXPLICIT)
  auto slot = ring.consume_explicit ROLE();
#elif defined(HANDLE_LATE)
  auto slot = ring.acquire_late ROLE();
  slot.release();
#endif
}
