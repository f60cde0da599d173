// wgmma against an H200 (fragments, addresses, products) and against CuTe (fragments, descriptors).
#include "loom/units/wgmma.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "support/golden.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {
namespace {

using test::json;
using test::number;

const std::map<std::string, WgmmaType> types{
    {"f16", WgmmaType::f16},   {"bf16", WgmmaType::bf16}, {"tf32", WgmmaType::tf32}, {"e4m3", WgmmaType::e4m3},
    {"e5m2", WgmmaType::e5m2}, {"s8", WgmmaType::s8},     {"u8", WgmmaType::u8}};
const std::map<std::string, WgmmaResult> results{
    {"f32", WgmmaResult::f32}, {"f16", WgmmaResult::f16}, {"s32", WgmmaResult::s32}};
WgmmaResult widest_result(WgmmaType type) { return is_integer(type) ? WgmmaResult::s32 : WgmmaResult::f32; }
const std::map<int, Swizzle> swizzles{{0, Swizzle::none}, {32, Swizzle::b32}, {64, Swizzle::b64}, {128, Swizzle::b128}};

uint32_t encode(WgmmaType type, float value) {
  switch (type) {
    case WgmmaType::e4m3: return to_e4m3(value).bits;
    case WgmmaType::e5m2: return to_e5m2(value).bits;
    case WgmmaType::bf16: return to_bf16(value).bits;
    case WgmmaType::tf32: return std::bit_cast<uint32_t>(value) | 0x1abc;  // what nobody reads
    case WgmmaType::s8:
    case WgmmaType::u8: return static_cast<uint32_t>(static_cast<int>(value)) & 0xff;
    default: return to_f16(value).bits;
  }
}

float decode(WgmmaType type, const uint8_t* at) {
  const auto half = static_cast<uint16_t>(at[0] | at[1] << 8);
  switch (type) {
    case WgmmaType::e4m3: return to_float(e4m3{at[0]});
    case WgmmaType::e5m2: return to_float(e5m2{at[0]});
    case WgmmaType::bf16: return to_float(bf16{half});
    case WgmmaType::tf32: {
      uint32_t word;
      std::memcpy(&word, at, sizeof(word));
      return std::bit_cast<float>(word & ~0x1fffu);
    }
    case WgmmaType::s8: return static_cast<int8_t>(at[0]);
    case WgmmaType::u8: return at[0];
    default: return to_float(f16{half});
  }
}

/// A window and the registers of a warpgroup.
class Machine {
 public:
  Machine() : window_(256 * 1024), d_(warpgroup_size * 128), a_(warpgroup_size * 4) {
    memory_.shared = window_.data();
    for (uint32_t thread = 0; thread < warpgroup_size; ++thread) {
      memory_.d[thread] = &d_[thread * 128];
      memory_.a[thread] = &a_[thread * 4];
    }
  }
  void put(uint32_t address, WgmmaType type, float value) {
    const uint32_t code = encode(type, value);
    std::memcpy(&window_[address], &code, size_of(type));
  }
  void put(const SmemDescriptorFields& descriptor, Major major, WgmmaType type, uint32_t row, uint32_t k, float value) {
    put(operand_address(descriptor, major, size_of(type), row, k), type, value);
  }
  float at(uint32_t address, WgmmaType type) const {
    return decode(type, reinterpret_cast<const uint8_t*>(&window_[address]));
  }
  void put_bytes(uint32_t address, const uint8_t* from, size_t bytes) { std::memcpy(&window_[address], from, bytes); }
  void put_a_bytes(uint32_t thread, uint32_t index, const uint8_t* from) {
    std::memcpy(&a_[thread * 4 + index], from, 4);
  }
  /// Register element: 16-bit types have two of them in a register, 8-bit types four.
  void put_a(uint32_t thread, uint32_t element, WgmmaType type, float value) {
    const uint32_t code = encode(type, value);
    std::memcpy(reinterpret_cast<std::byte*>(&a_[thread * 4]) + element * size_of(type), &code, size_of(type));
  }
  float& d(uint32_t thread, uint32_t index) { return d_[thread * 128 + index]; }
  /// The bits of accumulator value `index`: a register, or half of one.
  uint32_t bits(WgmmaResult result, uint32_t thread, uint32_t index) {
    if (result != WgmmaResult::f16) return std::bit_cast<uint32_t>(d(thread, index));
    return std::bit_cast<uint32_t>(d(thread, index / 2)) >> 16 * (index % 2) & 0xffff;
  }
  void set_bits(WgmmaResult result, uint32_t thread, uint32_t index, uint32_t value) {
    if (result != WgmmaResult::f16) {
      d(thread, index) = std::bit_cast<float>(value);
      return;
    }
    std::memcpy(reinterpret_cast<std::byte*>(&d(thread, index / 2)) + 2 * (index % 2), &value, 2);
  }
  float value(WgmmaResult result, uint32_t thread, uint32_t index) {
    const uint32_t word = bits(result, thread, index);
    if (result == WgmmaResult::f16) return to_float(f16{static_cast<uint16_t>(word)});
    return result == WgmmaResult::s32 ? static_cast<float>(static_cast<int32_t>(word)) : std::bit_cast<float>(word);
  }

