// The two functions of the GPU's special function unit that kernels use, with its bits for every float: as an H200
// returned them (docs/model.md).
#pragma once

namespace warploom::loom {

float exp2_approx(float x) noexcept;        ///< ex2.approx.ftz.f32
float reciprocal_approx(float x) noexcept;  ///< rcp.approx.ftz.f32

}  // namespace warploom::loom
