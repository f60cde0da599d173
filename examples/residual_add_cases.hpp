// The cases of residual_add, for either machine. Each adds twice, D = alpha * X + beta * C and then E = alpha * X +
// beta * D: on a GPU the second launch may begin while the first one ends, and must wait for it.
#pragma once

#include <bit>
#include <cmath>

#include "check.hpp"
#include "residual_add_kernel.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
struct ResidualAddCheck {
  struct Problem {
    int m, n;
    int padding;  ///< elements after each row
    float alpha, beta;
    uint32_t clusters;  ///< at most so many are launched; each takes several tiles
  };

  struct Matrix {
    int rows, columns, stride;
    std::vector<bf16> data;
    Matrix(int rows_, int columns_, int padding)
        : rows(rows_), columns(columns_), stride((columns_ + 7) / 8 * 8 + padding) {
      data.assign(static_cast<size_t>(rows) * static_cast<size_t>(stride), bf16{0xa5a5});
    }
    bf16& at(int row, int column) {
      return data[static_cast<size_t>(row) * static_cast<size_t>(stride) + static_cast<size_t>(column)];
    }
  };

  static TensorMap map_of(Machine& machine, const Matrix& matrix, const bf16* data, int box_rows) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = data;
    args.dims = {static_cast<uint64_t>(matrix.columns), static_cast<uint64_t>(matrix.rows), 1, 1, 1};
    args.strides = {static_cast<uint64_t>(matrix.stride) * 2, 16, 16, 16};
    args.box = {ResidualAdd::tile_n, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    return machine.encode(args);
  }

  static float widen(bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
  /// To nearest, ties to even; every NaN becomes 0x7fff.
  static bf16 narrow(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), down = bits >> 16, rest = bits & 0xffff;
    if (std::isnan(value)) return {0x7fff};
    return {static_cast<uint16_t>(down + (rest > 0x8000 || (rest == 0x8000 && down % 2 == 1) ? 1 : 0))};
  }
  static bf16 add(float alpha, bf16 x, float beta, bf16 c) {
    float sum = std::fma(alpha, widen(x), 0.0f);
    if (beta != 0.0f) sum = std::fma(beta, widen(c), sum);
    return narrow(sum);
  }

  static void run(Machine& machine, Comparison& words, const Problem& p) {
    using K = ResidualAdd;
    Random random(static_cast<uint64_t>(p.m) * 1000 + static_cast<uint64_t>(p.n));
    // Finite values of every size, subnormals and zeros among them.
    auto value = [&] { return bf16{static_cast<uint16_t>((random.word() & 0x80ff) | random.below(0x7f) << 8)}; };
    Matrix x(K::tile_m, p.n, p.padding), c(p.m, p.n, p.padding), d(p.m, p.n, p.padding), e = d;
    for (int i = 0; i < x.rows; ++i)
      for (int j = 0; j < p.n; ++j) x.at(i, j) = value();
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) c.at(i, j) = value();

    const bf16* x_data = machine.memory(x.data);
    const bf16* c_data = machine.memory(c.data);
    bf16* d_data = machine.memory(d.data, true);
    bf16* e_data = machine.memory(e.data, true);
    const TensorMap d_map = map_of(machine, d, d_data, K::tile_m);
    const TensorMap x_map = map_of(machine, x, x_data, K::share_rows);
    const TensorMap c_map = map_of(machine, c, c_data, K::tile_m);
    const TensorMap e_map = map_of(machine, e, e_data, K::tile_m);

    const auto ceil = [](int a, int b) { return static_cast<uint32_t>((a + b - 1) / b); };
    const uint32_t tiles = ceil(p.m, K::Cluster::m * K::tile_m) * ceil(p.n, K::tile_n);
    const Shape shape{{K::Cluster::m * (tiles < p.clusters ? tiles : p.clusters)}, {K::Cluster::m}, K::threads};
    machine.template launch<K>(shape, {x_map, c_map, d_map, d_data, d.stride, p.m, p.n, p.alpha, p.beta});
    machine.template launch<K>(shape, {x_map, d_map, e_map, e_data, e.stride, p.m, p.n, p.alpha, p.beta});

    // The padding too: nothing may be written there.
    const std::vector<bf16> got_d = machine.read(d_data, d.data.size()), got_e = machine.read(e_data, e.data.size());
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        d.at(i, j) = add(p.alpha, x.at(i % K::tile_m, j), p.beta, c.at(i, j));
        e.at(i, j) = add(p.alpha, x.at(i % K::tile_m, j), p.beta, d.at(i, j));
      }
    append(words.got, got_d);
    append(words.got, got_e);
    append(words.want, d.data);
    append(words.want, e.data);
  }

  static std::vector<Case<Machine>> cases() {
    return {{"one-tile", [](Machine& m, Comparison& w) { run(m, w, {128, 64, 0, 1.0f, 1.0f, 1}); }},
            {"one-element", [](Machine& m, Comparison& w) { run(m, w, {1, 1, 8, 0.5f, -2.0f, 1}); }},
            {"one-cluster-tile", [](Machine& m, Comparison& w) { run(m, w, {256, 64, 0, 1.25f, 0.75f, 1}); }},
            {"laps", [](Machine& m, Comparison& w) { run(m, w, {512, 512, 0, 1.0f, 1.0f, 1}); }},
            {"border-row", [](Machine& m, Comparison& w) { run(m, w, {257, 72, 16, 3.0f, 0.1f, 2}); }},
            {"ragged-columns", [](Machine& m, Comparison& w) { run(m, w, {300, 203, 8, -1.5f, 1.0f, 3}); }},
            {"no-c", [](Machine& m, Comparison& w) { run(m, w, {384, 136, 0, 2.0f, 0.0f, 2}); }},
            {"many", [](Machine& m, Comparison& w) { run(m, w, {1000, 515, 24, 0.3f, 0.7f, 5}); }}};
  }

 private:
  static void append(Words& words, const std::vector<bf16>& values) {
    for (const bf16 value : values) words.push_back(value.bits);
  }
};

template <class Machine>
std::vector<Case<Machine>> residual_add_cases() {
  return ResidualAddCheck<Machine>::cases();
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
