// Verdicts: what one run may say about all schedules, and what many find where it may not.
#include "warploom/loom/verdict.hpp"

#include "loom/probe_kernel.hpp"
#include "warploom/arch/cluster_memory.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Words2 {
  uint32_t* seen;  ///< what the kernel found out
  bool buggy;
};

struct Shared {
  Mbarrier barriers[2];
  uint32_t word;
  uint32_t other;
};

template <class Kernel>
Subject subject(const Launch& launch, Kernel kernel, const Words2& params, std::function<std::string()> wrong = {}) {
  return {.what = "probe",
          .launch = [=](const Options& options) { return run(launch, kernel, params, options); },
          .wrong = std::move(wrong)};
}

CheckOptions under(const char* schedule, uint64_t schedules = 1) {
  CheckOptions options;
  options.run.schedule = *Schedule::parse(schedule);
  options.schedules = schedules;
  return options;
}

/// Warp 0 arrives; warp 1 asks once whether the phase is over, and does something wrong if it is not (yet).
const auto asks_once = [](const Words2& p) {
  auto& s = shared<Shared>();
  init_barriers(s.barriers, 1);
  if (thread_index() == 0) mbarrier_arrive(address(s.barriers[0]));
  if (thread_index() == 32) {
    const bool over = mbarrier_test(address(s.barriers[0]), 1);
    *p.seen = over ? 1 : 2;
    if (!over && p.buggy) {
      mbarrier_arrive(address(s.barriers[1]));
      mbarrier_arrive(address(s.barriers[1]));
      mbarrier_expect_tx(address(s.barriers[1]), 16);
    }
  }
};

TEST(Verdict, AnAnswerThatNothingOrdersIsAPoint) {
  uint32_t seen = 0;
  const Launch launch{.threads = 64};
  const Verdict verdict = check(subject(launch, asks_once, {&seen, false}), under("eager", 40));
  EXPECT_EQ(verdict.kind, Verdict::Kind::none_found) << verdict.sentence();
  ASSERT_EQ(verdict.points.size(), 1u);
  EXPECT_EQ(verdict.points[0].operation, "mbarrier.test_wait");
  EXPECT_EQ(file_name(verdict.points[0].at.user.file), "verdict_test.cpp");
  EXPECT_EQ(verdict.exploration.done, 40u);
  EXPECT_TRUE(contains(verdict.sentence(), "no failure found in 40 schedules")) << verdict.sentence();
  EXPECT_FALSE(contains(verdict.sentence(), "HOLDS"));
}

TEST(Verdict, ADecisionChangesTheAnswer) {
  uint32_t seen = 0;
  const Launch launch{.threads = 64};
  const auto outcome = [&](const char* schedule) {
    Options options = with(*Schedule::parse(schedule));
    options.check = true;
    expect_clean(run(launch, asks_once, Words2{&seen, false}, options));
    return seen;
  };
  EXPECT_EQ(outcome("eager"), 1u);
  EXPECT_EQ(outcome("eager:refuse=0.0"), 2u);
  EXPECT_EQ(outcome("eager:refuse=0.1"), 1u);  // there is no such point
  EXPECT_EQ(outcome("eager:refuse=7.0"), 1u);  // nor such a cluster
}

TEST(Verdict, AHeldTestWaitsForThePhase) {
  uint32_t seen = 0;
  const Launch launch{.threads = 64};
  const auto asks_first = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) *p.seen = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
    if (thread_index() == 32) mbarrier_arrive(address(s.barriers[0]));
  };
  for (const auto& [schedule, expected] : {std::pair("eager", 2u), std::pair("eager:hold=0.0", 1u)}) {
    Options options = with(*Schedule::parse(schedule));
    options.check = true;
    const Outcome outcome = run(launch, asks_first, Words2{&seen, false}, options);
    expect_clean(outcome);
    EXPECT_EQ(seen, expected) << schedule;
    ASSERT_EQ(outcome.points.size(), 1u) << schedule;
  }
}

TEST(Verdict, ExplorationFindsWhatOneRunDoesNot) {
  uint32_t seen = 0;
  const Launch launch{.threads = 64};
  const Verdict verdict = check(subject(launch, asks_once, {&seen, true}), under("eager", 100));
  ASSERT_EQ(verdict.kind, Verdict::Kind::fails) << verdict.sentence();
  // The shortest schedule that shows it shows it again.
  Options again = with(verdict.schedule);
  again.check = true;
  const Outcome outcome = run(launch, asks_once, Words2{&seen, true}, again);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, verdict.report.findings[0].code);
  EXPECT_EQ(verdict.report.schedule, verdict.schedule.text());
}

