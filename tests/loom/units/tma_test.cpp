#include "loom/units/tma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "loom/units/reduction.hpp"
#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using test::json;

constexpr size_t block_bytes = 1 << 18;

struct alignas(256) Line {
  std::byte bytes[256];
};

/// 256-byte aligned bytes, as cudaMalloc gives them.
class Buffer {
 public:
  explicit Buffer(size_t size, int fill = 0) : lines_((size + 255) / 256), size_(size) {
    std::memset(data(), fill, lines_.size() * 256);
  }
  std::byte* data() { return lines_.data()->bytes; }
  uint64_t hash(size_t from, size_t count) {
    test::Fnv fnv;
    for (size_t i = from; i < from + count; ++i) fnv.byte(static_cast<uint8_t>(data()[i]));
    return fnv.value();
  }
  size_t size() const { return size_; }

 private:
  std::vector<Line> lines_;
  size_t size_;
};

Buffer& tensor_block() {
  static Buffer block = [] {
    Buffer made(block_bytes);
    for (uint32_t i = 0; i < block_bytes; ++i) made.data()[i] = std::byte((i * 2654435761u >> 16) & 255);
    return made;
  }();
  return block;
}

std::byte image_byte(uint32_t i) { return std::byte(((i * 2246822519u + 374761393u) >> 15) & 255); }

TensorMapArgs args_of(const json& row, const void* address) {
  static const std::map<std::string, TmaType> types{{"u8", TmaType::u8},
                                                    {"u16", TmaType::u16},
                                                    {"u32", TmaType::u32},
                                                    {"s32", TmaType::s32},
                                                    {"u64", TmaType::u64},
                                                    {"s64", TmaType::s64},
                                                    {"f16", TmaType::f16},
                                                    {"f32", TmaType::f32},
                                                    {"f64", TmaType::f64},
                                                    {"bf16", TmaType::bf16},
                                                    {"f32_ftz", TmaType::f32_ftz},
                                                    {"tf32", TmaType::tf32},
                                                    {"tf32_ftz", TmaType::tf32_ftz}};
  static const std::map<int, Swizzle> swizzles{
      {0, Swizzle::none}, {32, Swizzle::b32}, {64, Swizzle::b64}, {128, Swizzle::b128}};
  TensorMapArgs args;
  args.type = types.at(row["dtype"]);
  args.rank = static_cast<uint32_t>(row["dims"].size());
  args.address = address;
  const auto copy = [&](const char* name, auto& to) {
    if (!row.contains(name)) return;
    for (size_t i = 0; i < row[name].size(); ++i) to.at(i) = row[name][i];
  };
  copy("dims", args.dims);
  copy("strides", args.strides);
  copy("box", args.box);
  copy("elem_strides", args.element_strides);
  args.swizzle = swizzles.at(row["swizzle"]);
  if (row["op"] == "im2col") {
    Im2colWindow& window = args.im2col.emplace();
    copy("lower", window.lower);
    copy("upper", window.upper);
    window.channels = row["channels"];
    window.pixels = row["pixels"];
  }
  if (row.value("oob_nan", 0) == 1) args.fill = TmaFill::nan;
  return args;
}

/// Through the 128 bytes, as a kernel's map goes.
TensorMapArgs through_map(const TensorMapArgs& args) {
  const Result<TensorMap> map = encode_tensor_map(args, Chip::sm90);
  EXPECT_TRUE(map) << map.error();
  const DecodedTensorMap decoded = map ? decode_tensor_map(*map) : DecodedTensorMap{};
  EXPECT_TRUE(decoded.valid);
  return decoded.args;
}

TmaCoordinates coordinates_of(const json& row) {
  TmaCoordinates at{static_cast<uint32_t>(row["coords"].size()), {}};
  for (size_t d = 0; d < row["coords"].size(); ++d) at.c[d] = row["coords"][d];
  if (row["op"] == "im2col") {
    at.mode = TmaMode::im2col;
    for (size_t d = 0; d < row["offsets"].size(); ++d) at.offsets[d] = row["offsets"][d];
  }
  return at;
}

