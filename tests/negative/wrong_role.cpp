// A ring is consumed as a role that does not free it.
#include "misuse.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
using Consumer = Epilogue;
#else
using Consumer = Load;
#endif

MISUSE_ENTRY consume(SharedMemBarrier* barriers) {
  Ring ring(barriers);
  auto slot = ring.consume<Consumer>();
}