  void multiply(const native::WgmmaForm& form, bool a_in_registers, const SmemDescriptorFields& a,
                const SmemDescriptorFields& b, bool accumulate, Numerics numerics = Numerics::fast) {
    Result<WgmmaOperation> op =
        decode_wgmma(form, a_in_registers, encode_wgmma_descriptor(a), encode_wgmma_descriptor(b), accumulate);
    ASSERT_TRUE(op) << op.error();
    ASSERT_LE(wgmma_range(*op, true).end, window_.size());
    execute_wgmma(*op, memory_, numerics);
  }
  /// D as rows, from the registers.
  std::vector<float> rows(uint32_t n, WgmmaResult result = WgmmaResult::f32) {
    std::vector<float> values(wgmma_rows * n);
    for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
      for (uint32_t i = 0; i < n / 2; ++i) {
        const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
        values[cell.row * n + cell.column] = value(result, thread, i);
      }
    return values;
  }

 private:
  std::vector<std::byte> window_;
  std::vector<float> d_;
  std::vector<uint32_t> a_;
  WgmmaMemory memory_;
};

/// A tile of its own for one operand, K-major without swizzle.
SmemDescriptorFields plain(uint32_t start) { return {start, 128, 256, 0, Swizzle::none}; }

TEST(Wgmma, FragmentsAsCute) {
  int accumulators = 0, operands = 0;
  for (const json& row : test::read_json_lines("wgmma_fragments.jsonl")) {
    SCOPED_TRACE(row["what"].get<std::string>() + " " + row["type"].get<std::string>());
    test::Fnv fnv;
    if (row["what"] == "C") {
      ++accumulators;  // f16 and s32 rows have the same map
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        for (uint32_t i = 0; i < row["n"].get<uint32_t>() / 2; ++i) {
          const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
          fnv.word(cell.row);
          fnv.word(cell.column);
        }
      for (const json& s : row.value("samples", json::array()))
        ASSERT_EQ(wgmma_accumulator_cell(s[0], s[1]), (WgmmaCell{s[2], s[3]})) << s.dump();
    } else {
      ++operands;
      const uint32_t per_register = row["values_per_register"], bytes = 4 / per_register;
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        for (uint32_t i = 0; i < row["values_per_thread"]; ++i) {
          const WgmmaCell cell = wgmma_operand_cell(thread, i / per_register);
          fnv.word(cell.row);
          fnv.word(cell.column / bytes + i % per_register);
        }
    }
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
  }
  EXPECT_EQ(accumulators, 39);
  EXPECT_EQ(operands, 3);
}

/// D(row, column) = row + 64 * column, computed by the instruction, lies in the registers where the H200 had it.
TEST(Wgmma, AccumulatorsAsOnH200) {
  const std::vector<uint8_t> tables = test::read_bytes("h200_wgmma_maps.bin");
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_wgmma_maps.jsonl")) {
    if (row["what"] != "accumulator") continue;
    ++rows;
    const uint32_t n = row["n"];
    const WgmmaResult result = results.at(row["acc"]);
    const WgmmaType type = result == WgmmaResult::s32 ? WgmmaType::u8 : WgmmaType::f16;
    Machine machine;
    for (uint32_t m = 0; m < 64; ++m) {
      machine.put(plain(1024), Major::k, type, m, 3, static_cast<float>(m));
      machine.put(plain(1024), Major::k, type, m, 11, 64);
    }
    for (uint32_t c = 0; c < n; ++c) {
      machine.put(plain(65536), Major::k, type, c, 3, 1);
      machine.put(plain(65536), Major::k, type, c, 11, static_cast<float>(c));
    }
    machine.multiply({n, type, type, Major::k, Major::k, result}, false, plain(1024), plain(65536), false);
    for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
      for (uint32_t i = 0; i < n / 2; ++i) {
        const size_t at = row["offset"].get<size_t>() + 2 * (thread * n / 2 + i);
        ASSERT_EQ(machine.value(result, thread, i), static_cast<float>(tables.at(at) | tables.at(at + 1) << 8))
            << "N " << n << " thread " << thread << " register " << i;
      }
  }
  EXPECT_EQ(rows, 12);
}

