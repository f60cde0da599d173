// The cases of tcgen05_check, for either machine: operands laid out, multiplied and moved in plain C++, from the
// formulas of hardware.md §3.2, 4.8-4.14.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "arch_check_convert.hpp"
#include "check.hpp"
#include "tcgen05_check_kernel.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
struct Tcgen05Check {
  // ---- numbers

  static double value(MmaType type, uint32_t code) {
    const auto byte = static_cast<uint8_t>(code);
    switch (type) {
      case MmaType::e4m3: return to_float(e4m3{byte});
      case MmaType::e5m2: return to_float(e5m2{byte});
      case MmaType::e2m3: return to_float(e2m3{byte});
      case MmaType::e3m2: return to_float(e3m2{byte});
      case MmaType::e2m1: return to_float(e2m1{byte});
      case MmaType::f16: return to_float(f16{static_cast<uint16_t>(code)});
      case MmaType::bf16: return to_float(bf16{static_cast<uint16_t>(code)});
      case MmaType::tf32: return std::bit_cast<float>(code & 0xffffe000u);
      case MmaType::u8: return byte;
      case MmaType::s8: return static_cast<int8_t>(byte);
    }
    return 0;
  }
  /// Small integers, all bytes for integer types, all codes of 4 bits. tf32 has low bits that must not count.
  static uint32_t draw(MmaType type, Random& random) {
    const auto number = static_cast<float>(static_cast<int>(random.below(9)) - 4);
    switch (type) {
      case MmaType::e4m3: return convert_to<e4m3>(number).bits;
      case MmaType::e5m2: return convert_to<e5m2>(number).bits;
      case MmaType::e2m3: return convert_to<e2m3>(number).bits;
      case MmaType::e3m2: return convert_to<e3m2>(number).bits;
      case MmaType::e2m1: return random.below(16);
      case MmaType::f16: return to_f16(number).bits;
      case MmaType::bf16: return to_bf16(number).bits;
      case MmaType::tf32: return std::bit_cast<uint32_t>(number) | random.below(1 << 13);
      default: return random.below(256);
    }
  }
  struct Matrix {
    uint32_t rows, columns;
    std::vector<uint32_t> codes;
    Matrix(uint32_t r, uint32_t c) : rows(r), columns(c), codes(size_t{r} * c) {}
    uint32_t& at(uint32_t row, uint32_t column) { return codes[size_t{row} * columns + column]; }
  };
  static Matrix random_matrix(uint32_t rows, uint32_t columns, MmaType type, uint64_t seed) {
    Matrix m(rows, columns);
    Random random(seed);
    for (uint32_t& code : m.codes) code = draw(type, random);
    return m;
  }

  static void put_bits(Words& words, uint32_t bit, uint32_t width, uint32_t code) {
    for (uint32_t i = 0; i < width; ++i, ++bit)
      words[bit / 32] = (words[bit / 32] & ~(1u << bit % 32)) | (code >> i & 1) << bit % 32;
  }

  // ---- places

  /// One CTA's rows of an operand as they lie in shared memory.
  static void lay_out(const UmmaForm& f, bool b, Matrix& matrix, uint32_t first_row, Words& out) {
    const UmmaTile t = umma_tile(f, b);
    const MmaType type = b ? f.b : f.a;
    const bool k_major = (b ? f.b_major : f.a_major) == Major::k, atoms = t.fields.swizzle == Swizzle::b128_atom32;
    const uint32_t width = bits_of(type), depth = f.k();
    const uint32_t groups = k_major ? t.rows / 8 : (depth + t.lines - 1) / t.lines;
    Words words(t.bytes / 4, 0xa5a5a5a5);
    for (uint32_t row = 0; row < t.rows; ++row)
      for (uint32_t k = 0; k < depth; ++k) {
        // The bit along the contiguous direction: 16 elements of fewer than 8 bits take 16 bytes (§4.10).
        uint32_t bit = (k_major ? k : row) * width;
        if (width < 8 && !f.packed()) bit = k / 16 * 128 + k % 16 * width;
        const uint32_t along = bit / 8, line = k_major ? row : k;
        uint32_t at = along / t.span * t.span * t.lines * groups + line / t.lines * t.span * t.lines +
                      line % t.lines * t.span + along % t.span;
        const uint32_t units = t.span / 16;  // exchanged by the number of the 128-byte line
        at ^= atoms ? (at / 128 % 4) * 32 : (at / 128 % units) * 16;
        put_bits(words, at * 8 + bit % 8, width, matrix.at(first_row + row, k));
      }
    out.insert(out.end(), words.begin(), words.end());
  }

