#include "warploom/gpu/trace_log.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"

namespace warploom::gpu {
namespace {

constexpr double ns_per_cycle = 0.5;

/// Two CTAs of two warps on SMs whose clocks started at different times; the common clock ticks every 1024 ns.
class Recorder {
 public:
  explicit Recorder(uint32_t capacity) {
    memory.warps_per_block = 2;
    memory.capacity = capacity;
    memory.regions.resize(4);
    memory.records.resize(size_t{4} * capacity);
  }
  void add(uint32_t block, uint32_t warp, TraceKind kind, uint64_t at_ns, uint64_t label, uint32_t length_ns = 0) {
    TraceRegion& region = memory.regions[2 * block + warp];
    const uint32_t slot = region.attempts++;
    if (slot >= memory.capacity) return;
    TraceRecord& record = memory.records[(2 * block + warp) * memory.capacity + slot];
    record.clock = static_cast<uint64_t>(static_cast<double>(at_ns) / ns_per_cycle) + 7'000'000'000 * (block + 1);
    record.nanoseconds = (1'000'000'000'000 + at_ns) / 1024 * 1024;
    record.label = label;
    record.cycles = static_cast<uint32_t>(length_ns / ns_per_cycle);
    record.kind = kind;
    record.sm = static_cast<uint16_t>(block + 40);
    record.stage = 2;
    record.phase = 5;
  }
  TraceLog log(double nominal = 9.0) const {
    struct : TraceTexts {
      std::string at(uint64_t address) override { return address == 1 ? "ring" : "pro\"mote\\\n"; }
    } texts;
    return make_trace_log(memory, texts, nominal);
  }
  TraceMemory memory;
};

/// Events every 100 ns for 100 us, alternating between the CTAs.
Recorder steady() {
  Recorder recorder(2000);
  for (uint64_t ns = 0; ns < 100'000; ns += 100) recorder.add(ns / 100 % 2, 1, TraceKind::wait, ns, 1, 60);
  return recorder;
}

TEST(TraceLog, ClocksAreBroughtTogether) {
  const TraceLog log = steady().log();
  ASSERT_EQ(log.events.size(), 1000u);
  EXPECT_EQ(log.lost, 0u);
  double first = 1e18;
  for (const TraceEvent& event : log.events) first = std::min(first, event.begin_ns);
  EXPECT_EQ(first, 0);
  // Region by region: the even hundreds, then the odd ones. The rate is good to one tick in 100 us; the SMs share its
  // error, so that events on both keep their distance.
  for (size_t i = 0; i < 500; ++i) {
    EXPECT_NEAR(log.events[i].begin_ns - log.events[0].begin_ns, 200.0 * static_cast<double>(i),
                0.0105 * 200.0 * static_cast<double>(i) + 1);
    EXPECT_NEAR(log.events[i + 500].begin_ns - log.events[i].begin_ns, 100, 150) << i;
  }
  for (const TraceEvent& event : log.events) {
    EXPECT_NEAR(event.length_ns, 60, 1);
    EXPECT_EQ(event.name, "ring.full[2]");
    EXPECT_EQ(event.phase, 5u);
  }
}

TEST(TraceLog, ShortRunsUseTheNominalRate) {
  Recorder recorder(10);
  recorder.add(0, 0, TraceKind::begin, 0, 2);
  recorder.add(0, 0, TraceKind::end, 1000, 2);
  const TraceLog log = recorder.log(ns_per_cycle);
  ASSERT_EQ(log.events.size(), 2u);
  EXPECT_NEAR(log.events[1].begin_ns - log.events[0].begin_ns, 1000, 1);
}

TEST(TraceLog, WhatDoesNotFitIsCounted) {
  Recorder recorder(3);
  for (uint64_t i = 0; i < 8; ++i) recorder.add(1, 0, TraceKind::instant, 10 * i, 2);
  recorder.memory.strangers = 4;
  const TraceLog log = recorder.log();
  EXPECT_EQ(log.events.size(), 3u);
  EXPECT_EQ(log.lost, 5u + 4u);
  ASSERT_EQ(log.warps.size(), 1u);
  EXPECT_EQ(log.warps[0].block, 1u);
  EXPECT_EQ(log.warps[0].warp, 0u);
  EXPECT_EQ(log.warps[0].sm, 41u);
}

TEST(TraceLog, ChromeTrace) {
  Recorder recorder(10);
  recorder.memory.regions[1].role = 1;
  recorder.memory.regions[1].cluster_rank = 1;
  recorder.add(0, 1, TraceKind::begin, 0, 2);
  recorder.add(0, 1, TraceKind::wait, 500, 1, 250);
  recorder.add(0, 1, TraceKind::instant, 800, 2);
  recorder.add(0, 1, TraceKind::end, 1000, 2);
  const test::json json = test::parse_json(to_chrome_json(recorder.log(ns_per_cycle)));
  EXPECT_EQ(json["otherData"]["lost"], 0);
  const test::json& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0]["args"]["name"], "cta 0, sm 40, cluster rank 1");
  EXPECT_EQ(events[1]["args"]["name"], "warp 1 ring");
  EXPECT_EQ(events[2]["ph"], "B");
  EXPECT_EQ(events[2]["name"], "pro\"mote\\\n");
  EXPECT_EQ(events[3]["ph"], "X");
  EXPECT_EQ(events[3]["name"], "ring.full[2]");
  EXPECT_NEAR(events[3]["ts"].get<double>() - events[2]["ts"].get<double>(), 0.5, 0.002);
  EXPECT_NEAR(events[3]["dur"].get<double>(), 0.25, 0.002);
  EXPECT_EQ(events[3]["args"]["phase"], 5);
  EXPECT_EQ(events[4]["ph"], "i");
  EXPECT_EQ(events[5]["ph"], "E");
  for (const auto& event : events) {
    EXPECT_EQ(event["pid"], 0);
  }
}

TEST(TraceLog, NothingRecorded) {
  const TraceLog log = Recorder(4).log();
  EXPECT_TRUE(log.events.empty());
  EXPECT_TRUE(test::parse_json(to_chrome_json(log))["traceEvents"].empty());
}

}  // namespace
}  // namespace warploom::gpu
