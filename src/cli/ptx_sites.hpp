// Barrier operations of kernels that were PTX, as `--sites` lists them and `--mutate` names them.
#pragma once

#include <string>
#include <vector>

#include "cli/tell.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::cli {

struct PtxSite {
  std::string kernel = {};  ///< as people call it
  std::string mangled = {};
  std::string key = {};
  std::string operation = {}, object = {};
  std::string file = {}, ptx_file = {};
  uint32_t line = 0, ptx_line = 0;
  uint64_t executions = 0;
};

std::vector<PtxSite> ptx_sites_of(const std::string& kernel, const std::vector<loom::Site>& sites);
void print_ptx_sites(const std::vector<PtxSite>& sites, bool json);

}  // namespace warploom::cli
