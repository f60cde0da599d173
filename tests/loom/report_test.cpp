#include "warploom/loom/report.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace warploom::loom {
namespace {

Location kernel_line(uint32_t line, const char* function, SourceLine library) {
  return {.user = {"kernels/blockwise_fp8.hpp", line, function}, .library = std::move(library)};
}

Agents warps(uint32_t cta, uint32_t first, uint32_t last, const char* role = "", uint32_t lanes = 0xffffffffu) {
  Agents agents;
  agents.cta = cta;
  agents.first_warp = first;
  agents.last_warp = last;
  agents.lanes = lanes;
  agents.role = role;
  return agents;
}

Agents lane_0(uint32_t cta, uint32_t warp, const char* role = "") { return warps(cta, warp, warp, role, 1); }

Finding deadlock(const char* message) {
  Finding finding;
  finding.code = "DEADLOCK";
  finding.message = message;
  return finding;
}

Waiter waiter_for(const char* object, std::vector<Agents> agents, Location at = {}) {
  Waiter waiter;
  waiter.object = object;
  waiter.agents = std::move(agents);
  waiter.at = std::move(at);
  return waiter;
}

/// A blockwise FP8 GEMM whose load role forgot the A-scales of one stage: everyone else waits for those 512 bytes.
Report scales_never_loaded() {
  const Agents load = lane_0(0, 4, "load");
  const Agents mma = lane_0(0, 5, "mma");
  const Agents residual = lane_0(0, 6, "residual");
  const Agents epilogue_lanes = warps(0, 0, 3, "epilogue", 1);
  const Location arm = kernel_line(139, "load", {"pipeline/ring.hpp", 92, "produce"});
  const Location load_a = kernel_line(141, "load", {"arch/loom/tma.hpp", 17, "tma_load"});
  const Location load_b = kernel_line(142, "load", {"arch/loom/tma.hpp", 17, "tma_load"});
  const Location load_scales = kernel_line(143, "load", {"arch/loom/tma.hpp", 17, "tma_load"});
  const Location commit_input = kernel_line(161, "mma", {"arch/loom/umma.hpp", 20, "commit"});
  const Location commit_accum = kernel_line(158, "mma", {"arch/loom/umma.hpp", 20, "commit"});
  const Location free_accum = kernel_line(181, "epilogue", {"pipeline/ring.hpp", 130, "release"});

  Report report;
  report.kernel = "blockwise_fp8";
  report.findings.push_back(deadlock("7 warps wait and nothing can make progress"));

  Waiter operands = waiter_for("input.full[2]", {mma}, kernel_line(155, "mma", {"pipeline/ring.hpp", 118, "consume"}));
  operands.owner = "cta 0";
  operands.phase = operands.current = 2;
  operands.arrived = operands.expected = 1;
  operands.bytes_armed = 33280;
  operands.bytes_landed = 32768;
  operands.signalled_by = "TMA bytes, armed by one lane of load";
  operands.contributions = {{SignalKind::arrive_expect_tx, load, arm, 1, 1, 33280},
                            {SignalKind::complete_tx, load, load_a, 1, 0, 16384},
                            {SignalKind::complete_tx, load, load_b, 1, 0, 16384}};
  operands.previous = operands.contributions;
  operands.previous.push_back({SignalKind::complete_tx, load, load_scales, 1, 0, 512});
  operands.causes = {
      "512 bytes are armed and no TMA load is in flight: cta 0, warp 4 lane 0 load brought them in phase 1 from "
      "kernels/blockwise_fp8.hpp:143 and did not run that line in phase 2"};
  report.waiting.push_back(operands);

  Waiter slot = waiter_for("input.empty[2]", {load}, kernel_line(139, "load", {"pipeline/ring.hpp", 88, "produce"}));
  slot.owner = "cta 0";
  slot.phase = slot.current = 2;
  slot.expected = 5;
  slot.signalled_by = "tcgen05.commit of mma, one lane of every epilogue warp";
  slot.previous = {{SignalKind::commit, mma, commit_input, 1, 1, 0},
                   {SignalKind::arrive, epilogue_lanes, free_accum, 4, 4, 0}};
  slot.causes = {"the commit is due from cta 0, warp 5 lane 0 mma, which waits for input.full[2]",
                 "4 arrivals are due from cta 0, warp 0-3 epilogue, which wait for accum.full[0]"};
  report.waiting.push_back(slot);

  Waiter accumulator =
      waiter_for("accum.full[0]", {}, kernel_line(174, "epilogue", {"pipeline/ring.hpp", 118, "consume"}));
  for (uint32_t warp = 0; warp < 4; ++warp) accumulator.agents.push_back(warps(0, warp, warp, "epilogue"));
  accumulator.owner = "cta 0";
  accumulator.phase = accumulator.current = 5;
  accumulator.expected = 1;
  accumulator.signalled_by = "tcgen05.commit of mma";
  accumulator.previous = {{SignalKind::commit, mma, commit_accum, 1, 1, 0}};
  accumulator.causes = {"the commit is due from cta 0, warp 5 lane 0 mma, which waits for input.full[2]"};
  report.waiting.push_back(accumulator);

  Waiter chunk =
      waiter_for("residual.empty[1]", {residual}, kernel_line(211, "residual", {"pipeline/ring.hpp", 88, "produce"}));
  chunk.owner = "cta 0";
  chunk.phase = chunk.current = 0;
  chunk.expected = 4;
  chunk.signalled_by = "one lane of every epilogue warp";
  chunk.causes = {"4 arrivals are due from cta 0, warp 0-3 epilogue, which wait for accum.full[0]"};
  report.waiting.push_back(chunk);

  report.schedule = "random:7f3a";
  report.mutation = "drop of cp.async.bulk.tensor at kernels/blockwise_fp8.hpp:143 (execution 10)";
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The line that holds `part`, "" when none does.
std::string line_with(const std::string& text, std::string_view part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ReportText, Deadlock) {
  const std::string text = to_text(scales_never_loaded());
  std::cout << text;
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "error DEADLOCK: 7 warps wait and nothing can make progress  (kernel blockwise_fp8, cluster 0)");
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 120u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  const std::string mma = line_with(text, "input.full[2]   ");
  EXPECT_TRUE(has(mma, "cta 0  warp 5 lane 0  mma ")) << mma;
  EXPECT_TRUE(has(mma, "kernels/blockwise_fp8.hpp:155")) << mma;
  EXPECT_TRUE(has(mma, "phase 2  1/1 arrived")) << mma;
  EXPECT_TRUE(has(text, "32768/33280 bytes landed\n")) << text;
  EXPECT_TRUE(has(text, "^ 512 bytes are armed"));
  EXPECT_TRUE(has(text, "signalled by tcgen05.commit of mma, one lane of every epilogue warp"));
  EXPECT_TRUE(has(text, "  mutation: drop of cp.async.bulk.tensor"));
  EXPECT_TRUE(has(text, "  replay: --schedule random:7f3a\n"));
}

TEST(ReportText, ColumnsAlign) {
  const std::string text = to_text(scales_never_loaded());
  const size_t place = line_with(text, "kernels/blockwise_fp8.hpp:155").find("kernels/");
  const size_t phase = line_with(text, "input.full[2]   ").find("phase");
  for (const char* object : {"input.empty[2]  ", "accum.full[0]   ", "residual.empty[1]  "}) {
    const std::string line = line_with(text, object);
    EXPECT_EQ(line.find("kernels/"), place) << line;
    EXPECT_EQ(line.find("phase"), phase) << line;
  }
}

TEST(ReportText, WarpsOfOneRoleCollapse) {
  const std::string line = line_with(to_text(scales_never_loaded()), "accum.full[0]   ");
  EXPECT_TRUE(has(line, "warp 0-3       epilogue")) << line;
}

TEST(ReportText, LedgerShowsTheMissingContributor) {
  const std::string text = to_text(scales_never_loaded());
  EXPECT_TRUE(has(line_with(text, "phase 1  phase 2"), "  phase 1  phase 2"));
  EXPECT_TRUE(has(text, "bytes landed    16384    16384  ")) << text;
  const std::string missing = line_with(text, "    512        -  ");
  EXPECT_TRUE(has(missing, "cta 0, warp 4 lane 0 load")) << text;
  EXPECT_TRUE(has(missing, "kernels/blockwise_fp8.hpp:143")) << text;
}

TEST(ReportText, FindingsHavePlaces) {
  Report report;
  report.kernel = "gemm";
  report.cluster = 3;
  report.findings.push_back({.code = "ARRIVE-OVERFLOW",
                             .message = "input.empty[1] got arrival 6 of 5 in phase 0",
                             .agent = lane_0(1, 5, "mma"),
                             .at = kernel_line(161, "mma", {"arch/loom/umma.hpp", 20, "commit"}),
                             .notes = {"its count 5 = 1 commit + 4 epilogue warps"}});
  report.findings.push_back({.code = "OOB-SHARED",
                             .message = "write of 16 bytes at 0x34010 is past the end",
                             .agent = warps(0, 0, 0, "", 0xffff),
                             .at = {},
                             .notes = {}});
  EXPECT_EQ(to_text(report),
            "error ARRIVE-OVERFLOW: input.empty[1] got arrival 6 of 5 in phase 0  (kernel gemm, cluster 3)\n"
            "  cta 1, warp 5 lane 0 mma  kernels/blockwise_fp8.hpp:161 (arch/loom/umma.hpp:20 commit)\n"
            "      its count 5 = 1 commit + 4 epilogue warps\n"
            "\n"
            "error OOB-SHARED: write of 16 bytes at 0x34010 is past the end\n"
            "  cta 0, warp 0 lanes 0-15  ?\n");
}

TEST(ReportText, OnlyWhatIsKnown) {
  Report report;
  report.kernel = "k";
  report.findings.push_back(deadlock("1 warp waits and nothing can make progress"));
  Waiter waiter = waiter_for("tcgen05.alloc", {warps(1, 2, 2)});
  waiter.kind = WaitKind::tmem_alloc;
  waiter.at.user.function = "kernel_body";
  report.waiting.push_back(waiter);
  EXPECT_EQ(to_text(report),
            "error DEADLOCK: 1 warp waits and nothing can make progress  (kernel k, cluster 0)\n"
            "  cta 1  warp 2  kernel_body  tcgen05.alloc\n");
}

TEST(ReportText, OtherBarriersAndOtherCtas) {
  Report report;
  report.kernel = "k";
  report.findings.push_back(deadlock("m"));
  Waiter named =
      waiter_for("named barrier 1 (tmem hand-off)", {warps(0, 0, 2, "epilogue"), warps(0, 7, 7, "", 0x80000001u)});
  named.kind = WaitKind::named_barrier;
  named.arrived = 96;
  named.expected = 128;
  report.waiting.push_back(named);
  Waiter remote = waiter_for("input.full[0]", {lane_0(1, 4)});
  remote.owner = "cta 0";
  remote.phase = 3;
  remote.current = 1;
  report.waiting.push_back(remote);
  const std::string text = to_text(report);
  EXPECT_TRUE(has(text, "named barrier 1 (tmem hand-off)")) << text;
  EXPECT_TRUE(has(text, "96/128 arrived")) << text;
  EXPECT_FALSE(has(line_with(text, "named barrier 1"), "phase")) << text;
  EXPECT_TRUE(has(text, "  cta 0  warp 7 lanes 0x80000001\n")) << text;
  EXPECT_TRUE(has(text, "input.full[0] of cta 0")) << text;
  EXPECT_TRUE(has(text, "phase 3 (is in 1)")) << text;
}

TEST(ReportText, LongRowsBreak) {
  Report report = scales_never_loaded();
  for (Waiter& waiter : report.waiting) {
    waiter.at.user.file = "tests/pipeline/a_rather_long_folder_name/a_kernel_with_a_long_name.cpp";
  }
  for (const std::string& line : lines_of(to_text(report))) EXPECT_LE(line.size(), 120u) << line;
}

TEST(ReportText, Clean) {
  Report report;
  report.kernel = "gemm";
  report.schedule = "eager";
  EXPECT_EQ(to_text(report), "clean: nothing found  (kernel gemm)\n  replay: --schedule eager\n");
}

TEST(ReportJson, AllFactsInOrder) {
  const Report report = scales_never_loaded();
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(report));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"format", "kernel", "cluster", "clean", "findings", "waiting", "schedule",
                                            "mutation", "warnings"}));
  EXPECT_EQ(json["kernel"], "blockwise_fp8");
  EXPECT_EQ(json["clean"], false);
  EXPECT_EQ(json["findings"][0]["code"], "DEADLOCK");
  ASSERT_EQ(json["waiting"].size(), 4u);
  const auto& waiter = json["waiting"][0];
  EXPECT_EQ(waiter["kind"], "mbarrier");
  EXPECT_EQ(waiter["object"], "input.full[2]");
  EXPECT_EQ(waiter["bytes_armed"], 33280);
  EXPECT_EQ(waiter["contributions"].size(), 3u);
  EXPECT_EQ(waiter["previous"][3]["at"]["user"]["line"], 143);
  EXPECT_EQ(waiter["previous"][3]["at"]["library"]["file"], "arch/loom/tma.hpp");
  EXPECT_EQ(waiter["previous"][3]["kind"], "complete_tx");
  EXPECT_EQ(waiter["agents"][0]["lanes"], 1);
  EXPECT_EQ(to_json(report), to_json(scales_never_loaded()));
}

TEST(ReportJson, BrokenUtf8IsReplaced) {
  Report report;
  report.kernel = "gemm\xff";
  const std::string text = to_json(report);
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
}

TEST(ReportNames, Enums) {
  EXPECT_STREQ(to_string(SignalKind::arrive_expect_tx), "arrive.expect_tx");
  EXPECT_STREQ(to_string(SignalKind::arrive_drop), "arrive_drop");
  EXPECT_STREQ(to_string(WaitKind::bulk_group), "bulk_group");
}

}  // namespace
}  // namespace warploom::loom
