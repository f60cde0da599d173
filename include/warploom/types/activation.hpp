// The functions an epilogue may apply to its elements (epilogue/activation.hpp computes them).
#pragma once

#include <cstdint>

namespace warploom {

/// gelu(x) = x Phi(x); gelu_tanh is its approximation x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2; silu(x) = x
/// sigmoid(x).
enum class Activation : uint8_t { none, relu, gelu, gelu_tanh, silu };

}  // namespace warploom
