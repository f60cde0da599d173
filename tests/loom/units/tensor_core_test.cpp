#include "loom/units/tensor_core.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using test::json;
using test::number;

/// Every row for D: both CTA groups, weight-stationary products, and CuTe's other tiling, which is the same map.
TEST(TensorCore, AccumulatorsAsCute) {
  std::map<std::string, int> rows;
  for (const json& row : test::read_json_lines("tmem_accumulators.jsonl")) {
    if (row["what"] == "A") continue;
    const std::string layout = row["layout"];
    const bool ws = row["ws"];
    ++rows[ws ? layout + ".ws" : layout];
    SCOPED_TRACE(layout + " " + row["m"].dump() + "x" + row["n"].dump());
    const int group = row["cta_group"];
    const uint32_t m = row["m"], n = row["n"];
    test::Fnv fnv;
    uint32_t columns = 0;
    std::set<uint32_t> lanes;
    for (uint32_t r = 0; r < m; ++r)
      for (uint32_t c = 0; c < n; ++c) {
        const TmemCell cell = accumulator_cell(group, m, n, r, c, ws);
        for (const uint32_t entry : {cell.cta, cell.lane, cell.column, 0u}) fnv.word(entry);
        columns = std::max(columns, cell.column + 1);
        lanes.insert(cell.lane);
      }
    EXPECT_EQ(accumulator_columns(group, m, n, ws), columns);
    EXPECT_EQ(row["columns"], columns);
    EXPECT_EQ(row["lanes"], lanes.size());
    for (const json& s : row["samples"])
      ASSERT_EQ(accumulator_cell(group, m, n, s[0], s[1], ws), (TmemCell{s[2], s[3], s[4]})) << s.dump();
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
  }
  const std::map<std::string, int> expected{{"A", 9},    {"B", 9},    {"D", 11},  {"F", 20},
                                            {"D.ws", 2}, {"E.ws", 3}, {"G.ws", 3}};
  EXPECT_EQ(rows, expected);
}

TEST(TensorCore, OperandAInTensorMemoryAsCute) {
  static const std::map<std::string, uint32_t> widths{{"f16", 16}, {"f32", 32}, {"b8", 8}};
  int rows = 0;
  for (const json& row : test::read_json_lines("tmem_accumulators.jsonl")) {
    if (row["what"] != "A") continue;
    ++rows;
    SCOPED_TRACE(row["layout"].get<std::string>() + " " + row["m"].dump() + "x" + row["n"].dump());
    const int group = row["cta_group"];
    const uint32_t m = row["m"], k_extent = row["n"], width = widths.at(row["type"]);
    test::Fnv fnv;
    const auto at = [&](uint32_t r, uint32_t k) { return a_element(group, m, r, k, width); };
    for (uint32_t r = 0; r < m; ++r)
      for (uint32_t k = 0; k < k_extent; ++k)
        for (const uint32_t entry : {at(r, k).cell.cta, at(r, k).cell.lane, at(r, k).cell.column, at(r, k).bit / width})
          fnv.word(entry);
    for (const json& s : row["samples"])
      ASSERT_EQ(at(s[0], s[1]), (TmemElement{{s[2], s[3], s[4]}, s[5].get<uint32_t>() * width})) << s.dump();
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
    EXPECT_EQ(row["columns"], 8);
  }
  EXPECT_EQ(rows, 8);
}

TEST(TensorCore, LoadStoreRegistersAsCute) {
  using Shape = native::TmemShape;
  static const std::map<std::string, Shape> shapes{{"32x32b", Shape::m32x32b},
                                                   {"16x64b", Shape::m16x64b},
                                                   {"16x128b", Shape::m16x128b},
                                                   {"16x256b", Shape::m16x256b},
                                                   {"16x32bx2", Shape::m16x32bx2}};
  std::map<std::string, int> rows;
  for (const json& row : test::read_json_lines("tcgen05_ld_st.jsonl")) {
    ++rows[row["shape"]];
    SCOPED_TRACE(row["shape"].get<std::string>() + ".x" + row["x"].dump() + (row["pack16"] ? " packed" : ""));
    const bool packed = row["pack16"];
    const int immediate = row["imm"];
    const native::TmemForm form{shapes.at(row["shape"]), packed, immediate < 0 ? 0 : static_cast<uint32_t>(immediate)};
    const uint32_t registers = row["regs"], halves = packed ? 2 : 1;
    test::Fnv fnv;
    uint32_t columns = 0;
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < registers; ++i)
        for (uint32_t half = 0; half < halves; ++half) {
          const TmemCell cell = register_cell(form, lane, i, half);
          fnv.word(cell.lane << 16 | cell.column);
          columns = std::max(columns, cell.column + 1);
          if (row.contains("map")) {
            const json& golden = row["map"][lane][i * halves + half];
            ASSERT_EQ(cell, (TmemCell{0, golden[0], golden[1]})) << "lane " << lane << " register " << i;
          }
        }
    for (const json& s : row.value("samples", json::array()))
      ASSERT_EQ(register_cell(form, s[0], s[1], s[2]), (TmemCell{0, s[3], s[4]})) << s.dump();
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
    EXPECT_EQ(register_columns(form, registers), columns);
    EXPECT_EQ(broken_register_count(form, registers), "");
  }
  const std::map<std::string, int> expected{
      {"32x32b", 16}, {"16x64b", 16}, {"16x128b", 14}, {"16x256b", 12}, {"16x32bx2", 16}};
  EXPECT_EQ(rows, expected);
}

