// atom and red of every type on shared and on global memory: values, what each returns, orders and scopes, rules.
#include "warploom/loom/atomics.hpp"

#include <cfloat>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster_memory.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

/// One operation on a word, and what must be there afterwards.
struct Case {
  Atomic operation;
  AtomicType type;
  uint64_t before, operand, after;
  uint64_t expected = 0;  ///< of compare_exchange
};

constexpr uint64_t bits(float value) { return __builtin_bit_cast(uint32_t, value); }
constexpr uint64_t bits(double value) { return __builtin_bit_cast(uint64_t, value); }

constexpr Case cases[] = {
    {Atomic::add, AtomicType::u32, ~0u, 3, 2},
    {Atomic::add, AtomicType::u64, ~0u, 3, 0x1'0000'0002},
    {Atomic::min, AtomicType::u32, ~0u, 3, 3},
    {Atomic::min, AtomicType::s32, ~0u, 3, ~0u},
    {Atomic::max, AtomicType::s32, ~0u, 3, 3},
    {Atomic::max, AtomicType::u64, ~uint64_t{0}, 3, ~uint64_t{0}},
    {Atomic::max, AtomicType::s64, ~uint64_t{0}, 3, 3},
    {Atomic::inc, AtomicType::u32, 7, 7, 0},
    {Atomic::dec, AtomicType::u32, 0, 7, 7},
    {Atomic::bit_and, AtomicType::b32, 12, 10, 8},
    {Atomic::bit_or, AtomicType::b64, 1, uint64_t{1} << 40, (uint64_t{1} << 40) + 1},
    {Atomic::bit_xor, AtomicType::b64, 3, uint64_t{1} << 40, (uint64_t{1} << 40) + 3},
    {Atomic::exchange, AtomicType::b64, 3, 4, 4},
    {Atomic::compare_exchange, AtomicType::b16, 0xabcd'0005, 9, 0xabcd'0009, 5},
    {Atomic::compare_exchange, AtomicType::b32, 5, 9, 5, 6},
    {Atomic::compare_exchange, AtomicType::b64, 5, 9, 9, 5},
    {Atomic::add, AtomicType::f32, bits(16777216.0f), bits(1.0f), bits(16777216.0f)},  // to nearest even
    {Atomic::add, AtomicType::f32, bits(16777218.0f), bits(1.0f), bits(16777220.0f)},
    {Atomic::add, AtomicType::f64, bits(0.25), bits(4.0), bits(4.25)},
    {Atomic::add, AtomicType::f16, 0x7777'3c00, 0x3c00, 0x7777'4000},
    {Atomic::add, AtomicType::f16x2, 0x3c00'03ff, 0x3c00'0001, 0x4000'0400},  // subnormal halves stay
    {Atomic::add, AtomicType::bf16, 0x3f80, 0x3f80, 0x4000},
    {Atomic::add, AtomicType::bf16x2, 0x3f80'0000, 0x3f80'3f80, 0x4000'3f80},
};
constexpr uint32_t case_count = sizeof(cases) / sizeof(cases[0]);

struct Storage {
  alignas(16) uint64_t words[case_count];
  alignas(16) float floats[8];
};

struct Params {
  uint64_t* global;
};

/// One case per lane, in both memories, by atom and by red.
TEST(Atomics, EveryTypeAndOperation) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    const uint32_t lane = lane_index();
    if (lane < case_count) {
      const Case& c = cases[lane];
      AtomicForm form{c.operation, c.type, 1, MemoryOrder::relaxed, MemoryScope::gpu};
      EXPECT_TRUE(exists_in_shared(form) && exists_in_global(form)) << lane;
      const uint64_t mask = size_of(c.type) == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size_of(c.type)) - 1;
      for (const bool returns : {true, false}) {
        form.returns = returns;
        if (!exists_in_global(form)) continue;
        uint64_t old = 0;
        store_shared(&s.words[lane], c.before);
        native::atomic_shared(form, address(s.words[lane]).value, &c.operand, &c.expected, returns ? &old : nullptr);
        EXPECT_EQ(load_shared(&s.words[lane]), c.after) << lane;
        EXPECT_EQ(old, returns ? c.before & mask : 0) << lane;
        old = 0;
        store_global(p.global + lane, c.before);
        native::atomic_global(form, p.global + lane, &c.operand, &c.expected, returns ? &old : nullptr);
        EXPECT_EQ(load_global(p.global + lane), c.after) << lane;
        EXPECT_EQ(old, returns ? c.before & mask : 0) << lane;
      }
    }
    syncwarp();
  };
  std::array<uint64_t, 32> global{};
  Launch launch;
  launch.tensors = {{global.data(), sizeof(global), Access::write, "global"}};
  launch.talks_across_clusters = true;
  for (const bool check : {false, true}) {
    Options options;
    options.check = check;
    expect_clean(run(launch, kernel, Params{global.data()}, options));
  }
}