  struct Cell {
    uint32_t cta, lane, column;
  };
  /// D(row, column): layouts A, B, D, E, F and G (§4.8).
  static Cell d_cell(const UmmaForm& f, uint32_t row, uint32_t column) {
    if (f.stationary && f.m == 64) return {0, row + 64 * (column / (f.n / 2)), column % (f.n / 2)};
    if (f.stationary && f.m == 32) return {0, row + 32 * (column / (f.n / 4)), column % (f.n / 4)};
    if (f.group == 2 && f.m == 256) return {row / 128, row % 128, column};
    if (f.group == 2) return {row / 64, row % 64 + 64 * (column / (f.n / 2)), column % (f.n / 2)};
    if (f.m == 64) return {0, f.d_lane + row % 16 + 32 * (row / 16), column};
    return {0, row, column};
  }

  /// A as it lies in tensor memory (§4.9): 8 words in each lane.
  static void lay_out_in_tmem(const UmmaForm& f, Matrix& a, uint32_t cta, Words& out) {
    const uint32_t rows = f.m / f.ctas(), width = f.packed() ? 4 : std::max(bits_of(f.a), 8u);
    const uint32_t shift = f.a == MmaType::e2m1 && !f.packed() ? 2 : 0;  // the middle of its byte
    Words words(128 * 8, 0);
    for (uint32_t lane = 0; lane < 128; ++lane) {
      uint32_t row = lane;
      if (f.group == 1 && f.m == 64) {  // half of the lanes of each quarter
        if (lane % 32 / 16 != f.d_lane / 16) continue;
        row = lane / 32 * 16 + lane % 16;
      } else if (f.m / f.ctas() == 64) {  // twice
        row = lane % 64;
      }
      if (row >= rows) continue;  // of M = 32
      for (uint32_t k = 0; k < f.k(); ++k)
        put_bits(words, lane * 256 + k * width + shift, bits_of(f.a), a.at(cta * rows + row, k));
    }
    out.insert(out.end(), words.begin(), words.end());
  }

  static double scale_value(const UmmaForm& f, uint32_t code) {
    const auto byte = static_cast<uint8_t>(code);
    return f.scale_type == ScaleType::ue8m0 ? to_float(ue8m0{byte}) : to_float(ue4m3{byte});
  }
  static uint32_t draw_scale(const UmmaForm& f, Random& random) {
    return f.scale_type == ScaleType::ue8m0 ? 126 + random.below(3)
                                            : (6 + random.below(3)) << 3 | random.below(2) << 2;  // 1 or 1.5 times 2^e
  }

