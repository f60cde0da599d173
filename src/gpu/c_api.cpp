#define WARPLOOM_EXPORT __attribute__((visibility("default")))
#include "warploom/gpu/c_api.h"

#include "warploom/gpu/gemm.hpp"

struct warploom_prepared {
  warploom::gpu::Prepared prepared;
  std::string text;
};

namespace {

using namespace warploom;

thread_local std::string last_error;

int answer(std::string trouble) {
  last_error = std::move(trouble);
  return last_error.empty() ? 0 : 1;
}

template <class Enum>
std::string to_enum(int32_t value, Enum last, const char* what, Enum& to) {
  if (value < 0 || value > static_cast<int32_t>(last))
    return std::string(what) + " is " + std::to_string(value) + "; there are 0 to " +
           std::to_string(static_cast<int>(last));
  to = static_cast<Enum>(value);
  return "";
}

Result<GemmProblem> problem_of(const warploom_gemm_problem* given) {
  if (given == nullptr) return Error{"the problem is a null pointer"};
  const warploom_gemm_problem& g = *given;
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
  std::string trouble;
  const auto set = [&](auto& to, int32_t value, auto last, const char* what) {
    if (trouble.empty()) trouble = to_enum(value, last, what, to);
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
  if (!trouble.empty()) return Error{std::move(trouble)};
  return p;
}

Result<GemmPlan> plan_of(const GemmProblem& problem, const char* config) {
  if (config == nullptr) return plan_gemm(problem, gpu::chip_limits());
  const auto found = find_gemm_config(config);
  if (!found) return Error{found.error()};
  return plan_gemm(problem, **found, 0, gpu::chip_limits());
}

}  // namespace

extern "C" {

WARPLOOM_EXPORT size_t warploom_gemm_problem_size() { return sizeof(warploom_gemm_problem); }
WARPLOOM_EXPORT const char* warploom_error() { return last_error.c_str(); }

WARPLOOM_EXPORT int warploom_gemm_supported(const warploom_gemm_problem* given) {
  const auto problem = problem_of(given);
  if (!problem) return answer(problem.error());
  if (std::string missing = gpu::missing(); !missing.empty()) return answer(std::move(missing));
  return answer(why_not(*problem));
}

WARPLOOM_EXPORT int warploom_gemm_workspace(const warploom_gemm_problem* given, size_t* bytes) {
  const auto problem = problem_of(given);
  if (!problem) return answer(problem.error());
  const auto plan = plan_of(*problem, nullptr);
  if (!plan) return answer(plan.error());
  *bytes = gpu::workspace_bytes(*plan);
  return answer("");
}

WARPLOOM_EXPORT int warploom_workspace_clear(void* workspace, size_t bytes, void* stream) {
  return answer(gpu::clear({workspace, bytes}, static_cast<gpu::Stream>(stream)));
}

WARPLOOM_EXPORT int warploom_gemm(const warploom_gemm_problem* given, void* workspace, size_t bytes, void* stream) {
  const auto problem = problem_of(given);
  if (!problem) return answer(problem.error());
  const auto plan = plan_of(*problem, nullptr);
  if (!plan) return answer(plan.error());
  return answer(gpu::run(*problem, *plan, {workspace, bytes}, static_cast<gpu::Stream>(stream)));
}

WARPLOOM_EXPORT int warploom_prepare(const warploom_gemm_problem* given, const char* config, void* workspace,
                                     size_t bytes, warploom_prepared** prepared) {
  const auto problem = problem_of(given);
  if (!problem) return answer(problem.error());
  const auto plan = plan_of(*problem, config);
  if (!plan) return answer(plan.error());
  auto made = gpu::prepare(*problem, *plan, {workspace, bytes});
  if (!made) return answer(made.error());
  std::string text = plan->config->key;
  if (plan->splits > 1) text += " /" + std::to_string(plan->splits);
  *prepared = new warploom_prepared{std::move(*made), std::move(text)};
  return answer("");
}

WARPLOOM_EXPORT int warploom_launch(const warploom_prepared* prepared, void* stream, int overlap_previous) {
  return answer(gpu::launch(prepared->prepared, static_cast<gpu::Stream>(stream), overlap_previous != 0));
}

WARPLOOM_EXPORT const char* warploom_describe(const warploom_prepared* prepared) { return prepared->text.c_str(); }
WARPLOOM_EXPORT void warploom_release(warploom_prepared* prepared) { delete prepared; }

}  // extern "C"
