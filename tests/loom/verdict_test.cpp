// Verdicts: what one run may say about all schedules, and what many find where it may not.
#include "warploom/loom/verdict.hpp"

#include <algorithm>
#include <set>

#include "loom/probe_kernel.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/pdl.hpp"

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
  EXPECT_TRUE(contains(verdict.sentence(),
                       "Not covered: other shapes, plain C++ accesses to global memory, ptxas, the model itself."));
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

// ---- going on from where an exploration stood

/// Goes on from `state`, through its text.
CheckOptions on_from(CheckOptions options, const Exploration& state) {
  Result<Exploration> read = Exploration::from_json(state.to_json());
  EXPECT_TRUE(read) << read.error();
  if (read) options.from = *read;
  return options;
}

TEST(Verdict, AnExplorationGoesOnWhereItStood) {
  uint32_t seen[2] = {};
  const Launch launch{.threads = 64};
  const Subject tickets = subject(launch, draws, {seen, false});
  const Verdict whole = check(tickets, under("eager", 30));
  const Verdict first = check(tickets, under("eager", 12));
  EXPECT_EQ(first.exploration.done, 12u);
  const Verdict second = check(tickets, on_from(under("eager", 30), first.exploration));
  EXPECT_EQ(second.exploration.to_json(), whole.exploration.to_json());
  EXPECT_EQ(second.sentence(), whole.sentence());
}

TEST(Verdict, EachStateOnTheWayIsOneToGoOnFrom) {
  uint32_t seen = 0;
  const Subject asks = subject({.threads = 64}, asks_once, {&seen, false});
  std::vector<Exploration> states;
  CheckOptions options = under("eager", 20);
  options.progress = [&](const Exploration& state) { states.push_back(state); };
  const Verdict whole = check(asks, options);
  ASSERT_EQ(states.size(), 20u);
  for (const Exploration& state : states)
    EXPECT_EQ(check(asks, on_from(under("eager", 20), state)).exploration.to_json(), whole.exploration.to_json())
        << state.done;
}

TEST(Verdict, AFailureIsNotForgotten) {
  uint32_t seen = 0;
  const Subject buggy = subject({.threads = 64}, asks_once, {&seen, true});
  const Verdict first = check(buggy, under("eager", 100));
  ASSERT_EQ(first.kind, Verdict::Kind::fails) << first.sentence();
  for (const uint64_t schedules : {uint64_t{1}, first.exploration.done, uint64_t{100}, uint64_t{1000}}) {
    const Verdict again = check(buggy, on_from(under("eager", schedules), first.exploration));
    EXPECT_EQ(again.sentence(), first.sentence()) << schedules;
    EXPECT_EQ(to_text(again.report), to_text(first.report)) << schedules;
  }
  // The usual course fails alone.
  const auto never = [](const Words2&) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) mbarrier_wait(address(s.barriers[0]), 1);
  };
  const Subject stuck = subject({}, never, {&seen, false});
  const Verdict once = check(stuck, under("eager"));
  ASSERT_EQ(once.kind, Verdict::Kind::fails);
  EXPECT_EQ(check(stuck, on_from(under("eager"), once.exploration)).sentence(), once.sentence());
}

/// Its schedule cannot be run again for want of memory: that does not make it clean.
TEST(Verdict, AFailureThatCannotBeTriedAgainIsNotCalledClean) {
  uint32_t seen = 0;
  Subject buggy = subject({.threads = 64}, asks_once, {&seen, true});
  const Verdict first = check(buggy, under("eager", 100));
  ASSERT_EQ(first.kind, Verdict::Kind::fails) << first.sentence();
  buggy.launch = [launch = buggy.launch, launches = 0](const Options& options) mutable {
    Outcome outcome = launch(options);
    if (++launches == 1) return outcome;
    outcome.refused = true;
    outcome.refusal = ErrorCode::out_of_memory;
    outcome.report.findings = {{.code = "LAUNCH", .message = "memory ran out", .agent = {}, .at = {}, .notes = {}}};
    return outcome;
  };
  const Verdict again = check(buggy, on_from(under("eager", 100), first.exploration));
  EXPECT_EQ(again.kind, Verdict::Kind::refused);
  EXPECT_EQ(again.refusal_code, ErrorCode::out_of_memory);
  EXPECT_EQ(again.refusal, "memory ran out");
}

