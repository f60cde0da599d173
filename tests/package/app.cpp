// A product on the loom, through the one include of an installed Warploom.
#include <cstdio>
#include <vector>
#include <warploom/warploom.hpp>

int main() {
  using namespace warploom;
  constexpr int m = 3, n = 16, k = 40;
  const std::vector<uint16_t> a(m * k, 0x3f80), b(n * k, 0x4000);  // ones and twos in bf16
  std::vector<float> d(m * n);
  const GemmProblem problem{.m = m,
                            .n = n,
                            .k = k,
                            .a = {a.data(), DType::bf16, k},
                            .b = {b.data(), DType::bf16, k},
                            .d = {d.data(), DType::f32, n}};
  const Result<GemmPlan> plan = plan_gemm(problem);
  if (!plan) return std::puts(plan.error().c_str()), 1;
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan);
  if (!outcome) return std::puts(outcome.error().c_str()), 1;
  for (float value : d)
    if (value != 80.0f) return std::printf("%g instead of 80\n", static_cast<double>(value)), 1;
  std::printf("%d values are right\n", m * n);
}