/// Where the recorded bytes are in the file, the first byte that differs.
std::string difference(const json& row, const std::byte* bytes, size_t count) {
  if (!row.contains("data_offset")) return row.dump();
  static const std::vector<uint8_t> recorded = test::read_bytes("h200_tma.bin");
  for (size_t i = 0; i < count; ++i)
    if (static_cast<uint8_t>(bytes[i]) != recorded.at(row["data_offset"].get<size_t>() + i))
      return row.dump() + " differs at byte " + std::to_string(i);
  return row.dump();
}

TEST(Tma, LoadsAsOnH200) {
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    if (row["op"] != "load") continue;
    ++rows;
    SCOPED_TRACE(row.dump());
    const TensorMapArgs args = through_map(args_of(row, tensor_block().data() + row["global_offset"].get<size_t>()));
    const TmaCoordinates at = coordinates_of(row);
    const uint32_t base = row["smem_base"], bytes = row["bytes"], dst = row["dst"];
    EXPECT_EQ(check_tma_copy(args, base + dst, at, false), "");
    EXPECT_EQ(tma_box_bytes(args), row["tx"]);
    EXPECT_LE(dst + tma_box_footprint(args), bytes);
    Buffer window(base + bytes, 0xcd);
    tma_load_box(args, at, window.data(), base + dst);
    EXPECT_EQ(window.hash(base, bytes), test::number(row["fnv"])) << difference(row, window.data() + base, bytes);
  }
  EXPECT_EQ(rows, 307);
}

TEST(Tma, GathersPixelsAsOnH200) {
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    if (row["op"] != "im2col") continue;
    ++rows;
    SCOPED_TRACE(row.dump());
    const TensorMapArgs args = through_map(args_of(row, tensor_block().data()));
    const TmaCoordinates at = coordinates_of(row);
    const uint32_t base = row["smem_base"], bytes = row["bytes"], dst = row["dst"];
    EXPECT_EQ(check_tma_copy(args, base + dst, at, false), "");
    EXPECT_EQ(tma_box_bytes(args, at.mode), row["tx"]);
    EXPECT_LE(dst + tma_box_footprint(args, at.mode), bytes);
    Buffer window(base + bytes, 0xcd);
    tma_load_box(args, at, window.data(), base + dst);
    EXPECT_EQ(window.hash(base, bytes), test::number(row["fnv"])) << difference(row, window.data() + base, bytes);
  }
  EXPECT_EQ(rows, 60);
}

const std::map<std::string, Reduction> reductions{
    {"add", Reduction::add}, {"min", Reduction::min},     {"max", Reduction::max},   {"inc", Reduction::inc},
    {"dec", Reduction::dec}, {"and", Reduction::bit_and}, {"or", Reduction::bit_or}, {"xor", Reduction::bit_xor}};

TEST(Tma, ReducesAsOnH200) {
  static const std::vector<uint8_t> recorded = test::read_bytes("h200_tma.bin");
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    if (row["op"] != "reduce_values") continue;
    ++rows;
    SCOPED_TRACE(row.dump());
    json map = row;
    map["dims"] = {row["count"]};
    map["box"] = {row["count"]};
    map["swizzle"] = 0;
    const uint32_t bytes = row["count"].get<uint32_t>() * tma_element_bits(args_of(map, nullptr).type) / 8;
    const auto* before = reinterpret_cast<const std::byte*>(recorded.data()) + row["data_offset"].get<size_t>();
    const std::byte *source = before + bytes, *after = source + bytes;
    Buffer global(bytes);
    std::memcpy(global.data(), before, bytes);
    const TensorMapArgs args = through_map(args_of(map, global.data()));
    ASSERT_EQ(tma_box_bytes(args), bytes);
    const Reduction operation = reductions.at(row["red"]);
    ASSERT_EQ(tensor_reduction(operation, args.type).broken, "");
    tma_write_box(args, {1, {0}}, source, operation);
    for (uint32_t i = 0; i < bytes; ++i) ASSERT_EQ(global.data()[i], after[i]) << "byte " << i;
  }
  EXPECT_EQ(rows, 27);
}