TEST(Verdict, TheUsualCourseIsAlwaysRunHere) {
  uint32_t seen = 0;
  const Subject asks = subject({.threads = 64}, asks_once, {&seen, false});
  const Verdict first = check(asks, under("eager", 40));
  // All that was asked for has been tried: the verdict is the same, and not that of a run without points.
  EXPECT_EQ(check(asks, on_from(under("eager", 5), first.exploration)).sentence(), first.sentence());
  size_t launches = 0;
  const Subject counted{.what = asks.what,
                        .launch =
                            [&](const Options& options) {
                              ++launches;
                              return asks.launch(options);
                            },
                        .wrong = asks.wrong};
  check(counted, on_from(under("eager", 5), first.exploration));
  EXPECT_EQ(launches, 1u);
}

TEST(Verdict, AnExplorationOfSomethingElseIsRefused) {
  uint32_t seen = 0;
  Subject asks = subject({.threads = 64}, asks_once, {&seen, false});
  asks.parts = {{"problem", "m", "300"}, {"problem", "n", "8"}, {"set of data", "seed", "1"}};
  const Exploration state = check(asks, under("eager", 12)).exploration;
  const auto refused = [&](const Subject& other, const CheckOptions& options, const std::string& why) {
    const Verdict verdict = check(other, on_from(options, state));
    EXPECT_EQ(verdict.kind, Verdict::Kind::refused) << verdict.sentence();
    EXPECT_FALSE(verdict.good());
    EXPECT_TRUE(contains(verdict.refusal, why)) << verdict.refusal << "\nis not: " << why;
  };
  Subject other = asks;
  other.parts[0].value = "512";
  other.parts[2].value = "7";
  refused(other, under("eager", 20), "it belongs to another problem: m 300 there, 512 here");
  other.parts.erase(other.parts.begin());
  refused(other, under("eager", 20), "m 300 there, nothing here");
  other = asks;
  other.what = "something else";
  refused(other, under("eager", 20), "another launch: subject probe there, something else here");
  refused(asks, under("lazy", 20), "another schedule: usual course eager there, lazy here");
  CheckOptions options = under("eager", 20);
  options.deviations = 3;
  refused(asks, options, "deviations 2 there, 3 here");
  options = under("eager", 20);
  options.run.processors = 2;
  refused(asks, options, "processors 4 there, 2 here");
  options = under("eager", 20);
  options.run.step_limit = 5000;
  refused(asks, options, "step limit");
  options = under("eager", 20);
  options.run.numerics = Numerics::exact;
  refused(asks, options, "numerics fast there, exact here");
  options = under("eager", 20);
  options.run.suppressed = {*Suppression::parse("RACE-SMEM")};
  refused(asks, options, "another suppression");
  options = under("eager", 20);
  options.run.mutation = Mutation{"mbarrier.arrive@x@y:1@z:2", MutationKind::drop};
  refused(asks, options, "another mutation: mutation none there, drop of mbarrier.arrive@x@y:1@z:2 here");
  // Of another build of the program.
  Exploration older = state;
  for (Part& part : older.of)
    if (part.name == "build") part.value = "0123";
  const Verdict verdict = check(asks, on_from(under("eager", 20), older));
  EXPECT_TRUE(contains(verdict.refusal, "it belongs to another program: build 0123 there, ")) << verdict.refusal;
}

