// What arch_check knows of data that moves in other ways than GEMMs need: im2col, tensors of one, four and five
// dimensions, reductions, bulk copies without tensor map, st.async, and the shared memory of other CTAs.
#pragma once

#include <cmath>

#include "arch_check_kernel.hpp"
#include "check.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/mbarrier_token.hpp"
#include "warploom/arch/tma_forms.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

// ---- tensor copies in other forms

enum class MoveForm : uint32_t { load, store, im2col, store_im2col };

struct MoveProbe : Probe<128> {
  static constexpr char name[] = "tensor-move";
  static constexpr uint32_t words = 2048;
  struct Params {
    TensorMap map;
    uint32_t* out;  ///< of loads: shared memory after it
    MoveForm form;
    uint32_t rank;
    int32_t c[5];
    uint16_t offsets[3];
    uint32_t offset;  ///< of the box
    uint32_t bytes;
    uint32_t first;  ///< of the pattern in shared memory
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
    arch::Mbarrier full;
  };

  template <uint32_t rank>
  static WARPLOOM_FN void issue(const Params& p, arch::SharedAddress box, arch::SharedAddress full) noexcept {
    const auto at = [&] {
      if constexpr (rank == 1) return arch::Coord{p.c[0]};
      if constexpr (rank == 3) return arch::Coord{p.c[0], p.c[1], p.c[2]};
      if constexpr (rank == 4) return arch::Coord{p.c[0], p.c[1], p.c[2], p.c[3]};
      if constexpr (rank == 5) return arch::Coord{p.c[0], p.c[1], p.c[2], p.c[3], p.c[4]};
    }();
    if (p.form == MoveForm::load) arch::tma_load<1>(box, p.map, full, at);
    if (p.form == MoveForm::store) arch::tma_store(p.map, box, at);
    if constexpr (rank >= 3) {
      if (p.form == MoveForm::store_im2col) arch::tma_store_im2col(p.map, box, at);
      if (p.form == MoveForm::im2col) {
        arch::tma_prefetch_im2col(p.map, at, offsets_of<rank>(p));
        arch::tma_load_im2col<1>(box, p.map, full, at, offsets_of<rank>(p));
      }
    }
  }
  template <uint32_t rank>
  static WARPLOOM_FN auto offsets_of(const Params& p) noexcept {
    if constexpr (rank == 3) return arch::Offsets{p.offsets[0]};
    if constexpr (rank == 4) return arch::Offsets{p.offsets[0], p.offsets[1]};
    if constexpr (rank == 5) return arch::Offsets{p.offsets[0], p.offsets[1], p.offsets[2]};
  }

  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index();
    const arch::SharedAddress full = address(&storage.full), box = address(storage.data) + p.offset;
    const bool loads = p.form == MoveForm::load || p.form == MoveForm::im2col;
    if (thread == 0) {
      arch::mbarrier_init(full, 1);
      arch::fence_mbarrier_init();
    }
    fill<threads>(storage.data, p.first);
    arch::syncthreads();
    if (thread == 0) {
      if (loads) arch::mbarrier_arrive_expect_tx(full, p.bytes);
      switch (p.rank) {
        case 1: issue<1>(p, box, full); break;
        case 3: issue<3>(p, box, full); break;
        case 4: issue<4>(p, box, full); break;
        default: issue<5>(p, box, full); break;
      }
      if (!loads) {
        arch::bulk_commit_group();
        arch::bulk_wait_group<0>();
      }
    }
    if (!loads) return;
    arch::mbarrier_wait(full, 1);
    dump<threads>(storage.data, p.out);
  }
};

// ---- reductions

/// One box of one row through a tensor map, or plain bytes: destination op= source.
struct ReduceProbe : Probe<128> {
  static constexpr char name[] = "reduce";
  static constexpr uint32_t words = 256;
  struct Params {
    TensorMap map;
    const uint32_t* source;
    uint32_t* destination;
    Reduction operation;
    bool through_map;
    ReductionType type;  ///< of plain bytes
  };
  struct alignas(1024) Storage {
    uint32_t data[words];
  };

