// tcgen05.mma of every kind against plain arithmetic: the test lays out operands, scale factors and D itself, from the
// formulas of hardware.md §3.2, 4.8-4.11 and §7 as they stand there, and computes the product in double. Values are
// chosen so that every sum is exact in f32; what is compared is equality.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "loom/units/tensor_core.hpp"
#include "loom/units/tensor_core_product.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t window_bytes = 160 * 1024, a_start = 1024, b_start = 64 * 1024;
constexpr uint32_t sfa_column = 300, sfb_column = 340, a_column = 400;

struct Case {
  MmaKind kind = MmaKind::f8f6f4;
  MmaType a = MmaType::e4m3, b = MmaType::e4m3;
  int group = 1;
  uint32_t m = 128, n = 64;
  AccumulatorType accumulator = AccumulatorType::f32;
  bool accumulate = true;
  bool a_in_tmem = false;
  Major a_major = Major::k, b_major = Major::k;
  Swizzle swizzle = Swizzle::b128;
  bool negate_a = false, negate_b = false, saturate = false;
  bool masked = false;
  uint32_t scale_input_d = 0;
  ScaleVector scales = ScaleVector::x1;
  ScaleType scale_type = ScaleType::ue8m0;
  uint32_t sfa_id = 0, sfb_id = 0;
  uint32_t d = 0;
  bool ws = false;

  bool scaled() const { return kind >= MmaKind::mxf8f6f4; }
  bool packed() const { return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4; }
  bool integer() const { return kind == MmaKind::i8; }
  uint32_t ctas() const { return static_cast<uint32_t>(group); }
  uint32_t k() const { return packed() ? 64 : kind == MmaKind::f16 ? 16 : kind == MmaKind::tf32 ? 8 : 32; }
};

std::string describe(const Case& c) {
  std::string out = "kind " + std::to_string(static_cast<int>(c.kind)) + " " + name_of(c.a) + "*" + name_of(c.b) +
                    " group " + std::to_string(c.group) + " " + std::to_string(c.m) + "x" + std::to_string(c.n);
  if (c.a_in_tmem) out += " A in tensor memory";
  if (c.ws) out += " ws";
  if (c.masked) out += " masked";
  out += " accumulator " + std::to_string(static_cast<int>(c.accumulator));
  out += " majors " + std::to_string(static_cast<int>(c.a_major)) + std::to_string(static_cast<int>(c.b_major));
  return out + " span " + std::to_string(swizzle_span(c.swizzle));
}

/// §7: (-1)^s * 2^(e - bias) * (1 + m/2^M), or with e = 0 2^(1 - bias) * m/2^M.
double value(MmaType type, uint32_t code) {
  const auto binary = [&code](int exponent_bits, int mantissa_bits, int bias) {
    const int mantissa = static_cast<int>(code & ((1u << mantissa_bits) - 1));
    const int exponent = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
    const bool negative = (code >> (mantissa_bits + exponent_bits) & 1) != 0;
    const double magnitude = exponent == 0
                                 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                 : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return negative ? -magnitude : magnitude;
  };
  switch (type) {
    case MmaType::e4m3: return binary(4, 3, 7);
    case MmaType::e5m2: return binary(5, 2, 15);
    case MmaType::e2m3: return binary(2, 3, 1);
    case MmaType::e3m2: return binary(3, 2, 3);
    case MmaType::e2m1: return binary(2, 1, 1);
    case MmaType::f16: return binary(5, 10, 15);
    case MmaType::bf16: return binary(8, 7, 127);
    case MmaType::tf32: code >>= 13; return binary(8, 10, 127);  // the low 13 bits are ignored
    case MmaType::u8: return code & 0xff;
    case MmaType::s8: return static_cast<int8_t>(code);
  }
  return 0;
}

/// A code whose value is a multiple of 2^-4 of at most 30: sums of 64 products are exact in f32.
uint32_t draw(MmaType type, std::mt19937& random) {
  for (;;) {
    const auto code = static_cast<uint32_t>(random());
    switch (type) {
      case MmaType::u8:
      case MmaType::s8: return code & 0xff;
      case MmaType::e2m1: return code & 0xf;
      case MmaType::e2m3:
      case MmaType::e3m2: return code & 0x3f;
      case MmaType::f16:
      case MmaType::bf16:
      case MmaType::tf32: {
        const float small = static_cast<float>(static_cast<int>(code % 61) - 30) / 4;
        uint32_t bits = 0;
        std::memcpy(&bits, &small, 4);
        if (type == MmaType::tf32) return bits | (code >> 8 & 0x1fff);  // low bits that must not count
        if (type == MmaType::bf16) return bits >> 16;
        if (small == 0) return 0;
        return (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10));
      }
      default: {
        const double v = std::abs(value(type, code & 0xff));
        if ((v == 0 || v >= 0.0625) && v <= 30 && std::fmod(v, 0.0625) == 0) return code & 0xff;
      }
    }
  }
}

using Matrix = std::vector<std::vector<uint32_t>>;  // codes [row][k]

Matrix random_matrix(uint32_t rows, uint32_t depth, MmaType type, std::mt19937& random) {
  Matrix codes(rows, std::vector<uint32_t>(depth));
  for (auto& row : codes)
    for (uint32_t& code : row) code = draw(type, random);
  return codes;
}

void put_bits(std::vector<uint8_t>& bytes, uint32_t first_bit, uint32_t width, uint32_t code) {
  for (uint32_t i = 0; i < width; ++i) {
    const uint32_t bit = first_bit + i;
    bytes.at(bit / 8) = static_cast<uint8_t>((bytes[bit / 8] & ~(1u << bit % 8)) | (code >> i & 1) << bit % 8);
  }
}

/// Where bit 0 of element `k` of a K-major row lies: §4.10.
uint32_t k_bit(const Case& c, MmaType type, uint32_t k) {
  const uint32_t width = bits_of(type);
  if (c.packed()) return 4 * k;
  if (width < 8) return k / 16 * 128 + k % 16 * width;
  return k * width;
}

