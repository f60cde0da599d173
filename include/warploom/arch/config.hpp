// One source, two machines: nvcc compiles this tree for the GPU, any C++20 compiler compiles it for the loom.
//
// Everything from `arch` up lives in `inline namespace on_gpu` or `on_loom`, so that the same template built by both
// compilers never shares a symbol. Functions carry one macro, WARPLOOM_FN. They are force-inlined on both machines: on
// the GPU because a ring must cost nothing, on the loom because a report then finds the user's line in the inline
// frames of a single return address. Lambdas in library code carry WARPLOOM_LAMBDA for the same reason, and functions
// that are `= default` but do something WARPLOOM_DEFAULTED, because nvcc takes no attribute there.
#pragma once

#include <cstddef>
#include <cstdint>

// What a GPU build may be instrumented with (docs/instrumentation.md); each changes what an mbarrier holds, so each has
// a namespace of its own. The loom needs neither: it always checks, and always knows.
#ifndef WARPLOOM_WATCHDOG
#define WARPLOOM_WATCHDOG 0
#endif
#ifndef WARPLOOM_TRACE
#define WARPLOOM_TRACE 0
#endif
#if defined(WARPLOOM_NO_INSTRUMENTATION) && (WARPLOOM_WATCHDOG || WARPLOOM_TRACE)
#error "warploom: WARPLOOM_NO_INSTRUMENTATION excludes WARPLOOM_WATCHDOG and WARPLOOM_TRACE"
#endif

#if defined(__CUDACC__)
#define WARPLOOM_GPU 1
#if WARPLOOM_WATCHDOG && WARPLOOM_TRACE
#define WARPLOOM_MACHINE on_gpu_watched_traced
#elif WARPLOOM_WATCHDOG
#define WARPLOOM_MACHINE on_gpu_watched
#elif WARPLOOM_TRACE
#define WARPLOOM_MACHINE on_gpu_traced
#else
#define WARPLOOM_MACHINE on_gpu
#endif
#define WARPLOOM_FN __device__ __forceinline__
#define WARPLOOM_CONST_FN __host__ __device__ constexpr
#define WARPLOOM_DEFAULTED
#define WARPLOOM_LAMBDA
#define WARPLOOM_UNROLL _Pragma("unroll")
#define WARPLOOM_ROLLED _Pragma("unroll 1")
#else
#define WARPLOOM_GPU 0
#define WARPLOOM_MACHINE on_loom
#define WARPLOOM_FN inline __attribute__((always_inline))
#define WARPLOOM_CONST_FN constexpr
#define WARPLOOM_DEFAULTED inline __attribute__((always_inline))
#define WARPLOOM_LAMBDA __attribute__((always_inline))
#define WARPLOOM_UNROLL
#define WARPLOOM_ROLLED
#endif

// Whether mbarriers keep notes beside the hardware's word.
#if WARPLOOM_GPU && (WARPLOOM_WATCHDOG || WARPLOOM_TRACE)
#define WARPLOOM_INSTRUMENTED 1
#else
#define WARPLOOM_INSTRUMENTED 0
#endif
#if WARPLOOM_INSTRUMENTED
#define WARPLOOM_INSTRUMENT(...) __VA_ARGS__
#else
#define WARPLOOM_INSTRUMENT(...)
#endif

namespace warploom {

/// The chip a kernel is written for. A template tag, never `__CUDA_ARCH__`: the loom runs both.
struct sm90 {
  static constexpr const char* name = "sm90";
};
struct sm100 {
  static constexpr const char* name = "sm100";
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  WARPLOOM_CONST_FN uint32_t count() const { return x * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

}  // namespace warploom
