#include "bench/gpu_tests.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>

#include "bench/cases.hpp"
#include "bench/contenders.hpp"
#include "bench/random_problem.hpp"
#include "warploom/gpu/gemm.hpp"

namespace warploom::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

/// A stream and a workspace for whatever comes.
struct Ground {
  Ground() {
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(gpu::clear(workspace(), stream), "the workspace");
  }
  ~Ground() { cudaStreamDestroy(stream); }
  gpu::Workspace workspace() const { return {memory.data(), memory.bytes()}; }

  Buffer memory{size_t{1} << 30};
  cudaStream_t stream = nullptr;
};

/// "" or what is wrong with the result of this plan.
std::string trouble_with(Operands& operands, const GemmPlan& plan, const Ground& ground) {
  operands.reset_output(ground.stream);
  if (std::string why = gpu::run(operands.problem(), plan, ground.workspace(), ground.stream); !why.empty())
    return "is not launched: " + why;
  check(cudaStreamSynchronize(ground.stream), describe(plan).c_str());
  const Comparison found = operands.verify(ground.stream);
  if (found.wrong > 0)
    return fmt::format("{} wrong elements, {:.3g} times what rounding allows; D[{}][{}][{}] is {}, and should be {}",
                       found.wrong, found.worst, found.batch, found.row, found.column, found.got, found.wanted);
  if (const unsigned long long changed = operands.changed_padding(ground.stream); changed > 0)
    return fmt::format("{} bytes around D were overwritten", changed);
  return "";
}

}  // namespace

int random_problems(int count, uint64_t seed, double seconds) {
  const Ground ground;
  const auto began = Clock::now();
  std::map<std::string, int> by_config, refusals;
  int ran = 0, refused = 0, rescued = 0, wrong = 0, exact = 0;
  int number = 0;
  for (; number < count && (seconds <= 0 || seconds_since(began) < seconds); ++number) {
    RandomProblem one = random_problem(seed, static_cast<uint64_t>(number));
    const auto complain = [&](const std::string& what) {
      ++wrong;
      fmt::print("number {}: {}{}{}\n  {}\n", number, describe(one.problem), one.integers ? ", integers" : "",
                 one.c_is_d ? ", C is D" : "", what);
      std::fflush(stdout);
    };
    std::unique_ptr<Operands> operands =
        std::make_unique<Operands>(one.problem, one.integers ? Fill::integers : Fill::normal,
                                   static_cast<uint64_t>(number) + 1, ground.stream, one.c_is_d);
    if (const std::string why = why_not(operands->problem()); !why.empty()) {
      ++refused;
      ++refusals[why.substr(0, why.find_first_of("0123456789;:"))];
      if (plan_gemm(operands->problem(), gpu::chip_limits())) complain("why_not refuses what plan_gemm plans: " + why);
      GemmProblem nearest = nearest_that_runs(operands->problem());
      nearest.a.data = nearest.b.data = nearest.c.data = nearest.bias.data = nullptr;
      nearest.d.data = nullptr;
      nearest.a_scales.data = nearest.b_scales.data = nullptr;
      one.c_is_d = one.c_is_d && nearest.c.type == nearest.d.type && nearest.c.stride == nearest.d.stride &&
                   nearest.c.batch_stride == nearest.d.batch_stride;
      operands = std::make_unique<Operands>(nearest, one.integers ? Fill::integers : Fill::normal,
                                            static_cast<uint64_t>(number) + 1, ground.stream, one.c_is_d);
      if (const std::string still = why_not(operands->problem()); !still.empty()) {
        complain("refused (" + why + "), and so is the nearest that should run: " + still);
        continue;
      }
      ++rescued;
    }
    // Every plan is somebody's: mostly the first choice, now and then any of them.
    auto plan = plan_gemm(operands->problem(), gpu::chip_limits());
    if (!plan) {
      complain("why_not has no objection, and there is no plan: " + plan.error());
      continue;
    }
    if (number % 3 == 2) {
      const std::vector<GemmPlan> all = gemm_plans(operands->problem(), gpu::chip_limits());
      if (!all.empty()) *plan = all[static_cast<size_t>(number) * 2654435761u % all.size()];
    }
    if (plan->workspace_bytes > (size_t{1} << 29)) continue;
    if (const std::string what = trouble_with(*operands, *plan, ground); !what.empty())
      complain(fmt::format("{}: {}", describe(*plan), what));
    ++ran;
    exact += one.integers;
    ++by_config[plan->config->key];
    if ((number + 1) % 500 == 0) fmt::print(stderr, "{} of {}, {} wrong\n", number + 1, count, wrong);
  }
  fmt::print(
      "{} random problems, seed {}: {} ran ({} with exact data), {} were refused, of which {} ran as the nearest "
      "that does; {} wrong; {:.0f} s\n",
      number, seed, ran, exact, refused, rescued, wrong, seconds_since(began));
  for (const auto& [key, times] : by_config) fmt::print("  {:6} {}\n", times, key);
  fmt::print("refusals:\n");
  for (const auto& [why, times] : refusals) fmt::print("  {:6} {}\n", times, why);
  return wrong > 0 ? 1 : 0;
}

