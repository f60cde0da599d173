// tcgen05.cp and tcgen05.shift: CuTe's maps, the formulas of hardware.md §4.10-4.13 written out, and what is refused.
#include "loom/units/tensor_copy.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/golden.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t window_bytes = 64 * 1024;

struct Machine {
  std::vector<std::byte> window = std::vector<std::byte>(window_bytes);
  std::vector<uint32_t> tmem = std::vector<uint32_t>(128 * 512);
  explicit Machine(uint32_t seed) {
    std::mt19937 random(seed);
    for (std::byte& byte : window) byte = std::byte(random() & 255);
    for (uint32_t& word : tmem) word = static_cast<uint32_t>(random());
  }
  MmaMemory memory() { return {window.data(), window_bytes, tmem.data()}; }
};

const std::map<std::string, TmemCopy> shapes{{"128x256b", TmemCopy::m128x256b},
                                             {"128x128b", TmemCopy::m128x128b},
                                             {"32x128b.warpx4", TmemCopy::m32x128b},
                                             {"64x128b.warpx2::02_13", TmemCopy::m64x128b_02_13},
                                             {"64x128b.warpx2::01_23", TmemCopy::m64x128b_01_23},
                                             {"4x256b", TmemCopy::m4x256b}};

/// Every entry of CuTe's maps: the word of the row goes to exactly these lanes.
TEST(TensorCopy, EveryShapeAsCute) {
  int rows = 0;
  for (const test::json& row : test::read_json_lines("tcgen05_cp.jsonl")) {
    ++rows;
    SCOPED_TRACE(row["shape"].get<std::string>());
    const TmemCopy shape = shapes.at(row["shape"]);
    EXPECT_EQ(copy_rows(shape), row["rows"]);
    EXPECT_EQ(copy_row_bytes(shape), row["row_bytes"]);
    Machine machine(1);
    std::vector<uint32_t> expected = machine.tmem;
    // Unswizzled, and in strides that nothing else has: groups of 8 rows 528 bytes apart, 16-byte units 8 KiB apart.
    const SmemDescriptorFields source{2048, 16384, 528, 0, Swizzle::none};
    const uint32_t column = 40;
    for (const test::json& entry : row["map"]) {
      const uint32_t i = entry[0], word = entry[1], to = entry[2], byte = 4 * word;
      uint32_t value = 0;
      std::memcpy(&value, machine.window.data() + 2048 + i % 8 * 16 + i / 8 * 528 + byte / 16 * 16384 + byte % 16, 4);
      for (const uint32_t lane : entry[3]) expected[lane * 512 + column + to] = value;
    }
    const Result<TmemCopyOperation> op = decode_tmem_copy(shape, Expand::none, column, encode_smem_descriptor(source));
    ASSERT_TRUE(op) << op.error();
    EXPECT_EQ(copy_range(*op).begin, 2048u);
    const uint32_t last = copy_rows(shape) - 1;
    EXPECT_EQ(copy_range(*op).end,
              2048 + last % 8 * 16 + last / 8 * 528 + (copy_row_bytes(shape) / 16 - 1) * 16384 + 16);
    execute_tmem_copy(*op, machine.memory());
    EXPECT_TRUE(machine.tmem == expected);
  }
  EXPECT_EQ(rows, 6);
}

/// Swizzled sources: the address is the K-major operand's.
TEST(TensorCopy, SwizzledSources) {
  for (const auto& [swizzle, span, mask] :
       {std::tuple{Swizzle::b32, 32u, 1u}, {Swizzle::b64, 64u, 3u}, {Swizzle::b128, 128u, 7u}}) {
    Machine machine(2);
    const SmemDescriptorFields source{4096, 16, 8 * span, 0, swizzle};
    const Result<TmemCopyOperation> op =
        decode_tmem_copy(TmemCopy::m128x256b, Expand::none, 0, encode_smem_descriptor(source));
    ASSERT_TRUE(op) << op.error();
    execute_tmem_copy(*op, machine.memory());
    for (uint32_t row = 0; row < 128; ++row)
      for (uint32_t byte = 0; byte < 32; ++byte) {
        uint32_t address = 4096 + row * span + byte;
        address ^= (address >> 7 & mask) << 4;
        ASSERT_EQ(machine.tmem[row * 512 + byte / 4] >> byte % 4 * 8 & 0xff,
                  std::to_integer<uint32_t>(machine.window[address]))
            << row << " " << byte << " span " << span;
      }
  }
}

