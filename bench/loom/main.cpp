// The speed of the loom in `fast` numerics: bf16 GEMMs of a Hopper and of a Blackwell kernel beside OpenBLAS' sgemm of
// the same size, in one run, launch by launch in turn. `./dev bench loom` builds and runs it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "contenders.hpp"
#include "sweep_plot.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  int m = 4096, n = 4096, k = 4096;
  unsigned threads = 2;
  int repeat = 3;
  int sms = 0;  ///< 0: two for each thread, which runs one cluster at a time
  std::string config = "bf16-kk-128x256-coop-2x1";
  std::string core;
  std::string json;
  std::string only;
  std::string plot;
  int exact_size = 1024;
  bool no_openblas = false, sweep = false, checked = false;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One who multiplies, and what was measured of it. `cpu`: seconds of all threads together, which other programs on the
/// machine disturb less.
struct Contender {
  std::string name, detail;
  std::function<Result<double>()> run;
  std::vector<double> seconds, cpu;
  double flops = 0;
};

LoomProblem random_problem(int m, int n, int k, const Arguments& arguments) {
  LoomProblem problem{.m = m,
                      .n = n,
                      .k = k,
                      .threads = arguments.threads,
                      .sms = arguments.sms,
                      .numerics = {},
                      .check = false,
                      .a = {},
                      .b = {}};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<bf16> values(65521);  // a prime: no two rows are alike
  for (bf16& value : values) value = to_bf16(normal(random));
  const auto fill = [&](Matrix& matrix, int rows, size_t from) {
    matrix.resize(static_cast<size_t>(rows) * static_cast<size_t>(k));
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = values[(i + from) % values.size()];
  };
  fill(problem.a, m, 0);
  fill(problem.b, n, 31337);
  return problem;
}

/// Some elements of D, drawn at random, in double precision: within what rounding to bf16 and sums in f32 allow. A look
/// between two timings of a problem that the other contenders have, too; GemmData::compare judges every element.
std::string check(const LoomProblem& p, const Matrix& d) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const size_t row = random() % static_cast<size_t>(p.m), column = random() % static_cast<size_t>(p.n);
    const auto depth = static_cast<size_t>(p.k);
    double sum = 0, size = 0;
    for (size_t k = 0; k < depth; ++k) {
      const double product = static_cast<double>(to_float(p.a[row * depth + k])) * to_float(p.b[column * depth + k]);
      sum += product;
      size += std::abs(product);
    }
    const double got = to_float(d[row * static_cast<size_t>(p.n) + column]);
    if (!(std::abs(got - sum) <= std::abs(sum) / 256 + size * 1e-6))
      return fmt::format("D({}, {}) is {}, not {}", row, column, got, sum);
  }
  return {};
}

double flops_of(const LoomProblem& p) { return 2.0 * p.m * p.n * p.k; }

Contender loom_contender(const std::string& name, const LoomProblem& problem,
                         std::function<Result<LoomResult>()> multiply) {
  return {name,
          "",
          [&problem, multiply = std::move(multiply)]() -> Result<double> {
            Result<LoomResult> result = multiply();
            if (!result) return Error{result.error()};
            if (std::string wrong = check(problem, result->d); !wrong.empty()) return Error{wrong};
            return result->seconds;
          },
          {},
          {},
          flops_of(problem)};
}

/// Runs all of them in turn; an error text or "".
std::string measure(std::vector<Contender>& contenders, int repeat) {
  for (int round = 0; round < repeat; ++round)
    for (Contender& contender : contenders) {
      const double before = cpu_seconds();
      const Result<double> seconds = contender.run();
      if (!seconds) return contender.name + ": " + seconds.error();
      contender.seconds.push_back(*seconds);
      contender.cpu.push_back(cpu_seconds() - before);
    }
  return {};
}

int fail(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  return 1;
}

