// The other forms of tensor copies in kernels (hardware.md §2.2-2.4, 2.8, 2.10, 2.11): every swizzle at every offset,
// four and five dimensions, packed types, columns of pixels, four rows at a time, reductions, and each rule broken
// once. Expected bytes are computed here from the formulas of the specification, byte by byte.
#include "warploom/arch/tma_forms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t region_bytes = 16 * 1024;
constexpr uint32_t block_bytes = 1 << 16;

struct Storage {
  alignas(1024) uint8_t region[region_bytes];
  Mbarrier full[1];
};

enum class Form : uint8_t { load, store, add, im2col, store_im2col, add_im2col, gather4, scatter4, prefetch };

struct Params {
  TensorMap map = {};
  Form form = Form::load;
  uint32_t rank = 2;
  int32_t c[5] = {};
  uint16_t offsets[3] = {};
  uint32_t at = 0;  ///< of the box in the region
  uint32_t tx = 0;
  uint8_t* region = nullptr;  ///< the region before, and after the copy
  bool buggy = false;
};

template <uint32_t rank, uint32_t... d>
WARPLOOM_FN Coord<rank> coord(const Params& p, std::integer_sequence<uint32_t, d...>) {
  return Coord<rank>{p.c[d]...};
}

template <uint32_t rank>
WARPLOOM_FN void issue(const Params& p, SharedAddress box, SharedAddress full) {
  const Coord<rank> at = coord<rank>(p, std::make_integer_sequence<uint32_t, rank>{});
  if (p.form == Form::load) OFFENDING(tma_load<1>(box, p.map, full, at));
  if (p.form == Form::store) OFFENDING(tma_store(p.map, box, at));
  if (p.form == Form::add) OFFENDING(tma_reduce<Reduction::add>(p.map, box, at));
  if (p.form == Form::prefetch) OFFENDING(tma_prefetch(p.map, at));
  if constexpr (rank >= 3) {
    if (p.form == Form::store_im2col) OFFENDING(tma_store_im2col(p.map, box, at));
    if (p.form == Form::add_im2col) OFFENDING(tma_reduce_im2col<Reduction::add>(p.map, box, at));
  }
  if (p.form != Form::im2col) return;
  if constexpr (rank == 3) OFFENDING(tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0]}));
  if constexpr (rank == 4) OFFENDING(tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0], p.offsets[1]}));
  if constexpr (rank == 5)
    OFFENDING(tma_load_im2col<1>(box, p.map, full, at, Offsets{p.offsets[0], p.offsets[1], p.offsets[2]}));
}

const auto kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  for (uint32_t i = lane_index(); i < region_bytes; i += 32) store_shared(&s.region[i], p.region[i]);
  fence_proxy_async_shared();
  syncwarp();
  if (lane_index() == 0) {
    const SharedAddress box = address(s.region) + p.at, full = address(s.full[0]);
    const bool loads = p.form == Form::load || p.form == Form::im2col || p.form == Form::gather4;
    if (loads) mbarrier_arrive_expect_tx(full, p.tx);
    const FourRows rows{p.c[0], {p.c[1], p.c[2], p.c[3], p.c[4]}};
    if (p.form == Form::gather4) OFFENDING(tma_gather4<1>(box, p.map, full, rows));
    if (p.form == Form::scatter4) OFFENDING(tma_scatter4(p.map, box, rows));
    switch (p.rank) {
      case 1: issue<1>(p, box, full); break;
      case 2: issue<2>(p, box, full); break;
      case 3: issue<3>(p, box, full); break;
      case 4: issue<4>(p, box, full); break;
      default: issue<5>(p, box, full); break;
    }
    if (loads) {
      mbarrier_wait(full, 1);
    } else {
      bulk_commit_group();
      bulk_wait_group<0>();
    }
  }
  syncwarp();
  for (uint32_t i = lane_index(); i < region_bytes; i += 32) p.region[i] = load_shared(&s.region[i]);
};

struct Memory {
  alignas(256) std::array<uint8_t, block_bytes> global;
  std::array<uint8_t, region_bytes> region;

  Memory() {
    for (uint32_t i = 0; i < block_bytes; ++i) global[i] = static_cast<uint8_t>(i * 2654435761u >> 19);
    for (uint32_t i = 0; i < region_bytes; ++i) region[i] = static_cast<uint8_t>(i * 40503u >> 7);
  }
  Launch launch(const char* file = __builtin_FILE()) {
    return {.shared_bytes = sizeof(Storage),
            .tensors = {{global.data(), sizeof(global), Access::write, "global"}},
            .file = file};
  }
};

