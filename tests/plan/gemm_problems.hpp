// GEMM problems whose tensors nobody touches: addresses far apart, strides as small as may be.
#pragma once

#include <random>

#include "kernels/gemm_params.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::test {

inline Result<TensorMap> encode_sm90(const TensorMapArgs& args) {
  return loom::encode_tensor_map(args, loom::Chip::sm90);
}
inline EncodeTensorMap encode_for(Chip chip) {
  if (chip == Chip::sm90) return &encode_sm90;
  return [](const TensorMapArgs& args) { return loom::encode_tensor_map(args, Chip::sm100); };
}

/// Every configuration, of both chips.
inline std::vector<GemmConfig> configs_of_both_chips() {
  std::vector<GemmConfig> list;
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip)) list.push_back(config);
  return list;
}

inline int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// A place for the i-th tensor.
inline void* place(int i) {
  return reinterpret_cast<void*>((uintptr_t{1} << 45) + static_cast<uintptr_t>(i) * (uintptr_t{1} << 41));
}

struct Types {
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  Major a_major = Major::k, b_major = Major::k;
  Scaling scaling = Scaling::none;
};

inline Types types_of(const GemmConfig& config, DType d = DType::bf16) {
  return {config.a, config.b, d, config.a_major, config.b_major, config.scaling};
}

/// Dense, with rows of operands padded to 16 bytes; rows of C and D are not.
inline GemmProblem dense_problem(int m, int n, int k, int batch = 1, const Types& t = {}) {
  auto operand = [&](int at, DType type, Major major, int rows) {
    const int64_t stride = round_up(std::max(major == Major::k ? k : rows, 1), 16 / size_of(type));
    return OperandRef{place(at), type, stride, stride * (major == Major::k ? rows : k), major};
  };
  GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch = batch;
  p.a = operand(0, t.a, t.a_major, m);
  p.b = operand(1, t.b, t.b_major, n);
  p.d = {place(2), t.d, n, int64_t{n} * m};
  p.c = {place(3), t.d == DType::e4m3 ? DType::bf16 : t.d, n, int64_t{n} * m};
  p.bias = {place(4), DType::f32, BiasAlong::none};
  p.scaling = t.scaling;
  const int64_t blocks = (int64_t{k} + 127) / 128;
  p.a_scales = {static_cast<const float*>(place(5)), round_up(m, 4), round_up(m, 4) * blocks};
  p.b_scales = {static_cast<const float*>(place(6)), round_up(n, 4), round_up(n, 4) * blocks};
  return p;
}

}  // namespace warploom::test
