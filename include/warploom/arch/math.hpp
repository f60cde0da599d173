// Arithmetic whose bits must agree on both machines: no contraction is left to a compiler.
#pragma once

#include "warploom/arch/config.hpp"
#include "warploom/types/dtype.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN float fma(float a, float b, float c) noexcept;  ///< fma.rn.f32
WARPLOOM_FN float multiply(float a, float b) noexcept;      ///< mul.rn.f32
WARPLOOM_FN float as_float(uint32_t bits) noexcept;
WARPLOOM_FN uint32_t as_bits(float value) noexcept;
WARPLOOM_FN float to_float(bf16 value) noexcept;
/// cvt.rn.bf16x2.f32: `low` in bits 15:0, `high` in bits 31:16
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/math.hpp"
#else
#include "warploom/arch/loom/math.hpp"
#endif