Schedule schedule_of(uint32_t row) {
  static const std::vector<Schedule> list = schedules();
  return list[row % list.size()];
}

// ---------------------------------------------------------------------------------------------------------- formulas

/// §2.4: where the byte at a shared address goes. `line` is its 128-byte line.
uint32_t swizzled(Swizzle swizzle, uint32_t a) {
  const uint32_t line = a / 128;
  switch (swizzle) {
    case Swizzle::none: return a;
    case Swizzle::b32: return a ^ (line % 2) * 16;
    case Swizzle::b64: return a ^ (line % 4) * 16;
    case Swizzle::b128: return a ^ (line % 8) * 16;
    case Swizzle::b128_atom32: return a ^ (line % 4) * 32;
    case Swizzle::b128_atom32_flip8: return a ^ (line % 4) * 32 ^ (line % 2) * 8;
    case Swizzle::b128_atom64: return a ^ (line % 2) * 64;
  }
  return a;
}

uint32_t span(Swizzle swizzle) {
  if (swizzle == Swizzle::none) return 0;
  return swizzle == Swizzle::b32 ? 32 : swizzle == Swizzle::b64 ? 64 : 128;
}

/// A byte of the result: where it lies in shared memory, and where in the tensor (or -1: out of bounds).
struct Byte {
  uint32_t shared;
  int64_t global;
};

/// §2.3 for elements of one byte.
std::vector<Byte> tile_bytes(const TensorMapArgs& map, const int32_t* c, uint32_t at) {
  uint32_t n[5];
  for (uint32_t d = 0; d < 5; ++d)
    n[d] = d < map.rank
               ? (map.box[d] + (d == 0 ? 1 : map.element_strides[d]) - 1) / (d == 0 ? 1 : map.element_strides[d])
               : 1;
  const uint32_t pitch = span(map.swizzle) != 0 ? span(map.swizzle) : n[0];
  std::vector<Byte> list;
  uint32_t row = 0;
  for (uint32_t e = 0; e < n[4]; ++e)
    for (uint32_t k = 0; k < n[3]; ++k)
      for (uint32_t j = 0; j < n[2]; ++j)
        for (uint32_t i = 0; i < n[1]; ++i, ++row)
          for (uint32_t b = 0; b < n[0]; ++b) {
            const uint32_t index[5] = {b, i, j, k, e};
            int64_t offset = 0;
            for (uint32_t d = 0; d < map.rank; ++d) {
              const int64_t x = int64_t{c[d]} + int64_t{index[d]} * (d == 0 ? 1 : map.element_strides[d]);
              const bool inside = x >= 0 && x < static_cast<int64_t>(map.dims[d]);
              offset =
                  inside && offset >= 0 ? offset + x * (d == 0 ? 1 : static_cast<int64_t>(map.strides[d - 1])) : -1;
            }
            list.push_back({swizzled(map.swizzle, 0x400 + at + row * pitch + b) - 0x400, offset});
          }
  return list;
}

TensorMapArgs bytes_map(const Memory& memory, std::initializer_list<uint64_t> dims, std::initializer_list<uint32_t> box,
                        Swizzle swizzle) {
  TensorMapArgs args;
  args.type = TmaType::u8;
  args.rank = static_cast<uint32_t>(dims.size());
  args.address = memory.global.data();
  std::copy(dims.begin(), dims.end(), args.dims.begin());
  std::copy(box.begin(), box.end(), args.box.begin());
  uint64_t stride = (args.dims[0] + 15) / 16 * 16;
  for (uint32_t d = 1; d < args.rank; ++d) {
    args.strides[d - 1] = stride;
    stride *= args.dims[d] + 1;  // a row of padding between planes
  }
  EXPECT_LE(stride, block_bytes);
  args.swizzle = swizzle;
  return args;
}

void expect_loaded(const Params& base, const TensorMapArgs& args, const std::vector<Byte>& bytes, uint32_t number) {
  Memory fresh;
  Memory memory;
  TensorMapArgs here = args;
  here.address = memory.global.data();
  Params p = base;
  p.map = make_map(here);
  p.tx = static_cast<uint32_t>(bytes.size());
  p.region = memory.region.data();
  expect_clean(run(memory.launch(), kernel, p, with(schedule_of(number))));
  std::array<uint8_t, region_bytes> want = fresh.region;
  for (const Byte& b : bytes) want[b.shared] = b.global < 0 ? 0 : fresh.global[static_cast<size_t>(b.global)];
  ASSERT_EQ(memory.region, want);
}

