#include "warploom/types/swizzle.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/golden.hpp"

namespace warploom {
namespace {

// CuTe's tiles, built from swizzle atoms, against swizzle_address() applied to plain rows of the span's length.
TEST(Swizzle, TilesAsCute) {
  static const std::map<std::string, Swizzle> names{{"none", Swizzle::none},
                                                    {"32B", Swizzle::b32},
                                                    {"64B", Swizzle::b64},
                                                    {"128B", Swizzle::b128},
                                                    {"128B_base32B", Swizzle::b128_atom32}};
  int rows = 0;
  for (const test::json& row : test::read_json_lines("smem_tile_layouts.jsonl")) {
    ++rows;
    const Swizzle swizzle = names.at(row["swizzle"]);
    const uint32_t bytes = row["bits"].get<uint32_t>() / 8, mn = row["tile_mn"], k = row["tile_k"];
    const uint32_t span = swizzle == Swizzle::none ? 16 : swizzle_span(swizzle);
    const uint32_t lines = swizzle == Swizzle::b128_atom32 ? 4 : 8;
    const bool k_major = row["major"] == "K", contiguous_first = (row["order"] == "mn_first") != k_major;
    const uint32_t atoms_along = (k_major ? k : mn) * bytes / span, atoms_across = (k_major ? mn : k) / lines;
    const auto offset = [&](uint32_t r, uint32_t c) {
      const uint32_t along = (k_major ? c : r) * bytes, line = k_major ? r : c;
      const uint32_t a = along / span, b = line / lines;
      const uint32_t atom = contiguous_first ? a + b * atoms_along : b + a * atoms_across;
      return swizzle_address(swizzle, atom * span * lines + line % lines * span + along % span);
    };
    test::Fnv fnv;
    for (uint32_t r = 0; r < mn; ++r)
      for (uint32_t c = 0; c < k; ++c) fnv.word(offset(r, c));
    EXPECT_EQ(fnv.value(), test::number(row["fnv"])) << row["bits"] << " bits " << row["major"] << " " << row["swizzle"]
                                                     << " " << mn << "x" << k << " " << row["order"];
    if (!row.contains("samples")) continue;
    for (const test::json& sample : row["samples"])
      ASSERT_EQ(offset(sample[0], sample[1]), sample[2]) << "row " << sample[0] << " column " << sample[1];
  }
  EXPECT_EQ(rows, 124);
}

// What every user of the formula relies on: it is its own inverse, stays within the span and repeats after the period.
TEST(Swizzle, PermutesWithinTheSpan) {
  for (int code = 0; code <= 6; ++code) {
    const auto swizzle = static_cast<Swizzle>(code);
    const uint32_t span = swizzle == Swizzle::none ? 16 : swizzle_span(swizzle);
    for (uint32_t address = 0; address < 2048; ++address) {
      const uint32_t moved = swizzle_address(swizzle, address);
      ASSERT_EQ(swizzle_address(swizzle, moved), address);
      ASSERT_EQ(moved / span, address / span);
      ASSERT_EQ(swizzle_address(swizzle, address + 1024), moved + 1024);
      for (uint32_t shift = 0; shift < 8; ++shift)  // a base offset moves the pattern's start
        ASSERT_EQ(swizzle_address(swizzle, address + 128 * shift, shift), moved + 128 * shift);
    }
  }
}

}  // namespace
}  // namespace warploom
