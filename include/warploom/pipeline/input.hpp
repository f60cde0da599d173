// The input ring: operand tiles from TMA to the tensor core, and A scales from TMA to the epilogue, in one slot.
//
// Two full barriers guard a slot. The operands complete on the leader's (with CTA pairs, the bytes of both CTAs), the
// scales on one of the CTA's own, because a wait is local and the epilogue of either CTA reads only its own scales.
//
//   for (auto slot : input.produce(k_blocks)) slot.load(a[m], b[n], a_scales[m]);      // load: a free slot, armed
//   { auto in = input.consume(); umma(acc, in.a(), in.b(), Accumulate::fresh); }       // mma: leaving commits
#pragma once

#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/payload.hpp"
#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/pipeline/stage_range.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A tensor seen as tiles: `a[m]` names the tiles that start at row m * rows.
struct TileLoader {
  const TensorMap* map;
  int rows;

  struct Row {
    const TensorMap* map;
    int row;
  };
  WARPLOOM_FN Row operator[](int index) const noexcept { return {map, index * rows}; }
};

template <class Ring>
class ProducerTiles;
template <class Ring>
class ConsumerTiles;

template <class Payload_, int stages, class Filled, class Freed>
class InputTilePipeline {
 public:
  using Payload = Payload_;
  using Cluster = typename Payload::Cluster;
  static constexpr int num_stages = stages;

  struct Protocol {
    static constexpr char name[] = "input";
    using cluster = Cluster;
    using filled = Filled;
    using freed = Freed;
    static constexpr uint32_t bytes = Payload::operand_bytes;
  };
  using Pipeline = ProducerConsumerPipeline<stages, Protocol>;
  struct ScalesLabel {
    static constexpr char name[] = "input.scales";
  };

  struct Storage {
    typename Payload::Slot slots[stages];
    typename Pipeline::BarrierArray barriers;
    SMemArray<SharedMemBarrier, stages> scales_full;
  };

  WARPLOOM_FN explicit InputTilePipeline(Storage& storage) noexcept
      : pipeline(storage.barriers.ptr()), storage_(&storage) {}

  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    Pipeline::init_mbars(storage.barriers.ptr());
    for (int i = 0; i < stages; ++i)
      arch::mbarrier_init(arch::shared_address(storage.scales_full[i]), Filled::template arrivals<Cluster>);
    arch::name_barriers<ScalesLabel, Filled>(storage.scales_full.ptr(), stages, arch::RingSide::full);
  }

  // ---- load
  WARPLOOM_FN StageRange<ProducerTiles<InputTilePipeline>, InputTilePipeline*> produce(KBlocks k_blocks) noexcept {
    return {this, k_blocks};
  }
  WARPLOOM_FN void drain() noexcept { pipeline.drain(); }

  // ---- mma
  WARPLOOM_FN ConsumerTiles<InputTilePipeline> consume() noexcept { return ConsumerTiles<InputTilePipeline>(*this); }

  // ---- epilogue: the scales of the current slot
  WARPLOOM_FN void wait_scales() const noexcept {
    arch::mbarrier_wait(arch::shared_address(storage_->scales_full[static_cast<int>(pipeline.consumer_stage())]),
                        pipeline.consumer_lap() + 1);
  }

  WARPLOOM_FN typename Payload::A a(uint32_t stage) const noexcept {
    return typename Payload::A(storage_->slots[stage].a);
  }
  WARPLOOM_FN typename Payload::B b(uint32_t stage) const noexcept {
    return typename Payload::B(storage_->slots[stage].b);
  }
  WARPLOOM_FN typename Payload::Scales a_scales(uint32_t stage) const noexcept {
    return typename Payload::Scales(storage_->slots[stage].a_scales);
  }
  WARPLOOM_FN MbarPtr scales_mbar(uint32_t stage) const noexcept {
    return storage_->scales_full[static_cast<int>(stage)];
  }

  Pipeline pipeline;

 private:
  Storage* storage_;
};

/// A free slot for one scope, armed: its operands on the leader, its scales here. Leaving steps.
template <class Ring>
class [[nodiscard]] ProducerTiles {
 public:
  using Payload = typename Ring::Payload;
  using Cluster = typename Ring::Cluster;

