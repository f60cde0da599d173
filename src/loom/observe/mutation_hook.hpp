// The mutation hook: every operation it may change asks here how often it takes place, and with which count, bytes,
// parity or barrier.
//
//   const Mutated mutated = mutate(cluster, "mbarrier.arrive", pc, barrier);
//   for (uint32_t i = 0; i < mutated.times; ++i) ...
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "loom/state/barrier.hpp"

namespace warploom::loom {

class Cluster;

/// The barrier operations the mutation hook may alter.
struct SiteEntry {
  const char* operation = "";
  Pc pc = nullptr;
  std::string object;
  uint64_t executions = 0;
  bool mutated = false;
};

/// What the hook decided for one execution of one operation.
struct Mutated {
  uint32_t times = 1;  ///< 0: dropped, 2: repeated
  int32_t count = 0;   ///< added to the count
  int32_t bytes = 0;
  bool flip_parity = false;
  bool wrong_stage = false;
};

/// Of one cluster: the operations met so far, by their place in the kernel.
struct MutationHook {
  std::vector<SiteEntry> sites;
  std::unordered_map<uint64_t, size_t> index;
  int64_t mutated_executions = 0;  ///< of all addresses that are the mutation's site
};

Mutated mutate(Cluster& cluster, const char* operation, Pc pc, const Barrier* object);

}  // namespace warploom::loom
