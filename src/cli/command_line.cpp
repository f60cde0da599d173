#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

#include "bench/program.hpp"
#include "cli/commands.hpp"
#include "cli/ptx.hpp"
#include "cli/tell.hpp"
#include "cli/text.hpp"
#include "cli/values.hpp"

namespace warploom::cli {
namespace {

void problem_options(CLI::App& command, RunArguments& a) {
  command.add_option("kernel", a.kernel, "Which kernel (warploom kernels lists them)")->required();
  command.add_option("--m", a.m, "Rows of A and D")->capture_default_str();
  command.add_option("--n", a.n, "Rows of B, columns of D")->capture_default_str();
  command.add_option("--k", a.k, "Columns of A and B; rows are padded to 16 bytes, so any will do")
      ->capture_default_str();
  command.add_option("--alpha", a.alpha, "D = act(alpha * A * B^T + beta * C + bias)")->capture_default_str();
  command.add_option("--beta", a.beta, "0 leaves the residual C out")->capture_default_str();
  command.add_option("--batch", a.batch, "Matrices; on sm_90 without scales only")->capture_default_str();
  command.add_option("--a-type", a.a_type, "bf16, f16, e4m3, e5m2, or on sm_100 f32 (as tf32); gemm only")
      ->capture_default_str();
  command.add_option("--b-type", a.b_type, "As --a-type")->capture_default_str();
  command.add_option("--d-type", a.d_type, "bf16, f16, f32 or e4m3; C has the same, or bf16 for e4m3")
      ->capture_default_str();
  command.add_option("--a-major", a.a_major, "k: A is [M, K]; mn: [K, M]; gemm only")->capture_default_str();
  command.add_option("--b-major", a.b_major, "k: B is [N, K]; mn: [K, N]; gemm only")->capture_default_str();
  command.add_option("--b-scales", a.b_scales, "blockwise-fp8: blocks of 128 x 128, or rows of 1 x 128")
      ->capture_default_str();
  command.add_option("--bias", a.bias, "Adds a bias along n or m");
  command.add_option("--bias-type", a.bias_type, "f32, bf16 or f16")->capture_default_str();
  command.add_option("--activation", a.activation, "none, relu, gelu, gelu_tanh or silu")->capture_default_str();
  command.add_option("--sms", a.sms, "SMs of the chip, 0: all; fewer means more tiles per CTA")->capture_default_str();
  command.add_flag("--json", a.json, "JSON on standard output");
}

void run_options(CLI::App& command, RunArguments& a) {
  command.add_option("--on", a.on,
                     "loom:sm90, loom:sm100 or gpu; default: gemm on loom:sm90, blockwise-fp8 on loom:sm100");
  command.add_option("--config", a.config, "Configuration (warploom kernels lists them), or auto: by shape");
  command.add_option("--splits", a.splits, "CTAs that share the K of a tile; 0: the planner's choice")
      ->capture_default_str();
  command.add_option("--tensors", a.tensors, "A safetensors file: a, b, and as asked for c, bias, a_scales, b_scales");
  command.add_option("--schedule", a.schedule,
                     "Whole schedule string, as reports print it: random:7f3a, lazy:0:skew=1");
  command.add_option("--policy", a.policy, "eager, lazy, random or adversarial");
  command.add_option("--seed", a.seed, "Seed of the schedule; alone it means --policy random")->capture_default_str();
  command.add_option("--numerics", a.numerics, "fast, or exact: the tensor core's own sums, bit for bit")
      ->capture_default_str();
  command
      .add_option("--data,--fill", a.fill,
                  "normal, uniform, integer for bit-exact comparison, or ring: modulo a small prime, so "
                  "that rounding hides nothing")
      ->capture_default_str();
  command.add_option("--data-seed", a.data_seed, "Seed of the data")->capture_default_str();
  command.add_option("--workers", a.workers, "OS threads; 0: one per core")->capture_default_str();
}

void check_options(CLI::App& command, RunArguments& a, CheckArguments& how) {
  command.get_option("kernel")->required(false);
  command.add_option("--mode", a.fill, "The same as --data");
  command.add_option("--replay", a.schedule, "The same as --schedule");
  command.add_option("--mutate", a.mutate, "MUTATION@SITE: alters one barrier operation, e.g. drop@7");
  command.add_flag("--all", how.all, "Every kernel of the library in every configuration");
  command.add_flag("--explore", how.explore, "Tries schedules even where one run speaks for all");
  command.add_option("--schedules", how.schedules,
                     "How many at most, where the run depends on them; 256, or 16 of each with --all");
  command.add_option("--deviations", how.deviations, "How often one schedule goes against the usual course at most")
      ->capture_default_str();
  command.add_option("--seconds", how.seconds, "No new schedule after so long; 0: no limit")->capture_default_str();
  command.add_option("--resume", how.resume,
                     "A file to keep the state of an exploration in, and to go on from if it is there: by the same "
                     "program, for the same problem, data and options");
  command.add_option("--suppress", how.suppress, "CODE, CODE@file or CODE@file:line: a finding to let pass");
}

constexpr const char* exit_codes =
    "Exit status: 0 right; 1 a finding or a wrong result; 2 bad input; 3 it could not be done (memory, threads,\n"
    "a file or standard output that cannot be written); 128 + the signal where one ended it.";

/// The options of a command that its user typed, by their first names.
std::set<std::string> given_to(const CLI::App& command) {
  std::set<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) names.insert(option->get_name());
  return names;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The word that names the command: the first that is no option. "": there is none.
std::string command_word(const std::vector<std::string>& words) {
  const auto first =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.starts_with('-'); });
  return first == words.end() ? "" : *first;
}

