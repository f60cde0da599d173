// Cases of arch_check: TMA with three-dimensional maps. Boxes with and without swizzle, of rows as long as the
// swizzle's span and shorter, that begin inside, before and beyond the tensor in every dimension, under every cache
// hint.
#pragma once

#include "arch_check_kernel.hpp"
#include "check.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// A cluster of two: each CTA loads the box, or CTA 0 loads it for both.
struct VolumeLoadProbe : Probe<128> {
  static constexpr char name[] = "tma3d-load";
  static constexpr uint32_t ctas = 2, words = 2048;
  struct Params {
    TensorMap map;
    uint32_t* out;  ///< [cta][word]: what shared memory holds afterwards
    int32_t c0, c1, c2;
    uint32_t offset;  ///< of the box, bytes
    uint32_t bytes;   ///< that the box completes
    uint32_t multicast;
    uint32_t hinted;
    CacheHint hint;
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
    arch::Mbarrier full;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index();
    if (thread == 0) {
      arch::prefetch_tensor_map(params.map);
      arch::mbarrier_init(address(&storage.full), 1);
      arch::fence_mbarrier_init();
    }
    fill<threads>(storage.data);
    arch::cluster_sync();
    if (thread == 0) {
      arch::mbarrier_arrive_expect_tx(address(&storage.full), params.bytes);
      load(params, storage);
    }
    arch::mbarrier_wait(address(&storage.full), 1);
    dump<threads>(storage.data, params.out + arch::block_index().x * words);
    arch::cluster_sync();
  }

  static WARPLOOM_FN void load(const Params& params, Storage& storage) noexcept {
    const arch::SharedAddress to = address(storage.data) + params.offset, full = address(&storage.full);
    const arch::Coord3 at{params.c0, params.c1, params.c2};
    if (params.multicast == 0) {
      if (params.hinted == 0)
        arch::tma_load<1>(to, params.map, full, at);
      else
        arch::tma_load<1>(to, params.map, full, at, params.hint);
    } else if (arch::cluster_rank() == 0) {
      if (params.hinted == 0)
        arch::tma_load_multicast<1>(to, params.map, full, at, 3);
      else
        arch::tma_load_multicast<1>(to, params.map, full, at, 3, params.hint);
    }
  }
};

struct VolumeStoreProbe : Probe<128> {
  static constexpr char name[] = "tma3d-store";
  static constexpr uint32_t words = 2048;
  struct Params {
    TensorMap map;
    int32_t c0, c1, c2;
    uint32_t offset;
    uint32_t first;  ///< of the pattern in shared memory
    uint32_t hinted;
    CacheHint hint;
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    fill<threads>(storage.data, params.first);
    arch::syncthreads();
    if (arch::thread_index() != 0) return;
    const arch::SharedAddress from = address(storage.data) + params.offset;
    const arch::Coord3 at{params.c0, params.c1, params.c2};
    if (params.hinted == 0)
      arch::tma_store(params.map, from, at);
    else
      arch::tma_store(params.map, from, at, params.hint);
    arch::bulk_commit_group();
    arch::bulk_wait_group<0>();
  }
};

template <class Machine>
struct Tma3dCheck {
  // A tensor of three planes; rows and planes are longer in memory than in the tensor.
  static constexpr uint32_t width = 152, height = 11, depth = 3;  // bytes, rows, planes
  static constexpr uint32_t pitch = 192, plane = 12 * pitch;      // bytes
  static constexpr uint32_t box_rows = 6, box_planes = 2;

  struct Start {
    int32_t units, row, plane;  ///< units of 16 bytes
  };
  struct Box {
    TensorMapArgs args;
    Start start;
    uint32_t row_bytes, span;  ///< span: bytes from row to row in shared memory
    uint32_t element, offset;
    uint32_t hinted;
    CacheHint hint;
  };

  static Box make(TmaType type, uint32_t element, const void* address, uint32_t swizzle, Start start, uint32_t index) {
    Box box{};
    box.start = start;
    box.span = swizzle == 0 ? 96 : 16u << swizzle;
    box.row_bytes = index % 3 == 1 ? box.span / 2 : box.span;
    if (swizzle == 0) box.span = box.row_bytes;
    box.element = element;
    const uint32_t offsets[] = {0, 128, 256, 896};
    box.offset = offsets[index % 4];
    const CacheHint hints[] = {CacheHint::normal, CacheHint::evict_first, CacheHint::evict_last};
    box.hinted = index % 4 != 0 ? 1 : 0;
    box.hint = hints[index % 3];
    box.args.type = type;
    box.args.rank = 3;
    box.args.address = address;
    box.args.dims = {width / element, height, depth, 1, 1};
    box.args.strides = {pitch, plane, 16, 16};
    box.args.box = {box.row_bytes / element, box_rows, box_planes, 1, 1};
    box.args.swizzle = static_cast<Swizzle>(swizzle);
    return box;
  }

