#include "bench/contenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "warploom/gpu/gemm.hpp"

namespace warploom::bench {
namespace {

/// A contender, with the problem that its result is judged by.
struct Candidate {
  Contender contender;
  GemmProblem judged;
  bool rounds_twice = false;  ///< a pass after the GEMM: its error is shown, and cannot make it wrong
};

using Sets = std::vector<std::unique_ptr<Operands>>;

Result<Candidate> ours(const Sets& sets, const GemmPlan& plan, const GemmProblem& shape, std::string name,
                       const Setup& setup) {
  std::vector<gpu::Prepared> prepared;
  for (const auto& set : sets) {
    GemmProblem problem = set->problem();  // pointers from there, epilogue from the shape
    problem.beta = shape.beta;
    problem.bias.along = shape.bias.along;
    problem.activation = shape.activation;
    auto made = gpu::prepare(problem, plan, {setup.workspace->data(), setup.workspace->bytes()});
    if (!made) return Error{made.error()};
    prepared.push_back(*made);
  }
  return Candidate{{std::move(name), describe(plan),
                    [prepared = std::move(prepared)](int set, cudaStream_t stream) {
                      return gpu::launch(prepared[static_cast<size_t>(set)], stream);
                    }},
                   sets.front()->problem()};
}

/// The algorithm that is fastest in a few cold launches.
Result<Candidate> cublaslt(const Sets& sets, const GemmProblem& shape, LtScales scales, std::string name,
                           const Setup& setup) {
  if (setup.cublaslt == nullptr) return Error{"no cuBLASLt here"};
  const auto problem_of = [&](const Operands& set) {
    GemmProblem problem = set.problem();
    problem.beta = shape.beta;
    problem.bias.along = shape.bias.along;
    problem.activation = shape.activation;
    return problem;
  };
  const auto matmul = setup.cublaslt->make(problem_of(*sets.front()), scales, 8);
  if (!matmul) return Error{matmul.error()};
  std::vector<GemmProblem> problems;
  for (const auto& set : sets) problems.push_back(problem_of(*set));
  const auto with = [&](int algorithm) {
    return Contender{name, CublasLt::describe(**matmul, algorithm),
                     [matmul = *matmul, problems, algorithm](int set, cudaStream_t stream) {
                       return CublasLt::launch(*matmul, algorithm, problems[static_cast<size_t>(set)], stream);
                     }};
  };
  int best = -1;
  std::vector<Contender> able;
  std::vector<int> numbers;
  std::string trouble;
  for (int algorithm = 0; algorithm < CublasLt::algorithms(**matmul); ++algorithm) {
    Contender contender = with(algorithm);
    if (std::string why = contender.launch(0, setup.stream); !why.empty()) {
      trouble = why;
      continue;
    }
    able.push_back(std::move(contender));
    numbers.push_back(algorithm);
  }
  if (able.empty()) return Error{trouble};
  const std::vector<Timing> timings =
      time_cold(able, {.repeat = 8, .sets = static_cast<int>(sets.size()), .pause_ms = setup.timing.pause_ms},
                *setup.flush, setup.stream);
  for (size_t i = 0; i < timings.size(); ++i)
    if (best < 0 || timings[i].microseconds < timings[static_cast<size_t>(best)].microseconds)
      best = static_cast<int>(i);
  GemmProblem judged = sets.front()->problem();
  if (scales == LtScales::tensor) judged.scaling = Scaling::none;
  return Candidate{with(numbers[static_cast<size_t>(best)]), judged};
}

/// The same with the epilogue in a pass of its own.
Candidate with_pass(Candidate base, const Sets& sets, std::string name) {
  std::vector<ElementwisePass> passes;
  for (const auto& set : sets) {
    const GemmProblem& p = set->problem();
    passes.push_back(
        {p.d.data, p.c.data, p.bias.along == BiasAlong::n ? p.bias.data : nullptr, p.m, p.n, p.beta, p.activation});
  }
  base.contender.name = std::move(name);
  base.contender.launch = [plain = base.contender.launch, passes](int set, cudaStream_t stream) {
    std::string trouble = plain(set, stream);
    if (trouble.empty()) elementwise_pass(passes[static_cast<size_t>(set)], stream);
    return trouble;
  };
  base.contender.detail += ", then a pass";
  base.judged = sets.front()->problem();
  base.rounds_twice = true;
  return base;
}

/// Every legal plan, timed in a few cold launches and listed, the fastest first; that one is returned.
Result<Candidate> tuned(const Sets& sets, const Case& what, const Setup& setup, std::vector<TimedPlan>& timed) {
  std::vector<GemmPlan> plans = gemm_plans(sets.front()->problem(), gpu::chip_limits());
  std::vector<Candidate> candidates;
  std::vector<Contender> contenders;
  std::vector<GemmPlan> kept;
  for (const GemmPlan& plan : plans) {
    auto made = ours(sets, plan, what.problem, "warploom best", setup);
    if (!made) continue;
    contenders.push_back(made->contender);
    candidates.push_back(std::move(*made));
    kept.push_back(plan);
  }
  if (candidates.empty()) return Error{"no plan is legal"};
  const std::vector<Timing> timings =
      time_cold(contenders, {.repeat = 8, .sets = static_cast<int>(sets.size()), .pause_ms = setup.timing.pause_ms},
                *setup.flush, setup.stream);
  std::vector<size_t> order(timings.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return timings[a].microseconds < timings[b].microseconds; });
  fmt::print("{}\n", what.label());
  for (const size_t i : order) {
    fmt::print("  {:9.2f} us  {:7.1f} TFLOP/s  predicted {:9.2f} us  {}\n", timings[i].microseconds,
               what.flops() / timings[i].microseconds * 1e-6, kept[i].predicted_us, candidates[i].contender.detail);
    timed.push_back({kept[i].config->key, kept[i].splits, raster_text(kept[i].raster), kept[i].predicted_us,
                     timings[i].microseconds});
  }
  return candidates[order.front()];
}

bool plain(const GemmProblem& p) {
  return p.beta == 0 && p.bias.along == BiasAlong::none && p.activation == Activation::none;
}

}  // namespace

