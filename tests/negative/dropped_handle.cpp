// A must-release handle goes out of scope unreleased. -DHANDLE_... says which.
#include "misuse.hpp"

using namespace misuse;

#if defined(HANDLE_PRODUCER_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Ring ring(barriers);
  auto stage = ring.acquire_producer();
#elif defined(HANDLE_CONSUMER_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Ring ring(barriers);
  auto stage = ring.acquire_consumer();
#elif defined(HANDLE_MMA_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Output ring(barriers, {});
  auto stage = ring.acquire_mma_linear();
#elif defined(HANDLE_EPILOGUE_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Output ring(barriers, {});
  auto stage = ring.acquire_epilogue_linear();
#endif
#if defined(WARPLOOM_POSITIVE)
  stage.release();
#endif
}
