// What TMA does at the ends of a tensor and across a cluster, by the formulas of hardware.md §2.3, 2.7 and 2.9 written
// out here: every element size and every place where dimension 0 may end, loads that fill and stores that clip, NaN in
// every type that has one, and every mask from every CTA, with and without pairs.
#include <fmt/format.h>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t region_bytes = 2048;

struct Storage {
  alignas(1024) uint8_t region[region_bytes];
  Mbarrier full[1];
};

struct Params {
  TensorMap map = {};
  bool store = false;
  int32_t c0 = 0, c1 = 0;
  uint32_t tx = 0;
  uint8_t* region = nullptr;  ///< before, and after
};

const auto kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  for (uint32_t i = lane_index(); i < region_bytes; i += 32) store_shared(&s.region[i], p.region[i]);
  fence_proxy_async_shared();
  syncwarp();
  if (lane_index() == 0) {
    if (p.store) {
      tma_store(p.map, address(s.region), {p.c0, p.c1});
      bulk_commit_group();
      bulk_wait_group<0>();
    } else {
      mbarrier_arrive_expect_tx(address(s.full[0]), p.tx);
      tma_load<1>(address(s.region), p.map, address(s.full[0]), {p.c0, p.c1});
      mbarrier_wait(address(s.full[0]), 1);
    }
  }
  syncwarp();
  for (uint32_t i = lane_index(); i < region_bytes; i += 32) p.region[i] = load_shared(&s.region[i]);
};

constexpr uint32_t pitch = 256, tensor_rows = 6, box_rows = 4;

struct Memory {
  alignas(256) std::array<uint8_t, pitch * 8> global;
  std::array<uint8_t, region_bytes> region;
  Memory() {
    for (uint32_t i = 0; i < global.size(); ++i) global[i] = static_cast<uint8_t>(1 + i * 2654435761u % 250);
    for (uint32_t i = 0; i < region.size(); ++i) region[i] = static_cast<uint8_t>(3 + i * 40503u % 250);
  }
};

TensorMapArgs args_of(Memory& memory, TmaType type, uint32_t size, uint32_t elements, uint32_t box_bytes) {
  TensorMapArgs args;
  args.type = type;
  args.address = memory.global.data();
  args.dims = {elements, tensor_rows, 1, 1, 1};
  args.strides[0] = pitch;
  args.box = {box_bytes / size, box_rows, 1, 1, 1};
  return args;
}

struct Sized {
  TmaType type;
  uint32_t size;
};

// Rows that end at every element of two 16-byte units: a load fills from there on, a store writes to the end of the
// unit; the row after the last one is neither read nor written.
TEST(TmaFill, EveryEndOfARow) {
  const std::vector<Schedule> list = schedules();
  uint32_t number = 0;
  for (const auto& [type, size] : {Sized{TmaType::u8, 1}, Sized{TmaType::bf16, 2}, Sized{TmaType::f32, 4},
                                   Sized{TmaType::s32, 4}, Sized{TmaType::u64, 8}, Sized{TmaType::f64, 8}})
    for (uint32_t end = 64 + size; end <= 96; end += size)
      for (const int32_t c0 : {-32, 0, 48, 80, 112})
        for (const int32_t c1 : {-2, 3, 6}) {
          for (const bool store : {false, true}) {
            if (store && (c0 < 0 || c1 < 0)) continue;
            SCOPED_TRACE(fmt::format("type {} of {} bytes, rows of {} bytes, box at byte {}, row {}{}",
                                     static_cast<int>(type), size, end, c0, c1, store ? ", store" : ""));
            Memory memory;
            const Memory fresh;
            constexpr uint32_t box_bytes = 64;
            Params p;
            p.map = make_map(args_of(memory, type, size, end / size, box_bytes));
            p.store = store;
            p.c0 = c0 / static_cast<int32_t>(size);
            p.c1 = c1;
            p.tx = box_bytes * box_rows;
            p.region = memory.region.data();
            const Launch launch{.shared_bytes = sizeof(Storage),
                                .tensors = {{memory.global.data(), sizeof(memory.global), Access::write, "global"}}};
            expect_clean(run(launch, kernel, p, with(list[number++ % list.size()])));
            auto global = fresh.global;
            auto region = fresh.region;
            for (uint32_t r = 0; r < box_rows; ++r)
              for (uint32_t b = 0; b < box_bytes; ++b) {
                const int64_t x = c0 + int64_t{b}, y = c1 + int64_t{r};
                const bool row = y >= 0 && y < int64_t{tensor_rows};
                const bool load = row && x >= 0 && x < int64_t{end};
                const bool clip = row && x >= 0 && x < (int64_t{end} + 15) / 16 * 16;
                const auto at = static_cast<size_t>(y * pitch + x);
                if (store && clip) global[at] = fresh.region[r * box_bytes + b];
                if (!store) region[r * box_bytes + b] = load ? fresh.global[at] : uint8_t{0};
              }
            ASSERT_EQ(memory.global, global);
            ASSERT_EQ(memory.region, region);
          }
        }
  EXPECT_EQ(number, (32u + 16 + 8 + 8 + 4 + 4) * (5 * 3 + 4 * 2));
}

