// The program's commands. Each returns its exit code: 0 right, 1 a finding or a wrong result, 2 bad input.
#pragma once

#include <cstdint>
#include <string>

namespace warploom::cli {

struct RunArguments {
  std::string kernel;
  int64_t m = 512, n = 512, k = 1024;
  float alpha = 1.0f, beta = 0.0f;
  std::string on = "loom:sm100";
  std::string config;    ///< "": chosen from the shape
  std::string schedule;  ///< whole schedule string; or its parts:
  std::string policy;
  uint64_t seed = 0;
  std::string fill = "normal";
  uint64_t data_seed = 1;
  int sms = 148;
  unsigned workers = 0;
  std::string mutate;  ///< "ALTERATION@SITE", SITE a number of --sites
  bool sites = false;
  bool timeline = false;
  bool json = false;
};

int run(const RunArguments& arguments);
/// Every alteration of every barrier operation of the kernel, one run each.
int mutate(const RunArguments& arguments);
int demo(bool color);
int machine(bool json);
int kernels(bool json);

}  // namespace warploom::cli