// Which pairs exist: those that were recorded, and no others but the ones that the instruction set has beside them.
TEST(Tma, ReductionsOfOtherTypesAreRefused) {
  const auto legal = [](Reduction operation) {
    int types = 0;
    for (int type = 0; type <= 15; ++type)
      if (tensor_reduction(operation, static_cast<TmaType>(type)).broken.empty()) ++types;
    return types;
  };
  EXPECT_EQ(legal(Reduction::add), 7);  // u32 s32 u64 f32 f32_ftz f16 bf16
  EXPECT_EQ(legal(Reduction::min), 6);  // u32 s32 u64 s64 f16 bf16
  EXPECT_EQ(legal(Reduction::max), 6);
  EXPECT_EQ(legal(Reduction::inc), 1);
  EXPECT_EQ(legal(Reduction::dec), 1);
  EXPECT_EQ(legal(Reduction::bit_and), 4);
  EXPECT_EQ(legal(Reduction::bit_or), 4);
  EXPECT_EQ(legal(Reduction::bit_xor), 4);
}

TEST(Tma, StoresAsOnH200) {
  int rows = 0, reduced = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    const std::string op = row["op"];
    if (op != "store" && !reductions.contains(op)) continue;
    ++(op == "store" ? rows : reduced);
    SCOPED_TRACE(row.dump());
    const uint32_t base = row["smem_base"], bytes = row["bytes"], src = row["src"], image = row["smem_bytes"];
    Buffer global(bytes, 0x11), window(base + image);
    if (op != "store") std::memcpy(global.data(), tensor_block().data(), bytes);
    for (uint32_t i = 0; i < image; ++i) window.data()[base + i] = image_byte(i);
    const TensorMapArgs args = through_map(args_of(row, global.data()));
    const TmaCoordinates at = coordinates_of(row);
    EXPECT_EQ(check_tma_copy(args, base + src, at, true), "");
    std::vector<std::byte> staging(tma_box_bytes(args));
    tma_read_box(args, TmaMode::tile, window.data(), base + src, staging.data());
    tma_write_box(args, at, staging.data(),
                  op == "store" ? std::optional<Reduction>{} : std::optional(reductions.at(op)));
    EXPECT_EQ(global.hash(0, bytes), test::number(row["fnv"])) << difference(row, global.data(), bytes);
  }
  EXPECT_EQ(rows, 125);
  EXPECT_EQ(reduced, 4);
}

// The announced range of global bytes is exactly what a store changes and what decides a load.
TEST(Tma, GlobalRangeIsWhatMoves) {
  int ranges = 0;
  for (const json& row : test::read_json_lines("h200_tma.jsonl")) {
    if (row["op"] != "load" && row["op"] != "store") continue;
    if (row.contains("oob_nan") && row["oob_nan"] == 1) continue;
    SCOPED_TRACE(row.dump());
    Buffer global(block_bytes, 0x11);
    const TensorMapArgs args = args_of(row, global.data() + 1024);
    const TmaCoordinates at = coordinates_of(row);
    const bool store = row["op"] == "store";
    const ByteRange range = tma_global_range(args, at, store);
    ASSERT_LE(range.begin, range.end);
    std::vector<std::byte> staging(tma_box_bytes(args), std::byte{0x22});
    if (store) {
      tma_write_box(args, at, staging.data());
    } else {
      // Outside the range memory is 0x33; a load that touches it shows the byte.
      std::memset(global.data(), 0x33, global.size());
      std::fill(const_cast<std::byte*>(range.begin), const_cast<std::byte*>(range.end), std::byte{0x44});
      Buffer window(65536, 0xcd);
      tma_load_box(args, at, window.data(), 0);
      EXPECT_EQ(std::count(window.data(), window.data() + window.size(), std::byte{0x33}), 0);
      EXPECT_EQ(std::count(window.data(), window.data() + window.size(), std::byte{0x44}) > 0,
                range.begin != range.end);
      ++ranges;
      continue;
    }
    const std::byte *first = nullptr, *last = nullptr;
    for (std::byte* b = global.data(); b != global.data() + global.size(); ++b)
      if (*b == std::byte{0x22}) {
        if (first == nullptr) first = b;
        last = b + 1;
      }
    EXPECT_EQ(range.begin == range.end, first == nullptr);
    if (first != nullptr) {
      EXPECT_EQ(range.begin, first);
      EXPECT_EQ(range.end, last);
    }
    ++ranges;
  }
  EXPECT_EQ(ranges, 307 - 7 + 125);
}

