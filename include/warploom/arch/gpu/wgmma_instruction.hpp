// wgmma.mma_async for every N: the text of an asm statement names each accumulator register, so each N has a statement
// of its own. Types, signs and majors come in through the "C" constraint. Only what a kernel uses is compiled.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

template <int n>
struct WgmmaInstruction;

// clang-format off

#define WARPLOOM_TEXT(...) #__VA_ARGS__
#define WARPLOOM_OPERAND(number) "%" WARPLOOM_TEXT(number)
#define WARPLOOM_FOUR(kind, i) kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3])

// Accumulator registers of each N: their places in the text, and their operands.
#define WARPLOOM_WGMMA_D8 "%0, %1, %2, %3"
#define WARPLOOM_WGMMA_D16 WARPLOOM_WGMMA_D8 ", %4, %5, %6, %7"
#define WARPLOOM_WGMMA_D24 WARPLOOM_WGMMA_D16 ", %8, %9, %10, %11"
#define WARPLOOM_WGMMA_D32 WARPLOOM_WGMMA_D24 ", %12, %13, %14, %15"
#define WARPLOOM_WGMMA_D40 WARPLOOM_WGMMA_D32 ", %16, %17, %18, %19"
#define WARPLOOM_WGMMA_D48 WARPLOOM_WGMMA_D40 ", %20, %21, %22, %23"
#define WARPLOOM_WGMMA_D56 WARPLOOM_WGMMA_D48 ", %24, %25, %26, %27"
#define WARPLOOM_WGMMA_D64 WARPLOOM_WGMMA_D56 ", %28, %29, %30, %31"
#define WARPLOOM_WGMMA_D72 WARPLOOM_WGMMA_D64 ", %32, %33, %34, %35"
#define WARPLOOM_WGMMA_D80 WARPLOOM_WGMMA_D72 ", %36, %37, %38, %39"
#define WARPLOOM_WGMMA_D88 WARPLOOM_WGMMA_D80 ", %40, %41, %42, %43"
#define WARPLOOM_WGMMA_D96 WARPLOOM_WGMMA_D88 ", %44, %45, %46, %47"
#define WARPLOOM_WGMMA_D104 WARPLOOM_WGMMA_D96 ", %48, %49, %50, %51"
#define WARPLOOM_WGMMA_D112 WARPLOOM_WGMMA_D104 ", %52, %53, %54, %55"
#define WARPLOOM_WGMMA_D120 WARPLOOM_WGMMA_D112 ", %56, %57, %58, %59"
#define WARPLOOM_WGMMA_D128 WARPLOOM_WGMMA_D120 ", %60, %61, %62, %63"
#define WARPLOOM_WGMMA_D136 WARPLOOM_WGMMA_D128 ", %64, %65, %66, %67"
#define WARPLOOM_WGMMA_D144 WARPLOOM_WGMMA_D136 ", %68, %69, %70, %71"
#define WARPLOOM_WGMMA_D152 WARPLOOM_WGMMA_D144 ", %72, %73, %74, %75"
#define WARPLOOM_WGMMA_D160 WARPLOOM_WGMMA_D152 ", %76, %77, %78, %79"
#define WARPLOOM_WGMMA_D168 WARPLOOM_WGMMA_D160 ", %80, %81, %82, %83"
#define WARPLOOM_WGMMA_D176 WARPLOOM_WGMMA_D168 ", %84, %85, %86, %87"
#define WARPLOOM_WGMMA_D184 WARPLOOM_WGMMA_D176 ", %88, %89, %90, %91"
#define WARPLOOM_WGMMA_D192 WARPLOOM_WGMMA_D184 ", %92, %93, %94, %95"
#define WARPLOOM_WGMMA_D200 WARPLOOM_WGMMA_D192 ", %96, %97, %98, %99"
#define WARPLOOM_WGMMA_D208 WARPLOOM_WGMMA_D200 ", %100, %101, %102, %103"
#define WARPLOOM_WGMMA_D216 WARPLOOM_WGMMA_D208 ", %104, %105, %106, %107"
#define WARPLOOM_WGMMA_D224 WARPLOOM_WGMMA_D216 ", %108, %109, %110, %111"
#define WARPLOOM_WGMMA_D232 WARPLOOM_WGMMA_D224 ", %112, %113, %114, %115"
#define WARPLOOM_WGMMA_D240 WARPLOOM_WGMMA_D232 ", %116, %117, %118, %119"
#define WARPLOOM_WGMMA_D248 WARPLOOM_WGMMA_D240 ", %120, %121, %122, %123"
#define WARPLOOM_WGMMA_D256 WARPLOOM_WGMMA_D248 ", %124, %125, %126, %127"

