// warploom-bench: our GEMMs beside cuBLASLt on this GPU, and tests that need one; without the loom, so that it is built
// and carried to another machine quickly. `warploom bench` is the same.
#include <CLI/CLI.hpp>

#include "bench/program.hpp"

int main(int argc, char** argv) {
  CLI::App app{warploom::bench::description, "warploom-bench"};
  warploom::bench::Arguments arguments;
  warploom::bench::add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: --help
  }
  return warploom::bench::run(arguments);
}