TEST(Verdict, NumbersThatMakeNoSenseAreRefused) {
  uint32_t seen = 0;
  const Subject asks = subject({.threads = 64}, asks_once, {&seen, false});
  const Exploration state = check(asks, under("eager", 12)).exploration;
  const std::string text = state.to_json();
  ASSERT_TRUE(Exploration::from_json(text));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
    return other.replace(at, from.size(), to);
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "does not hold the state"},
      {"[]", "does not hold the state"},
      {"{}", "does not hold the state"},
      {"nonsense", "does not hold the state"},
      {R"({"done":1,"next_fixed":0,"next_seed":1,"dropped":0,"turn":false,"frontier":[]})", "does not hold the state"},
      {changed("\"version\":3", "\"version\":2"), "in version 2 of its format"},
      {changed("\"done\":12", "\"done\":4000000000"), "4000000000 schedules were tried, and its parts add up to 12"},
      {changed("\"done\":12", "\"done\":-1"), "does not hold the state"},
      {changed("\"done\":12", "\"done\":1e9"), "does not hold the state"},
      {changed("\"random\":", "\"random\":99999999999999"), "more than anybody has tried"},
      {changed("\"fixed\":", "\"fixed\":9"), "fixed schedules"},
      {changed("\"made\":[", "\"made\":[18446744073709551615,"), "more decisions than there can be"},
      {changed("\"frontier\":[", "\"frontier\":[[[0,1]],"), "does not hold the state"},
      {changed("\"frontier\":[", "\"frontier\":[[[0,1,9,0]],"), "does not hold the state"},
      {changed("\"frontier\":[", "\"frontier\":[[[0,5000000000,1,0]],"), "does not hold the state"},
      {changed("\"of\":[", "\"of\":[3,"), "does not hold the state"},
      // What makes sense and was not written by us.
      {changed("\"turn\":", "\"turn\":1"), "the file was changed since it was written"},
      {changed("\"checksum\":", "\"of_it\":"), "the file was changed since it was written"},
  };
  for (const auto& [broken, sentence] : cases) {
    const Result<Exploration> read = Exploration::from_json(broken);
    ASSERT_FALSE(read) << broken;
    EXPECT_TRUE(contains(read.error(), sentence)) << read.error() << "\n" << broken;
  }
  // The same through CheckOptions::from, which nobody has read.
  CheckOptions options = under("eager", 20);
  options.from = state;
  options.from.done = 4'000'000'000;
  EXPECT_EQ(check(asks, options).kind, Verdict::Kind::refused);
  options.from = state;
  options.from.frontier.push_front({{0, 0}, {0, 1}, {0, 2}});
  EXPECT_EQ(check(asks, options).kind, Verdict::Kind::refused);
}

// ---- what was tried, in numbers

TEST(Verdict, SaysInNumbersWhatWasTried) {
  uint32_t seen = 0;
  const Verdict verdict = check(subject({.threads = 64}, asks_once, {&seen, false}), under("eager", 40));
  ASSERT_EQ(verdict.kind, Verdict::Kind::none_found);
  const Exploration& e = verdict.exploration;
  EXPECT_EQ(e.fixed, 6u);  // two policies, four faults; a cluster of one CTA has no other to wait for
  EXPECT_EQ(e.fixed_known, 6u);
  EXPECT_EQ(e.known, std::vector<uint64_t>{2});  // no, or no again and again
  EXPECT_EQ(e.made, std::vector<uint64_t>{2});
  EXPECT_EQ(e.random, 31u);
  const std::string sentence = verdict.sentence();
  EXPECT_TRUE(contains(sentence,
                       "Tried: the usual course, 6 of 6 fixed schedules (policies, faults, a CTA held back), "
                       "2 of 2 known with 1 decision and 31 random ones."))
      << sentence;
  EXPECT_FALSE(contains(sentence, "Not covered")) << sentence;
  EXPECT_FALSE(contains(sentence, "very decision")) << sentence;
  // Most of it is left.
  const Verdict few = check(subject({.threads = 64}, asks_once, {&seen, false}), under("eager", 3));
  EXPECT_TRUE(contains(few.sentence(), "2 of 6 fixed schedules")) << few.sentence();
  EXPECT_TRUE(contains(few.sentence(), "0 of 2 known with 1 decision and 0 random ones.")) << few.sentence();
  EXPECT_TRUE(contains(few.sentence(), "Not covered: the 2 known schedules with decisions that were not tried."))
      << few.sentence();
  // Three threads draw tickets: one decision leads to further points.
  uint32_t tickets[3] = {};
  CheckOptions shallow = under("eager", 60);
  shallow.deviations = 1;
  const Verdict one = check(subject({.threads = 96}, draws, {tickets, false}), shallow);
  ASSERT_EQ(one.exploration.known.size(), 2u);
  EXPECT_TRUE(contains(one.sentence(), "Not covered: more than 1 decision in one schedule.")) << one.sentence();
}

