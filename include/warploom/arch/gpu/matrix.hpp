// The GPU side of arch/matrix.hpp.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <int tiles, bool transposed>
WARPLOOM_FN void store_matrix(SharedAddress row, const uint32_t (&registers)[tiles]) noexcept {
  static_assert(tiles == 1 || tiles == 2 || tiles == 4, "warploom: stmatrix stores 1, 2 or 4 tiles");
  if constexpr (tiles == 1 && !transposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(registers[0]) : "memory");
  } else if constexpr (tiles == 1) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row.value), "r"(registers[0])
                 : "memory");
  } else if constexpr (tiles == 2 && !transposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(registers[0]),
                 "r"(registers[1])
                 : "memory");
  } else if constexpr (tiles == 2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row.value), "r"(registers[0]),
                 "r"(registers[1])
                 : "memory");
  } else if constexpr (!transposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value), "r"(registers[0]),
                 "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.value),
                 "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])
                 : "memory");
  }
}

template <int tiles, bool transposed>
WARPLOOM_FN void load_matrix(SharedAddress row, uint32_t (&registers)[tiles]) noexcept {
  static_assert(tiles == 1 || tiles == 2 || tiles == 4, "warploom: ldmatrix loads 1, 2 or 4 tiles");
  if constexpr (tiles == 1 && !transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(registers[0])
                 : "r"(row.value)
                 : "memory");
  } else if constexpr (tiles == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(registers[0])
                 : "r"(row.value)
                 : "memory");
  } else if constexpr (tiles == 2 && !transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(row.value)
                 : "memory");
  } else if constexpr (tiles == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(registers[0]), "=r"(registers[1])
                 : "r"(row.value)
                 : "memory");
  } else if constexpr (!transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(row.value)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(row.value)
                 : "memory");
  }
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
