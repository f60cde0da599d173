// The cases of wgmma_check, for either machine: operands laid out and multiplied in plain C++.
#pragma once

#include <bit>

#include "check.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/tensor_map_args.hpp"
#include "wgmma_check_kernel.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
struct WgmmaCheck {
  /// Rows of small integers.
  struct Matrix {
    uint32_t rows, columns;
    std::vector<int> values;
    Matrix(uint32_t r, uint32_t c, uint64_t seed) : rows(r), columns(c), values(r * c) {
      Random random(seed);
      for (int& value : values) value = static_cast<int>(random.below(5)) - 2;
    }
    int at(uint32_t row, uint32_t column) const { return values[row * columns + column]; }
  };

  static uint32_t code(bf16, int value) { return to_bf16(static_cast<float>(value)).bits; }
  static uint32_t code(f16, int value) { return to_f16(static_cast<float>(value)).bits; }
  static uint32_t code(e4m3, int value) { return to_e4m3(static_cast<float>(value)).bits; }
  static uint32_t code(e5m2, int value) { return to_e5m2(static_cast<float>(value)).bits; }

  /// The byte at which element (row, k) of one instruction's operand lies, from the beginning of a tile at a multiple
  /// of 1024 (hardware.md §3.2).
  template <class Tile>
  static uint32_t place(uint32_t step, uint32_t row, uint32_t k) {
    constexpr uint32_t size = sizeof(typename Tile::Element), line = Tile::plain ? 16 : Tile::span;
    uint32_t at = Tile::step_offset(step);
    if (Tile::k_major && Tile::plain)
      at += row % 8 * line + row / 8 * Tile::stride + k * size / line * Tile::leading + k * size % line;
    else if (Tile::k_major)
      at += row % 8 * line + row / 8 * Tile::stride + k * size;
    else if (Tile::plain)
      at += row * size % line + row * size / line * Tile::stride + k % 8 * line + k / 8 * Tile::leading;
    else
      at += row * size % line + row * size / line * Tile::leading + k % 8 * line + k / 8 * Tile::stride;
    constexpr uint32_t units = line / 16;  // exchanged by the number of the 128-byte line; one unit stays where it is
    return at ^ (at / 128 % units) * 16;
  }

  /// Columns from `first` on, as they lie in shared memory.
  template <class Tile>
  static void lay_out(const Matrix& matrix, uint32_t first, Words& words) {
    using T = typename Tile::Element;
    Words tile(Tile::bytes / 4, 0);
    for (uint32_t step = 0; step < Tile::steps; ++step)
      for (uint32_t row = 0; row < Tile::rows; ++row)
        for (uint32_t k = 0; k < Tile::k; ++k) {
          const uint32_t at = place<Tile>(step, row, k);
          tile[at / 4] |= code(T{}, matrix.at(row, first + step * Tile::k + k)) << at % 4 * 8;
        }
    words.insert(words.end(), tile.begin(), tile.end());
  }