int soak(double seconds, uint64_t seed) {
  const Ground ground;
  struct One {
    std::unique_ptr<Operands> operands;
    gpu::Prepared prepared;
    std::string what;
    uint64_t hash = 0;
  };
  std::vector<One> all;
  const auto add = [&](const GemmProblem& problem, const GemmPlan& plan, std::unique_ptr<Operands> operands) {
    auto prepared = gpu::prepare(operands->problem(), plan, ground.workspace());
    if (!prepared) return;
    all.push_back({std::move(operands), *prepared, describe(problem) + ", " + describe(plan)});
  };
  // One problem of a middle size for every configuration, with and without splits; then random ones.
  for (const GemmConfig& config : gemm_configs()) {
    Case c = make_case(config.scaling != Scaling::none ? Kind::blockwise
                       : size_of(config.a) == 1        ? Kind::fp8
                                                       : Kind::bf16,
                       1280, 1536, 2048);
    c.problem.a.type = config.a;
    c.problem.b.type = config.b;
    c.problem.scaling = config.scaling;
    c.problem.b_scales.stride = 1536;
    c.problem.a.major = config.a_major;
    c.problem.b.major = config.b_major;
    if (config.a_major == Major::mn) c.problem.a.stride = c.problem.m;
    if (config.b_major == Major::mn) c.problem.b.stride = c.problem.n;
    for (const int splits : {1, 3}) {
      auto operands = std::make_unique<Operands>(c.problem, Fill::normal, seed, ground.stream);
      const auto plan = plan_gemm(operands->problem(), config, splits, gpu::chip_limits());
      if (plan) add(c.problem, *plan, std::move(operands));
    }
  }
  for (uint64_t number = 0; number < 400 && all.size() < 96; ++number) {
    const RandomProblem one = random_problem(seed, number);
    if (one.c_is_d || one.problem.m == 0 || one.problem.n == 0) continue;
    auto operands = std::make_unique<Operands>(one.problem, Fill::normal, number + 1, ground.stream);
    if (!why_not(operands->problem()).empty()) continue;
    const auto plan = plan_gemm(operands->problem(), gpu::chip_limits());
    if (plan) add(one.problem, *plan, std::move(operands));
  }
  for (One& one : all) {
    one.operands->reset_output(ground.stream);
    check(gpu::launch(one.prepared, ground.stream), one.what.c_str());
    one.hash = one.operands->hash(ground.stream);
  }
  fmt::print(stderr, "{} problems\n", all.size());

  const auto began = Clock::now();
  uint64_t launches = 0, rounds = 0;
  int different = 0;
  for (double shown = 0; seconds_since(began) < seconds; ++rounds) {
    // All of them back to back, some overlapping the one before; the order moves on with every round.
    for (int again = 0; again < 8; ++again)
      for (size_t i = 0; i < all.size(); ++i, ++launches) {
        const One& one = all[(i * 7 + rounds) % all.size()];
        if (again == 7) one.operands->reset_output(ground.stream);
        check(gpu::launch(one.prepared, ground.stream, again % 2 == 1), one.what.c_str());
      }
    for (const One& one : all)
      if (one.operands->hash(ground.stream) != one.hash) {
        ++different;
        const Comparison found = one.operands->verify(ground.stream);
        fmt::print("after {:.1f} s: {}: other bits than at first; {} wrong elements\n", seconds_since(began), one.what,
                   found.wrong);
        std::fflush(stdout);
      }
    if (different > 20) break;
    if (seconds_since(began) > shown + 10) {
      shown = seconds_since(began);
      fmt::print(stderr, "{:.0f} s, {} launches, {} different\n", shown, launches, different);
    }
  }
  fmt::print("soak: {} launches of {} problems in {:.0f} s, {} results differed\n", launches, all.size(),
             seconds_since(began), different);
  return different > 0 ? 1 : 0;
}