int compare(const Arguments& arguments) {
  const LoomProblem problem = random_problem(arguments.m, arguments.n, arguments.k, arguments);
  std::string config = arguments.config;
  std::vector<Contender> contenders;
  std::vector<float> a, b, d;
  std::optional<OpenBlas> blas;
  if (!arguments.no_openblas) {
    Result<OpenBlas> opened = OpenBlas::open(arguments.core, arguments.threads);
    if (!opened) return fail(opened.error());
    blas = *opened;
    for (const bf16 value : problem.a) a.push_back(to_float(value));
    for (const bf16 value : problem.b) b.push_back(to_float(value));
    d.resize(static_cast<size_t>(problem.m) * static_cast<size_t>(problem.n));
    contenders.push_back(
        {"OpenBLAS sgemm",
         blas->version() + ", core " + blas->core(),
         [&]() -> Result<double> { return blas->run(problem.m, problem.n, problem.k, a.data(), b.data(), d.data()); },
         {},
         {},
         flops_of(problem)});
  }
  if (arguments.only != "blackwell")
    contenders.push_back(loom_contender("loom, Hopper", problem, [&] { return run_hopper(problem, config); }));
  if (arguments.only != "hopper")
    contenders.push_back(loom_contender("loom, Blackwell", problem, [&] { return run_blackwell(problem); }));
  LoomProblem checked_problem = problem;
  checked_problem.check = true;
  if (arguments.checked && arguments.only != "blackwell")
    contenders.push_back(
        loom_contender("Hopper, checked", checked_problem, [&] { return run_hopper(checked_problem, config); }));
  if (arguments.checked && arguments.only != "hopper")
    contenders.push_back(
        loom_contender("Blackwell, chk.", checked_problem, [&] { return run_blackwell(checked_problem); }));
  // Sums as the tensor core rounds them take longer: a smaller problem says as much.
  const int size = arguments.exact_size;
  LoomProblem exact_problem = size == 0 ? LoomProblem{} : random_problem(size, size, size, arguments);
  exact_problem.numerics = loom::Numerics::exact;
  if (size != 0 && arguments.only != "blackwell")
    contenders.push_back(
        loom_contender("loom, exact", exact_problem, [&] { return run_hopper(exact_problem, config); }));
  if (std::string wrong = measure(contenders, arguments.repeat); !wrong.empty()) return fail(wrong);
  for (Contender& contender : contenders) {
    if (contender.name == "loom, Hopper") contender.detail = config;
    if (contender.name == "loom, Blackwell") contender.detail = "examples/blackwell_gemm_kernel.hpp, CTA pairs";
    if (contender.name == "loom, exact") contender.detail = fmt::format("{}, {} x {} x {}", config, size, size, size);
  }

  const char* forced_core = std::getenv("OPENBLAS_CORETYPE");
  const std::string forced = forced_core == nullptr ? "" : forced_core;
  Json json{{"m", problem.m},
            {"n", problem.n},
            {"k", problem.k},
            {"threads", problem.threads},
            {"sms", problem.sms},
            {"repeat", arguments.repeat},
            {"openblas_core_forced", forced},
            {"entries", Json::array()}};
  fmt::print("bf16 {} x {} x {}, {} threads, {} rounds; kernels for {} SMs; OPENBLAS_CORETYPE={}\n", problem.m,
             problem.n, problem.k, problem.threads, arguments.repeat, problem.sms, forced);
  fmt::print("{:<16} {:>9} {:>9} {:>14} {:>9}  {}\n", "", "median", "fastest", "per core-sec.", "ratio", "GFLOP/s");
  for (const Contender& contender : contenders) {
    const double flops = contender.flops;
    const double middle = flops / median(contender.seconds) * 1e-9;
    const double fastest = flops / *std::min_element(contender.seconds.begin(), contender.seconds.end()) * 1e-9;
    const double per_core = flops / median(contender.cpu) * 1e-9;
    Json entry{{"name", contender.name},      {"detail", contender.detail},         {"gflops", middle},
               {"gflops_fastest", fastest},   {"gflops_per_core_second", per_core}, {"seconds", contender.seconds},
               {"cpu_seconds", contender.cpu}};
    std::string ratio;
    if (blas && contender.name != "loom, exact") {
      std::vector<double> ratios;
      for (size_t i = 0; i < contender.seconds.size(); ++i)
        ratios.push_back(contenders[0].seconds[i] / contender.seconds[i]);
      entry["ratio_to_openblas"] = median(ratios);
      ratio = fmt::format("{:.3f}", median(ratios));
    }
    fmt::print("{:<16} {:>9.1f} {:>9.1f} {:>14.1f} {:>9}  {}\n", contender.name, middle, fastest, per_core, ratio,
               contender.detail);
    json["entries"].push_back(std::move(entry));
  }
  json["peak_mebibytes"] = peak_mebibytes();
  fmt::print("peak memory of all of it: {:.0f} MiB\n", peak_mebibytes());
  if (!arguments.json.empty()) std::ofstream(arguments.json) << json.dump(2) << "\n";
  return 0;
}

