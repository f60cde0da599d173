#include "loom/units/tensor_core.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using test::json;
using test::number;

TEST(TensorCore, AccumulatorsAsCute) {
  std::map<std::string, int> rows;
  for (const json& row : test::read_json_lines("tmem_accumulators.jsonl")) {
    const std::string layout = row["layout"];
    if (row["what"] != "D" || row["ws"] || !std::set<std::string>{"A", "B", "D", "F"}.contains(layout)) continue;
    ++rows[layout];
    SCOPED_TRACE(layout + " " + row["m"].dump() + "x" + row["n"].dump());
    const int group = row["cta_group"];
    const uint32_t m = row["m"], n = row["n"];
    test::Fnv fnv;
    uint32_t columns = 0;
    std::set<uint32_t> lanes;
    for (uint32_t r = 0; r < m; ++r)
      for (uint32_t c = 0; c < n; ++c) {
        const TmemCell cell = accumulator_cell(group, m, n, r, c);
        for (const uint32_t entry : {cell.cta, cell.lane, cell.column, 0u}) fnv.word(entry);
        columns = std::max(columns, cell.column + 1);
        lanes.insert(cell.lane);
      }
    EXPECT_EQ(accumulator_columns(group, m, n), columns);
    EXPECT_EQ(row["columns"], columns);
    EXPECT_EQ(row["lanes"], lanes.size());
    for (const json& s : row["samples"])
      ASSERT_EQ(accumulator_cell(group, m, n, s[0], s[1]), (TmemCell{s[2], s[3], s[4]})) << s.dump();
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
  }
  const std::map<std::string, int> expected{{"A", 9}, {"B", 9}, {"D", 11}, {"F", 11}};
  EXPECT_EQ(rows, expected);
}

TEST(TensorCore, LoadStoreRegistersAsCute) {
  int rows = 0;
  for (const json& row : test::read_json_lines("tcgen05_ld_st.jsonl")) {
    if (row["pack16"] || (row["shape"] != "32x32b" && row["shape"] != "16x256b")) continue;
    ++rows;
    SCOPED_TRACE(row["shape"].get<std::string>() + ".x" + row["x"].dump());
    const auto shape = row["shape"] == "32x32b" ? native::TmemShape::m32x32b : native::TmemShape::m16x256b;
    const uint32_t registers = row["regs"];
    test::Fnv fnv;
    uint32_t columns = 0;
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < registers; ++i) {
        const TmemCell cell = register_cell(shape, lane, i);
        fnv.word(cell.lane << 16 | cell.column);
        columns = std::max(columns, cell.column + 1);
      }
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
    EXPECT_EQ(register_columns(shape, registers), columns);
  }
  EXPECT_EQ(rows, 14);
}

/// What an H200's wgmma read: the address generation is the same on both chips, only the codes differ.
TEST(TensorCore, OperandAddressesAsOnH200) {
  const std::vector<uint8_t> tables = test::read_bytes("h200_wgmma_maps.bin");
  static const std::map<int, Swizzle> swizzles{
      {0, Swizzle::none}, {32, Swizzle::b32}, {64, Swizzle::b64}, {128, Swizzle::b128}};
  static const std::map<std::string, uint32_t> sizes{{"f16", 2}, {"tf32", 4}, {"u8", 1}};
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_wgmma_maps.jsonl")) {
    if (row["what"] != "descriptor") continue;
    ++rows;
    SmemDescriptorFields fields;
    const uint32_t base = row["smem_base"];
    fields.start = base + row["start"].get<uint32_t>();
    fields.leading_byte_offset = row["lbo"];
    fields.stride_byte_offset = row["sbo"];
    fields.base_offset = row["base_offset"];
    fields.swizzle = swizzles.at(row["swizzle"]);
    const Result<SmemDescriptorFields> decoded = decode_smem_descriptor(encode_smem_descriptor(fields));
    ASSERT_TRUE(decoded) << decoded.error();
    const Major major = row["major"] == "K" ? Major::k : Major::mn;
    const uint32_t k_extent = row["k"];
    for (uint32_t r = 0; r < row["rows"]; ++r)
      for (uint32_t k = 0; k < k_extent; ++k) {
        const size_t at = row["offset"].get<size_t>() + 2 * (r * k_extent + k);
        const uint32_t expected = tables.at(at) | tables.at(at + 1) << 8;
        ASSERT_EQ(operand_address(*decoded, major, sizes.at(row["type"]), r, k), base + expected)
            << row.dump() << " row " << r << " k " << k;
      }
  }
  EXPECT_EQ(rows, 154);
}