namespace {

/// The launch, captured into a graph and replayed from there.
std::string run_as_graph(const GemmProblem& problem, const GemmPlan& plan, const Ground& ground) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  check(cudaStreamBeginCapture(ground.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  std::string trouble = gpu::run(problem, plan, ground.workspace(), ground.stream);
  const cudaError_t ended = cudaStreamEndCapture(ground.stream, &graph);
  if (trouble.empty() && ended != cudaSuccess) trouble = cudaGetErrorString(ended);
  if (!trouble.empty()) return trouble;
  check(cudaGraphInstantiate(&program, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphLaunch(program, ground.stream), "cudaGraphLaunch");
  check(cudaStreamSynchronize(ground.stream), "a graph");
  cudaGraphExecDestroy(program);
  cudaGraphDestroy(graph);
  return "";
}

}  // namespace

int invariance() {
  const Ground ground;
  int checks = 0, different = 0;
  constexpr int n = 768, k = 2304, most = 700;
  for (const GemmConfig& config : gemm_configs()) {
    Case c = make_case(config.scaling != Scaling::none ? Kind::blockwise
                       : size_of(config.a) == 1        ? Kind::fp8
                                                       : Kind::bf16,
                       most, n, k);
    GemmProblem p = c.problem;
    p.a.type = config.a;
    p.b.type = config.b;
    p.scaling = config.scaling;
    p.a.major = config.a_major;
    p.b.major = config.b_major;
    if (config.a_major == Major::mn) p.a.stride = (most + 15) / 16 * 16;
    if (config.b_major == Major::mn) p.b.stride = n;
    p.a_scales.stride = most;
    p.b_scales.stride = n;
    for (const int splits : {1, 3}) {
      // The same memory for every M: its first rows.
      Operands operands(p, Fill::normal, 11, ground.stream);
      std::vector<uint64_t> rows;
      bool skipped = false;
      for (const int m : {most, 1, 7, 64, 65, 128, 300, most}) {
        GemmProblem part = operands.problem();
        part.m = m;
        const auto plan = plan_gemm(part, config, splits, gpu::chip_limits());
        if (!plan) {
          fmt::print("{}, {} splits: {}\n", config.key, splits, plan.error());
          skipped = true;
          break;
        }
        for (int again = 0; again < 3; ++again) {
          operands.reset_output(ground.stream);
          check(gpu::run(part, *plan, ground.workspace(), ground.stream), config.key);
          for (int row = 0; row < m; row += 9) {
            const uint64_t hash = operands.hash_row(0, row, ground.stream);
            if (rows.size() < most) rows.resize(most);
            uint64_t& expected = rows[static_cast<size_t>(row)];
            if (expected == 0) expected = hash;
            ++checks;
            if (expected != hash) {
              ++different;
              fmt::print("{}, {} splits: row {} has other bits with m = {} (time {})\n", config.key, splits, row, m,
                         again + 1);
            }
          }
        }
      }
      if (skipped) continue;
      if (operands.verify(ground.stream).wrong > 0) {
        ++different;
        fmt::print("{}, {} splits: wrong\n", config.key, splits);
      }
      const uint64_t plain = operands.hash(ground.stream);
      operands.reset_output(ground.stream);
      const auto plan = plan_gemm(operands.problem(), config, splits, gpu::chip_limits());
      if (std::string trouble = run_as_graph(operands.problem(), *plan, ground); !trouble.empty()) {
        ++different;
        fmt::print("{}, {} splits: not captured into a graph: {}\n", config.key, splits, trouble);
      } else if (operands.hash(ground.stream) != plain) {
        ++different;
        fmt::print("{}, {} splits: other bits from a graph\n", config.key, splits);
      }
    }
  }
  fmt::print("invariance: {} rows compared over {} configurations, and a graph of each; {} differed\n", checks,
             gemm_configs().size(), different);
  return different > 0 ? 1 : 0;
}

}  // namespace warploom::bench
