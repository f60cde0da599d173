// Conversions of the narrow types: every f16 and bf16 as CUDA's host code converts it, every code as it widens, and
// what an H200 made of f32 inputs in each form of cvt. The arch functions are checked in pairs, as kernels use them.
#include "warploom/types/convert_narrow.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "support/golden.hpp"
#include "warploom/arch/convert.hpp"

namespace warploom {
namespace {

using test::number;

constexpr Overflow saturate = Overflow::saturate, special = Overflow::special;

TEST(ConvertNarrow, EveryCodeToFloat) {
  std::map<std::string, int> rows;
  for (const auto& row : test::read_csv("codes_to_f32.csv")) {
    const std::string& format = row[0];
    ++rows[format];
    const auto code = static_cast<uint8_t>(number(row[1]));
    float value = 0;
    uint32_t wide = 0;  // f16 or bf16, by the function that kernels call
    if (format == "e4m3") value = to_float(e4m3{code}), wide = arch::unpack<e4m3>(code);
    if (format == "e5m2") value = to_float(e5m2{code}), wide = arch::unpack<e5m2>(code);
    if (format == "e2m3") value = to_float(e2m3{code}), wide = arch::unpack<e2m3>(code);
    if (format == "e3m2") value = to_float(e3m2{code}), wide = arch::unpack<e3m2>(code);
    if (format == "e2m1") value = to_float(e2m1{code}), wide = arch::unpack<e2m1>(code);
    if (format == "ue8m0") value = to_float(ue8m0{code}), wide = arch::unpack_ue8m0(code);
    if (format == "ue4m3") value = to_float(ue4m3{code});
    if (row[4] == "nan")
      EXPECT_TRUE(std::isnan(value)) << format << " " << row[1];
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(value), number(row[4])) << format << " " << row[1];
    if (row[2] != "-") {
      EXPECT_EQ(wide & 0xffff, number(row[3])) << format << " " << row[1];
    }
  }
  const std::map<std::string, int> expected{{"e4m3", 256}, {"e5m2", 256},  {"e2m3", 64},  {"e3m2", 64},
                                            {"e2m1", 16},  {"ue8m0", 256}, {"ue4m3", 128}};
  EXPECT_EQ(rows, expected);
}

/// The seven tables that both files begin with.
template <class Widen>
void expect_tables(const std::vector<uint8_t>& tables, Widen&& widen) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = widen(static_cast<uint16_t>(code));
    const auto entry = [&](size_t table) { return tables[table * 65536 + code]; };
    ASSERT_EQ(convert_to<e4m3>(value).bits, entry(0)) << code;
    ASSERT_EQ(convert_to<e5m2>(value).bits, entry(1)) << code;
    ASSERT_EQ(convert_to<e4m3>(value, special).bits, entry(2)) << code;
    ASSERT_EQ(convert_to<e5m2>(value, special).bits, entry(3)) << code;
    ASSERT_EQ(convert_to<e2m3>(value).bits, entry(4)) << code;
    ASSERT_EQ(convert_to<e3m2>(value).bits, entry(5)) << code;
    ASSERT_EQ(convert_to<e2m1>(value).bits, entry(6)) << code;
    ASSERT_EQ(to_e4m3(value).bits, entry(0)) << code;
    ASSERT_EQ(to_e5m2(value).bits, entry(1)) << code;
    // The pair whose other element is the constant 1: in either place.
    ASSERT_EQ((arch::pack<e2m3>(value, 1.0f)), entry(4) | 0x0800) << code;
    ASSERT_EQ((arch::pack<e3m2>(1.0f, value)), entry(5) << 8 | 0x0c) << code;
    ASSERT_EQ((arch::pack<e2m1>(1.0f, value)), entry(6) << 4 | 0x2) << code;
  }
}

TEST(ConvertNarrow, EveryHalf) {
  const std::vector<uint8_t> tables = test::read_bytes("cvt_f16.bin");
  ASSERT_EQ(tables.size(), 7u * 65536);
  expect_tables(tables, [](uint16_t code) { return to_float(f16{code}); });
  for (uint32_t code = 0; code < 65536; ++code) {
    ASSERT_EQ((arch::pack_halves<e4m3>(code | 0x3c000000)), tables[code] | 0x3800) << code;
    ASSERT_EQ((arch::pack_halves<e5m2>(code << 16 | 0x3c00)), tables[65536 + code] << 8 | 0x3c) << code;
  }
}