/// The baseline of h200_edges: u16 tensor 64 x 64, stride 128, box {16, 8}.
TensorMapArgs edge_baseline(void* address) {
  TensorMapArgs args;
  args.type = TmaType::u16;
  args.address = address;
  args.dims = {64, 64, 1, 1, 1};
  args.strides[0] = 128;
  args.box = {16, 8, 1, 1, 1};
  return args;
}

TEST(Tma, FaultsAsOnH200) {
  struct Case {
    TensorMapArgs args;
    uint32_t address = 1024;
    TmaCoordinates at{2, {}};
    bool store = false;
  };
  const auto change = [](auto&& apply) {
    Case c{.args = edge_baseline(tensor_block().data())};
    apply(c);
    return c;
  };
  const auto of_type = [](Case& c, TmaType type, uint32_t bytes) {
    c.args.type = type;
    c.args.box[0] = 32 / bytes;
  };
  const std::map<std::string, Case> cases{
      {"load dst 64-byte aligned", change([](Case& c) { c.address += 64; })},
      {"load dst 16-byte aligned", change([](Case& c) { c.address += 16; })},
      {"load c0=4 u16", change([](Case& c) { c.at.c[0] = 4; })},
      {"load c0=2 u32", change([&](Case& c) { of_type(c, TmaType::u32, 4), c.at.c[0] = 2; })},
      {"load c0=-4 u16", change([](Case& c) { c.at.c[0] = -4; })},
      {"load 3d instruction with a 2d map", change([](Case& c) { c.at.rank = 3; })},
      {"store c0=-8", change([](Case& c) { c.store = true, c.at.c[0] = -8; })},
      {"store c1=-2", change([](Case& c) { c.store = true, c.at.c[1] = -2; })},
      {"store c0=4 u16", change([](Case& c) { c.store = true, c.at.c[0] = 4; })},
      {"store src 64-byte aligned", change([](Case& c) { c.store = true, c.address += 64; })},
      {"load swizzle 128B_ATOM_32B", change([](Case& c) { c.args.swizzle = Swizzle::b128_atom32; })},
      {"load swizzle 128B_ATOM_32B_FLIP_8B", change([](Case& c) { c.args.swizzle = Swizzle::b128_atom32_flip8; })},
      {"load swizzle 128B_ATOM_64B", change([](Case& c) { c.args.swizzle = Swizzle::b128_atom64; })},
      {"load 16U4_ALIGN8B", change([](Case& c) { c.args.type = TmaType::u4_align8; })},
      {"load 16U4_ALIGN16B", change([](Case& c) { c.args.type = TmaType::u4_align16; })},
      {"load 16U6_ALIGN16B", change([](Case& c) { c.args.type = TmaType::u6_align16; })},
      {"store c1 past end", change([](Case& c) { c.store = true, c.at.c[1] = 64; })},
      {"store c0 past end", change([](Case& c) { c.store = true, c.at.c[0] = 64; })},
      {"reduce add c1=-1",
       change([](Case& c) { c.store = true, c.at.c[1] = -1, c.args.type = TmaType::u32, c.args.box[0] = 8; })},
      {"load u8 c0=8", change([&](Case& c) { of_type(c, TmaType::u8, 1), c.at.c[0] = 8; })},
      {"load elem_strides {2,1}, box {16,8}", change([](Case& c) { c.args.element_strides[0] = 2; })},
      {"load elem_strides {3,1}, box {16,8}", change([](Case& c) { c.args.element_strides[0] = 3; })},
  };
  int rows = 0;
  for (const json& row : test::read_json_lines("h200_edges.jsonl")) {
    if (row["op"] != "tma") continue;
    ++rows;
    SCOPED_TRACE(row.dump());
    ASSERT_TRUE(cases.contains(row["what"]));
    Case c = cases.at(row["what"]);
    Buffer global(8192, 0x11), window(1024 + 4096, 0xcd);
    if (c.store) c.args.address = global.data();
    ASSERT_EQ(static_cast<bool>(encode_tensor_map(c.args, Chip::sm90)), row["encode"] == 0);
    if (row["encode"] != 0) continue;
    const std::string broken = check_tma_copy(c.args, c.address, c.at, c.store);
    EXPECT_EQ(broken.empty(), row["result"] == "ok") << broken;
    if (!broken.empty() || row["result"] != "ok") continue;
    if (c.store) {
      std::vector<std::byte> staging(tma_box_bytes(c.args));
      tma_read_box(c.args, TmaMode::tile, window.data(), 1024, staging.data());
      tma_write_box(c.args, c.at, staging.data());
      EXPECT_EQ(global.hash(0, 8192), test::number(row["fnv"]));
    } else {
      tma_load_box(c.args, c.at, window.data(), 1024);
      EXPECT_EQ(window.hash(1024, 4096), test::number(row["fnv"]));
    }
  }
  EXPECT_EQ(rows, 22);
}

