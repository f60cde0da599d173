// The ring: n slots, a full and an empty barrier each, a producer and a consumer side that go round in laps.
//
// Every thread that takes part holds its own copy of the state; only the barriers are shared. A protocol names the ring
// and says how its barriers are signalled:
//
//   struct Residual {
//     static constexpr char name[] = "residual";
//     using cluster = ClusterShape<1, 1, 1>;
//     using filled = filled_by<tma_bytes<EpilogueLoad>>;
//     using freed = freed_by<every_thread<Epilogue>>;
//     static constexpr uint32_t bytes = 16384;                  // what TMA brings per slot; 0: not TMA
//   };
//   ProducerConsumerPipeline<2, Residual> ring(storage);
//   { auto slot = ring.produce(); load(slot.mbar()); }          // a free slot, armed; leaving steps
//   { auto slot = ring.consume<Epilogue>(); read(slot.index()); }  // a full slot; leaving frees it
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/pipeline/must_release.hpp"
#include "warploom/pipeline/policy.hpp"
#include "warploom/pipeline/storage.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A free slot, armed. Must be released: release() says that it is filled, as the policy asks (bytes say so
/// themselves), and steps.
template <class Ring>
class [[nodiscard]] ProducerStage : MustRelease<typename Ring::Protocol> {
  using Base = MustRelease<typename Ring::Protocol>;

 public:
  WARPLOOM_FN explicit ProducerStage(Ring& ring) noexcept : ring_(&ring), index_(ring.producer_stage()) {
    ring.wait_consumer();
    ring.arm();
  }
  WARPLOOM_DEFAULTED ProducerStage(ProducerStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~ProducerStage() noexcept = default;

  WARPLOOM_FN uint32_t index() const noexcept {
    this->claim_held();
    return index_;
  }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->producer_mbar(index()); }  ///< the full barrier
  WARPLOOM_FN void release() noexcept {
    Base::settle([&]() WARPLOOM_LAMBDA {
      ring_->signal_full();
      ring_->producer_step();
    });
  }

 private:
  Ring* ring_;
  uint32_t index_;
};

/// A free slot, armed, for one scope. Leaving fills it as the policy says, and steps.
template <class Ring>
class [[nodiscard]] ProduceContext : ProducerStage<Ring> {
  using Stage = ProducerStage<Ring>;

 public:
  WARPLOOM_FN explicit ProduceContext(Ring& ring) noexcept : Stage(ring) {}
  WARPLOOM_FN ~ProduceContext() noexcept { Stage::release(); }
  using Stage::index, Stage::mbar;
};

/// A full slot. Must be released: release() frees the slot as the policy says, unless free() has, and steps.
template <class Ring, class Role>
class [[nodiscard]] ConsumerStage : MustRelease<typename Ring::Protocol> {
  static_assert(!std::is_void_v<Role>,
                "warploom: several roles free this ring; say which one consumes: consume<Role>()");
  using Base = MustRelease<typename Ring::Protocol>;

 public:
  WARPLOOM_FN explicit ConsumerStage(Ring& ring) noexcept : ring_(&ring), index_(ring.consumer_stage()) {
    ring.wait_producer();
    Ring::Freed::template after_wait<Role>();
  }
  WARPLOOM_DEFAULTED ConsumerStage(ConsumerStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~ConsumerStage() noexcept = default;

  WARPLOOM_FN uint32_t index() const noexcept {
    this->claim_held();
    slot_.claim();
    return index_;
  }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->consumer_mbar(index()); }  ///< the empty barrier
  /// One arrival of this thread on the empty barrier: for those who signal by hand.
  WARPLOOM_FN void arrive() const noexcept {
    if constexpr (Ring::Protocol::bytes != 0) arch::fence_proxy_async_shared();
    arch::mbarrier_arrive(arch::shared_address(mbar()));
  }
  /// Gives the slot back now, once what it held is in registers; releasing then only steps.
  WARPLOOM_FN void free() noexcept {
    this->claim_held();
    slot_.settle([&]() WARPLOOM_LAMBDA { ring_->template signal_free<Role>(index_); });
  }
  WARPLOOM_FN void release() noexcept {
    Base::settle([&]() WARPLOOM_LAMBDA {
      free();
      ring_->consumer_step();
    });
  }
  WARPLOOM_FN void release_without_signal() noexcept {
    Base::settle([&]() WARPLOOM_LAMBDA { ring_->consumer_step(); });
  }

