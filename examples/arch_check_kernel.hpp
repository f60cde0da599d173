// Every operation of `arch` that Hopper and the loom both have, one small kernel per hardware unit. Threads write what
// they saw to global memory, word by word: both machines must write the same words, and arch_check_cases.hpp computes
// them a third time in plain C++.
#pragma once

#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// What the kernels below have in common.
template <int threads_>
struct Probe {
  static constexpr int threads = threads_;
  static constexpr bool waits_for_earlier_grids = false;
};

/// Words to global memory, one after the other.
struct Output {
  uint32_t* next;
  uint32_t stride = 1;
  WARPLOOM_FN void put(uint32_t word) noexcept {
    arch::store_global(next, word);
    next += stride;
  }
  WARPLOOM_FN void put(Dim3 d) noexcept {
    put(d.x);
    put(d.y);
    put(d.z);
  }
};

/// A word that tells its index: what memory holds before an experiment.
WARPLOOM_CONST_FN uint32_t pattern(uint32_t index) { return (index * 0x9e3779b1u) ^ 0x5bd1e995u; }

WARPLOOM_FN arch::SharedAddress address(const void* object) noexcept { return arch::shared_address(object); }

/// Fills shared memory with the pattern and hands it to the async proxy. The caller's barrier follows.
template <int threads, uint32_t count>
WARPLOOM_FN void fill(uint32_t (&words)[count], uint32_t first = 0) noexcept {
  for (uint32_t i = arch::thread_index(); i < count; i += threads) arch::store_shared(&words[i], pattern(first + i));
  arch::fence_proxy_async_shared();
}
template <int threads, uint32_t count>
WARPLOOM_FN void dump(const uint32_t (&words)[count], uint32_t* out) noexcept {
  for (uint32_t i = arch::thread_index(); i < count; i += threads)
    arch::store_global(out + i, arch::load_shared(&words[i]));
}

// ---- identity, elect, window addresses

struct IdentityProbe : Probe<96> {
  static constexpr char name[] = "identity";
  static constexpr uint32_t words = 26;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t first[4];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const Storage& storage = arch::shared<Storage>();
    const uint32_t lane = arch::lane_index();
    const Dim3 block = arch::block_index(), grid = arch::grid_dim();
    const uint32_t cta = block.x + grid.x * (block.y + grid.y * block.z);
    Output out{params.out + (cta * threads + arch::thread_index()) * words};
    out.put(arch::thread_index());
    out.put(arch::warp_index());
    out.put(lane);
    out.put(block);
    out.put(grid);
    out.put(arch::cluster_rank());
    out.put(arch::cluster_index());
    out.put(arch::cluster_count());

    const arch::SharedAddress base = address(&storage);
    out.put(base.value);
    out.put(address(&storage.first[3]).value);
    out.put(arch::map_to_rank(base, 7 - arch::cluster_rank()).value);
    out.put(arch::map_to_rank(base, 0).value);
    out.put(arch::pair_leader(base).value);

    out.put(arch::elect_one() ? 1 : 0);
    bool elected;
    if (lane < 16)
      elected = arch::elect_one(0x0000ffffu);
    else
      elected = arch::elect_one(0xffff0000u);
    out.put(elected ? 1 : 0);
    constexpr uint32_t some = 0x80f0a500u;
    elected = false;
    if ((some >> lane & 1) != 0) elected = arch::elect_one(some);
    out.put(elected ? 1 : 0);
    uint32_t alone = 99;
    if (lane == 19) alone = arch::warp_index() + 100 * (arch::elect_one(1u << 19) ? 1 : 0);
    out.put(alone);
    arch::syncwarp(0xffffffffu);
    out.put(arch::warp_index());
  }
};

// ---- shuffles

