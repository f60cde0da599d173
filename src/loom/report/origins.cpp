#include "loom/report/origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "loom/report/symbols.hpp"

namespace warploom::loom {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, Origins, std::less<>> files;
};

Registry& registry() {
  static auto& one = *new Registry;  // never destroyed: a report may be made at exit
  return one;
}

std::string text_of(const SourceLine& at) { return fmt::format("{}:{}", short_path(at.file), at.line); }

}  // namespace

void set_origins(const std::string& path, Origins origins) {
  const std::lock_guard lock(registry().mutex);
  registry().files.insert_or_assign(path, std::move(origins));
}

bool has_origins(std::string_view path) {
  const std::lock_guard lock(registry().mutex);
  return registry().files.find(path) != registry().files.end();
}

bool any_origins() {
  const std::lock_guard lock(registry().mutex);
  return !registry().files.empty();
}

std::vector<SourceLine> origins_of(std::string_view path, uint32_t line) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().files.find(path);
  return found == registry().files.end() || !found->second ? std::vector<SourceLine>{} : found->second(line);
}

bool is_wrapper_header(std::string_view path) {
  static constexpr std::string_view folders[] = {"/cute/",
                                                 "/cutlass/arch/",
                                                 "/cutlass/pipeline/",
                                                 "/cuda/std/",
                                                 "/cuda/__",
                                                 "/cccl/",
                                                 "/crt/",
                                                 "/targets/x86_64-linux/include/",
                                                 "/triton/language/",
                                                 "/nv/target"};
  static constexpr std::string_view names[] = {"cutlass/numeric_conversion.h", "cutlass/fast_math.h",
                                               "cutlass/functional.h"};
  return is_library_file(path) ||
         std::any_of(std::begin(folders), std::end(folders),
                     [&](std::string_view folder) { return path.find(folder) != std::string_view::npos; }) ||
         std::any_of(std::begin(names), std::end(names), [&](std::string_view name) { return path.ends_with(name); });
}

Location location_of_origin(std::string_view path, uint32_t line, const std::vector<SourceLine>& chain) {
  const SourceLine itself{short_path(path), line, {}};
  auto shown =
      std::find_if(chain.begin(), chain.end(), [](const SourceLine& at) { return !is_wrapper_header(at.file); });
  if (shown == chain.end() && !chain.empty()) shown = chain.end() - 1;
  if (shown == chain.end()) return {.user = itself, .library = itself};
  return {.user = {short_path(shown->file), shown->line, shown->function}, .library = itself};
}

std::string inline_chain(const std::vector<SourceLine>& chain) {
  if (chain.size() < 2) return {};
  std::string text = "inlined: " + text_of(chain.front());
  for (size_t i = 1; i < chain.size(); ++i) {
    text += ", from " + text_of(chain[i]);
  }
  return text;
}

}  // namespace warploom::loom