TEST(Verdict, SaysThatClustersWereNotInterleaved) {
  static uint32_t counter;
  const auto counts = [](const Words2&) {
    if (thread_index() == 0) (void)fetch_add_global(&counter, 1u);
  };
  Launch launch{.grid = {4}, .tensors = {{&counter, sizeof(counter), Access::write, "counter"}}};
  launch.talks_across_clusters = true;
  const Verdict verdict = check(subject(launch, counts, {nullptr, false}), under("eager", 12));
  ASSERT_EQ(verdict.kind, Verdict::Kind::none_found) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.sentence(),
                       "Not covered: clusters that run at the same time (they ran one after the "
                       "other, in several orders)"))
      << verdict.sentence();
}

TEST(Verdict, LaunchControlNamesItsProcessors) {
  const auto nothing = [](const Words2&) { syncwarp(); };
  Launch launch{.grid = {4}};
  EXPECT_FALSE(contains(check(subject(launch, nothing, {}), under("eager")).sentence(), "processor"));
  launch.launch_control = true;
  const Verdict four = check(subject(launch, nothing, {}), under("eager"));
  EXPECT_TRUE(contains(four.sentence(), "HOLDS on every schedule of this launch on 4 processors (probe;"))
      << four.sentence();
  CheckOptions options = under("eager");
  options.run.processors = 1;
  EXPECT_TRUE(contains(check(subject(launch, nothing, {}), options).sentence(), "launch on 1 processor (probe;"));
}

TEST(Verdict, AScheduleThatTheLaunchCannotHaveIsNoFinding) {
  const auto nothing = [](const Words2&) { syncwarp(); };
  const Verdict verdict = check(subject({}, nothing, {}), under("eager:0:skew=1"));
  EXPECT_EQ(verdict.kind, Verdict::Kind::refused) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.refusal, "skew=1 names no CTA of a cluster of 1")) << verdict.refusal;
}

// ---- tests that are tried a few times

/// Warp 0 writes a word and arrives; warp 1 asks six times whether it has, and then reads the word whatever it heard.
const auto six_tries = [](const Words2& p) {
  auto& s = shared<Shared>();
  init_barriers(s.barriers, 1);
  if (thread_index() == 0) {
    store_shared(&s.word, 5u);
    mbarrier_arrive(address(s.barriers[0]));
  }
  if (thread_index() == 32) {
    bool over = false;
    for (int i = 0; i < 6 && !over; ++i) over = mbarrier_test(address(s.barriers[0]), 1);
    if (!over && !p.buggy) mbarrier_wait(address(s.barriers[0]), 1);
    p.seen[0] = load_shared(&s.word);
    p.seen[1] = over ? 1 : 2;
  }
};

TEST(Verdict, TriesThatRunOutAreFound) {
  uint32_t seen[2] = {};
  const Verdict verdict = check(subject({.threads = 64}, six_tries, {seen, true}));
  ASSERT_EQ(verdict.kind, Verdict::Kind::fails) << verdict.sentence();
  EXPECT_EQ(verdict.report.findings[0].code, "RACE-SMEM");
  EXPECT_TRUE(contains(verdict.schedule.text(), "faults=test") || contains(verdict.schedule.text(), "deny="))
      << verdict.schedule.text();
  const Verdict good = check(subject({.threads = 64}, six_tries, {seen, false}));
  EXPECT_EQ(good.kind, Verdict::Kind::none_found) << good.sentence();
}