struct ShuffleProbe : Probe<64> {
  static constexpr char name[] = "shuffle";
  static constexpr uint32_t words = 40 + 4 * 32 + 3 * 16;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t lane = arch::lane_index();
    const uint32_t value = pattern(arch::thread_index());
    Output out{params.out + arch::thread_index() * words};
    for (uint32_t source = 0; source < 40; ++source) out.put(arch::shuffle(value, source));  // 32 and up wrap
    for (uint32_t step = 0; step < 32; ++step) {
      out.put(arch::shuffle(value, (lane * step + 3) % 32));
      out.put(arch::shuffle_xor(value, step));
      out.put(arch::shuffle_up(value, step));
      out.put(arch::shuffle_down(value, step));
    }
    for (uint32_t step = 0; step < 16; ++step) {
      if (lane < 16) {
        constexpr uint32_t half = 0x0000ffffu;
        out.put(arch::shuffle(value, (lane + step) % 16, half));
        out.put(arch::shuffle_xor(value, step, half));
        out.put(arch::shuffle_up(value, step, half));
      } else {
        constexpr uint32_t half = 0xffff0000u;
        out.put(arch::shuffle(value, 16 + (lane + step) % 16, half));
        out.put(arch::shuffle_xor(value, step, half));
        out.put(arch::shuffle_down(value, step, half));
      }
    }
  }
};

// ---- stmatrix and ldmatrix

struct StoreMatrixProbe : Probe<64> {
  static constexpr char name[] = "stmatrix";
  static constexpr uint32_t rows = 40, variants = 6, warps = 2;
  static constexpr uint32_t area_words = rows * 4;
  struct Params {
    uint32_t* out;  ///< [cta][word]
  };
  struct alignas(16) Storage {
    uint32_t areas[warps * variants * area_words];
  };

  /// Where row r of tile j goes: not in order. Lanes that name no row point at the last one, which must stay as it was.
  static WARPLOOM_CONST_FN uint32_t row_of(uint32_t lane, uint32_t tiles) {
    return lane < 8 * tiles ? (5 * lane + 3) % 37 : rows - 1;
  }
  static WARPLOOM_CONST_FN uint32_t half(uint32_t cta, uint32_t area, uint32_t tile, uint32_t lane, uint32_t which) {
    return cta << 15 | area << 9 | tile << 6 | lane << 1 | which;
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t cta = arch::block_index().x;
    fill<threads>(storage.areas);
    arch::syncthreads();
    store<1, false>(storage, 0);
    store<1, true>(storage, 1);
    store<2, false>(storage, 2);
    store<2, true>(storage, 3);
    store<4, false>(storage, 4);
    store<4, true>(storage, 5);
    arch::syncthreads();
    dump<threads>(storage.areas, params.out + cta * warps * variants * area_words);
  }

  template <int tiles, bool transposed>
  static WARPLOOM_FN void store(Storage& storage, uint32_t variant) noexcept {
    const uint32_t lane = arch::lane_index();
    const uint32_t area = arch::warp_index() * variants + variant;
    uint32_t registers[tiles];
    WARPLOOM_UNROLL
    for (uint32_t tile = 0; tile < tiles; ++tile)
      registers[tile] =
          half(arch::block_index().x, area, tile, lane, 0) | half(arch::block_index().x, area, tile, lane, 1) << 16;
    arch::store_matrix<tiles, transposed>(address(&storage.areas[area * area_words + 4 * row_of(lane, tiles)]),
                                          registers);
  }
};

/// Every form of ldmatrix, from rows in no order; lanes that name no row point at one that nobody may read.
struct LoadMatrixProbe : Probe<64> {
  static constexpr char name[] = "ldmatrix";
  static constexpr uint32_t forms = 6, warps = 2, words = 14;  ///< per lane
  static constexpr uint32_t rows = StoreMatrixProbe::rows;
  struct Params {
    uint32_t* out;  ///< [cta][thread][form, register]
  };
  struct alignas(16) Storage {
    uint32_t rows_[warps * rows * 4];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t cta = arch::block_index().x;
    fill<threads>(storage.rows_, cta << 20);
    arch::syncthreads();
    Output out{params.out + (cta * threads + arch::thread_index()) * words};
    load<1, false>(storage, out);
    load<1, true>(storage, out);
    load<2, false>(storage, out);
    load<2, true>(storage, out);
    load<4, false>(storage, out);
    load<4, true>(storage, out);
  }