/// One extent at a time from an eighth to the whole, the others at half: the cost of each should be linear. Core
/// seconds, the least of all rounds: other programs disturb those least.
int sweep(const Arguments& arguments) {
  Json json{{"threads", arguments.threads}, {"points", Json::array()}, {"fits", Json::array()}};
  std::vector<Series> all;
  fmt::print("{:<16} {:>6} {:>6} {:>6} {:>10} {:>10} {:>9}\n", "", "m", "n", "k", "seconds", "core-sec.", "GFLOP/s");
  for (const char along : {'m', 'n', 'k'}) {
    std::vector<Series> here;
    for (int eighth = 1; eighth <= 8; ++eighth) {
      const auto extent = [&](char which, int whole) { return which == along ? whole * eighth / 8 : whole / 2; };
      const LoomProblem problem =
          random_problem(extent('m', arguments.m), extent('n', arguments.n), extent('k', arguments.k), arguments);
      std::string config = arguments.config;
      std::vector<Contender> contenders;
      if (arguments.only != "blackwell")
        contenders.push_back(loom_contender("loom, Hopper", problem, [&] { return run_hopper(problem, config); }));
      if (arguments.only != "hopper")
        contenders.push_back(loom_contender("loom, Blackwell", problem, [&] { return run_blackwell(problem); }));
      if (std::string wrong = measure(contenders, arguments.repeat); !wrong.empty()) return fail(wrong);
      here.resize(contenders.size());
      for (size_t i = 0; i < contenders.size(); ++i) {
        const Contender& contender = contenders[i];
        const double seconds = *std::min_element(contender.seconds.begin(), contender.seconds.end());
        const double cpu = *std::min_element(contender.cpu.begin(), contender.cpu.end());
        const int x = along == 'm' ? problem.m : along == 'n' ? problem.n : problem.k;
        here[i].along = along;
        here[i].name = contender.name;
        here[i].points.push_back({static_cast<double>(x), cpu});
        fmt::print("{:<16} {:>6} {:>6} {:>6} {:>10.3f} {:>10.3f} {:>9.1f}\n", contender.name, problem.m, problem.n,
                   problem.k, seconds, cpu, contender.flops / seconds * 1e-9);
        json["points"].push_back({{"name", contender.name},
                                  {"along", std::string(1, along)},
                                  {"m", problem.m},
                                  {"n", problem.n},
                                  {"k", problem.k},
                                  {"seconds", seconds},
                                  {"cpu_seconds", cpu}});
      }
    }
    all.insert(all.end(), here.begin(), here.end());
  }
  fmt::print("\nlines through them, in core seconds\n");
  for (Series& series : all) {
    series.fit = linear_fit(series.points);
    const double whole = series.points.back().x;
    fmt::print("{:<16} along {}: {:.3f} + {:.3f} * {} / {:.0f}; the worst point is {:.1f} % off\n", series.name,
               series.along, series.fit.offset, series.fit.slope * whole, series.along, whole, 100 * series.fit.worst);
    json["fits"].push_back({{"name", series.name},
                            {"along", series.along},
                            {"offset", series.fit.offset},
                            {"slope", series.fit.slope},
                            {"worst", series.fit.worst}});
  }
  if (!arguments.json.empty()) std::ofstream(arguments.json) << json.dump(2) << "\n";
  if (!arguments.plot.empty()) std::ofstream(arguments.plot) << sweep_svg(all);
  return 0;
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  using namespace warploom::bench;
  Arguments arguments;
  CLI::App app("GFLOP/s of bf16 GEMMs on the loom, beside OpenBLAS' sgemm of the same size in the same run");
  app.option_defaults()->always_capture_default();
  app.add_option("--m", arguments.m, "Rows of A and D")->check(CLI::PositiveNumber);
  app.add_option("--n", arguments.n, "Rows of B, columns of D; a multiple of 8")->check(CLI::PositiveNumber);
  app.add_option("--k", arguments.k, "Columns of A and B; a multiple of 8")->check(CLI::PositiveNumber);
  app.add_option("--threads", arguments.threads, "Of everybody")->check(CLI::Range(1, 1024));
  app.add_option("--sms", arguments.sms,
                 "Of the chip that kernels are launched for: so many CTAs run at a time; 0: two per thread")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", arguments.repeat, "Rounds")->check(CLI::Range(1, 1000));
  app.add_option("--config", arguments.config, "Of the Hopper GEMM (warploom kernels lists them); auto: by shape");
  app.add_option("--openblas-core", arguments.core, "Forces OPENBLAS_CORETYPE; default: by this processor's vectors");
  app.add_option("--only", arguments.only, "Of the kernels on the loom, this one")
      ->check(CLI::IsMember({"hopper", "blackwell"}));
  app.add_flag("--checked", arguments.checked, "Also under the checker");
  app.add_flag("--no-openblas", arguments.no_openblas, "Measures the loom alone");
  CLI::Option* swept = app.add_flag("--sweep", arguments.sweep, "Varies m, n and k one by one instead, the loom alone");
  app.add_option("--plot", arguments.plot, "With --sweep: a file for an SVG of it")->needs(swept);
  app.add_option("--exact", arguments.exact_size, "Also exact numerics, m = n = k = this; 0: not")
      ->check(CLI::Range(0, 1 << 16));
  app.add_option("--json", arguments.json, "A file for all figures");
  CLI11_PARSE(app, argc, argv);
  if (arguments.exact_size % 8 != 0) return fail("--exact must be a multiple of 8: rows of 16 bytes");
  if (arguments.sweep && (arguments.m % 8 != 0 || arguments.n % 64 != 0 || arguments.k % 64 != 0))
    return fail("--sweep takes eighths: --m must be a multiple of 8, --n and --k of 64");
  if (arguments.n % 8 != 0 || arguments.k % 8 != 0) return fail("--n and --k must be multiples of 8: rows of 16 bytes");
  if (arguments.sms == 0) arguments.sms = 2 * static_cast<int>(arguments.threads);
  return arguments.sweep ? sweep(arguments) : compare(arguments);
}
