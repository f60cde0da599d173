// One source, two machines: nvcc compiles this tree for the GPU, any C++20 compiler compiles it for the loom.
//
// Everything from `arch` up lives in `inline namespace on_gpu` or `on_loom`, so that the same template built by both
// compilers never shares a symbol. Functions carry one macro, WARPLOOM_FN. They are force-inlined on both machines: on
// the GPU because a ring must cost nothing, on the loom because a report then finds the user's line in the inline
// frames of a single return address. Lambdas in library code carry WARPLOOM_LAMBDA for the same reason.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define WARPLOOM_GPU 1
#define WARPLOOM_MACHINE on_gpu
#define WARPLOOM_FN __device__ __forceinline__
#define WARPLOOM_CONST_FN __host__ __device__ constexpr
#define WARPLOOM_LAMBDA
#define WARPLOOM_UNROLL _Pragma("unroll")
#else
#define WARPLOOM_GPU 0
#define WARPLOOM_MACHINE on_loom
#define WARPLOOM_FN inline __attribute__((always_inline))
#define WARPLOOM_CONST_FN constexpr
#define WARPLOOM_LAMBDA __attribute__((always_inline))
#define WARPLOOM_UNROLL
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
