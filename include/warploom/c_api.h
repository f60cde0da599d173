/* Warploom for C and for languages that call C: describe a GEMM, plan it for a chip, and run it on the loom. It needs
 * no CUDA; warploom/gpu/c_api.h has the functions that do, for the same problem.
 *
 *   warploom_gemm_problem p = WARPLOOM_GEMM_PROBLEM_INIT;      batch is 1, alpha is 1
 *   p.m = m; p.n = n; p.k = k;
 *   p.a = a; p.a_type = WARPLOOM_BF16; p.a_stride = k;  p.b = b; p.b_type = WARPLOOM_BF16; p.b_stride = k;
 *   p.d = d; p.d_type = WARPLOOM_BF16; p.d_stride = n;
 *   warploom_plan* plan = NULL;
 *   if (warploom_plan_gemm_on_loom(&p, WARPLOOM_SM100, 0, &plan) != WARPLOOM_OK ||
 *       warploom_run_on_loom(&p, plan, NULL, NULL) != WARPLOOM_OK)
 *     puts(warploom_error());
 *   warploom_plan_release(plan);
 *
 * Functions that return int return a status: WARPLOOM_OK, or a code with a sentence in warploom_error(), which is the
 * calling thread's own and stays until its next call. No exception leaves a function. Every function may be called from
 * several threads at a time; a plan or a report may be read by several, and is released once, when nobody reads it.
 *
 * Structs begin with their size, so that they can grow: a program that was compiled with an older header has the
 * defaults of what it does not know; one that sets a field that this library does not know is refused. */
#ifndef WARPLOOM_C_API_H
#define WARPLOOM_C_API_H

#include <stddef.h>
#include <stdint.h>

#include "warploom/version.h"

#ifndef WARPLOOM_EXPORT
#if defined(__GNUC__)
#define WARPLOOM_EXPORT __attribute__((visibility("default")))
#else
#define WARPLOOM_EXPORT
#endif
#endif

