#include "ptx/flow.hpp"

#include <gtest/gtest.h>

#include "ptx/effects.hpp"
#include "ptx/texts.hpp"
#include "ptx/uniform.hpp"

namespace warploom::ptx {
namespace {

// ---- the graph

TEST(PtxFlow, BlocksAndDominators) {
  const Module module = parsed(in_kernel(R"(
.reg .pred p; .reg .b32 %r<4>;
mov.b32 %r1, 0;
@p bra ELSE;
mov.b32 %r1, 1;
bra JOIN;
ELSE: mov.b32 %r1, 2;
JOIN: add.s32 %r1, %r1, 1;
@p bra JOIN;
ret;
mov.b32 %r1, 9;)"));
  const Function& function = module.functions[0];
  const Graph graph(function);
  const auto block = [&](uint32_t line) { return graph.block_of(at_line(function, first_line + line)); };
  const uint32_t start = block(2), then = block(4), other = block(6), join = block(7), end = block(9), dead = block(10);
  EXPECT_EQ(graph.block(start).successors, (std::vector<uint32_t>{then, other}));
  EXPECT_EQ(graph.block(join).predecessors, (std::vector<uint32_t>{then, other, join}));
  EXPECT_TRUE(graph.dominates(start, end) && graph.dominates(join, end) && graph.dominates(join, join));
  EXPECT_FALSE(graph.dominates(then, join) || graph.dominates(other, join));
  EXPECT_EQ(graph.immediate_dominator(join), start);
  EXPECT_EQ(graph.immediate_postdominator(start), join);
  EXPECT_EQ(graph.immediate_postdominator(end), no_index);
  EXPECT_FALSE(graph.reached(dead));
  EXPECT_EQ(graph.order().size(), 5U);
}

TEST(PtxFlow, BranchTablesLoopsWithoutEndAndEmptyFunctions) {
  const Module module = parsed(in_kernel(R"(
.reg .b32 %r<2>; .reg .pred p;
T: .branchtargets A, B, END;
brx.idx %r1, T;
A: @p ret;
B: bra B;
END:)"));
  const Function& function = module.functions[0];
  const Graph graph(function);
  EXPECT_EQ(graph.blocks().size(), 3U);
  EXPECT_EQ(graph.block(0).successors, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(graph.immediate_postdominator(0), no_index);  // END is the end of the function
  EXPECT_EQ(graph.immediate_postdominator(1), no_index);

  const Module empty = parsed(in_kernel("L:"));
  EXPECT_EQ(Graph(empty.functions[0]).blocks().size(), 1U);
}

TEST(PtxFlow, ReadsAndWrites) {
  const auto uses = [](std::string_view body) {
    const Module module =
        parsed(in_kernel(".reg .b32 a, b, c, d; .reg .b64 e; .reg .pred p, q;\n" + std::string(body)));
    const Function& function = module.functions[0];
    std::string text;
    for_each_written(function.body[0], [&](uint32_t reg) { text += function.registers[reg].name; });
    text += '<';
    for_each_read(function.body[0], [&](uint32_t reg) { text += function.registers[reg].name; });
    return text;
  };
  EXPECT_EQ(uses("@p add.s32 a, b, c;"), "a<pbc");
  EXPECT_EQ(uses("st.shared.v2.b32 [a+4], {b, c};"), "<abc");
  EXPECT_EQ(uses("ld.shared.v2.b32 {b, c}, [a];"), "bc<a");
  EXPECT_EQ(uses("setp.eq.and.s32 p|q, a, b, !p;"), "pq<abp");
  EXPECT_EQ(uses("bar.sync a, b;"), "<ab");
  EXPECT_EQ(uses("barrier.cta.red.popc.u32 a, b, p;"), "a<bp");
  EXPECT_EQ(uses("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a, b}, {c}, e, p;"), "ab<abcep");
  EXPECT_EQ(uses("wgmma.wait_group.sync.aligned a;"), "<a");
  EXPECT_EQ(uses("tcgen05.ld.sync.aligned.32x32b.x2.b32 {a, b}, [c];"), "ab<c");
  EXPECT_EQ(uses("tcgen05.ld.red.sync.aligned.32x32b.x2.b32.min {a, b}, c, [d];"), "abc<d");
  EXPECT_EQ(uses("tcgen05.st.sync.aligned.32x32b.x2.b32 [a], {b, c};"), "<abc");
  EXPECT_EQ(uses("tcgen05.dealloc.cta_group::1.sync.aligned.b32 a, b;"), "<ab");
  EXPECT_EQ(uses("mbarrier.arrive.shared.b64 e, [a];"), "e<a");
  EXPECT_EQ(uses("atom.global.add.u32 a, [e], b;"), "a<eb");
  EXPECT_EQ(uses("red.global.add.u32 [e], b;"), "<eb");
  EXPECT_EQ(uses("multimem.ld_reduce.global.add.u32 a, [e];"), "a<e");
  EXPECT_EQ(uses("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {a, b, c, _}, e;"), "abc<e");
}

// ---- lanes that stay together

constexpr std::string_view registers = ".reg .pred p, q; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<4>;\n";
bool together(std::string_view body) {
  const Module module =
      parsed(in_kernel(std::string(registers) + std::string(body) + "\nM: activemask.b32 %r19;\nret;"));
  const Function& function = module.functions[0];
  const Graph graph(function);
  const Uniformity uniformity(module, function, graph);
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (function.body[i].op().base() == "activemask") return uniformity.converged(i);
  return false;
}

TEST(PtxUniformity, BranchesOfLanesSeparateThem) {
  EXPECT_TRUE(together(""));
  EXPECT_TRUE(together("mov.u32 %r1, %ctaid.x; setp.eq.s32 p, %r1, 0; @p ret;"));
  EXPECT_TRUE(
      together("mov.u32 %r1, %tid.x; setp.eq.s32 p, %r1, 0; @p bra M; mov.b32 %r2, 1;"));  // together again at M
  EXPECT_FALSE(together("mov.u32 %r1, %tid.x; setp.eq.s32 p, %r1, 0; @p bra E; activemask.b32 %r2; E:"));
  EXPECT_FALSE(together("mov.u32 %r1, %laneid; setp.eq.s32 p, %r1, 0; @p ret;"));
  EXPECT_FALSE(together("elect.sync _|p, -1; @!p bra E; activemask.b32 %r2; E:"));
  // lanes leave a loop one after the other, and are together again behind it
  EXPECT_FALSE(
      together("mov.u32 %r1, %tid.x; L: activemask.b32 %r2; sub.s32 %r1, %r1, 1; setp.ne.s32 p, %r1, 0; @p bra L;"));
  EXPECT_TRUE(together("mov.u32 %r1, %tid.x; L: sub.s32 %r1, %r1, 1; setp.ne.s32 p, %r1, 0; @p bra L;"));
}

TEST(PtxUniformity, ValuesOfOneLaneAreTheSameForAll) {
  constexpr std::string_view warp = "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mov.u32 %r3, 31;";
  EXPECT_TRUE(
      together(fmt::format("{} shfl.sync.idx.b32 %r4|p, %r2, 0, %r3, -1; setp.eq.s32 p, %r4, 0; @p ret;", warp)));
  EXPECT_FALSE(
      together(fmt::format("{} shfl.sync.idx.b32 %r4, %r2, 0, 7199, -1; setp.eq.s32 p, %r4, 0; @p ret;", warp)));
  EXPECT_FALSE(
      together(fmt::format("{} shfl.sync.idx.b32 %r4, %r2, %r1, 31, -1; setp.eq.s32 p, %r4, 0; @p ret;", warp)));
  EXPECT_FALSE(together(fmt::format("{} setp.eq.s32 p, %r2, 0; @p ret;", warp)));
  EXPECT_TRUE(together(fmt::format("{} setp.eq.s32 p, %r2, 0; vote.sync.any.pred q, p, -1; @q ret;", warp)));
  EXPECT_TRUE(together("ld.shared.b32 %r1, [%r2]; setp.eq.s32 p, %r1, 0; @p ret;"));
  EXPECT_FALSE(together("ld.volatile.shared.b32 %r1, [%r2]; setp.eq.s32 p, %r1, 0; @p ret;"));
  EXPECT_FALSE(together("atom.shared.add.u32 %r1, [%r2], 1; setp.eq.s32 p, %r1, 0; @p ret;"));
  EXPECT_FALSE(together(".local .b32 x; mov.u32 %r2, x; ld.b32 %r1, [%r2]; setp.eq.s32 p, %r1, 0; @p ret;"));
}

}  // namespace
}  // namespace warploom::ptx