  template <UmmaForm f>
  static void product(Machine& machine, Comparison& c) {
    using K = UmmaProbe<f>;
    constexpr uint32_t depth = f.k(), rows = f.m / f.ctas(), scales = f.scaled() ? static_cast<uint32_t>(f.scales) : 0;
    const uint64_t seed = f.m * 1000 + f.n + static_cast<uint64_t>(f.kind) * 7;
    Matrix a = random_matrix(f.m, depth, f.a, seed + 1), b = random_matrix(f.n, depth, f.b, seed + 2);
    Random random(seed + 3);
    Matrix sfa(f.m, 4), sfb(f.n, 4);  // four blocks of K, of which the ids choose
    for (Matrix* m : {&sfa, &sfb})
      for (uint32_t& code : m->codes) code = draw_scale(f, random);

    Words a_words, b_words, a_tmem, sfa_words, sfb_words;
    for (uint32_t cta = 0; cta < f.ctas(); ++cta) {
      lay_out(f, false, a, cta * rows, a_words);
      lay_out(f, true, b, cta * f.n / f.ctas(), b_words);
      lay_out_in_tmem(f, a, cta, a_tmem);
      Words atom(128, 0), atoms(K::sfb_words, 0);
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t j = 0; j < 4; ++j)
          put_bits(atom, scale_offset_in_atom(row, j) * 8, 8, sfa.at(cta * rows + row, j));
      for (uint32_t n = 0; n < f.n; ++n)
        for (uint32_t j = 0; j < 4; ++j) {
          uint32_t at = scale_offset_shared(n, j, f.n);
          if (f.split_sfb()) {  // 64 rows of 16 bytes: a row for each lane of two quarters
            const uint32_t half = n / (f.n / 2), r = n % (f.n / 2);
            at = (32 * half + r % 32) * 16 + r / 32 * 4 + j;
          }
          put_bits(atoms, at * 8, 8, sfb.at(n, j));
        }
      sfa_words.insert(sfa_words.end(), atom.begin(), atom.end());
      sfb_words.insert(sfb_words.end(), atoms.begin(), atoms.end());
    }
    Words d(f.ctas() * 128 * K::d_columns);
    for (uint32_t& word : d) {
      const auto number = static_cast<float>(static_cast<int>(random.below(129)) - 64);
      word = f.d_type == 2 ? random.word() : f.d_type == 0 ? to_f16(number).bits : std::bit_cast<uint32_t>(number);
    }
    c.want = d;
    for (uint32_t row = 0; row < f.m; ++row)
      for (uint32_t column = 0; column < f.n; ++column) {
        const Cell cell = d_cell(f, row, column);
        if (f.masked && (disabled_word(4 * cell.cta + cell.lane / 32) >> cell.lane % 32 & 1) != 0) continue;
        uint32_t& word = c.want[(cell.cta * 128 + cell.lane) * K::d_columns + cell.column];
        double sum = 0;
        for (uint32_t k = 0; k < depth; ++k) {
          double term = value(f.a, a.at(row, k)) * value(f.b, b.at(column, k));
          if (f.negate_a != f.negate_b) term = -term;
          if constexpr (scales != 0)
            term *= scale_value(f, sfa.at(row, f.sfa_id + k / (depth / scales))) *
                    scale_value(f, sfb.at(column, f.sfb_id + k / (depth / scales)));
          sum += term;
        }
        if (f.d_type == 2) {
          int64_t total = static_cast<int64_t>(sum) + (f.accumulate ? static_cast<int32_t>(word) : 0);
          if (f.saturate) total = std::clamp<int64_t>(total, INT32_MIN, INT32_MAX);
          word = static_cast<uint32_t>(total);
          continue;
        }
        const double before = f.d_type == 0 ? to_float(f16{static_cast<uint16_t>(word)}) : std::bit_cast<float>(word);
        if (f.accumulate) sum += std::ldexp(before, -f.scale_input);
        if (sum == 0) sum = 0;  // never -0
        const auto result = static_cast<float>(sum);
        word = f.d_type == 0 ? to_f16(result).bits : std::bit_cast<uint32_t>(result);
      }

