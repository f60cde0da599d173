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

template <class Ring>
class ProducerStage;
template <class Ring>
class ProduceContext;
template <class Ring, class Role>
class ConsumerStage;
template <class Ring, class Role>
class ConsumeContext;
template <class Ring, class Role>
class ExplicitConsumeContext;

/// The role that consumes when a protocol has exactly one freeing policy; void when it must be named.
namespace detail {
template <class Freed>
struct only_role {
  using type = void;
};
template <class Policy>
struct only_role<freed_by<Policy>> {
  using type = typename Policy::role;
};
}  // namespace detail

template <int stages, class Protocol_>
class ProducerConsumerPipeline {
 public:
  using Protocol = Protocol_;
  using Cluster = typename Protocol::cluster;
  static constexpr int num_stages = stages;
  using BarrierArray = SMemArray<SharedMemBarrier, 2 * stages>;

  // What follows from the policies. Nobody writes these.
  static constexpr uint32_t producer_count = Protocol::filled::template arrivals<Cluster>;
  static constexpr uint32_t consumer_count = Protocol::freed::template arrivals<Cluster>;

  /// full[0..n) then empty[0..n)
  WARPLOOM_FN explicit ProducerConsumerPipeline(SharedMemBarrier* barriers) noexcept : barriers_(barriers) {}

  /// One thread, once per CTA, before fence_mbarrier_init and the cluster barrier.
  static WARPLOOM_FN void init_mbars(SharedMemBarrier* barriers, uint32_t producer_arrivals = producer_count,
                                     uint32_t consumer_arrivals = consumer_count) noexcept {
    for (int i = 0; i < stages; ++i) {
      arch::mbarrier_init(arch::shared_address(barriers + i), producer_arrivals);
      arch::mbarrier_init(arch::shared_address(barriers + stages + i), consumer_arrivals);
    }
    arch::name_barriers<Protocol, typename Protocol::filled>(barriers, stages, arch::RingSide::full);
    arch::name_barriers<Protocol, typename Protocol::freed>(barriers + stages, stages, arch::RingSide::empty);
  }
  static constexpr size_t smem_bytes() { return sizeof(BarrierArray); }

  // ---- scoped and must-release handles
  WARPLOOM_FN ProduceContext<ProducerConsumerPipeline> produce() noexcept {
    return ProduceContext<ProducerConsumerPipeline>(*this);
  }
  WARPLOOM_FN ProducerStage<ProducerConsumerPipeline> acquire_producer() noexcept {
    return ProducerStage<ProducerConsumerPipeline>(*this);
  }
  template <class Role = typename detail::only_role<typename Protocol::freed>::type>
  WARPLOOM_FN ConsumeContext<ProducerConsumerPipeline, Role> consume() noexcept {
    return ConsumeContext<ProducerConsumerPipeline, Role>(*this);
  }
  template <class Role = typename detail::only_role<typename Protocol::freed>::type>
  WARPLOOM_FN ExplicitConsumeContext<ProducerConsumerPipeline, Role> consume_explicit() noexcept {
    return ExplicitConsumeContext<ProducerConsumerPipeline, Role>(*this);
  }
  template <class Role = typename detail::only_role<typename Protocol::freed>::type>
  WARPLOOM_FN ConsumerStage<ProducerConsumerPipeline, Role> acquire_consumer() noexcept {
    return ConsumerStage<ProducerConsumerPipeline, Role>(*this);
  }

  // ---- the parts they are made of
  WARPLOOM_FN void wait_consumer() const noexcept {  ///< producer: until the current slot is free
    arch::mbarrier_wait(address(consumer_mbar(producer_stage_)), producer_lap_);
  }
  WARPLOOM_FN void wait_producer() const noexcept {  ///< consumer: until the current slot is full
    arch::mbarrier_wait(address(producer_mbar(consumer_stage_)), consumer_lap_ + 1);
  }
  /// Announces the slot's TMA bytes on its full barrier: the producer's arrival. Once per slot.
  WARPLOOM_FN void arm() const noexcept {
    if constexpr (Protocol::bytes != 0)
      arch::mbarrier_arrive_expect_tx(address(producer_mbar(producer_stage_)), Protocol::bytes);
  }
  /// What the producer owes to the current slot's full barrier, by its policy: nothing more where TMA fills it.
  WARPLOOM_FN void signal_full() const noexcept {
    Protocol::filled::template signal<Cluster>(address(producer_mbar(producer_stage_)));
  }
  /// What `Role` owes to the current slot's empty barrier, by its policy.
  template <class Role>
  WARPLOOM_FN void signal_free() const noexcept {
    // The slot goes back to TMA, which writes through the async proxy: ordinary reads must be fenced off first.
    if constexpr (Protocol::freed::template reads_generic<Role> && Protocol::bytes != 0)
      arch::fence_proxy_async_shared();
    Protocol::freed::template signal<Role, Cluster>(address(consumer_mbar(consumer_stage_)));
  }
  WARPLOOM_FN MbarPtr producer_mbar(uint32_t stage) const noexcept { return barriers_ + stage; }
  WARPLOOM_FN MbarPtr consumer_mbar(uint32_t stage) const noexcept { return barriers_ + stages + stage; }
  WARPLOOM_FN uint32_t producer_stage() const noexcept { return producer_stage_; }
  WARPLOOM_FN uint32_t consumer_stage() const noexcept { return consumer_stage_; }
  WARPLOOM_FN uint32_t consumer_lap() const noexcept { return consumer_lap_; }
  /// Bookkeeping only: a step never touches a barrier.
  WARPLOOM_FN void producer_step() noexcept { step(producer_stage_, producer_lap_); }
  WARPLOOM_FN void consumer_step() noexcept { step(consumer_stage_, consumer_lap_); }

