// Loads and stores with an order: what they hand over, how a thread waits with them, and the rules they break.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/ordered.hpp"
#include "warploom/loom/atomics.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  alignas(16) uint32_t data[8];
  alignas(16) uint32_t flag[8];
};

/// How the flag is written and read.
enum class Hand : uint8_t { over, relaxed_store, relaxed_load, fences, late_store, plain_flag, narrow };

struct Params {
  uint32_t* words;  ///< 0: data; 4: flag
  Hand hand;
};

struct Memory {
  alignas(16) std::array<uint32_t, 8> words{};
  Launch launch(uint32_t threads, Dim3 grid = {}, Dim3 cluster = {}) {
    return {.grid = grid,
            .cluster = cluster,
            .threads = threads,
            .tensors = {{words.data(), sizeof(words), Access::write, "words"}},
            .talks_across_clusters = true};
  }
};

template <class Kernel>
void hands_over(Memory& memory, const Launch& launch, Kernel kernel, Hand hand, const char* code) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text() + " hand " + std::to_string(static_cast<int>(hand)));
    Options options = with(schedule);
    for (const bool check : {false, true}) {
      options.check = check;
      memory.words = {};
      const Outcome outcome = run(launch, kernel, Params{memory.words.data(), hand}, options);
      if (*code == '\0' || !check)
        expect_clean(outcome);
      else
        expect_finding(outcome, launch, {code, {}, false});
    }
  }
}

/// One thread waits for another's flag by asking for it again and again.
TEST(OrderedAccess, AFlagInGlobalMemory) {
  const auto kernel = [](const Params& p) {
    uint32_t *const data = p.words, *const flag = p.words + 4;
    if (thread_index() == 0) {
      if (p.hand != Hand::late_store) store_global(data, 5u);
      if (p.hand == Hand::fences) fence_gpu();
      if (p.hand == Hand::relaxed_store || p.hand == Hand::fences)
        store_global<MemoryOrder::relaxed>(flag, 1u);
      else if (p.hand == Hand::plain_flag)
        store_global(flag, 1u);
      else
        store_global<MemoryOrder::release>(flag, 1u);
      if (p.hand == Hand::late_store) store_global(data, 5u);
    }
    if (thread_index() == 32) {
      if (p.hand == Hand::relaxed_load || p.hand == Hand::fences) {
        while (load_global<MemoryOrder::relaxed>(flag) == 0) {
        }
        if (p.hand == Hand::fences) fence_gpu();
      } else {
        while (load_global<MemoryOrder::acquire>(flag) == 0) {
        }
      }
      const uint32_t seen = load_global(data);
      EXPECT_TRUE(seen == 5u || (p.hand != Hand::over && p.hand != Hand::fences));
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(64);
  hands_over(memory, launch, kernel, Hand::over, "");
  hands_over(memory, launch, kernel, Hand::fences, "");
  for (const Hand hand : {Hand::relaxed_store, Hand::relaxed_load, Hand::late_store, Hand::plain_flag})
    hands_over(memory, launch, kernel, hand, "RACE-GLOBAL");
}

TEST(OrderedAccess, AFlagInTheSharedMemoryOfAnotherCta) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    const SharedAddress data = map_to_rank(address(s.data), 0), flag = map_to_rank(address(s.flag), 0);
    if (thread_index() == 0) store_shared(&s.flag[0], 0u);
    cluster_sync();
    if (thread_index() == 0 && cluster_rank() == 0) {
      if (p.hand != Hand::late_store) store_shared(&s.data[0], 5u);
      if (p.hand == Hand::fences) fence_cluster();
      if (p.hand == Hand::relaxed_store || p.hand == Hand::fences)
        store_cluster<uint32_t, MemoryOrder::relaxed>(flag, 1u);
      else if (p.hand == Hand::plain_flag)
        store_cluster(flag, 1u);
      else if (p.hand == Hand::narrow)
        store_cluster<uint32_t, MemoryOrder::release, MemoryScope::cta>(flag, 1u);
      else
        store_cluster<uint32_t, MemoryOrder::release>(flag, 1u);
      if (p.hand == Hand::late_store) store_shared(&s.data[0], 5u);
    }
    if (thread_index() == 0 && cluster_rank() == 1) {
      if (p.hand == Hand::relaxed_load || p.hand == Hand::fences) {
        while (load_cluster<uint32_t, MemoryOrder::relaxed>(flag) == 0) {
        }
        if (p.hand == Hand::fences) fence_cluster();
      } else {
        while (load_cluster<uint32_t, MemoryOrder::acquire>(flag) == 0) {
        }
      }
      const uint32_t seen = load_cluster<uint32_t>(data);
      EXPECT_TRUE(seen == 5u || (p.hand != Hand::over && p.hand != Hand::fences));
    }
    cluster_sync();
  };
  Memory memory;
  const Launch launch = memory.launch(32, {2}, {2});
  hands_over(memory, launch, kernel, Hand::over, "");
  hands_over(memory, launch, kernel, Hand::fences, "");
  for (const Hand hand : {Hand::relaxed_store, Hand::relaxed_load, Hand::plain_flag, Hand::narrow})
    hands_over(memory, launch, kernel, hand, "RACE-SMEM");
  // The data comes behind the flag: by then the other one has read bytes that nobody wrote, or is racing for them.
  for (const Schedule& schedule : schedules(launch)) {
    Options options = with(schedule);
    options.check = true;
    const Outcome late = run(launch, kernel, Params{memory.words.data(), Hand::late_store}, options);
    ASSERT_EQ(late.report.findings.size(), 1u) << schedule.text();
    EXPECT_TRUE(late.report.findings[0].code == "RACE-SMEM" || late.report.findings[0].code == "UNINIT-SMEM");
  }
}

