// The example for Blackwell as the benchmark runs it: no checks around it, and as many workers as asked for.
#include <chrono>

#include "../../examples/blackwell_gemm_cases.hpp"
#include "contenders.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::bench {
namespace {

using Kernel = examples::BlackwellGemm<ClusterShape<2, 2, 1>>;

/// What run_blackwell_gemm needs of a machine.
class Machine {
 public:
  Machine(const LoomProblem& problem, Matrix& d)
      : tensors_{{problem.a.data(), problem.a.size() * sizeof(bf16), loom::Access::read, "a"},
                 {problem.b.data(), problem.b.size() * sizeof(bf16), loom::Access::read, "b"},
                 {d.data(), d.size() * sizeof(bf16), loom::Access::write, "d"}} {
    options_.workers = problem.threads;
    options_.check = problem.check;
  }

  TensorMap encode(const TensorMapArgs& args) {
    Result<TensorMap> map = loom::encode_tensor_map(args, loom::Chip::sm100);
    if (!map) trouble = map.error();
    return map ? *map : TensorMap{};
  }
  template <class K>
  void launch(const examples::Shape& shape, const typename K::Params& params) {
    if (!trouble.empty()) return;
    const loom::LaunchConfig config{.kernel = K::name,
                                    .grid = shape.grid,
                                    .cluster = shape.cluster,
                                    .threads = shape.threads,
                                    .shared_bytes = sizeof(typename K::Storage)};
    const loom::Outcome outcome = loom::launch(config, &entry<K>, &params, tensors_, options_);
    if (!outcome.ok()) trouble = to_text(outcome.report);
  }

  std::string trouble;

 private:
  template <class K>
  static void entry(const void* params) {
    K::run(*static_cast<const typename K::Params*>(params));
    asm volatile("" ::: "memory");  // no tail call: a report finds the line from the return address
  }

  std::vector<loom::TensorRef> tensors_;
  loom::Options options_;
};

}  // namespace

Result<LoomResult> run_blackwell(const LoomProblem& problem) {
  const auto sms = static_cast<uint32_t>(problem.sms);
  LoomResult result;
  result.d.resize(static_cast<size_t>(problem.m) * static_cast<size_t>(problem.n));
  Machine machine(problem, result.d);
  const auto pairs = static_cast<uint32_t>((problem.m + 255) / 256 * ((problem.n + 255) / 256));
  const auto start = std::chrono::steady_clock::now();
  examples::run_blackwell_gemm<Kernel>(machine, problem.a.data(), problem.b.data(), result.d.data(),
                                       static_cast<size_t>(problem.n), problem.m, problem.n, problem.k,
                                       pairs < sms / 2 ? pairs : sms / 2);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!machine.trouble.empty()) return Error{machine.trouble};
  return result;
}

}  // namespace warploom::bench
