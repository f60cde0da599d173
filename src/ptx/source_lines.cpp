#include "ptx/source_lines.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "loom/report/origins.hpp"
#include "loom/report/symbols.hpp"
#include "ptx/parser.hpp"

namespace warploom::ptx {
namespace {

std::string readable(std::string_view mangled) {
  if (mangled.empty()) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      ::abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
  return loom::short_function(name == nullptr ? mangled : std::string_view(name.get()));
}

}  // namespace

SourceLines::SourceLines(const std::string& text, const std::string& name) {
  const Result<Module> module = parse(text, name);
  if (!module) return;                 // it would not have been translated
  std::map<uint32_t, uint32_t> known;  // chains, by the location that they begin with
  for (const Function& function : module->functions) {
    for (const Instruction& instruction : function.body) {
      if (instruction.location == no_index || instruction.line == 0) continue;
      const auto [entry, added] = known.try_emplace(instruction.location, static_cast<uint32_t>(chains_.size()));
      if (added) {
        std::vector<loom::SourceLine>& chain = chains_.emplace_back();
        for (uint32_t at = instruction.location; at != no_index && at < module->locations.size();) {
          const Location& location = module->locations[at];
          std::string function_name = readable(location.function);
          if (function_name.empty() && location.inlined_at == no_index) function_name = readable(function.name);
          chain.push_back({std::string(module->file_name(location.file)), location.line, std::move(function_name)});
          at = location.inlined_at;
        }
      }
      entries_.push_back({instruction.line, entry->second});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.line < b.line; });
}

std::vector<loom::SourceLine> SourceLines::at(uint32_t line) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), line, [](const Entry& e, uint32_t l) { return e.line < l; });
  if (found == entries_.end() || found->line != line) return {};
  return chains_[found->chain];
}

void register_source_lines(const std::string& path, std::shared_ptr<const std::string> text) {
  loom::set_origins(
      path, [path, text = std::move(text), lines = std::make_shared<std::optional<SourceLines>>()](uint32_t line) {
        if (!*lines) lines->emplace(*text, path);
        return (*lines)->at(line);
      });
}

}  // namespace warploom::ptx