  template <int tiles, bool transposed>
  static WARPLOOM_FN void load(Storage& storage, Output& out) noexcept {
    const uint32_t row = rows * arch::warp_index() + StoreMatrixProbe::row_of(arch::lane_index(), tiles);
    uint32_t registers[tiles];
    arch::load_matrix<tiles, transposed>(address(&storage.rows_[4 * row]), registers);
    WARPLOOM_UNROLL
    for (uint32_t tile = 0; tile < tiles; ++tile) out.put(registers[tile]);
  }
};

// ---- mbarrier: scripts of single operations, each followed by a look at the phase

enum class BarrierOp : uint32_t { init, invalidate, arrive, arrive_expect, expect, complete, arrive_drop };

struct BarrierStep {
  BarrierOp op;
  uint32_t value;
};

struct BarrierScriptProbe : Probe<128> {
  static constexpr char name[] = "mbarrier-script";
  static constexpr uint32_t scripts = 4;
  struct Params {
    const uint32_t* steps;  ///< [script][step][op, value]
    uint32_t* out;          ///< [cta][script][step]: phases complete, and in bit 31 what a wait for them says
    uint32_t count;
  };
  struct Storage {
    arch::Mbarrier barriers[scripts];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    if (!arch::elect_one()) return;
    const uint32_t script = arch::warp_index();
    const arch::SharedAddress barrier = address(&arch::shared<Storage>().barriers[script]);
    const uint32_t* steps = params.steps + script * params.count * 2;
    Output out{params.out + (arch::block_index().x * scripts + script) * params.count};
    uint32_t phases = 0;
    bool alive = false;
    for (uint32_t i = 0; i < params.count; ++i) {
      const uint32_t value = arch::load_global(steps + 2 * i + 1);
      switch (static_cast<BarrierOp>(arch::load_global(steps + 2 * i))) {
        case BarrierOp::init:
          arch::mbarrier_init(barrier, value);
          arch::fence_mbarrier_init();
          phases = 0;
          alive = true;
          break;
        case BarrierOp::invalidate:
          arch::mbarrier_invalidate(barrier);
          alive = false;
          break;
        case BarrierOp::arrive: arch::mbarrier_arrive(barrier, value); break;
        case BarrierOp::arrive_expect: arch::mbarrier_arrive_expect_tx(barrier, value); break;
        case BarrierOp::expect: arch::mbarrier_expect_tx(barrier, value); break;
        case BarrierOp::complete: arch::mbarrier_complete_tx(barrier, value); break;
        case BarrierOp::arrive_drop: arch::mbarrier_arrive_drop(barrier, value); break;
      }
      if (!alive) {
        out.put(0xdead);
        continue;
      }
      if (moves_on(barrier, phases + 1)) ++phases;
      out.put(phases | (arch::mbarrier_test(barrier, phases) ? 1u << 31 : 0));
    }
  }

  /// A signal of the shared::cluster form need not have arrived when the next instruction looks: look a few times.
  static WARPLOOM_FN bool moves_on(arch::SharedAddress barrier, uint32_t phases) noexcept {
    for (int look = 0; look < 64; ++look)
      if (arch::mbarrier_test(barrier, phases)) return true;
    return false;
  }
};

// ---- mbarrier between the threads of a CTA and between the CTAs of a cluster