/// With the identity for B, D is A: which register element of which thread arrives where. Elements are told apart by
/// the bits of their number, one bit per product.
TEST(Wgmma, OperandRegistersAsOnH200) {
  const std::vector<uint8_t> tables = test::read_bytes("h200_wgmma_maps.bin");
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_wgmma_maps.jsonl")) {
    if (row["what"] != "a_fragment") continue;
    ++rows;
    const WgmmaType type = types.at(row["type"]);
    const uint32_t k = row["k"], elements = k / 2;
    Machine machine;
    for (uint32_t i = 0; i < k; ++i) machine.put(plain(4096), Major::k, type, i, i, 1);
    std::vector<uint32_t> seen(warpgroup_size * elements);
    for (uint32_t bit = 0; bit < 11; ++bit) {
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        for (uint32_t i = 0; i < elements; ++i)
          machine.put_a(thread, i, type, (thread * elements + i) >> bit & 1 ? 1.0f : 0.0f);
      machine.multiply({k, type, type, Major::k, Major::k, widest_result(type)}, true, {}, plain(4096), false);
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        for (uint32_t i = 0; i < elements; ++i)
          if (machine.value(widest_result(type), thread, i) == 1) seen[thread * elements + i] |= 1u << bit;
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      const size_t at = row["offset"].get<size_t>() + 2 * i;
      ASSERT_EQ(seen[i], static_cast<uint32_t>(tables.at(at) | tables.at(at + 1) << 8))
          << row["type"] << " entry " << i;
    }
  }
  EXPECT_EQ(rows, 3);
}

/// Random integers all over shared memory: the product is that of the bytes the H200 read for the same descriptor.
TEST(Wgmma, DescriptorsReadAsOnH200) {
  const std::vector<uint8_t> tables = test::read_bytes("h200_wgmma_maps.bin");
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_wgmma_maps.jsonl")) {
    if (row["what"] != "descriptor") continue;
    ++rows;
    SCOPED_TRACE(row.dump());
    const WgmmaType type = types.at(row["type"]);
    const uint32_t base = row["smem_base"], k = row["k"];
    const bool operand_b = row["operand"] == "B";
    const Major major = row["major"] == "K" ? Major::k : Major::mn;
    const SmemDescriptorFields fields{base + row["start"].get<uint32_t>(), row["lbo"], row["sbo"], row["base_offset"],
                                      swizzles.at(row["swizzle"])};
    const SmemDescriptorFields other = plain(192 * 1024);
    Machine machine;
    std::mt19937 random(static_cast<uint32_t>(rows));
    auto integer = [&] { return static_cast<float>(static_cast<int>(random() % 7) - (is_integer(type) ? 0 : 3)); };
    for (uint32_t address = 0; address < 128 * 1024; address += size_of(type)) machine.put(address, type, integer());
    std::vector<float> second(64 * k);
    for (uint32_t r = 0; r < 64; ++r)
      for (uint32_t i = 0; i < k; ++i) {
        second[r * k + i] = integer();
        machine.put(other, Major::k, type, r, i, second[r * k + i]);
      }
    native::WgmmaForm form{
        64, type, type, operand_b ? Major::k : major, operand_b ? major : Major::k, widest_result(type)};
    machine.multiply(form, false, operand_b ? other : fields, operand_b ? fields : other, false,
                     rows % 2 == 0 ? Numerics::fast : Numerics::exact);
    const std::vector<float> got = machine.rows(64, form.d_type);
    for (uint32_t r = 0; r < 64; ++r)
      for (uint32_t c = 0; c < 64; ++c) {
        float sum = 0;
        for (uint32_t i = 0; i < k; ++i) {
          const size_t at = row["offset"].get<size_t>() + 2 * (r * k + i);
          sum += machine.at(base + (tables.at(at) | tables.at(at + 1) << 8), type) * second[c * k + i];
        }
        ASSERT_EQ(operand_b ? got[c * 64 + r] : got[r * 64 + c], sum) << r << "," << c;
      }
  }
  EXPECT_EQ(rows, 154);
}