/// CuTe's sm_100 descriptors: every element read through one lies where the tile layout of the whole tile puts it. This
/// covers 8-bit MN-major operands and the 32-byte atoms, which wgmma does not have.
TEST(TensorCore, DescriptorsReachTheTileOfCute) {
  int operands = 0;
  for (const json& row : test::read_json_lines("smem_descriptors.jsonl")) {
    if (row["arch"] != "sm_100" || row["bits"].get<uint32_t>() < 8) continue;
    SCOPED_TRACE(row.dump());
    const bool k_major = row["major"] == "K";
    const uint32_t bytes = row["bits"].get<uint32_t>() / 8, mn = row["tile_mn"], k = row["tile_k"];
    const uint32_t inst_mn = row["inst_mn"], inst_k = row["inst_k"];
    const auto start = static_cast<uint32_t>(number(row["start"])) & 0x3ffff;
    for (size_t i = 0; i < row["desc"].size(); ++i)
      for (size_t j = 0; j < row["desc"][i].size(); ++j) {
        ++operands;
        const Result<SmemDescriptorFields> fields = decode_smem_descriptor({number(row["desc"][i][j])});
        ASSERT_TRUE(fields) << fields.error();
        const uint32_t span = fields->swizzle == Swizzle::none ? 16 : swizzle_span(fields->swizzle);
        const uint32_t lines = fields->swizzle == Swizzle::b128_atom32 ? 4 : 8;
        const bool contiguous_first = (row["order"] == "mn_first") != k_major;
        for (uint32_t r = 0; r < inst_mn; ++r)
          for (uint32_t kk = 0; kk < inst_k; ++kk) {
            const uint32_t tile_row = static_cast<uint32_t>(i) * inst_mn + r;
            const uint32_t tile_k = static_cast<uint32_t>(j) * inst_k + kk;
            const uint32_t along = (k_major ? tile_k : tile_row) * bytes, line = k_major ? tile_row : tile_k;
            const uint32_t atoms_along = (k_major ? k : mn) * bytes / span, atoms_across = (k_major ? mn : k) / lines;
            const uint32_t atom = contiguous_first ? along / span + line / lines * atoms_along
                                                   : line / lines + along / span * atoms_across;
            const uint32_t linear = start + atom * span * lines + line % lines * span + along % span;
            ASSERT_EQ(operand_address(*fields, k_major ? Major::k : Major::mn, bytes, r, kk),
                      swizzle_address(fields->swizzle, linear) & 0x3ffff)  // some tiles run past the 18-bit window
                << "operand " << i << "," << j << " element " << r << "," << kk;
          }
      }
  }
  EXPECT_EQ(operands, 414);
}

TEST(TensorCore, DescriptorsWithWrongBitsAreRejected) {
  const SmemDescriptor good = encode_smem_descriptor({1024, 16, 1024, 0, Swizzle::b128});
  ASSERT_TRUE(decode_smem_descriptor(good));
  for (const int bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 56, 60, 61})
    EXPECT_FALSE(decode_smem_descriptor({good.bits ^ uint64_t{1} << bit})) << "bit " << bit;
  for (const uint64_t code : {3, 5, 7})
    EXPECT_FALSE(decode_smem_descriptor({(good.bits & ~(uint64_t{7} << 61)) | code << 61})) << "swizzle " << code;
}

}  // namespace
}  // namespace warploom::loom