/// §4.10: 16 elements of 4 or 6 bits in the first 8 or 12 of 16 bytes, to 16 containers: bits 5:2 or 5:0.
TEST(TensorCopy, ExpandsToContainers) {
  for (const auto& [name, shape] : shapes)
    for (const uint32_t width : {4u, 6u}) {
      SCOPED_TRACE(name + " from " + std::to_string(width) + " bits");
      Machine machine(3);
      const std::vector<uint32_t> before = machine.tmem;
      const SmemDescriptorFields source{1024, 8192, 128, 0, Swizzle::none};
      const Result<TmemCopyOperation> op =
          decode_tmem_copy(shape, width == 4 ? Expand::four_bit : Expand::six_bit, 8, encode_smem_descriptor(source));
      ASSERT_TRUE(op) << op.error();
      execute_tmem_copy(*op, machine.memory());
      uint32_t changed = 0;
      for (uint32_t row = 0; row < copy_rows(shape); ++row)
        for (uint32_t element = 0; element < copy_row_bytes(shape); ++element) {
          uint32_t code = 0;
          for (uint32_t i = 0; i < width; ++i) {
            const uint32_t bit = element % 16 * width + i;
            const auto byte = std::to_integer<uint32_t>(
                machine.window[1024 + row % 8 * 16 + row / 8 * 128 + element / 16 * 8192 + bit / 8]);
            code |= (byte >> bit % 8 & 1) << i;
          }
          const uint32_t container = width == 4 ? code << 2 : code;
          for (const uint32_t lane : copy_lanes(shape, row)) {
            ASSERT_EQ(machine.tmem[lane * 512 + 8 + element / 4] >> element % 4 * 8 & 0xff, container)
                << "row " << row << " element " << element << " lane " << lane;
            ++changed;
          }
        }
      EXPECT_EQ(changed % 16, 0u);
      for (uint32_t lane = 0; lane < 128; ++lane)
        for (const uint32_t column : {7u, 8 + op->columns()})
          ASSERT_EQ(machine.tmem[lane * 512 + column], before[lane * 512 + column]);
    }
}

TEST(TensorCopy, ShiftMovesEachRowUpToThePlaceBefore) {
  for (const uint32_t quarter : {0u, 32u, 64u, 96u}) {
    Machine machine(4);
    const std::vector<uint32_t> before = machine.tmem;
    ASSERT_EQ(broken_shift_rule(quarter << 16 | 100), "");
    execute_tmem_shift(quarter << 16 | 100, machine.tmem.data());
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 512; ++column) {
        const bool moved = lane >= quarter && lane < quarter + 31 && column >= 100 && column < 108;
        ASSERT_EQ(machine.tmem[lane * 512 + column], before[(lane + (moved ? 1 : 0)) * 512 + column])
            << lane << " " << column;
      }
  }
  for (const uint32_t address : {1u << 16, 16u << 16, 128u << 16, 505u})
    EXPECT_NE(broken_shift_rule(address), "") << address;
}

TEST(TensorCopy, WhatIsRefused) {
  const SmemDescriptor good = encode_smem_descriptor({1024, 16, 128, 0, Swizzle::none});
  const auto accepted = [&](TmemCopy shape, uint32_t destination, SmemDescriptor source) {
    const Result<TmemCopyOperation> op = decode_tmem_copy(shape, Expand::none, destination, source);
    if (!op) {
      EXPECT_TRUE(op.error().ends_with(".")) << op.error();
    }
    return static_cast<bool>(op);
  };
  EXPECT_TRUE(accepted(TmemCopy::m32x128b, 508, good));
  EXPECT_FALSE(accepted(TmemCopy::m32x128b, 509, good));
  EXPECT_FALSE(accepted(TmemCopy::m128x256b, 505, good));
  EXPECT_FALSE(accepted(TmemCopy::m32x128b, 32 << 16, good));
  EXPECT_TRUE(accepted(TmemCopy::m4x256b, 31 << 16, good));
  EXPECT_FALSE(accepted(TmemCopy::m4x256b, 32 << 16, good));
  EXPECT_FALSE(accepted(TmemCopy::m32x128b, 0, {}));
  EXPECT_FALSE(accepted(TmemCopy::m32x128b, 0, encode_smem_descriptor({1024, 16, 128, 0, Swizzle::b128_atom32})));
}

}  // namespace
}  // namespace warploom::loom