/// Finite products that do not overflow, within what the tensor core's truncation may lose: it keeps 25 fractional bits
/// below the largest term of an instruction, 13 for 8-bit types (§4.17); the loom rounds each sum.
TEST(Wgmma, ProductsCloseToAnH200) {
  const std::vector<uint8_t> data = test::read_bytes("h200_wgmma_f32.bin");
  int tiles = 0;
  for (const json& row : test::read_json_lines("h200_wgmma_f32.jsonl")) {
    const WgmmaType a_type = types.at(row["a"]), b_type = types.at(row["b"]);
    const uint32_t k = row["k"], chain = row["chain"], extent = k * chain;
    const size_t a_bytes = row["a_bytes"], b_bytes = row["b_bytes"], c_bytes = row["c_bytes"];
    const int fraction = size_of(a_type) == 1 ? 13 : 25;
    for (size_t t = 0; t < row["tiles"]; ++t) {
      const std::string profile = row["profiles"][t];
      if (profile == "tiny" || profile == "specials" || profile == "overflow") continue;
      ++tiles;
      SCOPED_TRACE(row["name"].get<std::string>() + " x" + std::to_string(chain) + " " + profile);
      const uint8_t* a = data.data() + row["offset"].get<size_t>() + t * (a_bytes + b_bytes + 2 * c_bytes);
      const uint8_t *b = a + a_bytes, *c = b + b_bytes, *d = c + c_bytes;
      const bool scale_d = row["scale_d"] == 1;
      Machine machine;
      auto f32 = [](const uint8_t* at, uint32_t index) {
        float value;
        std::memcpy(&value, at + 4 * index, sizeof(value));
        return value;
      };
      for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
        for (uint32_t i = 0; i < 4; ++i) {
          const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
          machine.d(thread, i) = f32(c, cell.row * 8 + cell.column);
        }
      for (uint32_t step = 0; step < chain; ++step) {
        for (uint32_t i = 0; i < k; ++i) {
          for (uint32_t r = 0; r < 64; ++r)
            machine.put(plain(1024), Major::k, a_type, r, i,
                        decode(a_type, a + (r * extent + step * k + i) * size_of(a_type)));
          for (uint32_t r = 0; r < 8; ++r)
            machine.put(plain(8192), Major::k, b_type, r, i,
                        decode(b_type, b + (r * extent + step * k + i) * size_of(b_type)));
        }
        machine.multiply({8, a_type, b_type}, false, plain(1024), plain(8192), scale_d || step > 0);
      }
      const std::vector<float> got = machine.rows(8);
      for (uint32_t r = 0; r < 64; ++r)
        for (uint32_t col = 0; col < 8; ++col) {
          double sum = scale_d ? f32(c, r * 8 + col) : 0, largest = std::fabs(sum);
          for (uint32_t i = 0; i < extent; ++i) {
            const double term = static_cast<double>(decode(a_type, a + (r * extent + i) * size_of(a_type))) *
                                decode(b_type, b + (col * extent + i) * size_of(b_type));
            sum += term;
            largest = std::max({largest, std::fabs(term), std::fabs(sum)});
          }
          const double tolerance = largest * chain * (k + 2) * std::ldexp(1.0, -fraction);
          ASSERT_NEAR(got[r * 8 + col], f32(d, r * 8 + col), tolerance) << r << "," << col;
        }
    }
  }
  EXPECT_EQ(tiles, 56);
}

