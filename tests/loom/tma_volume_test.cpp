// TMA with three-dimensional maps: a box is a piece of one matrix of a batch (hardware.md §2.2-2.4).
#include <numeric>

#include "loom/probe_kernel.hpp"
#include "warploom/types/swizzle.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t columns = 24, rows = 10, batch = 3;  // u16 in global memory
constexpr uint32_t box_rows = 4;
constexpr uint32_t words = 1024;

struct Storage {
  alignas(1024) uint16_t box[words];
  Mbarrier full[1];
};

struct Params {
  TensorMap map;
  uint16_t* out;
  Coord3 at;
  uint32_t bytes;
};

struct Memory {
  alignas(128) std::array<uint16_t, batch * rows * columns> in;
  alignas(128) std::array<uint16_t, batch * rows * columns> out{};
  alignas(128) std::array<uint16_t, words> seen{};

  Memory() { std::iota(in.begin(), in.end(), uint16_t{1000}); }

  static TensorMapArgs args(const void* base, uint32_t box_columns, Swizzle swizzle) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.rank = 3;
    args.address = base;
    args.dims = {columns, rows, batch, 1, 1};
    args.strides = {columns * 2, rows * columns * 2, 16, 16};
    args.box = {box_columns, box_rows, 1, 1, 1};
    args.swizzle = swizzle;
    return args;
  }
  Launch launch(uint32_t ctas = 1) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .shared_bytes = sizeof(Storage),
            .tensors = {{in.data(), sizeof(in), Access::read, "in"},
                        {out.data(), sizeof(out), Access::write, "out"},
                        {seen.data(), sizeof(seen), Access::write, "seen"}}};
  }
  static bool inside(int32_t x, int32_t y, int32_t z) {
    return x >= 0 && x < int32_t{columns} && y >= 0 && y < int32_t{rows} && z >= 0 && z < int32_t{batch};
  }
  static size_t index(int32_t x, int32_t y, int32_t z) {
    return (static_cast<size_t>(z) * rows + static_cast<size_t>(y)) * columns + static_cast<size_t>(x);
  }
};

/// A box 32 bytes wide: as wide as one swizzle's span, narrower than the other two, whose gap keeps what it held.
constexpr uint32_t box_columns = 16;
constexpr uint16_t untouched = 7;

uint32_t place(Swizzle swizzle, uint32_t row, uint32_t column) {
  const uint32_t span = swizzle == Swizzle::none ? 2 * box_columns : swizzle_span(swizzle);
  return (swizzle_address(swizzle, 0x400 + row * span + 2 * column) - 0x400) / 2;
}

template <bool multicast, CacheHint... hint>
void loads() {
  Memory memory;
  const Launch launch = memory.launch(2);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    for (uint32_t i = lane_index(); i < words; i += 32) store_shared(&s.box[i], untouched);
    fence_proxy_async_shared();
    cluster_sync();
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), p.bytes);
      if constexpr (!multicast)
        tma_load<1>(address(s.box), p.map, address(s.full[0]), p.at, hint...);
      else if (cluster_rank() == 1)
        tma_load_multicast<1>(address(s.box), p.map, address(s.full[0]), p.at, 0b11, hint...);
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
    if (cluster_rank() == 0)
      for (uint32_t i = lane_index(); i < words; i += 32) store_global(p.out + i, load_shared(&s.box[i]));
    cluster_sync();
  };
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (const Coord3 at :
         {Coord3{0, 0, 0}, Coord3{8, 3, 1}, Coord3{16, 8, 2}, Coord3{-8, -1, 1}, Coord3{0, 0, 3}, Coord3{0, 2, -1}}) {
      const TensorMap map = make_map(Memory::args(memory.in.data(), box_columns, swizzle));
      for (const Schedule& schedule :
           {Schedule{Policy::eager}, Schedule{Policy::adversarial}, Schedule{Policy::random, 3}}) {
        memory.seen = {};
        expect_clean(
            run(launch, kernel, Params{map, memory.seen.data(), at, box_columns * box_rows * 2}, with(schedule)));
        std::array<uint16_t, words> want;
        want.fill(untouched);
        for (uint32_t r = 0; r < box_rows; ++r)
          for (uint32_t c = 0; c < box_columns; ++c) {
            const int32_t x = at.c0 + static_cast<int32_t>(c), y = at.c1 + static_cast<int32_t>(r);
            want[place(swizzle, r, c)] = Memory::inside(x, y, at.c2) ? memory.in[Memory::index(x, y, at.c2)] : 0;
          }
        EXPECT_EQ(memory.seen, want) << at.c0 << "," << at.c1 << "," << at.c2;
      }
    }
}

TEST(TmaVolume, LoadsAPieceOfOneMatrix) { loads<false>(); }
TEST(TmaVolume, LoadsWithACacheHint) { loads<false, CacheHint::evict_last>(); }
TEST(TmaVolume, Multicasts) { loads<true>(); }
TEST(TmaVolume, MulticastsWithACacheHint) { loads<true, CacheHint::evict_first>(); }

template <CacheHint... hint>
void stores() {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    for (uint32_t i = lane_index(); i < words; i += 32) store_shared(&s.box[i], static_cast<uint16_t>(2000 + i));
    fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) {
      tma_store(p.map, address(s.box), p.at, hint...);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128})
    for (const Coord3 at : {Coord3{0, 0, 0}, Coord3{8, 3, 1}, Coord3{16, 8, 2}, Coord3{0, 0, 3}}) {
      const TensorMap map = make_map(Memory::args(memory.out.data(), box_columns, swizzle));
      memory.out.fill(untouched);
      expect_clean(run(launch, kernel, Params{map, nullptr, at, 0}, with({Policy::random, 5})));
      auto want = memory.out;
      want.fill(untouched);
      for (uint32_t r = 0; r < box_rows; ++r)
        for (uint32_t c = 0; c < box_columns; ++c) {
          const int32_t x = at.c0 + static_cast<int32_t>(c), y = at.c1 + static_cast<int32_t>(r);
          if (Memory::inside(x, y, at.c2))
            want[Memory::index(x, y, at.c2)] = static_cast<uint16_t>(2000 + place(swizzle, r, c));
        }
      EXPECT_EQ(memory.out, want) << at.c0 << "," << at.c1 << "," << at.c2;
    }
}

// A row past the end of one matrix is not the first of the next.
TEST(TmaVolume, StoresAPieceOfOneMatrix) { stores<>(); }
TEST(TmaVolume, StoresWithACacheHint) { stores<CacheHint::evict_first>(); }

// A map has as many dimensions as the copy names.
TEST(TmaVolume, RankMustBeTheMaps) {
  Memory memory;
  TensorMapArgs flat = Memory::args(memory.in.data(), box_columns, Swizzle::none);
  const TensorMap volume = make_map(flat);
  flat.rank = 2;
  const TensorMap matrix = make_map(flat);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), p.bytes);
      OFFENDING(tma_load<1>(address(s.box), p.map, address(s.full[0]), p.at));
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  const Params right{volume, memory.seen.data(), {0, 0, 0}, box_columns * box_rows * 2};
  Params wrong = right;
  wrong.map = matrix;
  always_found(memory.launch(), kernel, wrong, {"TMA-RULE", {"3", "2"}});
  always_clean(memory.launch(), kernel, right);
}

}  // namespace
}  // namespace warploom::loom