/// "" or what to type instead of a command line that names no command.
std::string why_no_command(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> known = names_of_commands(app);
  const std::string word = command_word(words);
  const auto asks = [](const std::string& option) {
    return option == "-h" || option == "--help" || option == "--version";
  };
  if (std::find(known.begin(), known.end(), word) != known.end()) return {};
  if (word.empty() && std::any_of(words.begin(), words.end(), asks)) return {};
  if (word.empty())
    return fmt::format("name a command: {} (warploom --help says what each does; warploom demo is a first look)",
                       in_words(known));
  return fmt::format("there is no command '{}'; the nearest are {} (warploom --help lists all)", word,
                     in_words(nearest(word, known)));
}

/// What the parser has to say, and the option that an unknown one may stand for.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& app) {
  std::string text = error.what();
  const auto chosen = app.get_subcommands();
  const bool below = !chosen.empty() && !chosen.front()->get_subcommands().empty();
  const CLI::App& command = chosen.empty() ? app : below ? *chosen.front()->get_subcommands().front() : *chosen.front();
  const std::string help =
      chosen.empty() ? "warploom --help" : fmt::format("warploom {}{} --help", below ? "ptx " : "", command.get_name());
  const std::string extra = text.substr(std::min(text.rfind(' ') + 1, text.size()));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || !extra.starts_with("--"))
    return fmt::format("{} ({} lists what is possible)", text, help);
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  return fmt::format("{}; the nearest are {} ({} lists all)", text, in_words(nearest(extra, options)), help);
}

}  // namespace

bool wants_json(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const size_t own = own_words({words.begin(), words.end()});
  const auto all_end = words.begin() + static_cast<std::ptrdiff_t>(own);
  const auto options_end = std::find(words.begin(), all_end, "--");
  return std::find(words.begin(), options_end, "--json") != options_end && words.front() != "bench";
}