 private:
  Ring* ring_;
  uint32_t index_;
  Held<typename Ring::Protocol> slot_;
};

/// A full slot for one scope. Leaving frees it, unless free() has.
template <class Ring, class Role>
class [[nodiscard]] ConsumeContext : ConsumerStage<Ring, Role> {
  using Stage = ConsumerStage<Ring, Role>;

 public:
  WARPLOOM_FN explicit ConsumeContext(Ring& ring) noexcept : Stage(ring) {}
  WARPLOOM_FN ~ConsumeContext() noexcept { Stage::release(); }
  using Stage::free, Stage::index, Stage::mbar;
};

/// A full slot for one scope, freed by hand with arrive(). Leaving only steps.
template <class Ring, class Role>
class [[nodiscard]] ExplicitConsumeContext : ConsumerStage<Ring, Role> {
  using Stage = ConsumerStage<Ring, Role>;

 public:
  WARPLOOM_FN explicit ExplicitConsumeContext(Ring& ring) noexcept : Stage(ring) {}
  WARPLOOM_FN ~ExplicitConsumeContext() noexcept { Stage::release_without_signal(); }
  using Stage::arrive, Stage::index, Stage::mbar;
};

/// A full slot of a consumer that works ahead: the ring has stepped, release() only frees it. Several may be held.
template <class Ring, class Role>
class [[nodiscard]] LateStage : MustRelease<typename Ring::Protocol> {
  static_assert(!std::is_void_v<Role>,
                "warploom: several roles free this ring; say which one consumes: acquire_late<Role>()");
  using Base = MustRelease<typename Ring::Protocol>;

 public:
  WARPLOOM_FN explicit LateStage(Ring& ring) noexcept : ring_(&ring), index_(ring.consumer_stage()) {
    ring.wait_producer();
    Ring::Freed::template after_wait<Role>();
    ring.consumer_step();
  }
  WARPLOOM_DEFAULTED LateStage(LateStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~LateStage() noexcept = default;

  WARPLOOM_FN uint32_t index() const noexcept {
    this->claim_held();
    return index_;
  }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->consumer_mbar(index()); }  ///< the empty barrier
  WARPLOOM_FN void release() noexcept {
    Base::settle([&]() WARPLOOM_LAMBDA { ring_->template signal_free<Role>(index_); });
  }
  /// Releases this slot and holds the newer one in its place: the step of a loop that keeps one slot back.
  WARPLOOM_FN void replace_with(LateStage&& newer) noexcept {
    this->claim_held();
    ring_->template signal_free<Role>(index_);
    index_ = newer.index_;
    newer.settle([] {});
  }

 private:
  Ring* ring_;
  uint32_t index_;
};

template <int stages, class Protocol_>
class ProducerConsumerPipeline {
 public:
  using Protocol = Protocol_;
  using Cluster = typename Protocol::cluster;
  using Filled = typename Protocol::filled;
  using Freed = typename Protocol::freed;
  using OnlyRole = typename Freed::only_role;
  static constexpr int num_stages = stages;
  static_assert(stages >= 1, "warploom: a ring has at least one slot");
  using BarrierArray = SMemArray<SharedMemBarrier, 2 * stages>;

  // What follows from the policies. Nobody writes these.
  static constexpr uint32_t producer_count = Filled::template arrivals<Cluster>;
  static constexpr uint32_t consumer_count = Freed::template arrivals<Cluster>;

