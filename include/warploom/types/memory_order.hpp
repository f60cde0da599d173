// What an atomic or a fence orders, and among whom (PTX's .relaxed to .acq_rel, .cta to .sys).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

enum class MemoryOrder : uint8_t { relaxed, acquire, release, acq_rel };
/// Each reaches further than the one before it. On one GPU `gpu` and `sys` reach the same.
enum class MemoryScope : uint8_t { cta, cluster, gpu, sys };

WARPLOOM_CONST_FN bool acquires(MemoryOrder order) {
  return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
}
WARPLOOM_CONST_FN bool releases(MemoryOrder order) {
  return order == MemoryOrder::release || order == MemoryOrder::acq_rel;
}

}  // namespace warploom