/// Puts the operand's rows at `start` and says how to describe them: K-major rows of 32 bytes in an atom of the
/// swizzle's span, or MN-major panels.
SmemDescriptorFields place(const Case& c, std::byte* window, uint32_t start, MmaType type, Major major,
                           const Matrix& codes) {
  const auto rows = static_cast<uint32_t>(codes.size()), depth = static_cast<uint32_t>(codes[0].size());
  const bool atoms = type == MmaType::tf32 && major == Major::mn, plain = !atoms && c.swizzle == Swizzle::none;
  const Swizzle swizzle = atoms ? Swizzle::b128_atom32 : c.swizzle;
  const uint32_t span = atoms ? 128 : plain ? 16 : swizzle_span(swizzle), lines = atoms ? 4 : 8;
  const auto address = [&](uint32_t along, uint32_t line, uint32_t groups) {
    uint32_t at =
        start + along / span * span * lines * groups + line / lines * span * lines + line % lines * span + along % span;
    if (atoms) return at ^ (at >> 7 & 3) << 5;
    const uint32_t mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
    return at ^ (at >> 7 & mask) << 4;
  };
  SmemDescriptorFields fields{start, 16, 0, 0, swizzle};
  if (major == Major::k) {
    const uint32_t groups = rows / 8;
    fields.stride_byte_offset = span * 8;
    if (plain) fields.leading_byte_offset = span * 8 * groups;
    for (uint32_t row = 0; row < rows; ++row) {
      std::vector<uint8_t> bytes(32, 0xa5);  // padding that must not count
      for (uint32_t k = 0; k < depth; ++k) put_bits(bytes, k_bit(c, type, k), bits_of(type), codes[row][k]);
      for (uint32_t i = 0; i < 32; ++i) window[address(i, row, groups)] = std::byte{bytes[i]};
    }
    return fields;
  }
  const uint32_t bytes = bits_of(type) / 8, groups = (depth + lines - 1) / lines, atom = span * lines;
  (plain ? fields.leading_byte_offset : fields.stride_byte_offset) = atom;
  (plain ? fields.stride_byte_offset : fields.leading_byte_offset) = atom * groups;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < depth; ++k) std::memcpy(window + address(row * bytes, k, groups), &codes[row][k], bytes);
  return fields;
}

/// §4.8: where D(row, column) lies.
struct Cell {
  uint32_t cta, lane, column;
};
Cell d_cell(const Case& c, uint32_t row, uint32_t column) {
  const uint32_t d_lane = c.d >> 16, d_column = c.d & 0xffff, n = c.n;
  if (c.ws && c.m == 64) return {0, row + 64 * (column / (n / 2)), d_column + column % (n / 2)};
  if (c.ws && c.m == 32) return {0, row + 32 * (column / (n / 4)), d_column + column % (n / 4)};
  if (c.group == 2 && c.m == 256) return {row / 128, row % 128, d_column + column};
  if (c.group == 2) return {row / 64, row % 64 + 64 * (column / (n / 2)), d_column + column % (n / 2)};
  if (c.m == 64 && !c.ws) return {0, d_lane + row % 16 + 32 * (row / 16), d_column + column};
  return {0, row, d_column + column};
}

uint32_t scale_code(const Case& c, std::mt19937& random) {
  if (c.scale_type == ScaleType::ue8m0) return 125 + random() % 5;  // 2^-2 ... 2^2
  return (5 + random() % 4) << 3 | (random() % 2) << 2;             // 2^-2 ... 2^1, times 1 or 1.5
}
double scale_value(const Case& c, uint32_t code) {
  if (c.scale_type == ScaleType::ue8m0) return std::ldexp(1.0, static_cast<int>(code) - 127);
  return value(MmaType::e4m3, code & 0x7f);
}

struct Machine {
  std::vector<std::byte> window = std::vector<std::byte>(window_bytes);
  std::vector<uint32_t> tmem = std::vector<uint32_t>(128 * 512);
  uint32_t& at(uint32_t lane, uint32_t column) { return tmem.at(lane * 512 + column); }
};

uint32_t bits_of_float(double x) {
  const auto f = static_cast<float>(x);
  uint32_t bits = 0;
  std::memcpy(&bits, &f, 4);
  return bits;
}

/// 16-bit float of a number that it holds exactly.
uint32_t half_bits(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const double m = std::frexp(std::abs(x), &exponent);
  EXPECT_EQ(m * 2048, std::floor(m * 2048)) << x << " is no f16";
  const auto fraction = static_cast<uint32_t>(m * 2048) - 1024;
  return (x < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent + 14) << 10 | fraction;
}

uint32_t operand_code(const Case& c, MmaType type) {
  switch (type) {
    case MmaType::e4m3:
    case MmaType::f16:
    case MmaType::u8: return 0;
    case MmaType::e5m2:
    case MmaType::bf16:
    case MmaType::s8: return 1;
    case MmaType::tf32: return 2;
    case MmaType::e2m3: return 3;
    case MmaType::e3m2: return 4;
    case MmaType::e2m1: return c.packed() ? 1 : 5;
  }
  return 7;
}

/// §4.7, field by field.
uint32_t instruction_bits(const Case& c) {
  uint32_t bits = operand_code(c, c.a) << 7 | operand_code(c, c.b) << 10 | uint32_t{c.negate_a} << 13 |
                  uint32_t{c.negate_b} << 14 | uint32_t{c.a_major == Major::mn} << 15 |
                  uint32_t{c.b_major == Major::mn} << 16 | c.n / 8 << 17;
  if (c.scaled())
    return bits | c.sfb_id << 4 | uint32_t{c.scale_type == ScaleType::ue8m0} << 23 | c.m / 128 << 27 | c.sfa_id << 29;
  const uint32_t d_type = c.accumulator == AccumulatorType::f16 ? 0 : c.accumulator == AccumulatorType::f32 ? 1 : 2;
  return bits | uint32_t{c.saturate} << 3 | d_type << 4 | c.m / 16 << 24;
}