  /// full[0..n) then empty[0..n)
  WARPLOOM_FN explicit ProducerConsumerPipeline(SharedMemBarrier* barriers) noexcept : barriers_(barriers) {}

  /// One thread, once per CTA, before fence_mbarrier_init and the cluster barrier. The loom reports other counts.
  static WARPLOOM_FN void init_mbars(SharedMemBarrier* barriers, uint32_t producer_arrivals = producer_count,
                                     uint32_t consumer_arrivals = consumer_count) noexcept {
    arch::claim_argument<Protocol>("producer arrivals", producer_arrivals, producer_count);
    arch::claim_argument<Protocol>("consumer arrivals", consumer_arrivals, consumer_count);
    for (int i = 0; i < stages; ++i) {
      arch::mbarrier_init(arch::shared_address(barriers + i), producer_arrivals);
      arch::mbarrier_init(arch::shared_address(barriers + stages + i), consumer_arrivals);
    }
    arch::name_barriers<Protocol, Filled>(barriers, stages, arch::RingSide::full);
    arch::name_barriers<Protocol, Freed>(barriers + stages, stages, arch::RingSide::empty);
  }
  static constexpr size_t smem_bytes() { return sizeof(BarrierArray); }

  // ---- scoped and must-release handles
  WARPLOOM_FN ProduceContext<ProducerConsumerPipeline> produce() noexcept {
    return ProduceContext<ProducerConsumerPipeline>(*this);
  }
  WARPLOOM_FN ProducerStage<ProducerConsumerPipeline> acquire_producer() noexcept {
    return ProducerStage<ProducerConsumerPipeline>(*this);
  }
  template <class Role = OnlyRole>
  WARPLOOM_FN ConsumeContext<ProducerConsumerPipeline, Role> consume() noexcept {
    return ConsumeContext<ProducerConsumerPipeline, Role>(*this);
  }
  template <class Role = OnlyRole>
  WARPLOOM_FN ExplicitConsumeContext<ProducerConsumerPipeline, Role> consume_explicit() noexcept {
    return ExplicitConsumeContext<ProducerConsumerPipeline, Role>(*this);
  }
  template <class Role = OnlyRole>
  WARPLOOM_FN ConsumerStage<ProducerConsumerPipeline, Role> acquire_consumer() noexcept {
    return ConsumerStage<ProducerConsumerPipeline, Role>(*this);
  }
  /// A full slot that is released after later ones have been acquired.
  template <class Role = OnlyRole>
  WARPLOOM_FN LateStage<ProducerConsumerPipeline, Role> acquire_late() noexcept {
    return LateStage<ProducerConsumerPipeline, Role>(*this);
  }

