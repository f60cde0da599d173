// warploom: runs the library's kernels on the loom and explains what happened.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace {

void problem_options(CLI::App& command, warploom::cli::RunArguments& a) {
  command.add_option("kernel", a.kernel, "Which kernel (warploom kernels lists them)")->required();
  command.add_option("--m", a.m, "Rows of A and D")->capture_default_str();
  command.add_option("--n", a.n, "Rows of B, columns of D")->capture_default_str();
  command.add_option("--k", a.k, "Columns of A and B; rows are padded to 16 bytes, so any will do")
      ->capture_default_str();
  command.add_option("--alpha", a.alpha, "D = alpha * A * B^T + beta * C")->capture_default_str();
  command.add_option("--beta", a.beta, "0 leaves the residual C out")->capture_default_str();
  command.add_option("--on", a.on, "Where to run")->capture_default_str();
  command.add_option("--config", a.config, "Configuration (warploom kernels lists them); default by shape");
  command.add_option("--schedule", a.schedule,
                     "Whole schedule string, as reports print it: random:7f3a, lazy:0:skew=1");
  command.add_option("--policy", a.policy, "eager, lazy, random or adversarial");
  command.add_option("--seed", a.seed, "Seed of the schedule; alone it means --policy random")->capture_default_str();
  command.add_option("--fill", a.fill, "Data: normal, or integer for bit-exact comparison")->capture_default_str();
  command.add_option("--data-seed", a.data_seed, "Seed of the data")->capture_default_str();
  command.add_option("--sms", a.sms, "SMs of the chip; fewer means more tiles per CTA")->capture_default_str();
  command.add_option("--workers", a.workers, "OS threads; 0: one per core")->capture_default_str();
  command.add_flag("--json", a.json, "JSON on standard output");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Warp-specialised tensor-core kernels, executed and explained on the CPU", "warploom"};
  app.require_subcommand(1);

  warploom::cli::RunArguments run;
  CLI::App* run_command = app.add_subcommand("run", "Runs a kernel and checks its result against double precision");
  problem_options(*run_command, run);
  run_command->add_flag("--timeline", run.timeline, "Shows roles and engines over time");
  run_command->add_flag("--sites", run.sites, "Runs the kernel once and lists its barrier operations");
  run_command->add_option("--mutate", run.mutate, "ALTERATION@SITE: alters one barrier operation, e.g. drop@7");

  warploom::cli::RunArguments mutate;
  mutate.m = 256;
  mutate.n = 384;
  mutate.k = 1664;
  mutate.beta = 1.0f;
  mutate.sms = 2;
  CLI::App* mutate_command =
      app.add_subcommand("mutate", "Alters every barrier operation of a kernel in every way, one run each");
  problem_options(*mutate_command, mutate);

  bool machine_json = false;
  CLI::App* machine_command = app.add_subcommand("machine", "Says what the loom is");
  machine_command->add_flag("--json", machine_json, "JSON on standard output");
  bool kernels_json = false;
  CLI::App* kernels_command = app.add_subcommand("kernels", "Lists kernels and their configurations");
  kernels_command->add_flag("--json", kernels_json, "JSON on standard output");
  CLI::App* demo_command = app.add_subcommand("demo", "Three acts: a run, a report, what to try next");

  CLI11_PARSE(app, argc, argv);
  const bool color = isatty(STDOUT_FILENO) != 0;
  if (*run_command) return warploom::cli::run(run);
  if (*mutate_command) return warploom::cli::mutate(mutate);
  if (*machine_command) return warploom::cli::machine(machine_json);
  if (*kernels_command) return warploom::cli::kernels(kernels_json);
  if (*demo_command) return warploom::cli::demo(color);
  return 2;
}
