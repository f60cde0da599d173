// The arithmetic inside tcgen05.mma, once operands are f32: D += A * B with one fused multiply-add per k, in ascending
// k. Every variant gives the same bits; the machine's widest vectors decide which one runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::loom {

/// Distance of rows of B, in floats. Not a power of two, so that a column of B does not crowd one cache set.
inline constexpr size_t mma_b_pitch = 256 + 16;

/// `rows` rows (a multiple of 8) by `n` columns (a multiple of 8): D[row * 512 + column] (+)= sum over k of
/// A[row * k_extent + k] * B[k * mma_b_pitch + column]. B must be readable up to column round_up(n, 32). A NaN is
/// stored as the tensor core's 0x7fffffff.
struct MmaTile {
  const float* a = nullptr;
  const float* b = nullptr;
  uint32_t* d = nullptr;
  uint32_t rows = 0, n = 0, k_extent = 0;
  bool accumulate = false;
};

using MmaKernel = void (*)(const MmaTile&);

enum class MmaIsa : uint8_t { portable, avx2, avx512 };

/// nullptr where this machine cannot run it.
MmaKernel mma_kernel(MmaIsa isa);
/// The fastest there is.
MmaKernel best_mma_kernel();

}  // namespace warploom::loom