  template <Reduction operation>
  static WARPLOOM_FN void plain(const Params& p, arch::SharedAddress from) noexcept {
    constexpr uint32_t bytes = 4 * words;
    const auto try_type = [&]<ReductionType type>() WARPLOOM_LAMBDA {
      if constexpr (reduces_in_global(operation, type))
        if (p.type == type) arch::bulk_reduce<operation, type>(p.destination, from, bytes);
    };
    try_type.template operator()<ReductionType::u32>();
    try_type.template operator()<ReductionType::s32>();
    try_type.template operator()<ReductionType::u64>();
    try_type.template operator()<ReductionType::s64>();
    try_type.template operator()<ReductionType::f16>();
    try_type.template operator()<ReductionType::bf16>();
    try_type.template operator()<ReductionType::f32>();
    try_type.template operator()<ReductionType::f64>();
    try_type.template operator()<ReductionType::b32>();
    try_type.template operator()<ReductionType::b64>();
  }
  template <Reduction operation>
  static WARPLOOM_FN void reduce(const Params& p, arch::SharedAddress from) noexcept {
    if (p.operation != operation) return;
    if (p.through_map)
      arch::tma_reduce<operation>(p.map, from, arch::Coord{0, 0});
    else
      plain<operation>(p, from);
  }

  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& storage = arch::shared<Storage>();
    for (uint32_t i = arch::thread_index(); i < words; i += threads)
      arch::store_shared(&storage.data[i], arch::load_global(p.source + i));
    arch::fence_proxy_async_shared();
    arch::syncthreads();
    if (arch::thread_index() != 0) return;
    const arch::SharedAddress from = address(storage.data);
    reduce<Reduction::add>(p, from);
    reduce<Reduction::min>(p, from);
    reduce<Reduction::max>(p, from);
    reduce<Reduction::inc>(p, from);
    reduce<Reduction::dec>(p, from);
    reduce<Reduction::bit_and>(p, from);
    reduce<Reduction::bit_or>(p, from);
    reduce<Reduction::bit_xor>(p, from);
    arch::bulk_commit_group();
    arch::bulk_wait_group<0>();
  }
};

// ---- bulk copies, st.async and plain accesses between the CTAs of a cluster

/// Every CTA loads a row, all load one that CTA 1 multicasts, each sends its row on to the next CTA and adds its
/// rank's pattern there, and stores what it received.
struct BulkProbe : Probe<64> {
  static constexpr char name[] = "bulk-copy";
  static constexpr uint32_t ctas = 4, row_words = 96, row_bytes = 4 * row_words;
  static constexpr uint32_t out_words = 4 * row_words;  ///< per CTA
  struct Params {
    const uint32_t* in;  ///< ctas + 1 rows
    uint32_t* out;
  };
  struct alignas(1024) Storage {
    uint32_t loaded[row_words], shared_row[row_words], received[row_words], sums[row_words];
    arch::Mbarrier full[3];
  };

  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& s = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), rank = arch::cluster_rank(), next = (rank + 1) % ctas;
    if (thread == 0) {
      for (arch::Mbarrier& barrier : s.full) arch::mbarrier_init(address(&barrier), 1);
      arch::fence_mbarrier_init();
    }
    fill<threads>(s.sums, 1000 * rank);
    arch::cluster_sync();
    if (thread == 0) {
      arch::bulk_prefetch(p.in, row_bytes);
      arch::mbarrier_arrive_expect_tx(address(&s.full[0]), 2 * row_bytes);
      arch::bulk_load(address(s.loaded), p.in + rank * row_words, row_bytes, address(&s.full[0]));
      if (rank == 1)
        arch::bulk_load_multicast(address(s.shared_row), p.in + ctas * row_words, row_bytes, address(&s.full[0]), 0xf);
      arch::mbarrier_arrive_expect_tx(address(&s.full[1]), row_bytes);
      arch::mbarrier_arrive_expect_tx(address(&s.full[2]), row_bytes);
    }
    arch::mbarrier_wait(address(&s.full[0]), 1);
    arch::cluster_sync();
    if (thread == 0) {
      arch::bulk_send(arch::map_to_rank(address(s.received), next), address(s.loaded), row_bytes,
                      arch::map_to_rank(address(&s.full[1]), next));
      arch::bulk_send_reduce<Reduction::add, ReductionType::u32>(arch::map_to_rank(address(s.sums), next),
                                                                 address(s.shared_row), row_bytes,
                                                                 arch::map_to_rank(address(&s.full[2]), next));
    }
    arch::mbarrier_wait<arch::Scope::cluster>(address(&s.full[1]), 1);
    arch::mbarrier_wait<arch::Scope::cluster>(address(&s.full[2]), 1);
    uint32_t* const out = p.out + rank * out_words;
    if (thread == 0) {
      arch::bulk_store(out, address(s.loaded), row_bytes);
      arch::bulk_store(out + row_words, address(s.shared_row), row_bytes);
      arch::bulk_store(out + 2 * row_words, address(s.received), row_bytes);
      arch::bulk_commit_group();
      arch::bulk_wait_group<0>();
    }
    dump<threads>(s.sums, out + 3 * row_words);
    arch::cluster_sync();
  }
};

