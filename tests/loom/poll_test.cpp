// Polls are hints: whatever one says, and whenever, the verdict is that of a kernel that waits.
#include <algorithm>
#include <set>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[2];
  Mbarrier turn;
  Mbarrier last;
  uint32_t word;
  uint32_t seen;
};

template <class Answer>
concept Decides = requires(Answer answer) { answer ? 1 : 0; };
static_assert(!Decides<Ready>, "what a program does must not depend on a poll");

std::vector<Schedule> with_timeouts() {
  std::vector<Schedule> list = schedules();
  for (const char* text : {"eager:faults=timeout", "lazy:faults=timeout", "random:1:faults=timeout"})
    list.push_back(*Schedule::parse(text));
  return list;
}

template <class Kernel>
std::set<std::string> codes(const Launch& launch, Kernel kernel, bool buggy, Options options = {}) {
  std::set<std::string> found;
  for (const bool check : {false, true})
    for (const Schedule& schedule : with_timeouts()) {
      options.schedule = schedule;
      options.check = check;
      const Outcome outcome = run(launch, kernel, buggy, options);
      found.insert(outcome.ok() ? "clean" : outcome.report.findings.front().code);
    }
  return found;
}
using Codes = std::set<std::string>;

template <bool yes>
void goes_by_a_poll(bool buggy) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (yes && lane_index() == 0) mbarrier_arrive(address(s.full[1]));
  syncwarp();
  const Ready ready = mbarrier_poll(address(s.full[buggy ? 1 : 0]), 1);
  if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
  OFFENDING(mbarrier_wait_unless(ready, address(s.full[0]), 1));
  syncwarp();
}

TEST(Poll, OfAnotherBarrierWhateverItSaid) {
  const Expected another_poll{"PHASE", {"a wait for phase 0 of", "goes by a poll of phase 0 of"}};
  rule({}, [](bool buggy) { goes_by_a_poll<true>(buggy); }, another_poll);
  rule({}, [](bool buggy) { goes_by_a_poll<false>(buggy); }, another_poll);
}

TEST(Poll, OfAnotherPhase) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() != 0) return;
         const Ready first = mbarrier_poll(address(s.full[1]), 1);
         mbarrier_arrive(address(s.full[1]));
         mbarrier_wait_unless(first, address(s.full[1]), 1);
         if (buggy) OFFENDING(mbarrier_wait_unless(first, address(s.full[1]), 2));
       },
       {"PHASE", {"a wait for phase 1 of", "goes by a poll of phase 0 of"}});
}

TEST(Poll, OfABarrierThatIsNoMore) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (lane_index() != 0) return;
         const Ready ready = mbarrier_poll(address(s.full[buggy ? 1 : 0]), 1);
         mbarrier_invalidate(address(s.full[1]));
         mbarrier_arrive(address(s.full[0]));
         OFFENDING(mbarrier_wait_unless(ready, address(s.full[0]), 1));
       },
       {"PHASE", {"goes by a poll of phase 0 of a barrier that is no more"}});
}

TEST(Poll, OfANarrowerScope) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         cluster_sync();
         if (thread_index() == 0) {
           mbarrier_arrive<Scope::cluster>(map_to_rank(address(s.full[0]), 1 - cluster_rank()));
           const Ready ready =
               buggy ? mbarrier_poll(address(s.full[0]), 1) : mbarrier_poll<Scope::cluster>(address(s.full[0]), 1);
           OFFENDING(mbarrier_wait_unless<Scope::cluster>(ready, address(s.full[0]), 1));
         }
         cluster_sync();
       },
       {"PHASE", {"a wait of cluster scope", "for the CTA only"}});
}

// The answer is of the phase that was asked for. Once the barrier has moved on, a wait for it never returns.
TEST(Poll, KeptTooLong) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      mbarrier_init(address(s.turn), 1);
      mbarrier_init(address(s.last), 1);
      fence_mbarrier_init();
    }
    syncthreads();
    if (thread_index() == 0) {
      mbarrier_arrive(address(s.full[0]));
      mbarrier_wait(address(s.turn), 1);
      mbarrier_arrive(address(s.full[0]));
      mbarrier_arrive(address(s.last));
    }
    if (thread_index() == 32) {
      const Ready ready = mbarrier_poll(address(s.full[0]), 1);
      if (!buggy) mbarrier_wait_unless(ready, address(s.full[0]), 1);
      mbarrier_arrive(address(s.turn));
      mbarrier_wait(address(s.last), 1);
      if (buggy) mbarrier_wait_unless(ready, address(s.full[0]), 1);
    }
  };
  EXPECT_EQ(codes({.threads = 64}, kernel, true), (Codes{"DEADLOCK"}));
  EXPECT_EQ(codes({.threads = 64}, kernel, false), (Codes{"clean"}));
}

