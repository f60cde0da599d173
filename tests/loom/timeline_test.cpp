#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "warploom/loom/event.hpp"

namespace warploom::loom {
namespace {

class LogBuilder {
 public:
  void add(EventKind kind, uint32_t cta, uint32_t warp, uint64_t begin, uint64_t end, const std::string& name = "") {
    Event event;
    event.kind = kind;
    event.cluster = cluster;
    event.cta = cta;
    event.warp = warp;
    event.begin = begin;
    event.end = end;
    const auto known = std::ranges::find(log.names, name);
    event.name = static_cast<uint32_t>(known - log.names.begin());
    if (known == log.names.end()) log.names.push_back(name);
    log.events.push_back(event);
  }
  EventLog log;
  uint32_t cluster = 0;
};

/// Two tiles of a blockwise FP8 GEMM: 4 input stages, 2 accumulators, 16 K blocks a tile. The times are those of a
/// small model: a load takes 420 cycles and is issued when a slot is free, an MMA 128, the promotion of one block 150.
EventLog two_tiles() {
  constexpr int kTiles = 2, kBlocks = 16, kStages = 4, kAccumulators = 2;
  constexpr uint64_t kLoad = 420, kMma = 128, kPromote = 150, kStore = 300, kIssue = 24;
  LogBuilder b;
  std::vector<uint64_t> slot_free(kStages, 0), accumulator_free(kAccumulators, 0);
  uint64_t load = 0, mma = 0, epilogue = 0, residual = 0, residual_free = 0;
  const auto wait = [&](uint32_t warp, uint64_t& now, uint64_t until, const char* object) {
    if (until > now) b.add(EventKind::wait, 0, warp, now, until, object);
    now = std::max(now, until);
  };
  const auto epilogue_wait = [&](uint64_t until, const char* object) {
    for (uint32_t warp = 0; warp < 4; ++warp) {
      uint64_t now = epilogue;
      wait(warp, now, until, object);
    }
    epilogue = std::max(epilogue, until);
  };
  for (int tile = 0; tile < kTiles; ++tile) {
    wait(6, residual, residual_free, "residual.empty[0]");
    residual += kIssue;
    const uint64_t residual_landed = residual + kLoad;
    b.add(EventKind::tma_load, 0, 6, residual, residual_landed, "residual.full[0]");
    for (int k = 0; k < kBlocks; ++k) {
      const int slot = (tile * kBlocks + k) % kStages;
      const int accumulator = k % kAccumulators;
      wait(4, load, slot_free[slot], "input.empty");
      load += kIssue;
      const uint64_t landed = load + kLoad;
      b.add(EventKind::tma_load, 0, 4, load, landed, "input.full");
      b.add(EventKind::tma_load, 0, 4, load, landed, "input.full");
      wait(5, mma, std::max(landed, accumulator_free[accumulator]), "input.full");
      const uint64_t done = mma + kMma;
      b.add(EventKind::mma, 0, 5, mma, done);
      mma += kIssue;
      slot_free[slot] = done;
      epilogue_wait(done, "accum.full");
      epilogue += kPromote;
      accumulator_free[accumulator] = epilogue - 60;
    }
    epilogue_wait(residual_landed, "residual.full[0]");
    epilogue += 500;
    residual_free = epilogue - 300;
    for (uint64_t chunk = 0; chunk < 4; ++chunk) {
      b.add(EventKind::tma_store, 0, 0, epilogue - 400 + 100 * chunk, epilogue - 400 + 100 * chunk + kStore);
    }
  }
  const uint64_t end = epilogue + kStore;
  epilogue_wait(end, "bulk group");
  for (uint32_t warp = 0; warp < 4; ++warp) b.add(EventKind::role, 0, warp, 0, end, "epilogue");
  b.add(EventKind::role, 0, 4, 0, load, "load");
  b.add(EventKind::role, 0, 5, 0, mma, "mma");
  b.add(EventKind::role, 0, 6, 0, residual, "residual");
  return b.log;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return {};
}

size_t points(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST(Timeline, RolesAndEngines) {
  const std::string text = render_timeline(two_tiles(), {.cluster = 0, .width = 80});
  std::cout << text;
  std::vector<size_t> at;
  for (const char* row : {"epilogue ", "load ", "mma ", "residual ", "TMA in ", "tensor core ", "TMA out "}) {
    at.push_back(text.find(row));
    ASSERT_NE(at.back(), std::string::npos) << row;
  }
  EXPECT_TRUE(std::ranges::is_sorted(at));
}

TEST(Timeline, CellsFollowTheShareOfWork) {
  LogBuilder b;
  b.add(EventKind::role, 0, 0, 0, 800, "worker");  // column 8 and 9 stay empty
  b.add(EventKind::role, 0, 1, 0, 1000, "other");
  b.add(EventKind::wait, 0, 0, 100, 300, "x");
  b.add(EventKind::wait, 0, 0, 150, 250, "y");  // inside the other: counted once
  b.add(EventKind::wait, 0, 0, 450, 500, "x");
  b.add(EventKind::mma, 0, 1, 200, 400);
  b.add(EventKind::mma, 0, 1, 300, 400);
  b.add(EventKind::tma_load, 0, 0, 0, 100);
  b.add(EventKind::tma_load, 0, 0, 50, 100);
  const std::string text = render_timeline(b.log, {.cluster = 0, .width = 10});
  EXPECT_NE(text.find("cta 0  worker      █··█▄███    55%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor core ··██······  20%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("TMA in      ▆·········  10% ≤2\n"), std::string::npos) << text;
}

TEST(Timeline, WarpsOfOneRoleShareARow) {
  LogBuilder b;
  for (uint32_t warp = 0; warp < 4; ++warp) b.add(EventKind::role, 0, warp, 0, 100, "epilogue");
  b.add(EventKind::wait, 0, 2, 0, 100, "x");
  b.add(EventKind::wait, 0, 3, 0, 100, "x");
  const std::string text = render_timeline(b.log, {.cluster = 0, .width = 4});
  EXPECT_NE(text.find("epilogue ▄▄▄▄  50%"), std::string::npos) << text;
}

TEST(Timeline, EveryRowHasTheSameWidth) {
  LogBuilder b;
  for (uint32_t cta = 0; cta < 2; ++cta) {
    b.add(EventKind::role, cta, 0, 10, 90, "größe");
    b.add(EventKind::role, cta, 1, 0, 97, "a role with a very long name");
    b.add(EventKind::wait, cta, 1, 20, 50, "x");
  }
  const std::string text = render_timeline(b.log, {.cluster = 0, .width = 61});
  const std::vector<std::string> lines = lines_of(text);
  size_t rows = 0;
  for (const std::string& line : lines) {
    if (line.ends_with('%')) {
      EXPECT_EQ(points(line), 5 + 2 + 16 + 1 + 61 + 5u) << line;
      ++rows;
    }
  }
  EXPECT_EQ(rows, 4u) << text;
  EXPECT_NE(text.find("cta 1  größe            "), std::string::npos) << text;
  EXPECT_NE(text.find("a role with a v… "), std::string::npos) << text;
}

TEST(Timeline, OnlyTheClusterAsked) {
  LogBuilder b;
  b.add(EventKind::role, 0, 0, 0, 100, "first");
  b.cluster = 1;
  b.add(EventKind::role, 0, 0, 500, 700, "second");
  const std::string text = render_timeline(b.log, {.cluster = 1, .width = 40});
  EXPECT_EQ(text.find("first"), std::string::npos);
  EXPECT_NE(text.find("cluster 1, nominal cycles 500 to 700, 5 per column"), std::string::npos) << text;
  EXPECT_EQ(render_timeline(b.log, {.cluster = 2}), "cluster 2: no events recorded\n");
  EXPECT_EQ(render_timeline({}, {}), "cluster 0: no events recorded\n");
}

TEST(Timeline, TicksStandOverTheirTimes) {
  LogBuilder b;
  b.add(EventKind::role, 0, 0, 0, 1000, "r");
  const std::vector<std::string> lines = lines_of(render_timeline(b.log, {.cluster = 0, .width = 100}));
  EXPECT_EQ(lines[1].find("100"), 9 + 10u) << lines[1];
  EXPECT_EQ(lines[1].find("800"), 9 + 80u) << lines[1];
}

TEST(Timeline, ShortRunsAndNarrowCharts) {
  LogBuilder b;
  b.add(EventKind::role, 0, 0, 0, 3, "r");
  b.add(EventKind::wait, 0, 0, 1, 2, "x");
  b.add(EventKind::commit, 0, 0, 3, 3, "x");
  EXPECT_NE(render_timeline(b.log, {.cluster = 0, .width = 9}).find("r ███···███"), std::string::npos);
  EXPECT_NE(render_timeline(b.log, {.cluster = 0, .width = 0}).find("r ▅"), std::string::npos);
}

TEST(Timeline, ColorChangesNoCharacter) {
  const EventLog log = two_tiles();
  const std::string plain = render_timeline(log, {.cluster = 0, .width = 80, .color = false});
  const std::string colored = render_timeline(log, {.cluster = 0, .width = 80, .color = true});
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  std::string stripped;
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\033') {
      i = colored.find('m', i);
    } else {
      stripped += colored[i];
    }
  }
  EXPECT_EQ(stripped, plain);
  const std::string row = line_with(colored, "load");
  EXPECT_LT(row.rfind("\033[0m"), row.rfind('%')) << "color ends with the cells";
}

TEST(Timeline, TracePointsHaveRows) {
  LogBuilder b;
  b.add(EventKind::role, 0, 0, 0, 1000, "worker");
  b.add(EventKind::span, 0, 0, 100, 300, "promote");
  b.add(EventKind::span, 0, 0, 650, 700, "promote");
  b.add(EventKind::instant, 0, 0, 450, 450, "tile");
  b.add(EventKind::instant, 0, 0, 999, 999, "tile");
  const std::string text = render_timeline(b.log, {.cluster = 0, .width = 10});
  EXPECT_NE(text.find("promote ·██···▄···  25%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tile    ····█····█   2x\n"), std::string::npos) << text;
  EXPECT_NE(text.find("nx: how often it happened"), std::string::npos) << text;
}

TEST(Timeline, EventNames) {
  EXPECT_STREQ(to_string(EventKind::tma_load), "tma_load");
  EXPECT_STREQ(to_string(EventKind::phase), "phase");
  EXPECT_STREQ(to_string(EventKind::instant), "instant");
}

}  // namespace
}  // namespace warploom::loom