int run_command_line(int argc, char** argv) {
  CLI::App app{"Warp-specialised tensor-core kernels, executed and explained on the CPU", "warploom"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "warploom " WARPLOOM_PROGRAM_VERSION);
  app.footer(exit_codes);

  RunArguments run;
  CLI::App* run_command = app.add_subcommand("run", "Runs a kernel and checks its result against double precision");
  problem_options(*run_command, run);
  run_options(*run_command, run);
  run_command->add_option("--out", run.out, "A safetensors file to write d to; a wrong result is not written");
  run_command->add_option("--launches", run.launches, "On a GPU: how often, for the median")->capture_default_str();
  run_command->add_flag("--timeline", run.timeline, "Shows roles and engines over time");
  run_command->add_flag("--sites", run.sites, "Runs the kernel once and lists its barrier operations");
  run_command->add_option("--mutate", run.mutate, "MUTATION@SITE: alters one barrier operation, e.g. drop@7");

  RunArguments check;
  CheckArguments how;
  check.m = 300;
  check.n = 520;
  check.k = 712;
  check.beta = 1.0f;
  check.sms = 4;
  CLI::App* check_command = app.add_subcommand(
      "check", "Follows every access and barrier of a kernel, and gives a verdict over all schedules where it can");
  problem_options(*check_command, check);
  run_options(*check_command, check);
  check_options(*check_command, check, how);

  RunArguments mutate;
  MutateArguments mutate_how;
  mutate.m = 256;
  mutate.n = 384;
  mutate.k = 1664;
  mutate.beta = 1.0f;
  mutate.sms = 2;
  CLI::App* mutate_command =
      app.add_subcommand("mutate", "Alters every barrier operation of a kernel in every way, one run each");
  problem_options(*mutate_command, mutate);
  run_options(*mutate_command, mutate);
  mutate_command->add_flag("--every-schedule", mutate_how.every_schedule,
                           "Each mutation under eight schedules, and whether they agree");
  mutate_command->add_flag("--unchecked", mutate_how.unchecked, "Without the checker: what the machine notices alone");

  RunArguments plan;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Says which configuration a GEMM would get, and what the others would cost");
  problem_options(*plan_command, plan);
  plan_command->add_option("--on", plan.on, "The chip: loom:sm90, loom:sm100, or gpu: this one; default as for run");

  PtxArguments ptx;
  CLI::App* ptx_command =
      app.add_subcommand("ptx", "Kernels of other compilers: runs and checks PTX and CUDA programs");
  const PtxCommands ptx_commands = ptx_options(*ptx_command, ptx);

  bench::Arguments bench;
  CLI::App* bench_command = app.add_subcommand("bench", bench::description);
  bench::add_options(*bench_command, bench);

  bool machine_json = false;
  CLI::App* machine_command = app.add_subcommand("machine", "Says what the loom is");
  machine_command->add_flag("--json", machine_json, "JSON on standard output");
  bool kernels_json = false;
  CLI::App* kernels_command = app.add_subcommand("kernels", "Lists kernels and their configurations");
  kernels_command->add_flag("--json", kernels_json, "JSON on standard output");
  std::string explain_code;
  bool explain_json = false;
  CLI::App* explain_command =
      app.add_subcommand("explain", "Says what a code of a report means, with the bug and its fix");
  explain_command->add_option("code", explain_code, "RACE-SMEM, DEADLOCK, ...; without it, all of them");
  explain_command->add_flag("--json", explain_json, "JSON on standard output");
  CLI::App* demo_command = app.add_subcommand("demo", "Three acts: a run, a report, what to try next");

  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) be_strict(*command);
  for (CLI::App* command : {ptx_commands.info, ptx_commands.launch, ptx_commands.run, ptx_commands.check})
    be_strict(*command);
  const bool json = wants_json(argc, argv);
  std::vector<std::string> words(argv + 1, argv + argc);
  // What follows the program of `ptx run` is the program's.
  const size_t own = own_words(words);
  ptx.program.assign(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
  if (!ptx.program.empty() && ptx.program.front() == "--") ptx.program.erase(ptx.program.begin());
  words.resize(own);
  if (std::string reason = why_no_command(app, words); !reason.empty()) return bad(reason, json);
  try {
    if (const std::string word = command_word(words); word == "ptx") {
      for (const CLI::App* command : ptx_command->get_subcommands([](const CLI::App*) { return true; }))
        if (words.size() > 1 && words[1] == command->get_name()) refuse_odd_values(*command, words);
    } else if (!word.empty()) {
      refuse_odd_values(*app.get_subcommand(word), words);
    }
    app.parse(static_cast<int>(own) + 1, argv);
  } catch (const BadValue& error) {
    return bad(error.what(), json);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return bad(sentence_of(error, app), json);
    std::ostringstream text;
    app.exit(error, text, text);  // --help, --version
    put(text.str());
    return right;
  }
  run.given = given_to(*run_command);
  check.given = given_to(*check_command);
  mutate.given = given_to(*mutate_command);
  plan.given = given_to(*plan_command);
  if (*run_command) return cli::run(run);
  if (*check_command) return cli::check(check, how);
  if (*mutate_command) return cli::mutate(mutate, mutate_how);
  if (*plan_command) return cli::plan(plan);
  if (*ptx_command) {
    const CLI::App& chosen = *ptx_command->get_subcommands().front();
    ptx.given = given_to(chosen);
    ptx.check |= *ptx_commands.check ? true : false;
    if (*ptx_commands.info) return ptx_info(ptx);
    return *ptx_commands.launch ? ptx_launch(ptx) : ptx_run(ptx);
  }
  if (*bench_command) return bench::run(bench);
  if (*machine_command) return machine(machine_json);
  if (*kernels_command) return kernels(kernels_json);
  if (*explain_command) return explain(explain_code, explain_json);
  if (*demo_command) return demo();
  return bad_input;
}

}  // namespace warploom::cli