    uint32_t* out = machine.memory(Words(d.size(), 0xcccccccc), true);
    machine.template launch<K>({{f.ctas()}, {f.ctas()}, K::threads},
                               {machine.memory(a_words), machine.memory(b_words), machine.memory(a_tmem),
                                machine.memory(sfa_words), machine.memory(sfb_words), machine.memory(d), out});
    c.got = machine.read(out, d.size());
    // A sum that is zero: the fast arithmetic of the loom may keep the sign of D, the tensor core never does.
    if (f.d_type != 2)
      for (uint32_t& word : c.got)
        if (word == (f.d_type == 0 ? 0x8000u : 0x80000000u)) word = 0;
    if (f.d_type != 2)
      for (uint32_t& word : c.want)
        if (word == (f.d_type == 0 ? 0x8000u : 0x80000000u)) word = 0;
  }

  // ---- copies

  static Words patterns(size_t count, uint32_t first) {
    Words words;
    for (uint32_t i = 0; i < count; ++i) words.push_back(pattern(first + i));
    return words;
  }

  template <TmemCopy shape, Expand expand, int group>
  static void copy(Machine& machine, Comparison& c) {
    using K = CopyProbe<shape, expand, group>;
    constexpr uint32_t ctas = group;
    const Words source = patterns(ctas * K::words, 100), before = patterns(ctas * 128 * K::columns, 90000);
    uint32_t* out = machine.memory(Words(before.size(), 0xcccccccc), true);
    machine.template launch<K>({{ctas}, {ctas}, K::threads}, {machine.memory(source), machine.memory(before), out});
    c.got = machine.read(out, before.size());
    c.want = before;
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t row = 0; row < copy_rows(shape); ++row)
        for (uint32_t byte = 0; byte < copy_row_bytes(shape); ++byte) {
          const auto at = [&](uint32_t b) {  // byte b of the row's 16-byte unit
            const uint32_t offset = row % 8 * 16 + row / 8 * 128 + byte / 16 * K::unit_step + b;
            return source[cta * K::words + offset / 4] >> offset % 4 * 8 & 0xff;
          };
          uint32_t moved = at(byte % 16);
          if (expand != Expand::none) {
            const uint32_t width = expand == Expand::four_bit ? 4 : 6, bit = byte % 16 * width;
            const uint32_t two = at(bit / 8) | (bit / 8 < 15 ? at(bit / 8 + 1) : 0) << 8;
            moved = (two >> bit % 8 & ((1u << width) - 1)) << (expand == Expand::four_bit ? 2 : 0);
          }
          uint32_t lanes[4] = {row, row, row, row};
          if (shape == TmemCopy::m64x128b_02_13) lanes[1] = row + 64;
          if (shape == TmemCopy::m64x128b_01_23) {
            lanes[0] = lanes[2] = lanes[3] = row % 32 + 64 * (row / 32);
            lanes[1] = lanes[0] + 32;
          }
          if (shape == TmemCopy::m32x128b)
            for (uint32_t i = 1; i < 4; ++i) lanes[i] = row + 32 * i;
          if (shape == TmemCopy::m4x256b)
            for (uint32_t& lane : lanes) lane = 32 * row;
          for (const uint32_t lane : lanes) {
            uint32_t& word = c.want[(cta * 128 + lane) * K::columns + byte / 4];
            word = (word & ~(0xffu << byte % 4 * 8)) | moved << byte % 4 * 8;
          }
        }
  }

  static void shift(Machine& machine, Comparison& c) {
    using K = ShiftProbe;
    const Words before = patterns(128 * K::columns, 333);
    uint32_t* out = machine.memory(Words(before.size(), 0xcccccccc), true);
    machine.template launch<K>({{1}, {1}, K::threads}, {machine.memory(before), out});
    c.got = machine.read(out, before.size());
    c.want = before;
    for (uint32_t lane = 32; lane < 63; ++lane)
      for (uint32_t column = 8; column < 16; ++column)
        c.want[lane * K::columns + column] = before[(lane + 1) * K::columns + column];
  }

  // ---- loads and stores

  /// Lane and column of register i of lane t, before packing (§4.14).
  template <TmemMove shape>
  static Cell move_cell(uint32_t t, uint32_t i) {
    switch (shape) {
      case TmemMove::m32x32b: return {0, t, i};
      case TmemMove::m16x64b: return {0, t / 4 + 8 * (t % 2), 2 * i + t / 2 % 2};
      case TmemMove::m16x128b: return {0, t / 4 + 8 * (i % 2), 4 * (i / 2) + t % 4};
      case TmemMove::m16x256b: return {0, t / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2};
      case TmemMove::m16x32bx2: return {0, t % 16, i};
    }
    return {};
  }
  template <TmemMove shape, int count, bool packed>
  static void move(Machine& machine, Comparison& c) {
    using K = TensorMoveProbe<shape, count, packed>;
    const Words before = patterns(128 * K::columns, 4444), nothing(128 * count, 0xcccccccc);
    uint32_t *loaded = machine.memory(nothing, true), *out = machine.memory(before, true);
    machine.template launch<K>({{1}, {1}, K::threads}, {machine.memory(before), loaded, out});
    c.got = machine.read(loaded, nothing.size());
    const Words after = machine.read(out, before.size());
    c.got.insert(c.got.end(), after.begin(), after.end());
    Words tmem = before;
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < count; ++i) {
        const Cell cell = move_cell<shape>(thread % 32, i);
        const uint32_t second = shape == TmemMove::m16x32bx2 && thread % 32 >= 16 ? K::offset : 0;
        const size_t at =
            (thread / 32 * 32 + cell.lane) * K::columns + (packed ? 2 * cell.column : cell.column) + second;
        const uint32_t value = pattern(thread * count + i + 5000);
        if (packed) {
          c.want.push_back((before[at] & 0xffff) | before[at + 1] << 16);
          tmem[at] = value & 0xffff;
          tmem[at + 1] = value >> 16;
        } else {
          c.want.push_back(before[at]);
          tmem[at] = value;
        }
      }
    for (const uint32_t word : tmem) c.want.push_back(packed ? word & 0xffff : word);
  }

  // ---- the list

  static std::vector<Case<Machine>> cases() {
    using enum MmaKind;
    using T = MmaType;
    constexpr auto mn = Major::mn;
    constexpr auto x2 = ScaleVector::x2, x4 = ScaleVector::x4;
    constexpr auto ue4m3 = ScaleType::ue4m3;
    return {
        // kinds and types
        {"f16-bf16", &product<UmmaForm{.kind = f16, .a = T::bf16, .b = T::bf16}>},
        {"f16-f16-d-f16", &product<UmmaForm{.kind = f16, .a = T::f16, .b = T::f16, .d_type = 0}>},
        {"tf32", &product<UmmaForm{.kind = tf32, .a = T::tf32, .b = T::tf32}>},
        {"tf32-mn", &product<UmmaForm{.kind = tf32, .a = T::tf32, .b = T::tf32, .a_major = mn, .b_major = mn}>},
        {"i8-s8-u8", &product<UmmaForm{.kind = i8, .a = T::s8, .b = T::u8, .d_type = 2}>},
        {"i8-u8-saturate", &product<UmmaForm{.kind = i8, .a = T::u8, .b = T::u8, .d_type = 2, .saturate = true}>},
        {"i8-pair", &product<UmmaForm{.kind = i8, .a = T::s8, .b = T::s8, .group = 2, .m = 256, .n = 96, .d_type = 2}>},
        {"e4m3-e5m2", &product<UmmaForm{.kind = f8f6f4, .a = T::e4m3, .b = T::e5m2}>},
        {"e4m3-mn-negated",
         &product<UmmaForm{
             .kind = f8f6f4, .a = T::e4m3, .b = T::e4m3, .a_major = mn, .b_major = mn, .negate_a = true}>},
        {"e2m3-e3m2", &product<UmmaForm{.kind = f8f6f4, .a = T::e2m3, .b = T::e3m2, .swizzle = Swizzle::b64}>},
        {"e3m2-e2m1-d-f16", &product<UmmaForm{.kind = f8f6f4, .a = T::e3m2, .b = T::e2m1, .d_type = 0}>},
        {"e2m1-e4m3", &product<UmmaForm{.kind = f8f6f4, .a = T::e2m1, .b = T::e4m3, .swizzle = Swizzle::none}>},
        // block scaling
        {"mxf8", &product<UmmaForm{.kind = mxf8f6f4, .a = T::e4m3, .b = T::e4m3, .sfa_id = 1, .sfb_id = 3}>},
        {"mxf6-mxf4", &product<UmmaForm{.kind = mxf8f6f4, .a = T::e2m3, .b = T::e2m1, .n = 256, .sfa_id = 2}>},
        {"mxf8-pair", &product<UmmaForm{.kind = mxf8f6f4, .a = T::e5m2, .b = T::e4m3, .group = 2, .m = 256, .n = 192}>},
        {"mxf8-pair-128",
         &product<UmmaForm{.kind = mxf8f6f4, .a = T::e4m3, .b = T::e3m2, .group = 2, .m = 128, .n = 128, .sfb_id = 1}>},
        {"mxf4", &product<UmmaForm{.kind = mxf4, .a = T::e2m1, .b = T::e2m1, .scales = x2, .sfa_id = 2}>},
        {"mxf4-pair",
         &product<UmmaForm{.kind = mxf4, .a = T::e2m1, .b = T::e2m1, .group = 2, .m = 256, .scales = x2, .sfb_id = 2}>},
        {"nvf4-ue4m3",
         &product<UmmaForm{.kind = mxf4nvf4, .a = T::e2m1, .b = T::e2m1, .scales = x4, .scale_type = ue4m3}>},
        {"nvf4-ue8m0", &product<UmmaForm{.kind = mxf4nvf4, .a = T::e2m1, .b = T::e2m1, .n = 96, .scales = x4}>},
        {"nvf4-2x",
         &product<UmmaForm{.kind = mxf4nvf4, .a = T::e2m1, .b = T::e2m1, .scales = x2, .sfa_id = 2, .sfb_id = 2}>},
        {"nvf4-pair-128", &product<UmmaForm{.kind = mxf4nvf4,
                                            .a = T::e2m1,
                                            .b = T::e2m1,
                                            .group = 2,
                                            .m = 128,
                                            .n = 256,
                                            .scales = x4,
                                            .scale_type = ue4m3}>},
        // A in tensor memory
        {"tmem-a-bf16", &product<UmmaForm{.kind = f16, .a = T::bf16, .b = T::bf16, .a_in_tmem = true}>},
        {"tmem-a-tf32-64",
         &product<UmmaForm{.kind = tf32, .a = T::tf32, .b = T::tf32, .m = 64, .a_in_tmem = true, .d_lane = 16}>},
        {"tmem-a-i8", &product<UmmaForm{.kind = i8, .a = T::u8, .b = T::s8, .n = 32, .d_type = 2, .a_in_tmem = true}>},
        {"tmem-a-e2m1", &product<UmmaForm{.kind = f8f6f4, .a = T::e2m1, .b = T::e4m3, .a_in_tmem = true}>},
        {"tmem-a-e3m2", &product<UmmaForm{.kind = f8f6f4, .a = T::e3m2, .b = T::e5m2, .a_in_tmem = true}>},
        {"tmem-a-pair",
         &product<UmmaForm{.kind = f8f6f4, .a = T::e4m3, .b = T::e4m3, .group = 2, .m = 256, .a_in_tmem = true}>},
        {"tmem-a-pair-128", &product<UmmaForm{.kind = f16, .a = T::f16, .b = T::f16, .group = 2, .a_in_tmem = true}>},
        {"tmem-a-mxf8",
         &product<UmmaForm{.kind = mxf8f6f4, .a = T::e4m3, .b = T::e4m3, .a_in_tmem = true, .sfa_id = 3}>},
        {"tmem-a-nvf4",
         &product<UmmaForm{
             .kind = mxf4nvf4, .a = T::e2m1, .b = T::e2m1, .a_in_tmem = true, .scales = x4, .scale_type = ue4m3}>},
        // layouts of D, masks, scaled input, weight-stationary
        {"layout-f", &product<UmmaForm{.m = 64, .n = 24, .d_lane = 16}>},
        {"layout-b", &product<UmmaForm{.group = 2, .m = 128, .n = 96}>},
        {"layout-a", &product<UmmaForm{.group = 2, .m = 256, .n = 48}>},
        {"fresh", &product<UmmaForm{.n = 256, .accumulate = false}>},
        {"masked", &product<UmmaForm{.masked = true}>},
        {"masked-pair", &product<UmmaForm{.group = 2, .m = 256, .masked = true}>},
        {"masked-tmem-a",
         &product<UmmaForm{.kind = tf32, .a = T::tf32, .b = T::tf32, .a_in_tmem = true, .masked = true}>},
        {"scale-input-d", &product<UmmaForm{.scale_input = 3}>},
        {"scale-input-d-tf32",
         &product<UmmaForm{.kind = tf32, .a = T::tf32, .b = T::tf32, .a_in_tmem = true, .scale_input = 5}>},
        {"ws-32", &product<UmmaForm{.m = 32, .n = 128, .stationary = true}>},
        {"ws-64", &product<UmmaForm{.kind = f8f6f4, .a = T::e4m3, .b = T::e4m3, .m = 64, .n = 64, .stationary = true}>},
        {"ws-128", &product<UmmaForm{.kind = i8, .a = T::s8, .b = T::s8, .n = 64, .d_type = 2, .stationary = true}>},
        // copies
        {"cp-128x256b", &copy<TmemCopy::m128x256b, Expand::none, 1>},
        {"cp-128x128b", &copy<TmemCopy::m128x128b, Expand::none, 1>},
        {"cp-64x128b-02-13", &copy<TmemCopy::m64x128b_02_13, Expand::none, 1>},
        {"cp-64x128b-01-23", &copy<TmemCopy::m64x128b_01_23, Expand::none, 1>},
        {"cp-32x128b", &copy<TmemCopy::m32x128b, Expand::none, 1>},
        {"cp-4x256b", &copy<TmemCopy::m4x256b, Expand::none, 1>},
        {"cp-pair", &copy<TmemCopy::m128x256b, Expand::none, 2>},
        {"cp-128x256b-b6", &copy<TmemCopy::m128x256b, Expand::six_bit, 1>},
        {"cp-128x256b-b4", &copy<TmemCopy::m128x256b, Expand::four_bit, 1>},
        {"cp-128x128b-b4", &copy<TmemCopy::m128x128b, Expand::four_bit, 1>},
        {"cp-32x128b-b6", &copy<TmemCopy::m32x128b, Expand::six_bit, 1>},
        {"shift-down", &shift},
        // loads and stores
        {"ld-st-32x32b", &move<TmemMove::m32x32b, 32, false>},
        {"ld-st-32x32b-16b", &move<TmemMove::m32x32b, 16, true>},
        {"ld-st-16x64b", &move<TmemMove::m16x64b, 16, false>},
        {"ld-st-16x64b-16b", &move<TmemMove::m16x64b, 8, true>},
        {"ld-st-16x128b", &move<TmemMove::m16x128b, 16, false>},
        {"ld-st-16x128b-16b", &move<TmemMove::m16x128b, 8, true>},
        {"ld-st-16x256b", &move<TmemMove::m16x256b, 32, false>},
        {"ld-st-16x256b-16b", &move<TmemMove::m16x256b, 16, true>},
        {"ld-st-16x32bx2", &move<TmemMove::m16x32bx2, 16, false>},
        {"ld-st-16x32bx2-16b", &move<TmemMove::m16x32bx2, 8, true>},
        // conversions that only this chip has
        {"cvt-narrow", &ConvertCheck<Machine>::narrow},
    };
  }
};

template <class Machine>
std::vector<Case<Machine>> tcgen05_check_cases() {
  return Tcgen05Check<Machine>::cases();
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
