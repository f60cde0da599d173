// A ring between a writer and a reader role in every CTA of a cluster, for any filling and freeing policy. The rounds
// go through all handles of both sides. Each round's data names producer, round and word, and both sides keep a journal
// outside the machine: a slot is full only when everyone who fills it has, and free only when everyone who reads it has
// let go.
#pragma once

#include <vector>

#include "loom/units/tma.hpp"
#include "support/many_schedules.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::test {

struct Writer : WarpRole<0, 1> {
  static constexpr char name[] = "writer";
};
template <int count>
struct Readers : WarpRole<1, count> {
  static constexpr char name[] = "reader";
};

/// How a policy's role plays: by one lane or by all, and whether bytes fill the slot.
template <class Policy>
struct Play {
  static constexpr bool one_lane = false, bytes = false, remote = false, copies = false, leaders = false;
};
template <class Role>
struct Play<tma_bytes<Role>> {
  static constexpr bool one_lane = true, bytes = true, remote = false, copies = false, leaders = false;
};
template <class Role>
struct Play<remote_expect<Role>> {
  static constexpr bool one_lane = false, bytes = true, remote = true, copies = false, leaders = false;
};
template <class Role>
struct Play<cp_async_arrive<Role>> {
  static constexpr bool one_lane = false, bytes = false, remote = false, copies = true, leaders = false;
};
template <class Role, class Target>
struct Play<one_thread<Role, Target>> {
  static constexpr bool one_lane = true, bytes = false, remote = false, copies = false, leaders = false;
};
template <class Role, class Target>
struct Play<mma_commit<Role, Target>> {
  static constexpr bool one_lane = true, bytes = false, remote = false, copies = false, leaders = true;
};

/// Who waits for whom across CTAs: the target of a policy.
template <class Policy>
struct TargetOf {
  using type = to_self;
};
template <template <class, class> class Policy, class Role, class Target>
struct TargetOf<Policy<Role, Target>> {
  using type = Target;
};

struct RingParams {
  Tally* tally;
  TensorMap source;           // rows [CTA][round]
  const uint32_t* values;     // the same, for cp.async and to compare with
  uint32_t* slots;            // [cluster][CTA][stage][producer][words], where threads fill slots of other CTAs
  uint8_t *filled, *emptied;  // [cluster][CTA][round]: threads that have filled the round, that have let go of it
};

/// `Reach`: the CTAs whose slots a producer fills. `Filler`, `Freer`: the ring's policies.
template <class Shape, class Reach, class Filler, class Freer, int stages>
struct RingSchedules {
  using Reader = typename Freer::role;
  using FreeTarget = typename TargetOf<Freer>::type;
  using Fills = Play<Filler>;
  using Frees = Play<Freer>;
  static constexpr uint32_t words = 32, rounds = 9, ctas = Shape::size;
  /// Slots that threads fill for other CTAs lie in global memory: plain stores do not leave the CTA.
  static constexpr bool in_global = !Fills::bytes && !Fills::copies && ctas > 1;

  /// The CTAs that fill the slots of one CTA.
  static constexpr uint32_t fillers = Fills::remote || Fills::leaders ? 1 : Reach::template sources<Shape>;
  struct Protocol {
    static constexpr char name[] = "ring";
    using cluster = Shape;
    using filled = filled_by<Filler>;
    using freed = freed_by<Freer>;
    static constexpr uint32_t bytes = Fills::bytes ? fillers * words * 4 : 0;
  };
  using Ring = ProducerConsumerPipeline<stages, Protocol>;
  using Piece = SmemTile<uint32_t, 1, words, Swizzle::none>;
  struct Storage {
    typename Piece::Storage pieces[stages][ctas];
    typename Ring::BarrierArray barriers;
  };

  static constexpr uint32_t writers = Fills::one_lane ? 1 : Writer::threads;
  static constexpr uint32_t fill_marks = Fills::bytes ? 1 : writers;  // where bytes fill, one lane issues the copy
  static constexpr uint32_t readers = Frees::one_lane ? 1 : Reader::threads;
  static constexpr bool writes(uint32_t rank) {
    if (Fills::remote) return rank == 0;
    return !Fills::leaders || Shape::leads(rank);
  }
  static constexpr bool fills(uint32_t producer, uint32_t cta) {
    if (!writes(producer)) return false;
    return Fills::remote || (Reach::template mask<Shape>(producer) >> cta & 1) != 0;
  }
  static constexpr bool frees(uint32_t consumer, uint32_t cta) {
    return (FreeTarget::template mask<Shape>(consumer) >> cta & 1) != 0;
  }
  static constexpr uint32_t value(uint32_t producer, uint32_t round, uint32_t word) {
    return (producer * rounds + round) * words + word + 1;
  }