void check(const Case& c) {
  SCOPED_TRACE(describe(c));
  std::mt19937 random(c.m * 1000 + c.n + static_cast<uint32_t>(c.kind));
  Machine machine[2];
  const uint32_t ctas = c.ctas(), rows = c.m / ctas, depth = c.k();
  const Matrix a = random_matrix(c.m, depth, c.a, random), b = random_matrix(c.n, depth, c.b, random);
  for (Machine& m : machine)
    for (uint32_t& word : m.tmem) {
      const int v = static_cast<int>(random() % 512) - 256;
      word = c.integer()                             ? random()
             : c.accumulator == AccumulatorType::f16 ? half_bits(v) | (random() << 16)
                                                     : bits_of_float(v / 4.0);
    }
  native::MmaInstruction in;
  in.kind = c.kind;
  in.cta_group = c.group;
  in.d = c.d;
  in.idesc = instruction_bits(c);
  in.accumulate = c.accumulate;
  in.scale_input_d = c.scale_input_d;
  in.weight_stationary = c.ws;
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    Machine& m = machine[cta];
    const Matrix a_share(a.begin() + cta * rows, a.begin() + (cta + 1) * rows);
    const Matrix b_share(b.begin() + cta * (c.n / ctas), b.begin() + (cta + 1) * (c.n / ctas));
    in.b = encode_smem_descriptor(place(c, m.window.data(), b_start, c.b, c.b_major, b_share)).bits;
    if (!c.a_in_tmem) {
      in.a = encode_smem_descriptor(place(c, m.window.data(), a_start, c.a, c.a_major, a_share)).bits;
      continue;
    }
    // §4.9: rows in the lanes of D's rows, K along 8 columns; in layout B twice.
    const uint32_t width = c.packed() ? 4 : std::max(bits_of(c.a), 8u),
                   shift = c.a == MmaType::e2m1 && !c.packed() ? 2 : 0;
    const uint32_t copies = c.group == 2 && c.m == 128 ? 2 : 1;
    for (uint32_t copy = 0; copy < copies; ++copy)
      for (uint32_t row = 0; row < rows; ++row) {
        const uint32_t lane = c.group == 1 && c.m == 64 ? (c.d >> 16) + row % 16 + 32 * (row / 16) : row + 64 * copy;
        for (uint32_t k = 0; k < depth; ++k) {
          uint32_t& word = m.at(lane, a_column + k * width / 32);
          const uint32_t bit = k * width % 32, mask = (width == 32 ? ~0u : (1u << width) - 1) << bit;
          word = (word & ~mask) | (a_share[row][k] << shift << bit & mask);
        }
      }
    in.a_in_tmem = true;
    in.a = (c.d & 0xffff0000) | a_column;
  }
  // §4.11. Bytes that the ids do not choose stay as they are.
  const uint32_t scales = c.scaled() ? static_cast<uint32_t>(c.scales) : 0;
  Matrix sfa(c.m, std::vector<uint32_t>(scales)), sfb(c.n, std::vector<uint32_t>(scales));
  for (Matrix* m : {&sfa, &sfb})
    for (auto& row : *m)
      for (uint32_t& code : row) code = scale_code(c, random);
  const auto put_scale = [&](Machine& m, uint32_t column, uint32_t lane, uint32_t byte, uint32_t code) {
    uint32_t& word = m.at(lane, column);
    word = (word & ~(0xffu << 8 * byte)) | code << 8 * byte;
  };
  for (uint32_t cta = 0; cta < ctas && scales != 0; ++cta)
    for (uint32_t j = 0; j < scales; ++j) {
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t quarter = 0; quarter < 4; ++quarter)
          put_scale(machine[cta], sfa_column + r / 32, r % 32 + 32 * quarter, c.sfa_id + j, sfa[cta * rows + r][j]);
      for (uint32_t n = 0; n < c.n; ++n) {
        const bool split = c.group == 2 && c.m == 128;
        const uint32_t half = split ? c.n / 2 : c.n, r = n % half;
        for (uint32_t copy = 0; copy < (split ? 2 : 4); ++copy)
          put_scale(machine[cta], sfb_column + r / 32, r % 32 + 32 * copy + 64 * (n / half), c.sfb_id + j, sfb[n][j]);
      }
    }
  in.scale_vector = c.scales;
  in.sfa = sfa_column;
  in.sfb = sfb_column;
  uint32_t disabled[8] = {};
  if (c.masked) {
    for (uint32_t& word : disabled) word = random();
    in.disabled_lanes = disabled;
  }

  const Result<MmaOperation> op = decode_mma(in);
  ASSERT_TRUE(op) << op.error();
  EXPECT_EQ(op->k, depth);
  MmaMemory memory[2];
  for (uint32_t cta = 0; cta < 2; ++cta)
    memory[cta] = {machine[cta].window.data(), window_bytes, machine[cta].tmem.data()};
  std::vector<uint32_t> expected[2] = {machine[0].tmem, machine[1].tmem};
  const std::vector<uint32_t> initial[2] = {machine[0].tmem, machine[1].tmem};
  ASSERT_EQ(scale_trouble(*op, memory), "");
  execute_mma(*op, memory);

  const double sign = c.negate_a != c.negate_b ? -1 : 1;
  const auto values = [depth](const Matrix& codes, MmaType type) {
    std::vector<double> out;
    for (const auto& row : codes)
      for (uint32_t k = 0; k < depth; ++k) out.push_back(value(type, row[k]));
    return out;
  };
  const std::vector<double> a_values = values(a, c.a), b_values = values(b, c.b);
  int wrong = 0;
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const Cell cell = d_cell(c, row, column);
      uint32_t& word = expected[cell.cta][cell.lane * 512 + cell.column];
      const uint32_t got = machine[cell.cta].at(cell.lane, cell.column);
      if (c.masked && (disabled[4 * cell.cta + cell.lane / 32] >> cell.lane % 32 & 1) != 0)
        continue;  // must be as it was
      double sum = 0;
      const uint32_t block = scales == 0 ? depth : depth / scales;
      for (uint32_t first = 0; first < depth; first += block) {
        double part = 0;
        for (uint32_t k = first; k < first + block; ++k)
          part += sign * a_values[row * depth + k] * b_values[column * depth + k];
        if (scales != 0) part *= scale_value(c, sfa[row][first / block]) * scale_value(c, sfb[column][first / block]);
        sum += part;
      }
      uint32_t want = 0;
      if (c.integer()) {
        double total = sum + (c.accumulate ? static_cast<int32_t>(word) : 0);
        if (c.saturate) total = std::min(std::max(total, -2147483648.0), 2147483647.0);
        want = static_cast<uint32_t>(static_cast<int64_t>(total));
      } else if (c.accumulator == AccumulatorType::f16) {
        if (c.accumulate)
          sum += value(MmaType::f16, word & 0xffff) * std::ldexp(1.0, -static_cast<int>(c.scale_input_d));
        want = (half_bits(sum) & 0xffff) | (got & 0xffff0000);  // the upper half is nobody's
      } else {
        float before = 0;
        std::memcpy(&before, &word, 4);
        if (c.accumulate) sum += std::ldexp(double{before}, -static_cast<int>(c.scale_input_d));
        want = bits_of_float(sum);
        if (sum == 0) want = got & 0x7fffffff;  // a zero of either sign
      }
      if ((got & (sum == 0 && c.accumulator == AccumulatorType::f32 ? 0x7fffffff : ~0u)) != want && wrong++ < 3)
        ADD_FAILURE() << "D(" << row << "," << column << ") is " << std::hex << got << ", not " << want;
      word = got;
    }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(expected[0] == machine[0].tmem) << "something else changed in CTA 0";
  EXPECT_TRUE(expected[1] == machine[1].tmem) << "something else changed in CTA 1";

  // Sums that are exact come out the same with exact numerics, but for the sign of a zero.
  for (uint32_t cta = 0; cta < 2; ++cta) std::copy(initial[cta].begin(), initial[cta].end(), machine[cta].tmem.begin());
  execute_product(*op, memory, multiply_exact);
  const uint32_t zero = c.accumulator == AccumulatorType::f16 ? 0x8000 : 0x80000000;
  size_t different = 0;
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (size_t i = 0; i < expected[cta].size(); ++i) {
      const uint32_t fast = expected[cta][i], exact = machine[cta].tmem[i];
      different += fast == exact || (!c.integer() && (fast ^ exact) == zero && (fast & (zero - 1)) == 0) ? 0 : 1;
    }
  EXPECT_EQ(different, 0u) << "words of exact numerics";
}