TEST(Verdict, AnAnswerThatIsOrderedIsNone) {
  // After a wait for the same phase the test can only say yes; before an arrival of its own it can only say no.
  const auto ordered = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) {
      *p.seen = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
      mbarrier_arrive(address(s.barriers[0]));
    }
    if (thread_index() == 32) {
      mbarrier_wait(address(s.barriers[0]), 1);
      p.seen[1] = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
    }
  };
  uint32_t both[2] = {};
  const Launch launch{.threads = 64};
  const Verdict verdict = check(subject(launch, ordered, {both, false}), under("eager"));
  EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.sentence(), "HOLDS on every schedule of this launch (probe;")) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.sentence(), "Not covered: other shapes, ptxas, the model itself"));
  EXPECT_EQ(both[0], 2u);
  EXPECT_EQ(both[1], 1u);
}

/// Two warps draw tickets.
const auto draws = [](const Words2& p) {
  auto& s = shared<Shared>();
  if (thread_index() == 0) store_cluster(map_to_rank(address(s.word), 0), 0u);
  cluster_sync();
  if (thread_index() % 32 == 0) {
    const uint32_t ticket = fetch_cluster<Atomic::add>(map_to_rank(address(s.word), 0), 1);
    p.seen[thread_index() / 32] = ticket;
  }
  cluster_sync();
};

TEST(Verdict, TicketsComeInAnyOrder) {
  uint32_t seen[2] = {};
  const Launch launch{.threads = 64};
  Options options = with(*Schedule::parse("eager"));
  options.check = true;
  const Outcome usual = run(launch, draws, Words2{seen, false}, options);
  expect_clean(usual);
  ASSERT_EQ(usual.points.size(), 2u);
  EXPECT_TRUE(usual.points[0].may_hold);
  EXPECT_FALSE(usual.points[1].may_hold);
  const uint32_t first = seen[0];
  options.schedule = *Schedule::parse("eager:hold=0.0");
  expect_clean(run(launch, draws, Words2{seen, false}, options));
  EXPECT_NE(seen[0], first);
}

TEST(Verdict, AWrongResultOfOneScheduleIsFoundAndShrunk) {
  uint32_t seen[2] = {};
  const Launch launch{.threads = 64};
  const auto wrong = [&] { return seen[0] == 0 ? std::string() : std::string("warp 0 was not the first"); };
  const Verdict verdict = check(subject(launch, draws, {seen, false}, wrong), under("eager", 200));
  ASSERT_EQ(verdict.kind, Verdict::Kind::wrong) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.sentence(), "warp 0 was not the first")) << verdict.sentence();
  EXPECT_LE(verdict.schedule.decisions.size(), 1u);
  EXPECT_EQ(verdict.schedule.faults, 0u);
}

TEST(Verdict, AnAtomicPassesOnWhatCameBefore) {
  const auto hands_over = [](bool buggy) {
    auto& s = shared<Shared>();
    const SharedAddress word = map_to_rank(address(s.word), 0), other = map_to_rank(address(s.other), 0);
    if (thread_index() == 0) store_cluster(word, 0u);
    cluster_sync();
    if (thread_index() == 0) {
      if (!buggy) store_cluster(other, 7u);
      fetch_cluster<Atomic::add>(word, 1);
      if (buggy) store_cluster(other, 7u);
    }
    if (thread_index() == 32) {
      while (fetch_cluster<Atomic::add>(word, 0) == 0) syncwarp(1);
      (void)load_cluster<uint32_t>(other);
    }
    cluster_sync();
  };
  const Launch launch{.threads = 64};
  Options options;
  options.check = true;
  expect_clean(run(launch, hands_over, false, options));
  const Outcome outcome = run(launch, hands_over, true, options);
  ASSERT_FALSE(outcome.ok());
}