  static void entry(const void* block) noexcept {
    const RingParams& params = *static_cast<const RingParams*>(block);
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::cluster_sync();
    RingSchedules kernel(params, storage);
    if (arch::warp_index() == Writer::first_warp) {
      arch::name_role<Writer>();
      if (writes(kernel.rank) && (!Fills::one_lane || arch::lane_index() == 0)) kernel.write();
    } else {
      arch::name_role<Reader>();
      if (!Frees::one_lane || arch::thread_index() == 32 * Reader::first_warp) kernel.read();
    }
    arch::syncwarp();
    arch::cluster_sync();
  }

  // ---- the writer

  void write() noexcept {
    for (uint32_t i = 0; i < rounds; ++i) {
      if (!Fills::bytes && i == rounds - 1) {  // without a look at the slot
        mark(params.filled, i);
        ring.producer_signal_and_step();
        break;
      }
      switch (i % 3) {
        case 0: {
          auto slot = ring.produce();
          fill(slot.index(), slot.mbar(), i);
          break;
        }
        case 1: {
          auto acquired = ring.acquire_producer();
          auto slot = static_cast<decltype(acquired)&&>(acquired);
          fill(slot.index(), slot.mbar(), i);
          slot.release();
          break;
        }
        case 2: {
          const arch::Ready ready = ring.try_wait_consumer();
          ring.wait_consumer_if_needed(ready);
          ring.arm();
          fill(ring.producer_stage(), ring.producer_mbar(ring.producer_stage()), i);
          ring.signal_full();
          ring.producer_step();
          break;
        }
      }
    }
    ring.drain();
    for (uint32_t i = 0; i < rounds; ++i) expect_emptied(i);
  }

  void fill(uint32_t stage, MbarPtr full, uint32_t i) noexcept {
    if (i >= stages) expect_emptied(i - stages);
    const uint32_t lane = arch::lane_index();
    if (!Fills::bytes || lane == 0) mark(params.filled, i);
    const Piece piece(storage.pieces[stage][rank]);
    if constexpr (Fills::copies) {
      arch::cp_async<4>(piece.address() + 4 * lane, params.values + (rank * rounds + i) * words + lane);
    } else if constexpr (Fills::bytes) {
      if (lane != 0) return;
      const arch::SharedAddress barrier = arch::shared_address(full);
      const arch::Coord2 row{0, static_cast<int>(rank * rounds + i)};
      uint16_t mask = 0;
      for (uint32_t cta = 0; cta < ctas; ++cta) mask |= static_cast<uint16_t>(fills(rank, cta) ? 1u << cta : 0);
      if (mask == 1u << rank)
        arch::tma_load<1>(piece.address(), params.source, barrier, row);
      else
        arch::tma_load_multicast<1>(piece.address(), params.source, barrier, row, mask);
    } else {
      for (uint32_t word = lane; word < words; word += writers) {
        if constexpr (!in_global) arch::store_shared(piece.data + word, value(rank, i, word));
        for (uint32_t cta = 0; in_global && cta < ctas; ++cta)
          if (fills(rank, cta)) arch::store_global(global_slot(cta, stage, rank) + word, value(rank, i, word));
      }
    }
  }

  // ---- the reader

  void read() noexcept {
    {
      auto slot = ring.template consume<Reader>();
      look(slot.index(), 0);
      mark(params.emptied, 0);
    }
    {
      auto slot = ring.consume();
      look(slot.index(), 1);
      mark(params.emptied, 1);
      slot.free();
      slot.free();  // nothing is held any more
    }
    {
      auto acquired = ring.acquire_consumer();
      auto slot = static_cast<decltype(acquired)&&>(acquired);
      look(slot.index(), 2);
      mark(params.emptied, 2);
      slot.release();
    }
    {
      auto slot = ring.acquire_consumer();
      look(slot.index(), 3);
      mark(params.emptied, 3);
      slot.free();
      slot.release();
    }
    by_hand(4);
    {
      const arch::Ready ready = ring.try_wait_producer();
      ring.wait_producer_if_needed(ready);
      look(ring.consumer_stage(), 5);
      mark(params.emptied, 5);
      ring.template signal_free<Reader>();
      ring.consumer_step();
    }
    two_deep(6);
    if (!Fills::bytes) {
      mark(params.emptied, 8);
      ring.consumer_signal_and_step();
    } else {
      auto slot = ring.consume();
      look(slot.index(), 8);
      mark(params.emptied, 8);
    }
  }

  /// Where the policy's signal stays in the CTA, the kernel may send it itself.
  void by_hand(uint32_t i) noexcept {
    if constexpr (std::is_same_v<FreeTarget, to_self> && !Frees::leaders) {
      auto slot = ring.consume_explicit();
      look(slot.index(), i);
      mark(params.emptied, i);
      constexpr bool lane_guarded = !Frees::one_lane && Ring::consumer_count == Reader::warps;
      if constexpr (lane_guarded) {
        if constexpr (Fills::bytes) arch::fence_proxy_async_shared();  // what arrive() does is lane 0's alone
        arch::syncwarp();
      }
      if (!lane_guarded || arch::lane_index() == 0) slot.arrive();
    } else {
      ring.wait_producer();
      look(ring.consumer_stage(), i);
      mark(params.emptied, i);
      ring.template signal_free<Reader>();
      ring.consumer_step();
    }
  }