/// A store ends the chain: who finds its value learns nothing of the releases before it.
TEST(OrderedAccess, AStoreOverARelease) {
  const auto kernel = [](const Params& p) {
    uint32_t* const flag = p.words + 4;
    if (thread_index() == 0) {
      store_global(p.words, 5u);
      store_global<MemoryOrder::release>(flag, 1u);
    }
    if (thread_index() == 32) {
      while (load_global<MemoryOrder::relaxed>(flag) == 0) {
      }
      if (p.hand == Hand::over)
        reduce_global<Atomic::add>(flag, 1);  // goes on with it
      else
        store_global<MemoryOrder::relaxed>(flag, 2u);
    }
    if (thread_index() == 64) {
      while (load_global<MemoryOrder::relaxed>(flag) != 2) {
      }
      (void)load_global<MemoryOrder::acquire>(flag);
      (void)load_global(p.words);
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(96);
  hands_over(memory, launch, kernel, Hand::over, "");
  hands_over(memory, launch, kernel, Hand::relaxed_store, "RACE-GLOBAL");
}

/// Between clusters, which run one after the other.
TEST(OrderedAccess, AFlagOfAnotherCluster) {
  const auto kernel = [](const Params& p) {
    uint32_t* const flag = p.words + 4;
    if (thread_index() == 0) {
      if (fetch_global<Atomic::add, MemoryOrder::relaxed>(p.words + 5, 1) == 0) {
        store_global(p.words, 5u);
        if (p.hand == Hand::narrow)
          store_global<MemoryOrder::release, MemoryScope::cluster>(flag, 1u);
        else
          store_global<MemoryOrder::release, MemoryScope::sys>(flag, 1u);
      } else if (load_global<MemoryOrder::acquire>(flag) != 0) {
        (void)load_global(p.words);
      }
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(32, {2});
  hands_over(memory, launch, kernel, Hand::over, "");
  hands_over(memory, launch, kernel, Hand::narrow, "RACE-GLOBAL");
}

TEST(OrderedAccess, EverySizeAndVector) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    if (thread_index() == 0) {
      const uint32_t words[4] = {1, 2, 0x01020304, 4};
      uint32_t seen[4] = {};
      native::store_ordered_shared({MemoryOrder::release, MemoryScope::cta, 4, 4}, address(s.data).value, words);
      native::load_ordered_shared({MemoryOrder::acquire, MemoryScope::cta, 8, 2}, address(s.data).value, seen);
      EXPECT_EQ(std::memcmp(words, seen, 16), 0);
      EXPECT_EQ((load_cluster<uint8_t, MemoryOrder::relaxed>(address(s.data) + 9)), 3);
      native::store_ordered_global({MemoryOrder::relaxed, MemoryScope::sys, 8, 2}, p.words, words);
      EXPECT_EQ((load_global<MemoryOrder::relaxed>(reinterpret_cast<uint16_t*>(p.words) + 5)), 0x0102);
      EXPECT_EQ((load_global<MemoryOrder::acquire>(reinterpret_cast<uint64_t*>(p.words))), 0x2'0000'0001u);
    }
    syncwarp();
  };
  Memory memory;
  hands_over(memory, memory.launch(32), kernel, Hand::over, "");
}

/// Nobody sets the flag.
TEST(OrderedAccess, AFlagThatNeverComes) {
  const auto kernel = [](const Params& p) {
    if (thread_index() == 0 && p.hand == Hand::over) store_global<MemoryOrder::release>(p.words + 4, 1u);
    if (thread_index() == 32) {
      uint32_t seen = 0;
      do OFFENDING(seen = load_global<MemoryOrder::acquire>(p.words + 4));
      while (seen == 0);
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(64);
  always_found(launch, kernel, Params{memory.words.data(), Hand::relaxed_load}, {"DEADLOCK", {}, false});
  always_clean(launch, kernel, Params{memory.words.data(), Hand::over});
}

TEST(OrderedAccess, RulesOfAnAddress) {
  Memory memory;
  const auto kernel = [](const Params& p) {
    const bool buggy = p.hand != Hand::over;
    auto* const bytes = reinterpret_cast<std::byte*>(p.words);
    if (thread_index() == 0)
      OFFENDING((void)load_global<MemoryOrder::acquire>(reinterpret_cast<uint32_t*>(bytes + (buggy ? 2 : 4))));
    syncwarp();
  };
  always_found(memory.launch(32), kernel, Params{memory.words.data(), Hand::narrow}, {"MISALIGNED", {"multiple of 4"}});
  always_clean(memory.launch(32), kernel, Params{memory.words.data(), Hand::over});
  Launch alone = memory.launch(32);
  alone.talks_across_clusters = false;
  always_found(alone, kernel, Params{memory.words.data(), Hand::over},
               {"GLOBAL-ATOMIC", {"a load with an order", "talks_across_clusters"}});
  const auto stores = [](const Params& p) {
    if (thread_index() == 0)
      OFFENDING(store_global<MemoryOrder::release>(p.words + (p.hand == Hand::over ? 7 : 8), 1u));
    syncwarp();
  };
  always_found(memory.launch(32), stores, Params{memory.words.data(), Hand::narrow},
               {"OOB-GLOBAL", {"a store with an order"}});
  always_clean(memory.launch(32), stores, Params{memory.words.data(), Hand::over});
}

TEST(GenericAddresses, NameTheirMemory) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    const uint32_t here = address(s.data).value, there = map_to_rank({here}, 1 - cluster_rank()).value;
    uint32_t local = 0;
    using native::AddressSpace;
    EXPECT_EQ(native::space_of(s.data), AddressSpace::shared_cta);
    EXPECT_EQ(native::space_of(native::generic_address(there)), AddressSpace::shared_cluster);
    EXPECT_EQ(native::space_of(&local), AddressSpace::local);
    EXPECT_EQ(native::space_of(p.words), AddressSpace::global);
    EXPECT_EQ(native::generic_address(here), s.data);
    EXPECT_EQ(native::window_address(s.data), here);
    EXPECT_EQ(native::window_address(native::generic_address(there)), there);
    if (p.hand != Hand::over && thread_index() == 0 && cluster_rank() == 0)
      OFFENDING((void)native::window_address(p.words));
    cluster_sync();
  };
  Memory memory;
  const Launch launch = memory.launch(32, {2}, {2});
  always_clean(launch, kernel, Params{memory.words.data(), Hand::over});
  always_found(launch, kernel, Params{memory.words.data(), Hand::narrow}, {"OOB-SHARED", {"cvta"}});
}

}  // namespace
}  // namespace warploom::loom
