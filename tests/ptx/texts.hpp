// PTX written by hand for the tests: one module with a bit of everything, and a frame for a few instructions.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptx/module.hpp"
#include "ptx/parser.hpp"

namespace warploom::ptx {

/// Both compilers' habits: line information, scopes of inline assembly, calls, tables of branches.
inline constexpr std::string_view sample = R"(//
// A comment /* that is none
.version 9.0
.target sm_90a, debug
.address_size 64

.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.extern .func __assertfail (.param .b64 a, .param .b64 b) .noreturn;
.extern .shared .align 1024 .b8 dynamic[];
.global .align 4 .b8 table[16] = {1, 0, 0, 0, 255, -1};
.visible .const .f32 halves[3] = {0.5, 0f3F800000, -2};
.global .u64 pointers[2] = {generic(table)+8, vprintf};
.global .align 8 .v2 .f32 pairs[2] = {{1.0, 2.0}, {3.0, 4.0}};
.weak .global .attribute(.managed) .u32 managed;
.file 1 "kernel.cu"
.file 2 "include" "warp.hpp"

.func (.param .b32 result) helper(.reg .b32 %a, .param .align 8 .b8 object[24])
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [object+4];
  add.s32 %r2, %a, %r1;
  st.param.b32 [result], %r2;
  ret;
}

.visible .entry kernel(
  .param .u64 .ptr .global .align 16 kernel_0,
  .param .align 64 .b8 kernel_1[128],
  .param .u32 kernel_2
)
.maxntid 384, 1, 1
.minnctapersm 1
.maxnreg 168
.explicitcluster
.reqnctapercluster 2
.pragma "nounroll";
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  .reg .f32 %f<3>, %g;
  .shared .align 16 .b8 tile[64];
  .loc 1 10 3
  mov.u32 %r1, %tid.x;
  .loc 2 77 8, function_name $L__info0, inlined_at 1 10 3
  .loc 2 99 5, function_name $L__info0+5, inlined_at 2 77 8
  ld.param .u64 %rd1, [kernel_0];
  mov.b64 %rd2, kernel_1+64;
  mov.u32 %r2, tile+-16;
  { .reg .pred P; .reg .b32 %r<2>;
LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P, [tile+8], %r1;
    @P bra DONE;
    bra.uni LAB_WAIT;
DONE: }
  .loc 1 11 0
  setp.lt.u32 %p1|%p2, %r1, 8, !%p3;
  @!%p1 bra $L__BB0_2;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r1, 0}], [%r2+16];
  shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1;
  add.f32 %f1, %g, 0fBF800000;
  fma.rn.f64 %rd1, %rd1, 0d3FF0000000000000, 1.5;
  { .param .b64 param0; .param .b64 param1; .param .b32 retval0;
    st.param.b64 [param0], %rd1;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r4, [retval0]; }
  P0: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;
  { .param .b32 retval; call (retval), %rd1, (%rd2), P0; }
$L__BB0_2:
  T: .branchtargets $L__BB0_2, $L__end;
  brx.idx %r1, T;
  mov.b32 %r5, WARP_SZ;
  elect.sync _|%p1, 0xffffffffU;
$L__end:
  ret;
}
.section .debug_info { .b32 $L__info0
  .b8 1 }
.section .debug_str {
$L__info0:
.b8 95,90,49,102,118,0
$L__other: .b8 0
}
)";

inline std::string in_kernel(std::string_view body) {
  return std::string(".version 9.0\n.target sm_100a\n.address_size 64\n.entry k(.param .u64 p)\n{\n") +
         std::string(body) + "\n}\n";
}
/// The line of the first line of the body.
inline constexpr uint32_t first_line = 6;

inline Module parsed(std::string_view text) {
  Result<Module> module = parse(text, "test.ptx");
  EXPECT_TRUE(module) << module.error();
  return module ? std::move(*module) : Module();
}

inline std::string refusal_of(std::string_view text) {
  const Result<Module> module = parse(text, "test.ptx");
  return module ? std::string() : module.error();
}

/// The instruction in that line.
inline uint32_t at_line(const Function& function, uint32_t line) {
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (function.body[i].line == line) return i;
  ADD_FAILURE() << "no instruction in line " << line;
  return 0;
}

}  // namespace warploom::ptx