/// Stores (or adds) the box and compares all of the tensor's memory.
void expect_stored(const Params& base, const TensorMapArgs& args, const std::vector<Byte>& bytes, uint32_t number) {
  Memory fresh;
  Memory memory;
  TensorMapArgs here = args;
  here.address = memory.global.data();
  Params p = base;
  p.map = make_map(here);
  p.region = memory.region.data();
  expect_clean(run(memory.launch(), kernel, p, with(schedule_of(number))));
  std::array<uint8_t, block_bytes> want = fresh.global;
  for (const Byte& b : bytes)
    if (b.global >= 0) want[static_cast<size_t>(b.global)] = fresh.region[b.shared];
  ASSERT_EQ(memory.global, want);
}

// Every swizzle, every width it takes, starts at every multiple of 128 bytes of its pattern; inside and clipped.
TEST(TmaForms, EverySwizzleWidthAndOffset) {
  uint32_t number = 0;
  for (int code = 0; code <= 6; ++code) {
    const auto swizzle = static_cast<Swizzle>(code);
    for (uint32_t width = 16; width <= (code == 0 ? 144u : span(swizzle)); width += 16)
      for (uint32_t at = 0; at < 1024; at += 128)
        for (const bool clipped : {false, true}) {
          SCOPED_TRACE(fmt::format("swizzle {} width {} at {} clipped {}", code, width, at, clipped));
          const Memory memory;
          const TensorMapArgs args = bytes_map(memory, {200, 40}, {width, 9}, swizzle);
          const int32_t c[] = {clipped ? 112 : 32, clipped ? 35 : 3};
          Params p{.c = {c[0], c[1]}, .at = at};
          ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, tile_bytes(args, c, at), number++));
          p.form = Form::store;
          std::vector<Byte> bytes = tile_bytes(args, c, at);
          // §2.3: stores clip dimension 0 in units of 16 bytes. 200 is 8 short of one; the padding is lost.
          for (uint32_t i = 0; clipped && i < bytes.size(); ++i) {
            const uint32_t x = 112 + i % width, y = 35 + i / width;
            if (x >= 200 && x < 208 && y < 40) bytes[i].global = y * 208 + x;
          }
          ASSERT_NO_FATAL_FAILURE(expect_stored(p, args, bytes, number++));
        }
  }
  EXPECT_EQ(number, 2u * 2 * 8 * (9 + 2 + 4 + 4 * 8));
}

TEST(TmaForms, OneToFiveDimensions) {
  uint32_t number = 0;
  const auto both = [&](const TensorMapArgs& args, std::array<int32_t, 5> c) {
    SCOPED_TRACE(fmt::format("rank {} at {}", args.rank, fmt::join(c, ",")));
    Params p{.rank = args.rank, .at = 128 * (number % 8)};
    std::copy(c.begin(), c.end(), p.c);
    const std::vector<Byte> bytes = tile_bytes(args, p.c, p.at);
    ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, bytes, number++));
    if (std::any_of(c.begin(), c.end(), [](int32_t x) { return x < 0; })) return;
    p.form = Form::store;
    ASSERT_NO_FATAL_FAILURE(expect_stored(p, args, bytes, number++));
  };
  const Memory memory;
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b64, Swizzle::b128}) {
    const TensorMapArgs one = bytes_map(memory, {320}, {64}, swizzle);
    for (const int32_t x : {0, 16, 256, 288, 320, -32}) both(one, {x});
    const TensorMapArgs two = bytes_map(memory, {96, 30}, {48, 7}, swizzle);
    both(two, {48, 5});
    both(two, {-16, -3});
    both(two, {64, 26});
    const TensorMapArgs three = bytes_map(memory, {64, 7, 5}, {32, 4, 3}, swizzle);
    both(three, {32, 2, 1});
    both(three, {-16, 5, -1});
    both(three, {0, 6, 4});
    const TensorMapArgs four = bytes_map(memory, {48, 5, 4, 6}, {32, 3, 2, 3}, swizzle);
    both(four, {16, 1, 1, 2});
    both(four, {0, -2, 3, 4});
    both(four, {32, 3, 3, 4});
    TensorMapArgs five = bytes_map(memory, {32, 4, 3, 4, 5}, {16, 3, 2, 3, 4}, swizzle);
    both(five, {0, 1, 0, 1, 1});
    both(five, {16, -1, 2, -2, 3});
    both(five, {16, 3, 2, 3, 4});
    five.element_strides = {1, 2, 1, 3, 2};
    five.box = {16, 4, 2, 4, 5};
    both(five, {0, 1, 1, 0, 0});
    both(five, {16, 0, 0, 1, 2});
  }
}

