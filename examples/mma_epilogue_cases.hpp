// The cases of mma_epilogue: small integers, so that every sum is exact whatever the order.
#pragma once

#include "check.hpp"
#include "mma_epilogue_kernel.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Kernel, class Machine>
void check_mma_epilogue(Machine& machine, Comparison& words, int m, int n, int k, uint32_t clusters) {
  Random random(static_cast<uint64_t>(m) * 1000 + static_cast<uint64_t>(n) + static_cast<uint64_t>(k));
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const size_t stride = (columns + 7) / 8 * 8;
  const auto number = [&] { return to_bf16(static_cast<float>(random.below(7)) - 3.0f); };
  std::vector<bf16> a(rows * depth), b(columns * depth), d(rows * stride, bf16{0xa5a5});
  for (bf16& value : a) value = number();
  for (bf16& value : b) value = number();

  const auto map_of = [&](const bf16* data, size_t height, size_t width, size_t pitch, int box_rows) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = data;
    args.dims = {width, height, 1, 1, 1};
    args.strides = {pitch * 2, 16, 16, 16};
    args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    return machine.encode(args);
  };
  using Cluster = typename Kernel::Cluster;
  bf16* d_data = machine.memory(d, true);
  const typename Kernel::Params params{map_of(machine.memory(a), rows, depth, depth, Kernel::Payload::a_slice_rows),
                                       map_of(machine.memory(b), columns, depth, depth, Kernel::Payload::b_slice_rows),
                                       map_of(d_data, rows, columns, stride, Kernel::tile_m),
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
      for (size_t q = 0; q < depth; ++q) sum += to_float(a[i * depth + q]) * to_float(b[j * depth + q]);
      words.want.push_back(to_bf16(0.5f * sum).bits);
    }
}

template <class Machine>
std::vector<Case<Machine>> mma_epilogue_cases() {
  using OneSm = MmaEpilogue<ClusterShape<1, 1, 1>>;
  using TwoSm = MmaEpilogue<ClusterShape<2, 2, 1>>;
  return {{"one-tile", [](Machine& m, Comparison& w) { check_mma_epilogue<OneSm>(m, w, 128, 128, 64, 1); }},
          {"laps", [](Machine& m, Comparison& w) { check_mma_epilogue<OneSm>(m, w, 256, 384, 576, 1); }},
          {"borders", [](Machine& m, Comparison& w) { check_mma_epilogue<OneSm>(m, w, 201, 133, 72, 2); }},
          {"two-sm", [](Machine& m, Comparison& w) { check_mma_epilogue<TwoSm>(m, w, 256, 384, 448, 1); }}};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
