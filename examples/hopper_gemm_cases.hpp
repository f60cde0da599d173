// The cases of hopper_gemm, for either machine: small integers, so that every sum is exact whatever the order.
#pragma once

#include <bit>

#include "check.hpp"
#include "hopper_gemm_kernel.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
struct HopperGemmCheck {
  struct Problem {
    int m, n, k;
    uint32_t clusters;  ///< at most so many are launched; each takes several tiles
  };

  static TensorMap map_of(Machine& machine, const bf16* data, int rows, int columns, int box_rows) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = data;
    args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides = {static_cast<uint64_t>(columns) * 2, 16, 16, 16};
    args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    return machine.encode(args);
  }
  static bf16 narrow(float exact) { return {static_cast<uint16_t>(std::bit_cast<uint32_t>(exact) >> 16)}; }
  static float widen(bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
  /// To nearest, ties to even.
  static bf16 round(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }

  template <class K>
  static void run(Machine& machine, Comparison& words, const Problem& p) {
    Random random(static_cast<uint64_t>(p.m) * 1000 + static_cast<uint64_t>(p.n) + static_cast<uint64_t>(p.k));
    auto matrix = [&](int rows, int columns) {
      std::vector<bf16> values(static_cast<size_t>(rows) * static_cast<size_t>(columns));
      for (bf16& value : values) value = narrow(static_cast<float>(random.below(7)) - 3.0f);
      return values;
    };
    const std::vector<bf16> a = matrix(p.m, p.k), b = matrix(p.n, p.k);
    std::vector<bf16> d(static_cast<size_t>(p.m) * static_cast<size_t>(p.n), bf16{0xa5a5});
    const bf16* a_data = machine.memory(a);
    const bf16* b_data = machine.memory(b);
    bf16* d_data = machine.memory(d, true);
    const typename K::Params params{map_of(machine, a_data, p.m, p.k, K::Payload::a_slice_rows),
                                    map_of(machine, b_data, p.n, p.k, K::Payload::b_slice_rows),
                                    map_of(machine, d_data, p.m, p.n, K::group_rows),
                                    p.m,
                                    p.n,
                                    p.k};

    const auto ceil = [](int x, int y) { return static_cast<uint32_t>((x + y - 1) / y); };
    using C = typename K::Cluster;
    const uint32_t tiles = ceil(p.m, C::m * K::tile_m) * ceil(p.n, C::n * K::tile_n);
    const uint32_t clusters = tiles < p.clusters ? tiles : p.clusters;
    const Shape shape{{C::size * clusters}, {C::size}, K::threads};
    machine.template launch<K>(shape, params);

    const std::vector<bf16> got = machine.read(d_data, d.size());
    for (const bf16 value : got) words.got.push_back(value.bits);
    std::vector<float> wa, wb;
    for (const bf16 value : a) wa.push_back(widen(value));
    for (const bf16 value : b) wb.push_back(widen(value));
    const auto depth = static_cast<size_t>(p.k);
    for (size_t i = 0; i < static_cast<size_t>(p.m); ++i)
      for (size_t j = 0; j < static_cast<size_t>(p.n); ++j) {
        float sum = 0;
        for (size_t k = 0; k < depth; ++k) sum += wa[i * depth + k] * wb[j * depth + k];
        words.want.push_back(round(sum).bits);
      }
  }
};

template <class Machine>
std::vector<Case<Machine>> hopper_gemm_cases() {
  using Check = HopperGemmCheck<Machine>;
  using Cooperative = HopperGemm<ClusterShape<1, 1, 1>, Hopper::cooperative>;
  using PingPong = HopperGemm<ClusterShape<1, 2, 1>, Hopper::ping_pong, 64>;
  return {
      {"cooperative", [](Machine& m, Comparison& w) { Check::template run<Cooperative>(m, w, {256, 256, 640, 2}); }},
      {"cooperative-tails",
       [](Machine& m, Comparison& w) { Check::template run<Cooperative>(m, w, {201, 136, 72, 3}); }},
      {"ping-pong", [](Machine& m, Comparison& w) { Check::template run<PingPong>(m, w, {640, 256, 640, 2}); }},
      {"ping-pong-tails", [](Machine& m, Comparison& w) { Check::template run<PingPong>(m, w, {201, 136, 72, 1}); }},
      {"ping-pong-many", [](Machine& m, Comparison& w) { Check::template run<PingPong>(m, w, {384, 768, 320, 1}); }},
  };
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
