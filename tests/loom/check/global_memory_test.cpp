// What the checker makes of global memory beyond the bugs of the corpus: which bytes count, what counts as one value,
// and that the answer is the same on any number of workers.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/proxy.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t lanes = 32;

struct Memory {
  alignas(128) std::array<uint32_t, 256> words{};
  Launch launch(uint32_t clusters, bool talks = false) {
    return {.grid = {clusters},
            .threads = lanes,
            .tensors = {{words.data(), sizeof(words), Access::write, "words"}},
            .talks_across_clusters = talks};
  }
};

Options checked(const Schedule& schedule, unsigned workers = 1) {
  Options options = with(schedule);
  options.check = true;
  options.workers = workers;
  return options;
}

struct Bytes {
  std::byte* to;
  bool overlap;
};

// Tiles end where they end, in the middle of whatever unit the checker thinks in.
TEST(GlobalMemory, ClustersMayShareALineButNoByte) {
  const auto kernel = [](const Bytes& p) {
    const uint32_t own = 24;  // bytes of a cluster; the next begins in the middle of sixteen
    const uint32_t count = own + (p.overlap ? 1 : 0);
    if (thread_index() < count) store_global(p.to + block_index().x * own + thread_index(), std::byte{1});
    syncwarp();
  };
  Memory memory;
  auto* bytes = reinterpret_cast<std::byte*>(memory.words.data());
  const Launch launch = memory.launch(5);
  for (const Schedule& schedule : schedules(launch))
    for (const unsigned workers : {1u, 3u}) {
      SCOPED_TRACE(schedule.text());
      expect_clean(run(launch, kernel, Bytes{bytes, false}, checked(schedule, workers)));
      const Outcome bad = run(launch, kernel, Bytes{bytes, true}, checked(schedule, workers));
      ASSERT_FALSE(bad.ok());
      const Finding& finding = bad.report.findings.front();
      EXPECT_EQ(finding.code, "RACE-GLOBAL");
      EXPECT_EQ(bad.report.cluster, 1u);  // the first two that overlap, whoever ran first
      EXPECT_NE(finding.message.find("words + 0x18"), std::string::npos) << finding.message;
      EXPECT_NE(finding.message.find("in cluster 0"), std::string::npos) << finding.message;
    }
}

TEST(GlobalMemory, AnOverlapOfClustersCanBeLetPass) {
  const auto kernel = [](const Bytes& p) {
    store_global(reinterpret_cast<uint32_t*>(p.to), 1u);
    syncwarp();
  };
  Memory memory;
  Launch launch = memory.launch(2);
  launch.threads = 32;
  Options options = checked({Policy::eager});
  const auto one = [](const Bytes& p) {
    if (thread_index() == 0) store_global(reinterpret_cast<uint32_t*>(p.to), 1u);
    syncwarp();
  };
  const Bytes params{reinterpret_cast<std::byte*>(memory.words.data()), false};
  EXPECT_FALSE(run(launch, kernel, params, options).ok());  // lanes race already
  EXPECT_FALSE(run(launch, one, params, options).ok());
  options.suppressed.push_back({.code = "RACE-GLOBAL"});
  const Outcome passed = run(launch, one, params, options);
  EXPECT_TRUE(passed.ok());
  EXPECT_EQ(passed.suppressed, 1u);
}

struct Storage {
  alignas(128) uint32_t rows[2][lanes];
};
struct Rows {
  uint32_t* to;
  bool differ;
};

