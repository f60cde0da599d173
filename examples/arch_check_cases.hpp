// The cases of arch_check, for either machine: inputs, launches, and what plain C++ says the words are.
#pragma once

#include <bit>
#include <cmath>
#include <initializer_list>

#include "arch_check_atomics.hpp"
#include "arch_check_convert.hpp"
#include "arch_check_kernel.hpp"
#include "arch_check_moves.hpp"
#include "arch_check_numbers.hpp"
#include "arch_check_tma3d.hpp"
#include "arch_check_votes.hpp"
#include "check.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
struct ArchCheck {
  // ---- identity and warps

  static void identity(Machine& machine, Comparison& c) {
    using K = IdentityProbe;
    const Dim3 grid{4, 4, 2}, cluster{2, 2, 2}, clusters{2, 2, 1};
    run<K>(machine, c, {grid, cluster, K::threads}, grid.count() * K::threads * K::words);
    for (uint32_t z = 0; z < grid.z; ++z)
      for (uint32_t y = 0; y < grid.y; ++y)
        for (uint32_t x = 0; x < grid.x; ++x)
          for (uint32_t thread = 0; thread < K::threads; ++thread) {
            const uint32_t rank = x % 2 + 2 * (y % 2 + 2 * (z % 2)), lane = thread % 32, warp = thread / 32;
            put(c, {thread, warp, lane, x, y, z, grid.x, grid.y, grid.z, rank, x / 2, y / 2, z / 2});
            put(c, {clusters.x, clusters.y, clusters.z});
            put(c, {rank << 24 | 0x400, rank << 24 | 0x40c, (7 - rank) << 24 | 0x400, 0x400, (rank & 6) << 24 | 0x400});
            put(c, {lane == 0, lane % 16 == 0, lane == 8, lane == 19 ? warp + 100 : 99, warp});
          }
  }

  static void shuffles(Machine& machine, Comparison& c) {
    using K = ShuffleProbe;
    run<K>(machine, c, {{1}, {1}, K::threads}, K::threads * K::words);
    for (uint32_t thread = 0; thread < K::threads; ++thread) {
      const uint32_t lane = thread % 32, base = thread - lane;
      for (uint32_t source = 0; source < 40; ++source) put(c, {pattern(base + source % 32)});
      for (uint32_t step = 0; step < 32; ++step)
        put(c, {pattern(base + (lane * step + 3) % 32), pattern(base + (lane ^ step)),
                pattern(base + (lane >= step ? lane - step : lane)),
                pattern(base + (lane + step < 32 ? lane + step : lane))});
      const uint32_t half = lane / 16 * 16;
      for (uint32_t step = 0; step < 16; ++step)
        put(c, {pattern(base + half + (lane + step) % 16), pattern(base + (lane ^ step)),
                half == 0 ? pattern(base + (lane >= step ? lane - step : lane))
                          : pattern(base + (lane + step < 32 ? lane + step : lane))});
    }
  }

  static void stmatrix(Machine& machine, Comparison& c) {
    using K = StoreMatrixProbe;
    constexpr uint32_t ctas = 2, areas = K::warps * K::variants;
    run<K>(machine, c, {{ctas}, {ctas}, K::threads}, ctas * areas * K::area_words);
    for (uint32_t cta = 0; cta < ctas; ++cta) {
      Words memory(areas * K::area_words);
      for (uint32_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i);
      for (uint32_t area = 0; area < areas; ++area) {
        const uint32_t variant = area % K::variants, tiles = 1u << variant / 2;
        const bool transposed = variant % 2 == 1;
        for (uint32_t tile = 0; tile < tiles; ++tile)
          for (uint32_t row = 0; row < 8; ++row)
            for (uint32_t column = 0; column < 8; ++column) {
              const uint32_t i = transposed ? column : row, j = transposed ? row : column;
              const uint32_t value = K::half(cta, area, tile, 4 * i + j / 2, j % 2) & 0xffff;
              uint32_t& word = memory[area * K::area_words + 4 * K::row_of(8 * tile + row, tiles) + column / 2];
              word = column % 2 == 0 ? (word & 0xffff0000u) | value : (word & 0xffffu) | value << 16;
            }
      }
      append(c, memory);
    }
  }

