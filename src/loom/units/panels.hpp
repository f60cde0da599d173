// Operands as the multiplication of `fast` numerics reads them: f32, in panels of 16 rows (rows of A, columns of D for
// B), k by k. Shared memory is read here, once per instruction; what follows needs it no more.
//
//   if (packs(operand)) pack_panels(operand, shared, panels, stride);    // element (row, k) is at
//   multiply_panels(tile);                                               //   panels[row / 16 * stride + 16 * k + row %
//   16]
#pragma once

#include "loom/units/mma_operands.hpp"

namespace warploom::loom {

inline constexpr uint32_t panel_rows = 16;

/// Whether pack_panels knows the operand's type and swizzle.
bool packs(const Operand& operand);

/// Writes all of the operand. Where its rows end in the middle of a panel, the rest of that panel means nothing.
/// `panels` is aligned to 64 bytes and `stride` a multiple of 16 floats.
void pack_panels(const Operand& operand, const std::byte* shared, float* panels, size_t stride);

/// D (+)= A * B^T: one fused multiply-add per k, in ascending k. D(row, column) is d[row * d_pitch + column]; rows and
/// n are multiples of 8. Both operands are readable to the end of their last panel. A NaN is stored as the tensor
/// core's 0x7fffffff.
struct PanelTile {
  const float* a = nullptr;
  size_t a_stride = 0;
  const float* b = nullptr;
  size_t b_stride = 0;
  uint32_t* d = nullptr;
  size_t d_pitch = 0;
  uint32_t rows = 0, n = 0, k_extent = 0;
  bool accumulate = false;
};
void multiply_panels(const PanelTile& tile);

/// One implementation for each instruction set; all of them give the same bits.
enum class Isa : uint8_t { portable, avx2, avx512 };
struct PanelKernels {
  void (*pack)(const Operand&, const std::byte*, float*, size_t) = nullptr;
  void (*multiply)(const PanelTile&) = nullptr;
};
/// Null pointers where this machine cannot run it.
PanelKernels panel_kernels(Isa isa);

}  // namespace warploom::loom