  /// Where byte b of row r of plane p of the box lies. The storage starts at a multiple of 1024.
  static uint32_t place(const Box& box, uint32_t p, uint32_t r, uint32_t b) {
    const uint32_t at = box.offset + (p * box_rows + r) * box.span + b;
    if (box.args.swizzle == Swizzle::none) return at;
    const uint32_t units = box.span / 16, unit = at / 16;
    return (unit / units * units + (unit % units ^ at / 128 % units)) * 16 + at % 16;
  }

  template <class Visit>
  static void each_byte(const Box& box, Visit&& visit) {
    for (uint32_t p = 0; p < box_planes; ++p)
      for (uint32_t r = 0; r < box_rows; ++r)
        for (uint32_t b = 0; b < box.row_bytes; ++b)
          visit(box.start.units * 16 + static_cast<int32_t>(b), box.start.row + static_cast<int32_t>(r),
                box.start.plane + static_cast<int32_t>(p), place(box, p, r, b));
  }
  static bool inside(int32_t x, int32_t y, int32_t z) {
    return x >= 0 && x < int32_t{width} && y >= 0 && y < int32_t{height} && z >= 0 && z < int32_t{depth};
  }
  static size_t offset_of(int32_t x, int32_t y, int32_t z) {
    return static_cast<size_t>(z) * plane + static_cast<size_t>(y) * pitch + static_cast<size_t>(x);
  }

  template <uint32_t multicast>
  static void load(Machine& machine, Comparison& c) {
    using K = VolumeLoadProbe;
    std::vector<unsigned char> source(depth * plane);
    Random random(77);
    for (unsigned char& byte : source) byte = static_cast<unsigned char>(random.word());
    const unsigned char* global = machine.memory(source);
    const Start starts[] = {{0, 0, 0}, {3, 4, 1}, {-1, -2, 1}, {7, 8, 2}, {2, 3, -1}, {1, 0, 3}, {0, -7, 0}};
    uint32_t index = 0;
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
      for (const Start& start : starts) {
        const bool wide = index % 2 == 0;
        const Box box = make(wide ? TmaType::f32 : TmaType::bf16, wide ? 4 : 2, global, swizzle, start, index++);
        const Words nothing(K::ctas * K::words, 0xcccccccc);
        uint32_t* out = machine.memory(nothing, true);
        machine.template launch<K>(
            {{K::ctas}, {K::ctas}, K::threads},
            {machine.encode(box.args), out, start.units * 16 / static_cast<int32_t>(box.element), start.row,
             start.plane, box.offset, box.row_bytes * box_rows * box_planes, multicast, box.hinted, box.hint});
        const Words got = machine.read(out, nothing.size());
        c.got.insert(c.got.end(), got.begin(), got.end());

        Words memory(K::words);
        for (uint32_t w = 0; w < K::words; ++w) memory[w] = pattern(w);
        auto* bytes = reinterpret_cast<unsigned char*>(memory.data());
        each_byte(box, [&](int32_t x, int32_t y, int32_t z, uint32_t at) {
          bytes[at] = inside(x, y, z) ? source[offset_of(x, y, z)] : static_cast<unsigned char>(0);
        });
        for (uint32_t cta = 0; cta < K::ctas; ++cta) c.want.insert(c.want.end(), memory.begin(), memory.end());
      }
  }

  /// Stores clip rows and planes exactly and columns in units of 16 bytes.
  static void store(Machine& machine, Comparison& c) {
    using K = VolumeStoreProbe;
    Words before(depth * plane / 4);
    for (uint32_t i = 0; i < before.size(); ++i) before[i] = pattern(i + 50000);
    const Start starts[] = {{0, 0, 0}, {3, 4, 1}, {7, 8, 2}, {1, 0, 3}, {0, 5, 2}};
    uint32_t index = 0;
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
      for (const Start& start : starts) {
        const bool wide = index % 2 == 0;
        uint32_t* tensor = machine.memory(before, true);
        const Box box = make(wide ? TmaType::u8 : TmaType::bf16, wide ? 1 : 2, tensor, swizzle, start, index);
        const uint32_t first = index++ * 4096;
        machine.template launch<K>({{1}, {1}, K::threads},
                                   {machine.encode(box.args), start.units * 16 / static_cast<int32_t>(box.element),
                                    start.row, start.plane, box.offset, first, box.hinted, box.hint});
        const Words got = machine.read(tensor, before.size());
        c.got.insert(c.got.end(), got.begin(), got.end());

        Words memory(K::words), after = before;
        for (uint32_t w = 0; w < K::words; ++w) memory[w] = pattern(first + w);
        const auto* from = reinterpret_cast<const unsigned char*>(memory.data());
        auto* to = reinterpret_cast<unsigned char*>(after.data());
        each_byte(box, [&](int32_t x, int32_t y, int32_t z, uint32_t at) {
          if (inside(x / 16 * 16, y, z)) to[offset_of(x, y, z)] = from[at];
        });
        c.want.insert(c.want.end(), after.begin(), after.end());
      }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