constexpr MmaType narrow_types[] = {MmaType::e4m3, MmaType::e5m2, MmaType::e2m3, MmaType::e3m2, MmaType::e2m1};

TEST(MmaKinds, EveryPairOfNarrowTypes) {
  for (const MmaKind kind : {MmaKind::f8f6f4, MmaKind::mxf8f6f4})
    for (const MmaType a : narrow_types)
      for (const MmaType b : narrow_types) {
        Case c{.kind = kind, .a = a, .b = b};
        c.sfa_id = static_cast<uint32_t>(a) % 4;
        c.sfb_id = static_cast<uint32_t>(b) % 4;
        check(c);
        c.a_in_tmem = true;
        c.accumulate = false;
        check(c);
      }
}

TEST(MmaKinds, EveryShapeOfEveryKind) {
  struct Kind {
    MmaKind kind;
    MmaType a, b;
    ScaleVector scales = ScaleVector::x1;
    ScaleType scale_type = ScaleType::ue8m0;
  };
  for (const Kind& kind :
       {Kind{MmaKind::f16, MmaType::bf16, MmaType::bf16}, Kind{MmaKind::tf32, MmaType::tf32, MmaType::tf32},
        Kind{MmaKind::f8f6f4, MmaType::e2m3, MmaType::e5m2}, Kind{MmaKind::i8, MmaType::s8, MmaType::u8},
        Kind{MmaKind::mxf8f6f4, MmaType::e4m3, MmaType::e2m1},
        Kind{MmaKind::mxf4, MmaType::e2m1, MmaType::e2m1, ScaleVector::x2},
        Kind{MmaKind::mxf4nvf4, MmaType::e2m1, MmaType::e2m1, ScaleVector::x2},
        Kind{MmaKind::mxf4nvf4, MmaType::e2m1, MmaType::e2m1, ScaleVector::x4},
        Kind{MmaKind::mxf4nvf4, MmaType::e2m1, MmaType::e2m1, ScaleVector::x4, ScaleType::ue4m3}})
    for (const int group : {1, 2})
      for (const uint32_t share : {64u, 128u})
        for (const uint32_t n : {8u, 32u, 96u, 256u})
          for (const bool tmem : {false, true}) {
            const uint32_t m = share * static_cast<uint32_t>(group);
            if (group == 2 && n == 8) continue;
            if (block_scaled(kind.kind) && group == 1 && m == 64) continue;
            Case c{.kind = kind.kind, .a = kind.a, .b = kind.b, .group = group, .m = m, .n = n};
            c.accumulator = kind.kind == MmaKind::i8 ? AccumulatorType::s32 : AccumulatorType::f32;
            c.a_in_tmem = tmem;
            c.scales = kind.scales;
            c.scale_type = kind.scale_type;
            if (kind.scales == ScaleVector::x2) c.sfa_id = 2;
            if (m == 64) c.d = 16 << 16;
            check(c);
          }
}