  /// The words of `n` / 2 accumulator registers of 128 threads, for rows of `a` from `first_row` on and the columns
  /// [begin, end) of K that `counts` says yes to.
  template <class Counts>
  static void put_product(Comparison& c, const Matrix& a, const Matrix& b, uint32_t first_row, Counts&& counts) {
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < b.rows / 2; ++i) {
        const uint32_t lane = thread % 32;
        const uint32_t row = first_row + 16 * (thread / 32) + lane / 4 + 8 * (i / 2 % 2);
        const uint32_t column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
        int sum = 0;
        for (uint32_t k = 0; k < a.columns; ++k)
          if (counts(k)) sum += a.at(row, k) * b.at(column, k);
        c.want.push_back(std::bit_cast<uint32_t>(static_cast<float>(sum)));
      }
  }

  template <int n, class A, class B, Major a_major, Swizzle a_swizzle, Major b_major, Swizzle b_swizzle,
            bool a_in_registers, uint32_t steps = 4>
  static void product(Machine& machine, Comparison& c) {
    using TileA = WgmmaTile<A, a_major, a_swizzle, 64, steps>;
    using TileB = WgmmaTile<B, b_major, b_swizzle, n, steps>;
    using K = WgmmaProbe<n, TileA, TileB, a_in_registers>;
    const Matrix a(64, steps * TileA::k, 1000 + n), b(n, steps * TileB::k, 2000 + n);
    Words a_words, b_words, registers;
    lay_out<TileA>(a, 0, a_words);
    lay_out<TileB>(b, 0, b_words);
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t step = 0; step < steps; ++step)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t lane = thread % 32, row = 16 * (thread / 32) + lane / 4 + 8 * (i % 2);
          const uint32_t k = (4 * (lane % 4) + 16 * (i / 2)) / sizeof(A);
          uint32_t word = 0;
          for (uint32_t j = 0; j < 4 / sizeof(A); ++j)
            word |= code(A{}, a.at(row, step * TileA::k + k + j)) << j * sizeof(A) * 8;
          registers.push_back(word);
        }
    const Words nothing(128 * n / 2, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>({{1}, {1}, K::threads},
                               {machine.memory(a_words), machine.memory(b_words), machine.memory(registers), out});
    c.got = machine.read(out, nothing.size());
    put_product(c, a, b, 0, [](uint32_t) { return true; });
  }

  template <int n, class T>
  static void groups(Machine& machine, Comparison& c) {
    using K = WgmmaGroupsProbe<n, T>;
    constexpr uint32_t block_k = K::steps * K::TileA::k;
    const Matrix a(64, K::blocks * block_k, 31), b(n, K::blocks * block_k, 32);
    Words a_words, b_words;
    for (uint32_t block = 0; block < K::blocks; ++block) {
      lay_out<typename K::TileA>(a, block * block_k, a_words);
      lay_out<typename K::TileB>(b, block * block_k, b_words);
    }
    const Words nothing(2 * 128 * n / 2, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>({{1}, {1}, K::threads}, {machine.memory(a_words), machine.memory(b_words), out});
    c.got = machine.read(out, nothing.size());
    for (const uint32_t parity : {0u, 1u})
      put_product(c, a, b, 0, [&](uint32_t k) { return k / block_k % 2 == parity; });
  }

  static void mainloop(Machine& machine, Comparison& c) {
    using K = WgmmaMainloopProbe;
    constexpr uint32_t extent = K::blocks * K::block_k;
    const Matrix a(K::m, extent, 41), b(K::n, extent, 42);
    auto map = [&](const Matrix& matrix) {
      std::vector<uint16_t> codes;
      for (const int value : matrix.values) codes.push_back(static_cast<uint16_t>(code(bf16{}, value)));
      TensorMapArgs args;
      args.type = TmaType::bf16;
      args.address = machine.memory(codes);
      args.dims[0] = extent;
      args.dims[1] = matrix.rows;
      args.strides[0] = extent * 2;
      args.box[0] = K::block_k;
      args.box[1] = matrix.rows;
      args.swizzle = Swizzle::b128;
      return machine.encode(args);
    };
    const Words nothing(2 * 128 * K::n / 2, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>({{1}, {1}, K::threads}, {map(a), map(b), out});
    c.got = machine.read(out, nothing.size());
    for (const uint32_t half : {0u, 1u}) put_product(c, a, b, 64 * half, [](uint32_t) { return true; });
  }

  static std::vector<Case<Machine>> cases() {
    constexpr auto k = Major::k, mn = Major::mn;
    constexpr auto none = Swizzle::none, s32 = Swizzle::b32, s64 = Swizzle::b64, s128 = Swizzle::b128;
    return {{"bf16-n64", &product<64, bf16, bf16, k, s128, k, s128, false>},
            {"bf16-n8-unswizzled", &product<8, bf16, bf16, k, none, k, none, false>},
            {"bf16-n40-64-32", &product<40, bf16, bf16, k, s64, k, s32, false>},
            {"bf16-n256", &product<256, bf16, bf16, k, s128, k, s64, false, 6>},
            {"f16-n96", &product<96, f16, f16, k, s32, k, s128, false>},
            {"e4m3-n128", &product<128, e4m3, e4m3, k, s128, k, s128, false>},
            {"e4m3-e5m2-n24", &product<24, e4m3, e5m2, k, none, k, s64, false>},
            {"e5m2-e4m3-n192", &product<192, e5m2, e4m3, k, s64, k, s128, false>},
            {"bf16-a-registers", &product<128, bf16, bf16, k, s128, k, s128, true>},
            {"e4m3-a-registers", &product<64, e4m3, e4m3, k, s128, k, s128, true>},
            {"bf16-mn-mn", &product<128, bf16, bf16, mn, s128, mn, s128, false>},
            {"bf16-mn-k", &product<64, bf16, bf16, mn, s64, k, s128, false>},
            {"bf16-k-mn", &product<48, bf16, bf16, k, s128, mn, s32, false>},
            {"f16-mn-unswizzled", &product<72, f16, f16, mn, none, mn, none, false>},
            {"bf16-a-registers-b-mn", &product<64, bf16, bf16, k, s128, mn, s128, true>},
            {"groups-bf16", &groups<64, bf16>},
            {"groups-e4m3", &groups<128, e4m3>},
            {"mainloop-setmaxnreg", &mainloop}};
  }
};

template <class Machine>
std::vector<Case<Machine>> wgmma_check_cases() {
  return WgmmaCheck<Machine>::cases();
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