struct BarrierGroupProbe : Probe<128> {
  static constexpr char name[] = "mbarrier-group";
  static constexpr uint32_t ctas = 4, rounds = 6, words = 2 * rounds + 4;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t mail[threads];
    arch::Mbarrier written, read;  // every thread of this CTA
    arch::Mbarrier everyone;       // every thread of the cluster, each from afar
    arch::Mbarrier bytes;          // one lane of every CTA: announces, completes and arrives
    arch::Mbarrier leaving;        // one lane of every CTA; one more leaves each round
    arch::Mbarrier wide;           // the same with cluster scope
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), rank = arch::cluster_rank();
    if (thread == 0) {
      arch::mbarrier_init(address(&storage.written), threads);
      arch::mbarrier_init(address(&storage.read), threads);
      arch::mbarrier_init(address(&storage.everyone), threads * ctas);
      arch::mbarrier_init(address(&storage.bytes), ctas);
      arch::mbarrier_init(address(&storage.leaving), ctas);
      arch::mbarrier_init(address(&storage.wide), ctas);
      arch::fence_mbarrier_init();
    }
    arch::cluster_arrive_relaxed();
    arch::cluster_wait();

    Output out{params.out + (arch::block_index().x * threads + thread) * words};
    uint32_t value = pattern(rank * threads + thread);
    for (uint32_t round = 0; round < rounds; ++round) {  // mail to a neighbour, guarded by full and empty
      arch::mbarrier_wait(address(&storage.read), round);
      arch::store_shared(&storage.mail[thread], value);
      arch::mbarrier_arrive(address(&storage.written));
      arch::mbarrier_wait(address(&storage.written), round + 1);
      value = arch::load_shared(&storage.mail[(thread + 37) % threads]) * 3 + round;
      arch::mbarrier_arrive(address(&storage.read));
      out.put(value);

      for (uint32_t to = 0; to < ctas; ++to)
        arch::mbarrier_arrive(arch::map_to_rank(address(&storage.everyone), (rank + to) % ctas));
      arch::mbarrier_wait(address(&storage.everyone), round + 1);
      out.put(round + 1);
      arch::cluster_sync();  // or a fast CTA's next arrival would count for a slow one's
    }
    // From here on lane q of CTA r signals CTA q.
    const arch::SharedAddress bytes = arch::map_to_rank(address(&storage.bytes), thread % ctas);
    const arch::SharedAddress wide = arch::map_to_rank(address(&storage.wide), thread % ctas);
    const arch::SharedAddress leaving = arch::map_to_rank(address(&storage.leaving), thread % ctas);
    for (uint32_t round = 0; round < rounds; ++round) {
      if (thread < ctas && round % 2 == 0) {
        arch::mbarrier_expect_tx(bytes, 32 * (rank + 1));
        arch::mbarrier_complete_tx(bytes, 32 * (rank + 1));
        arch::mbarrier_arrive(bytes);
      } else if (thread < ctas) {
        arch::mbarrier_complete_tx(bytes, 48);
        arch::mbarrier_arrive_expect_tx(bytes, 48);
      }
      arch::mbarrier_wait(address(&storage.bytes), round + 1);
      if (thread < ctas) arch::mbarrier_arrive<arch::Scope::cluster>(wide);
      arch::mbarrier_wait<arch::Scope::cluster>(address(&storage.wide), round + 1);
      arch::cluster_sync();
    }
    // Round r: CTA r leaves every barrier for good, those after it arrive.
    for (uint32_t round = 0; round + 1 < ctas; ++round) {
      if (thread < ctas && rank == round) arch::mbarrier_arrive_drop(leaving);
      if (thread < ctas && rank > round) arch::mbarrier_arrive(leaving);
      arch::mbarrier_wait(address(&storage.leaving), round + 1);
      arch::cluster_sync();
    }
    out.put(arch::mbarrier_test(address(&storage.bytes), rounds) ? 1 : 0);
    out.put(arch::mbarrier_test(address(&storage.wide), rounds) ? 1 : 0);
    out.put(arch::mbarrier_test(address(&storage.leaving), ctas - 1) ? 1 : 0);
    out.put(arch::mbarrier_test<arch::Scope::cluster>(address(&storage.everyone), rounds) ? 1 : 0);
    arch::cluster_sync();
  }
};

// ---- named barriers

