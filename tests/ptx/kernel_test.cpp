// A kernel written by hand with what ordinary kernels have besides arithmetic: functions that are called, recursion,
// local arrays, static and dynamic shared memory, constants, a pointer in an initialiser, warp instructions, printf,
// assert.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ptx/program.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::ptx {
namespace {

constexpr const char* text = R"(.version 8.8
.target sm_90a
.address_size 64
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) .noreturn;
.const .align 4 .u32 primes[4] = {2, 3, 5, 7};
.global .align 4 .u32 more[2] = {100, 1000};
.global .align 8 .u64 where[1] = {more+4};
.global .align 1 .b8 claim[3] = {110, 111, 0};
.extern .shared .align 64 .b8 dynamic[];
.func (.param .b32 result) fib (.param .b32 n)
{
  .reg .b32 %r<8>; .reg .pred %p;
  .param .b32 to, back;
  ld.param.u32 %r1, [n];
  mov.u32 %r5, %r1;
  setp.lt.u32 %p, %r1, 2;
  @%p bra done;
  sub.u32 %r2, %r1, 1;
  st.param.b32 [to], %r2;
  call.uni (back), fib, (to);
  ld.param.b32 %r3, [back];
  sub.u32 %r2, %r1, 2;
  st.param.b32 [to], %r2;
  call.uni (back), fib, (to);
  ld.param.b32 %r4, [back];
  add.u32 %r5, %r3, %r4;
done:
  st.param.b32 [result], %r5;
  ret;
}
.visible .entry k (.param .u64 out, .param .u32 fails)
{
  .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .pred %p<4>;
  .shared .align 4 .b8 sum[4];
  .local .align 8 .b8 frame[32];
  .param .b32 to, back; .param .b64 pointer, other; .param .b64 name;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r2, 0;
  @!%p1 st.shared.u32 [sum], %r2;
  bar.sync 0;
  atom.shared.add.u32 %r3, [sum], %r1;
  // dynamic shared memory, through a generic address
  mov.u32 %r4, dynamic;
  shl.b32 %r5, %r1, 2;
  add.u32 %r4, %r4, %r5;
  cvt.u64.u32 %rd2, %r4;
  cvta.shared.u64 %rd2, %rd2;
  st.u32 [%rd2], %r1;
  bar.sync 0;
  xor.b32 %r6, %r5, 4;
  mov.u32 %r7, dynamic;
  ld.shared.u32 %r7, [dynamic];
  mov.u32 %r4, dynamic;
  add.u32 %r4, %r4, %r6;
  ld.shared.u32 %r8, [%r4];
  // a local array, through its generic address
  mov.u64 %rd3, frame;
  cvta.local.u64 %rd4, %rd3;
  and.b32 %r9, %r1, 7;
  mul.wide.u32 %rd5, %r9, 4;
  add.u64 %rd6, %rd4, %rd5;
  st.u32 [%rd6], %r8;
  add.u64 %rd7, %rd3, %rd5;
  ld.local.u32 %r10, [%rd7];
  // constants, and a pointer that the loader sets
  and.b32 %r11, %r1, 3;
  mul.wide.u32 %rd8, %r11, 4;
  mov.u64 %rd9, primes;
  add.u64 %rd9, %rd9, %rd8;
  ld.const.u32 %r12, [%rd9];
  ld.global.u64 %rd10, [where];
  ld.u32 %r13, [%rd10];
  // what lanes tell each other
  and.b32 %r14, %r1, 1;
  setp.eq.u32 %p2, %r14, 1;
  vote.sync.ballot.b32 %r15, %p2, -1;
  popc.b32 %r15, %r15;
  shfl.sync.bfly.b32 %r16|%p3, %r1, 1, 31, -1;
  redux.sync.add.u32 %r17, %r11, -1;
  st.param.b32 [to], %r9;
  call.uni (back), fib, (to);
  ld.param.b32 %r18, [back];
  bar.sync 0;
  ld.shared.u32 %r19, [sum];
  add.u32 %r20, %r10, %r12;
  add.u32 %r20, %r20, %r13;
  add.u32 %r20, %r20, %r15;
  add.u32 %r20, %r20, %r16;
  add.u32 %r20, %r20, %r17;
  add.u32 %r20, %r20, %r18;
  add.u32 %r20, %r20, %r19;
  mul.wide.u32 %rd11, %r1, 4;
  add.u64 %rd11, %rd1, %rd11;
  st.global.u32 [%rd11], %r20;
  ld.param.u32 %r21, [fails];
  setp.ne.u32 %p3, %r1, %r21;
  @%p3 bra end;
  mov.u64 %rd12, claim;
  st.param.b64 [pointer], %rd12;
  st.param.b64 [other], %rd12;
  st.param.b32 [to], 7;
  st.param.b64 [name], %rd12;
  call.uni __assertfail, (pointer, other, to, name, name);
end:
  ret;
}
)";

class Kernel : public ::testing::Test {
 protected:
  loom::Outcome run(uint32_t fails, const loom::Options& options) {
    const Result<const abi::Kernel*> kernel = program_.kernel("k");
    EXPECT_TRUE(kernel) << kernel.error();
    if (!kernel) return {};
    LaunchRequest request{.block = {64}, .dynamic_shared = 256};
    request.parameters.resize((*kernel)->parameter_bytes);
    const void* const out = out_.data();
    std::memcpy(request.parameters.data(), &out, 8);
    std::memcpy(request.parameters.data() + 8, &fails, 4);
    const loom::TensorRef tensors[] = {{out_.data(), out_.size() * 4, loom::Access::write, "out"}};
    return launch(program_, **kernel, request, tensors, options);
  }
  static uint32_t wanted(uint32_t t) {
    constexpr uint32_t primes[] = {2, 3, 5, 7}, fib[] = {0, 1, 1, 2, 3, 5, 8, 13};
    return (t ^ 1) + primes[t & 3] + 1000 + 16 + (t ^ 1) + 48 + fib[t & 7] + 64 * 63 / 2;
  }

  Program program_{text, "/k.ptx"};
  std::vector<uint32_t> out_ = std::vector<uint32_t>(64);
};

TEST_F(Kernel, DoesWhatItSays) {
  for (const char* schedule : {"eager", "lazy", "random:5", "adversarial"})
    for (const bool checked : {false, true}) {
      loom::Options options;
      options.schedule = *loom::Schedule::parse(schedule);
      options.check = checked;
      std::ranges::fill(out_, 0);
      const loom::Outcome outcome = run(1000, options);
      ASSERT_TRUE(outcome.ok()) << schedule << to_text(outcome.report);
      for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out_[t], wanted(t)) << schedule << ", thread " << t;
    }
}

TEST_F(Kernel, ReportsAnAssertionWithItsLine) {
  const loom::Outcome outcome = run(5, {});
  ASSERT_FALSE(outcome.ok());
  const std::string report = to_text(outcome.report);
  EXPECT_NE(report.find("assertion failed: no (no:7, no)"), std::string::npos) << report;
  EXPECT_NE(report.find("k.ptx:105"), std::string::npos) << report;
}

}  // namespace
}  // namespace warploom::ptx