// ---------------------------------------------------------------------------------------------------------- four rows

TEST(TmaForms, FourRowsInAnyOrder) {
  uint32_t number = 0;
  const Memory memory;
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b128, Swizzle::b128_atom64}) {
    const uint32_t width = swizzle == Swizzle::b32 ? 32 : 96;
    const TensorMapArgs args = bytes_map(memory, {200, 40}, {width, 1}, swizzle);
    const uint32_t pitch = span(swizzle) != 0 ? span(swizzle) : width;
    const int32_t starts[][5] = {{0, 3, 1, 2, 0}, {16, 39, 39, 5, 17}, {128, 40, -1, 7, 100}};
    for (const auto& c : starts) {
      std::vector<Byte> bytes;
      for (uint32_t row = 0; row < 4; ++row)
        for (uint32_t b = 0; b < width; ++b) {
          const int64_t x = c[0] + int64_t{b}, y = c[1 + row];
          const bool inside = x < 200 && y >= 0 && y < 40;
          bytes.push_back({swizzled(swizzle, 0x400 + 256 + row * pitch + b) - 0x400, inside ? y * 208 + x : -1});
        }
      Params p{.form = Form::gather4, .c = {c[0], c[1], c[2], c[3], c[4]}, .at = 256};
      ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, bytes, number++));
      if (c[2] < 0 || c[1] == c[2]) continue;
      p.form = Form::scatter4;
      ASSERT_NO_FATAL_FAILURE(expect_stored(p, args, bytes, number++));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- im2col

/// §2.11 written as nested loops over the window: pixel `first` of the walk is at the start coordinates, so that the
/// walk is the list of all positions of all images from there on.
std::vector<Byte> pixel_bytes(const TensorMapArgs& map, const Params& p) {
  const Im2colWindow& w = *map.im2col;
  const uint32_t spatial = map.rank - 2;
  std::vector<Byte> list;
  const uint32_t pitch = span(map.swizzle) != 0 ? span(map.swizzle) : w.channels;
  std::array<int64_t, 4> at{};
  for (uint32_t d = 0; d < map.rank - 1; ++d) at[d] = p.c[d + 1];
  for (uint32_t pixel = 0; pixel < w.pixels; ++pixel) {
    int64_t base = 0;
    bool inside = true;
    for (uint32_t d = 0; d < map.rank - 1; ++d) {
      const int64_t x = at[d] + (d < spatial ? p.offsets[d] : 0);
      inside = inside && x >= 0 && x < static_cast<int64_t>(map.dims[d + 1]);
      base += x * static_cast<int64_t>(map.strides[d]);
    }
    for (uint32_t b = 0; b < w.channels; ++b) {
      const int64_t channel = p.c[0] + int64_t{b};
      const bool in = inside && channel >= 0 && channel < static_cast<int64_t>(map.dims[0]);
      list.push_back({swizzled(map.swizzle, 0x400 + p.at + pixel * pitch + b) - 0x400, in ? base + channel : -1});
    }
    // The next position: the first dimension that has one left advances, those before it start again.
    uint32_t d = 0;
    while (d < spatial && at[d] + map.element_strides[d + 1] > static_cast<int64_t>(map.dims[d + 1]) - 1 + w.upper[d]) {
      at[d] = w.lower[d];
      ++d;
    }
    at[d] += d < spatial ? map.element_strides[d + 1] : 1;
  }
  return list;
}

