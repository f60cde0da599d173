// Two roles free the ring, and the consumer does not say which it is.
#include "misuse.hpp"

using namespace misuse;

MISUSE_ENTRY consume(SharedMemBarrier* barriers) {
  SharedRing ring(barriers);
#if defined(WARPLOOM_POSITIVE)
  auto slot = ring.consume<Epilogue>();
#else
  auto slot = ring.consume();
#endif
}
