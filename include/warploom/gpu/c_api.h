/* GEMMs on a Hopper or Blackwell GPU for other languages: C functions over device pointers, in libwarploom_gpu_c.so.
 * The problem, the codes and the errors are those of warploom/c_api.h, which that library has too (all but the loom).
 *
 *   warploom_gemm_problem p = WARPLOOM_GEMM_PROBLEM_INIT;      batch is 1, alpha is 1
 *   p.m = m; p.n = n; p.k = k;
 *   p.a = a; p.a_type = WARPLOOM_BF16; p.a_stride = k;  p.b = b; p.b_type = WARPLOOM_BF16; p.b_stride = k;
 *   p.d = d; p.d_type = WARPLOOM_BF16; p.d_stride = n;
 *   if (warploom_gemm(&p, workspace, bytes, stream) != WARPLOOM_OK) puts(warploom_error());
 *
 * Every pointer of a problem is device memory here. */
#ifndef WARPLOOM_GPU_C_API_H
#define WARPLOOM_GPU_C_API_H

#include "warploom/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plan with its tensor maps, ready to launch again and again over the same pointers. */
typedef struct warploom_prepared warploom_prepared;

/* Whether the problem could run on the current device; the sentence says why not. */
WARPLOOM_EXPORT int warploom_gemm_supported(const warploom_gemm_problem* problem);
/* What warploom_gemm needs for it; 0 for most problems. */
WARPLOOM_EXPORT int warploom_gemm_workspace(const warploom_gemm_problem* problem, size_t* bytes);
/* Zeroes a workspace: once, before its first use. `stream` is a cudaStream_t. */
WARPLOOM_EXPORT int warploom_workspace_clear(void* workspace, size_t bytes, void* stream);
/* Plans and launches; waits for nothing, allocates no device memory, may be captured into a graph. The plan for a
 * problem of the same form is kept: a repeated call finds it. */
WARPLOOM_EXPORT int warploom_gemm(const warploom_gemm_problem* problem, void* workspace, size_t bytes, void* stream);

/* The same in two steps. `config`: a key of hopper_gemm.def or blackwell_gemm.def, or NULL for the best. */
WARPLOOM_EXPORT int warploom_prepare(const warploom_gemm_problem* problem, const char* config, void* workspace,
                                     size_t bytes, warploom_prepared** prepared);
WARPLOOM_EXPORT int warploom_launch(const warploom_prepared* prepared, void* stream, int overlap_previous);
/* The configuration it runs; valid as long as it. */
WARPLOOM_EXPORT const char* warploom_describe(const warploom_prepared* prepared);
WARPLOOM_EXPORT void warploom_release(warploom_prepared* prepared);

#ifdef __cplusplus
}
#endif

#endif
