// ProducerConsumerPipeline on its own: rings of one to five slots that go round many times, filled by TMA and by
// threads, through every handle; and what the loom says when one is used wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "loom/units/tma.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::test {
namespace {

struct Reader : WarpRole<0, 2> {
  static constexpr char name[] = "reader";
};
struct Watcher : WarpRole<2, 1> {
  static constexpr char name[] = "watcher";
};
struct Writer : WarpRole<3, 1> {
  static constexpr char name[] = "writer";
};
constexpr uint32_t threads = threads_of<Reader, Watcher, Writer>;
constexpr int words = 32;  // in a slot

struct TmaFilled {
  static constexpr char name[] = "tma-filled";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<tma_bytes<Writer>>;
  using freed = freed_by<every_thread<Reader>>;
  static constexpr uint32_t bytes = words * 4;
  static constexpr bool watched = false;
};
struct ThreadFilled {
  static constexpr char name[] = "thread-filled";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<every_thread<Writer>>;
  using freed = freed_by<lane_per_warp<Reader>>;
  static constexpr uint32_t bytes = 0;
  static constexpr bool watched = false;
};
/// Two roles free it, each in its own way.
struct Watched {
  static constexpr char name[] = "watched";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<lane_per_warp<Writer>>;
  using freed = freed_by<every_thread<Reader>, lane_per_warp<Watcher>>;
  static constexpr uint32_t bytes = 0;
  static constexpr bool watched = true;
};
static_assert(ProducerConsumerPipeline<3, TmaFilled>::producer_count == 1);
static_assert(ProducerConsumerPipeline<3, TmaFilled>::consumer_count == 64);
static_assert(ProducerConsumerPipeline<3, ThreadFilled>::producer_count == 32);
static_assert(ProducerConsumerPipeline<3, ThreadFilled>::consumer_count == 2);
static_assert(ProducerConsumerPipeline<3, Watched>::producer_count == 1);
static_assert(ProducerConsumerPipeline<3, Watched>::consumer_count == 64 + 1);

enum class Use { scoped, linear, by_parts, explicit_arrive, linear_arrive, both_sides };

struct Params {
  TensorMap source;   // rows of `words` numbers
  uint32_t* seen;     // [rounds][64]: what each reader read
  uint32_t* watched;  // [rounds][32]
  int rounds;
  Use use;
  std::atomic<int>* reads;           // of a slot, by a reader thread
  std::atomic<int>* reads_at_drain;  // how many there were when drain() let the writer go
};

template <int stages, class Protocol>
struct RingKernel {
  using Ring = ProducerConsumerPipeline<stages, Protocol>;
  using Slot = SmemTile<uint32_t, 1, words, Swizzle::none>;
  struct Storage {
    typename Slot::Storage slots[stages];
    typename Ring::BarrierArray barriers;
  };

  static void run(const void* block) noexcept {
    const Params& params = *static_cast<const Params*>(block);
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    RingKernel kernel{params, storage, Ring(storage.barriers.ptr())};
    const uint32_t warp = arch::warp_index();
    if (warp < 2) {
      arch::name_role<Reader>();
      for (int i = 0; i < params.rounds; ++i) kernel.read(i);
    } else if (warp == Writer::first_warp) {
      arch::name_role<Writer>();
      kernel.write_all();
    } else if (Protocol::watched) {
      arch::name_role<Watcher>();
      if constexpr (Protocol::watched)
        for (int i = 0; i < params.rounds; ++i) kernel.watch(i);
    }
    arch::syncwarp();
  }

  // ---- writer

  void write_all() noexcept {
    if constexpr (Protocol::bytes != 0) {
      if (!arch::elect_one()) return;
    }
    for (int i = 0; i < params.rounds; ++i) write(i);
    if (params.use == Use::both_sides) {
      ring.wait_producer();  // the writer's warp is on the other side of this ring
    }
    ring.drain();
    params.reads_at_drain->store(params.reads->load());
  }

  void write(int i) noexcept {
    switch (params.use) {
      case Use::scoped:
      case Use::explicit_arrive:
      case Use::both_sides: {
        auto slot = ring.produce();
        fill(slot.index(), slot.mbar(), i);
        break;
      }
      case Use::linear:
      case Use::linear_arrive: {
        auto acquired = ring.acquire_producer();
        auto slot = std::move(acquired);
        fill(slot.index(), slot.mbar(), i);
        slot.release();
        break;
      }
      case Use::by_parts:
        ring.wait_consumer();
        ring.arm();
        fill(ring.producer_stage(), ring.producer_mbar(ring.producer_stage()), i);
        ring.signal_full();
        ring.producer_step();
        break;
    }
  }