/// §4.11: all ids that a vector size has, for A and B apart; the other bytes of each word hold other scales.
TEST(MmaKinds, EveryIdOfEveryVectorSize) {
  struct Vector {
    MmaKind kind;
    ScaleVector scales;
    ScaleType type;
    std::vector<uint32_t> ids;
  };
  using enum ScaleType;
  int checked = 0;
  for (const Vector& v :
       {Vector{MmaKind::mxf8f6f4, ScaleVector::x1, ue8m0, {0, 1, 2, 3}},
        Vector{MmaKind::mxf4, ScaleVector::x2, ue8m0, {0, 2}},
        Vector{MmaKind::mxf4nvf4, ScaleVector::x2, ue8m0, {0, 2}},
        Vector{MmaKind::mxf4nvf4, ScaleVector::x4, ue8m0, {0}}, Vector{MmaKind::mxf4nvf4, ScaleVector::x4, ue4m3, {0}}})
    for (const uint32_t sfa : v.ids)
      for (const uint32_t sfb : v.ids)
        for (const auto& [group, m, n] : {std::tuple{1, 128u, 40u}, {2, 128u, 80u}, {2, 256u, 208u}}) {
          Case c{.kind = v.kind, .a = MmaType::e2m1, .b = MmaType::e2m1, .group = group, .m = m, .n = n};
          c.scales = v.scales;
          c.scale_type = v.type;
          c.sfa_id = sfa;
          c.sfb_id = sfb;
          check(c);
          ++checked;
        }
  EXPECT_EQ(checked, 3 * (16 + 4 + 4 + 1 + 1));
}

TEST(MmaKinds, AccumulatorsInHalves) {
  for (const int group : {1, 2})
    for (const bool accumulate : {false, true}) {
      // Products of small integers: exact in f16.
      Case c{.kind = MmaKind::f8f6f4, .a = MmaType::e2m1, .b = MmaType::e2m1, .group = group, .m = 128, .n = 32};
      c.accumulator = AccumulatorType::f16;
      c.accumulate = accumulate;
      check(c);
      c.masked = true;
      check(c);
    }
}

TEST(MmaKinds, HalvesAreRoundedOnce) {
  // 2048 + 1: a tie of f16, to even; 2050 + 1: the other way.
  MmaProduct p;
  const uint32_t one = 0x38;
  std::vector<uint32_t> a(8 * 32, 0), b(32 * product_b_pitch, 0), d(8 * product_d_pitch, 0);
  for (uint32_t row = 0; row < 8; ++row) a[row * 32] = one;
  for (uint32_t column = 0; column < 8; ++column) b[column] = one;
  d[0] = half_bits(2048);
  d[1] = half_bits(2050);
  d[2] = half_bits(65504);
  p.accumulator = AccumulatorType::f16;
  p.rows = p.columns = 8;
  p.k = 32;
  p.accumulate = true;
  p.a = a.data();
  p.b = b.data();
  p.d = d.data();
  multiply_fast(p);
  EXPECT_EQ(d[0], half_bits(2048));
  EXPECT_EQ(d[1], half_bits(2052));
  EXPECT_EQ(d[2], half_bits(65504));
}

TEST(MmaKinds, IntegersWrapOrSaturate) {
  for (const MmaType a : {MmaType::u8, MmaType::s8})
    for (const MmaType b : {MmaType::u8, MmaType::s8})
      for (const bool saturate : {false, true}) {
        Case c{.kind = MmaKind::i8, .a = a, .b = b, .m = 64, .n = 48};
        c.accumulator = AccumulatorType::s32;
        c.saturate = saturate;
        check(c);
        c.accumulate = false;
        c.a_major = c.b_major = Major::mn;
        c.swizzle = Swizzle::none;
        check(c);
      }
  // D at the limits, which random words hardly reach.
  for (const bool saturate : {false, true}) {
    std::vector<uint32_t> a(8 * 32, 1), b(32 * product_b_pitch, 0xff), d(8 * product_d_pitch, 0);
    d[0] = 0x80000000u + 31;  // -32 takes it below
    d[1] = 0x80000000u + 32;
    MmaProduct p;
    p.a_type = p.b_type = MmaType::s8;
    p.accumulator = AccumulatorType::s32;
    p.rows = p.columns = 8;
    p.k = 32;
    p.accumulate = true;
    p.saturate = saturate;
    p.a = a.data();
    p.b = b.data();
    p.d = d.data();
    multiply_fast(p);
    EXPECT_EQ(d[0], saturate ? 0x80000000u : 0x7fffffffu);
    EXPECT_EQ(d[1], 0x80000000u);
  }
}

TEST(MmaKinds, MajorsSwizzlesAndSigns) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    for (const Major a : {Major::k, Major::mn})
      for (const Major b : {Major::k, Major::mn}) {
        const MmaType byte = MmaType::e5m2;
        Case c{.kind = MmaKind::mxf8f6f4, .a = byte, .b = byte, .n = 128};
        c.a_major = a;
        c.b_major = b;
        c.swizzle = swizzle;
        check(c);
        c.kind = MmaKind::tf32;  // MN-major has 32-byte atoms, whatever the other operand has
        c.a = c.b = MmaType::tf32;
        check(c);
      }
    for (const bool negate_a : {false, true})
      for (const bool negate_b : {false, true}) {
        Case c{.kind = MmaKind::mxf4nvf4, .a = MmaType::e2m1, .b = MmaType::e2m1, .group = 2, .m = 256, .n = 64};
        c.swizzle = swizzle;
        c.scales = ScaleVector::x4;
        c.scale_type = ScaleType::ue4m3;
        c.negate_a = negate_a;
        c.negate_b = negate_b;
        check(c);
      }
  }
}

TEST(MmaKinds, MasksAndScaledInput) {
  for (const int group : {1, 2})
    for (const uint32_t share : {64u, 128u}) {
      Case c{.kind = MmaKind::f16, .a = MmaType::f16, .b = MmaType::f16, .group = group, .n = 32};
      c.m = share * static_cast<uint32_t>(group);
      c.masked = true;
      check(c);
      c.kind = MmaKind::tf32;
      c.a = c.b = MmaType::tf32;
      c.scale_input_d = 5;
      check(c);
      c.masked = false;
      c.scale_input_d = 3;
      c.kind = MmaKind::f16;
      c.a = c.b = MmaType::bf16;
      c.a_in_tmem = true;
      check(c);
      c.accumulate = false;
      check(c);
    }
}