/// Every recorded product through the whole instruction, bit for bit; A from shared memory and from registers in turn.
TEST(Wgmma, ExactProductsAsOnH200) {
  size_t products = 0;
  for (const char* file : {"h200_wgmma_f32", "h200_wgmma_f32_more", "h200_wgmma_f16", "h200_wgmma_s32"}) {
    const std::vector<uint8_t> data = test::read_bytes(std::string(file) + ".bin");
    for (const json& row : test::read_json_lines(std::string(file) + ".jsonl")) {
      native::WgmmaForm form{8, types.at(row["a"]), types.at(row["b"])};
      form.d_type = results.at(row["d"]);
      if (row["negate_a"] == 1) form.negate = WgmmaNegate::a;
      if (row["satfinite"] == 1) form.overflow = WgmmaOverflow::clamp;
      const uint32_t k = row["k"], chain = row["chain"], extent = k * chain, size = size_of(form.a_type);
      const size_t a_bytes = row["a_bytes"], b_bytes = row["b_bytes"], c_bytes = row["c_bytes"], d_size = c_bytes / 512;
      for (size_t t = 0; t < row["tiles"]; ++t) {
        const uint8_t* a = data.data() + row["offset"].get<size_t>() + t * (a_bytes + b_bytes + 2 * c_bytes);
        const uint8_t *b = a + a_bytes, *c = b + b_bytes, *want = c + c_bytes;
        auto word = [&](const uint8_t* from, uint32_t index) {
          uint32_t value = 0;
          std::memcpy(&value, from + index * d_size, d_size);
          return value;
        };
        Machine machine;
        for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
          for (uint32_t i = 0; i < 4; ++i) {
            const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
            machine.set_bits(form.d_type, thread, i, word(c, cell.row * 8 + cell.column));
          }
        for (uint32_t step = 0; step < chain; ++step) {
          const bool a_in_registers = (t + step) % 2 == 1;
          for (uint32_t i = 0; i < k; ++i) {
            for (uint32_t r = 0; r < 64; ++r)
              machine.put_bytes(operand_address(plain(1024), Major::k, size, r, i),
                                a + (r * extent + step * k + i) * size, size);
            for (uint32_t r = 0; r < 8; ++r)
              machine.put_bytes(operand_address(plain(8192), Major::k, size, r, i),
                                b + (r * extent + step * k + i) * size, size);
          }
          for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
            for (uint32_t i = 0; i < 4; ++i) {
              const WgmmaCell cell = wgmma_operand_cell(thread, i);
              machine.put_a_bytes(thread, i, a + (cell.row * extent + step * k) * size + cell.column);
            }
          machine.multiply(form, a_in_registers, plain(1024), plain(8192), row["scale_d"] == 1 || step > 0,
                           Numerics::exact);
        }
        for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
          for (uint32_t i = 0; i < 4; ++i, ++products) {
            const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
            ASSERT_EQ(machine.bits(form.d_type, thread, i), word(want, cell.row * 8 + cell.column))
                << row["name"] << " x" << chain << " " << row["profiles"][t] << " " << cell.row << "," << cell.column;
          }
      }
    }
  }
  EXPECT_EQ(products, 138240u);
}