TEST(TensorCore, RegisterCountsThatDoNotExist) {
  using Shape = native::TmemShape;
  for (const auto& [shape, least] : {std::pair{Shape::m32x32b, 1u},
                                     {Shape::m16x64b, 1u},
                                     {Shape::m16x128b, 2u},
                                     {Shape::m16x256b, 4u},
                                     {Shape::m16x32bx2, 1u}})
    for (uint32_t count = 0; count <= 300; ++count) {
      const bool legal = count >= least && count <= 128 && (count & (count - 1)) == 0;
      EXPECT_EQ(broken_register_count({shape}, count).empty(), legal) << count;
    }
}

/// Scale factors in tensor memory, as CuTe tiles them over the MMAs of a stage: for k MMA i, the scales of its blocks.
TEST(TensorCore, ScaleFactorsAsCute) {
  std::map<std::string, int> rows;
  for (const json& row : test::read_json_lines("scale_factor_layouts.jsonl")) {
    const std::string where = row["where"];
    ++rows[where];
    SCOPED_TRACE(row.dump().substr(0, 200));
    test::Fnv fnv;
    if (where != "tmem") {
      const uint32_t extent = row["rows"], blocks = row["k_blocks"];
      const auto offset = [&](uint32_t r, uint32_t block) -> uint64_t {
        return where == "smem" ? scale_offset_shared(r, block, extent) : scale_offset_global(r, block, blocks);
      };
      for (uint32_t r = 0; r < extent; ++r)
        for (uint32_t block = 0; block < blocks; ++block) {
          fnv.word(static_cast<uint32_t>(offset(r, block)));
          if (row.contains("offsets")) {
            ASSERT_EQ(offset(r, block), row["offsets"][r][block]);
          }
        }
      for (const json& s : row.value("samples", json::array())) ASSERT_EQ(offset(s[0], s[1]), s[2]) << s.dump();
      EXPECT_EQ(fnv.value(), number(row["fnv"]));
      continue;
    }
    const uint32_t extent = row["rows"], replicas = row["replicas"], scales = row["scales_per_mma"];
    const bool split = row["mode"] == "2sm_m128" && row["operand"] == "SFB";
    ASSERT_EQ(scale_copies(split), replicas);
    ASSERT_EQ(row["mmas_mn"], 1);
    struct Place {
      uint32_t lane, column, byte;
    };
    // One word holds the scales of four blocks along K; a kernel puts the words of successive groups side by side.
    const auto place = [&](uint32_t r, uint32_t replica, uint32_t scale, uint32_t mma) {
      const uint32_t block = mma * scales + scale;
      const TmemCell cell = scale_cell(r, extent, split);
      return Place{cell.lane + 32 * replica, cell.column + block / 4 * scale_columns(extent, split), block % 4};
    };
    for (uint32_t mma = 0; mma < row["mmas_k"]; ++mma)
      for (uint32_t scale = 0; scale < scales; ++scale)
        for (uint32_t replica = 0; replica < replicas; ++replica)
          for (uint32_t r = 0; r < extent; ++r) {
            const Place at = place(r, replica, scale, mma);
            for (const uint32_t entry : {at.lane, at.column, at.byte}) fnv.word(entry);
          }
    for (const json& s : row["samples"]) {
      const Place at = place(s[0], s[1], s[2], s[4]);
      ASSERT_EQ((std::vector<uint32_t>{at.lane, at.column, at.byte}), (std::vector<uint32_t>{s[5], s[6], s[7]}))
          << s.dump();
    }
    EXPECT_EQ(fnv.value(), number(row["fnv"]));
  }
  const std::map<std::string, int> expected{{"global", 44}, {"smem", 12}, {"tmem", 15}};
  EXPECT_EQ(rows, expected);
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
    if (row["arch"] != "sm_100") continue;
    SCOPED_TRACE(row.dump());
    const bool k_major = row["major"] == "K";
    // 4-bit elements, which are K-major, in pairs: bytes along K.
    const uint32_t pair = row["bits"] == 4 ? 2 : 1, bytes = row["bits"].get<uint32_t>() * pair / 8;
    const uint32_t mn = row["tile_mn"], k = row["tile_k"].get<uint32_t>() / pair;
    const uint32_t inst_mn = row["inst_mn"], inst_k = row["inst_k"].get<uint32_t>() / pair;
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
  EXPECT_EQ(operands, 461);
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
