// What an epilogue may be asked to do, the same for the host and for both machines.
#pragma once

#include <cstdint>

namespace warploom {

/// The function applied to every element (kernels/activation.hpp): gelu(x) = x Phi(x); gelu_tanh is its approximation
/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2; silu(x) = x sigmoid(x).
enum class Activation : uint8_t { none, relu, gelu, gelu_tanh, silu };
inline constexpr Activation all_activations[] = {Activation::none, Activation::relu, Activation::gelu,
                                                 Activation::gelu_tanh, Activation::silu};
constexpr const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::silu: return "silu";
  }
  return "?";
}

enum class BiasAlong : uint8_t { none, n, m };
/// How C is read and D is written: not at all, by TMA, or element by element where TMA's 16-byte rules forbid it.
enum class Path : uint8_t { none, tma, plain };

}  // namespace warploom
