// What problems and plans are in C: shared by the library and by the GPU's C functions.
#include "c_api/plan.hpp"
#include "c_api/structs.hpp"
#include "plan/gemm_legal.hpp"

namespace warploom::c_api {

Result<GemmProblem> problem_of(const warploom_gemm_problem* given) {
  constexpr size_t first = offsetof(warploom_gemm_problem, scaling) + sizeof(int32_t);
  const auto known = received<warploom_gemm_problem>(given, first, &warploom_gemm_problem_init, "problem",
                                                     "WARPLOOM_GEMM_PROBLEM_INIT or warploom_gemm_problem_init()");
  if (!known) return known.why();
  const warploom_gemm_problem& g = *known;
  GemmProblem p;
  p.m = g.m;
  p.n = g.n;
  p.k = g.k;
  p.batch = g.batch;
  p.a = {g.a, DType::bf16, g.a_stride, g.a_batch_stride, Major::k};
  p.b = {g.b, DType::bf16, g.b_stride, g.b_batch_stride, Major::k};
  p.c = {g.c, DType::bf16, g.c_stride, g.c_batch_stride};
  p.d = {g.d, DType::bf16, g.d_stride, g.d_batch_stride};
  p.bias.data = g.bias;
  p.alpha = g.alpha;
  p.beta = g.beta;
  p.a_scales = {g.a_scales, g.a_scale_stride, g.a_scale_batch_stride};
  p.b_scales = {g.b_scales, g.b_scale_stride, g.b_scale_batch_stride};
  Error trouble{{}, ErrorCode::none};
  const auto set = [&](auto& to, int32_t value, auto last, const char* what) {
    if (trouble.code == ErrorCode::none) trouble = set_enum(to, value, last, what);
  };
  set(p.a.type, g.a_type, DType::f32, "a_type");
  set(p.b.type, g.b_type, DType::f32, "b_type");
  set(p.c.type, g.c_type, DType::f32, "c_type");
  set(p.d.type, g.d_type, DType::f32, "d_type");
  set(p.bias.type, g.bias_type, DType::f32, "bias_type");
  set(p.a.major, g.a_major, Major::mn, "a_major");
  set(p.b.major, g.b_major, Major::mn, "b_major");
  set(p.bias.along, g.bias_along, BiasAlong::m, "bias_along");
  set(p.activation, g.activation, Activation::silu, "activation");
  set(p.scaling, g.scaling, Scaling::a_rows_b_rows, "scaling");
  if (trouble.code != ErrorCode::none) return trouble;
  // What is handed over and would not be used.
  if (g.bias != nullptr && p.bias.along == BiasAlong::none)
    return Error{"there is a bias, and bias_along is WARPLOOM_NO_BIAS; WARPLOOM_BIAS_N or WARPLOOM_BIAS_M adds it"};
  if ((g.a_scales != nullptr || g.b_scales != nullptr) && p.scaling == Scaling::none)
    return Error{"there are scales, and scaling is WARPLOOM_NO_SCALES"};
  return p;
}

Result<ChipLimits> chip_of(int32_t chip, int32_t sms) {
  Chip named = {};
  if (Error trouble = set_enum(named, chip, Chip::sm100, "chip"); trouble.code != ErrorCode::none) return trouble;
  ChipLimits limits = ChipLimits::of(named);
  if (sms < 0)
    return Error{"sms is " + std::to_string(sms) + "; a chip has at least 1, and 0 stands for the usual one"};
  if (sms > 0) limits.sms = sms;
  return limits;
}

Result<GemmPlan> plan_of(const GemmProblem& problem, const char* config, const ChipLimits& chip) {
  if (config == nullptr) return plan_gemm(problem, chip);
  const auto found = find_gemm_config(config);
  if (!found) return found.why();
  return plan_gemm(problem, **found, 0, chip);
}

}  // namespace warploom::c_api

using namespace warploom;

extern "C" {

void warploom_gemm_problem_init(warploom_gemm_problem* problem) {
  static const warploom_gemm_problem initial = WARPLOOM_GEMM_PROBLEM_INIT;
  if (problem != nullptr) *problem = initial;
}

size_t warploom_gemm_problem_size(void) { return sizeof(warploom_gemm_problem); }

int warploom_gemm_supported_on(const warploom_gemm_problem* given, int32_t chip) {
  return c_api::guarded([&] {
    const auto problem = c_api::problem_of(given);
    if (!problem) return c_api::answer(problem.why());
    const auto limits = c_api::chip_of(chip, 0);
    if (!limits) return c_api::answer(limits.why());
    return c_api::answer(trouble_with(*problem, limits->chip));
  });
}

int warploom_plan_gemm(const warploom_gemm_problem* given, int32_t chip, int32_t sms, const char* config,
                       warploom_plan** plan) {
  return c_api::make_plan(given, chip, sms, plan, [&](const GemmProblem& problem, const ChipLimits& limits) {
    return c_api::plan_of(problem, config, limits);
  });
}

const char* warploom_plan_config(const warploom_plan* plan) { return plan == nullptr ? "" : plan->plan.config->key; }
const char* warploom_plan_why(const warploom_plan* plan) { return plan == nullptr ? "" : plan->plan.why.c_str(); }
int32_t warploom_plan_splits(const warploom_plan* plan) { return plan == nullptr ? 0 : plan->plan.splits; }
int32_t warploom_plan_ctas(const warploom_plan* plan) { return plan == nullptr ? 0 : plan->plan.ctas; }
double warploom_plan_predicted_us(const warploom_plan* plan) { return plan == nullptr ? 0 : plan->plan.predicted_us; }
void warploom_plan_release(warploom_plan* plan) { delete plan; }

}  // extern "C"