// One thread's tries run out while those of another do not.
TEST(Verdict, TriesOfOneThreadMayRunOutAlone) {
  uint32_t seen[2] = {};
  const auto two_ask = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) mbarrier_arrive(address(s.barriers[0]));
    if (thread_index() == 32 || thread_index() == 64) {
      bool over = false;
      for (int i = 0; i < 6 && !over; ++i) over = mbarrier_test(address(s.barriers[0]), 1);
      p.seen[thread_index() / 32 - 1] = over ? 1 : 2;
    }
  };
  const auto wrong = [&] { return seen[0] == 2 && seen[1] == 1 ? std::string("warp 1 gave up alone") : std::string(); };
  const Verdict verdict = check(subject({.threads = 96}, two_ask, {seen, false}, wrong));
  EXPECT_EQ(verdict.kind, Verdict::Kind::wrong) << verdict.sentence();
}

TEST(Verdict, ATestThatCannotComeTooEarlyIsNotDenied) {
  uint32_t seen[2] = {};
  const auto waits_first = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) mbarrier_arrive(address(s.barriers[0]));
    if (thread_index() != 32) return;
    p.seen[0] = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
    mbarrier_wait(address(s.barriers[0]), 1);
    p.seen[1] = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
  };
  for (const char* schedule : {"eager:faults=test", "eager:deny=0.0", "random:3:faults=test"}) {
    Options options = with(*Schedule::parse(schedule));
    options.check = true;
    expect_clean(run({.threads = 64}, waits_first, Words2{seen, false}, options));
    EXPECT_EQ(seen[0], 2u) << schedule;
    EXPECT_EQ(seen[1], 1u) << schedule;
  }
}

// A loop that asks until it hears yes ends, whatever the schedule denies.
TEST(Verdict, DenialsEnd) {
  uint32_t seen = 0;
  const auto spins = [](const Words2& p) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) mbarrier_arrive(address(s.barriers[0]));
    if (thread_index() == 32)
      for (*p.seen = 1; !mbarrier_test(address(s.barriers[0]), 1);) ++*p.seen;
  };
  Options options = with(*Schedule::parse("eager:faults=test"));
  options.check = true;
  expect_clean(run({.threads = 64}, spins, Words2{&seen, false}, options));
  EXPECT_EQ(seen, most_denials + 1);
}

// ---- orders of threads at one word

constexpr uint32_t drawers = 5;

TEST(Verdict, AllOrdersOfTicketsAreSchedules) {
  uint32_t seen[drawers] = {};
  const Launch launch{.threads = 32 * drawers};
  std::set<std::vector<uint32_t>> orders;
  for (uint32_t order = 0; order < 120; ++order) {
    Options options = with(*Schedule::parse("eager:order=0.0." + std::to_string(order)));
    options.check = true;
    const Outcome outcome = run(launch, draws, Words2{seen, false}, options);
    expect_clean(outcome);
    ASSERT_EQ(outcome.contests.size(), 1u);
    EXPECT_EQ(outcome.contests[0].threads, drawers);
    EXPECT_EQ(outcome.contests[0].point, 0u);
    orders.insert({seen, seen + drawers});
  }
  EXPECT_EQ(orders.size(), 120u);
}

TEST(Verdict, OneOrderOfTicketsIsFound) {
  uint32_t seen[drawers] = {};
  const Launch launch{.threads = 32 * drawers};
  Options last = with(*Schedule::parse("eager:order=0.0.119"));
  last.check = true;
  expect_clean(run(launch, draws, Words2{seen, false}, last));
  const std::vector<uint32_t> tried_last(seen, seen + drawers);
  for (const std::vector<uint32_t>& tickets : {{4, 3, 2, 1, 0}, {3, 0, 4, 1, 2}, tried_last}) {
    const auto wrong = [&] {
      return std::equal(tickets.begin(), tickets.end(), seen) ? std::string("this order") : std::string();
    };
    const Verdict verdict = check(subject(launch, draws, {seen, false}, wrong));
    EXPECT_EQ(verdict.kind, Verdict::Kind::wrong) << verdict.sentence();
  }
  // Whichever it is: all of them are tried.
  const Verdict none = check(subject(launch, draws, {seen, false}));
  EXPECT_EQ(none.exploration.orders, 119u);
  EXPECT_EQ(none.exploration.done, 256u);
}

