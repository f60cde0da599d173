// What `warploom ptx` takes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/ptx.hpp"

namespace warploom::cli {
namespace {

/// Options of `run` and `check` without a value; what stands behind any other is its value, and not the program.
constexpr std::array<std::string_view, 7> flags = {"--strict", "--sites", "--timeline", "--verbose",
                                                   "--json",   "--help",  "-h"};

void machine_options(CLI::App& command, PtxArguments& a) {
  command.add_option("--schedule,--replay", a.schedule,
                     "Whole schedule string, as reports print it: random:7f3a, lazy:0:skew=1; default: lazy");
  command.add_option("--policy", a.policy, "eager, lazy, random or adversarial");
  command.add_option("--seed", a.seed, "Seed of the schedule; alone it means --policy random")->capture_default_str();
  command.add_option("--numerics", a.numerics, "fast, or exact: the tensor core's own sums, bit for bit")
      ->capture_default_str();
  command.add_option("--on", a.chip, "loom:sm90 or loom:sm100; default: what the PTX asks for");
  command.add_option("--sms", a.sms, "SMs that the device has")->capture_default_str();
  command.add_option("--workers", a.workers, "OS threads; 0: one per core")->capture_default_str();
  command.add_option("--seconds", a.seconds, "For code that makes no call of the machine: it is taken for a loop")
      ->capture_default_str();
  command.add_option("--suppress", a.suppress, "CODE, CODE@file or CODE@file:line: a finding to let pass");
  command.add_flag("--strict", a.strict, "What is a warning of code that we did not write is an error");
  command.add_flag("--sites", a.sites, "Lists the barrier operations that --mutate can alter");
  command.add_option("--mutate", a.mutate, "MUTATION@SITE: alters one barrier operation, e.g. drop@7");
  command.add_flag("--timeline", a.timeline, "Shows warps and engines over time, for each launch");
  command.add_flag("--json", a.json, "JSON on standard output");
}

}  // namespace

PtxCommands ptx_options(CLI::App& ptx, PtxArguments& a) {
  ptx.require_subcommand(1);
  PtxCommands commands;
  commands.info =
      ptx.add_subcommand("info", "Says which kernels a file has, what they need, and what of them cannot be run");
  commands.info->add_option("file", a.file, "PTX, or an executable, object or fat binary with PTX in it")->required();
  commands.info->add_option("--on", a.chip, "loom:sm90 or loom:sm100: the text for that chip, of several");
  commands.info->add_flag("--json", a.json, "JSON on standard output");

  commands.launch = ptx.add_subcommand("launch", "Runs one kernel of a file, with arguments from the command line");
  commands.launch->add_option("file", a.file, "PTX, or an executable, object or fat binary with PTX in it")->required();
  commands.launch->add_option("--kernel", a.kernel, "Its name, mangled or not; not needed where there is one");
  commands.launch->add_option("--grid", a.grid, "Blocks: X, X,Y or X,Y,Z")->capture_default_str();
  commands.launch->add_option("--block", a.block, "Threads of a block, likewise")->capture_default_str();
  commands.launch->add_option("--cluster", a.cluster, "Blocks of a cluster; default: what the kernel was compiled for");
  commands.launch->add_option("--shared", a.shared, "Bytes of dynamic shared memory")->capture_default_str();
  commands.launch->add_option(
      "--arg", a.arguments,
      "A parameter of the kernel, in their order. i32:7, f32:0.5, u64:9: a number (i, u: 8 to 64; f16, bf16, f32, "
      "f64).\n"
      "f32[1024]:iota: a pointer to memory with so many elements, filled with zero, unwritten, iota, random, "
      "random=SEED, "
      "a number or @FILE; then, behind commas, print=N, out=FILE, expect=FILE, within=TOLERANCE.\n"
      "bytes:@FILE: a structure. map:0,f16,256x64,box=64x64,swizzle=128: a tensor map of the memory of argument 0.\n"
      "also:i32[64]:zero: memory that is no parameter, for tensor maps");
  commands.launch->add_flag("--check", a.check, "Follows every access and barrier");
  commands.launch->add_flag("--explore", a.explore, "With --check: tries schedules, for a verdict over all of them");
  machine_options(*commands.launch, a);

  commands.run = ptx.add_subcommand(
      "run",
      "Starts a CUDA program (built with -cudart shared), and runs its kernels on the loom: ptx run ./a.out ...");
  commands.check = ptx.add_subcommand("check", "The same, following every access and barrier of its kernels");
  for (CLI::App* command : {commands.run, commands.check}) {
    machine_options(*command, a);
    command->add_flag("--verbose", a.verbose, "A line on standard error for each launch");
    command->footer("Options go before the program; what follows it is the program's.");
  }
  return commands;
}

size_t own_words(const std::vector<std::string>& words) {
  const auto is = [&](size_t i, std::string_view word) { return i < words.size() && words[i] == word; };
  if (!is(0, "ptx") || !(is(1, "run") || is(1, "check"))) return words.size();
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return i;
    if (!word.starts_with('-')) return i;
    const bool alone = word.find('=') != std::string::npos ||
                       std::find(flags.begin(), flags.end(), std::string_view(word)) != flags.end();
    if (!alone) ++i;  // its value
  }
  return words.size();
}

}  // namespace warploom::cli
