#include "warploom/types/convert.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/golden.hpp"

namespace warploom {
namespace {

using test::number;

TEST(Convert, SmallCodesToFloat) {
  int rows = 0;
  for (const auto& row : test::read_csv("codes_to_f32.csv")) {
    const std::string& format = row[0];
    if (format != "e4m3" && format != "e5m2") continue;
    ++rows;
    const auto code = static_cast<uint8_t>(number(row[1]));
    const float value = format == "e4m3" ? to_float(e4m3{code}) : to_float(e5m2{code});
    const float wide = to_float(f16{static_cast<uint16_t>(number(row[3]))});
    if (row[4] == "nan") {
      EXPECT_TRUE(std::isnan(value) && std::isnan(wide)) << format << " " << row[1];
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(value), number(row[4])) << format << " " << row[1];
    EXPECT_EQ(std::bit_cast<uint32_t>(wide), number(row[4])) << "f16 " << row[3];
  }
  EXPECT_EQ(rows, 512);
}

// Every f16 converted by CUDA's host code. to_float(f16) is exact, so the f32 conversion must agree.
TEST(Convert, EveryHalfToSmall) {
  const std::vector<uint8_t> tables = test::read_bytes("cvt_f16.bin");
  ASSERT_EQ(tables.size(), 7u * 65536);
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = to_float(f16{static_cast<uint16_t>(code)});
    ASSERT_EQ(to_e4m3(value).bits, tables[code]) << "e4m3 of f16 " << code;
    ASSERT_EQ(to_e5m2(value).bits, tables[65536 + code]) << "e5m2 of f16 " << code;
  }
}

TEST(Convert, EveryHalfAndBfloatSurvives) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const f16 half{static_cast<uint16_t>(code)};
    const bf16 brain{static_cast<uint16_t>(code)};
    if (!std::isnan(to_float(half))) {
      ASSERT_EQ(to_f16(to_float(half)), half) << code;
    }
    if (!std::isnan(to_float(brain))) {
      ASSERT_EQ(to_bf16(to_float(brain)), brain) << code;
    }
  }
}

// 65536 f32 inputs and what an H200's cvt made of them.
TEST(Convert, FloatAsOnH200) {
  const std::vector<uint8_t> bytes = test::read_bytes("h200_cvt.bin");
  const auto column = [&](const char* name) -> const uint8_t* {
    for (const test::json& row : test::read_json_lines("h200_cvt.jsonl"))
      if (row["column"] == name) {
        EXPECT_EQ(row["count"], 65536) << name;
        return bytes.data() + row["offset"].get<size_t>();
      }
    ADD_FAILURE() << "no column " << name;
    return bytes.data();
  };
  const auto word = [](const uint8_t* at, size_t size) {
    uint32_t value = 0;
    std::memcpy(&value, at, size);
    return value;
  };
  const uint8_t *inputs = column("input_f32"), *e4 = column("e4m3_satfinite"), *e5 = column("e5m2_satfinite"),
                *brain = column("bf16_rn"), *half = column("f16_rn");
  for (size_t i = 0; i < 65536; ++i) {
    const uint32_t bits = word(inputs + 4 * i, 4);
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(to_e4m3(value).bits, e4[i]) << "e4m3 of " << bits;
    ASSERT_EQ(to_e5m2(value).bits, e5[i]) << "e5m2 of " << bits;
    ASSERT_EQ(to_bf16(value).bits, word(brain + 2 * i, 2)) << "bf16 of " << bits;
    ASSERT_EQ(to_f16(value).bits, word(half + 2 * i, 2)) << "f16 of " << bits;
  }
}

}  // namespace
}  // namespace warploom