struct NamedBarrierProbe : Probe<128> {
  static constexpr char name[] = "named-barrier";
  static constexpr uint32_t warps = 4, rounds = 8, words = rounds + 3;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t mail[warps][32];
    uint32_t all[threads];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index(), lane = arch::lane_index(), thread = arch::thread_index();
    const uint32_t before = (warp + warps - 1) % warps;
    Output out{params.out + (arch::block_index().x * threads + thread) * words};
    // A ring of warps: each writes to the next. Barriers 1-4 say "written", 5-8 say "read".
    uint32_t value = pattern(thread);
    for (uint32_t round = 0; round < rounds; ++round) {
      arch::store_shared(&storage.mail[warp][lane], value);
      arch::bar_arrive(1 + warp, 64);
      arch::bar_sync(1 + before, 64);
      value = arch::load_shared(&storage.mail[before][31 - lane]) * 5 + round;
      arch::bar_arrive(5 + before, 64);
      arch::bar_sync(5 + warp, 64);
      out.put(value);
    }
    // Two pairs of warps, then all four, then the whole CTA.
    arch::store_shared(&storage.all[thread], value);
    arch::bar_sync(9 + warp / 2, 64);
    value += arch::load_shared(&storage.all[thread ^ 63]);
    out.put(value);
    arch::bar_sync(9 + warp / 2, 64);
    arch::store_shared(&storage.all[thread], value);
    arch::bar_sync(15, 128);
    value ^= arch::load_shared(&storage.all[thread ^ 127]);
    out.put(value);
    arch::syncthreads();
    arch::store_shared(&storage.all[127 - thread], value);
    arch::syncthreads();
    out.put(arch::load_shared(&storage.all[(thread + 1) % threads]));
  }
};

// ---- TMA

struct TmaLoadProbe : Probe<128> {
  static constexpr char name[] = "tma-load";
  static constexpr uint32_t words = 1024;
  struct Params {
    TensorMap map;
    uint32_t* out;  ///< what shared memory holds afterwards
    arch::Coord2 at;
    uint32_t offset;  ///< of the box, bytes
    uint32_t bytes;   ///< that the box completes
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
    arch::syncthreads();
    if (thread == 0) {
      arch::mbarrier_arrive_expect_tx(address(&storage.full), params.bytes);
      arch::tma_load<1>(address(storage.data) + params.offset, params.map, address(&storage.full), params.at);
    }
    arch::mbarrier_wait(address(&storage.full), 1);
    dump<threads>(storage.data, params.out);
  }
};

struct TmaStoreProbe : Probe<128> {
  static constexpr char name[] = "tma-store";
  static constexpr uint32_t words = 1024;
  struct Params {
    TensorMap map;
    arch::Coord2 at;
    uint32_t offset;
    uint32_t first;  ///< of the pattern in shared memory
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    fill<threads>(storage.data, params.first);
    arch::syncthreads();
    if (arch::thread_index() == 0) {
      arch::tma_store(params.map, address(storage.data) + params.offset, params.at);
      arch::bulk_commit_group();
      arch::bulk_wait_group<0>();
    }
  }
};

/// Stores from two buffers in turn: a buffer is filled again once its last store has read it.
struct BulkGroupProbe : Probe<64> {
  static constexpr char name[] = "bulk-group";
  static constexpr uint32_t rounds = 9, buffer_words = 256, rows = 8;
  struct Params {
    TensorMap map;  ///< a box is one buffer, 8 rows of 128 bytes
  };
  struct alignas(1024) Storage {
    uint32_t buffers[2][buffer_words];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const bool stores = arch::thread_index() == 0;
    for (uint32_t round = 0; round < rounds; ++round) {
      if (stores) arch::bulk_wait_group_read<1>();
      arch::syncthreads();
      fill<threads>(storage.buffers[round % 2], round * buffer_words);
      arch::syncthreads();
      if (stores) {
        arch::tma_store(params.map, address(storage.buffers[round % 2]), {0, static_cast<int32_t>(round * rows)});
        arch::bulk_commit_group();
      }
    }
    if (stores) arch::bulk_wait_group_read<0>();
  }
};