/// Every reduction that cp.reduce.async.bulk has between CTAs, one row each.
struct SendReduceProbe : Probe<32> {
  static constexpr char name[] = "bulk-send-reduce";
  static constexpr uint32_t kinds = 12, row_words = 32;
  struct Params {
    const uint32_t* source;       ///< kinds rows
    const uint32_t* destination;  ///< kinds rows: what is there before
    uint32_t* out;
  };
  struct alignas(128) Storage {
    uint32_t source[kinds * row_words], sums[kinds * row_words];
    arch::Mbarrier full;
  };

  template <Reduction operation, ReductionType type>
  static WARPLOOM_FN void send(Storage& s, uint32_t row) noexcept {
    arch::bulk_send_reduce<operation, type>(arch::map_to_rank(address(s.sums + row * row_words), 1),
                                            address(s.source + row * row_words), 4 * row_words,
                                            arch::map_to_rank(address(&s.full), 1));
  }
  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& s = arch::shared<Storage>();
    const uint32_t lane = arch::thread_index();
    if (lane == 0) {
      arch::mbarrier_init(address(&s.full), 1);
      arch::fence_mbarrier_init();
    }
    for (uint32_t i = lane; i < kinds * row_words; i += threads) {
      arch::store_shared(&s.source[i], arch::load_global(p.source + i));
      arch::store_shared(&s.sums[i], arch::load_global(p.destination + i));
    }
    arch::fence_proxy_async_shared();
    arch::cluster_sync();
    if (arch::cluster_rank() == 0 && lane == 0) {
      using R = Reduction;
      using T = ReductionType;
      send<R::add, T::u32>(s, 0);
      send<R::add, T::s32>(s, 1);
      send<R::add, T::u64>(s, 2);
      send<R::min, T::u32>(s, 3);
      send<R::min, T::s32>(s, 4);
      send<R::max, T::u32>(s, 5);
      send<R::max, T::s32>(s, 6);
      send<R::inc, T::u32>(s, 7);
      send<R::dec, T::u32>(s, 8);
      send<R::bit_and, T::b32>(s, 9);
      send<R::bit_or, T::b32>(s, 10);
      send<R::bit_xor, T::b32>(s, 11);
    }
    if (arch::cluster_rank() == 1) {
      if (lane == 0) arch::mbarrier_arrive_expect_tx(address(&s.full), sizeof(s.sums));
      arch::mbarrier_wait<arch::Scope::cluster>(address(&s.full), 1);
      dump<threads>(s.sums, p.out);
    }
    arch::cluster_sync();
  }
};

/// Each thread sends 16 bytes to the next CTA by st.async, and four values to the one after it by plain stores; then it
/// reads the one before it, and all count in CTA 0.
struct RemoteProbe : Probe<64> {
  static constexpr char name[] = "cluster-memory";
  static constexpr uint32_t ctas = 4, words = 11, kinds = 10;
  struct Wide {
    alignas(16) uint32_t w[4];
  };
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    alignas(16) uint32_t sent[threads][4], stored[threads][4];
    uint32_t counters[kinds];
    arch::Mbarrier full;
  };

  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& s = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index(), rank = arch::cluster_rank(), me = rank * threads + thread;
    if (thread == 0) {
      arch::mbarrier_init(address(&s.full), 1);
      arch::fence_mbarrier_init();
    }
    if (thread < kinds) arch::store_shared(&s.counters[thread], thread == 2 || thread == 4 ? ~0u : 0u);
    for (uint32_t& word : s.stored[thread]) arch::store_shared(&word, 0u);
    arch::cluster_sync();

    const uint32_t next = (rank + 1) % ctas, after = (rank + 2) % ctas, before = (rank + ctas - 1) % ctas;
    if (thread == 0) arch::mbarrier_arrive_expect_tx(address(&s.full), sizeof(s.sent));
    const uint32_t sent[4] = {pattern(me), pattern(me + 1000), pattern(me + 2000), pattern(me + 3000)};
    arch::store_async(arch::map_to_rank(address(s.sent[thread]), next), sent,
                      arch::map_to_rank(address(&s.full), next));
    const arch::SharedAddress there = arch::map_to_rank(address(s.stored[thread]), after);
    arch::store_cluster(there, static_cast<uint8_t>(pattern(me)));
    arch::store_cluster(there + 2, static_cast<uint16_t>(pattern(me)));
    arch::store_cluster(there + 4, pattern(me));
    arch::store_cluster(there + 8, uint64_t{pattern(me)} << 32 | me);
    arch::mbarrier_wait<arch::Scope::cluster>(address(&s.full), 1);
    arch::cluster_sync();

    Output out{p.out + me * words};
    for (const uint32_t& word : s.sent[thread]) out.put(arch::load_shared(&word));
    const Wide wide = arch::load_cluster<Wide>(arch::map_to_rank(address(s.stored[thread]), before));
    for (const uint32_t word : wide.w) out.put(word);
    out.put(arch::rank_of(there));
    out.put(arch::load_cluster<uint16_t>(there + 2));
    out.put(arch::load_cluster<uint8_t>(there));

    const arch::SharedAddress zero = arch::map_to_rank(address(s.counters), 0);
    arch::fetch_cluster<Atomic::add>(zero, me);
    arch::fetch_cluster<Atomic::max>(zero + 4, pattern(me));
    arch::fetch_cluster<Atomic::min>(zero + 8, pattern(me));
    arch::fetch_cluster<Atomic::bit_or>(zero + 12, 1u << me % 31);
    arch::fetch_cluster<Atomic::bit_and>(zero + 16, ~(1u << me % 13));
    arch::fetch_cluster<Atomic::bit_xor>(zero + 20, pattern(me));
    arch::fetch_cluster<Atomic::inc>(zero + 24, 99);
    arch::fetch_cluster<Atomic::dec>(zero + 28, 99);
    arch::fetch_cluster<Atomic::exchange>(zero + 32, 4711);
    for (uint32_t seen = 0;;) {  // adds by comparing: all must get through
      const uint32_t found = arch::compare_exchange_cluster(zero + 36, seen, seen + 3);
      if (found == seen) break;
      seen = found;
    }
    arch::cluster_sync();
    if (me < kinds) arch::store_global(p.out + ctas * threads * words + me, arch::load_shared(&s.counters[me]));
    arch::cluster_sync();
  }
};