#define WARPLOOM_WGMMA_OUT8(kind) WARPLOOM_FOUR(kind, 0)
#define WARPLOOM_WGMMA_OUT16(kind) WARPLOOM_WGMMA_OUT8(kind), WARPLOOM_FOUR(kind, 4)
#define WARPLOOM_WGMMA_OUT24(kind) WARPLOOM_WGMMA_OUT16(kind), WARPLOOM_FOUR(kind, 8)
#define WARPLOOM_WGMMA_OUT32(kind) WARPLOOM_WGMMA_OUT24(kind), WARPLOOM_FOUR(kind, 12)
#define WARPLOOM_WGMMA_OUT40(kind) WARPLOOM_WGMMA_OUT32(kind), WARPLOOM_FOUR(kind, 16)
#define WARPLOOM_WGMMA_OUT48(kind) WARPLOOM_WGMMA_OUT40(kind), WARPLOOM_FOUR(kind, 20)
#define WARPLOOM_WGMMA_OUT56(kind) WARPLOOM_WGMMA_OUT48(kind), WARPLOOM_FOUR(kind, 24)
#define WARPLOOM_WGMMA_OUT64(kind) WARPLOOM_WGMMA_OUT56(kind), WARPLOOM_FOUR(kind, 28)
#define WARPLOOM_WGMMA_OUT72(kind) WARPLOOM_WGMMA_OUT64(kind), WARPLOOM_FOUR(kind, 32)
#define WARPLOOM_WGMMA_OUT80(kind) WARPLOOM_WGMMA_OUT72(kind), WARPLOOM_FOUR(kind, 36)
#define WARPLOOM_WGMMA_OUT88(kind) WARPLOOM_WGMMA_OUT80(kind), WARPLOOM_FOUR(kind, 40)
#define WARPLOOM_WGMMA_OUT96(kind) WARPLOOM_WGMMA_OUT88(kind), WARPLOOM_FOUR(kind, 44)
#define WARPLOOM_WGMMA_OUT104(kind) WARPLOOM_WGMMA_OUT96(kind), WARPLOOM_FOUR(kind, 48)
#define WARPLOOM_WGMMA_OUT112(kind) WARPLOOM_WGMMA_OUT104(kind), WARPLOOM_FOUR(kind, 52)
#define WARPLOOM_WGMMA_OUT120(kind) WARPLOOM_WGMMA_OUT112(kind), WARPLOOM_FOUR(kind, 56)
#define WARPLOOM_WGMMA_OUT128(kind) WARPLOOM_WGMMA_OUT120(kind), WARPLOOM_FOUR(kind, 60)
#define WARPLOOM_WGMMA_OUT136(kind) WARPLOOM_WGMMA_OUT128(kind), WARPLOOM_FOUR(kind, 64)
#define WARPLOOM_WGMMA_OUT144(kind) WARPLOOM_WGMMA_OUT136(kind), WARPLOOM_FOUR(kind, 68)
#define WARPLOOM_WGMMA_OUT152(kind) WARPLOOM_WGMMA_OUT144(kind), WARPLOOM_FOUR(kind, 72)
#define WARPLOOM_WGMMA_OUT160(kind) WARPLOOM_WGMMA_OUT152(kind), WARPLOOM_FOUR(kind, 76)
#define WARPLOOM_WGMMA_OUT168(kind) WARPLOOM_WGMMA_OUT160(kind), WARPLOOM_FOUR(kind, 80)
#define WARPLOOM_WGMMA_OUT176(kind) WARPLOOM_WGMMA_OUT168(kind), WARPLOOM_FOUR(kind, 84)
#define WARPLOOM_WGMMA_OUT184(kind) WARPLOOM_WGMMA_OUT176(kind), WARPLOOM_FOUR(kind, 88)
#define WARPLOOM_WGMMA_OUT192(kind) WARPLOOM_WGMMA_OUT184(kind), WARPLOOM_FOUR(kind, 92)
#define WARPLOOM_WGMMA_OUT200(kind) WARPLOOM_WGMMA_OUT192(kind), WARPLOOM_FOUR(kind, 96)
#define WARPLOOM_WGMMA_OUT208(kind) WARPLOOM_WGMMA_OUT200(kind), WARPLOOM_FOUR(kind, 100)
#define WARPLOOM_WGMMA_OUT216(kind) WARPLOOM_WGMMA_OUT208(kind), WARPLOOM_FOUR(kind, 104)
#define WARPLOOM_WGMMA_OUT224(kind) WARPLOOM_WGMMA_OUT216(kind), WARPLOOM_FOUR(kind, 108)
#define WARPLOOM_WGMMA_OUT232(kind) WARPLOOM_WGMMA_OUT224(kind), WARPLOOM_FOUR(kind, 112)
#define WARPLOOM_WGMMA_OUT240(kind) WARPLOOM_WGMMA_OUT232(kind), WARPLOOM_FOUR(kind, 116)
#define WARPLOOM_WGMMA_OUT248(kind) WARPLOOM_WGMMA_OUT240(kind), WARPLOOM_FOUR(kind, 120)
#define WARPLOOM_WGMMA_OUT256(kind) WARPLOOM_WGMMA_OUT248(kind), WARPLOOM_FOUR(kind, 124)