TEST(Verdict, OrdersThatWereNotTriedAreCounted) {
  uint32_t seen[7] = {};
  const Verdict verdict = check(subject({.threads = 32 * 7}, draws, {seen, false}), under("eager", 20));
  ASSERT_EQ(verdict.kind, Verdict::Kind::none_found);
  EXPECT_EQ(verdict.exploration.orders_known, 5039u);
  EXPECT_TRUE(contains(verdict.sentence(), " of 5039 orders of the threads at one object")) << verdict.sentence();
  EXPECT_TRUE(contains(verdict.sentence(), " orders of threads at one object.")) << verdict.sentence();
}

// ---- grids that depend on each other

constexpr uint32_t dependent_blocks = 9;  // more than processors

struct Grids {
  uint32_t* words;
  bool buggy;
};

void writes_words(const void* params) {
  const auto& p = *static_cast<const Grids*>(params);
  grid_launch_dependents();
  if (thread_index() == 0) store_global(p.words + block_index().x, 3u);
  syncwarp();
}

void reads_words(const void* params) {
  const auto& p = *static_cast<const Grids*>(params);
  const uint32_t i = block_index().x;
  if (!p.buggy || i + 1 != dependent_blocks) grid_dependency_wait();
  if (thread_index() == 0) store_global(p.words + dependent_blocks + i, load_global(p.words + i) + 1);
  syncwarp();
}

Verdict check_grids(bool buggy, const CheckOptions& options) {
  static uint32_t words[2 * dependent_blocks];
  const Grids params{words, buggy};
  const std::vector<TensorRef> tensors{{words, sizeof(words), Access::write, "words"}};
  const GridLaunch grids[] = {{{.kernel = "writes", .grid = {dependent_blocks}}, &writes_words, &params, tensors},
                              {{.kernel = "reads", .grid = {dependent_blocks}}, &reads_words, &params, tensors}};
  return check({.what = "two grids", .launch = [&](const Options& o) { return combined(launch_dependent(grids, o)); }},
               options);
}

// Only the last of the clusters reads early, and all that is run is the usual course.
TEST(Verdict, ADependentGridIsAsEarlyAsItMayBe) {
  const Verdict verdict = check_grids(true, under("eager"));
  ASSERT_EQ(verdict.kind, Verdict::Kind::fails) << verdict.sentence();
  EXPECT_EQ(verdict.report.findings[0].code, "PDL-EARLY");
  EXPECT_EQ(verdict.schedule.text(), "eager");
  for (const char* schedule : {"eager", "lazy", "adversarial", "random:1"}) {
    const Verdict good = check_grids(false, under(schedule));
    EXPECT_EQ(good.kind, Verdict::Kind::holds) << good.sentence();
  }
}

TEST(Verdict, DecisionsCountClustersOfAllGrids) {
  uint32_t seen[2] = {};
  static uint32_t* where;
  where = seen;
  static const auto body = [](const void* params) {
    auto& s = shared<Shared>();
    init_barriers(s.barriers, 1);
    if (thread_index() == 0) mbarrier_arrive(address(s.barriers[0]));
    if (thread_index() == 32)
      where[*static_cast<const uint32_t*>(params)] = mbarrier_test(address(s.barriers[0]), 1) ? 1 : 2;
  };
  const uint32_t first = 0, second = 1;
  const LaunchConfig config{.kernel = "asks", .threads = 64, .shared_bytes = sizeof(Shared)};
  const loom::Entry entry = +[](const void* params) {
    body(params);
    asm volatile("" ::: "memory");
  };
  const GridLaunch grids[] = {{config, entry, &first, {}}, {config, entry, &second, {}}};
  Options options = with(*Schedule::parse("eager:refuse=1.0"));
  options.check = true;
  const Outcome outcome = combined(launch_dependent(grids, options));
  expect_clean(outcome);
  EXPECT_EQ(seen[0], 1u);
  EXPECT_EQ(seen[1], 2u);
  ASSERT_EQ(outcome.points.size(), 2u);
  EXPECT_EQ(outcome.points[0].decision.cluster, 0u);
  EXPECT_EQ(outcome.points[1].decision.cluster, 1u);
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
    // What is let pass may depend on the schedule: one run does not speak for all.
    EXPECT_EQ(verdict.kind, Verdict::Kind::none_found) << text;
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