TEST(MmaKinds, WeightStationary) {
  for (const uint32_t m : {32u, 64u, 128u})
    for (const uint32_t n : {64u, 128u, 256u})
      for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8}) {
        const MmaType type = kind == MmaKind::f16    ? MmaType::bf16
                             : kind == MmaKind::tf32 ? MmaType::tf32
                             : kind == MmaKind::i8   ? MmaType::s8
                                                     : MmaType::e3m2;
        Case c{.kind = kind, .a = type, .b = type, .m = m, .n = n};
        c.ws = true;
        c.accumulator = kind == MmaKind::i8 ? AccumulatorType::s32 : AccumulatorType::f32;
        check(c);
      }
}

/// D(row, 0) for A(row, 0) = codes[row] and B(0, 0) = 1, all else zero: 128 codes at a time, from shared or tensor
/// memory.
std::vector<uint32_t> each_times_one(const Case& c, const std::vector<uint32_t>& codes, uint32_t one, uint8_t sfa,
                                     const std::vector<uint32_t>& scale_codes = {}) {
  Machine machine;
  Matrix a(128, std::vector<uint32_t>(c.k(), 0)), b(8, std::vector<uint32_t>(c.k(), 0));
  for (uint32_t row = 0; row < 128; ++row) a[row][0] = codes[row % codes.size()];
  b[0][0] = one;
  native::MmaInstruction in;
  in.kind = c.kind;
  in.idesc = instruction_bits(c);
  in.scale_vector = c.scales;
  in.sfa = sfa_column;
  in.sfb = sfb_column;
  in.b = encode_smem_descriptor(place(c, machine.window.data(), b_start, c.b, Major::k, b)).bits;
  if (c.a_in_tmem) {
    in.a_in_tmem = true;
    in.a = a_column;
    for (uint32_t row = 0; row < 128; ++row)
      machine.at(row, a_column) = a[row][0] << (c.a == MmaType::e2m1 && !c.packed() ? 2 : 0);
  } else {
    in.a = encode_smem_descriptor(place(c, machine.window.data(), a_start, c.a, Major::k, a)).bits;
  }
  const uint32_t unit = c.scale_type == ScaleType::ue8m0 ? 0x7f7f7f7f : 0x38383838;
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t column = 0; column < 4; ++column) {
      const uint32_t row = lane % 32 + 32 * column;
      machine.at(lane, sfa_column + column) = scale_codes.empty() ? sfa * 0x01010101u : scale_codes[row] * 0x01010101u;
    }
    machine.at(lane, sfb_column) = unit;
  }
  const Result<MmaOperation> op = decode_mma(in);
  EXPECT_TRUE(op) << op.error();
  const MmaMemory memory{machine.window.data(), window_bytes, machine.tmem.data()};
  execute_mma(*op, &memory);
  std::vector<uint32_t> out;
  for (uint32_t row = 0; row < 128; ++row) out.push_back(machine.at(row, 0));
  return out;
}

TEST(MmaKinds, EveryCodeOfEveryNarrowType) {
  for (const MmaKind kind : {MmaKind::f8f6f4, MmaKind::mxf8f6f4, MmaKind::mxf4})
    for (const MmaType type : narrow_types)
      for (const bool tmem : {false, true}) {
        if (kind == MmaKind::mxf4 && type != MmaType::e2m1) continue;
        Case c{.kind = kind, .a = type, .b = type, .n = 8};
        c.a_in_tmem = tmem;
        if (kind == MmaKind::mxf4) c.scales = ScaleVector::x2;
        SCOPED_TRACE(describe(c));
        const uint32_t count = 1u << bits_of(type);
        uint32_t one = 0;
        while (value(type, one) != 1) ++one;
        for (uint32_t first = 0; first < count; first += 128) {
          std::vector<uint32_t> codes;
          for (uint32_t i = 0; i < 128; ++i) codes.push_back((first + i) % count);
          const std::vector<uint32_t> got = each_times_one(c, codes, one, 0x7f);
          for (uint32_t i = 0; i < 128; ++i) {
            const uint32_t code = codes[i], magnitude = code & 0x7f;
            const bool nan = type == MmaType::e4m3 ? magnitude == 0x7f : type == MmaType::e5m2 && magnitude > 0x7c;
            const bool infinite = type == MmaType::e5m2 && magnitude == 0x7c;
            const uint32_t want = nan        ? 0x7fffffffu
                                  : infinite ? (code << 24 & 0x80000000u) | 0x7f800000u
                                             : bits_of_float(value(type, code));
            ASSERT_EQ(got[i] & (value(type, code) == 0 ? 0x7fffffffu : ~0u),
                      want & (value(type, code) == 0 ? 0x7fffffffu : ~0u))
                << "code " << code;
          }
        }
      }
}

TEST(MmaKinds, EveryScaleFactor) {
  for (const ScaleType type : {ScaleType::ue8m0, ScaleType::ue4m3}) {
    Case c{.kind = type == ScaleType::ue8m0 ? MmaKind::mxf8f6f4 : MmaKind::mxf4nvf4,
           .a = MmaType::e2m1,
           .b = MmaType::e2m1,
           .n = 8};
    c.scale_type = type;
    if (type == ScaleType::ue4m3) c.scales = ScaleVector::x4;
    for (const uint32_t first : {0u, 128u}) {
      std::vector<uint32_t> scales;
      for (uint32_t i = 0; i < 128; ++i) scales.push_back(first + i);
      const std::vector<uint32_t> got = each_times_one(c, {2}, 2, 0, scales);  // 1 * 1
      for (uint32_t i = 0; i < 128; ++i) {
        const uint32_t code = first + i;
        const bool nan = type == ScaleType::ue8m0 ? code == 0xff : (code & 0x7f) == 0x7f;
        const double scale = type == ScaleType::ue8m0 ? std::ldexp(1.0, static_cast<int>(code) - 127)
                                                      : value(MmaType::e4m3, code & 0x7f);
        ASSERT_EQ(got[i], nan ? 0x7fffffffu : bits_of_float(scale)) << "scale " << code;
      }
    }
  }
}