// A in shared memory and in registers. `names` and `out` are the accumulator's registers, i0 ... i7 number the operands
// after them. `accumulate` becomes the predicate scale-d; Types and Immediates are text around it.
#define WARPLOOM_WGMMA_STATEMENTS(n, Register, count, names, out, i0, i1, i2, i3, i4, i5, i6, i7)                     \
  template <class Types, class Immediates>                                                                            \
  static WARPLOOM_FN void shared(Register (&d)[count], uint64_t a, uint64_t b, bool accumulate) noexcept {            \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " WARPLOOM_OPERAND(i2) ", 0;\n\t"                              \
                 "wgmma.mma_async.sync.aligned.m64n" #n WARPLOOM_OPERAND(i3) " {" names "}, "                         \
                 WARPLOOM_OPERAND(i0) ", " WARPLOOM_OPERAND(i1) ", p" WARPLOOM_OPERAND(i4) ";\n\t}"                   \
                 : out                                                                                                \
                 : "l"(a), "l"(b), "r"(static_cast<uint32_t>(accumulate)), "C"(Types::text), "C"(Immediates::text));  \
  }                                                                                                                   \
  template <class Types, class Immediates>                                                                            \
  static WARPLOOM_FN void registers(Register (&d)[count], const uint32_t (&a)[4], uint64_t b, bool accumulate)        \
      noexcept {                                                                                                      \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " WARPLOOM_OPERAND(i5) ", 0;\n\t"                              \
                 "wgmma.mma_async.sync.aligned.m64n" #n WARPLOOM_OPERAND(i6) " {" names "}, {"                        \
                 WARPLOOM_OPERAND(i0) ", " WARPLOOM_OPERAND(i1) ", " WARPLOOM_OPERAND(i2) ", " WARPLOOM_OPERAND(i3)   \
                 "}, " WARPLOOM_OPERAND(i4) ", p" WARPLOOM_OPERAND(i7) ";\n\t}"                                       \
                 : out                                                                                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<uint32_t>(accumulate)),        \
                   "C"(Types::text), "C"(Immediates::text));                                                          \
  }

