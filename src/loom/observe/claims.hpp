// Accumulators of rings in tensor memory, and which warps hold them: what the structure layer claims (arch/claims.hpp).
#pragma once

#include "loom/state/cta.hpp"

namespace warploom::loom {

/// Reports a tcgen05 operation on an accumulator of a ring that these lanes of the warp do not hold.
void check_accumulator(const Warp& warp, uint32_t lanes, Pc pc, const char* operation, uint32_t column,
                       uint32_t columns);
void forget_accumulators(Cta& cta, uint32_t base, uint32_t columns);

}  // namespace warploom::loom