/// A word that is handed over once, behind a poll.
void hand_over(bool) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (thread_index() == 0) {
    store_shared(&s.word, 7u);
    mbarrier_arrive(address(s.full[0]));
  }
  if (thread_index() == 32) {
    const Ready ready = mbarrier_poll(address(s.full[0]), 1);
    mbarrier_wait_unless(ready, address(s.full[0]), 1);
    store_shared(&s.seen, load_shared(&s.word));
  }
}

// The wait behind a poll is a place to alter under every schedule, and a mutation of it shows under every one.
TEST(Poll, AlteredWaitsAreReportedWhateverThePollSaid) {
  const auto kernel = [](bool buggy) { hand_over(buggy); };
  const Launch launch{.threads = 64};
  std::set<std::string> waits;
  std::set<size_t> numbers;
  for (const Schedule& schedule : with_timeouts()) {
    Options options = with(schedule);
    options.record_sites = true;
    const Outcome outcome = run(launch, kernel, false, options);
    numbers.insert(outcome.sites.size());
    for (const Site& site : outcome.sites)
      if (site.operation == "mbarrier.wait") waits.insert(site.key());
  }
  EXPECT_EQ(numbers.size(), 1u);
  ASSERT_EQ(waits.size(), 1u);
  for (const MutationKind kind : {MutationKind::drop, MutationKind::flip_parity, MutationKind::wrong_stage}) {
    Options options;
    options.check = true;
    options.mutation = Mutation{*waits.begin(), kind};
    for (const Schedule& schedule : with_timeouts()) {
      options.schedule = schedule;
      EXPECT_FALSE(run(launch, kernel, false, options).ok()) << to_string(kind) << " under " << schedule.text();
    }
  }
}

// Whom idleness has woken, the barrier does not wake again.
TEST(Poll, WokenOnce) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      mbarrier_init(address(s.turn), 1);
      fence_mbarrier_init();
    }
    syncthreads();
    for (uint32_t lap = 1; lap <= 8; ++lap) {
      if (warp_index() == 0) {
        const Ready one = mbarrier_poll(address(s.full[0]), lap);  // nobody arrives before this returns
        const Ready two = mbarrier_poll(address(s.full[1]), lap);
        syncwarp();
        if (lane_index() == 0) mbarrier_arrive(address(s.turn));
        mbarrier_wait_unless(one, address(s.full[0]), lap);
        mbarrier_wait_unless(two, address(s.full[1]), lap);
      } else {
        mbarrier_wait(address(s.turn), lap);
        syncwarp();
        if (lane_index() == 0)
          for (Mbarrier& full : s.full) mbarrier_arrive(address(full));
      }
      syncthreads();
    }
  };
  EXPECT_EQ(codes({.threads = 64}, kernel, false), (Codes{"clean"}));
}

// Who polls in one lane and waits in all, for no phase at all, waits in the plain way, or never does.
TEST(Poll, OtherUses) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    Ready ready;
    if (lane_index() == 0) ready = mbarrier_poll(address(s.full[0]), 1);
    syncwarp();
    if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
    mbarrier_wait_unless(ready, address(s.full[0]), 1);
    mbarrier_wait_unless(mbarrier_poll(address(s.full[1]), 0), address(s.full[1]), 0);
    (void)mbarrier_poll(address(s.full[1]), 1);
    syncwarp();
    if (lane_index() == 0) mbarrier_arrive(address(s.full[1]));
    mbarrier_wait(address(s.full[1]), 1);
    (void)mbarrier_poll(address(s.full[1]), 2);
  };
  EXPECT_EQ(codes({}, kernel, false), (Codes{"clean"}));
}

}  // namespace
}  // namespace warploom::loom
