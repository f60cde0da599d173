// wgmma.mma_async for every N: the text of an asm statement names each accumulator register, so each N has a statement
// of its own. Types and majors come in through the "C" constraint. Only what a kernel uses is compiled.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

template <int n>
struct WgmmaInstruction;

// clang-format off

#define WARPLOOM_TEXT(...) #__VA_ARGS__
#define WARPLOOM_OPERAND(number) "%" WARPLOOM_TEXT(number)
#define WARPLOOM_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

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

#define WARPLOOM_WGMMA_OUT8 WARPLOOM_FOUR(0)
#define WARPLOOM_WGMMA_OUT16 WARPLOOM_WGMMA_OUT8, WARPLOOM_FOUR(4)
#define WARPLOOM_WGMMA_OUT24 WARPLOOM_WGMMA_OUT16, WARPLOOM_FOUR(8)
#define WARPLOOM_WGMMA_OUT32 WARPLOOM_WGMMA_OUT24, WARPLOOM_FOUR(12)
#define WARPLOOM_WGMMA_OUT40 WARPLOOM_WGMMA_OUT32, WARPLOOM_FOUR(16)
#define WARPLOOM_WGMMA_OUT48 WARPLOOM_WGMMA_OUT40, WARPLOOM_FOUR(20)
#define WARPLOOM_WGMMA_OUT56 WARPLOOM_WGMMA_OUT48, WARPLOOM_FOUR(24)
#define WARPLOOM_WGMMA_OUT64 WARPLOOM_WGMMA_OUT56, WARPLOOM_FOUR(28)
#define WARPLOOM_WGMMA_OUT72 WARPLOOM_WGMMA_OUT64, WARPLOOM_FOUR(32)
#define WARPLOOM_WGMMA_OUT80 WARPLOOM_WGMMA_OUT72, WARPLOOM_FOUR(36)
#define WARPLOOM_WGMMA_OUT88 WARPLOOM_WGMMA_OUT80, WARPLOOM_FOUR(40)
#define WARPLOOM_WGMMA_OUT96 WARPLOOM_WGMMA_OUT88, WARPLOOM_FOUR(44)
#define WARPLOOM_WGMMA_OUT104 WARPLOOM_WGMMA_OUT96, WARPLOOM_FOUR(48)
#define WARPLOOM_WGMMA_OUT112 WARPLOOM_WGMMA_OUT104, WARPLOOM_FOUR(52)
#define WARPLOOM_WGMMA_OUT120 WARPLOOM_WGMMA_OUT112, WARPLOOM_FOUR(56)
#define WARPLOOM_WGMMA_OUT128 WARPLOOM_WGMMA_OUT120, WARPLOOM_FOUR(60)
#define WARPLOOM_WGMMA_OUT136 WARPLOOM_WGMMA_OUT128, WARPLOOM_FOUR(64)
#define WARPLOOM_WGMMA_OUT144 WARPLOOM_WGMMA_OUT136, WARPLOOM_FOUR(68)
#define WARPLOOM_WGMMA_OUT152 WARPLOOM_WGMMA_OUT144, WARPLOOM_FOUR(72)
#define WARPLOOM_WGMMA_OUT160 WARPLOOM_WGMMA_OUT152, WARPLOOM_FOUR(76)
#define WARPLOOM_WGMMA_OUT168 WARPLOOM_WGMMA_OUT160, WARPLOOM_FOUR(80)
#define WARPLOOM_WGMMA_OUT176 WARPLOOM_WGMMA_OUT168, WARPLOOM_FOUR(84)
#define WARPLOOM_WGMMA_OUT184 WARPLOOM_WGMMA_OUT176, WARPLOOM_FOUR(88)
#define WARPLOOM_WGMMA_OUT192 WARPLOOM_WGMMA_OUT184, WARPLOOM_FOUR(92)
#define WARPLOOM_WGMMA_OUT200 WARPLOOM_WGMMA_OUT192, WARPLOOM_FOUR(96)
#define WARPLOOM_WGMMA_OUT208 WARPLOOM_WGMMA_OUT200, WARPLOOM_FOUR(100)
#define WARPLOOM_WGMMA_OUT216 WARPLOOM_WGMMA_OUT208, WARPLOOM_FOUR(104)
#define WARPLOOM_WGMMA_OUT224 WARPLOOM_WGMMA_OUT216, WARPLOOM_FOUR(108)
#define WARPLOOM_WGMMA_OUT232 WARPLOOM_WGMMA_OUT224, WARPLOOM_FOUR(112)
#define WARPLOOM_WGMMA_OUT240 WARPLOOM_WGMMA_OUT232, WARPLOOM_FOUR(116)
#define WARPLOOM_WGMMA_OUT248 WARPLOOM_WGMMA_OUT240, WARPLOOM_FOUR(120)
#define WARPLOOM_WGMMA_OUT256 WARPLOOM_WGMMA_OUT248, WARPLOOM_FOUR(124)

// i0 ... i7 number the operands after the accumulator's. `accumulate` becomes the predicate scale-d.
#define WARPLOOM_WGMMA(n, i0, i1, i2, i3, i4, i5, i6, i7)                                                              \
  template <>                                                                                                         \
  struct WgmmaInstruction<n> {                                                                                        \
    template <class Types, class Majors>                                                                              \
    static WARPLOOM_FN void shared(float (&d)[n / 2], uint64_t a, uint64_t b, bool accumulate) noexcept {             \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " WARPLOOM_OPERAND(i2) ", 0;\n\t"                           \
                   "wgmma.mma_async.sync.aligned.m64n" #n WARPLOOM_OPERAND(i3) " {" WARPLOOM_WGMMA_D##n "}, "               \
                   WARPLOOM_OPERAND(i0) ", " WARPLOOM_OPERAND(i1) ", p, 1, 1" WARPLOOM_OPERAND(i4) ";\n\t}"           \
                   : WARPLOOM_WGMMA_OUT##n                                                                                  \
                   : "l"(a), "l"(b), "r"(static_cast<uint32_t>(accumulate)), "C"(Types::text), "C"(Majors::text));    \
    }                                                                                                                 \
    template <class Types, class Majors>                                                                              \
    static WARPLOOM_FN void registers(float (&d)[n / 2], const uint32_t (&a)[4], uint64_t b, bool accumulate)         \
        noexcept {                                                                                                    \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " WARPLOOM_OPERAND(i5) ", 0;\n\t"                           \
                   "wgmma.mma_async.sync.aligned.m64n" #n WARPLOOM_OPERAND(i6) " {" WARPLOOM_WGMMA_D##n "}, {"              \
                   WARPLOOM_OPERAND(i0) ", " WARPLOOM_OPERAND(i1) ", " WARPLOOM_OPERAND(i2) ", " WARPLOOM_OPERAND(i3) \
                   "}, " WARPLOOM_OPERAND(i4) ", p, 1, 1" WARPLOOM_OPERAND(i7) ";\n\t}"                               \
                   : WARPLOOM_WGMMA_OUT##n                                                                                  \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<uint32_t>(accumulate)),      \
                     "C"(Types::text), "C"(Majors::text));                                                            \
    }                                                                                                                 \
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
#undef WARPLOOM_FOUR
#undef WARPLOOM_OPERAND
#undef WARPLOOM_TEXT

// clang-format on

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