/// Tokens and pending counts of a barrier that 64 threads share.
struct TokenProbe : Probe<64> {
  static constexpr char name[] = "mbarrier-token";
  static constexpr uint32_t rounds = 4, words = rounds + 2;
  struct Params {
    uint32_t* out;
  };
  struct Storage {
    arch::Mbarrier all, one;
  };

  static WARPLOOM_FN void run(const Params& p) noexcept {
    Storage& s = arch::shared<Storage>();
    const uint32_t thread = arch::thread_index();
    const arch::SharedAddress all = address(&s.all), one = address(&s.one);
    if (thread == 0) {
      arch::mbarrier_init(all, threads);
      arch::mbarrier_init(one, 10);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Output out{p.out + thread * words};
    for (uint32_t round = 0; round < rounds; ++round) {
      const arch::MbarrierToken token = arch::mbarrier_arrive_token(all);
      arch::mbarrier_wait_token(all, token);
      out.put(arch::mbarrier_test_token(all, token) ? 1 : 0);
      arch::syncthreads();
    }
    if (thread == 0) {
      out.put(arch::mbarrier_pending_count(arch::mbarrier_arrive_no_complete(one, 3)));
      out.put(arch::mbarrier_pending_count(arch::mbarrier_arrive_no_complete(one, 5)));
    }
    arch::syncthreads();
    if (thread != 2) return;
    // The drop comes last: compute-sanitizer takes an arrival after one in the same phase for one of the next.
    const arch::MbarrierToken last = arch::mbarrier_arrive_token(one);
    arch::mbarrier_arrive_drop_expect_tx(one, 32);
    out.put(arch::mbarrier_test_token(one, last) ? 1 : 0);
    arch::mbarrier_complete_tx(one, 32);
    out.put(arch::mbarrier_test_token(one, last) ? 1 : 0);
    arch::mbarrier_invalidate(one);
  }
};

// ---------------------------------------------------------------------------------------------------- cases

template <class Machine>
struct MovesCheck {
  using K = MoveProbe;

  static uint32_t place(Swizzle swizzle, uint32_t pitch, uint32_t offset, uint32_t row, uint32_t byte) {
    const uint32_t at = offset + row * pitch + byte;
    if (swizzle == Swizzle::none) return at;
    const uint32_t units = pitch / 16, unit = at / 16;
    return (unit / units * units + (unit % units ^ at / 128 % units)) * 16 + at % 16;
  }

  /// A row of the box: where it is in the tensor, or outside of it.
  struct Row {
    bool inside;
    size_t offset;
  };