  /// Two slots held at a time, where there are two.
  void two_deep(uint32_t i) noexcept {
    auto first = ring.acquire_late();
    look(first.index(), i);
    if constexpr (stages == 1) {
      mark(params.emptied, i);
      first.release();
      auto second = ring.acquire_late();
      look(second.index(), i + 1);
      mark(params.emptied, i + 1);
      second.release();
    } else {
      auto second = ring.acquire_late();
      look(second.index(), i + 1);
      mark(params.emptied, i);
      first.release();
      mark(params.emptied, i + 1);
      second.release();
    }
  }

  /// All that fills this slot is there.
  void look(uint32_t stage, uint32_t i) noexcept {
    params.tally->equal(stage, i % stages, __LINE__);
    const uint32_t word = arch::lane_index();
    for (uint32_t producer = 0; producer < ctas; ++producer) {
      if (!fills(producer, rank)) continue;
      params.tally->equal(journal(params.filled, producer)[i], fill_marks, __LINE__);
      const uint32_t seen = in_global ? arch::load_global(global_slot(rank, stage, producer) + word)
                                      : arch::load_shared(Piece(storage.pieces[stage][producer]).data + word);
      params.tally->equal(seen, value(producer, i, word), __LINE__);
    }
  }
  /// Everyone whose slot this writer fills in round i has let go of it.
  void expect_emptied(uint32_t i) noexcept {
    for (uint32_t cta = 0; cta < ctas; ++cta)
      if (frees(cta, rank)) params.tally->equal(journal(params.emptied, cta)[i], readers, __LINE__);
  }

  RingSchedules(const RingParams& p, Storage& s) noexcept : params(p), storage(s), ring(s.barriers.ptr()) {}

  uint8_t* journal(uint8_t* which, uint32_t cta) const noexcept {
    return which + (arch::cluster_index().x * ctas + cta) * rounds;
  }
  void mark(uint8_t* which, uint32_t i) const noexcept { ++journal(which, rank)[i]; }
  uint32_t* global_slot(uint32_t cta, uint32_t stage, uint32_t producer) const noexcept {
    return params.slots + (((arch::cluster_index().x * ctas + cta) * stages + stage) * ctas + producer) * words;
  }

  const RingParams& params;
  Storage& storage;
  Ring ring;
  uint32_t rank = arch::cluster_rank();

  // ---- the launch

  static constexpr uint64_t checks_per_cluster() {
    uint64_t checks = 0;
    for (uint32_t rank = 0; rank < ctas; ++rank) {
      uint64_t filling = 0, freeing = 0;
      for (uint32_t other = 0; other < ctas; ++other) {
        filling += fills(other, rank);
        freeing += frees(other, rank);
      }
      const uint64_t looks = Fills::bytes ? rounds : rounds - 1;
      checks += readers * looks * (1 + 2 * filling);
      if (writes(rank)) checks += writers * freeing * (rounds + looks - stages);
    }
    return checks;
  }

  static void run_schedules(uint32_t count) {
    std::vector<uint32_t> values(ctas * rounds * words);
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = i + 1;  // value(producer, round, word)
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.address = values.data();
    args.dims = {words, ctas * rounds, 1, 1, 1};
    args.strides[0] = words * 4;
    args.box = {words, 1, 1, 1, 1};
    const Result<TensorMap> map = loom::encode_tensor_map(args, loom::Chip::sm100);
    ASSERT_TRUE(map) << map.error();

    Tally tally;
    // The shares of the schedules are launched one after the other: each needs a clean journal.
    const loom::LaunchConfig config{.kernel = "ring",
                                    .cluster = {Shape::m, Shape::n, 1},
                                    .threads = threads_of<Writer, Reader>,
                                    .shared_bytes = sizeof(Storage)};
    for (const Share& share : shares) {
      const size_t clusters = count * share.eighths / 8;
      std::vector<uint32_t> slots(in_global ? clusters * ctas * stages * ctas * words : 1, ~0u);
      std::vector<uint8_t> filled(clusters * ctas * rounds), emptied(clusters * ctas * rounds);
      const RingParams params{&tally, *map, values.data(), slots.data(), filled.data(), emptied.data()};
      const loom::TensorRef tensors[] = {{values.data(), values.size() * 4, loom::Access::read, "values"},
                                         {slots.data(), slots.size() * 4, loom::Access::write, "slots"}};
      run_share(share, static_cast<uint32_t>(clusters), config, &entry, params, tensors, checks_per_cluster());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
};

}  // namespace warploom::test