  /// End of the producer: until every slot is free again, so that no late arrival meets an exited CTA.
  WARPLOOM_FN void drain() noexcept {
    for (int i = 0; i < stages; ++i) {
      wait_consumer();
      producer_step();
    }
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

/// A free slot, armed. Must be released: release() says that it is filled, as the policy asks (TMA says so itself), and
/// steps.
template <class Ring>
class [[nodiscard]] ProducerStage : MustRelease {
 public:
  WARPLOOM_FN explicit ProducerStage(Ring& ring) noexcept : ring_(&ring), index_(ring.producer_stage()) {
    ring.wait_consumer();
    ring.arm();
  }
  ProducerStage(ProducerStage&&) noexcept = default;
  ~ProducerStage() noexcept = default;

  WARPLOOM_FN uint32_t index() const noexcept { return index_; }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->producer_mbar(index_); }  ///< the full barrier
  WARPLOOM_FN void release() noexcept {
    settle();
    ring_->signal_full();
    ring_->producer_step();
  }

 private:
  Ring* ring_;
  uint32_t index_;
};

/// A free slot, armed, for one scope. Leaving fills it as the policy says, and steps.
template <class Ring>
class [[nodiscard]] ProduceContext {
 public:
  WARPLOOM_FN explicit ProduceContext(Ring& ring) noexcept : stage_(ring) {}
  WARPLOOM_FN ~ProduceContext() noexcept { stage_.release(); }
  ProduceContext(const ProduceContext&) = delete;
  ProduceContext& operator=(const ProduceContext&) = delete;

  WARPLOOM_FN uint32_t index() const noexcept { return stage_.index(); }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return stage_.mbar(); }

 private:
  ProducerStage<Ring> stage_;
};

/// A full slot. Must be released: release() frees the slot as the policy says and steps.
template <class Ring, class Role>
class [[nodiscard]] ConsumerStage : MustRelease {
  static_assert(!std::is_void_v<Role>,
                "warploom: several roles free this ring; say which one consumes: consume<Role>()");

 public:
  WARPLOOM_FN explicit ConsumerStage(Ring& ring) noexcept : ring_(&ring), index_(ring.consumer_stage()) {
    ring.wait_producer();
  }
  ConsumerStage(ConsumerStage&&) noexcept = default;
  ~ConsumerStage() noexcept = default;

  WARPLOOM_FN uint32_t index() const noexcept { return index_; }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return ring_->consumer_mbar(index_); }  ///< the empty barrier
  /// One arrival of this thread on the empty barrier: for those who signal by hand.
  WARPLOOM_FN void arrive() const noexcept {
    if constexpr (Ring::Protocol::bytes != 0) arch::fence_proxy_async_shared();
    arch::mbarrier_arrive(arch::shared_address(mbar()));
  }
  WARPLOOM_FN void release() noexcept {
    ring_->template signal_free<Role>();
    release_without_signal();
  }
  WARPLOOM_FN void release_without_signal() noexcept {
    settle();
    ring_->consumer_step();
  }

 private:
  Ring* ring_;
  uint32_t index_;
};

/// A full slot for one scope. Leaving frees it.
template <class Ring, class Role>
class [[nodiscard]] ConsumeContext {
 public:
  WARPLOOM_FN explicit ConsumeContext(Ring& ring) noexcept : stage_(ring) {}
  WARPLOOM_FN ~ConsumeContext() noexcept { stage_.release(); }
  ConsumeContext(const ConsumeContext&) = delete;
  ConsumeContext& operator=(const ConsumeContext&) = delete;

  WARPLOOM_FN uint32_t index() const noexcept { return stage_.index(); }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return stage_.mbar(); }

 private:
  ConsumerStage<Ring, Role> stage_;
};

/// A full slot for one scope, freed by hand with arrive(). Leaving only steps.
template <class Ring, class Role>
class [[nodiscard]] ExplicitConsumeContext {
 public:
  WARPLOOM_FN explicit ExplicitConsumeContext(Ring& ring) noexcept : stage_(ring) {}
  WARPLOOM_FN ~ExplicitConsumeContext() noexcept { stage_.release_without_signal(); }
  ExplicitConsumeContext(const ExplicitConsumeContext&) = delete;
  ExplicitConsumeContext& operator=(const ExplicitConsumeContext&) = delete;

  WARPLOOM_FN uint32_t index() const noexcept { return stage_.index(); }
  WARPLOOM_FN MbarPtr mbar() const noexcept { return stage_.mbar(); }
  WARPLOOM_FN void arrive() const noexcept { stage_.arrive(); }

 private:
  ConsumerStage<Ring, Role> stage_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
