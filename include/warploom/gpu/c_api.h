/* GEMMs on a Hopper GPU for other languages: C functions over device pointers, in libwarploom_gpu_c.so.
 *
 *   warploom_gemm_problem p = {.m = m, .n = n, .k = k, .batch = 1, .alpha = 1};
 *   p.a = a; p.a_type = WARPLOOM_BF16; p.a_stride = k;  p.b = b; p.b_type = WARPLOOM_BF16; p.b_stride = k;
 *   p.d = d; p.d_type = WARPLOOM_BF16; p.d_stride = n;
 *   if (warploom_gemm(&p, workspace, bytes, stream) != 0) puts(warploom_error());
 *
 * Every pointer is device memory, strides count elements, layouts are those of warploom/kernels/gemm_problem.hpp. All
 * functions return 0, or 1 with a sentence in warploom_error(), which is the calling thread's own. */
#ifndef WARPLOOM_GPU_C_API_H
#define WARPLOOM_GPU_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WARPLOOM_E4M3, WARPLOOM_E5M2, WARPLOOM_BF16, WARPLOOM_F16, WARPLOOM_F32 };
enum { WARPLOOM_K_MAJOR, WARPLOOM_MN_MAJOR };
enum { WARPLOOM_NO_BIAS, WARPLOOM_BIAS_N, WARPLOOM_BIAS_M };
enum { WARPLOOM_IDENTITY, WARPLOOM_RELU, WARPLOOM_GELU, WARPLOOM_GELU_TANH, WARPLOOM_SILU };
enum { WARPLOOM_NO_SCALES, WARPLOOM_A_ROWS_B_BLOCKS, WARPLOOM_A_ROWS_B_ROWS };

/* D = act(alpha * A * B^T + beta * C + bias); a field of zero bytes means "none" or "the first of its kind". */
typedef struct warploom_gemm_problem {
  int32_t m, n, k, batch;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  const float* a_scales;
  const float* b_scales;
  int64_t a_stride, b_stride, c_stride, d_stride;
  int64_t a_batch_stride, b_batch_stride, c_batch_stride, d_batch_stride;
  int64_t a_scale_stride, b_scale_stride;
  int64_t a_scale_batch_stride, b_scale_batch_stride;
  int32_t a_type, b_type, c_type, d_type, bias_type;
  int32_t a_major, b_major;
  int32_t bias_along, activation, scaling;
  float alpha, beta;
} warploom_gemm_problem;

/* A plan with its tensor maps, ready to launch again and again over the same pointers. */
typedef struct warploom_prepared warploom_prepared;

/* Bytes of the struct in this build: a caller in another language can check its own. */
size_t warploom_gemm_problem_size(void);

/* "" after a call that succeeded. */
const char* warploom_error(void);

/* Whether the problem could run on the current device; the sentence says why not. */
int warploom_gemm_supported(const warploom_gemm_problem* problem);
/* What warploom_gemm needs for it; 0 for most problems. */
int warploom_gemm_workspace(const warploom_gemm_problem* problem, size_t* bytes);
/* Zeroes a workspace: once, before its first use. `stream` is a cudaStream_t. */
int warploom_workspace_clear(void* workspace, size_t bytes, void* stream);
/* Plans and launches; waits for nothing, allocates no device memory, may be captured into a graph. */
int warploom_gemm(const warploom_gemm_problem* problem, void* workspace, size_t bytes, void* stream);

/* The same in two steps. `config`: a key of hopper_gemm.def, or NULL for the best. */
int warploom_prepare(const warploom_gemm_problem* problem, const char* config, void* workspace, size_t bytes,
                     warploom_prepared** prepared);
int warploom_launch(const warploom_prepared* prepared, void* stream, int overlap_previous);
/* The configuration it runs; valid as long as it. */
const char* warploom_describe(const warploom_prepared* prepared);
void warploom_release(warploom_prepared* prepared);

#ifdef __cplusplus
}
#endif

#endif
