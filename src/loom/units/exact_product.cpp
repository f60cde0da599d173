// tcgen05.mma with the tensor core's own arithmetic: the operands of a product, whatever its kind, for exact_multiply.
#include <algorithm>

#include "loom/exec/per_thread.hpp"
#include "loom/units/exact_multiply.hpp"
#include "loom/units/tensor_core_product.hpp"

namespace warploom::loom {
namespace {

ExactType exact_type(MmaType type) {
  switch (type) {
    case MmaType::e4m3: return ExactType::e4m3;
    case MmaType::e5m2: return ExactType::e5m2;
    case MmaType::e2m3: return ExactType::e2m3;
    case MmaType::e3m2: return ExactType::e3m2;
    case MmaType::e2m1: return ExactType::e2m1;
    case MmaType::f16: return ExactType::f16;
    case MmaType::bf16: return ExactType::bf16;
    case MmaType::tf32: return ExactType::tf32;
    case MmaType::u8: return ExactType::u8;
    case MmaType::s8: return ExactType::s8;
  }
  return ExactType::bf16;
}

ExactResult exact_result(AccumulatorType type) {
  switch (type) {
    case AccumulatorType::f16: return ExactResult::f16;
    case AccumulatorType::s32: return ExactResult::s32;
    default: return ExactResult::f32;
  }
}

ExactForm form_of(const MmaProduct& product) {
  const bool four_bits = product.kind == MmaKind::mxf4 || product.kind == MmaKind::mxf4nvf4;
  ExactForm form{.a_type = exact_type(product.a_type),
                 .b_type = exact_type(product.b_type),
                 .d_type = exact_result(product.accumulator),
                 .unit = four_bits ? tcgen05_fp4_unit : tcgen05_unit,
                 .k = product.k,
                 .negate_a = product.negate_a,
                 .negate_b = product.negate_b,
                 .saturate = product.saturate};
  if (product.scales != 0) {
    form.scale = product.scale_type == ScaleType::ue8m0 ? ExactScale::ue8m0 : ExactScale::ue4m3;
    form.scale_block = product.k / product.scales;
  }
  return form;
}

}  // namespace

void multiply_exact(const MmaProduct& product) {
  static thread_local PerThread<ExactMultiplier> exact_of_thread;
  ExactMultiplier& exact = *exact_of_thread;
  static_assert(product_b_pitch == exact_b_pitch);
  std::copy_n(product.a, size_t{product.rows} * product.k, exact.a());
  for (uint32_t k = 0; k < product.k; ++k)
    std::copy_n(product.b + k * product_b_pitch, product.columns, exact.b() + k * exact_b_pitch);
  if (product.scales != 0) {
    std::copy_n(product.a_scales, size_t{product.rows} * product.scales, exact.a_scales());
    for (uint32_t block = 0; block < product.scales; ++block)
      std::copy_n(product.b_scales + block * product_b_pitch, product.columns,
                  exact.b_scales() + block * exact_b_pitch);
  }
  exact.decode(form_of(product), product.rows, product.columns);
  exact.multiply({.rows = product.rows,
                  .columns = product.columns,
                  .d = product.d,
                  .d_pitch = product_d_pitch,
                  .accumulate = product.accumulate,
                  .d_exponent = -static_cast<int>(product.scale_input_d)});
}

}  // namespace warploom::loom
