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
#elif defined(HANDLE_LATE_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Ring ring(barriers);
  auto stage = ring.acquire_late();
#elif defined(HANDLE_INPUT_PRODUCER_STAGE)
MISUSE_ENTRY drop(Input::Storage* storage) {
  Input input(*storage);
  auto stage = input.producer().acquire_stage();
#elif defined(HANDLE_INPUT_CONSUMER_STAGE)
MISUSE_ENTRY drop(Input::Storage* storage) {
  Input input(*storage);
  auto stage = input.consumer().acquire_stage();
#elif defined(HANDLE_MMA_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Output ring(barriers, {});
  auto stage = ring.acquire_mma_linear();
#elif defined(HANDLE_EPILOGUE_STAGE)
MISUSE_ENTRY drop(SharedMemBarrier* barriers) {
  Output ring(barriers, {});
  auto stage = ring.acquire_epilogue_linear();
#elif defined(HANDLE_MMA_WARP)
MISUSE_ENTRY drop() {
  auto& storage = arch::shared<OutputStorage<opc>>();
  auto stage = MmaWarp<opc>::create(storage.tmem_address, storage.barriers.ptr(), storage.dealloc);
#elif defined(HANDLE_EPILOGUE_WARP)
MISUSE_ENTRY drop() {
  auto& storage = arch::shared<OutputStorage<opc>>();
  MmaWarp<opc>::Sync::wait();
  auto stage = EpilogueWarp<opc>::create(storage.tmem_address, storage.barriers.ptr(), storage.dealloc);
#endif
#if defined(WARPLOOM_POSITIVE)
  stage.release();
#endif
}