TEST(TmaForms, ColumnsOfPixelsGoInAndOut) {
  uint32_t number = 0;
  for (const uint32_t rank : {3u, 4u, 5u})
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b128}) {
      const Memory memory;
      TensorMapArgs args = rank == 3   ? bytes_map(memory, {48, 9, 4}, {}, swizzle)
                           : rank == 4 ? bytes_map(memory, {48, 6, 5, 3}, {}, swizzle)
                                       : bytes_map(memory, {32, 5, 4, 3, 3}, {}, swizzle);
      Im2colWindow& window = args.im2col.emplace();
      window.lower = {-1, -1, -1};
      window.upper = {-1, -1, -1};
      window.channels = 32;
      window.pixels = 23;
      for (const bool strided : {false, true}) {
        if (strided) args.element_strides[1] = 2;
        Params p{.form = Form::im2col, .rank = rank, .offsets = {2, 1, 1}, .at = 384};
        p.c[0] = 16, p.c[rank - 1] = 1;
        ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, pixel_bytes(args, p), number++));
        p.c[1] = -1;
        ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, pixel_bytes(args, p), number++));
        p.form = Form::store_im2col;
        p.c[1] = 0;
        std::fill(p.offsets, p.offsets + 3, uint16_t{0});
        TensorMapArgs stored = args;
        stored.im2col->lower = stored.im2col->upper = {};
        ASSERT_NO_FATAL_FAILURE(expect_stored(p, stored, pixel_bytes(stored, p), number++));
      }
    }
}

TEST(TmaForms, ReductionsWalkAsStoresDo) {
  Memory memory, fresh;
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.rank = 3;
  args.address = memory.global.data();
  args.dims = {12, 7, 3, 1, 1};
  args.strides = {48, 384, 16, 16};
  Im2colWindow& window = args.im2col.emplace();
  window.channels = 4;
  window.pixels = 10;
  Params p{.map = make_map(args), .form = Form::add_im2col, .rank = 3, .c = {4, 2, 0}, .region = memory.region.data()};
  expect_clean(run(memory.launch(), kernel, p));
  const auto word = [](const auto& bytes, size_t at) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  std::array<uint8_t, block_bytes> want = fresh.global;
  for (uint32_t pixel = 0; pixel < 10; ++pixel)
    for (uint32_t channel = 0; channel < 4; ++channel) {
      const size_t at = (pixel + 2) / 7 * 384 + (pixel + 2) % 7 * 48 + (4 + channel) * 4;
      const uint32_t sum = word(fresh.global, at) + word(fresh.region, pixel * 16 + channel * 4);
      std::memcpy(want.data() + at, &sum, 4);
    }
  EXPECT_EQ(memory.global, want);
}

// ---------------------------------------------------------------------------------------------------------- packed
// types

TEST(TmaForms, PackedValues) {
  struct Kind {
    TmaType type;
    uint32_t bits, packed;  ///< bytes of 16 values in global memory
    uint32_t place;         ///< and in shared memory
    Swizzle swizzle;
  };
  for (const Kind& kind : {Kind{TmaType::u4_align8, 4, 8, 8, Swizzle::none},
                           {TmaType::u4_align8, 4, 8, 8, Swizzle::b64},
                           {TmaType::u4_align16, 4, 8, 16, Swizzle::none},
                           {TmaType::u4_align16, 4, 8, 16, Swizzle::b128},
                           {TmaType::u6_align16, 6, 12, 16, Swizzle::b128_atom32},
                           {TmaType::u6_align16, 6, 12, 16, Swizzle::none}}) {
    SCOPED_TRACE(static_cast<int>(kind.type));
    const Memory memory;
    TensorMapArgs args;
    args.type = kind.type;
    args.address = memory.global.data();
    args.dims = {256, 10, 1, 1, 1};
    args.strides[0] = 224;
    args.box = {128, 6, 1, 1, 1};
    args.swizzle = kind.swizzle;
    const uint32_t row = 128 / 16 * kind.place;
    std::vector<Byte> bytes;
    for (uint32_t r = 0; r < 6; ++r)
      for (uint32_t b = 0; b < 16 * kind.bits; ++b) {
        const uint32_t shared = 0x400 + 512 + r * row + b / kind.packed * kind.place + b % kind.packed;
        const int64_t x = 128 * kind.bits / 8 + b, y = 7 + r;
        bytes.push_back({swizzled(kind.swizzle, shared) - 0x400, y < 10 ? y * 224 + x : -1});
      }
    // The barrier counts what is packed (§2.3): bytes.size() of them.
    Params p{.c = {128, 7}, .at = 512};
    ASSERT_NO_FATAL_FAILURE(expect_loaded(p, args, bytes, 0));
    if (kind.type == TmaType::u4_align16) continue;
    p.form = Form::store;
    ASSERT_NO_FATAL_FAILURE(expect_stored(p, args, bytes, 1));
  }
}

// ---------------------------------------------------------------------------------------------------------- rules

