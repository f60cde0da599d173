#include "warploom/gpu/c_api.h"

#include "c_api/structs.hpp"
#include "warploom/gpu/gemm.hpp"

struct warploom_prepared {
  warploom::gpu::Prepared prepared;
  std::string text;
};

namespace {

using namespace warploom;
using c_api::answer;

/// "" or what CUDA says.
int answer_of_device(const std::string& trouble) {
  return answer(trouble.empty() ? ErrorCode::none : ErrorCode::device_failed, trouble.c_str());
}

/// The problem and a plan of it for the current device, in the hands of `use`.
template <class Use>
int with_plan(const warploom_gemm_problem* given, const char* config, Use&& use) {
  return c_api::guarded([&] {
    const auto problem = c_api::problem_of(given);
    if (!problem) return answer(problem.why());
    const auto plan = c_api::plan_of(*problem, config, gpu::chip_limits());
    if (!plan) return answer(plan.why());
    return use(*problem, *plan);
  });
}

}  // namespace

extern "C" {

int warploom_gemm_supported(const warploom_gemm_problem* given) {
  return c_api::guarded([&] {
    const auto problem = c_api::problem_of(given);
    if (!problem) return answer(problem.why());
    if (std::string missing = gpu::missing(); !missing.empty())
      return answer({std::move(missing), ErrorCode::no_device});
    return warploom_gemm_supported_on(given, static_cast<int32_t>(gpu::chip_limits().chip));
  });
}

int warploom_gemm_workspace(const warploom_gemm_problem* given, size_t* bytes) {
  return with_plan(given, nullptr, [&](const GemmProblem&, const GemmPlan& plan) {
    if (bytes == nullptr) return answer(c_api::null_pointer("the place for the number of bytes"));
    *bytes = gpu::workspace_bytes(plan);
    return c_api::ok();
  });
}

int warploom_workspace_clear(void* workspace, size_t bytes, void* stream) {
  return c_api::guarded([&] {
    if (workspace == nullptr && bytes != 0) return answer(c_api::null_pointer("the workspace"));
    return answer_of_device(gpu::clear({workspace, bytes}, static_cast<gpu::Stream>(stream)));
  });
}

int warploom_gemm(const warploom_gemm_problem* given, void* workspace, size_t bytes, void* stream) {
  return with_plan(given, nullptr, [&](const GemmProblem& problem, const GemmPlan& plan) {
    const auto prepared = gpu::prepare(problem, plan, {workspace, bytes});
    if (!prepared) return answer(prepared.why());
    return answer_of_device(gpu::launch(*prepared, static_cast<gpu::Stream>(stream)));
  });
}

int warploom_prepare(const warploom_gemm_problem* given, const char* config, void* workspace, size_t bytes,
                     warploom_prepared** prepared) {
  return with_plan(given, config, [&](const GemmProblem& problem, const GemmPlan& plan) {
    if (prepared == nullptr) return answer(c_api::null_pointer("the place for what is prepared"));
    *prepared = nullptr;
    auto made = gpu::prepare(problem, plan, {workspace, bytes});
    if (!made) return answer(made.why());
    std::string text = plan.config->key;
    if (plan.splits > 1) text += " /" + std::to_string(plan.splits);
    *prepared = new warploom_prepared{std::move(*made), std::move(text)};
    return c_api::ok();
  });
}

int warploom_launch(const warploom_prepared* prepared, void* stream, int overlap_previous) {
  return c_api::guarded([&] {
    if (prepared == nullptr) return answer(c_api::null_pointer("what is prepared"));
    return answer_of_device(gpu::launch(prepared->prepared, static_cast<gpu::Stream>(stream), overlap_previous != 0));
  });
}

const char* warploom_describe(const warploom_prepared* prepared) {
  return prepared == nullptr ? "" : prepared->text.c_str();
}
void warploom_release(warploom_prepared* prepared) { delete prepared; }

}  // extern "C"