TEST(Atomics, SubnormalSumsOfF32) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    auto* const word = reinterpret_cast<float*>(p.global);
    if (lane_index() == 0) {
      store_shared(&s.floats[0], FLT_MIN / 2);
      reduce_cluster<Atomic::add, MemoryOrder::relaxed, MemoryScope::cta, float>(address(s.floats[0]), -FLT_MIN / 4);
      EXPECT_EQ(load_shared(&s.floats[0]), FLT_MIN / 4);
      store_global(word, FLT_MIN / 2);
      EXPECT_EQ((fetch_global<Atomic::add>(word, -FLT_MIN / 4)), FLT_MIN / 2);
      EXPECT_EQ(as_bits(load_global(word)), 0u);  // the manual: atom on global memory flushes
    }
    syncwarp();
  };
  std::array<uint64_t, 32> global{};
  Launch launch;
  launch.tensors = {{global.data(), sizeof(global), Access::write, "global"}};
  launch.talks_across_clusters = true;
  expect_clean(run(launch, kernel, Params{global.data()}));
}

TEST(Atomics, VectorsAndSixteenBytes) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    auto* const words = reinterpret_cast<float*>(p.global);
    if (lane_index() == 0) {
      for (uint32_t i = 0; i < 4; ++i) store_global(words + i, static_cast<float>(i));
      reduce_add_global(words, {1.0f, 2.0f, 3.0f, 4.0f});
      reduce_add_global(words + 2, {10.0f, 20.0f});
      for (uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(load_global(words + i), static_cast<float>(2 * i + 1 + (i > 1 ? 10 * (i - 1) : 0))) << i;
      // Sums and maxima of eight halves.
      const uint16_t ones[8] = {0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x4400};
      uint16_t old[8];
      const AtomicForm most{Atomic::max, AtomicType::f16, 8};
      EXPECT_TRUE(exists_in_global(most) && !exists_in_shared(most));
      store_global(reinterpret_cast<uint64_t*>(words) + 2, uint64_t{0x4000});
      store_global(reinterpret_cast<uint64_t*>(words) + 3, uint64_t{0});
      native::atomic_global(most, words + 4, ones, nullptr, old);
      EXPECT_EQ(old[0], 0x4000u);
      EXPECT_EQ(load_global(reinterpret_cast<uint16_t*>(words + 4)), 0x4000u);
      EXPECT_EQ(load_global(reinterpret_cast<uint16_t*>(words + 4) + 7), 0x4400u);
      struct alignas(16) Wide {
        uint64_t low, high;
        bool operator==(const Wide&) const = default;
      };
      const SharedAddress place = address(s.words);
      store_shared(reinterpret_cast<Wide*>(s.words), Wide{1, 2});
      const Wide first = fetch_cluster<Atomic::exchange, MemoryOrder::relaxed, MemoryScope::cta, Wide>(place, {3, 4});
      EXPECT_EQ(first, (Wide{1, 2}));
      const auto swap = [&](Wide expected) {
        return compare_exchange_cluster<MemoryOrder::relaxed, MemoryScope::cta, Wide>(place, expected, {5, 6});
      };
      EXPECT_EQ(swap({3, 5}), (Wide{3, 4}));
      EXPECT_EQ(swap({3, 4}), (Wide{3, 4}));
      EXPECT_EQ(swap({3, 4}), (Wide{5, 6}));
    }
    syncwarp();
  };
  std::array<uint64_t, 32> global{};
  Launch launch;
  launch.tensors = {{global.data(), sizeof(global), Access::write, "global"}};
  launch.talks_across_clusters = true;
  for (const bool check : {false, true}) {
    Options options;
    options.check = check;
    expect_clean(run(launch, kernel, Params{global.data()}, options));
  }
}

TEST(Atomics, FormsOfTheInstructionSet) {
  EXPECT_FALSE(exists_in_global({Atomic::add, AtomicType::s64}));
  EXPECT_FALSE(exists_in_global({Atomic::exchange, AtomicType::b16}));
  EXPECT_FALSE(exists_in_global({Atomic::min, AtomicType::f32}));
  EXPECT_FALSE(exists_in_global({Atomic::min, AtomicType::f16}));
  EXPECT_FALSE(exists_in_global({.operation = Atomic::exchange, .type = AtomicType::b32, .returns = false}));
  EXPECT_FALSE(exists_in_global({Atomic::add, AtomicType::f32, 8}));
  EXPECT_TRUE(exists_in_global({Atomic::min, AtomicType::bf16x2, 4}));
  EXPECT_FALSE(exists_in_shared({Atomic::add, AtomicType::f32, 2}));
  EXPECT_TRUE(reduces_async(Atomic::add, AtomicType::s64));
  EXPECT_FALSE(reduces_async(Atomic::bit_and, AtomicType::b64));
}

