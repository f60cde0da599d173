// What made-up data looks like.
#pragma once

#include <cstdint>

namespace warploom {

/// normal: standard-normal matrices. uniform: from -1 to 1. Where operands are scaled, both are quantised block by
/// block (scale = largest magnitude / 448). integer: small integers and power-of-two scales, so that the only rounding
/// anywhere is the last one.
enum class Fill : uint8_t { normal, integer, uniform };

}  // namespace warploom
