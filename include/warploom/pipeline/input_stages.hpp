// The handles of the input ring, and the two ends of it that a role may hold. Include pipeline/input.hpp.
//
//   auto loads = input.producer();                       // the load role's end
//   arch::Ready ready = loads.try_acquire();             // poll early ...
//   auto slot = loads.acquire_if_needed(ready);          // ... and wait only if that failed
#pragma once

#include "warploom/pipeline/payload.hpp"
#include "warploom/pipeline/producer_consumer.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

namespace detail {
/// What the load role sees of a slot it holds. `Handle` says whether it still does.
template <class Ring, class Handle>
class SlotToFill {
 public:
  using Payload = typename Ring::Payload;
  using Cluster = typename Ring::Cluster;

  WARPLOOM_FN SlotToFill(Ring* ring, int k, arch::Ready ready, int end = beyond) noexcept
      : ring_(ring), k_(k), end_(end), stage_(ring->pipeline.producer_stage()) {
    ring->pipeline.wait_consumer_if_needed(ready);
    ring->pipeline.arm();
    if constexpr (Ring::has_local)
      arch::mbarrier_arrive_expect_tx(arch::shared_address(ring->scales_mbar(stage_)), Payload::local_bytes);
  }

  WARPLOOM_FN int k() const noexcept { return k_; }  ///< the first K block of the slot
  WARPLOOM_FN uint32_t stage() const noexcept {
    static_cast<const Handle*>(this)->claim();
    return stage_;
  }
  /// Where the operands' bytes complete.
  WARPLOOM_FN MbarPtr barrier() const noexcept { return ring_->pipeline.producer_mbar(stage()); }
  /// The slot was armed on entry, for what its payload brings; the loom reports any other number.
  WARPLOOM_FN void expect_bytes(uint32_t bytes) const noexcept {
    arch::claim_argument<typename Ring::Protocol>("bytes", bytes, Ring::Protocol::bytes);
  }
  WARPLOOM_FN typename Payload::Slot& payload(int k = 0) const noexcept { return ring_->slot(stage(), k); }

  /// Brings the K blocks of the slot: the payload's tiles from the rows named.
  template <class... Rows>
  WARPLOOM_FN void load(Rows... rows) const noexcept {
    const SlotBarriers full = barriers();
    WARPLOOM_UNROLL
    for (int i = 0; i < Ring::k_group_size; ++i) Payload::load(ring_->slot(stage_, i), block(i), full, rows...);
  }

 protected:
  WARPLOOM_FN SlotBarriers barriers() const noexcept {
    SlotBarriers full{arch::shared_address(barrier()), {}};
    if constexpr (Cluster::cta_group == 2) full.operands = arch::pair_leader(full.operands);
    if constexpr (Ring::has_local) full.local = arch::shared_address(ring_->scales_mbar(stage_));
    return full;
  }

  /// Block i of the group; one past the end of a range comes from beyond every tensor's K, as zeros.
  WARPLOOM_FN int block(int i) const noexcept { return Ring::k_group_size == 1 || k_ + i < end_ ? k_ + i : beyond; }
  static constexpr int beyond = 1 << 23;

  Ring* ring_;
  int k_, end_;
  uint32_t stage_;
};

/// What a multiplying role sees of a slot it holds. `Handle` says whether it still does.
template <class Ring, class Handle>
class FilledSlot {
 public:
  using Payload = typename Ring::Payload;

  WARPLOOM_FN FilledSlot(Ring& ring, uint32_t stage) noexcept : ring_(&ring), stage_(stage) {}
  WARPLOOM_FN auto a(int k = 0) const noexcept { return ring_->a(stage(), k); }
  WARPLOOM_FN auto b(int k = 0) const noexcept { return ring_->b(stage(), k); }
  WARPLOOM_FN auto sfa(int k = 0) const noexcept { return ring_->sfa(stage(), k); }
  WARPLOOM_FN auto sfb(int k = 0) const noexcept { return ring_->sfb(stage(), k); }
  WARPLOOM_FN typename Payload::Slot& payload(int k = 0) const noexcept { return ring_->slot(stage(), k); }
  WARPLOOM_FN uint32_t stage() const noexcept {
    static_cast<const Handle*>(this)->claim();
    return stage_;
  }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->pipeline.consumer_mbar(stage()); }  ///< the empty barrier

 protected:
  Ring* ring_;
  uint32_t stage_;
};
}  // namespace detail

/// A free slot for one scope, armed: its operands on the leader, what is local here. Leaving steps.
template <class Ring>
class [[nodiscard]] ProducerTiles : public detail::SlotToFill<Ring, ProducerTiles<Ring>>, Scope {
  using Slot = detail::SlotToFill<Ring, ProducerTiles>;

 public:
  WARPLOOM_FN ProducerTiles(Ring* ring, int k) noexcept : Slot(ring, k, {}, ring->k_end) {}  // of a range
  WARPLOOM_FN ProducerTiles(Ring* ring, int k, arch::Ready ready) noexcept : Slot(ring, k, ready) {}
  WARPLOOM_FN ~ProducerTiles() noexcept { this->ring_->pipeline.producer_step(); }
  WARPLOOM_FN void claim() const noexcept {}  // a scope holds its slot to the end
};

