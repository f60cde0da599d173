/* A GEMM in C, on the loom: ones times twos. The library's version is that of its headers. */
#include <stdio.h>
#include <string.h>
#include <warploom/c_api.h>
#include <warploom/version.h>

enum { m = 24, n = 40, k = 72 };

static uint16_t a[m * k], b[n * k];
static float d[m * n];

int main(void) {
  for (int i = 0; i < m * k; ++i) a[i] = 0x3f80;
  for (int i = 0; i < n * k; ++i) b[i] = 0x4000;
  warploom_gemm_problem problem = WARPLOOM_GEMM_PROBLEM_INIT;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a = a, problem.a_stride = k;
  problem.b = b, problem.b_stride = k;
  problem.d = d, problem.d_stride = n, problem.d_type = WARPLOOM_F32;
  for (int32_t chip = WARPLOOM_SM90; chip <= WARPLOOM_SM100; ++chip) {
    memset(d, 0xff, sizeof d);
    warploom_plan* plan = NULL;
    if (warploom_plan_gemm_on_loom(&problem, chip, 0, &plan) != WARPLOOM_OK) return puts(warploom_error()), 1;
    if (warploom_run_on_loom(&problem, plan, NULL, NULL) != WARPLOOM_OK) return puts(warploom_error()), 1;
    for (int i = 0; i < m * n; ++i)
      if (d[i] != 2.0f * k) return printf("d[%d] is %g\n", i, (double)d[i]), 1;
    printf("%s is right\n", warploom_plan_config(plan));
    warploom_plan_release(plan);
  }
  if (strcmp(warploom_version(), WARPLOOM_VERSION_STRING) != 0)
    return printf("the library is %s, its headers are " WARPLOOM_VERSION_STRING "\n", warploom_version()), 1;
  return 0;
}
