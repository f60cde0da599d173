// Broken texts: whatever stands in a file, the parser and everything behind it come back, with an error or a module.
#include <gtest/gtest.h>

#include <chrono>

#include "ptx/mutated_text.hpp"
#include "ptx/texts.hpp"

namespace warploom::ptx {
namespace {

/// More of what the analyses work on than the sample has.
constexpr std::string_view tensor_cores = R"(
.reg .pred p, q; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<4>; .local .align 8 .b8 __local_depot0[24];
mov.u32 %r9, %tid.x;
shfl.sync.idx.b32 %r8|p, %r9, 0, 31, -1;
activemask.b32 %r1;
L: tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1, %r2, %r3, %r4}, [%r9];
mov.b32 %r5, %r1;
@p bra M;
tcgen05.wait::ld.sync.aligned;
M: add.s32 %r6, %r5, %r4;
W: mbarrier.try_wait.parity.shared::cta.b64 q, [%r9+8], %r8;
selp.b32 %r7, 1, 0, q; setp.eq.s32 q, %r7, 0;
@q bra W;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r10, %r11, %r12, %r13}, %rd1, 1, 1, 1, 0;
wgmma.commit_group.sync.aligned;
@p bra L;
wgmma.wait_group.sync.aligned 0;
st.local.v4.f32 [__local_depot0+8], {%f1, %f2, %f3, %f4};
T: .branchtargets L, M, W;
brx.idx %r9, T;)";

void read_mutated(uint64_t first_seed, size_t count) {
  const std::string texts[] = {std::string(sample), in_kernel(tensor_cores)};
  for (const std::string& text : texts) ASSERT_TRUE(read_everything(text)) << refusal_of(text);
  size_t modules = 0;
  double longest = 0;
  for (size_t i = 0; i < count; ++i) {
    std::mt19937_64 dice(first_seed + i);
    const std::string text = mutated(texts[i % 2], dice);
    const auto start = std::chrono::steady_clock::now();
    modules += read_everything(text) ? 1 : 0;
    longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  // Both kinds must come up, or the mutations are too coarse or too fine to find anything.
  EXPECT_GT(modules, count / 50);
  EXPECT_LT(modules, count - count / 50);
  EXPECT_LT(longest, 5.0);
}

TEST(PtxTexts, BrokenOnesAreReadOrRefused) { read_mutated(1, 5000); }
TEST(PtxTextsFull, BrokenOnesAreReadOrRefused) { read_mutated(1'000'000, 200'000); }

}  // namespace
}  // namespace warploom::ptx
