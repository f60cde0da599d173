// What atomics and ordered loads and stores check before they do anything, and how a thread that asks the same again
// and again is known.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::native {

/// Reports an operation on global memory whose answer depends on which cluster runs first, in a launch whose clusters
/// run in any order. `what`: "an atomic".
void check_talks(Thread& self, Pc pc, const char* what);
/// Reports bytes that earlier grids may still work on, or that are outside of the launch's tensors.
void check_place(Thread& self, Pc pc, const char* what, const void* address, uint32_t bytes, bool write);
/// Of what was found: up to 32 bytes.
uint64_t digest(const void* bytes, uint32_t count);

}  // namespace warploom::loom::native
