#include "contenders.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::bench {
namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

Result<LoomResult> run_hopper(const LoomProblem& problem, std::string& config) {
  LoomResult result;
  result.d.resize(static_cast<size_t>(problem.m) * static_cast<size_t>(problem.n));
  GemmProblem gemm;
  gemm.m = problem.m;
  gemm.n = problem.n;
  gemm.k = problem.k;
  gemm.a = {problem.a.data(), DType::bf16, problem.k};
  gemm.b = {problem.b.data(), DType::bf16, problem.k};
  gemm.d = {result.d.data(), DType::bf16, problem.n};
  const ChipLimits chip{.sms = problem.sms};
  Result<GemmPlan> plan = [&]() -> Result<GemmPlan> {
    if (config == "auto") return plan_gemm(gemm, chip);
    const Result<const GemmConfig*> chosen = find_gemm_config(config);
    if (!chosen) return Error{chosen.error()};
    return plan_gemm(gemm, **chosen, 1, chip);
  }();
  if (!plan) return Error{plan.error()};
  config = plan->config->key;
  loom::Options options;
  options.workers = problem.threads;
  options.numerics = problem.numerics;
  options.check = problem.check;
  const auto start = std::chrono::steady_clock::now();
  const Result<loom::Outcome> outcome = run_on_loom(gemm, *plan, options);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!outcome) return Error{outcome.error()};
  if (!outcome->ok()) return Error{to_text(outcome->report)};
  return result;
}

Result<OpenBlas> OpenBlas::open(const std::string& core, unsigned threads) {
  std::string forced = core;
#if defined(__x86_64__)
  if (forced.empty()) forced = __builtin_cpu_supports("avx512f") ? "SKYLAKEX" : "HASWELL";
#endif
  if (!forced.empty()) setenv("OPENBLAS_CORETYPE", forced.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", std::to_string(threads).c_str(), 1);
  OpenBlas blas;
  blas.library_ = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (blas.library_ == nullptr) return Error{"libopenblas.so.0 is not there; Debian has it as libopenblas0-pthread"};
  if (dlsym(blas.library_, "cblas_sgemm") == nullptr || dlsym(blas.library_, "openblas_get_corename") == nullptr)
    return Error{"libopenblas.so.0 lacks cblas_sgemm or openblas_get_corename"};
  return blas;
}

std::string OpenBlas::version() const {
  auto* config = symbol<char*()>(library_, "openblas_get_config");
  const std::string text = config == nullptr ? "" : config();
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

std::string OpenBlas::core() const { return symbol<char*()>(library_, "openblas_get_corename")(); }

double OpenBlas::run(int m, int n, int k, const float* a, const float* b, float* d) const {
  constexpr int row_major = 101, as_is = 111, transposed = 112;
  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  const auto start = std::chrono::steady_clock::now();
  symbol<Sgemm>(library_, "cblas_sgemm")(row_major, as_is, transposed, m, n, k, 1.0f, a, k, b, k, 0.0f, d, n);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace warploom::bench