/// Every legal N with every pair of types, majors and swizzles taken in turn, A from both places: exact in integers.
TEST(Wgmma, IntegersAreExact) {
  struct Types {
    WgmmaType a, b;
    WgmmaResult d;
  };
  using T = WgmmaType;
  using R = WgmmaResult;
  const Types combinations[] = {
      {T::bf16, T::bf16, R::f32}, {T::f16, T::f16, R::f32},   {T::e4m3, T::e4m3, R::f32}, {T::e4m3, T::e5m2, R::f32},
      {T::e5m2, T::e4m3, R::f32}, {T::e5m2, T::e5m2, R::f32}, {T::tf32, T::tf32, R::f32}, {T::f16, T::f16, R::f16},
      {T::e4m3, T::e4m3, R::f16}, {T::e4m3, T::e5m2, R::f16}, {T::e5m2, T::e4m3, R::f16}, {T::e5m2, T::e5m2, R::f16},
      {T::s8, T::s8, R::s32},     {T::s8, T::u8, R::s32},     {T::u8, T::s8, R::s32},     {T::u8, T::u8, R::s32}};
  auto tile = [](uint32_t start, Major major, Swizzle swizzle) -> SmemDescriptorFields {
    const uint32_t span = swizzle_span(swizzle);
    if (swizzle == Swizzle::none) return {start, 128, 256, 0, swizzle};
    if (major == Major::k) return {start, 16, 8 * span, 0, swizzle};
    return {start, 16 * span, 8 * span, 0, swizzle};
  };
  uint32_t turn = 0;
  for (uint32_t n = 8; n <= 256; n += 8)
    for (const auto& [a_type, b_type, d_type] : combinations)
      for (const bool a_in_registers : {false, true}) {
        if (!wgmma_n_exists(a_type, n)) continue;
        ++turn;
        const bool halves = size_of(a_type) == 2;
        const Major a_major = halves && !a_in_registers && turn % 2 == 0 ? Major::mn : Major::k;
        const Major b_major = halves && turn / 2 % 2 == 0 ? Major::mn : Major::k;
        const SmemDescriptorFields a = tile(1024, a_major, swizzles.at(std::array{0, 32, 64, 128}[turn % 4]));
        const SmemDescriptorFields b = tile(65536, b_major, swizzles.at(std::array{0, 32, 64, 128}[turn / 4 % 4]));
        SCOPED_TRACE(testing::Message() << "N " << n << " types " << name_of(a_type) << " " << name_of(b_type)
                                        << " turn " << turn);
        const uint32_t k = 32 / size_of(a_type);
        std::mt19937 random(turn);
        auto integer = [&](WgmmaType type) {
          return static_cast<float>(static_cast<int>(random() % 7) - (type == WgmmaType::u8 ? 0 : 3));
        };
        const auto negate = static_cast<WgmmaNegate>(is_integer(a_type) ? 0 : turn / 3 % 4);
        const float sign = negate == WgmmaNegate::a || negate == WgmmaNegate::b ? -2 : 2;
        Machine machine;
        std::vector<float> av(64 * k), bv(n * k), want(64 * n);
        for (float& value : av) value = integer(a_type);
        for (float& value : bv) value = integer(b_type);
        for (uint32_t i = 0; i < k; ++i) {
          for (uint32_t r = 0; r < 64; ++r) machine.put(a, a_major, a_type, r, i, av[r * k + i]);
          for (uint32_t r = 0; r < n; ++r) machine.put(b, b_major, b_type, r, i, bv[r * k + i]);
        }
        for (uint32_t thread = 0; a_in_registers && thread < warpgroup_size; ++thread)
          for (uint32_t i = 0; i < k / 2; ++i) {
            const uint32_t per_register = 4 / size_of(a_type);
            const WgmmaCell cell = wgmma_operand_cell(thread, i / per_register);
            machine.put_a(thread, i, a_type, av[cell.row * k + cell.column / size_of(a_type) + i % per_register]);
          }
        for (uint32_t r = 0; r < 64; ++r)
          for (uint32_t c = 0; c < n; ++c)
            for (uint32_t i = 0; i < k; ++i) want[r * n + c] += sign * av[r * k + i] * bv[c * k + i];
        const native::WgmmaForm form{n, a_type, b_type, a_major, b_major, d_type, negate};
        const Numerics numerics = turn % 5 < 2 ? Numerics::exact : Numerics::fast;
        machine.multiply(form, a_in_registers, a, b, false, numerics);
        machine.multiply(form, a_in_registers, a, b, true, numerics);
        ASSERT_EQ(machine.rows(n, d_type), want);
      }
  EXPECT_EQ(turn, 2u * (12 * 32 + 4 * 18));
}

/// CuTe's sm_90 descriptors decode, and encode again to the same bits.
TEST(Wgmma, DescriptorsOfCuteDecode) {
  int descriptors = 0;
  for (const json& row : test::read_json_lines("smem_descriptors.jsonl")) {
    if (row["arch"] != "sm_90") continue;
    for (const json& line : row["desc"])
      for (const json& golden : line) {
        ++descriptors;
        const SmemDescriptor descriptor{number(golden)};
        const Result<SmemDescriptorFields> fields = decode_wgmma_descriptor(descriptor);
        ASSERT_TRUE(fields) << fields.error();
        EXPECT_EQ(encode_wgmma_descriptor(*fields).bits, descriptor.bits);
        EXPECT_EQ(swizzle_span(fields->swizzle),
                  row["swizzle"] == "none" ? 0u : static_cast<uint32_t>(std::stoi(row["swizzle"].get<std::string>())));
      }
  }
  EXPECT_EQ(descriptors, 426);
}