#define WARPLOOM_WGMMA(n, ...)                                                                                        \
  template <>                                                                                                         \
  struct WgmmaInstruction<n> {                                                                                        \
    WARPLOOM_WGMMA_STATEMENTS(n, float, n / 2, WARPLOOM_WGMMA_D##n, WARPLOOM_WGMMA_OUT##n("+f"), __VA_ARGS__)         \
    WARPLOOM_WGMMA_STATEMENTS(n, int32_t, n / 2, WARPLOOM_WGMMA_D##n, WARPLOOM_WGMMA_OUT##n("+r"), __VA_ARGS__)       \
  };

WARPLOOM_WGMMA(8, 4, 5, 6, 7, 8, 9, 10, 11)
WARPLOOM_WGMMA(16, 8, 9, 10, 11, 12, 13, 14, 15)
WARPLOOM_WGMMA(24, 12, 13, 14, 15, 16, 17, 18, 19)
WARPLOOM_WGMMA(32, 16, 17, 18, 19, 20, 21, 22, 23)
WARPLOOM_WGMMA(40, 20, 21, 22, 23, 24, 25, 26, 27)
WARPLOOM_WGMMA(48, 24, 25, 26, 27, 28, 29, 30, 31)
WARPLOOM_WGMMA(56, 28, 29, 30, 31, 32, 33, 34, 35)
WARPLOOM_WGMMA(64, 32, 33, 34, 35, 36, 37, 38, 39)
WARPLOOM_WGMMA(72, 36, 37, 38, 39, 40, 41, 42, 43)
WARPLOOM_WGMMA(80, 40, 41, 42, 43, 44, 45, 46, 47)
WARPLOOM_WGMMA(88, 44, 45, 46, 47, 48, 49, 50, 51)
WARPLOOM_WGMMA(96, 48, 49, 50, 51, 52, 53, 54, 55)
WARPLOOM_WGMMA(104, 52, 53, 54, 55, 56, 57, 58, 59)
WARPLOOM_WGMMA(112, 56, 57, 58, 59, 60, 61, 62, 63)
WARPLOOM_WGMMA(120, 60, 61, 62, 63, 64, 65, 66, 67)
WARPLOOM_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, 71)
WARPLOOM_WGMMA(136, 68, 69, 70, 71, 72, 73, 74, 75)
WARPLOOM_WGMMA(144, 72, 73, 74, 75, 76, 77, 78, 79)
WARPLOOM_WGMMA(152, 76, 77, 78, 79, 80, 81, 82, 83)
WARPLOOM_WGMMA(160, 80, 81, 82, 83, 84, 85, 86, 87)
WARPLOOM_WGMMA(168, 84, 85, 86, 87, 88, 89, 90, 91)
WARPLOOM_WGMMA(176, 88, 89, 90, 91, 92, 93, 94, 95)
WARPLOOM_WGMMA(184, 92, 93, 94, 95, 96, 97, 98, 99)
WARPLOOM_WGMMA(192, 96, 97, 98, 99, 100, 101, 102, 103)
WARPLOOM_WGMMA(200, 100, 101, 102, 103, 104, 105, 106, 107)
WARPLOOM_WGMMA(208, 104, 105, 106, 107, 108, 109, 110, 111)
WARPLOOM_WGMMA(216, 108, 109, 110, 111, 112, 113, 114, 115)
WARPLOOM_WGMMA(224, 112, 113, 114, 115, 116, 117, 118, 119)
WARPLOOM_WGMMA(232, 116, 117, 118, 119, 120, 121, 122, 123)
WARPLOOM_WGMMA(240, 120, 121, 122, 123, 124, 125, 126, 127)
WARPLOOM_WGMMA(248, 124, 125, 126, 127, 128, 129, 130, 131)
WARPLOOM_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, 135)

#undef WARPLOOM_WGMMA

// f16: a register holds two values, so there are half as many.
template <int n>
struct WgmmaHalfInstruction;