  // ---- the parts they are made of
  WARPLOOM_FN void wait_consumer() const noexcept {  ///< producer: until the current slot is free
    arch::mbarrier_wait(address(consumer_mbar(producer_stage_)), producer_lap_);
  }
  template <bool before_wgmma = false>
  WARPLOOM_FN void wait_producer() const noexcept {  ///< consumer: until the current slot is full
    arch::mbarrier_wait<arch::Scope::cta, before_wgmma>(address(producer_mbar(consumer_stage_)), consumer_lap_ + 1);
  }
  // One poll may spare the wait: `ready = ring.try_wait_producer(); ... ring.wait_producer_if_needed(ready)`.
  [[nodiscard]] WARPLOOM_FN arch::Ready try_wait_consumer() const noexcept {
    return arch::mbarrier_poll(address(consumer_mbar(producer_stage_)), producer_lap_);
  }
  [[nodiscard]] WARPLOOM_FN arch::Ready try_wait_producer() const noexcept {
    return arch::mbarrier_poll(address(producer_mbar(consumer_stage_)), consumer_lap_ + 1);
  }
  WARPLOOM_FN void wait_consumer_if_needed(arch::Ready ready) const noexcept {
    arch::mbarrier_wait_unless(ready, address(consumer_mbar(producer_stage_)), producer_lap_);
  }
  WARPLOOM_FN void wait_producer_if_needed(arch::Ready ready) const noexcept {
    arch::mbarrier_wait_unless(ready, address(producer_mbar(consumer_stage_)), consumer_lap_ + 1);
  }
  /// Announces the slot's bytes on its full barrier: the producer's arrival. Once per slot.
  WARPLOOM_FN void arm() const noexcept {
    if constexpr (Protocol::bytes != 0)
      Filled::template arm<Cluster>(address(producer_mbar(producer_stage_)), Protocol::bytes);
  }
  /// What the producer owes to the current slot's full barrier, by its policy: nothing more where bytes fill it.
  WARPLOOM_FN void signal_full() const noexcept {
    Filled::template signal<Cluster>(address(producer_mbar(producer_stage_)));
  }
  /// What `Role` owes to a slot's empty barrier, by its policy.
  template <class Role>
  WARPLOOM_FN void signal_free(uint32_t stage) const noexcept {
    // The slot goes back to TMA, which writes through the async proxy: ordinary reads must be fenced off first.
    constexpr bool read = Freed::template reads_generic<Role> && Protocol::bytes != 0;
    if constexpr (read) arch::fence_proxy_async_shared();
    Freed::template signal<Role, Cluster, arch::Scope{read}>(address(consumer_mbar(stage)));
  }
  template <class Role>
  WARPLOOM_FN void signal_free() const noexcept {
    signal_free<Role>(consumer_stage_);
  }
  /// A hand-off without a slot to look at: waits for its turn, signals as the policy says, steps.
  WARPLOOM_FN void producer_signal_and_step() noexcept {
    wait_consumer();
    signal_full();
    producer_step();
  }
  template <class Role = OnlyRole>
  WARPLOOM_FN void consumer_signal_and_step() noexcept {
    wait_producer();
    signal_free<Role>();
    consumer_step();
  }
  WARPLOOM_FN MbarPtr producer_mbar(uint32_t stage) const noexcept { return barriers_ + stage; }
  WARPLOOM_FN MbarPtr consumer_mbar(uint32_t stage) const noexcept { return barriers_ + stages + stage; }
  WARPLOOM_FN uint32_t producer_stage() const noexcept { return producer_stage_; }
  WARPLOOM_FN uint32_t consumer_stage() const noexcept { return consumer_stage_; }
  WARPLOOM_FN uint32_t consumer_lap() const noexcept { return consumer_lap_; }
  /// Bookkeeping only: a step never touches a barrier.
  WARPLOOM_FN void producer_step() noexcept { step(producer_stage_, producer_lap_); }
  WARPLOOM_FN void consumer_step() noexcept { step(consumer_stage_, consumer_lap_); }
  /// Passes over `count` slots that another consumer of the ring takes: only with the right order between the two.
  WARPLOOM_FN void consumer_skip(uint32_t count) noexcept {
    consumer_stage_ += count;
    consumer_lap_ += consumer_stage_ / stages;
    consumer_stage_ %= stages;
  }

  /// End of the producer: until every slot is free again, so that no late arrival meets an exited CTA.
  WARPLOOM_FN void drain() const noexcept {
    ProducerConsumerPipeline ahead = *this;
    for (int i = 0; i < stages; ++i, ahead.producer_step()) ahead.wait_consumer();
  }

 private:
  static WARPLOOM_FN arch::SharedAddress address(MbarPtr barrier) noexcept { return arch::shared_address(barrier); }
  static WARPLOOM_FN void step(uint32_t& stage, uint32_t& lap) noexcept {
    if (++stage == stages) {
      stage = 0;
      ++lap;
    }
  }

  SharedMemBarrier* barriers_;
  uint32_t producer_stage_ = 0;
  uint32_t producer_lap_ = 0;
  uint32_t consumer_stage_ = 0;
  uint32_t consumer_lap_ = 0;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
