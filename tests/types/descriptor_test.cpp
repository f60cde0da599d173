#include "warploom/types/descriptor.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/golden.hpp"
#include "warploom/types/block_scaled.hpp"

namespace warploom {
namespace {

using test::number;

/// Type code of an operand as §4.7 numbers it.
uint32_t type_code(const std::string& kind, const std::string& type) {
  static const std::map<std::string, uint32_t> codes{
      {"f16/f16", 0},     {"f16/bf16", 1},    {"tf32/tf32", 2},   {"f8f6f4/e4m3", 0}, {"f8f6f4/e5m2", 1},
      {"f8f6f4/e2m3", 3}, {"f8f6f4/e3m2", 4}, {"f8f6f4/e2m1", 5}, {"i8/u8", 0},       {"i8/s8", 1}};
  return codes.at(kind + "/" + type);
}

TEST(InstructionDescriptor, EncodesAndDecodesAsCutlass) {
  std::map<std::string, int> rows;
  for (const auto& row : test::read_csv("tcgen05_idesc.csv")) {
    const std::string& kind = row[0];
    if (kind.starts_with("mx")) continue;  // block scaling is another format
    ++rows[kind];
    InstructionFields f;
    f.a_type = type_code(kind, row[1]);
    f.b_type = type_code(kind, row[2]);
    f.accumulator = row[3] == "f16" ? 0 : row[3] == "f32" ? 1 : 2;
    f.m = static_cast<uint32_t>(number(row[5]));
    f.n = static_cast<uint32_t>(number(row[6]));
    f.a_major = row[7] == "K" ? Major::k : Major::mn;
    f.b_major = row[8] == "K" ? Major::k : Major::mn;
    f.negate_a = row[9] == "1";
    f.negate_b = row[10] == "1";
    f.saturate = row[11] == "1";
    f.sparse = row[12] == "1";
    f.sparse_id = static_cast<uint32_t>(number(row[13]));
    f.max_shift = row[14] == "0" ? 0 : row[14] == "8" ? 1 : row[14] == "16" ? 2 : 3;
    const auto golden = static_cast<uint32_t>(number(row[17]));
    EXPECT_EQ(encode_instruction(f).bits, golden) << kind << " row with " << row[17];

    const InstructionFields d = decode_instruction({golden});
    EXPECT_EQ(d.a_type, f.a_type);
    EXPECT_EQ(d.b_type, f.b_type);
    EXPECT_EQ(d.accumulator, f.accumulator);
    EXPECT_EQ(d.m, f.m);
    EXPECT_EQ(d.n, f.n);
    EXPECT_EQ(d.a_major, f.a_major);
    EXPECT_EQ(d.b_major, f.b_major);
    EXPECT_EQ(d.negate_a, f.negate_a);
    EXPECT_EQ(d.negate_b, f.negate_b);
    EXPECT_EQ(d.saturate, f.saturate);
    EXPECT_EQ(d.sparse, f.sparse);
    EXPECT_EQ(d.sparse_id, f.sparse_id);
    EXPECT_EQ(d.max_shift, f.max_shift);
  }
  const std::map<std::string, int> expected{{"f16", 173}, {"f8f6f4", 694}, {"i8", 91}, {"tf32", 54}};
  EXPECT_EQ(rows, expected);
}

TEST(InstructionDescriptor, BlockScaledEncodesAndDecodesAsCutlass) {
  std::map<std::string, int> rows;
  for (const auto& row : test::read_csv("tcgen05_idesc.csv")) {
    const std::string& kind = row[0];
    if (!kind.starts_with("mx")) continue;
    ++rows[kind];
    const auto code = [&](const std::string& type) {
      return kind == "mxf8f6f4" ? type_code("f8f6f4", type) : uint32_t{1};
    };
    BlockScaledFields f;
    f.a_type = code(row[1]);
    f.b_type = code(row[2]);
    EXPECT_EQ(row[3], "f32");
    f.scale_type = row[4] == "ue8m0" ? ScaleType::ue8m0 : ScaleType::ue4m3;
    f.m = static_cast<uint32_t>(number(row[5]));
    f.n = static_cast<uint32_t>(number(row[6]));
    f.a_major = row[7] == "K" ? Major::k : Major::mn;
    f.b_major = row[8] == "K" ? Major::k : Major::mn;
    f.negate_a = row[9] == "1";
    f.negate_b = row[10] == "1";
    f.sparse = row[12] == "1";
    f.sfa_id = static_cast<uint32_t>(number(row[15]));
    f.sfb_id = static_cast<uint32_t>(number(row[16]));
    const auto golden = static_cast<uint32_t>(number(row[17]));
    EXPECT_EQ(encode_block_scaled(f).bits, golden) << kind << " row with " << row[17];

    const BlockScaledFields d = decode_block_scaled({golden});
    EXPECT_EQ(d.a_type, f.a_type);
    EXPECT_EQ(d.b_type, f.b_type);
    EXPECT_EQ(d.scale_type, f.scale_type);
    EXPECT_EQ(d.m, f.m);
    EXPECT_EQ(d.n, f.n);
    EXPECT_EQ(d.a_major, f.a_major);
    EXPECT_EQ(d.b_major, f.b_major);
    EXPECT_EQ(d.negate_a, f.negate_a);
    EXPECT_EQ(d.negate_b, f.negate_b);
    EXPECT_EQ(d.sparse, f.sparse);
    EXPECT_EQ(d.sfa_id, f.sfa_id);
    EXPECT_EQ(d.sfb_id, f.sfb_id);
    EXPECT_FALSE(d.k96);
  }
  const std::map<std::string, int> expected{{"mxf8f6f4", 549}, {"mxf4", 72}, {"mxf4nvf4", 138}};
  EXPECT_EQ(rows, expected);
}

TEST(InstructionDescriptor, OperandCodes) {
  EXPECT_EQ(MmaOperand<e4m3>::code, type_code("f8f6f4", "e4m3"));
  EXPECT_EQ(MmaOperand<e5m2>::code, type_code("f8f6f4", "e5m2"));
  EXPECT_EQ(MmaOperand<e2m3>::code, type_code("f8f6f4", "e2m3"));
  EXPECT_EQ(MmaOperand<e3m2>::code, type_code("f8f6f4", "e3m2"));
  EXPECT_EQ(MmaOperand<e2m1>::code, type_code("f8f6f4", "e2m1"));
  EXPECT_EQ(MmaOperand<tf32>::code, type_code("tf32", "tf32"));
  EXPECT_EQ(MmaOperand<uint8_t>::code, type_code("i8", "u8"));
  EXPECT_EQ(MmaOperand<int8_t>::code, type_code("i8", "s8"));
  EXPECT_EQ(MmaOperand<f16>::code, type_code("f16", "f16"));
  EXPECT_EQ(MmaOperand<bf16>::code, type_code("f16", "bf16"));
}

/// A tile of swizzle atoms: extents in bytes (contiguous direction) and lines (the other), 8 or 4 lines to an atom.
struct Tile {
  Swizzle swizzle;
  uint32_t span;   // bytes of an atom along the contiguous direction; 16 without swizzle
  uint32_t lines;  // of an atom
  uint32_t atom;   // bytes of an atom
  // Distance of neighbouring atoms, in bytes, along the contiguous direction and along the lines.
  uint32_t step_contiguous, step_lines;
  uint32_t contiguous_atoms;
};

Tile tile_of(const test::json& row) {
  static const std::map<std::string, Swizzle> names{{"none", Swizzle::none},
                                                    {"32B", Swizzle::b32},
                                                    {"64B", Swizzle::b64},
                                                    {"128B", Swizzle::b128},
                                                    {"128B_base32B", Swizzle::b128_atom32}};
  Tile tile{};
  tile.swizzle = names.at(row["swizzle"]);
  tile.span = tile.swizzle == Swizzle::none ? 16 : swizzle_span(tile.swizzle);
  tile.lines = tile.swizzle == Swizzle::b128_atom32 ? 4 : 8;
  tile.atom = tile.span * tile.lines;
  const bool k_major = row["major"] == "K";
  const uint32_t bits = row["bits"], mn = row["tile_mn"], k = row["tile_k"];
  const uint32_t contiguous_bytes = (k_major ? k : mn) * bits / 8, lines = k_major ? mn : k;
  tile.contiguous_atoms = contiguous_bytes / tile.span;
  const bool contiguous_first = (row["order"] == "mn_first") != k_major;
  tile.step_contiguous = contiguous_first ? tile.atom : tile.atom * (lines / tile.lines);
  tile.step_lines = contiguous_first ? tile.atom * tile.contiguous_atoms : tile.atom;
  return tile;
}

// CuTe's descriptor of every operand that instructions cut out of a tile. Ours are made once per tile row and stepped
// along K the way a kernel does it.
void expect_cute_descriptors(const char* arch, SmemDescriptor (*encode)(const SmemDescriptorFields&), int expected_rows,
                             int expected_descriptors) {
  int rows = 0, descriptors = 0;
  for (const test::json& row : test::read_json_lines("smem_descriptors.jsonl")) {
    if (row["arch"] != arch) continue;
    ++rows;
    const Tile tile = tile_of(row);
    const bool k_major = row["major"] == "K", plain = tile.swizzle == Swizzle::none;
    const uint32_t bits = row["bits"], inst_mn = row["inst_mn"], inst_k = row["inst_k"];
    const auto start = static_cast<uint32_t>(number(row["start"]));

    // The operand of one instruction: does it span more than one atom in each direction? CuTe leaves a stride that is
    // not used at what the atom's layout gives, so only used fields are ours to predict.
    SmemDescriptorFields fields;
    fields.swizzle = tile.swizzle;
    uint64_t mask = ~uint64_t{0};
    constexpr uint64_t leading_mask = uint64_t{0x3fff} << 16, stride_mask = uint64_t{0x3fff} << 32;
    uint32_t k_step = 0, mn_step = 0;
    if (k_major) {
      fields.leading_byte_offset = plain ? tile.step_contiguous : 16;  // CuTe writes 1 into the unused field
      fields.stride_byte_offset = tile.step_lines;
      mn_step = inst_mn / 8 * tile.step_lines;
    } else {
      fields.leading_byte_offset = plain ? tile.step_lines : tile.step_contiguous;
      fields.stride_byte_offset = plain ? tile.step_contiguous : tile.step_lines;
      mn_step = inst_mn * bits / 8 / tile.span * tile.step_contiguous;
      k_step = inst_k / tile.lines * tile.step_lines;
      if (inst_mn * bits / 8 <= tile.span) mask &= plain ? ~stride_mask : ~leading_mask;
      if (inst_k <= tile.lines) mask &= plain ? ~leading_mask : ~stride_mask;
    }
    const test::json& golden = row["desc"];
    for (size_t i = 0; i < golden.size(); ++i) {
      fields.start = start + static_cast<uint32_t>(i) * mn_step;
      const SmemDescriptor first = encode(fields);
      for (size_t j = 0; j < golden[i].size(); ++j) {
        uint32_t advance = static_cast<uint32_t>(j) * k_step;
        if (k_major) {  // 32 bytes at a time, whole atoms apart (§3.3)
          const uint32_t byte = static_cast<uint32_t>(j) * inst_k * bits / 8;
          advance = byte / tile.span * tile.step_contiguous + byte % tile.span;
        }
        ++descriptors;
        ASSERT_EQ(first.advance(advance).bits & mask, number(golden[i][j]) & mask)
            << row["type"] << " " << row["major"] << " " << row["swizzle"] << " " << row["tile_mn"] << "x"
            << row["tile_k"] << " " << row["order"] << " [" << i << "][" << j << "]";
      }
    }
  }
  EXPECT_EQ(rows, expected_rows);
  EXPECT_EQ(descriptors, expected_descriptors);
}

TEST(SmemDescriptor, EncodesAndStepsAsCute) { expect_cute_descriptors("sm_100", encode_smem_descriptor, 130, 461); }

TEST(SmemDescriptor, EncodesAndStepsAsCuteForWgmma) {
  expect_cute_descriptors("sm_90", encode_wgmma_descriptor, 89, 426);
}

}  // namespace
}  // namespace warploom
