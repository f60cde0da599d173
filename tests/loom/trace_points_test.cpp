// Trace points on the loom: events of the run, and nothing else changes.
#include "loom/ring_kernel.hpp"
#include "warploom/arch/trace.hpp"
#include "warploom/loom/event.hpp"

namespace warploom::loom::probe {
namespace {

struct Outer {
  static constexpr char name[] = "outer";
};
struct Inner {
  static constexpr char name[] = "inner";
};
struct Mark {
  static constexpr char name[] = "mark";
};

std::vector<Event> events_of(const Outcome& outcome, EventKind kind, std::string_view name) {
  std::vector<Event> found;
  for (const Event& event : outcome.events.events)
    if (event.kind == kind && outcome.events.names[event.name] == name) found.push_back(event);
  return found;
}

Options recorded(const Schedule& schedule = {}) {
  Options options = with(schedule);
  options.record_events = true;
  return options;
}

/// Spans around and inside a wait, by all lanes of warp 1 or by its lane 0 alone.
inline constexpr auto spans_kernel = [](bool one_lane) {
  auto& s = shared<RingStorage>();
  init_barriers(s.full, 1);
  if (warp_index() == 1) {
    if (one_lane && lane_index() != 0) return;
    trace_begin<Outer>();
    for (uint32_t k = 0; k < 3; ++k) {
      trace_begin<Inner>();
      mbarrier_wait(shared_address(&s.full[0]), k + 1);
      trace_end<Inner>();
      trace_instant<Mark>();
      if (one_lane) {
        mbarrier_arrive(shared_address(&s.full[1]));
      } else {
        syncwarp();
        if (lane_index() == 0) mbarrier_arrive(shared_address(&s.full[1]));
      }
    }
    trace_end<Outer>();
  } else if (lane_index() == 0) {
    for (uint32_t k = 0; k < 3; ++k) {
      mbarrier_arrive(shared_address(&s.full[0]));
      mbarrier_wait(shared_address(&s.full[1]), k + 1);
    }
  }
};

const Launch two_warps{.threads = 64, .shared_bytes = sizeof(RingStorage)};

TEST(TracePoints, LanesShareThem) {
  for (const Schedule& schedule : schedules())
    for (const bool one_lane : {false, true}) {
      SCOPED_TRACE(schedule.text() + (one_lane ? ", one lane" : ", all lanes"));
      const Outcome outcome = run(two_warps, spans_kernel, one_lane, recorded(schedule));
      expect_clean(outcome);
      const std::vector<Event> outer = events_of(outcome, EventKind::span, "outer");
      const std::vector<Event> inner = events_of(outcome, EventKind::span, "inner");
      ASSERT_EQ(outer.size(), 1u);
      ASSERT_EQ(inner.size(), 3u);
      EXPECT_EQ(events_of(outcome, EventKind::instant, "mark").size(), 3u);
      for (const Event& span : inner) {
        EXPECT_EQ(span.warp, 1u);
        EXPECT_LE(span.begin, span.end);
        EXPECT_GE(span.begin, outer[0].begin);
      }
      EXPECT_GT(inner[2].end, inner[0].begin) << "time passes between waits";
    }
}

TEST(TracePoints, AreRowsOfTheTimeline) {
  const Outcome outcome = run(two_warps, spans_kernel, false, recorded());
  const std::string text = render_timeline(outcome.events, {.cluster = 0, .width = 40});
  EXPECT_TRUE(contains(text, "outer ")) << text;
  EXPECT_TRUE(contains(text, "inner ")) << text;
  EXPECT_TRUE(contains(text, "mark ")) << text;
  EXPECT_TRUE(contains(text, "   3x\n")) << text;
}

TEST(TracePoints, ChangeNothingElse) {
  constexpr auto plain = [](bool) {
    auto& s = shared<RingStorage>();
    init_barriers(s.full, 1);
    if (thread_index() < 4) mbarrier_wait(shared_address(&s.full[0]), 1);
    if (thread_index() == 32) mbarrier_arrive(shared_address(&s.full[0]));
  };
  constexpr auto traced = [](bool) {
    auto& s = shared<RingStorage>();
    init_barriers(s.full, 1);
    trace_instant<Mark>();
    trace_begin<Outer>();
    if (thread_index() < 4) mbarrier_wait(shared_address(&s.full[0]), 1);
    trace_end<Outer>();
    if (thread_index() == 32) mbarrier_arrive(shared_address(&s.full[0]));
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome without = run(two_warps, plain, false, recorded(schedule));
    const Outcome with_points = run(two_warps, traced, false, recorded(schedule));
    expect_clean(with_points);
    EXPECT_EQ(without.steps, with_points.steps);
    EXPECT_EQ(without.events.events.size() + 2 * 2, with_points.events.events.size());
  }
}

TEST(TracePoints, OpenSpansLastUntilTheEnd) {
  constexpr auto kernel = [](bool) {
    if (lane_index() != 0) return;
    trace_end<Inner>();  // nothing has begun
    trace_begin<Outer>();
    auto& s = shared<RingStorage>();
    mbarrier_init(shared_address(&s.full[0]), 1);
    mbarrier_arrive(shared_address(&s.full[0]));
  };
  const Outcome outcome = run({.threads = 32, .shared_bytes = sizeof(RingStorage)}, kernel, false, recorded());
  EXPECT_EQ(events_of(outcome, EventKind::span, "outer").size(), 1u);
  EXPECT_EQ(events_of(outcome, EventKind::instant, "inner (end without begin)").size(), 1u);
  EXPECT_TRUE(events_of(outcome, EventKind::span, "inner").empty());
}

TEST(TracePoints, NotRecordedUnlessAsked) {
  const Outcome outcome = run(two_warps, spans_kernel, false);
  expect_clean(outcome);
  EXPECT_TRUE(outcome.events.events.empty());
}

}  // namespace
}  // namespace warploom::loom::probe