  /// Loads or stores a box of these rows and compares shared memory, or the tensor.
  static void move(Machine& machine, Comparison& c, MoveForm form, const TensorMapArgs& args, const int32_t (&at)[5],
                   const uint16_t (&offsets)[3], const std::vector<Row>& rows, uint32_t row_bytes, uint32_t index) {
    const bool loads = form == MoveForm::load || form == MoveForm::im2col;
    const size_t tensor_words = 4096;
    Words before(tensor_words);
    for (uint32_t i = 0; i < tensor_words; ++i) before[i] = pattern(i + 70000);
    uint32_t* tensor = machine.memory(before, true);
    const Words nothing(K::words, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    TensorMapArgs here = args;
    here.address = tensor;
    const uint32_t size = args.type == TmaType::u16 ? 2 : 4;
    const uint32_t places[] = {0, 128, 256, 896};
    const uint32_t pitch = args.swizzle == Swizzle::none ? row_bytes : 16u << static_cast<uint32_t>(args.swizzle);
    typename K::Params params{};
    params.map = machine.encode(here);
    params.out = out;
    params.form = form;
    params.rank = args.rank;
    for (int d = 0; d < 5; ++d) params.c[d] = at[d];
    for (int d = 0; d < 3; ++d) params.offsets[d] = offsets[d];
    params.offset = places[index % 4];
    params.bytes = static_cast<uint32_t>(rows.size()) * row_bytes;
    params.first = index * 4096;
    machine.template launch<K>({{1}, {1}, K::threads}, params);
    const Words got = loads ? machine.read(out, nothing.size()) : machine.read(tensor, before.size());
    c.got.insert(c.got.end(), got.begin(), got.end());

    Words shared(K::words);
    for (uint32_t w = 0; w < K::words; ++w) shared[w] = pattern(params.first + w);
    auto* bytes = reinterpret_cast<unsigned char*>(shared.data());
    auto* global = reinterpret_cast<unsigned char*>(before.data());
    const int64_t width = static_cast<int64_t>(args.dims[0]) * size;
    for (uint32_t r = 0; r < rows.size(); ++r)
      for (uint32_t b = 0; b < row_bytes; ++b) {
        const int64_t x = int64_t{at[0]} * size + b;
        const bool inside = rows[r].inside && x >= 0 && x < width;
        unsigned char& here_byte = bytes[place(args.swizzle, pitch, params.offset, r, b)];
        unsigned char& there = global[inside ? rows[r].offset + static_cast<size_t>(x) : 0];
        if (loads) here_byte = inside ? there : static_cast<unsigned char>(0);
        if (!loads && inside) there = here_byte;
      }
    const Words& want = loads ? shared : before;
    c.want.insert(c.want.end(), want.begin(), want.end());
  }

  /// Boxes of one, four and five dimensions.
  static void ranks(Machine& machine, Comparison& c) {
    uint32_t index = 0;
    for (const uint32_t rank : {1u, 4u, 5u})
      for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
        for (uint32_t start = 0; start < 4; ++start) {
          TensorMapArgs args;
          args.type = TmaType::u16;
          args.rank = rank;
          args.swizzle = static_cast<Swizzle>(swizzle);
          args.dims = {40, 4, 3, 3, 2};
          args.strides = {96, 96 * 5, 96 * 15, 96 * 50};
          args.box = {16, 3, 2, 2, 2};
          args.element_strides = {1, start % 2 + 1, 1, 1, 1};
          const int32_t starts[][5] = {{0, 0, 0, 0, 0}, {16, 1, 1, 1, 0}, {32, 2, 2, 2, 1}, {-8, -1, 1, -1, -1}};
          const auto& at = starts[start];
          std::vector<Row> rows;
          uint32_t n[5];
          for (uint32_t d = 0; d < 5; ++d)
            n[d] = d < rank ? (args.box[d] + args.element_strides[d] - 1) / args.element_strides[d] : 1;
          for (uint32_t l = 0; l < n[4]; ++l)
            for (uint32_t k = 0; k < n[3]; ++k)
              for (uint32_t j = 0; j < n[2]; ++j)
                for (uint32_t i = 0; i < n[1]; ++i) {
                  const uint32_t index_of[5] = {0, i, j, k, l};
                  Row row{true, 0};
                  for (uint32_t d = 1; d < rank; ++d) {
                    const int64_t x = at[d] + int64_t{index_of[d]} * args.element_strides[d];
                    row.inside = row.inside && x >= 0 && x < static_cast<int64_t>(args.dims[d]);
                    if (row.inside) row.offset += static_cast<size_t>(x) * args.strides[d - 1];
                  }
                  rows.push_back(row);
                }
          move(machine, c, MoveForm::load, args, at, {}, rows, 32, index);
          if (start != 3) move(machine, c, MoveForm::store, args, at, {}, rows, 32, index);
          ++index;
        }
  }

  template <MoveForm form, uint32_t first_variant = 0, uint32_t last_variant = 3>
  static void pixels(Machine& machine, Comparison& c) {
    uint32_t index = 0;
    for (const uint32_t rank : {3u, 4u, 5u})
      for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
        for (uint32_t variant = first_variant; variant <= last_variant; ++variant) {
          TensorMapArgs args;
          args.type = TmaType::u32;
          args.rank = rank;
          args.swizzle = static_cast<Swizzle>(swizzle);
          args.dims = {20, 5, 4, 3, 2};
          args.dims[rank - 1] = 2;
          args.strides = {80, 80 * 5, 80 * 20, 80 * 60};
          Im2colWindow& window = args.im2col.emplace();
          window.channels = 8;
          window.pixels = 21;
          uint16_t offsets[3] = {};
          int32_t at[5] = {variant == 3 ? 16 : 8, 0, 0, 0, 0};
          if (variant == 1) window.lower = {-1, -1, -1}, window.upper = {-1, -1, -1};
          if (variant == 2) args.element_strides = {1, 2, 1, 1, 1};
          if (form == MoveForm::im2col) {
            for (uint32_t d = 0; d < 3; ++d) offsets[d] = static_cast<uint16_t>((variant + d) % 3);
            if (variant == 1)
              for (uint32_t d = 1; d + 1 < rank; ++d) at[d] = -1;
          }
          at[rank - 1] = variant == 3 ? 1 : 0;
          std::vector<Row> rows;
          int64_t position[5] = {0, at[1], at[2], at[3], at[4]};
          for (uint32_t pixel = 0; pixel < window.pixels; ++pixel) {
            Row row{true, 0};
            for (uint32_t d = 1; d < rank; ++d) {
              const int64_t x = position[d] + (d + 1 < rank ? offsets[d - 1] : 0);
              row.inside = row.inside && x >= 0 && x < static_cast<int64_t>(args.dims[d]);
              if (row.inside) row.offset += static_cast<size_t>(x) * args.strides[d - 1];
            }
            rows.push_back(row);
            for (uint32_t d = 1; d < rank; ++d) {
              if (d + 1 == rank) {
                ++position[d];
                break;
              }
              position[d] += args.element_strides[d];
              if (position[d] <= static_cast<int64_t>(args.dims[d]) - 1 + window.upper[d - 1]) break;
              position[d] = window.lower[d - 1];
            }
          }
          move(machine, c, form, args, at, offsets, rows, 32, index++);
        }
  }

  // ---- reductions

  static float of_f16(uint32_t bits) { return to_float(f16{static_cast<uint16_t>(bits)}); }
  static float of_bf16(uint32_t bits) { return to_float(bf16{static_cast<uint16_t>(bits)}); }

  template <class T>
  static T integer(Reduction operation, T old, T source) {
    switch (operation) {
      case Reduction::add: return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(source));
      case Reduction::min: return old < source ? old : source;
      case Reduction::max: return old > source ? old : source;
      case Reduction::inc: return old >= source ? 0 : old + 1;
      case Reduction::dec: return old == 0 || old > source ? source : old - 1;
      case Reduction::bit_and: return old & source;
      case Reduction::bit_or: return old | source;
      default: return old ^ source;
    }
  }
  static uint32_t half(Reduction operation, ReductionType type, uint32_t old, uint32_t source) {
    const bool brain = type == ReductionType::bf16;
    const float a = brain ? of_bf16(old) : of_f16(old), b = brain ? of_bf16(source) : of_f16(source);
    if (operation == Reduction::add) return brain ? to_bf16(a + b).bits : to_f16(a + b).bits;
    if (std::isnan(a) && std::isnan(b)) return 0x7fff;
    if (std::isnan(a)) return source;
    if (std::isnan(b)) return old;
    return (operation == Reduction::min ? a < b : a > b) ? old : source;
  }
  /// Words of `before` op= words of `source`.
  static Words combined(Reduction operation, ReductionType type, const Words& before, const Words& source) {
    Words after = before;
    for (size_t i = 0; i < before.size(); ++i) {
      const uint32_t old = before[i], given = source[i];
      switch (type) {
        case ReductionType::f16:
        case ReductionType::bf16:
          after[i] = half(operation, type, old & 0xffff, given & 0xffff) | half(operation, type, old >> 16, given >> 16)
                                                                               << 16;
          break;
        case ReductionType::f32: {
          const float sum = std::bit_cast<float>(old) + std::bit_cast<float>(given);
          after[i] = std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum);
          break;
        }
        case ReductionType::s32:
          after[i] = static_cast<uint32_t>(
              integer<int32_t>(operation, static_cast<int32_t>(old), static_cast<int32_t>(given)));
          break;
        case ReductionType::u32:
        case ReductionType::b32: after[i] = integer<uint32_t>(operation, old, given); break;
        default: {  // 64 bits: two words
          if (i % 2 != 0) break;
          const uint64_t wide_old = old | uint64_t{before[i + 1]} << 32, wide = given | uint64_t{source[i + 1]} << 32;
          uint64_t result;
          if (type == ReductionType::f64)
            result = std::bit_cast<uint64_t>(std::bit_cast<double>(wide_old) + std::bit_cast<double>(wide));
          else if (type == ReductionType::s64)
            result = static_cast<uint64_t>(
                integer<int64_t>(operation, static_cast<int64_t>(wide_old), static_cast<int64_t>(wide)));
          else
            result = integer<uint64_t>(operation, wide_old, wide);
          after[i] = static_cast<uint32_t>(result);
          after[i + 1] = static_cast<uint32_t>(result >> 32);
        }
      }
    }
    return after;
  }