// ---- orders and scopes, under the checker

struct Flag {
  uint32_t* words;
  bool buggy;
};

struct Words {
  alignas(16) std::array<uint32_t, 8> words{};
  Launch launch(uint32_t threads, Dim3 grid = {}, Dim3 cluster = {}) {
    return {.grid = grid,
            .cluster = cluster,
            .threads = threads,
            .tensors = {{words.data(), sizeof(words), Access::write, "words"}},
            .talks_across_clusters = true};
  }
};

/// kernel(buggy) is reported with this code under the checker, the other form is clean; under every schedule.
template <class Kernel>
void checked_rule(Words& memory, const Launch& launch, Kernel kernel, const Expected& expected) {
  for (const Schedule& schedule : schedules(launch))
    for (const bool buggy : {true, false}) {
      SCOPED_TRACE(schedule.text() + (buggy ? " buggy" : " correct"));
      Options options = with(schedule);
      options.check = true;
      memory.words = {};
      const Outcome outcome = run(launch, kernel, Flag{memory.words.data(), buggy}, options);
      if (buggy)
        expect_finding(outcome, launch, expected);
      else
        expect_clean(outcome);
    }
}

TEST(Atomics, ARelaxedReductionHandsNothingOver) {
  Words memory;
  checked_rule(memory, memory.launch(64),
               [](const Flag& p) {
                 if (thread_index() == 0) {
                   store_global(p.words, 5u);
                   if (p.buggy)
                     reduce_global<Atomic::add>(p.words + 4, 1);
                   else
                     reduce_global<Atomic::add, MemoryOrder::release>(p.words + 4, 1);
                 }
                 if (thread_index() == 32) {
                   while (fetch_global<Atomic::bit_or, MemoryOrder::acquire>(p.words + 4, 0) == 0) {
                   }
                   OFFENDING(EXPECT_EQ(load_global(p.words), 5u));
                 }
                 syncwarp();
               },
               {"RACE-GLOBAL", {"ld.global", "st.global"}, false});
}

TEST(Atomics, AnAtomicOfScopeCtaReachesItsOwnCta) {
  Words memory;
  checked_rule(memory, memory.launch(32, {2}, {2}),
               [](const Flag& p) {
                 auto& s = shared<Storage>();
                 const SharedAddress word = map_to_rank(address(s.words), 0);
                 if (thread_index() == 0 && cluster_rank() == 0) store_shared(&s.words[0], uint64_t{0});
                 cluster_sync();
                 if (thread_index() == 0) {
                   if (p.buggy)
                     OFFENDING(fetch_cluster<Atomic::add, MemoryOrder::relaxed, MemoryScope::cta>(word, 1));
                   else
                     fetch_cluster<Atomic::add, MemoryOrder::relaxed>(word, 1);
                 }
                 cluster_sync();
               },
               {"RACE-SMEM", {"scope .cta"}});
}

/// A release of scope .cta tells the threads of the other CTA nothing, whatever they acquire with.
TEST(Atomics, AReleaseOfScopeCtaStaysInItsCta) {
  Words memory;
  checked_rule(memory, memory.launch(32, {2}, {2}),
               [](const Flag& p) {
                 auto& s = shared<Storage>();
                 const SharedAddress flag = map_to_rank(address(s.words), 0),
                                     data = map_to_rank(address(s.words[2]), 0);
                 if (thread_index() == 0 && cluster_rank() == 0) store_shared(&s.words[0], uint64_t{0});
                 cluster_sync();
                 if (thread_index() == 0 && cluster_rank() == 0) {
                   store_shared(&s.words[2], uint64_t{7});
                   if (p.buggy) native::fence(MemoryScope::cta);
                   if (p.buggy)
                     reduce_cluster<Atomic::add>(flag, 1);
                   else
                     reduce_cluster<Atomic::add, MemoryOrder::release>(flag, 1);
                 }
                 if (thread_index() == 0 && cluster_rank() == 1) {
                   while (fetch_cluster<Atomic::add, MemoryOrder::acquire>(flag, 0) == 0) {
                   }
                   OFFENDING((void)load_cluster<uint64_t>(data));
                 }
                 cluster_sync();
               },
               {"RACE-SMEM", {"ld.shared::cluster"}});
}

}  // namespace
}  // namespace warploom::loom