TEST(Verdict, AnExplorationGoesOnWhereItStood) {
  uint32_t seen[2] = {};
  const Launch launch{.threads = 64};
  const Subject tickets = subject(launch, draws, {seen, false});
  const Verdict whole = check(tickets, under("eager", 30));
  const Verdict first = check(tickets, under("eager", 12));
  EXPECT_EQ(first.exploration.done, 12u);
  CheckOptions rest = under("eager", 30);
  Result<Exploration> state = Exploration::from_json(first.exploration.to_json());
  ASSERT_TRUE(state) << state.error();
  rest.from = *state;
  const Verdict second = check(tickets, rest);
  EXPECT_EQ(second.exploration.to_json(), whole.exploration.to_json());
  for (const char* bad : {"", "[]", "{}", "{\"done\": -1}", "nonsense",
                          R"({"done":1,"next_fixed":0,"next_seed":1,"dropped":0,"turn":false,"frontier":[[[0,1]]]})"})
    EXPECT_FALSE(Exploration::from_json(bad)) << bad;
}

TEST(Verdict, KnownFindingsPass) {
  uint32_t seen = 0;
  const auto races = [](const Words2&) {
    auto& s = shared<Shared>();
    if (thread_index() % 32 == 0) AT_LINE(offending_line, store_shared(&s.word, thread_index()));
  };
  const Launch launch{.threads = 64};
  CheckOptions options = under("eager");
  const Subject racy = subject(launch, races, {&seen, false});
  ASSERT_EQ(check(racy, options).kind, Verdict::Kind::fails);
  const std::string line = std::to_string(offending_line.load());
  for (const std::string& text : {std::string("RACE-SMEM"), std::string("RACE-SMEM@loom/verdict_test.cpp"),
                                  "RACE-SMEM@verdict_test.cpp:" + line}) {
    options.run.suppressed = {*Suppression::parse(text)};
    const Verdict verdict = check(racy, options);
    EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << text;
    EXPECT_EQ(verdict.suppressed, 1u) << text;
    EXPECT_TRUE(contains(verdict.sentence(), "apart from 1 suppressed finding")) << verdict.sentence();
  }
  for (const std::string& text : {std::string("RACE-TMEM"), std::string("RACE-SMEM@other.cpp"),
                                  std::string("RACE-SMEM@dict_test.cpp"), "RACE-SMEM@verdict_test.cpp:1" + line}) {
    options.run.suppressed = {*Suppression::parse(text)};
    EXPECT_EQ(check(racy, options).kind, Verdict::Kind::fails) << text;
  }
  for (const char* bad : {"", "race", "RACE-SMEM@", "RACE-SMEM@a.cpp:", "RACE-SMEM@a.cpp:0", "RACE-SMEM@a.cpp:x", "@a"})
    EXPECT_FALSE(Suppression::parse(bad)) << bad;
}

TEST(Verdict, ASuppressionGoesNoFurtherThanItsPlace) {
  struct Two {
    uint32_t words[2], seen[2];
  };
  static std::atomic<int> first_line;
  const auto races = [](const Words2&) {
    auto& s = shared<Two>();
    if (thread_index() == 0) {
      AT_LINE(first_line, store_shared(&s.words[0], 1u));
      store_shared(&s.words[1], 1u);
    }
    if (thread_index() != 32) return;
#pragma GCC unroll 1
    for (int i = 0; i < 2; ++i) store_shared(&s.seen[i], load_shared(&s.words[i]));
  };
  CheckOptions options = under("eager");
  const Subject racy = subject({.threads = 64, .shared_bytes = sizeof(Two)}, races, {nullptr, false});
  ASSERT_EQ(check(racy, options).kind, Verdict::Kind::fails);
  options.run.suppressed = {*Suppression::parse("RACE-SMEM@verdict_test.cpp:" + std::to_string(first_line.load()))};
  EXPECT_EQ(check(racy, options).kind, Verdict::Kind::fails);
}

// Nobody can see the answer of a poll, but one that comes late lets others go first.
TEST(Verdict, PollsMayTimeOut) {
  uint32_t words[2];
  const auto polls = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) {
      mbarrier_arrive(address(s.barriers[0]));
      const Ready ready = mbarrier_poll(address(s.barriers[0]), 1);
      p.seen[1] = p.seen[0];
      mbarrier_wait_unless(ready, address(s.barriers[0]), 1);
    }
    if (thread_index() == 1) p.seen[0] = 1;
  };
  for (const auto& [schedule, expected] : {std::pair("eager", 0u), std::pair("eager:faults=timeout", 1u)}) {
    words[0] = words[1] = 0;
    expect_clean(run(Launch{}, polls, Words2{words, false}, with(*Schedule::parse(schedule))));
    EXPECT_EQ(words[1], expected) << schedule;
  }
}

}  // namespace
}  // namespace warploom::loom