/// A free slot, armed, that must be released; release() steps.
template <class Ring>
class [[nodiscard]] InputProducerStage : public detail::SlotToFill<Ring, InputProducerStage<Ring>>,
                                         MustRelease<typename Ring::Protocol> {
  using Slot = detail::SlotToFill<Ring, InputProducerStage>;

 public:
  WARPLOOM_FN explicit InputProducerStage(Ring& ring, int k = 0) noexcept : Slot(&ring, k, {}) {}
  WARPLOOM_DEFAULTED InputProducerStage(InputProducerStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~InputProducerStage() noexcept = default;

  WARPLOOM_FN void release() noexcept {
    this->settle([&]() WARPLOOM_LAMBDA { this->ring_->pipeline.producer_step(); });
  }
  WARPLOOM_FN void claim() const noexcept { this->claim_held(); }
};

/// A filled slot for one scope. Leaving frees it as the ring's policy for this role says: on Blackwell by a commit, so
/// that it is free once the tensor core has read it.
template <class Ring, class Role>
class [[nodiscard]] ConsumerTiles : public detail::FilledSlot<Ring, ConsumerTiles<Ring, Role>>, Scope {
  using Slot = detail::FilledSlot<Ring, ConsumerTiles>;

 public:
  WARPLOOM_FN explicit ConsumerTiles(Ring& ring, arch::Ready ready = {}) noexcept
      : Slot(ring, ring.pipeline.consumer_stage()) {
    ring.pipeline.wait_producer_if_needed(ready);
    Ring::Freed::template after_wait<Role>();
  }
  WARPLOOM_FN ~ConsumerTiles() noexcept {
    this->ring_->pipeline.template signal_free<Role>();
    this->ring_->pipeline.consumer_step();
  }
  WARPLOOM_FN void claim() const noexcept {}
};

/// A filled slot that must be released: release() frees it and steps.
template <class Ring, class Role>
class [[nodiscard]] InputConsumerStage : public detail::FilledSlot<Ring, InputConsumerStage<Ring, Role>>,
                                         MustRelease<typename Ring::Protocol> {
  using Slot = detail::FilledSlot<Ring, InputConsumerStage>;

 public:
  WARPLOOM_FN explicit InputConsumerStage(Ring& ring) noexcept : Slot(ring, ring.pipeline.consumer_stage()) {
    ring.pipeline.wait_producer();
    Ring::Freed::template after_wait<Role>();
  }
  WARPLOOM_DEFAULTED InputConsumerStage(InputConsumerStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~InputConsumerStage() noexcept = default;

  WARPLOOM_FN void release() noexcept {
    this->settle([&]() WARPLOOM_LAMBDA {
      this->ring_->pipeline.template signal_free<Role>();
      this->ring_->pipeline.consumer_step();
    });
  }
  WARPLOOM_FN void claim() const noexcept { this->claim_held(); }
};

/// The load role's end of the ring.
template <class Ring>
class InputProducer {
 public:
  WARPLOOM_FN explicit InputProducer(Ring& ring) noexcept : ring_(&ring) {}
  WARPLOOM_FN ProducerTiles<Ring> acquire(int k = 0) const noexcept { return ProducerTiles<Ring>(ring_, k, {}); }
  WARPLOOM_FN InputProducerStage<Ring> acquire_stage(int k = 0) const noexcept {
    return InputProducerStage<Ring>(*ring_, k);
  }
  [[nodiscard]] WARPLOOM_FN arch::Ready try_acquire() const noexcept { return ring_->try_acquire_producer(); }
  WARPLOOM_FN ProducerTiles<Ring> acquire_if_needed(arch::Ready ready, int k = 0) const noexcept {
    return ProducerTiles<Ring>(ring_, k, ready);
  }
  WARPLOOM_FN void drain() const noexcept { ring_->drain(); }

 private:
  Ring* ring_;
};

/// The multiplying role's end of the ring.
template <class Ring, class Role>
class InputConsumer {
 public:
  WARPLOOM_FN explicit InputConsumer(Ring& ring) noexcept : ring_(&ring) {}
  WARPLOOM_FN ConsumerTiles<Ring, Role> acquire() const noexcept { return ConsumerTiles<Ring, Role>(*ring_); }
  WARPLOOM_FN InputConsumerStage<Ring, Role> acquire_stage() const noexcept {
    return InputConsumerStage<Ring, Role>(*ring_);
  }
  [[nodiscard]] WARPLOOM_FN arch::Ready try_acquire() const noexcept { return ring_->try_acquire_consumer(); }
  WARPLOOM_FN ConsumerTiles<Ring, Role> acquire_if_needed(arch::Ready ready) const noexcept {
    return ConsumerTiles<Ring, Role>(*ring_, ready);
  }

 private:
  Ring* ring_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