  void fill(uint32_t index, MbarPtr full, int i) noexcept {
    const Slot slot(storage.slots[index]);
    if constexpr (Protocol::bytes != 0) {
      arch::tma_load<1>(slot.address(), params.source, arch::shared_address(full), {0, i});
    } else {
      const uint32_t lane = arch::lane_index();
      arch::store_shared(slot.data + lane, value(i, lane));
    }
  }

  // ---- reader and watcher

  void read(int i) noexcept {
    switch (params.use) {
      case Use::scoped:
      case Use::both_sides: {
        auto slot = ring.template consume<Reader>();
        note(slot.index(), i);
        break;
      }
      case Use::linear: {
        auto acquired = ring.template acquire_consumer<Reader>();
        auto slot = std::move(acquired);
        note(slot.index(), i);
        slot.release();
        break;
      }
      case Use::by_parts:
        ring.wait_producer();
        note(ring.consumer_stage(), i);
        ring.template signal_free<Reader>();
        ring.consumer_step();
        break;
      case Use::explicit_arrive: {
        auto slot = ring.template consume_explicit<Reader>();
        note(slot.index(), i);
        if (by_hand()) slot.arrive();
        break;
      }
      case Use::linear_arrive: {
        auto slot = ring.template acquire_consumer<Reader>();
        note(slot.index(), i);
        if (by_hand()) slot.arrive();
        slot.release_without_signal();
        break;
      }
    }
  }
  /// Whether this thread is one of those that must arrive, where the kernel arrives itself.
  static bool by_hand() noexcept {
    if (Ring::consumer_count >= 64) return true;
    arch::syncwarp();
    return arch::lane_index() == 0;
  }

  void watch(int i) noexcept {
    auto slot = ring.template consume<Watcher>();
    const Slot tile(storage.slots[slot.index()]);
    const uint32_t lane = arch::lane_index();
    arch::store_global(params.watched + i * 32 + static_cast<int>(lane), arch::load_shared(tile.data + lane));
  }

  void note(uint32_t index, int i) noexcept {
    const Slot slot(storage.slots[index]);
    const uint32_t thread = arch::thread_index();
    ++*params.reads;
    arch::store_global(params.seen + i * 64 + static_cast<int>(thread), arch::load_shared(slot.data + thread % words));
  }

  static uint32_t value(int i, uint32_t word) noexcept { return static_cast<uint32_t>(i) * words + word; }