/// CTA r loads box r into slot r of every CTA in masks[r].
struct MulticastProbe : Probe<128> {
  static constexpr char name[] = "tma-multicast";
  static constexpr uint32_t ctas = 4, box_words = 256, rows = 8, words = ctas * box_words;
  struct Params {
    TensorMap map;  ///< boxes of 8 rows of 128 bytes
    uint32_t* out;
    uint32_t masks[ctas];  ///< 0: loads nothing
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
    arch::Mbarrier full;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), rank = arch::cluster_rank();
    if (thread == 0) {
      arch::mbarrier_init(address(&storage.full), 1);
      arch::fence_mbarrier_init();
    }
    fill<threads>(storage.data, rank * words);
    arch::cluster_sync();
    uint32_t boxes = 0;
    for (uint32_t from = 0; from < ctas; ++from) boxes += params.masks[from] >> rank & 1;
    if (thread == 0) {
      if (const uint32_t mask = params.masks[rank]; mask != 0)  // may land in a CTA that has not armed yet
        arch::tma_load_multicast<1>(address(storage.data) + rank * box_words * 4, params.map, address(&storage.full),
                                    {0, static_cast<int32_t>(rank * rows)}, static_cast<uint16_t>(mask));
      if (boxes != 0) arch::mbarrier_arrive_expect_tx(address(&storage.full), boxes * box_words * 4);
    }
    if (boxes != 0) arch::mbarrier_wait(address(&storage.full), 1);
    arch::cluster_sync();  // a CTA that receives nothing must not look before the others are done
    dump<threads>(storage.data, params.out + arch::block_index().x * words);
  }
};

// ---- arithmetic and plain memory

/// All 65536 upper halves, with a random lower half and with one at, just below or just above a tie.
struct PackProbe : Probe<256> {
  static constexpr char name[] = "pack-bf16";
  static constexpr uint32_t count = 65536, words = 2;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    uint32_t none;
  };
  static WARPLOOM_CONST_FN uint32_t low(uint32_t i) { return i << 16 | (pattern(i) & 0xffff); }
  static WARPLOOM_CONST_FN uint32_t high(uint32_t i) { return i << 16 | (0x7fff + pattern(i + 7) % 3); }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    Output out{params.out + i, count};
    out.put(arch::pack_bf16(arch::as_float(low(i)), arch::as_float(high(i))));
    out.put(arch::as_bits(arch::to_float(bf16{static_cast<uint16_t>(i)})));
  }
};

struct ArithmeticProbe : Probe<256> {
  static constexpr char name[] = "fma";
  struct Params {
    const uint32_t* a;
    const uint32_t* b;
    const uint32_t* c;
    uint32_t* out;
    uint32_t count;
  };
  struct Storage {
    uint32_t none;
  };
  /// The GPU's only NaN; x86 keeps payloads.
  static WARPLOOM_CONST_FN uint32_t canonical(uint32_t bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits;
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    const uint32_t i = arch::block_index().x * threads + arch::thread_index();
    const float a = arch::as_float(arch::load_global(params.a + i));
    const float b = arch::as_float(arch::load_global(params.b + i));
    const float c = arch::as_float(arch::load_global(params.c + i));
    Output out{params.out + i, params.count};
    out.put(canonical(arch::as_bits(arch::fma(a, b, c))));
    out.put(canonical(arch::as_bits(arch::multiply(a, b))));
  }
};

/// Objects of every access size: from global memory through shared memory, mirrored, and back.
struct AccessProbe : Probe<64> {
  static constexpr char name[] = "access";
  struct alignas(16) Sixteen {
    uint32_t words[4];
  };
  struct alignas(8) Eight {
    uint32_t words[2];
  };
  static constexpr uint32_t bytes = 64 * (1 + 2 + 4 + 8 + 16);
  struct Params {
    const unsigned char* in;
    unsigned char* out;
  };
  struct alignas(16) Storage {
    unsigned char bytes_[bytes];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    uint32_t offset = 0;
    mirror<Sixteen>(params, offset);
    mirror<Eight>(params, offset);
    mirror<uint32_t>(params, offset);
    mirror<uint16_t>(params, offset);
    mirror<uint8_t>(params, offset);
  }
  template <class T>
  static WARPLOOM_FN void mirror(const Params& params, uint32_t& offset) noexcept {
    T* const shared = reinterpret_cast<T*>(arch::shared<Storage>().bytes_ + offset);
    const uint32_t thread = arch::thread_index();
    arch::store_shared(shared + (threads - 1 - thread),
                       arch::load_global(reinterpret_cast<const T*>(params.in + offset) + thread));
    arch::syncthreads();
    arch::store_global(reinterpret_cast<T*>(params.out + offset) + thread, arch::load_shared(shared + thread));
    offset += threads * sizeof(T);
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
