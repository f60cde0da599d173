/* A program in C99: what the header promises, in the language it is for. Returns the number of what went wrong. */
#include <stdio.h>
#include <string.h>

#include "warploom/c_api.h"

int program_in_c(void) {
  enum { m = 24, n = 16, k = 32 };
  static uint16_t a[m * k], b[n * k];
  static float d[m * n];
  warploom_gemm_problem p = WARPLOOM_GEMM_PROBLEM_INIT;
  warploom_gemm_problem also;
  warploom_loom_options options = WARPLOOM_LOOM_OPTIONS_INIT;
  warploom_plan* plan = NULL;
  warploom_report* report = NULL;
  int i, wrong = 0;

  for (i = 0; i < m * k; ++i) a[i] = 0x3f80; /* 1 */
  for (i = 0; i < n * k; ++i) b[i] = 0x4000; /* 2 */
  memset(&also, 0xff, sizeof(also));
  warploom_gemm_problem_init(&also);
  wrong += memcmp(&p, &also, sizeof(p)) != 0;
  wrong += warploom_gemm_problem_size() != sizeof(p);
  wrong += strcmp(warploom_version(), WARPLOOM_VERSION_STRING) != 0;

  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.a_stride = k;
  p.b = b;
  p.b_stride = k;
  p.d = d;
  p.d_type = WARPLOOM_F32;
  p.d_stride = n;
  options.check = 1;
  wrong += warploom_plan_gemm_on_loom(&p, WARPLOOM_SM90, 0, &plan) != WARPLOOM_OK;
  wrong += warploom_run_on_loom(&p, plan, &options, &report) != WARPLOOM_OK;
  if (wrong != 0) printf("%s\n", warploom_error());
  wrong += warploom_report_findings(report) != 0 || warploom_report_steps(report) == 0;
  for (i = 0; i < m * n; ++i) wrong += d[i] != 2.0f * k;
  warploom_report_release(report);
  warploom_plan_release(plan);
  return wrong;
}