  /// Values of a type that meet: any bits for integers, halves without zeros (which of two it keeps is open).
  static uint32_t value(ReductionType type, Random& random, bool tiny) {
    const uint32_t bits = random.word();
    switch (type) {
      case ReductionType::f16:
      case ReductionType::bf16: return bits | 0x00010001u;
      case ReductionType::f32:
        return tiny ? bits & 0x807fffffu : (bits & 0x807fffffu) | (100 + (bits >> 23 & 63)) << 23;
      case ReductionType::f64: return (bits & 0x800fffffu) | (1000 + (bits >> 20 & 31)) << 20;  // as upper word
      case ReductionType::u32: return random.below(4) == 0 ? bits % 4 : bits;
      default: return bits;
    }
  }

  static TmaType map_type(ReductionType type) {
    switch (type) {
      case ReductionType::s32: return TmaType::s32;
      case ReductionType::u64:
      case ReductionType::b64: return TmaType::u64;
      case ReductionType::s64: return TmaType::s64;
      case ReductionType::f16: return TmaType::f16;
      case ReductionType::bf16: return TmaType::bf16;
      case ReductionType::f32: return TmaType::f32;
      default: return TmaType::u32;
    }
  }

  template <bool through_map, bool tiny>
  static void reduce(Machine& machine, Comparison& c) {
    using P = ReduceProbe;
    for (uint32_t operation = 0; operation < 8; ++operation)
      for (uint32_t code = 0; code <= static_cast<uint32_t>(ReductionType::b64); ++code) {
        const auto op = static_cast<Reduction>(operation);
        const auto type = static_cast<ReductionType>(code);
        if (!reduces_in_global(op, type) || (through_map && type == ReductionType::f64)) continue;
        if (tiny != (tiny && type == ReductionType::f32)) continue;
        Random random(operation * 16 + code);
        Words before, source;
        for (uint32_t i = 0; i < P::words; ++i) {
          before.push_back(value(type, random, tiny));
          source.push_back(i % 7 == 3 ? before.back() : value(type, random, tiny));
        }
        uint32_t* destination = machine.memory(before, true);
        TensorMapArgs args;
        args.type = map_type(type);
        args.address = destination;
        const uint32_t elements = P::words * 4 / size_of(type);
        args.dims = {elements / 8, 8, 1, 1, 1};
        args.strides = {P::words / 2, 16, 16, 16};
        args.box = {elements / 8, 8, 1, 1, 1};
        typename P::Params params{};
        if (through_map) params.map = machine.encode(args);
        params.source = machine.memory(source);
        params.destination = destination;
        params.operation = op;
        params.through_map = through_map;
        params.type = type;
        machine.template launch<P>({{1}, {1}, P::threads}, params);
        const Words got = machine.read(destination, before.size());
        const Words want = combined(op, type, before, source);
        c.got.insert(c.got.end(), got.begin(), got.end());
        c.want.insert(c.want.end(), want.begin(), want.end());
      }
  }