// 0x7ff7, again and again, in every type that has a NaN; the map of another type is refused.
TEST(TmaFill, NanOfEveryType) {
  for (int code = 0; code <= 12; ++code) {
    const auto type = static_cast<TmaType>(code);
    const bool floating = type == TmaType::f16 || type == TmaType::bf16 || type == TmaType::f32 ||
                          type == TmaType::f64 || type == TmaType::f32_ftz || type == TmaType::tf32 ||
                          type == TmaType::tf32_ftz;
    const uint32_t size = tma_element_bits(type) / 8;
    SCOPED_TRACE(code);
    Memory memory;
    const Memory fresh;
    TensorMapArgs args = args_of(memory, type, size, 64 / size, 64);
    args.fill = TmaFill::nan;
    ASSERT_EQ(static_cast<bool>(encode_tensor_map(args, Chip::sm90)), floating);
    if (!floating) continue;
    Params p;
    p.map = make_map(args);
    p.c0 = static_cast<int32_t>(48 / size);
    p.c1 = 5;
    p.tx = 64 * box_rows;
    p.region = memory.region.data();
    const Launch launch{.shared_bytes = sizeof(Storage),
                        .tensors = {{memory.global.data(), sizeof(memory.global), Access::read, "global"}}};
    expect_clean(run(launch, kernel, p));
    for (uint32_t r = 0; r < box_rows; ++r)
      for (uint32_t b = 0; b < 64; ++b) {
        if (r == 0 && b < 16) {
          if (type != TmaType::tf32 && type != TmaType::tf32_ftz) {  // which round; Tma.Tf32LoadsRoundToNearestEven
            ASSERT_EQ(memory.region[b], fresh.global[5 * pitch + 48 + b]);
          }
          continue;
        }
        ASSERT_EQ(memory.region[r * 64 + b], b % 2 == 0 ? 0xf7 : 0x7f) << "row " << r << " byte " << b;
      }
  }
}

// ---------------------------------------------------------------------------------------------------------- multicast

constexpr uint32_t ctas = 4, box_words = 32;

struct CastStorage {
  alignas(128) uint32_t box[box_words];
  Mbarrier full[1];
};

struct CastParams {
  TensorMap map = {};
  uint32_t mask = 0, issuer = 0;
  bool pair = false;
  uint32_t owner = 0;       ///< pair form: the CTA of the issuer's pair whose barrier is named
  uint32_t* out = nullptr;  ///< per CTA: first word of the box, and whether its barrier completed
};

