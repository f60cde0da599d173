// Products on the loom, through the includes of an installed Warploom, and reports with lines: of a kernel that was
// compiled with the library, and of one that is compiled here.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <warploom/kernels/own_gemm.hpp>
#include <warploom/warploom.hpp>

using namespace warploom;

struct AtMost85 {
  WARPLOOM_FN float operator()(float x) const noexcept { return arch::minimum(x, 85.0f); }
};
using Capped = BlackwellGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 64, 64, 1, 1, 1, TileSource::fixed, 1,
                             false, Elementwise<AtMost85>>;

static_assert(WARPLOOM_VERSION ==
              10000 * WARPLOOM_VERSION_MAJOR + 100 * WARPLOOM_VERSION_MINOR + WARPLOOM_VERSION_PATCH);

bool has_lines(const loom::Location& at) {
  return at.user.line > 0 && at.user.file.starts_with("kernels/") && !at.user.function.empty() && at.library.line > 0 &&
         at.library.file.find("/") != std::string::npos;
}

/// Every barrier operation has its lines, and so has the report where one is left out.
bool reports_have_lines(const GemmProblem& problem, const GemmPlan& plan) {
  const Result<loom::Outcome> outcome = run_on_loom(problem, plan, {.record_sites = true});
  if (!outcome || outcome->sites.empty()) return std::puts("no sites"), false;
  const loom::Site* release = nullptr;
  for (const loom::Site& site : outcome->sites) {
    std::puts(site.key().c_str());
    if (!has_lines(site.at)) return std::printf("no line: %s\n", site.key().c_str()), false;
    if (site.operation == "tcgen05.commit" && release == nullptr) release = &site;
  }
  if (release == nullptr) return std::puts("no commit"), false;
  const Result<loom::Outcome> stuck = run_on_loom(problem, plan, {.mutation = loom::Mutation{.site = release->key()}});
  if (!stuck || stuck->report.waiting.empty()) return std::puts("no deadlock"), false;
  std::puts(to_text(stuck->report).c_str());  // the same, whichever library it is
  for (const loom::Waiter& waiter : stuck->report.waiting)
    if (waiter.kind == loom::WaitKind::mbarrier && !has_lines(waiter.at)) return std::puts("no line above"), false;
  return true;
}

int main() {
  constexpr int m = 3, n = 16, k = 40;
  const std::vector<uint16_t> a(m * k, 0x3f80), b(n * k, 0x4000);  // ones and twos in bf16
  std::vector<float> c(m * n), bias(n), d(m * n);
  for (int i = 0; i < m * n; ++i) c[i] = static_cast<float>(i % 5);
  for (int i = 0; i < n; ++i) bias[i] = static_cast<float>(i);
  GemmProblem problem{.m = m,
                      .n = n,
                      .k = k,
                      .a = {a.data(), DType::bf16, k},
                      .b = {b.data(), DType::bf16, k},
                      .d = {d.data(), DType::f32, n}};
  const GemmConfig capped = own_gemm<Capped>("capped");
  int right = 0;
  // As shipped, for an H200; for a B200 with a residual and a bias; the same with a function of our own.
  for (const int which : {0, 1, 2}) {
    std::fill(d.begin(), d.end(), -1.0f);
    if (which > 0) {
      problem.c = {c.data(), DType::f32, n};
      problem.beta = 2.0f;
      problem.bias = {bias.data(), DType::f32, BiasAlong::n};
    }
    const Result<GemmPlan> plan = which == 0   ? plan_gemm(problem)
                                  : which == 1 ? plan_gemm(problem, ChipLimits::of(Chip::sm100))
                                               : plan_gemm(problem, capped, 0, ChipLimits::of(Chip::sm100));
    if (!plan) return std::puts(plan.error().c_str()), 1;
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, {.check = true});
    if (!outcome) return std::puts(outcome.error().c_str()), 1;
    if (!outcome->ok()) return std::puts(to_text(outcome->report).c_str()), 1;
    for (int i = 0; i < m * n; ++i) {
      float expected = 80.0f;
      if (which > 0) expected += 2.0f * c[i] + bias[i % n];
      if (which == 2) expected = std::min(expected, 85.0f);
      if (d[i] != expected)
        return std::printf("%g instead of %g\n", static_cast<double>(d[i]), static_cast<double>(expected)), 1;
      ++right;
    }
    if (which > 0 && !reports_have_lines(problem, *plan)) return 1;
  }
  std::printf("Warploom %s: %d values are right, and reports have lines\n", WARPLOOM_VERSION_STRING, right);
}
