// Sums modulo a small number (kernels/ring.hpp): after every product the accumulator is a remainder again. NaN stays
// NaN.
#include <bit>
#include <cmath>

#include "loom/units/wgmma.hpp"

namespace warploom::loom {
namespace {

float remainder_of(float value, uint32_t ring) {
  const float rest = std::fmod(value, static_cast<float>(ring));
  return rest < 0 ? rest + static_cast<float>(ring) : rest;
}

}  // namespace

void keep_in_ring(const WgmmaOperation& op, const WgmmaMemory& memory, uint32_t ring) {
  if (op.form.d_type != WgmmaResult::f32) return;
  for (void* const registers : memory.d)
    for (uint32_t i = 0; i < op.form.n / 2; ++i) {
      float& value = static_cast<float*>(registers)[i];
      value = remainder_of(value, ring);
    }
}

void keep_in_ring(const MmaOperation& op, const MmaMemory* memory, uint32_t ring) {
  if (op.accumulator != AccumulatorType::f32) return;
  const uint32_t lane = op.d >> 16, column = op.d & 0xffff;
  for (uint32_t row = 0; row < op.m; ++row)
    for (uint32_t n = 0; n < op.n; ++n) {
      const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, row, n, op.weight_stationary);
      uint32_t& word = memory[cell.cta].tmem[(lane + cell.lane) * 512 + column + cell.column];
      word = std::bit_cast<uint32_t>(remainder_of(std::bit_cast<float>(word), ring));
    }
}

}  // namespace warploom::loom