// Scale factors whose product leaves f32, of a sum that does not.
TEST(MmaKinds, ExtremeScales) {
  std::vector<uint32_t> a(8 * 32, 0x38), b(32 * product_b_pitch, 0x38), d(8 * product_d_pitch, 0);  // ones
  std::vector<uint8_t> sfa(8, 0xfe), sfb(product_b_pitch, 0x00);                                    // 2^127 and 2^-127
  sfb[1] = 0xff;                                                                                    // NaN
  MmaProduct p;
  p.kind = MmaKind::mxf8f6f4;
  p.rows = p.columns = 8;
  p.k = 32;
  p.scales = 1;
  p.a = a.data();
  p.b = b.data();
  p.d = d.data();
  p.a_scales = sfa.data();
  p.b_scales = sfb.data();
  multiply_fast(p);
  EXPECT_EQ(d[0], bits_of_float(32));
  EXPECT_EQ(d[1], 0x7fffffffu);
}

/// What §4.6, 4.7, 4.9 and 4.11 do not have: one thing off a legal instruction at a time.
TEST(MmaKinds, IllegalFormsAreSentences) {
  const uint64_t rows = encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128}).bits;
  const uint64_t atoms = encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128_atom32}).bits;
  const uint32_t mask[8] = {};
  const auto instruction = [&](const Case& c) {
    native::MmaInstruction in;
    in.kind = c.kind;
    in.cta_group = c.group;
    in.weight_stationary = c.ws;
    in.idesc = instruction_bits(c);
    in.a = in.b = rows;
    in.scale_vector = c.scales;
    in.sfa = sfa_column;
    in.sfb = sfb_column;
    return in;
  };
  const auto accepted = [](const native::MmaInstruction& in) {
    const Result<MmaOperation> op = decode_mma(in);
    if (!op) {
      EXPECT_TRUE(op.error().ends_with(".")) << op.error();
    }
    return static_cast<bool>(op);
  };
  const auto expect = [&](bool legal, const Case& c, const char* what, auto&& change) {
    native::MmaInstruction in = instruction(c);
    change(in);
    EXPECT_EQ(accepted(in), legal) << what << ", " << describe(c);
  };
  const auto as_is = [](native::MmaInstruction&) {};
  const Case tf32{.kind = MmaKind::tf32, .a = MmaType::tf32, .b = MmaType::tf32};
  const Case i8{.kind = MmaKind::i8, .a = MmaType::u8, .b = MmaType::s8, .accumulator = AccumulatorType::s32};
  const Case f16{.kind = MmaKind::f16, .a = MmaType::f16, .b = MmaType::f16};
  const Case mx8{.kind = MmaKind::mxf8f6f4};
  const Case mx4{.kind = MmaKind::mxf4, .a = MmaType::e2m1, .b = MmaType::e2m1, .scales = ScaleVector::x2};
  const Case nv4{.kind = MmaKind::mxf4nvf4, .a = MmaType::e2m1, .b = MmaType::e2m1, .scales = ScaleVector::x4};
  for (const Case& c : {tf32, i8, f16, mx8, mx4, nv4}) expect(true, c, "as it is", as_is);

  // Shapes.
  const auto shaped = [&](Case c, int group, uint32_t m, uint32_t n) {
    c.group = group;
    c.m = m;
    c.n = n;
    return accepted(instruction(c));
  };
  for (uint32_t n = 8; n <= 256; n += 8) {
    EXPECT_EQ(shaped(i8, 1, 128, n), n <= 32 || n % 16 == 0) << n;
    EXPECT_EQ(shaped(i8, 2, 256, n), n % 32 == 0) << n;
    EXPECT_TRUE(shaped(tf32, 1, 64, n)) << n;
    EXPECT_EQ(shaped(tf32, 2, 128, n), n % 16 == 0) << n;
    EXPECT_TRUE(shaped(mx4, 1, 128, n)) << n;
    EXPECT_EQ(shaped(nv4, 2, 256, n), n % 16 == 0) << n;
  }
  for (const Case& c : {mx8, mx4, nv4}) {
    EXPECT_FALSE(shaped(c, 1, 256, 64));
    EXPECT_TRUE(shaped(c, 2, 128, 64));
    EXPECT_TRUE(shaped(c, 2, 256, 64));
  }
  for (const uint32_t m : {32u, 64u, 128u, 256u})
    for (const uint32_t n : {32u, 64u, 96u, 128u, 256u}) {
      Case c = f16;
      c.ws = true;
      EXPECT_EQ(shaped(c, 1, m, n), m != 256 && (n == 64 || n == 128 || n == 256)) << m << "x" << n;
    }

  // Descriptor bits.
  const auto bit = [](int i) { return [i](native::MmaInstruction& in) { in.idesc ^= 1u << i; }; };
  for (const int i : {0, 1, 2, 3, 6, 24, 25, 26, 31}) expect(false, mx8, "reserved or sparse", bit(i));
  for (const int i : {4, 5}) expect(true, mx8, "SFB id", bit(i));
  expect(false, mx4, "odd SFB id", bit(4));
  expect(true, mx4, "SFB id 2", bit(5));
  expect(false, nv4, "SFB id 2 with four scales", bit(5));
  expect(false, nv4, "odd SFA id", bit(29));
  expect(true, nv4, "ue4m3", bit(23));
  expect(false, mx8, "ue4m3", bit(23));
  expect(false, mx4, "ue4m3", bit(23));
  for (const int i : {15, 16}) expect(false, mx4, "MN-major", bit(i));
  for (const int i : {7, 8, 9, 10, 11, 12}) expect(false, mx4, "another type", bit(i));
  for (const int i : {13, 14}) expect(false, i8, "negation", bit(i));
  expect(true, i8, "saturation", bit(3));
  expect(false, tf32, "saturation", bit(3));
  for (const int i : {7, 8, 10, 11}) expect(false, tf32, "another type", bit(i));
  expect(false, tf32, "f16 accumulator", bit(4));
  expect(true, f16, "f16 accumulator", bit(4));
  expect(false, f16, "bf16 with f16 accumulator", [](auto& in) { in.idesc ^= 1u << 4 | 1u << 7 | 1u << 10; });

  // Majors and the swizzle that only tf32 has.
  Case narrow{.a = MmaType::e2m3, .b = MmaType::e4m3};
  expect(true, narrow, "K-major", as_is);
  expect(false, narrow, "M-major with 6 bits", bit(15));
  expect(true, narrow, "N-major with 8 bits", bit(16));
  expect(false, tf32, "M-major without atoms", bit(15));
  expect(true, tf32, "M-major with atoms", [&](auto& in) { in.idesc ^= 1u << 15, in.a = atoms; });
  expect(false, tf32, "K-major with atoms", [&](auto& in) { in.a = atoms; });
  expect(false, i8, "atoms", [&](auto& in) { in.b = atoms; });

  // Vectors of scales.
  for (const ScaleVector v : {ScaleVector::x1, ScaleVector::x2, ScaleVector::x4}) {
    const auto vector = [v](native::MmaInstruction& in) { in.scale_vector = v; };
    expect(v == ScaleVector::x1, mx8, "vector", vector);
    expect(v == ScaleVector::x2, mx4, "vector", vector);
    expect(v != ScaleVector::x1, nv4, "vector", vector);
  }

  // Tensor memory: lanes and ends.
  expect(true, mx8, "last columns", [](auto& in) { in.sfa = 508; });
  expect(false, mx8, "past the end", [](auto& in) { in.sfa = 509; });
  expect(false, mx8, "lane of scales", [](auto& in) { in.sfb |= 32 << 16; });
  const auto tmem = [](uint32_t address) {
    return [address](native::MmaInstruction& in) { in.a_in_tmem = true, in.a = address; };
  };
  expect(true, f16, "A in tensor memory", tmem(504));
  expect(false, f16, "A past the end", tmem(505));
  expect(false, f16, "A in another lane than D", tmem(16 << 16));
  expect(false, f16, "M-major A in tensor memory",
         [](auto& in) { in.a_in_tmem = true, in.a = 0, in.idesc |= 1u << 15; });
  Case half_lanes = f16;
  half_lanes.m = 64;
  expect(true, half_lanes, "A and D in lane 16",
         [](auto& in) { in.a_in_tmem = true, in.a = 16 << 16, in.d = 16 << 16; });
  expect(false, half_lanes, "D alone in lane 16", [](auto& in) { in.a_in_tmem = true, in.a = 0, in.d = 16 << 16; });

  // Masks, scaled input, weight-stationary.
  expect(true, i8, "mask", [&](auto& in) { in.disabled_lanes = mask; });
  expect(false, mx8, "mask", [&](auto& in) { in.disabled_lanes = mask; });
  expect(true, tf32, "scale-input-d", [](auto& in) { in.scale_input_d = 15; });
  expect(false, tf32, "scale-input-d", [](auto& in) { in.scale_input_d = 16; });
  expect(false, i8, "scale-input-d", [](auto& in) { in.scale_input_d = 1; });
  Case ws = f16;
  ws.ws = true;
  expect(true, ws, "as it is", as_is);
  expect(false, ws, "A in tensor memory", tmem(0));
  expect(false, ws, "mask", [&](auto& in) { in.disabled_lanes = mask; });
  expect(false, ws, "maximum shift", bit(30));
  expect(false, ws, "a pair", [](auto& in) { in.cta_group = 2; });
  expect(false, mx8, "weight-stationary", [](auto& in) { in.weight_stationary = true; });
}