  static void send_reduce(Machine& machine, Comparison& c) {
    using P = SendReduceProbe;
    using R = Reduction;
    using T = ReductionType;
    const struct {
      Reduction operation;
      ReductionType type;
    } rows[P::kinds] = {{R::add, T::u32}, {R::add, T::s32},     {R::add, T::u64},    {R::min, T::u32},
                        {R::min, T::s32}, {R::max, T::u32},     {R::max, T::s32},    {R::inc, T::u32},
                        {R::dec, T::u32}, {R::bit_and, T::b32}, {R::bit_or, T::b32}, {R::bit_xor, T::b32}};
    Words before, source;
    Random random(31);
    for (const auto& row : rows) {
      Words old, given;
      for (uint32_t i = 0; i < P::row_words; ++i) {
        old.push_back(value(row.type, random, false));
        given.push_back(i % 5 == 2 ? old.back() : value(row.type, random, false));
      }
      const Words want = combined(row.operation, row.type, old, given);
      c.want.insert(c.want.end(), want.begin(), want.end());
      before.insert(before.end(), old.begin(), old.end());
      source.insert(source.end(), given.begin(), given.end());
    }
    const Words nothing(before.size(), 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<P>({{2}, {2}, P::threads}, {machine.memory(source), machine.memory(before), out});
    c.got = machine.read(out, nothing.size());
  }

  // ---- between CTAs

  static void bulk(Machine& machine, Comparison& c) {
    using P = BulkProbe;
    Words in;
    for (uint32_t i = 0; i < (P::ctas + 1) * P::row_words; ++i) in.push_back(pattern(i + 5000));
    const Words nothing(P::ctas * P::out_words, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<P>({{P::ctas}, {P::ctas}, P::threads}, {machine.memory(in), out});
    c.got = machine.read(out, nothing.size());
    const auto row = [&](uint32_t r, uint32_t i) { return in[r * P::row_words + i]; };
    for (uint32_t cta = 0; cta < P::ctas; ++cta)
      for (uint32_t part = 0; part < 4; ++part)
        for (uint32_t i = 0; i < P::row_words; ++i)
          c.want.push_back(part == 0   ? row(cta, i)
                           : part == 1 ? row(P::ctas, i)
                           : part == 2 ? row((cta + P::ctas - 1) % P::ctas, i)
                                       : pattern(1000 * cta + i) + row(P::ctas, i));
  }

  static void remote(Machine& machine, Comparison& c) {
    using P = RemoteProbe;
    constexpr uint32_t all = P::ctas * P::threads;
    const Words nothing(all * P::words + P::kinds, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<P>({{P::ctas}, {P::ctas}, P::threads}, {out});
    c.got = machine.read(out, nothing.size());
    uint32_t counters[P::kinds] = {0, 0, ~0u, 0, ~0u, 0, 0, 0, 4711, 0};
    for (uint32_t me = 0; me < all; ++me) {
      const uint32_t from = (me + all - P::threads) % all;  // the same thread of the CTA before
      for (uint32_t i = 0; i < 4; ++i) c.want.push_back(pattern(from + 1000 * i));
      const uint32_t wide = (me + P::threads) % all;  // three CTAs back, which is one ahead
      c.want.push_back((pattern(wide) & 0xff) | pattern(wide) << 16);
      c.want.push_back(pattern(wide));
      c.want.push_back(wide);
      c.want.push_back(pattern(wide));
      c.want.push_back((me / P::threads + 2) % P::ctas);
      c.want.push_back(pattern(me) & 0xffff);
      c.want.push_back(pattern(me) & 0xff);
      counters[0] += me;
      counters[1] = counters[1] > pattern(me) ? counters[1] : pattern(me);
      counters[2] = counters[2] < pattern(me) ? counters[2] : pattern(me);
      counters[3] |= 1u << me % 31;
      counters[4] &= ~(1u << me % 13);
      counters[5] ^= pattern(me);
      counters[6] = counters[6] >= 99 ? 0 : counters[6] + 1;
      counters[7] = counters[7] == 0 ? 99 : counters[7] - 1;
      counters[9] += 3;
    }
    c.want.insert(c.want.end(), counters, counters + P::kinds);
  }

  static void tokens(Machine& machine, Comparison& c) {
    using P = TokenProbe;
    const Words nothing(P::threads * P::words, 0xcccccccc);
    uint32_t* out = machine.memory(nothing, true);
    machine.template launch<P>({{1}, {1}, P::threads}, {out});
    c.got = machine.read(out, nothing.size());
    for (uint32_t thread = 0; thread < P::threads; ++thread) {
      for (uint32_t round = 0; round < P::rounds; ++round) c.want.push_back(1);
      const uint32_t first[] = {10, 7}, last[] = {0, 1};
      for (uint32_t i = 0; i < 2; ++i) c.want.push_back(thread == 0 ? first[i] : thread == 2 ? last[i] : 0xcccccccc);
    }
  }

  static std::vector<Case<Machine>> cases() {
    return {{"tma-ranks", &ranks},
            {"im2col-load", &pixels<MoveForm::im2col>},
            {"im2col-store", &pixels<MoveForm::store_im2col, 0, 0>},
            {"im2col-store-more", &pixels<MoveForm::store_im2col, 2, 3>},
            {"tma-reduce", &reduce<true, false>},
            {"tma-reduce-tiny", &reduce<true, true>},
            {"bulk-reduce", &reduce<false, false>},
            {"bulk-reduce-tiny", &reduce<false, true>},
            {"bulk-copy", &bulk},
            {"bulk-send-reduce", &send_reduce},
            {"cluster-memory", &remote},
            {"mbarrier-token", &tokens}};
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