Row measure(const Case& what, const Setup& setup) {
  Row row{what, {}, {}};
  Sets sets;
  sets.push_back(std::make_unique<Operands>(what.problem, Fill::normal, 1, setup.stream));
  const size_t bytes = std::max<size_t>(sets.front()->bytes(), 1);
  // Where operands lie moves a small launch by up to 5 %, one contender's up and the other's down.
  constexpr size_t places_of_small = 4, small = size_t{256} << 20;
  const size_t wanted = setup.protocol != Protocol::cold ? std::min<size_t>(2 * setup.l2_bytes / bytes + 2, 64)
                        : bytes <= small                 ? places_of_small
                                                         : 1;
  for (size_t i = 1; i < wanted; ++i)
    sets.push_back(std::make_unique<Operands>(what.problem, Fill::normal, i + 1, setup.stream));
  const GemmProblem& problem = sets.front()->problem();
  ProtocolOptions timing = setup.timing;
  timing.sets = static_cast<int>(sets.size());

  std::vector<Candidate> candidates;
  std::vector<size_t> places;  // of the candidates among the entries
  const auto take = [&](const char* name, Result<Candidate> made) {
    if (made) {
      places.push_back(row.entries.size());
      row.entries.push_back({.name = made->contender.name, .detail = made->contender.detail});
      candidates.push_back(std::move(*made));
    } else {
      row.entries.push_back({.name = name, .absent = made.error()});
    }
  };
  const auto planned = [&](const GemmProblem& of) -> Result<GemmPlan> {
    return plan_for(setup.config, setup.splits, of, gpu::chip_limits());
  };
  const auto mine = [&](const GemmProblem& of) -> Result<Candidate> {
    const auto plan = planned(of);
    if (!plan) return Error{plan.error()};
    return ours(sets, *plan, of, "warploom", setup);
  };
  take("warploom", mine(problem));
  if (setup.all_plans) take("warploom best", tuned(sets, what, setup, row.plans));
  GemmProblem bare = problem;
  bare.beta = 0;
  bare.bias.along = BiasAlong::none;
  bare.activation = Activation::none;
  auto lt = cublaslt(sets, problem, LtScales::as_problem, "cuBLASLt", setup);
  if (!lt && !plain(problem)) {
    auto alone = cublaslt(sets, bare, LtScales::as_problem, "cuBLASLt", setup);
    if (alone) lt = with_pass(std::move(*alone), sets, "cuBLASLt");
  }
  take("cuBLASLt", std::move(lt));
  if (what.kind == Kind::blockwise)
    take("cuBLASLt tensor", cublaslt(sets, problem, LtScales::tensor, "cuBLASLt tensor", setup));
  if (!plain(problem) && problem.d.type == DType::bf16 && problem.n % 8 == 0) {
    auto alone = mine(bare);
    if (alone) take("warploom, two passes", with_pass(std::move(*alone), sets, "warploom, two passes"));
  }

  // Is everyone right?
  for (size_t i = 0; i < candidates.size(); ++i) {
    Entry& entry = row.entries[places[i]];
    sets.front()->reset_output(setup.stream);
    check(candidates[i].contender.launch(0, setup.stream), entry.name.c_str());
    const Comparison found = sets.front()->verify(candidates[i].judged, setup.stream);
    entry.worst_error = found.worst;
    if (found.wrong > 0 && !candidates[i].rounds_twice)
      entry.wrong = fmt::format("{} elements; D[{}][{}] is {}, and should be {}", found.wrong, found.row, found.column,
                                found.got, found.wanted);
  }

  std::vector<Contender> contenders;
  for (const Candidate& candidate : candidates) contenders.push_back(candidate.contender);
  if (contenders.empty()) return row;
  const std::vector<Timing> timings =
      setup.protocol == Protocol::cold       ? time_cold(contenders, timing, *setup.flush, setup.stream)
      : setup.protocol == Protocol::rotating ? time_rotating(contenders, timing, setup.stream)
                                             : time_sustained(contenders, timing, *setup.nvml, setup.stream);
  for (size_t i = 0; i < timings.size(); ++i) {
    Entry& entry = row.entries[places[i]];
    entry.microseconds = timings[i].microseconds;
    entry.fastest = timings[i].fastest;
    entry.slowest = timings[i].slowest;
    entry.clock_mhz = timings[i].clock_mhz;
    entry.watts = timings[i].watts;
  }
  return row;
}

}  // namespace warploom::bench
