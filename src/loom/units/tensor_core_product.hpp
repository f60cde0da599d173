// One CTA's part of a tcgen05.mma as numbers: codes of operands and scale factors, and D as rows, whatever kind the
// instruction has and wherever its operands lay. Any arithmetic can work on it; `multiply_fast` is the one in fp32,
// `multiply_exact` the hardware's.
//
//   execute_product(op, memory, multiply_fast);
#pragma once

#include "loom/units/tensor_core.hpp"

namespace warploom::loom {

/// Distance of rows of B's codes and scale factors. Not a power of two, so that a column does not crowd one cache set.
inline constexpr size_t product_b_pitch = 256 + 16;
/// Distance of rows of D, in words.
inline constexpr size_t product_d_pitch = 512;

struct MmaProduct {
  MmaType a_type = MmaType::e4m3, b_type = MmaType::e4m3;
  AccumulatorType accumulator = AccumulatorType::f32;
  uint32_t rows = 0, columns = 0, k = 0;
  bool negate_a = false, negate_b = false, saturate = false;
  bool accumulate = false;
  uint32_t scale_input_d = 0;
  const uint32_t* a = nullptr;  ///< codes, right-aligned: element (row, k) at [row * k_extent + k]
  const uint32_t* b = nullptr;  ///< element (k, column) at [k * product_b_pitch + column]
  MmaKind kind = MmaKind::f8f6f4;
  uint32_t scales = 0;  ///< per row; each covers k / scales elements
  ScaleType scale_type = ScaleType::ue8m0;
  const uint8_t* a_scales = nullptr;  ///< [row * scales + block]
  const uint8_t* b_scales = nullptr;  ///< [block * product_b_pitch + column]
  uint32_t* d = nullptr;  ///< in and out: f32, s32, or f16 in the low half, at [row * product_d_pitch + column]
};

using MmaArithmetic = void (*)(const MmaProduct& product);

/// fp32: products and sums in ascending k with fused multiply-adds; a block that shares scale factors is summed first
/// and then added times the scales. f16 is rounded once, at the end. Integers are exact.
void multiply_fast(const MmaProduct& product);

/// To the last bit, as far as that is known (exact_multiply.hpp).
void multiply_exact(const MmaProduct& product);

/// The instruction, with any arithmetic.
void execute_product(const MmaOperation& op, const MmaMemory* memory, MmaArithmetic arithmetic);

/// Is it one of those that mma.cpp multiplies on its own: f32 accumulators, whole bytes or 16-bit floats, shared
/// memory?
bool plain_product(const MmaOperation& op);

/// The value of an operand's code, exactly; not for integers.
float operand_value(MmaType type, uint32_t code);

}  // namespace warploom::loom
