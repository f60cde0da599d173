// The program's commands. Each returns its exit code (cli/tell.hpp).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace warploom::cli {

struct RunArguments {
  std::string kernel;
  int64_t m = 512, n = 512, k = 1024;
  float alpha = 1.0f, beta = 0.0f;
  std::string on;        ///< "": where the kernel is at home
  std::string config;    ///< "": chosen from the shape
  std::string schedule;  ///< whole schedule string; or its parts:
  std::string policy;
  uint64_t seed = 0;
  std::string numerics = "fast";  ///< or exact
  std::string fill = "normal";
  uint64_t data_seed = 1;
  int sms = 0;  ///< 0: those of the chip
  unsigned workers = 0;
  std::string mutate;  ///< "MUTATION@SITE", SITE a number of --sites
  bool sites = false;
  bool timeline = false;
  bool json = false;

  int64_t batch = 1;
  std::string a_type = "bf16", b_type = "bf16", d_type = "bf16";
  std::string a_major = "k", b_major = "k";
  std::string b_scales = "blocks";  ///< or rows
  std::string bias;                 ///< "", n or m
  std::string bias_type = "f32";
  std::string activation = "none";
  int splits = 0;       ///< 0: the planner's choice
  int launches = 1;     ///< on the GPU
  std::string tensors;  ///< a safetensors file to read operands from
  std::string out;      ///< one to write D to

  std::set<std::string> given = {};  ///< options on the command line; the others are as they are here
  bool gave(const char* option) const { return given.contains(option); }
};

struct CheckArguments {
  bool all = false;
  bool explore = false;
  uint64_t schedules = 0;  ///< 0: 256, or 16 of each where all are checked
  uint32_t deviations = 2;
  double seconds = 0;
  std::string resume;  ///< a file that holds where an exploration stands
  std::vector<std::string> suppress;
};

struct MutateArguments {
  bool every_schedule = false;  ///< each mutation under all of them, to see whether they agree
  bool unchecked = false;       ///< by what the machine notices alone
};

int run(const RunArguments& arguments);
/// Runs a kernel under the checker and gives a verdict.
int check(const RunArguments& arguments, const CheckArguments& check);
/// Every mutation of every barrier operation of the kernel, one run each.
int mutate(const RunArguments& arguments, const MutateArguments& how);
/// Which configuration the planner takes, and what it thinks of the others.
int plan(const RunArguments& arguments);
int demo();
int machine(bool json);
int kernels(bool json);
/// "" or, where the loom of this build has a part of the configurations, how many, and how to get all.
std::string part_that_is_built();
/// The page of docs/checks about a code of a report; all codes with a line each where none is named.
int explain(const std::string& code, bool json);
/// Codes that begin with what was typed, or else the three that are, or begin, most like it.
std::vector<std::string> nearest_codes(const std::string& typed);

}  // namespace warploom::cli