const auto multicast = [](const CastParams& p) {
  auto& s = shared<CastStorage>();
  init_barriers(s.full, 1);
  const uint32_t rank = cluster_rank();
  // §2.7: each CTA of the mask has the box at the same offset, and its own barrier counts all bytes. §2.9: with
  // cta_group::2 the barrier is that of the CTA of the destination's pair whose parity is the named barrier's.
  uint32_t boxes = 0;
  for (uint32_t to = 0; to < ctas; ++to)
    if ((p.mask >> to & 1) != 0 && (p.pair ? (to & ~1u) | (p.owner & 1) : to) == rank) ++boxes;
  if (lane_index() == 0) {
    for (uint32_t i = 0; i < box_words; ++i) store_shared(&s.box[i], 7 + rank);
    fence_proxy_async_shared();
    if (boxes != 0) mbarrier_arrive_expect_tx(address(s.full[0]), boxes * box_words * 4);
  }
  cluster_sync();
  if (lane_index() == 0) {
    if (rank == p.issuer) {
      const SharedAddress named = p.pair ? map_to_rank(address(s.full[0]), p.owner) : address(s.full[0]);
      if (p.pair)
        tma_load_multicast<2>(address(s.box), p.map, named, {0, 0}, static_cast<uint16_t>(p.mask));
      else
        tma_load_multicast<1>(address(s.box), p.map, named, {0, 0}, static_cast<uint16_t>(p.mask));
    }
    if (boxes != 0) mbarrier_wait(address(s.full[0]), 1);
  }
  cluster_sync();
  if (lane_index() == 0) {
    uint32_t same = 1;
    for (uint32_t i = 0; i < box_words; ++i)
      same &= load_shared(&s.box[i]) == ((p.mask >> rank & 1) != 0 ? 100 + i : 7 + rank) ? 1 : 0;
    store_global(p.out + 2 * rank, same);
    store_global(p.out + 2 * rank + 1, uint32_t{mbarrier_test(address(s.full[0]), 1)} | boxes << 8);
  }
  cluster_sync();
};

TEST(TmaFill, MulticastOfEveryMaskFromEveryCta) {
  alignas(128) static std::array<uint32_t, box_words> source;
  for (uint32_t i = 0; i < box_words; ++i) source[i] = 100 + i;
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.address = source.data();
  args.dims = {box_words, 1, 1, 1, 1};
  args.strides[0] = box_words * 4;
  args.box = {box_words, 1, 1, 1, 1};
  std::array<uint32_t, 2 * ctas> out;
  Launch launch{.grid = {ctas},
                .cluster = {ctas},
                .shared_bytes = sizeof(CastStorage),
                .tensors = {{source.data(), sizeof(source), Access::read, "source"},
                            {out.data(), sizeof(out), Access::write, "out"}}};
  const std::vector<Schedule> list = schedules(launch);
  uint32_t number = 0;
  for (uint32_t mask = 1; mask < 1u << ctas; ++mask)
    for (uint32_t issuer = 0; issuer < ctas; ++issuer)
      for (uint32_t form = 0; form < 3; ++form) {  // alone; the even CTA's barrier; the odd CTA's
        SCOPED_TRACE(fmt::format("mask {:b} from {} form {}", mask, issuer, form));
        CastParams p{make_map(args), mask, issuer, form != 0, (issuer & ~1u) | (form == 2 ? 1 : 0), out.data()};
        out.fill(~0u);
        expect_clean(run(launch, multicast, p, with(list[number++ % list.size()])));
        for (uint32_t rank = 0; rank < ctas; ++rank) {
          EXPECT_EQ(out[2 * rank], 1u) << "bytes of CTA " << rank;
          const uint32_t boxes = out[2 * rank + 1] >> 8;
          EXPECT_EQ(out[2 * rank + 1] & 1, boxes != 0 ? 1u : 0u) << "barrier of CTA " << rank;
        }
      }
  EXPECT_EQ(number, 15u * 4 * 3);
}

}  // namespace
}  // namespace warploom::loom
