// What the tests of wgmma share: operand tiles of small integers in shared memory, laid out for any major and swizzle.
#pragma once

#include "loom/probe_kernel.hpp"
#include "loom/units/wgmma.hpp"
#include "warploom/arch/registers.hpp"
#include "warploom/arch/wgmma.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom::probe {

constexpr uint32_t max_steps = 2;  // instructions along K

inline float a_value(uint32_t row, uint32_t k) { return static_cast<float>(static_cast<int>(row * 3 + k * 5) % 7 - 3); }
inline float b_value(uint32_t column, uint32_t k) {
  return static_cast<float>(static_cast<int>(column * 5 + k * 3 + 1) % 5 - 2);
}
inline float product(uint32_t row, uint32_t column, uint32_t k_extent) {
  float sum = 0;
  for (uint32_t k = 0; k < k_extent; ++k) sum += a_value(row, k) * b_value(column, k);
  return sum;
}

inline bf16 encode(bf16, float value) { return to_bf16(value); }
inline f16 encode(f16, float value) { return to_f16(value); }
inline e4m3 encode(e4m3, float value) { return to_e4m3(value); }
inline e5m2 encode(e5m2, float value) { return to_e5m2(value); }

/// `rows` rows of 32 bytes of K for each instruction.
template <class T, Major major, Swizzle swizzle, uint32_t rows>
struct OperandTile {
  static constexpr uint32_t span = swizzle_span(swizzle);
  static constexpr uint32_t k = 32 / sizeof(T);
  /// From one instruction's operand to the next: inside the swizzle span, or the next tile.
  static constexpr bool inside_span = major == Major::k && span >= 32 * max_steps;
  static constexpr uint32_t panels = major == Major::mn && span != 0 ? (rows * 2 + span - 1) / span : 0;
  static constexpr uint32_t tile_bytes = (panels != 0 ? panels * 16 * span : inside_span ? rows * span : rows * 32);
  static constexpr uint32_t step = inside_span ? 32 : tile_bytes;
  static constexpr uint32_t bytes = inside_span ? tile_bytes : tile_bytes * max_steps;

  alignas(1024) std::byte data[bytes];

  SmemDescriptorFields fields() const {
    const uint32_t start = shared_address(data).value & 0x3ffff;
    if (swizzle == Swizzle::none) return {start, 128, 256, 0, swizzle};
    if (major == Major::k) return {start, 16, 8 * span, 0, swizzle};
    return {start, 16 * span, 8 * span, 0, swizzle};
  }
  SmemDescriptor descriptor(uint32_t instruction = 0) const {
    return encode_wgmma_descriptor(fields()).advance(instruction * step);
  }
  template <class Value>
  void fill(Value&& value, uint32_t thread, uint32_t threads) {
    const uint32_t start = shared_address(data).value & 0x3ffff;
    for (uint32_t i = 0; i < max_steps; ++i)
      for (uint32_t row = thread; row < rows; row += threads)
        for (uint32_t kk = 0; kk < k; ++kk) {
          SmemDescriptorFields moved = fields();
          moved.start += i * step;
          const T code = encode(T{}, value(row, i * k + kk));
          store_shared(reinterpret_cast<T*>(data + operand_address(moved, major, sizeof(T), row, kk) - start), code);
        }
  }
};

/// A's registers for instruction `step` of this thread.
template <class T>
WARPLOOM_FN void fill_registers(Fragment<uint32_t, 4>& a, uint32_t step) {
  constexpr uint32_t k = 32 / sizeof(T);
  for (int i = 0; i < 4; ++i) {
    const WgmmaCell cell = wgmma_operand_cell(thread_index() % 128, static_cast<uint32_t>(i));
    T codes[4 / sizeof(T)];
    for (uint32_t j = 0; j < 4 / sizeof(T); ++j)
      codes[j] = encode(T{}, a_value(cell.row, step * k + cell.column / sizeof(T) + j));
    uint32_t word;
    std::memcpy(&word, codes, 4);
    a[i] = word;
  }
}

/// D as rows of `n`, from every thread's registers.
template <int registers>
WARPLOOM_FN void store(const Fragment<float, registers>& d, float* out) {
  constexpr uint32_t n = 2 * registers;
  for (int i = 0; i < registers; ++i) {
    const WgmmaCell cell = wgmma_accumulator_cell(thread_index() % 128, static_cast<uint32_t>(i));
    store_global(out + cell.row * n + cell.column, d[i]);
  }
}

/// A value that the compiler must have.
WARPLOOM_FN void use(float value) { asm volatile("" ::"m"(value)); }

}  // namespace warploom::loom::probe