  static void ldmatrix(Machine& machine, Comparison& c) {
    using K = LoadMatrixProbe;
    constexpr uint32_t ctas = 2;
    run<K>(machine, c, {{ctas}, {ctas}, K::threads}, ctas * K::threads * K::words);
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t thread = 0; thread < K::threads; ++thread)
        for (uint32_t form = 0; form < K::forms; ++form)
          for (uint32_t tiles = 1u << form / 2, tile = 0; tile < tiles; ++tile) {
            uint32_t word = 0;
            for (uint32_t which = 0; which < 2; ++which) {
              const uint32_t i = thread % 32 / 4, j = 2 * (thread % 4) + which;
              const uint32_t row = form % 2 == 0 ? i : j, column = form % 2 == 0 ? j : i;
              const uint32_t line = K::rows * (thread / 32) + StoreMatrixProbe::row_of(8 * tile + row, tiles);
              word |= (pattern((cta << 20) + 4 * line + column / 2) >> 16 * (column % 2) & 0xffff) << 16 * which;
            }
            put(c, {word});
          }
  }

  // ---- barriers

  struct BarrierModel {
    uint32_t phases = 0, expected = 0, pending = 0;
    int64_t bytes = 0;
    void settle() {
      if (pending != 0 || bytes != 0) return;
      ++phases;
      pending = expected;
    }
  };

  /// Any legal sequence of operations: no more arrivals than are pending, somebody always left to arrive.
  static void mbarrier_script(Machine& machine, Comparison& c) {
    using K = BarrierScriptProbe;
    constexpr uint32_t ctas = 2, steps = 600;
    Words script, want;
    for (uint32_t warp = 0; warp < K::scripts; ++warp) {
      Random random(100 + warp);
      BarrierModel model;
      uint32_t until_invalid = 0;
      for (uint32_t step = 0; step < steps; ++step) {
        auto add = [&](BarrierOp op, uint32_t value) { put(script, {static_cast<uint32_t>(op), value}); };
        const bool last = step + 1 == steps;  // a barrier in the middle of a phase must not outlive the kernel
        if (until_invalid <= 1 || last) {
          if (until_invalid == 1 || last) {
            add(BarrierOp::invalidate, 0);
            put(want, {0xdead});
            until_invalid = 0;
            continue;
          }
          const uint32_t counts[] = {1, 2, 3, 5, 32, 128, 1000, arch::mbarrier_max_count};
          model = {};
          model.expected = model.pending = counts[random.below(8)];
          add(BarrierOp::init, model.expected);
          until_invalid = 10 + random.below(60);
        } else {
          --until_invalid;
          const uint32_t choice = random.below(10);
          const uint32_t amount = 16 + random.below(1000);
          if (choice < 4 && model.pending > 0) {
            const uint32_t all = random.below(2) == 0 ? model.pending : 1 + random.below(model.pending);
            add(BarrierOp::arrive, all);
            model.pending -= all;
          } else if (choice < 6 && model.pending > 0) {
            const uint32_t bytes =
                model.bytes < 0 && random.below(2) == 0 ? static_cast<uint32_t>(-model.bytes) : amount;
            add(BarrierOp::arrive_expect, bytes);
            model.bytes += bytes;
            model.pending -= 1;
          } else if (choice == 6 && model.pending > 0 && model.expected > 1) {
            const uint32_t most = model.pending < model.expected ? model.pending : model.expected - 1;
            const uint32_t gone = 1 + random.below(most < 3 ? most : 3);
            add(BarrierOp::arrive_drop, gone);
            model.expected -= gone;
            model.pending -= gone;
          } else if (model.bytes > 0 || (model.bytes == 0 && choice == 7)) {
            const uint32_t bytes =
                model.bytes > 0 && random.below(3) != 0 ? static_cast<uint32_t>(model.bytes) : 1 + random.below(900);
            add(BarrierOp::complete, bytes);
            model.bytes -= bytes;
          } else {
            const uint32_t bytes =
                model.bytes < 0 && random.below(3) != 0 ? static_cast<uint32_t>(-model.bytes) : amount;
            add(BarrierOp::expect, bytes);
            model.bytes += bytes;
          }
          model.settle();
        }
        put(want, {model.phases | 1u << 31});
      }
    }
    const std::vector<uint32_t> nothing(ctas * K::scripts * steps, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>({{ctas}, {ctas}, K::threads}, {machine.memory(script), out, steps});
    c.got = machine.read(out, nothing.size());
    for (uint32_t cta = 0; cta < ctas; ++cta) append(c, want);
  }

  static void mbarrier_group(Machine& machine, Comparison& c) {
    using K = BarrierGroupProbe;
    constexpr uint32_t ctas = 2 * K::ctas;
    run<K>(machine, c, {{ctas}, {K::ctas}, K::threads}, ctas * K::threads * K::words);
    for (uint32_t cta = 0; cta < ctas; ++cta) {
      Words mail(K::threads), values(K::threads);
      for (uint32_t t = 0; t < K::threads; ++t) values[t] = pattern(cta % K::ctas * K::threads + t);
      std::vector<Words> seen(K::threads);
      for (uint32_t round = 0; round < K::rounds; ++round) {
        mail = values;
        for (uint32_t t = 0; t < K::threads; ++t) {
          values[t] = mail[(t + 37) % K::threads] * 3 + round;
          seen[t].push_back(values[t]);
          seen[t].push_back(round + 1);
        }
      }
      for (uint32_t t = 0; t < K::threads; ++t) {
        append(c, seen[t]);
        put(c, {1, 1, 1, 1});
      }
    }
  }

  static void named_barriers(Machine& machine, Comparison& c) {
    using K = NamedBarrierProbe;
    constexpr uint32_t ctas = 3, n = K::threads;
    run<K>(machine, c, {{ctas}, {1}, n}, ctas * n * K::words);
    for (uint32_t cta = 0; cta < ctas; ++cta) {
      Words v(n), old;
      std::vector<Words> seen(n);
      auto note = [&] {
        for (uint32_t t = 0; t < n; ++t) seen[t].push_back(v[t]);
      };
      for (uint32_t t = 0; t < n; ++t) v[t] = pattern(t);
      for (uint32_t round = 0; round < K::rounds; ++round) {
        old = v;
        for (uint32_t t = 0; t < n; ++t) v[t] = old[(t / 32 + 3) % 4 * 32 + 31 - t % 32] * 5 + round;
        note();
      }
      old = v;
      for (uint32_t t = 0; t < n; ++t) v[t] += old[t ^ 63];
      note();
      old = v;
      for (uint32_t t = 0; t < n; ++t) v[t] ^= old[t ^ 127];
      note();
      old = v;
      for (uint32_t t = 0; t < n; ++t) v[t] = old[127 - (t + 1) % n];
      note();
      for (const Words& words : seen) append(c, words);
    }
  }

  // ---- TMA

  static uint32_t element_bytes(TmaType type) {
    switch (type) {
      case TmaType::u8: return 1;
      case TmaType::u16:
      case TmaType::f16:
      case TmaType::bf16: return 2;
      case TmaType::u64:
      case TmaType::s64:
      case TmaType::f64: return 8;
      default: return 4;
    }
  }
  static uint32_t span_of(Swizzle swizzle) {
    return swizzle == Swizzle::none ? 0 : 16u << static_cast<uint32_t>(swizzle);
  }

  /// Where byte b of row r of the box at `offset` lies. The storage starts at a multiple of 1024.
  static uint32_t place(const TensorMapArgs& map, uint32_t offset, uint32_t row, uint32_t byte) {
    const uint32_t span = span_of(map.swizzle), row_bytes = map.box[0] * element_bytes(map.type);
    if (span == 0) return offset + row * row_bytes + byte;
    const uint32_t at = offset + row * span + byte;
    const uint32_t units = span / 16;  // the unit of 16 bytes in its span, exchanged by the 128-byte line
    const uint32_t unit = at / 16;
    return (unit / units * units + (unit % units ^ at / 128 % units)) * 16 + at % 16;
  }

  static uint32_t round_tf32(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffe000u;
    const uint32_t down = bits & ~0x1fffu, rest = bits & 0x1fffu;
    return down + (rest > 0x1000 || (rest == 0x1000 && (down >> 13 & 1) != 0) ? 0x2000 : 0);
  }

  struct Source {
    static constexpr uint32_t rows = 20, pitch = 320;  // bytes
    std::vector<unsigned char> bytes;
    explicit Source(uint64_t seed) : bytes(rows * pitch) {
      Random random(seed);
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.word());
    }
  };

  static TensorMapArgs make_args(TmaType type, const void* address, uint32_t width, uint32_t height, uint32_t pitch,
                                 uint32_t box_bytes, uint32_t box_rows, Swizzle swizzle) {
    TensorMapArgs args;
    args.type = type;
    args.address = address;
    args.dims = {width / element_bytes(type), height, 1, 1, 1};
    args.strides = {pitch, 16, 16, 16};
    args.box = {box_bytes / element_bytes(type), box_rows, 1, 1, 1};
    args.swizzle = swizzle;
    return args;
  }

  /// One type: every swizzle, rows as long as the span and shorter, starts inside, before and beyond the tensor.
  template <TmaType type, TmaFill fill_mode, uint32_t row_step = 1>
  static void tma_load(Machine& machine, Comparison& c) {
    using K = TmaLoadProbe;
    const Source source(static_cast<uint64_t>(type));
    const unsigned char* global = machine.memory(source.bytes);
    const uint32_t size = element_bytes(type), unit = 16 / size;
    // 19 rows of 296 bytes: the last 16-byte unit of a row is cut, and what follows the row must not be seen.
    constexpr uint32_t width = 296, height = 19, box_rows = 12;
    struct Start {
      int32_t units, row;
    };
    const Start starts[] = {{0, 0}, {5, 6}, {-1, -2}, {17, 13}, {-9, 30}, {400, -1}};
    const uint32_t offsets[] = {0, 128, 256, 896};
    std::vector<typename K::Params> launches;
    std::vector<TensorMapArgs> maps;
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
      for (uint32_t narrow = 0; narrow < 2; ++narrow)
        for (const Start& start : starts) {
          const uint32_t span = swizzle == 0 ? 96 : span_of(static_cast<Swizzle>(swizzle));
          TensorMapArgs args = make_args(type, global, width, height, Source::pitch, narrow != 0 ? span / 2 : span,
                                         box_rows, static_cast<Swizzle>(swizzle));
          args.fill = fill_mode;
          args.element_strides[1] = row_step;
          const uint32_t rows = (box_rows + row_step - 1) / row_step;
          typename K::Params params{};
          params.map = machine.encode(args);
          params.at = {start.units * static_cast<int32_t>(unit), start.row};
          params.offset = offsets[launches.size() % 4];
          params.bytes = args.box[0] * size * rows;
          launches.push_back(params);
          maps.push_back(args);
        }
    const Words nothing(launches.size() * K::words, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    for (size_t i = 0; i < launches.size(); ++i) {
      launches[i].out = out + i * K::words;
      machine.template launch<K>({{1}, {1}, K::threads}, launches[i]);
    }
    c.got = machine.read(out, nothing.size());

    for (size_t i = 0; i < launches.size(); ++i) {
      Words memory(K::words);
      for (uint32_t w = 0; w < K::words; ++w) memory[w] = pattern(w);
      auto* bytes = reinterpret_cast<unsigned char*>(memory.data());
      const TensorMapArgs& map = maps[i];
      for (uint32_t row = 0; row < (box_rows + row_step - 1) / row_step; ++row)
        for (uint32_t e = 0; e < map.box[0]; ++e) {
          unsigned char element[8];
          const int64_t x = launches[i].at.c0 + static_cast<int64_t>(e);
          const int64_t y = launches[i].at.c1 + static_cast<int64_t>(row) * row_step;
          if (x >= 0 && x < static_cast<int64_t>(map.dims[0]) && y >= 0 && y < height) {
            std::memcpy(element, &source.bytes[static_cast<size_t>(y) * Source::pitch + static_cast<size_t>(x) * size],
                        size);
            if (type == TmaType::tf32) {
              uint32_t bits;
              std::memcpy(&bits, element, 4);
              bits = round_tf32(bits);
              std::memcpy(element, &bits, 4);
            }
          } else {
            for (uint32_t b = 0; b < size; ++b)
              element[b] = fill_mode == TmaFill::zeros ? 0 : static_cast<unsigned char>(b % 2 == 0 ? 0xf7 : 0x7f);
          }
          for (uint32_t b = 0; b < size; ++b) bytes[place(map, launches[i].offset, row, e * size + b)] = element[b];
        }
      append(c, memory);
    }
  }

  /// Stores clip rows exactly and columns in units of 16 bytes.
  static void tma_store(Machine& machine, Comparison& c) {
    using K = TmaStoreProbe;
    constexpr uint32_t height = 14, tensor_rows = 16, pitch = 256, width = 200, box_rows = 12;
    struct Start {
      uint32_t units;
      int32_t row;
    };
    const Start starts[] = {{0, 0}, {3, 5}, {12, 13}, {13, 2}, {9, 14}};
    const TmaType types[] = {TmaType::u8, TmaType::bf16, TmaType::f32, TmaType::u64};
    const uint32_t offsets[] = {0, 128, 256, 896};
    std::vector<uint32_t*> tensors;
    Words before(tensor_rows * pitch / 4);
    for (uint32_t i = 0; i < before.size(); ++i) before[i] = pattern(i + 50000);
    uint32_t index = 0;
    for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
      for (const TmaType type : types)
        for (const Start& start : starts) {
          uint32_t* tensor = machine.memory(before, true);
          tensors.push_back(tensor);
          const uint32_t span = swizzle == 0 ? 96 : span_of(static_cast<Swizzle>(swizzle));
          const uint32_t row_bytes = index % 3 == 0 ? span / 2 : span;
          const TensorMapArgs args =
              make_args(type, tensor, width, height, pitch, row_bytes, box_rows, static_cast<Swizzle>(swizzle));
          typename K::Params params{};
          params.map = machine.encode(args);
          params.at = {static_cast<int32_t>(start.units * 16 / element_bytes(type)), start.row};
          params.offset = offsets[index % 4];
          params.first = index * 4096;
          machine.template launch<K>({{1}, {1}, K::threads}, params);

          Words memory(K::words), after = before;
          for (uint32_t w = 0; w < K::words; ++w) memory[w] = pattern(params.first + w);
          const auto* from = reinterpret_cast<const unsigned char*>(memory.data());
          auto* to = reinterpret_cast<unsigned char*>(after.data());
          for (uint32_t row = 0; row < box_rows; ++row)
            for (uint32_t byte = 0; byte < row_bytes; ++byte) {
              const uint32_t x = start.units * 16 + byte, y = static_cast<uint32_t>(start.row) + row;
              if (x / 16 * 16 < width && y < height) to[y * pitch + x] = from[place(args, params.offset, row, byte)];
            }
          append(c, after);
          ++index;
        }
    for (const uint32_t* tensor : tensors) {
      const Words after = machine.read(tensor, before.size());
      c.got.insert(c.got.end(), after.begin(), after.end());
    }
  }

  static void bulk_groups(Machine& machine, Comparison& c) {
    using K = BulkGroupProbe;
    const Words nothing(K::rounds * K::buffer_words, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>(
        {{1}, {1}, K::threads},
        {machine.encode(make_args(TmaType::u32, out, 128, K::rounds * K::rows, 128, 128, K::rows, Swizzle::none))});
    c.got = machine.read(out, nothing.size());
    for (uint32_t i = 0; i < nothing.size(); ++i) put(c, {pattern(i)});
  }

  static void multicast(Machine& machine, Comparison& c) {
    using K = MulticastProbe;
    Words source(K::ctas * K::box_words);
    for (uint32_t i = 0; i < source.size(); ++i) source[i] = pattern(i + 90000);
    const uint32_t* global = machine.memory(source);
    const uint32_t masks[][K::ctas] = {{0xf, 0xf, 0xf, 0xf}, {0, 0, 0xb, 0},   {0x8, 0x4, 0x2, 0x1},
                                       {0x1, 0x3, 0x7, 0xf}, {0xe, 0, 0, 0x7}, {0x2, 0x1, 0, 0}};
    for (const auto& mask : masks) {
      const Words nothing(K::ctas * K::words, 0xcccccccc);
      uint32_t* out = machine.memory(nothing, true);
      typename K::Params params{
          machine.encode(make_args(TmaType::u32, global, 128, K::ctas * K::rows, 128, 128, K::rows, Swizzle::b128)),
          out,
          {}};
      for (uint32_t r = 0; r < K::ctas; ++r) params.masks[r] = mask[r];
      machine.template launch<K>({{K::ctas}, {K::ctas}, K::threads}, params);
      const Words got = machine.read(out, nothing.size());
      c.got.insert(c.got.end(), got.begin(), got.end());
      for (uint32_t cta = 0; cta < K::ctas; ++cta)
        for (uint32_t from = 0; from < K::ctas; ++from)
          for (uint32_t w = 0; w < K::box_words; ++w) {
            const uint32_t swizzled = w ^ (w / 32 % 8) * 4;  // which word of the box lies here
            put(c, {(mask[from] >> cta & 1) != 0 ? source[from * K::box_words + swizzled]
                                                 : pattern(cta * K::words + from * K::box_words + w)});
          }
    }
  }

  // ---- arithmetic and plain memory

  static void pack(Machine& machine, Comparison& c) {
    using K = PackProbe;
    run<K>(machine, c, {{K::count / K::threads}, {1}, K::threads}, K::count * K::words);
    auto nearest_even = [](uint32_t bits) -> uint32_t {
      if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
      const uint32_t down = bits >> 16, rest = bits & 0xffff;
      return down + (rest > 0x8000 || (rest == 0x8000 && down % 2 == 1) ? 1 : 0);
    };
    for (uint32_t i = 0; i < K::count; ++i) put(c, {nearest_even(K::low(i)) | nearest_even(K::high(i)) << 16});
    for (uint32_t i = 0; i < K::count; ++i) put(c, {i << 16});
  }

  static void arithmetic(Machine& machine, Comparison& c) {
    using K = ArithmeticProbe;
    constexpr uint32_t count = 1 << 16;
    const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                0x7fc00000, 0x7f800001, 0xffc12345, 0x00000001, 0x80000001, 0x007fffff,
                                0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x34000000, 0x33800000};
    constexpr uint32_t specials = sizeof(special) / 4;
    Random random(5);
    Words operands[3];
    for (uint32_t i = 0; i < count; ++i)
      for (int o = 0; o < 3; ++o) {
        const uint32_t every = o == 0 ? 1 : o == 1 ? specials : specials * specials;
        if (i < specials * specials * specials) {
          operands[o].push_back(special[i / every % specials]);
        } else if (i % 2 == 0) {
          operands[o].push_back(random.word());
        } else {  // near 1, and c near -(a * b): the fused product shows
          const uint32_t near = 0x3f000000 + (random.word() & 0x01ffffff);
          operands[o].push_back(o == 2 ? near | 0x80000000u : near);
        }
      }
    const Words nothing(2 * count, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<K>(
        {{count / K::threads}, {1}, K::threads},
        {machine.memory(operands[0]), machine.memory(operands[1]), machine.memory(operands[2]), out, count});
    c.got = machine.read(out, nothing.size());
    auto value = [&](int o, uint32_t i) { return std::bit_cast<float>(operands[o][i]); };
    for (uint32_t i = 0; i < count; ++i)
      put(c, {K::canonical(std::bit_cast<uint32_t>(std::fma(value(0, i), value(1, i), value(2, i))))});
    for (uint32_t i = 0; i < count; ++i)  // one rounding: a product of two floats is exact in double
      put(c, {K::canonical(std::bit_cast<uint32_t>(
                 static_cast<float>(static_cast<double>(value(0, i)) * static_cast<double>(value(1, i)))))});
  }

  static void access(Machine& machine, Comparison& c) {
    using K = AccessProbe;
    std::vector<unsigned char> in(K::bytes), out_bytes(K::bytes, 0xcc), want(K::bytes);
    Random random(9);
    for (unsigned char& byte : in) byte = static_cast<unsigned char>(random.word());
    unsigned char* out = machine.memory(out_bytes, true);
    machine.template launch<K>({{1}, {1}, K::threads}, {machine.memory(in), out});
    out_bytes = machine.read(out, out_bytes.size());
    uint32_t offset = 0;
    for (const uint32_t size : {16u, 8u, 4u, 2u, 1u}) {
      for (uint32_t t = 0; t < K::threads; ++t)
        std::memcpy(&want[offset + t * size], &in[offset + (K::threads - 1 - t) * size], size);
      offset += K::threads * size;
    }
    for (uint32_t i = 0; i < K::bytes; ++i) c.got.push_back(out_bytes[i]), c.want.push_back(want[i]);
  }

  static std::vector<Case<Machine>> cases() {
    return {{"identity", &identity},
            {"shuffle", &shuffles},
            {"stmatrix", &stmatrix},
            {"ldmatrix", &ldmatrix},
            {"mbarrier-script", &mbarrier_script},
            {"mbarrier-group", &mbarrier_group},
            {"named-barrier", &named_barriers},
            {"tma-load-u8", &tma_load<TmaType::u8, TmaFill::zeros>},
            {"tma-load-u16", &tma_load<TmaType::u16, TmaFill::zeros>},
            {"tma-load-bf16-nan", &tma_load<TmaType::bf16, TmaFill::nan>},
            {"tma-load-f32-nan", &tma_load<TmaType::f32, TmaFill::nan>},
            {"tma-load-tf32", &tma_load<TmaType::tf32, TmaFill::zeros>},
            {"tma-load-u64", &tma_load<TmaType::u64, TmaFill::zeros>},
            {"tma-load-f64-nan", &tma_load<TmaType::f64, TmaFill::nan>},
            {"tma-load-every-3rd-row", &tma_load<TmaType::bf16, TmaFill::zeros, 3>},
            {"tma-store", &tma_store},
            {"bulk-group", &bulk_groups},
            {"tma-multicast", &multicast},
            {"pack-bf16", &pack},
            {"fma", &arithmetic},
            {"access", &access},
            {"tma3d-load", &Tma3dCheck<Machine>::template load<0>},
            {"tma3d-multicast", &Tma3dCheck<Machine>::template load<1>},
            {"tma3d-store", &Tma3dCheck<Machine>::store},
            {"pack-small", &NumbersCheck<Machine>::small_pack},
            {"numbers", &NumbersCheck<Machine>::numbers},
            {"reciprocal", &NumbersCheck<Machine>::reciprocals},
            {"special-functions", &NumbersCheck<Machine>::special_functions},
            {"activation", &NumbersCheck<Machine>::activations},
            {"atomic", &NumbersCheck<Machine>::atomics},
            {"votes", &VotesCheck<Machine>::votes},
            {"parity", &VotesCheck<Machine>::parity},
            {"typed-atomics", &AtomicsCheck<Machine>::typed},
            {"convert", &ConvertCheck<Machine>::hopper}};
  }

 private:
  static void put(Words& words, std::initializer_list<uint32_t> more) { words.insert(words.end(), more); }
  static void put(Comparison& c, std::initializer_list<uint32_t> more) { put(c.want, more); }
  static void append(Comparison& c, const Words& more) { c.want.insert(c.want.end(), more.begin(), more.end()); }

  /// A kernel whose only parameter is where its words go.
  template <class Kernel>
  static void run(Machine& machine, Comparison& c, const Shape& shape, size_t words) {
    uint32_t* out = machine.memory(Words(words, 0xcccccccc), true);
    machine.template launch<Kernel>(shape, {out});
    c.got = machine.read(out, words);
  }
};

template <class Machine>
std::vector<Case<Machine>> arch_check_cases() {
  std::vector<Case<Machine>> cases = ArchCheck<Machine>::cases();
  for (const Case<Machine>& more : MovesCheck<Machine>::cases()) cases.push_back(more);
  return cases;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
