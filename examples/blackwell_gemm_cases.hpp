// The cases of blackwell_gemm: small integers, so that every sum is exact whatever the order.
#pragma once

#include "blackwell_gemm_kernel.hpp"
#include "check.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// A matrix of bf16, as TMA loads boxes of `box_rows` x 64 of it; rows are `pitch` elements apart.
template <class Machine>
TensorMap blackwell_gemm_map(Machine& machine, const bf16* data, size_t rows, size_t columns, size_t pitch,
                             int box_rows) {
  TensorMapArgs args;
  args.type = TmaType::bf16;
  args.address = data;
  args.dims = {columns, rows, 1, 1, 1};
  args.strides = {pitch * 2, 16, 16, 16};
  args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
  args.swizzle = Swizzle::b128;
  return machine.encode(args);
}

/// The kernel on these operands, all of them the machine's: A [m, k], B [n, k], D [m, n] in rows of `d_stride`.
template <class Kernel, class Machine>
void run_blackwell_gemm(Machine& machine, const bf16* a, const bf16* b, bf16* d, size_t d_stride, int m, int n, int k,
                        uint32_t clusters) {
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  using Cluster = typename Kernel::Cluster;
  const typename Kernel::Params params{
      blackwell_gemm_map(machine, a, rows, depth, depth, Kernel::Payload::a_slice_rows),
      blackwell_gemm_map(machine, b, columns, depth, depth, Kernel::Payload::b_slice_rows),
      blackwell_gemm_map(machine, d, rows, columns, d_stride, Kernel::tile_m),
      d,
      static_cast<int64_t>(d_stride),
      m,
      n,
      k};
  machine.template launch<Kernel>({{Cluster::size * clusters}, {Cluster::size}, Kernel::threads}, params);
}

template <class Kernel, class Machine>
void check_blackwell_gemm(Machine& machine, Comparison& words, int m, int n, int k, uint32_t clusters) {
  Random random(static_cast<uint64_t>(m) * 1000 + static_cast<uint64_t>(n) + static_cast<uint64_t>(k));
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const size_t stride = (columns + 7) / 8 * 8;
  const auto number = [&] { return to_bf16(static_cast<float>(random.below(7)) - 3.0f); };
  std::vector<bf16> a(rows * depth), b(columns * depth), d(rows * stride, bf16{0xa5a5});
  for (bf16& value : a) value = number();
  for (bf16& value : b) value = number();
  bf16* d_data = machine.memory(d, true);
  run_blackwell_gemm<Kernel>(machine, machine.memory(a), machine.memory(b), d_data, stride, m, n, k, clusters);

  for (const bf16 value : machine.read(d_data, d.size())) words.got.push_back(value.bits);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < stride; ++j) {
      if (j >= columns) {  // nothing may be written there
        words.want.push_back(0xa5a5);
        continue;
      }
      float sum = 0;
      for (size_t q = 0; q < depth; ++q) sum += to_float(a[i * depth + q]) * to_float(b[j * depth + q]);
      words.want.push_back(to_bf16(sum).bits);
    }
}

template <class Machine>
std::vector<Case<Machine>> blackwell_gemm_cases() {
  using OneSm = BlackwellGemm<ClusterShape<1, 1, 1>>;
  using TwoSm = BlackwellGemm<ClusterShape<2, 2, 1>>;
  using Shared = BlackwellGemm<ClusterShape<1, 2, 1>>;
  return {{"one-tile", [](Machine& m, Comparison& w) { check_blackwell_gemm<OneSm>(m, w, 128, 256, 64, 1); }},
          {"laps", [](Machine& m, Comparison& w) { check_blackwell_gemm<OneSm>(m, w, 256, 512, 448, 1); }},
          {"borders", [](Machine& m, Comparison& w) { check_blackwell_gemm<OneSm>(m, w, 201, 331, 72, 2); }},
          {"two-sm", [](Machine& m, Comparison& w) { check_blackwell_gemm<TwoSm>(m, w, 512, 256, 320, 1); }},
          {"shared-b", [](Machine& m, Comparison& w) { check_blackwell_gemm<Shared>(m, w, 256, 512, 192, 1); }}};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
