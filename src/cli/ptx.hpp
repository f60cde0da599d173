// `warploom ptx info | launch | run | check`: kernels that somebody else's compiler made, on the loom.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace warploom::cli {

struct PtxArguments {
  std::string file;                  ///< info and launch: PTX, an executable, a fat binary
  std::vector<std::string> program;  ///< run and check: the program and what it is started with
  std::string kernel;
  std::string grid = "1", block = "1", cluster;
  uint32_t shared = 0;
  std::vector<std::string> arguments;  ///< of the kernel, one for each parameter
  std::string schedule;                ///< whole schedule string; or its parts:
  std::string policy;
  uint64_t seed = 0;
  std::string numerics = "fast";
  std::string chip;  ///< "": what the PTX asks for; sm90 or sm100
  int sms = 16;
  unsigned workers = 0;
  double seconds = 300;
  std::string mutate;  ///< "MUTATION@SITE", SITE a number of --sites
  std::vector<std::string> suppress;
  bool check = false;  ///< the command is `check`, or launch has --check
  bool explore = false;
  bool strict = false;
  bool sites = false;
  bool timeline = false;
  bool verbose = false;
  bool json = false;

  std::set<std::string> given = {};
  bool gave(const char* option) const { return given.contains(option); }
};

/// The command and those below it.
struct PtxCommands {
  CLI::App *info = nullptr, *launch = nullptr, *run = nullptr, *check = nullptr;
};
PtxCommands ptx_options(CLI::App& ptx, PtxArguments& arguments);
/// How many of the words are ours: what follows the program that `ptx run` and `ptx check` start is the program's.
size_t own_words(const std::vector<std::string>& words);

int ptx_info(const PtxArguments& arguments);
int ptx_launch(const PtxArguments& arguments);
int ptx_run(const PtxArguments& arguments);

}  // namespace warploom::cli