// The last two boxes of a row that is no multiple of them overlap, and both bring the same.
TEST(GlobalMemory, StoresOfTheSameValuesMayOverlap) {
  const auto kernel = [](const Rows& p) {
    auto& s = shared<Storage>();
    // Row 1 begins four words into row 0: words 4 to 31 of the one are 0 to 27 of the other.
    store_shared(&s.rows[0][thread_index()], thread_index());
    store_shared(&s.rows[1][thread_index()], thread_index() + 4 + (p.differ && thread_index() == 20 ? 1 : 0));
    fence_proxy_async_shared();
    syncwarp();
    if (thread_index() == 0) {
      bulk_store(p.to, address(s.rows[0]), lanes * 4);
      OFFENDING(bulk_store(p.to + 4, address(s.rows[1]), lanes * 4));
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(1);
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    expect_clean(run(launch, kernel, Rows{memory.words.data(), false}, checked(schedule)));
    const Outcome bad = run(launch, kernel, Rows{memory.words.data(), true}, checked(schedule));
    expect_finding(bad, launch, {"RACE-GLOBAL", {"nobody has waited"}});
  }
}

struct Relay {
  uint32_t* words;
  bool skip;  ///< the one in the middle learns nothing
};

// What one cluster knows of another it passes on: the third reads the first one's word, having met only the second.
TEST(GlobalMemory, ClustersTellWhatTheyWereTold) {
  const auto kernel = [](const Relay& p) {
    if (thread_index() == 0) {
      uint32_t* const flag = p.words + 64;
      switch (block_index().x) {
        case 0:
          store_global(p.words, 7u);
          fetch_add_global<MemoryOrder::release>(flag, 1);
          break;
        case 1:
          if (p.skip)
            fetch_add_global<MemoryOrder::relaxed>(flag, 1);
          else
            fetch_add_global<MemoryOrder::acquire>(flag, 1);
          fetch_add_global<MemoryOrder::release>(flag + 1, 1);
          break;
        default: fetch_add_global<MemoryOrder::acquire>(flag + 1, 1); OFFENDING(store_global(p.words, 8u));
      }
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(3, true);
  // By index: eager and lazy run them so. In another order the third comes before anybody told it anything.
  for (const Policy policy : {Policy::eager, Policy::lazy}) {
    const Options options = checked({policy});
    expect_clean(run(launch, kernel, Relay{memory.words.data(), false}, options));
    expect_finding(run(launch, kernel, Relay{memory.words.data(), true}, options), launch,
                   {"RACE-GLOBAL", {"in cluster 0"}});
  }
  EXPECT_FALSE(run(launch, kernel, Relay{memory.words.data(), false}, checked({Policy::adversarial})).ok());
}

// An ordinary store to the word ends what atomics have told through it.
TEST(GlobalMemory, AnOrdinaryStoreEndsTheChain) {
  const auto kernel = [](const Relay& p) {
    if (thread_index() == 0) {
      uint32_t* const flag = p.words + 64;
      if (block_index().x == 0) {
        store_global(p.words, 7u);
        fetch_add_global<MemoryOrder::release>(flag, 1);
        if (p.skip) store_global(flag, 1u);
      } else {
        OFFENDING(fetch_add_global<MemoryOrder::acquire>(flag, 1));
        store_global(p.words, 8u);
      }
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(2, true);
  const Options options = checked({Policy::eager});
  expect_clean(run(launch, kernel, Relay{memory.words.data(), false}, options));
  expect_finding(run(launch, kernel, Relay{memory.words.data(), true}, options), launch,
                 {"RACE-GLOBAL", {"st.global"}});
}

// Reductions of several clusters into the same words need no order among themselves.
TEST(GlobalMemory, ReductionsMayMeet) {
  const auto kernel = [](const Rows& p) {
    auto& s = shared<Storage>();
    store_shared(&s.rows[0][thread_index()], 1u);
    fence_proxy_async_shared();
    syncwarp();
    if (thread_index() == 0) {
      if (p.differ && block_index().x == 1)
        OFFENDING(bulk_store(p.to, address(s.rows[0]), lanes * 4));
      else
        bulk_reduce<Reduction::add, ReductionType::u32>(p.to, address(s.rows[0]), lanes * 4);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  Memory memory;
  const Launch launch = memory.launch(2, true);
  const Options options = checked({Policy::eager});
  expect_clean(run(launch, kernel, Rows{memory.words.data(), false}, options));
  expect_finding(run(launch, kernel, Rows{memory.words.data(), true}, options), launch,
                 {"RACE-GLOBAL", {"in cluster 0"}});
}

}  // namespace
}  // namespace warploom::loom