void form_rule(const TensorMapArgs& args, const Params& correct, const TensorMapArgs& buggy_args, const Params& buggy,
               const Expected& expected, const char* file = __builtin_FILE()) {
  Memory memory;
  const auto prepared = [&](const TensorMapArgs& map, Params p) {
    TensorMapArgs here = map;
    here.address = memory.global.data();
    p.map = make_map(here);
    p.region = memory.region.data();
    const TmaMode mode = p.form == Form::gather4 ? TmaMode::rows4 : here.im2col ? TmaMode::im2col : TmaMode::tile;
    p.tx = tma_box_bytes(here, mode);
    return p;
  };
  Launch launch = memory.launch(file);
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, prepared(buggy_args, buggy), expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, prepared(args, correct));
}

TEST(TmaForms, RulesOfTheMap) {
  const Memory memory;
  const TensorMapArgs tile = bytes_map(memory, {64, 7, 5}, {32, 4, 3}, Swizzle::none);
  TensorMapArgs pixels = tile;
  pixels.im2col.emplace().channels = 16;
  pixels.im2col->pixels = 4;
  const TensorMapArgs flat = bytes_map(memory, {64, 7}, {32, 4}, Swizzle::none);
  const TensorMapArgs row = bytes_map(memory, {64, 7}, {32, 1}, Swizzle::none);
  const Params load{.rank = 3}, column{.form = Form::im2col, .rank = 3};
  form_rule(tile, load, pixels, load, {"TMA-RULE", {"A tiled TMA load was given an im2col tensor map."}});
  form_rule(pixels, column, tile, column, {"TMA-RULE", {"An im2col TMA load was given a tiled tensor map."}});
  form_rule(tile, load, flat, load, {"TMA-RULE", {"3-dimensional", "rank 2"}});
  TensorMapArgs cornered = pixels;
  cornered.im2col->lower[0] = cornered.im2col->upper[0] = -1;
  const Params stored{.form = Form::store_im2col, .rank = 3};
  form_rule(pixels, stored, cornered, stored, {"TMA-RULE", {"corners are 0"}});
  Params four{.form = Form::gather4};
  form_rule(row, four, flat, four, {"TMA-RULE", {"four rows", "one row, not 4"}});
  four.form = Form::scatter4;
  Params negative = four;
  negative.c[4] = -1;
  form_rule(row, four, row, negative, {"TMA-RULE", {"Coordinate 4 of a TMA store is -1"}});
  Params prefetch{.form = Form::prefetch, .rank = 3}, crooked = prefetch;
  crooked.c[0] = 8;
  form_rule(tile, prefetch, tile, crooked, {"TMA-RULE", {"Coordinate 0", "multiple of 16 bytes"}});
}

TEST(TmaForms, RulesOfReductions) {
  const Memory memory;
  TensorMapArgs words = bytes_map(memory, {64, 7}, {32, 4}, Swizzle::none);
  words.type = TmaType::u32;
  words.strides[0] = 256;
  TensorMapArgs signed_words = words;
  signed_words.type = TmaType::s64;
  signed_words.strides[0] = 512;
  signed_words.box[0] = 16;
  const Params add{.form = Form::add};
  form_rule(words, add, signed_words, add, {"TMA-RULE", {".add", "does not exist for this type"}});
  Params below = add;
  below.c[1] = -1;
  form_rule(words, add, words, below, {"TMA-RULE", {"Coordinate 1 of a TMA store is -1"}});
}

TEST(TmaForms, RulesOfPackedValues) {
  const Memory memory;
  TensorMapArgs padded;
  padded.type = TmaType::u4_align16;
  padded.address = memory.global.data();
  padded.dims = {256, 10, 1, 1, 1};
  padded.strides[0] = 128;
  padded.box = {128, 4, 1, 1, 1};
  TensorMapArgs six = padded;
  six.type = TmaType::u6_align16;
  six.strides[0] = 192;
  const Params load{}, store{.form = Form::store};
  Params crooked = load;
  crooked.c[0] = 64;
  form_rule(padded, load, padded, crooked, {"TMA-RULE", {"multiple of 128"}});
  form_rule(six, store, padded, store, {"TMA-RULE", {"can be loaded only"}});
  TensorMapArgs stored = six;
  stored.swizzle = Swizzle::b128_atom64;
  form_rule(six, load, stored, load, {"TMA-RULE", {"can be stored only"}});
}

}  // namespace
}  // namespace warploom::loom
