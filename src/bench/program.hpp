// The benchmark as a program: its options, and the part of its work that needs no GPU. `warploom bench` and
// warploom-bench are this, and differ in nothing.
//
//   bench::Arguments arguments;
//   bench::add_options(app, arguments);              // to a program or to a subcommand
//   app.parse(argc, argv);
//   return bench::run(arguments);                    // 0 right, 1 a wrong result, 2 bad input or no GPU
#pragma once

#include <string>
#include <vector>

#include "bench/cases.hpp"

namespace CLI {
class App;
}

namespace warploom::bench {

struct Arguments {
  std::vector<std::string> suites, shapes;
  std::string kind = "bf16", config, protocol = "cold", json, svg, cublaslt, only;
  std::string reference = "bench/reference_h200.json";
  int splits = 0, repeat = 30;
  bool all_plans = false, list = false, no_cublaslt = false, invariance = false;
  double seconds = 0, hold = 2, pause = 4;
  int random = 0;
  uint64_t seed = 1;
  double soak = 0;
  std::string exact_hashes, exact_expected;
};

/// What the programs say of themselves.
extern const char* const description;
void add_options(CLI::App& app, Arguments& arguments);

/// What needs a GPU comes with bench/on_gpu.cpp, which says so before main; a program without it lists cases only.
using OnGpu = int (*)(const Arguments& arguments, const std::vector<Case>& cases);
void set_on_gpu(OnGpu on_gpu);

int run(const Arguments& arguments);

}  // namespace warploom::bench
