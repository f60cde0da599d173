// Typed views of tensor memory, and the registers one thread holds of them: 16 rows x 256 bits per warp and load, the
// shape that stmatrix writes. A warp owns the 32 lanes of its index modulo 4: the upper sixteen and, unless the
// accumulator has 64 rows, the lower.
//
//   AccumTensor<128, 128> acc{stage.tmem_offset()};
//   TmemFragments<64> part;                                  // 64 columns
//   acc.load_fragments(part, column); part.wait_load();
#pragma once

#include "warploom/arch/tmem.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Upper and, with `lower`, lower half of `columns` columns in the registers of one warp.
template <int columns_, bool lower_ = true>
struct TmemFragments {
  static constexpr int columns = columns_;
  static constexpr bool has_lower = lower_;
  static_assert(columns % 8 == 0, "warploom: a 16x256b fragment covers multiples of 8 columns");
  static constexpr int frag_size = 4;  ///< registers per lane and 8 columns
  using Half = arch::Fragment<uint32_t, columns / 2>;

  WARPLOOM_FN void load(arch::TmemAddress warp_lanes) noexcept {
    arch::tmem_load_16x256b(upper, warp_lanes);
    if constexpr (has_lower) arch::tmem_load_16x256b(lower, warp_lanes.lane(16));
  }
  static WARPLOOM_FN void wait_load() noexcept { arch::tmem_wait_load(); }
  static WARPLOOM_FN void wait_store() noexcept { arch::tmem_wait_store(); }

  Half upper;
  Half lower;
};

/// A rows x columns tensor of 32-bit elements in tensor memory.
template <class T, int rows_, int columns_, int cta_group_ = 1>
struct TmemTensor {
  static_assert(sizeof(T) == 4, "warploom: a column of tensor memory holds 32 bits");
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  static constexpr int cta_group = cta_group_;
  static constexpr bool is_lower_required = !(cta_group == 1 && rows == 64);
  template <int part_columns>
  using Fragments = TmemFragments<part_columns, is_lower_required>;

  uint32_t base = 0;

  WARPLOOM_FN uint32_t offset() const noexcept { return base; }
  /// This warp's lanes from `column` on.
  WARPLOOM_FN arch::TmemAddress address(uint32_t column = 0) const noexcept {
    return arch::TmemAddress{base}.lane(32 * (arch::warp_index() % 4)).column(column);
  }
  template <int part_columns>
  WARPLOOM_FN void load_fragments(Fragments<part_columns>& to, uint32_t column = 0) const noexcept {
    static_assert(part_columns <= columns, "warploom: the fragment is wider than the tensor");
    to.load(address(column));
  }
  /// `upper` and `lower` in the order of a loaded fragment; the store must be waited for before others read it.
  template <int count>
  WARPLOOM_FN void store_fragments(const uint32_t (&upper)[count], const uint32_t (&lower)[count],
                                   uint32_t column = 0) const noexcept {
    static_assert(2 * count <= columns, "warploom: the fragment is wider than the tensor");
    arch::tmem_store_16x256b(address(column), upper);
    if constexpr (is_lower_required) arch::tmem_store_16x256b(address(column).lane(16), lower);
  }
};

/// An fp32 accumulator.
template <int rows, int columns, int cta_group = 1>
using AccumTensor = TmemTensor<float, rows, columns, cta_group>;

}  // namespace warploom::inline WARPLOOM_MACHINE