#define WARPLOOM_TWO(i) "+r"(d[i]), "+r"(d[i + 1])
#define WARPLOOM_WGMMA_H8 "%0, %1"
#define WARPLOOM_WGMMA_H16 WARPLOOM_WGMMA_H8 ", %2, %3"
#define WARPLOOM_WGMMA_H24 WARPLOOM_WGMMA_H16 ", %4, %5"
#define WARPLOOM_WGMMA_H32 WARPLOOM_WGMMA_H24 ", %6, %7"
#define WARPLOOM_WGMMA_H40 WARPLOOM_WGMMA_H32 ", %8, %9"
#define WARPLOOM_WGMMA_H48 WARPLOOM_WGMMA_H40 ", %10, %11"
#define WARPLOOM_WGMMA_H56 WARPLOOM_WGMMA_H48 ", %12, %13"
#define WARPLOOM_WGMMA_H64 WARPLOOM_WGMMA_H56 ", %14, %15"
#define WARPLOOM_WGMMA_H72 WARPLOOM_WGMMA_H64 ", %16, %17"
#define WARPLOOM_WGMMA_H80 WARPLOOM_WGMMA_H72 ", %18, %19"
#define WARPLOOM_WGMMA_H88 WARPLOOM_WGMMA_H80 ", %20, %21"
#define WARPLOOM_WGMMA_H96 WARPLOOM_WGMMA_H88 ", %22, %23"
#define WARPLOOM_WGMMA_H104 WARPLOOM_WGMMA_H96 ", %24, %25"
#define WARPLOOM_WGMMA_H112 WARPLOOM_WGMMA_H104 ", %26, %27"
#define WARPLOOM_WGMMA_H120 WARPLOOM_WGMMA_H112 ", %28, %29"
#define WARPLOOM_WGMMA_H128 WARPLOOM_WGMMA_H120 ", %30, %31"
#define WARPLOOM_WGMMA_H136 WARPLOOM_WGMMA_H128 ", %32, %33"
#define WARPLOOM_WGMMA_H144 WARPLOOM_WGMMA_H136 ", %34, %35"
#define WARPLOOM_WGMMA_H152 WARPLOOM_WGMMA_H144 ", %36, %37"
#define WARPLOOM_WGMMA_H160 WARPLOOM_WGMMA_H152 ", %38, %39"
#define WARPLOOM_WGMMA_H168 WARPLOOM_WGMMA_H160 ", %40, %41"
#define WARPLOOM_WGMMA_H176 WARPLOOM_WGMMA_H168 ", %42, %43"
#define WARPLOOM_WGMMA_H184 WARPLOOM_WGMMA_H176 ", %44, %45"
#define WARPLOOM_WGMMA_H192 WARPLOOM_WGMMA_H184 ", %46, %47"
#define WARPLOOM_WGMMA_H200 WARPLOOM_WGMMA_H192 ", %48, %49"
#define WARPLOOM_WGMMA_H208 WARPLOOM_WGMMA_H200 ", %50, %51"
#define WARPLOOM_WGMMA_H216 WARPLOOM_WGMMA_H208 ", %52, %53"
#define WARPLOOM_WGMMA_H224 WARPLOOM_WGMMA_H216 ", %54, %55"
#define WARPLOOM_WGMMA_H232 WARPLOOM_WGMMA_H224 ", %56, %57"
#define WARPLOOM_WGMMA_H240 WARPLOOM_WGMMA_H232 ", %58, %59"
#define WARPLOOM_WGMMA_H248 WARPLOOM_WGMMA_H240 ", %60, %61"
#define WARPLOOM_WGMMA_H256 WARPLOOM_WGMMA_H248 ", %62, %63"

