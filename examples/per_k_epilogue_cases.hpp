// The cases of per_k_epilogue: small integers and scales that are powers of two, so that every sum is exact.
#pragma once

#include "check.hpp"
#include "per_k_epilogue_kernel.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// `Kernel` is PerKEpilogue or does the same.
template <class Kernel, class Machine>
void check_per_k_epilogue(Machine& machine, Comparison& words, int m, int n, int k, uint32_t clusters) {
  Random random(static_cast<uint64_t>(m) * 1000 + static_cast<uint64_t>(n) + static_cast<uint64_t>(k));
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const size_t k_blocks = (depth + 127) / 128, n_blocks = (columns + 127) / 128;
  const size_t scale_stride = (rows + 3) / 4 * 4, stride = (columns + 7) / 8 * 8;
  std::vector<e4m3> a(rows * depth), b(columns * depth);
  std::vector<float> a_scales(k_blocks * scale_stride), b_scales(n_blocks * k_blocks);
  const std::vector<bf16> d(rows * stride, bf16{0xa5a5});
  for (e4m3& value : a) value = to_e4m3(static_cast<float>(random.below(7)) - 3.0f);
  for (e4m3& value : b) value = to_e4m3(static_cast<float>(random.below(7)) - 3.0f);
  for (float& value : a_scales) value = random.below(2) == 0 ? 0.5f : 2.0f;
  for (float& value : b_scales) value = random.below(2) == 0 ? 1.0f : 4.0f;

  const auto map_of = [&](const auto* data, TmaType type, size_t height, size_t width, size_t pitch, Dim3 box,
                          Swizzle swizzle) {
    TensorMapArgs args;
    args.type = type;
    args.address = data;
    args.dims = {width, height, 1, 1, 1};
    args.strides = {pitch * sizeof(*data), 16, 16, 16};
    args.box = {box.x, box.y, 1, 1, 1};
    args.swizzle = swizzle;
    return machine.encode(args);
  };
  using Cluster = typename Kernel::Cluster;
  const float* b_scale_data = machine.memory(b_scales);
  bf16* d_data = machine.memory(d, true);
  const typename Kernel::Params params{
      map_of(machine.memory(a), TmaType::u8, rows, depth, depth, {128, Kernel::Payload::a_slice_rows}, Swizzle::b128),
      map_of(machine.memory(b), TmaType::u8, columns, depth, depth, {128, Kernel::Payload::b_slice_rows},
             Swizzle::b128),
      map_of(machine.memory(a_scales), TmaType::f32, k_blocks, rows, scale_stride, {Kernel::tile_m, 1}, Swizzle::none),
      map_of(d_data, TmaType::bf16, rows, columns, stride, {64, Kernel::tile_m}, Swizzle::b128),
      b_scale_data,
      d_data,
      static_cast<int64_t>(stride),
      m,
      n,
      k,
      0.5f};
  machine.template launch<Kernel>({{Cluster::size * clusters}, {Cluster::size}, Kernel::threads}, params);

  for (const bf16 value : machine.read(d_data, d.size())) words.got.push_back(value.bits);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < stride; ++j) {
      if (j >= columns) {  // nothing may be written there
        words.want.push_back(0xa5a5);
        continue;
      }
      float sum = 0;
      for (size_t q = 0; q < depth; ++q)
        sum += to_float(a[i * depth + q]) * to_float(b[j * depth + q]) * a_scales[q / 128 * scale_stride + i] *
               b_scales[j / 128 * k_blocks + q / 128];
      words.want.push_back(to_bf16(0.5f * sum).bits);
    }
}

template <class Machine>
std::vector<Case<Machine>> per_k_epilogue_cases() {
  using OneSm = PerKEpilogue<ClusterShape<1, 1, 1>>;
  using TwoSm = PerKEpilogue<ClusterShape<2, 2, 1>>;
  return {{"one-block", [](Machine& m, Comparison& w) { check_per_k_epilogue<OneSm>(m, w, 128, 128, 128, 1); }},
          {"laps", [](Machine& m, Comparison& w) { check_per_k_epilogue<OneSm>(m, w, 256, 256, 1152, 1); }},
          {"borders", [](Machine& m, Comparison& w) { check_per_k_epilogue<OneSm>(m, w, 201, 133, 272, 2); }},
          {"two-sm", [](Machine& m, Comparison& w) { check_per_k_epilogue<TwoSm>(m, w, 256, 384, 640, 1); }}};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