  WARPLOOM_FN ProducerTiles(Ring* ring, int k) noexcept : ring_(ring), k_(k), stage_(ring->pipeline.producer_stage()) {
    ring->pipeline.wait_consumer();
    if (Cluster::leads(arch::cluster_rank())) ring->pipeline.arm();
    arch::mbarrier_arrive_expect_tx(arch::shared_address(ring->scales_mbar(stage_)), Payload::local_bytes);
  }
  WARPLOOM_FN ~ProducerTiles() noexcept { ring_->pipeline.producer_step(); }
  ProducerTiles(const ProducerTiles&) = delete;
  ProducerTiles& operator=(const ProducerTiles&) = delete;

  WARPLOOM_FN int k() const noexcept { return k_; }
  WARPLOOM_FN uint32_t stage() const noexcept { return stage_; }

  /// K block k of the rows named: this CTA's slices of A and B, to everyone who shares them, and its own A scales.
  WARPLOOM_FN void load(TileLoader::Row a, TileLoader::Row b, TileLoader::Row scales) const noexcept {
    const uint32_t rank = arch::cluster_rank();
    const int column = k_ * Payload::tile_k;
    const arch::SharedAddress full = leader_barrier();

    const int a_slice = static_cast<int>(Cluster::rank_n(rank)) * Payload::a_slice_rows;
    const arch::SharedAddress a_tile = ring_->a(stage_).address() + a_slice * Payload::A::row_bytes;
    copy<Cluster::a_sharers>(a_tile, *a.map, full, {column, a.row + a_slice}, Cluster::a_mask(rank));

    const uint32_t m = Cluster::rank_m(rank);
    const int b_slice = static_cast<int>(m / Cluster::cta_group) * Payload::b_slice_rows;
    const int b_half = static_cast<int>(m % Cluster::cta_group) * Payload::b_rows;
    const arch::SharedAddress b_tile = ring_->b(stage_).address() + b_slice * Payload::B::row_bytes;
    copy<Cluster::b_sharers>(b_tile, *b.map, full, {column, b.row + b_half + b_slice}, Cluster::b_mask(rank));

    arch::tma_load<Cluster::cta_group>(ring_->a_scales(stage_).address(), *scales.map,
                                       arch::shared_address(ring_->scales_mbar(stage_)), {scales.row, k_});
  }

 private:
  WARPLOOM_FN arch::SharedAddress leader_barrier() const noexcept {
    const arch::SharedAddress own = arch::shared_address(ring_->pipeline.producer_mbar(stage_));
    if constexpr (Cluster::cta_group == 2) return arch::pair_leader(own);
    return own;
  }
  template <int sharers>
  static WARPLOOM_FN void copy(arch::SharedAddress to, const TensorMap& map, arch::SharedAddress barrier,
                               arch::Coord2 at, uint16_t mask) noexcept {
    if constexpr (sharers == 1)
      arch::tma_load<Cluster::cta_group>(to, map, barrier, at);
    else
      arch::tma_load_multicast<Cluster::cta_group>(to, map, barrier, at, mask);
  }

  Ring* ring_;
  int k_;
  uint32_t stage_;
};

/// A filled slot for one scope, on the MMA lane. Leaving commits: the slot is free once the tensor core has read it.
template <class Ring>
class [[nodiscard]] ConsumerTiles {
 public:
  using Payload = typename Ring::Payload;

  WARPLOOM_FN explicit ConsumerTiles(Ring& ring) noexcept : ring_(&ring), stage_(ring.pipeline.consumer_stage()) {
    ring.pipeline.wait_producer();
    arch::tcgen05_fence_after();
  }
  WARPLOOM_FN ~ConsumerTiles() noexcept {
    ring_->pipeline.template signal_free<Mma>();
    ring_->pipeline.consumer_step();
  }
  ConsumerTiles(const ConsumerTiles&) = delete;
  ConsumerTiles& operator=(const ConsumerTiles&) = delete;

  WARPLOOM_FN typename Payload::A a() const noexcept { return ring_->a(stage_); }
  WARPLOOM_FN typename Payload::B b() const noexcept { return ring_->b(stage_); }

 private:
  Ring* ring_;
  uint32_t stage_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