#define WARPLOOM_WGMMA_HOUT8 WARPLOOM_TWO(0)
#define WARPLOOM_WGMMA_HOUT16 WARPLOOM_WGMMA_HOUT8, WARPLOOM_TWO(2)
#define WARPLOOM_WGMMA_HOUT24 WARPLOOM_WGMMA_HOUT16, WARPLOOM_TWO(4)
#define WARPLOOM_WGMMA_HOUT32 WARPLOOM_WGMMA_HOUT24, WARPLOOM_TWO(6)
#define WARPLOOM_WGMMA_HOUT40 WARPLOOM_WGMMA_HOUT32, WARPLOOM_TWO(8)
#define WARPLOOM_WGMMA_HOUT48 WARPLOOM_WGMMA_HOUT40, WARPLOOM_TWO(10)
#define WARPLOOM_WGMMA_HOUT56 WARPLOOM_WGMMA_HOUT48, WARPLOOM_TWO(12)
#define WARPLOOM_WGMMA_HOUT64 WARPLOOM_WGMMA_HOUT56, WARPLOOM_TWO(14)
#define WARPLOOM_WGMMA_HOUT72 WARPLOOM_WGMMA_HOUT64, WARPLOOM_TWO(16)
#define WARPLOOM_WGMMA_HOUT80 WARPLOOM_WGMMA_HOUT72, WARPLOOM_TWO(18)
#define WARPLOOM_WGMMA_HOUT88 WARPLOOM_WGMMA_HOUT80, WARPLOOM_TWO(20)
#define WARPLOOM_WGMMA_HOUT96 WARPLOOM_WGMMA_HOUT88, WARPLOOM_TWO(22)
#define WARPLOOM_WGMMA_HOUT104 WARPLOOM_WGMMA_HOUT96, WARPLOOM_TWO(24)
#define WARPLOOM_WGMMA_HOUT112 WARPLOOM_WGMMA_HOUT104, WARPLOOM_TWO(26)
#define WARPLOOM_WGMMA_HOUT120 WARPLOOM_WGMMA_HOUT112, WARPLOOM_TWO(28)
#define WARPLOOM_WGMMA_HOUT128 WARPLOOM_WGMMA_HOUT120, WARPLOOM_TWO(30)
#define WARPLOOM_WGMMA_HOUT136 WARPLOOM_WGMMA_HOUT128, WARPLOOM_TWO(32)
#define WARPLOOM_WGMMA_HOUT144 WARPLOOM_WGMMA_HOUT136, WARPLOOM_TWO(34)
#define WARPLOOM_WGMMA_HOUT152 WARPLOOM_WGMMA_HOUT144, WARPLOOM_TWO(36)
#define WARPLOOM_WGMMA_HOUT160 WARPLOOM_WGMMA_HOUT152, WARPLOOM_TWO(38)
#define WARPLOOM_WGMMA_HOUT168 WARPLOOM_WGMMA_HOUT160, WARPLOOM_TWO(40)
#define WARPLOOM_WGMMA_HOUT176 WARPLOOM_WGMMA_HOUT168, WARPLOOM_TWO(42)
#define WARPLOOM_WGMMA_HOUT184 WARPLOOM_WGMMA_HOUT176, WARPLOOM_TWO(44)
#define WARPLOOM_WGMMA_HOUT192 WARPLOOM_WGMMA_HOUT184, WARPLOOM_TWO(46)
#define WARPLOOM_WGMMA_HOUT200 WARPLOOM_WGMMA_HOUT192, WARPLOOM_TWO(48)
#define WARPLOOM_WGMMA_HOUT208 WARPLOOM_WGMMA_HOUT200, WARPLOOM_TWO(50)
#define WARPLOOM_WGMMA_HOUT216 WARPLOOM_WGMMA_HOUT208, WARPLOOM_TWO(52)
#define WARPLOOM_WGMMA_HOUT224 WARPLOOM_WGMMA_HOUT216, WARPLOOM_TWO(54)
#define WARPLOOM_WGMMA_HOUT232 WARPLOOM_WGMMA_HOUT224, WARPLOOM_TWO(56)
#define WARPLOOM_WGMMA_HOUT240 WARPLOOM_WGMMA_HOUT232, WARPLOOM_TWO(58)
#define WARPLOOM_WGMMA_HOUT248 WARPLOOM_WGMMA_HOUT240, WARPLOOM_TWO(60)
#define WARPLOOM_WGMMA_HOUT256 WARPLOOM_WGMMA_HOUT248, WARPLOOM_TWO(62)