  const Params& params;
  Storage& storage;
  Ring ring;
};

struct RingRun {
  loom::Outcome outcome;
  int wrong = 0;
  bool drained_early = false;  ///< drain() returned while a slot was not free
};

template <int stages, class Protocol>
RingRun run(Use use, const loom::Options& options, int rounds = 7 * stages + 1) {
  using Kernel = RingKernel<stages, Protocol>;
  const auto count = static_cast<size_t>(rounds);
  std::vector<uint32_t> source(count * words), seen(count * 64, ~0u), watched(count * 32, ~0u);
  std::iota(source.begin(), source.end(), 0u);

  TensorMapArgs args;
  args.type = TmaType::u32;
  args.address = source.data();
  args.dims = {words, count, 1, 1, 1};
  args.strides[0] = words * 4;
  args.box = {words, 1, 1, 1, 1};
  const Result<TensorMap> map = loom::encode_tensor_map(args, loom::Chip::sm100);
  EXPECT_TRUE(map);
  std::atomic<int> reads = 0, reads_at_drain = 0;
  const Params params{*map, seen.data(), watched.data(), rounds, use, &reads, &reads_at_drain};
  const loom::TensorRef tensors[] = {{source.data(), source.size() * 4, loom::Access::read, "source"},
                                     {seen.data(), seen.size() * 4, loom::Access::write, "seen"},
                                     {watched.data(), watched.size() * 4, loom::Access::write, "watched"}};
  const loom::LaunchConfig config{.kernel = Protocol::name,
                                  .grid = {},
                                  .cluster = {},
                                  .threads = threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  RingRun result;
  result.outcome = loom::launch(config, &Kernel::run, &params, tensors, options);
  result.drained_early = reads_at_drain != 64 * rounds;
  for (int i = 0; i < rounds; ++i) {
    for (uint32_t t = 0; t < 64; ++t)
      result.wrong += seen[static_cast<size_t>(i) * 64 + t] != Kernel::value(i, t % words);
    for (uint32_t t = 0; Protocol::watched && t < 32; ++t)
      result.wrong += watched[static_cast<size_t>(i) * 32 + t] != Kernel::value(i, t);
  }
  return result;
}

loom::Options on(const loom::Schedule& schedule) {
  loom::Options options;
  options.schedule = schedule;
  return options;
}
loom::Options recording_sites() {
  loom::Options options;
  options.record_sites = true;
  return options;
}
loom::Options altered(const loom::Site& site, loom::MutationKind kind, int64_t only = -1) {
  loom::Options options;
  options.mutation = loom::Mutation{site.key(), kind, only};
  return options;
}

// ---- right use

template <int stages, class Protocol>
void goes_round() {
  for (const Use use : {Use::scoped, Use::linear, Use::by_parts, Use::explicit_arrive, Use::linear_arrive}) {
    for (const loom::Schedule& schedule :
         {loom::Schedule{loom::Policy::eager}, loom::Schedule{loom::Policy::lazy},
          loom::Schedule{loom::Policy::adversarial}, loom::Schedule{loom::Policy::random, 1},
          loom::Schedule{loom::Policy::random, 2}}) {
      SCOPED_TRACE(testing::Message() << stages << " slots, use " << static_cast<int>(use) << ", " << schedule.text());
      const RingRun result = run<stages, Protocol>(use, on(schedule));
      ASSERT_TRUE(result.outcome.ok()) << to_text(result.outcome.report);
      ASSERT_EQ(result.wrong, 0);
      ASSERT_FALSE(result.drained_early);
    }
  }
}

template <class Protocol>
class Ring : public testing::Test {};
using Protocols = testing::Types<TmaFilled, ThreadFilled, Watched>;
TYPED_TEST_SUITE(Ring, Protocols);

TYPED_TEST(Ring, OfOneSlotGoesRound) { goes_round<1, TypeParam>(); }
TYPED_TEST(Ring, OfTwoSlotsGoesRound) { goes_round<2, TypeParam>(); }
TYPED_TEST(Ring, OfThreeSlotsGoesRound) { goes_round<3, TypeParam>(); }
TYPED_TEST(Ring, OfFourSlotsGoesRound) { goes_round<4, TypeParam>(); }
TYPED_TEST(Ring, OfFiveSlotsGoesRound) { goes_round<5, TypeParam>(); }

// ---- wrong use

const loom::Site* find(const std::vector<loom::Site>& sites, const std::string& operation, const std::string& object) {
  const auto found = std::find_if(sites.begin(), sites.end(), [&](const loom::Site& site) {
    return site.operation == operation && site.object == object;
  });
  return found == sites.end() ? nullptr : &*found;
}

const loom::Waiter* find_waiter(const loom::Report& report, const std::string& role) {
  const auto found = std::find_if(report.waiting.begin(), report.waiting.end(), [&](const loom::Waiter& waiter) {
    return !waiter.agents.empty() && waiter.agents[0].role == role;
  });
  return found == report.waiting.end() ? nullptr : &*found;
}

// One release of many is lost: the writer waits for that slot for ever, and the report says which slot, in which phase,
// and how many arrivals there were of how many.
TEST(RingMisuse, ALostReleaseIsADeadlockThatNamesRingStageAndPhase) {
  const RingRun clean = run<1, TmaFilled>(Use::scoped, recording_sites());
  ASSERT_TRUE(clean.outcome.ok());
  const loom::Site* release = find(clean.outcome.sites, "mbarrier.arrive", "tma-filled.empty");
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(release->executions, 64u * 8);

  // With one slot the 64 arrivals of a round come one round after the other: this one belongs to round 4.
  const RingRun broken = run<1, TmaFilled>(Use::scoped, altered(*release, loom::MutationKind::drop, 64 * 4 + 10));
  const loom::Report& report = broken.outcome.report;
  ASSERT_FALSE(report.clean());
  EXPECT_EQ(report.findings[0].code, "DEADLOCK");
  const loom::Waiter* writer = find_waiter(report, "writer");
  ASSERT_NE(writer, nullptr) << to_text(report);
  EXPECT_EQ(writer->object, "tma-filled.empty[0]");
  EXPECT_EQ(writer->phase, 4u);
  EXPECT_EQ(writer->arrived, 63u);
  EXPECT_EQ(writer->expected, 64u);
  EXPECT_EQ(writer->signalled_by, "every thread of reader");
  const std::string text = to_text(report);
  EXPECT_NE(text.find("tma-filled.empty[0]"), std::string::npos) << text;
  EXPECT_NE(text.find("ring_test.cpp"), std::string::npos) << text;
}

// With several slots the rounds of the two reader warps overlap, but whichever arrival is lost, the writer ends up
// waiting for its slot and the readers for that slot's next filling.
TEST(RingMisuse, ALostReleaseLeavesBothSidesAtTheSameSlot) {
  constexpr int stages = 3;
  const RingRun clean = run<stages, TmaFilled>(Use::scoped, recording_sites());
  const loom::Site* release = find(clean.outcome.sites, "mbarrier.arrive", "tma-filled.empty");
  ASSERT_NE(release, nullptr);
  for (const int64_t lost : {0, 100, 301, 555}) {
    SCOPED_TRACE(lost);
    const RingRun broken = run<stages, TmaFilled>(Use::scoped, altered(*release, loom::MutationKind::drop, lost));
    ASSERT_FALSE(broken.outcome.ok());
    const loom::Waiter* writer = find_waiter(broken.outcome.report, "writer");
    const loom::Waiter* reader = find_waiter(broken.outcome.report, "reader");
    ASSERT_TRUE(writer != nullptr && reader != nullptr) << to_text(broken.outcome.report);
    const char slot = writer->object[writer->object.size() - 2];
    EXPECT_EQ(writer->object, std::string("tma-filled.empty[") + slot + "]");
    EXPECT_EQ(reader->object, std::string("tma-filled.full[") + slot + "]");
    EXPECT_EQ(writer->arrived, 63u);
    EXPECT_EQ(reader->phase, writer->phase + 1);
  }
}

TEST(RingMisuse, EveryReleaseLostIsADeadlockToo) {
  const RingRun clean = run<2, ThreadFilled>(Use::linear, recording_sites());
  const loom::Site* release = find(clean.outcome.sites, "mbarrier.arrive", "thread-filled.empty");
  ASSERT_NE(release, nullptr);
  const RingRun broken = run<2, ThreadFilled>(Use::linear, altered(*release, loom::MutationKind::drop));
  ASSERT_FALSE(broken.outcome.ok());
  EXPECT_EQ(broken.outcome.report.findings[0].code, "DEADLOCK");
  const loom::Waiter* writer = find_waiter(broken.outcome.report, "writer");
  ASSERT_NE(writer, nullptr) << to_text(broken.outcome.report);
  EXPECT_EQ(writer->object, "thread-filled.empty[0]");
  EXPECT_EQ(writer->phase, 0u);
  EXPECT_EQ(writer->arrived, 0u);
  EXPECT_EQ(writer->expected, 2u);
}

// A slot that TMA was never told to fill: the readers wait for bytes.
TEST(RingMisuse, ALostArmingIsADeadlockOfTheReaders) {
  const RingRun clean = run<2, TmaFilled>(Use::scoped, recording_sites());
  const loom::Site* arming = find(clean.outcome.sites, "mbarrier.arrive.expect_tx", "tma-filled.full");
  ASSERT_NE(arming, nullptr);
  const RingRun broken = run<2, TmaFilled>(Use::scoped, altered(*arming, loom::MutationKind::drop, 3));
  ASSERT_FALSE(broken.outcome.ok());
  const loom::Waiter* reader = find_waiter(broken.outcome.report, "reader");
  ASSERT_NE(reader, nullptr) << to_text(broken.outcome.report);
  EXPECT_EQ(reader->object, "tma-filled.full[1]");
  EXPECT_EQ(reader->phase, 1u);
}

// A release too many completes the phase with a reader missing, or runs ahead by a whole phase: found, one way or the
// other, with the slot's name.
TEST(RingMisuse, AReleaseTooManyIsFound) {
  const RingRun clean = run<2, ThreadFilled>(Use::scoped, recording_sites());
  const loom::Site* release = find(clean.outcome.sites, "mbarrier.arrive", "thread-filled.empty");
  ASSERT_NE(release, nullptr);
  const RingRun broken = run<2, ThreadFilled>(Use::scoped, altered(*release, loom::MutationKind::twice));
  ASSERT_FALSE(broken.outcome.ok());
  const std::string& code = broken.outcome.report.findings[0].code;
  EXPECT_TRUE(code == "PHASE" || code == "ARRIVE-OVERFLOW" || code == "DEADLOCK") << code;
  const std::string text = to_text(broken.outcome.report);
  EXPECT_NE(text.find("thread-filled.empty["), std::string::npos) << text;
}

// A warp belongs to the side of a ring that it used first.
TEST(RingMisuse, AWarpOnBothSidesIsFound) {
  const RingRun broken = run<2, ThreadFilled>(Use::both_sides, {});
  ASSERT_FALSE(broken.outcome.ok());
  const loom::Finding& finding = broken.outcome.report.findings[0];
  EXPECT_EQ(finding.code, "RING-SIDE") << to_text(broken.outcome.report);
  EXPECT_EQ(finding.agent.role, "writer");
  EXPECT_NE(finding.message.find("thread-filled"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("producer"), std::string::npos) << finding.message;
}

}  // namespace
}  // namespace warploom::test
