// Operands of an exact multiplication, decoded: what exact_multiply.cpp prepares and exact_kernel.cpp works on.
#pragma once

#include "loom/units/exact_multiply.hpp"

namespace warploom::loom {

/// A floating-point format. Codes are right-aligned; bits above are ignored.
struct ExactFormat {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  int ignored = 0;  ///< low bits that carry nothing (tf32)
  enum class Specials : uint8_t { none, ieee, nan_only } specials = Specials::ieee;  ///< nan_only: all ones (e4m3)
};
ExactFormat exact_format(ExactType type);

/// A scale is significand * 2^(exponent - 3).
struct ExactScaleValue {
  int exponent = 0;
  int32_t significand = 0;
  bool nan = false;
};
ExactScaleValue decode_exact_scale(ExactScale type, uint8_t code);

/// An element is sign * magnitude * 2^(exponent - mantissa bits); a subnormal number has the format's least exponent
/// and a magnitude without leading one. Zeros, and what is not finite, have magnitude 0 and an exponent below all
/// others.
inline constexpr int32_t exact_zero_exponent = -4096;

struct ExactPlane {
  int32_t* exponent;
  int32_t* magnitude;
  int32_t* sign;  ///< 0 or -1
};

struct ExactMultiplier::Planes {
  // A: [row * k + index]; its magnitudes are shifted so that a product has `unit.fraction` fraction bits. Where
  // products are summed as integers, the magnitudes are signed values and nothing else is used.
  alignas(64) uint32_t a_codes[exact_max_rows * exact_max_k];
  alignas(64) int32_t a_exponent[exact_max_rows * exact_max_k];
  alignas(64) int32_t a_magnitude[exact_max_rows * exact_max_k];
  alignas(64) int32_t a_sign[exact_max_rows * exact_max_k];
  // B: [index * exact_b_pitch + column]
  alignas(64) uint32_t b_codes[exact_max_k * exact_b_pitch];
  alignas(64) int32_t b_exponent[exact_max_k * exact_b_pitch];
  alignas(64) int32_t b_magnitude[exact_max_k * exact_b_pitch];
  alignas(64) int32_t b_sign[exact_max_k * exact_b_pitch];
  uint32_t rows = 0, columns = 0;
  ExactForm form;
  bool special = false;  ///< some operand or scale is not finite
  bool a_special[exact_max_rows];
  bool b_special[exact_b_pitch];
  uint8_t a_scales[exact_max_rows * 4];
  uint8_t b_scales[4 * exact_b_pitch];
};

inline constexpr uint32_t canonical_nan_f32 = 0x7fffffff, canonical_nan_f16 = 0x7fff;

/// Is this D an infinity or NaN?
inline bool exact_special_d(ExactResult type, uint32_t d) {
  return type == ExactResult::f16 ? (d & 0x7c00) == 0x7c00 : (d & 0x7f800000) == 0x7f800000;
}
/// The element of D at (row, column), whose operands or incoming D are not finite: NaN or an infinity. `d`: what came
/// in, 0 where D is not read.
uint32_t exact_special(const ExactMultiplier::Planes& planes, uint32_t row, uint32_t column, uint32_t d);

/// (-1)^negative * magnitude * 2^exponent in the result's format: f32 truncated to the unit's mantissa, f16 rounded to
/// nearest even; too large is infinite, and a zero is positive.
uint32_t exact_round(ExactResult type, const ExactUnit& unit, bool negative, uint64_t magnitude, int exponent);

/// Sums of products that are terms of their own, decoding, and sums of integers, with the vectors of one instruction
/// set.
struct ExactKernels {
  void (*multiply)(const ExactMultiplier::Planes& planes, const ExactTile& tile);
  void (*integers)(const ExactMultiplier::Planes& planes, const ExactTile& tile);
  /// Columns must be readable and writable up to a multiple of 16. Answers whether something is not finite.
  bool (*decode)(const ExactFormat& format, const uint32_t* codes, size_t count, int shift, bool negate,
                 const ExactPlane& plane);
};
ExactKernels exact_kernels(ExactIsa isa);

}  // namespace warploom::loom