#define WARPLOOM_WGMMA(n, ...)                                                                                        \
  template <>                                                                                                         \
  struct WgmmaHalfInstruction<n> {                                                                                    \
    WARPLOOM_WGMMA_STATEMENTS(n, uint32_t, n / 4, WARPLOOM_WGMMA_H##n, WARPLOOM_WGMMA_HOUT##n, __VA_ARGS__)           \
  };

WARPLOOM_WGMMA(8, 2, 3, 4, 5, 6, 7, 8, 9)
WARPLOOM_WGMMA(16, 4, 5, 6, 7, 8, 9, 10, 11)
WARPLOOM_WGMMA(24, 6, 7, 8, 9, 10, 11, 12, 13)
WARPLOOM_WGMMA(32, 8, 9, 10, 11, 12, 13, 14, 15)
WARPLOOM_WGMMA(40, 10, 11, 12, 13, 14, 15, 16, 17)
WARPLOOM_WGMMA(48, 12, 13, 14, 15, 16, 17, 18, 19)
WARPLOOM_WGMMA(56, 14, 15, 16, 17, 18, 19, 20, 21)
WARPLOOM_WGMMA(64, 16, 17, 18, 19, 20, 21, 22, 23)
WARPLOOM_WGMMA(72, 18, 19, 20, 21, 22, 23, 24, 25)
WARPLOOM_WGMMA(80, 20, 21, 22, 23, 24, 25, 26, 27)
WARPLOOM_WGMMA(88, 22, 23, 24, 25, 26, 27, 28, 29)
WARPLOOM_WGMMA(96, 24, 25, 26, 27, 28, 29, 30, 31)
WARPLOOM_WGMMA(104, 26, 27, 28, 29, 30, 31, 32, 33)
WARPLOOM_WGMMA(112, 28, 29, 30, 31, 32, 33, 34, 35)
WARPLOOM_WGMMA(120, 30, 31, 32, 33, 34, 35, 36, 37)
WARPLOOM_WGMMA(128, 32, 33, 34, 35, 36, 37, 38, 39)
WARPLOOM_WGMMA(136, 34, 35, 36, 37, 38, 39, 40, 41)
WARPLOOM_WGMMA(144, 36, 37, 38, 39, 40, 41, 42, 43)
WARPLOOM_WGMMA(152, 38, 39, 40, 41, 42, 43, 44, 45)
WARPLOOM_WGMMA(160, 40, 41, 42, 43, 44, 45, 46, 47)
WARPLOOM_WGMMA(168, 42, 43, 44, 45, 46, 47, 48, 49)
WARPLOOM_WGMMA(176, 44, 45, 46, 47, 48, 49, 50, 51)
WARPLOOM_WGMMA(184, 46, 47, 48, 49, 50, 51, 52, 53)
WARPLOOM_WGMMA(192, 48, 49, 50, 51, 52, 53, 54, 55)
WARPLOOM_WGMMA(200, 50, 51, 52, 53, 54, 55, 56, 57)
WARPLOOM_WGMMA(208, 52, 53, 54, 55, 56, 57, 58, 59)
WARPLOOM_WGMMA(216, 54, 55, 56, 57, 58, 59, 60, 61)
WARPLOOM_WGMMA(224, 56, 57, 58, 59, 60, 61, 62, 63)
WARPLOOM_WGMMA(232, 58, 59, 60, 61, 62, 63, 64, 65)
WARPLOOM_WGMMA(240, 60, 61, 62, 63, 64, 65, 66, 67)
WARPLOOM_WGMMA(248, 62, 63, 64, 65, 66, 67, 68, 69)
WARPLOOM_WGMMA(256, 64, 65, 66, 67, 68, 69, 70, 71)

#undef WARPLOOM_WGMMA
#undef WARPLOOM_WGMMA_STATEMENTS
#undef WARPLOOM_TWO
#undef WARPLOOM_FOUR
#undef WARPLOOM_OPERAND
#undef WARPLOOM_TEXT

// clang-format on

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
