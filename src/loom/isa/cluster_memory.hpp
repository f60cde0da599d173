// Shared memory of the cluster as ordinary accesses and atomics reach it.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// Where the bytes are. What an atomic or an ordered access does there, its caller tells the checker.
std::byte* cluster_memory(Thread& thread, Pc pc, uint32_t address, uint32_t bytes, native::ClusterAccess access);

}  // namespace warploom::loom::isa