/* NOLINTBEGIN(modernize-use-using, modernize-macro-to-enum): a header of C */
#ifdef __cplusplus
extern "C" {
#endif

/* What functions return; the numbers of ErrorCode (warploom/types/result.hpp), which says more about each. */
enum {
  WARPLOOM_OK = 0,
  WARPLOOM_BAD_ARGUMENT = 1,
  WARPLOOM_UNSUPPORTED = 2,
  WARPLOOM_NOT_FOUND = 3,
  WARPLOOM_NOT_BUILT = 4,
  WARPLOOM_OUT_OF_MEMORY = 5,
  WARPLOOM_NO_THREADS = 6,
  WARPLOOM_NO_DEVICE = 7,
  WARPLOOM_DEVICE_FAILED = 8,
  WARPLOOM_IO = 9,
  WARPLOOM_FINDING = 10, /* the kernel ran on the loom, and its report has findings */
  WARPLOOM_INTERNAL = 11
};

enum { WARPLOOM_E4M3, WARPLOOM_E5M2, WARPLOOM_BF16, WARPLOOM_F16, WARPLOOM_F32 };
enum { WARPLOOM_K_MAJOR, WARPLOOM_MN_MAJOR };
enum { WARPLOOM_NO_BIAS, WARPLOOM_BIAS_N, WARPLOOM_BIAS_M };
enum { WARPLOOM_IDENTITY, WARPLOOM_RELU, WARPLOOM_GELU, WARPLOOM_GELU_TANH, WARPLOOM_SILU };
enum { WARPLOOM_NO_SCALES, WARPLOOM_A_ROWS_B_BLOCKS, WARPLOOM_A_ROWS_B_ROWS };
enum { WARPLOOM_SM90, WARPLOOM_SM100 };

/* D = act(alpha * A * B^T + beta * C + bias). Strides count elements, layouts are those of
 * warploom/kernels/gemm_problem.hpp. Begin with WARPLOOM_GEMM_PROBLEM_INIT or warploom_gemm_problem_init: a struct of
 * zero bytes is refused, as it would multiply nothing by nothing without a word. */
typedef struct warploom_gemm_problem {
  size_t struct_size;
  int32_t m, n, k, batch;
  float alpha, beta;
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
} warploom_gemm_problem;

/* batch 1, alpha 1, operands and outputs in bf16, the bias in f32; all else 0, "none" or the first of its kind. m, n and k
 * are -1, which is refused: set all three. */
/* clang-format off */
#define WARPLOOM_GEMM_PROBLEM_INIT                                                                    \
  {sizeof(warploom_gemm_problem),                                                                     \
   -1, -1, -1, 1,                                                       /* m, n, k, batch */          \
   1.0f, 0.0f,                                                          /* alpha, beta */             \
   0, 0, 0, 0, 0, 0, 0,                                                 /* pointers */                \
   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                                  /* strides */                 \
   WARPLOOM_BF16, WARPLOOM_BF16, WARPLOOM_BF16, WARPLOOM_BF16, WARPLOOM_F32, /* types */              \
   0, 0, 0, 0, 0}                                                       /* majors, epilogue, scales */
/* clang-format on */
WARPLOOM_EXPORT void warploom_gemm_problem_init(warploom_gemm_problem* problem);
/* Bytes of the struct in this build: a caller in another language can check its own. */
WARPLOOM_EXPORT size_t warploom_gemm_problem_size(void);

/* "0.1.0", of the library that runs. */
WARPLOOM_EXPORT const char* warploom_version(void);
/* Of this thread's last call that returned a status: "" and WARPLOOM_OK, or what was wrong. */
WARPLOOM_EXPORT const char* warploom_error(void);
WARPLOOM_EXPORT int warploom_error_code(void);
/* "bad_argument"; "unknown" for a number that is none. */
WARPLOOM_EXPORT const char* warploom_code_name(int code);

/* Whether a chip's kernels can run the problem. Nothing is read or written. */
WARPLOOM_EXPORT int warploom_gemm_supported_on(const warploom_gemm_problem* problem, int32_t chip);

/* Which kernel, and how it is launched. It holds no pointer of the problem's. */
typedef struct warploom_plan warploom_plan;
/* `sms`: of the chip, 0 for an H200's or a B200's. `config`: a key of hopper_gemm.def or blackwell_gemm.def, or NULL
 * for the best. A plan for a problem of the same form is found again in less than a microsecond. */
WARPLOOM_EXPORT int warploom_plan_gemm(const warploom_gemm_problem* problem, int32_t chip, int32_t sms,
                                       const char* config, warploom_plan** plan);
/* The best of those that this build has for the loom. */
WARPLOOM_EXPORT int warploom_plan_gemm_on_loom(const warploom_gemm_problem* problem, int32_t chip, int32_t sms,
                                               warploom_plan** plan);
/* Strings live as long as the plan. Of a null pointer: "" and 0. */
WARPLOOM_EXPORT const char* warploom_plan_config(const warploom_plan* plan);
WARPLOOM_EXPORT const char* warploom_plan_why(const warploom_plan* plan);
WARPLOOM_EXPORT int32_t warploom_plan_splits(const warploom_plan* plan);
WARPLOOM_EXPORT int32_t warploom_plan_ctas(const warploom_plan* plan);
WARPLOOM_EXPORT double warploom_plan_predicted_us(const warploom_plan* plan);
WARPLOOM_EXPORT void warploom_plan_release(warploom_plan* plan);

typedef struct warploom_loom_options {
  size_t struct_size;
  int32_t check;        /* not 0: races, fences and phases are followed (docs/verdict.md) */
  int32_t exact;        /* not 0: tensor cores add exactly as the chip does, and slowly */
  int32_t workers;      /* threads, the calling one included; 0: one for each core */
  const char* schedule; /* "random:7f3a", as reports name it; NULL: eager */
  double seconds_limit; /* for code that makes no call of the loom; 0: no limit */
  uint64_t step_limit;  /* of each cluster */
} warploom_loom_options;

#define WARPLOOM_LOOM_OPTIONS_INIT {sizeof(warploom_loom_options), 0, 0, 0, 0, 30.0, 200000000}
WARPLOOM_EXPORT void warploom_loom_options_init(warploom_loom_options* options);

/* What the loom found, and what the run took. */
typedef struct warploom_report warploom_report;
/* Runs the problem on the CPU, over host memory. `options` may be NULL. WARPLOOM_FINDING where the report has findings,
 * the first of which is the sentence. `report` may be NULL; otherwise it is NULL where nothing ran. */
WARPLOOM_EXPORT int warploom_run_on_loom(const warploom_gemm_problem* problem, const warploom_plan* plan,
                                         const warploom_loom_options* options, warploom_report** report);
WARPLOOM_EXPORT int32_t warploom_report_findings(const warploom_report* report);
WARPLOOM_EXPORT uint64_t warploom_report_steps(const warploom_report* report);
/* For people, and one JSON object; both live as long as the report. */
WARPLOOM_EXPORT const char* warploom_report_text(const warploom_report* report);
WARPLOOM_EXPORT const char* warploom_report_json(const warploom_report* report);
WARPLOOM_EXPORT void warploom_report_release(warploom_report* report);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using, modernize-macro-to-enum) */

#endif
