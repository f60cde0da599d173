// The two functions of the GPU's special function unit that kernels use, with its bits: an H200 was asked for every
// mantissa, and for samples of every sign and exponent (docs/hardware.md §7.2).
#pragma once

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

float exp2_approx(float x) noexcept;        ///< ex2.approx.ftz.f32
float reciprocal_approx(float x) noexcept;  ///< rcp.approx.ftz.f32

#pragma GCC visibility pop
}  // namespace warploom::loom