TEST(ConvertNarrow, EveryBrain) {
  const std::vector<uint8_t> tables = test::read_bytes("cvt_bf16.bin");
  ASSERT_EQ(tables.size(), 11u * 65536);
  expect_tables(tables, [](uint16_t code) { return to_float(bf16{code}); });
  constexpr auto down = ScaleRounding::toward_zero, up = ScaleRounding::up;
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = to_float(bf16{static_cast<uint16_t>(code)});
    const auto entry = [&](size_t table) { return tables[table * 65536 + code]; };
    ASSERT_EQ(to_ue8m0(value, down, saturate).bits, entry(7)) << code;
    ASSERT_EQ(to_ue8m0(value, up, saturate).bits, entry(8)) << code;
    ASSERT_EQ(to_ue8m0(value, down, special).bits, entry(9)) << code;
    ASSERT_EQ(to_ue8m0(value, up, special).bits, entry(10)) << code;
    ASSERT_EQ((arch::pack_ue8m0_bf16<up, saturate>(code | 0x3f800000)), entry(8) | 0x7f00) << code;
    ASSERT_EQ((arch::pack_ue8m0<down, special>(1.0f, value)), entry(9) << 8 | 0x7f) << code;
  }
}

TEST(ConvertNarrow, ScalesOfFloats) {  // what bf16 inputs do not reach
  EXPECT_EQ((arch::pack_ue8m0<ScaleRounding::toward_zero, saturate>(1.0000001f, 2.0f)), 0x807f);
  EXPECT_EQ((arch::pack_ue8m0<ScaleRounding::up, saturate>(1.0000001f, 2.0f)), 0x8080);
  const float tiny = std::bit_cast<float>(0x00400001u), half_of_tiny = std::bit_cast<float>(0x00400000u);
  EXPECT_EQ((arch::pack_ue8m0<ScaleRounding::up, saturate>(tiny, half_of_tiny)), 0x0001);
  EXPECT_EQ((arch::pack_ue8m0<ScaleRounding::toward_zero, saturate>(tiny, std::bit_cast<float>(0x007fffffu))), 0);
  EXPECT_EQ(convert_to<ue4m3>(-1.5f).bits, 0x3c);
  EXPECT_EQ(convert_to<ue4m3>(1e9f).bits, 0x7e);
}

/// Every column that an H200 recorded.
TEST(ConvertNarrow, FloatAsOnH200) {
  const std::vector<uint8_t> bytes = test::read_bytes("h200_cvt.bin");
  const auto word = [&](size_t at, size_t size) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  constexpr auto even = Rounding::nearest_even, cut = Rounding::toward_zero, away = Rounding::nearest_away;
  using Convert = uint32_t (*)(float);
  // Each in the upper half of a pair, except where the result is a word of its own.
  static const std::map<std::string, Convert> columns{
      {"e4m3_satfinite", [](float x) -> uint32_t { return arch::pack<e4m3>(0, x) >> 8; }},
      {"e5m2_satfinite", [](float x) -> uint32_t { return arch::pack<e5m2>(0, x) >> 8; }},
      {"e4m3_satfinite_relu", [](float x) -> uint32_t { return arch::pack<e4m3, true>(0, x) >> 8; }},
      {"e5m2_satfinite_relu", [](float x) -> uint32_t { return arch::pack<e5m2, true>(0, x) >> 8; }},
      {"bf16_rn", [](float x) { return arch::pack_bf16<even, special>(0, x) >> 16; }},
      {"f16_rn", [](float x) { return arch::pack_f16<even, special>(0, x) >> 16; }},
      {"bf16_rz", [](float x) { return arch::pack_bf16<cut, special>(0, x) >> 16; }},
      {"f16_rz", [](float x) { return arch::pack_f16<cut, special>(0, x) >> 16; }},
      {"f16_rn_relu", [](float x) { return arch::pack_f16<even, special, true>(0, x) >> 16; }},
      {"bf16_rn_relu", [](float x) { return arch::pack_bf16<even, special, true>(0, x) >> 16; }},
      {"f16_rn_satfinite", [](float x) { return arch::pack_f16<even, saturate>(0, x) >> 16; }},
      {"bf16_rn_satfinite", [](float x) { return arch::pack_bf16<even, saturate>(0, x) >> 16; }},
      {"tf32_rna", [](float x) { return arch::to_tf32<away>(x); }},
      {"tf32_rn", [](float x) { return arch::to_tf32<even>(x); }},
      {"tf32_rz", [](float x) { return arch::to_tf32<cut>(x); }}};
  size_t found = 0;
  for (const test::json& row : test::read_json_lines("h200_cvt.jsonl")) {
    const std::string name = row["column"];
    if (name == "input_f32") continue;
    ++found;
    const Convert convert = columns.at(name);
    const std::string type = row["type"];
    const size_t size = type == "u8" ? 1 : type == "u16" ? 2 : 4, offset = row["offset"];
    for (size_t i = 0; i < row["count"]; ++i) {
      const uint32_t input = word(4 * i, 4);
      ASSERT_EQ(convert(std::bit_cast<float>(input)), word(offset + i * size, size)) << name << " of " << input;
    }
  }
  EXPECT_EQ(found, columns.size());
}

}  // namespace
}  // namespace warploom