// The recorded loads of tf32 hold few ties. Spec §2.3 says they round as cvt.rn.tf32 does, of which an H200 recorded
// many.
TEST(Tma, Tf32LoadsRoundToNearestEven) {
  const std::vector<uint8_t> bytes = test::read_bytes("h200_cvt.bin");
  size_t input = 0, rounded = 0, count = 0;
  for (const json& row : test::read_json_lines("h200_cvt.jsonl")) {
    if (row["column"] == "input_f32") input = row["offset"];
    if (row["column"] == "tf32_rn") rounded = row["offset"], count = row["count"];
  }
  ASSERT_EQ(count, 11008u);
  for (const TmaType type : {TmaType::tf32, TmaType::tf32_ftz}) {
    Buffer global(count * 4), window(count * 4);
    std::memcpy(global.data(), bytes.data() + input, count * 4);
    TensorMapArgs args;
    args.type = type;
    args.address = global.data();
    args.dims = {256, count / 256, 1, 1, 1};
    args.strides[0] = 1024;
    args.box = {256, static_cast<uint32_t>(count / 256), 1, 1, 1};
    const TmaCoordinates at{2, {0, 0}};
    tma_load_box(args, at, window.data(), 0);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(std::memcmp(window.data() + 4 * i, bytes.data() + rounded + 4 * i, 4), 0) << "input " << i;
  }
}

// No chip of ours can encode the other atoms: only the round trip and the formula are checked.
TEST(Tma, Sm100SwizzlesRoundTrip) {
  for (const Swizzle swizzle : {Swizzle::b128_atom32, Swizzle::b128_atom32_flip8, Swizzle::b128_atom64}) {
    TensorMapArgs args = edge_baseline(tensor_block().data());
    args.type = TmaType::u8;
    args.dims = {1024, 200, 1, 1, 1};
    args.strides[0] = 1024;
    args.box = {112, 9, 1, 1, 1};
    args.swizzle = swizzle;
    ASSERT_TRUE(encode_tensor_map(args, Chip::sm100));
    Buffer window(4096, 0xcd);
    const TmaCoordinates at{2, {16, 3}};
    tma_load_box(args, at, window.data(), 128);
    std::vector<std::byte> staging(tma_box_bytes(args));
    tma_read_box(args, TmaMode::tile, window.data(), 128, staging.data());
    for (uint32_t row = 0; row < 9; ++row)
      for (uint32_t b = 0; b < 112; ++b) {
        const std::byte expected = tensor_block().data()[(3 + row) * 1024 + 16 + b];
        ASSERT_EQ(staging[row * 112 + b], expected);
        ASSERT_EQ(window.data()[swizzle_address(swizzle, 128 + row * 128 + b)], expected);
      }
  }
}

TEST(Tma, ExtremeCoordinatesTouchNothing) {
  TensorMapArgs args = edge_baseline(tensor_block().data());
  args.element_strides[1] = 8;
  for (const int32_t c0 : {INT32_MIN, INT32_MAX - 7, 0})
    for (const int32_t c1 : {INT32_MIN, INT32_MAX, 0}) {
      const TmaCoordinates at{2, {c0, c1}};
      ASSERT_EQ(check_tma_copy(args, 1024, at, false), "");
      const ByteRange range = tma_global_range(args, at, false);
      EXPECT_EQ(range.begin != range.end, c0 == 0 && c1 == 0);
      Buffer window(8192, 0xcd);
      tma_load_box(args, at, window.data(), 1024);
      if (range.begin == range.end) {
        EXPECT_EQ(window.data()[1024], std::byte{0});
      }
    }
}

}  // namespace
}  // namespace warploom::loom
