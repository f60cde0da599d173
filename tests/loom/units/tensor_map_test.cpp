#include <gtest/gtest.h>

#include <cstring>

#include "loom/units/tma.hpp"
#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using test::json;

TensorMapArgs args_of(const json& row) {
  TensorMapArgs args;
  args.type = static_cast<TmaType>(row["dtype"].get<int>());
  args.rank = row["rank"];
  args.address = reinterpret_cast<const void*>(uintptr_t{0x10000} + row.value("address_mod_128", uintptr_t{0}));
  const auto copy = [](const json& from, auto& to) {
    for (size_t i = 0; i < to.size() && i < from.size(); ++i) to[i] = from[i];
  };
  copy(row["dims"], args.dims);
  copy(row["strides"], args.strides);
  copy(row["elem_strides"], args.element_strides);
  args.swizzle = static_cast<Swizzle>(row["swizzle"].get<int>());
  if (row.contains("channels")) {
    Im2colWindow& window = args.im2col.emplace();
    copy(row["lower"], window.lower);
    copy(row["upper"], window.upper);
    window.channels = row["channels"];
    window.pixels = row["pixels"];
    return args;
  }
  copy(row["box"], args.box);
  args.interleave = row["interleave"];
  args.l2_promotion = row["l2"];
  args.fill = static_cast<TmaFill>(row["oob"].get<int>());
  return args;
}

TEST(TensorMap, RulesAsDriverOnH200) {
  int tiled = 0, im2col = 0, rejected = 0;
  for (const json& row : test::read_json_lines("h200_tensor_map_rules.jsonl")) {
    ++(row.contains("channels") ? im2col : tiled);
    const Result<TensorMap> map = encode_tensor_map(args_of(row), Chip::sm90);
    EXPECT_EQ(static_cast<bool>(map), row["result"] == 0) << row.dump() << (map ? "" : "\n" + map.error());
    if (map) continue;
    ++rejected;
    EXPECT_TRUE(map.error().ends_with(".") && map.error().size() > 20) << map.error();
  }
  EXPECT_EQ(tiled, 252);
  EXPECT_EQ(im2col, 74);
  EXPECT_EQ(rejected, 154);
}

TEST(TensorMap, DecodesWhatItEncoded) {
  TensorMapArgs args;
  args.type = TmaType::bf16;
  args.rank = 3;
  args.address = reinterpret_cast<const void*>(uintptr_t{0x7f12'3456'7890});
  args.dims = {uint64_t{1} << 32, 7, 11, 99, 99};
  args.strides = {(uint64_t{1} << 40) - 16, 0, 1, 2};
  args.box = {64, 256, 3, 99, 99};
  args.element_strides = {1, 8, 2, 9, 9};
  args.swizzle = Swizzle::b128_atom32_flip8;
  args.l2_promotion = 3;
  args.fill = TmaFill::nan;
  const Result<TensorMap> map = encode_tensor_map(args, Chip::sm100);
  ASSERT_TRUE(map) << map.error();
  EXPECT_FALSE(encode_tensor_map(args, Chip::sm90));
  const DecodedTensorMap decoded = decode_tensor_map(*map);
  ASSERT_TRUE(decoded.valid);
  EXPECT_EQ(decoded.args.type, args.type);
  EXPECT_EQ(decoded.args.rank, 3u);
  EXPECT_EQ(decoded.args.address, args.address);
  // Whatever stood beyond the rank is gone, so that copies may run over five dimensions.
  EXPECT_EQ(decoded.args.dims, (std::array<uint64_t, 5>{uint64_t{1} << 32, 7, 11, 1, 1}));
  EXPECT_EQ(decoded.args.strides, (std::array<uint64_t, 4>{(uint64_t{1} << 40) - 16, 0, 16, 16}));
  EXPECT_EQ(decoded.args.box, (std::array<uint32_t, 5>{64, 256, 3, 1, 1}));
  EXPECT_EQ(decoded.args.element_strides, (std::array<uint32_t, 5>{1, 8, 2, 1, 1}));
  EXPECT_EQ(decoded.args.interleave, 0);
  EXPECT_EQ(decoded.args.swizzle, args.swizzle);
  EXPECT_EQ(decoded.args.l2_promotion, 3);
  EXPECT_EQ(decoded.args.fill, TmaFill::nan);
}

TEST(TensorMap, AnyFlippedBitIsNoticed) {
  TensorMapArgs args;
  args.address = reinterpret_cast<const void*>(uintptr_t{0x10000});
  args.dims = {64, 64, 1, 1, 1};
  args.strides[0] = 64;
  args.box = {16, 8, 1, 1, 1};
  const Result<TensorMap> map = encode_tensor_map(args, Chip::sm90);
  ASSERT_TRUE(map);
  ASSERT_TRUE(decode_tensor_map(*map).valid);
  EXPECT_FALSE(decode_tensor_map(TensorMap{}).valid);
  for (int bit = 0; bit < 1024; ++bit) {
    TensorMap damaged = *map;
    damaged.opaque[bit / 64] ^= uint64_t{1} << bit % 64;
    EXPECT_FALSE(decode_tensor_map(damaged).valid) << "bit " << bit;
  }
}

}  // namespace
}  // namespace warploom::loom
