// What made-up data looks like.
#pragma once

#include <cstdint>

namespace warploom {

/// normal: standard-normal matrices. uniform: from -1 to 1. Where operands are scaled, both are quantised block by
/// block (scale = largest magnitude / 448). integer: small integers and power-of-two scales, so that the only rounding
/// anywhere is the last one. ring: integers modulo a small prime, without even that (kernels/ring.hpp); alpha is 1,
/// beta 0 or 1, and the launch keeps its sums in the ring.
enum class Fill : uint8_t { normal, integer, uniform, ring };

}  // namespace warploom
