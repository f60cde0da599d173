// Which atomics, ordered loads and stores, and red.async one run speaks for: those that are ordered, or that leave and
// answer the same in any order.
#include "loom/check/points.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/ordered.hpp"
#include "warploom/loom/atomics.hpp"

namespace warploom::loom {
namespace {

using namespace points;

const Launch two_warps{.threads = 64, .shared_bytes = storage_bytes, .talks_across_clusters = true};

TEST(Points, ALoadBesideAStoreWithAnOrder) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          store_global<MemoryOrder::release>(p.words, 1u);
          mbarrier_arrive(address(s.a[0]));
        }
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)load_global<MemoryOrder::acquire>(p.words);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "ld.acquire.global");
}

TEST(Points, StoresWithAnOrderBesideEachOther) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) store_cluster<uint32_t, MemoryOrder::relaxed>(address(s.line), 1u);
        if (thread_index() == 0) mbarrier_arrive(address(s.a[0]));
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          store_cluster<uint32_t, MemoryOrder::relaxed>(address(s.line), 2u);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "st.relaxed.shared");
}

/// The load behind the store does not make it forgotten. (In the run, who acquires from the store comes behind it.)
TEST(Points, AStoreWithItsOwnLoadBehindIt) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) {
          store_global<MemoryOrder::release>(p.words, 1u);
          (void)load_global<MemoryOrder::relaxed>(p.words);
          mbarrier_arrive(address(s.a[0]));
        }
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)load_global<MemoryOrder::acquire>(p.words);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "ld.acquire.global");
}

/// Sums commute with sums, and not with maxima.
TEST(Points, ReductionsOfOneKindInAnyOrder) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 64);
        if (p.buggy && thread_index() == 40)
          reduce_global<Atomic::max>(p.words, 7);
        else
          reduce_global<Atomic::add, MemoryOrder::release>(p.words, 1);
        mbarrier_arrive(address(s.a[0]));
        if (thread_index() == 0) {
          mbarrier_wait(address(s.a[0]), 1);
          (void)load_global(p.words);
        }
      },
      "red.global");
}

TEST(Points, SumsOfF32ByReductionsOfThreads) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) store_shared(&s.line[0], 0u);
        cluster_sync();
        if (thread_index() == 0) {
          reduce_cluster<Atomic::add, MemoryOrder::relaxed, MemoryScope::cta, float>(address(s.line), 1.0f);
          mbarrier_arrive(address(s.a[0]));
        }
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          reduce_cluster<Atomic::add, MemoryOrder::relaxed, MemoryScope::cta, float>(address(s.line), 0x1p-24f);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "red.shared::cluster");
}

TEST(Points, AnAnswerBesideAReductionOfAThread) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) reduce_global<Atomic::add>(p.words, 1);
        if (thread_index() == 0) mbarrier_arrive(address(s.a[0]));
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)fetch_global<Atomic::add>(p.words, 1u);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "atom.global");
}

/// Halves of a word of 8 bytes.
TEST(Points, OperationsOfOtherSizes) {
  never_holds(
      two_warps,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0) store_global<MemoryOrder::release>(reinterpret_cast<uint64_t*>(p.words), uint64_t{1});
        if (thread_index() == 0) mbarrier_arrive(address(s.a[0]));
        if (thread_index() == 32) {
          if (!p.buggy) mbarrier_wait(address(s.a[0]), 1);
          (void)load_global<MemoryOrder::relaxed>(p.words + 1);
          if (p.buggy) mbarrier_wait(address(s.a[0]), 1);
        }
      },
      "ld.relaxed.global");
}

TEST(Points, AsynchronousReductions) {
  never_holds(
      {.grid = {2}, .cluster = {2}, .threads = 64, .shared_bytes = storage_bytes},
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_three(s, 1);
        if (thread_index() == 0 && cluster_rank() == 0) {
          store_shared(&s.line[0], 0u);
          mbarrier_arrive_expect_tx(address(s.a[0]), 8);
        }
        cluster_sync();
        const SharedAddress to = map_to_rank(address(s.line), 0), full = map_to_rank(address(s.a[0]), 0);
        if (thread_index() == 0 && cluster_rank() == 1) reduce_async<Atomic::add>(to, 1u, full);
        if (thread_index() == 32 && cluster_rank() == 1) {
          if (p.buggy)
            reduce_async<Atomic::max>(to, 2u, full);
          else
            reduce_async<Atomic::add>(to, 2u, full);
        }
        if (thread_index() == 0 && cluster_rank() == 0) {
          mbarrier_wait<Scope::cluster>(address(s.a[0]), 1);
          (void)load_shared(&s.line[0]);
        }
        cluster_sync();
      },
      "red.async");
}

/// Loads of a word that all of them load: nothing to be found out.
TEST(Points, LoadsWithAnOrderAlone) {
  const auto kernel = [](const Params& p) {
    (void)load_global<MemoryOrder::acquire>(p.words + 4);
    syncwarp();
  };
  const Verdict verdict = verdict_of(two_warps, kernel, false);
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence() << to_text(verdict.report);
}

/// A word of another cluster: which of the two runs first is the schedule's choice.
TEST(Points, AFlagOfAnotherCluster) {
  never_holds(
      {.grid = {2}, .threads = 32, .shared_bytes = storage_bytes, .talks_across_clusters = true},
      [](const Params& p) {
        if (thread_index() == 0) {
          if (block_index().x == 0)
            store_global<MemoryOrder::release>(p.words, 1u);
          else
            (void)load_global<MemoryOrder::acquire>(p.words + (p.buggy ? 0 : 1));
        }
        syncwarp();
      },
      "ld.acquire.global");
}

}  // namespace
}  // namespace warploom::loom