TEST(MmaKinds, CopiesOfScalesMustAgree) {
  native::MmaInstruction in;
  in.kind = MmaKind::mxf4;
  in.scale_vector = ScaleVector::x2;
  in.a = in.b = encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128}).bits;
  in.sfa = 8;
  in.sfb = 16;
  for (const int group : {1, 2}) {
    in.cta_group = group;
    in.idesc = encode_block_scaled({.a_type = 1, .b_type = 1, .m = 128, .n = 128, .sfa_id = 2}).bits;
    in.d = 64;
    const Result<MmaOperation> op = decode_mma(in);
    ASSERT_TRUE(op) << op.error();
    Machine machine[2];
    MmaMemory memory[2];
    for (uint32_t cta = 0; cta < 2; ++cta)
      memory[cta] = {machine[cta].window.data(), window_bytes, machine[cta].tmem.data()};
    EXPECT_EQ(scale_trouble(*op, memory), "");
    machine[0].at(32 + 5, 9) = 0x00ff;  // bytes that id 2 does not choose
    EXPECT_EQ(scale_trouble(*op, memory), "");
    machine[0].at(32 + 5, 9) = 0xff0000;  // row 37
    EXPECT_NE(scale_trouble(*op, memory).find("row 37 differ between lanes 5 and 37"), std::string::npos)
        << scale_trouble(*op, memory);
    machine[0].at(32 + 5, 9) = 0;
    // Columns 0 to 63 of a pair with M = 128 lie in quarters 0 and 1 alone: quarter 2 holds another column's.
    machine[0].at(64 + 1, 16) = machine[0].at(96 + 1, 16) = 7;
    EXPECT_EQ(scale_trouble(*op, memory).empty(), group == 2);
  }
}

}  // namespace
}  // namespace warploom::loom
