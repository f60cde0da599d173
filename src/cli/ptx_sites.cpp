#include "cli/ptx_sites.hpp"

#include <fmt/format.h>

namespace warploom::cli {

std::vector<PtxSite> ptx_sites_of(const std::string& kernel, const std::vector<loom::Site>& sites) {
  std::vector<PtxSite> list;
  for (const loom::Site& site : sites)
    list.push_back({.kernel = kernel,
                    .key = site.key(),
                    .operation = site.operation,
                    .object = site.object,
                    .file = site.at.user.file,
                    .ptx_file = site.at.library.file,
                    .line = site.at.user.line,
                    .ptx_line = site.at.library.line,
                    .executions = site.executions});
  return list;
}

void print_ptx_sites(const std::vector<PtxSite>& sites, bool json) {
  if (json) {
    Json list = Json::array();
    for (size_t i = 0; i < sites.size(); ++i) {
      Json mutations = Json::array();
      for (const loom::MutationKind kind : loom::mutations_of(sites[i].operation)) mutations.push_back(to_string(kind));
      list.push_back({{"site", i},
                      {"kernel", sites[i].kernel},
                      {"operation", sites[i].operation},
                      {"object", sites[i].object},
                      {"file", sites[i].file},
                      {"line", sites[i].line},
                      {"ptx_file", sites[i].ptx_file},
                      {"ptx_line", sites[i].ptx_line},
                      {"executions", sites[i].executions},
                      {"mutations", mutations}});
    }
    put_json({{"sites", list}});
    return;
  }
  for (size_t i = 0; i < sites.size(); ++i) {
    const PtxSite& site = sites[i];
    const bool own_line = site.file == site.ptx_file && site.line == site.ptx_line;
    say("{:3}  {:<26} {:<18} {}:{}{}  x{}\n", i, site.operation, site.object, site.file, site.line,
        own_line ? "" : fmt::format(" ({}:{})", site.ptx_file, site.ptx_line), site.executions);
  }
}

}  // namespace warploom::cli
