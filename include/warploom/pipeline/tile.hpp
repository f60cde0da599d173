// Tiles in shared memory: where they are, and in their type how they lie there. Payloads, the MMA and writers use them.
//
//   using A = SmemTile<bf16, 128, 64, Swizzle::b128>;      // 128 rows of 128 bytes
//   struct Storage { A::Storage a; };
//   A a(storage.a); tma_load(a.address(), ...); read(a.unit(row, 3));   // 16 bytes, wherever the swizzle put them
#pragma once

#include "warploom/arch/shared.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/dtype.hpp"
#include "warploom/types/swizzle.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A rows x columns tile, columns contiguous, rows as long as the swizzle span: what one TMA box brings.
template <class T, int rows_, int columns_, Swizzle swizzle_>
struct SmemTile {
  using Element = T;
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  static constexpr Swizzle swizzle = swizzle_;
  static constexpr uint32_t row_bytes = columns * sizeof(T);
  static constexpr uint32_t bytes = rows * row_bytes;
  // For the tensor core: how far 32 bytes of K and 64 rows lie apart.
  static constexpr Major major = Major::k;
  static constexpr uint32_t k_step = mma_k_bytes;
  static constexpr uint32_t block_step = 64 * row_bytes;
  static_assert(swizzle == Swizzle::none || row_bytes == swizzle_span(swizzle),
                "warploom: a row of a swizzled tile must be as long as the swizzle span");
  /// Where the swizzle pattern repeats: tiles start there.
  static constexpr size_t alignment = swizzle == Swizzle::none ? 128 : 8 * swizzle_span(swizzle);

  struct alignas(alignment) Storage {
    T data[rows * columns];
  };

  T* data = nullptr;

  WARPLOOM_FN explicit SmemTile(Storage& storage) noexcept : data(storage.data) {}
  WARPLOOM_FN explicit SmemTile(T* first) noexcept : data(first) {}
  /// `count` rows from `first` on, where the swizzle pattern begins anew.
  template <int count>
  WARPLOOM_FN SmemTile<T, count, columns, swizzle> part(int first) const noexcept {
    static_assert(count % 8 == 0 && count <= rows, "warploom: a part of a tile has whole groups of 8 rows");
    return SmemTile<T, count, columns, swizzle>(data + first * columns);
  }
  WARPLOOM_FN arch::SharedAddress address() const noexcept { return arch::shared_address(data); }
  /// The 16 bytes that hold columns [unit * 16 / sizeof(T), ...) of a row.
  WARPLOOM_FN char* unit(uint32_t row, uint32_t index) const noexcept {
    const uint32_t offset = swizzle_address(swizzle, row * row_bytes + index * 16);
    return reinterpret_cast<char*>(data) + offset;
  }
};

/// Sixteen bytes that move as one.
struct alignas(16) Unit {
  uint32_t words[4];
};

/// How the tensor core finds a K-major operand tile, on either chip: 8-row groups lie 8 rows apart, the leading offset
/// is unused (hardware.md §3.2).
template <class Tile>
WARPLOOM_FN SmemDescriptorFields operand_fields(const Tile& tile) noexcept {
  static_assert(Tile::swizzle != Swizzle::none, "warploom: operand tiles are swizzled");
  return {tile.address().value, 16, 8 * Tile::row_bytes, 0, Tile::swizzle};
}

}  // namespace warploom::inline WARPLOOM_MACHINE
