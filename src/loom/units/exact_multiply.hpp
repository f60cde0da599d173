// What the tensor cores compute, to the last bit (hardware.md §4.17, §5.4). One instruction adds, for every element of
// D, all its products and the incoming D at once: each term is aligned to the largest exponent among them and
// truncated, the sum is exact, and only the result is cut to its format. The engines of wgmma and tcgen05.mma use it.
//
//   static thread_local ExactMultiplier exact;                  // large: not for the stack of a fiber
//   exact.a()[row * 16 + k] = code; exact.b()[k * exact_b_pitch + column] = code; ...
//   exact.decode({.a_type = ExactType::bf16, .b_type = ExactType::bf16, .unit = wgmma_unit(ExactType::bf16), .k = 16},
//   64, n); exact.multiply({.rows = 64, .columns = n, .d = d, .d_pitch = pitch, .accumulate = true});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace warploom::loom {

enum class ExactType : uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8 };
enum class ExactResult : uint8_t { f32, f16, s32 };
enum class ExactScale : uint8_t { none, ue8m0, ue4m3 };

/// How one tensor core adds.
struct ExactUnit {
  int fraction = 25;  ///< bits below the largest exponent that a term keeps
  int mantissa = 23;  ///< bits of an f32 result
  int floor = -133;   ///< the least exponent that terms are aligned to
  int group = 0;      ///< products summed exactly before scaling and alignment; 0: each product is a term

  friend constexpr bool operator==(const ExactUnit&, const ExactUnit&) = default;
};

/// Measured on an H200.
constexpr ExactUnit wgmma_unit(ExactType a) {
  const bool narrow = a == ExactType::e4m3 || a == ExactType::e5m2;
  return narrow ? ExactUnit{.fraction = 13, .mantissa = 13} : ExactUnit{};
}

// unconfirmed: what a Blackwell chip keeps, and that it has Hopper's floor; no such chip was at hand.
inline constexpr ExactUnit tcgen05_unit{};                                 ///< f16, tf32, f8f6f4, mxf8f6f4
inline constexpr ExactUnit tcgen05_fp4_unit{.fraction = 35, .group = 16};  ///< mxf4, mxf4nvf4

/// Distance of rows of B's codes and scales. Not a power of two, so that a column does not crowd one cache set.
inline constexpr size_t exact_b_pitch = 256 + 16;
inline constexpr uint32_t exact_max_rows = 128, exact_max_k = 64;

struct ExactForm {
  ExactType a_type = ExactType::bf16, b_type = ExactType::bf16;
  ExactResult d_type = ExactResult::f32;
  ExactUnit unit = {};
  uint32_t k = 16;
  bool negate_a = false, negate_b = false;  ///< not for integers
  bool saturate = false;                    ///< integers: clamp the exact sum
  ExactScale scale = ExactScale::none;
  uint32_t scale_block = 32;  ///< elements along K that share a scale
};

/// What to compute of an operation that is loaded: D[row * d_pitch + column] for rows and columns from `first_*` on. D
/// is 32-bit words: f32, s32, or f16 in the low half (the high half becomes 0).
struct ExactTile {
  uint32_t first_row = 0, rows = 0;  ///< multiples of 4
  uint32_t first_column = 0, columns = 0;
  uint32_t* d = nullptr;  ///< of the first row and column
  size_t d_pitch = 0;
  bool accumulate = false;
  int d_exponent = 0;  ///< D comes in times 2^d_exponent (scale-input-d). unconfirmed: that it is truncated like a term
};

enum class ExactIsa : uint8_t { portable, avx2, avx512 };
/// Can this machine run it?
bool exact_isa_available(ExactIsa isa);
ExactIsa best_exact_isa();

/// One instruction's operands, first as codes, then decoded; and its product.
class ExactMultiplier {
 public:
  explicit ExactMultiplier(ExactIsa isa = best_exact_isa());
  ~ExactMultiplier();

  /// To be filled before decode(): codes, right-aligned in their words. A's element (row, k) at [row * form.k + k], B's
  /// element (k, column) at [k * exact_b_pitch + column].
  uint32_t* a();
  uint32_t* b();
  /// Where the form has scales: A's at [row * blocks + block], B's at [block * exact_b_pitch + column].
  uint8_t* a_scales();
  uint8_t* b_scales();

  /// `rows` of A, at most exact_max_rows, and `columns` of B, at most 256.
  void decode(const ExactForm& form, uint32_t rows, uint32_t columns);
  /// Any part of D, any number of times.
  void multiply(const ExactTile& tile) const;

  struct Planes;

 private:
  std::unique_ptr<Planes> planes_;
  ExactIsa isa_;
};

}  // namespace warploom::loom