TEST(Wgmma, DescriptorsWithWrongBitsAreRejected) {
  const SmemDescriptor good = encode_wgmma_descriptor({1024, 16, 1024, 0, Swizzle::b128});
  ASSERT_TRUE(decode_wgmma_descriptor(good));
  for (const int bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 56, 60, 61})
    EXPECT_FALSE(decode_wgmma_descriptor({good.bits ^ uint64_t{1} << bit})) << "bit " << bit;
  EXPECT_FALSE(decode_wgmma_descriptor(encode_wgmma_descriptor({1024, 16, 1024, 0, Swizzle::b128_atom32})));
  EXPECT_FALSE(decode_wgmma_descriptor(encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128})));
}

TEST(Wgmma, FormsThatDoNotExistAreRejected) {
  const SmemDescriptor d = encode_wgmma_descriptor(plain(1024));
  auto legal = [&](const native::WgmmaForm& form, bool a_in_registers = false) {
    return static_cast<bool>(decode_wgmma(form, a_in_registers, d, d, false));
  };
  EXPECT_TRUE(legal({256, WgmmaType::bf16, WgmmaType::bf16, Major::mn, Major::mn}));
  EXPECT_TRUE(legal({8, WgmmaType::e4m3, WgmmaType::e5m2}));
  EXPECT_FALSE(legal({0, WgmmaType::bf16, WgmmaType::bf16}));
  EXPECT_FALSE(legal({12, WgmmaType::bf16, WgmmaType::bf16}));
  EXPECT_FALSE(legal({264, WgmmaType::bf16, WgmmaType::bf16}));
  EXPECT_FALSE(legal({64, WgmmaType::bf16, WgmmaType::f16}));
  EXPECT_FALSE(legal({64, WgmmaType::bf16, WgmmaType::e4m3}));
  EXPECT_FALSE(legal({64, WgmmaType::s8, WgmmaType::bf16}));
  EXPECT_FALSE(legal({64, WgmmaType::tf32, WgmmaType::bf16}));
  const auto with = [](native::WgmmaForm form, WgmmaResult result, WgmmaNegate negate = WgmmaNegate::none,
                       WgmmaOverflow overflow = WgmmaOverflow::wrap) {
    form.d_type = result;
    form.negate = negate;
    form.overflow = overflow;
    return form;
  };
  using T = WgmmaType;
  using R = WgmmaResult;
  EXPECT_TRUE(legal(with({64, T::s8, T::u8}, R::s32)));
  EXPECT_TRUE(legal(with({48, T::u8, T::u8}, R::s32, WgmmaNegate::none, WgmmaOverflow::clamp)));
  for (const uint32_t n : {8u, 16u, 24u, 32u, 48u, 64u, 80u, 224u, 240u, 256u})
    EXPECT_TRUE(legal(with({n, T::s8, T::s8}, R::s32))) << n;
  for (const uint32_t n : {40u, 56u, 72u, 248u, 12u}) EXPECT_FALSE(legal(with({n, T::s8, T::s8}, R::s32))) << n;
  EXPECT_FALSE(legal(with({64, T::s8, T::u8}, R::f32)));
  EXPECT_FALSE(legal(with({64, T::s8, T::u8}, R::s32, WgmmaNegate::a)));
  EXPECT_TRUE(legal(with({64, T::f16, T::f16}, R::f16, WgmmaNegate::both)));
  EXPECT_TRUE(legal(with({64, T::e4m3, T::e5m2}, R::f16)));
  EXPECT_FALSE(legal(with({64, T::bf16, T::bf16}, R::f16)));
  EXPECT_FALSE(legal(with({64, T::tf32, T::tf32}, R::f16)));
  EXPECT_FALSE(legal(with({64, T::f16, T::f16}, R::s32)));
  EXPECT_FALSE(legal(with({64, T::f16, T::f16}, R::f32, WgmmaNegate::none, WgmmaOverflow::clamp)));
  EXPECT_FALSE(legal({64, T::tf32, T::tf32, Major::k, Major::mn}));
  EXPECT_FALSE(legal({64, WgmmaType::e4m3, WgmmaType::e4m3, Major::k, Major::mn}));
  EXPECT_FALSE(legal({64, WgmmaType::e4m3, WgmmaType::e4m3, Major::mn, Major::k}));
  EXPECT_FALSE(legal({64, WgmmaType::bf16, WgmmaType::bf16, Major::mn, Major::k}, true));
  EXPECT_TRUE(legal({64, WgmmaType::bf16, WgmmaType::bf16, Major::k, Major::mn}, true));
}

}  // namespace
}  // namespace warploom::loom
