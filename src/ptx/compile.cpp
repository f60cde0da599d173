#include "ptx/compile.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "loom/report/program.hpp"
#include "ptx/host_compiler.hpp"
#include "warploom/version.h"

namespace warploom::ptx {
namespace {

/// The machine's thread-local data is found without a call, which needs it to be there since the process began. Where
/// the library itself was loaded later, such code cannot be loaded, and from then on there is a call.
std::atomic<bool> direct_thread_locals = true;

std::vector<std::string> more_flags() {
  return {direct_thread_locals ? "-ftls-model=initial-exec" : "-ftls-model=global-dynamic"};
}

/// The first line that says why, of a compiler's messages.
std::string reason_in(const std::string& log) {
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (const size_t at = line.find("error: "); at != std::string::npos) return line.substr(at + 7);
  file.clear();
  file.seekg(0);
  std::string first;
  std::getline(file, first);
  return first.empty() ? "it says nothing" : first;
}

/// Where a static library is in a program that does not show its functions, the loader says so by a mangled name.
std::string why_not_loaded(const std::string& name, const std::string& text) {
  if (text.find("undefined symbol") != std::string::npos)
    return fmt::format(
        "the code of {} cannot be loaded ({}): this program has the library in it and does not show its functions; "
        "link it with -rdynamic (in CMake: ENABLE_EXPORTS), or with the shared library",
        name, text);
  return fmt::format("the code of {} cannot be loaded: {}", name, text);
}

Result<const abi::Module*> opened(const std::string& path, const std::string& name) {
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object == nullptr) {
    const char* const said = dlerror();
    const std::string text = said == nullptr ? "" : said;
    if (text.find("static TLS") != std::string::npos) direct_thread_locals = false;
    return Error{why_not_loaded(name, text), ErrorCode::unsupported};
  }
  const auto* const module = static_cast<const abi::Module*>(dlsym(object, abi::module_symbol));
  if (module == nullptr || module->version != abi::version)
    return Error{fmt::format("the code of {} was made with headers of another version than the library; name the right "
                             "folder in WARPLOOM_INCLUDE",
                             name),
                 ErrorCode::unsupported};
  return module;
}

Result<std::string> compiled(const ObjectCache& cache, const std::string& key, const Translation& translation) {
  const Result<HostCompiler> compiler = host_compiler();
  if (!compiler) return compiler.why();
  const Result<std::string> source = translation.source();
  if (!source) return source.why();
  const std::string work = cache.unfinished(key), file = work + ".cpp", object = work + ".so", log = work + ".log";
  if (const std::string trouble = cache.write(file, *source); !trouble.empty()) return Error{trouble, ErrorCode::io};
  const Result<bool> done = compiler->compile(file, object, log, more_flags());
  if (!done || !*done) {
    if (!done) return done.why();
    // For whoever looks into it; the next attempt takes their names.
    const std::string kept_source = cache.path(key, ".cpp"), kept_log = cache.path(key, ".log");
    const std::string reason = reason_in(log);
    (void)rename(file.c_str(), kept_source.c_str());
    (void)rename(log.c_str(), kept_log.c_str());
    unlink(object.c_str());
    return Error{
        fmt::format("{} cannot compile the translation of {}: {} (all it says is in {}, the translation in {})",
                    compiler->path, translation.name, reason, kept_log, kept_source),
        ErrorCode::internal};
  }
  unlink(file.c_str());
  unlink(log.c_str());
  return cache.keep(key, object);
}

}  // namespace

Result<std::string> key_of(const Translation& translation) {
  return no_throw([&]() -> Result<std::string> {
    const Result<HostCompiler> compiler = host_compiler();
    if (!compiler) return compiler.why();
    KeyHash hash;
    hash.add(compiler->path).add(compiler->version).add(compiler->headers);
    for (const std::string& flag : compiler->flags) hash.add(flag);
    for (const std::string& flag : more_flags()) hash.add(flag);
    hash.add(cpu_identity()).add(loom::library_id()).add(WARPLOOM_VERSION_STRING).add(std::to_string(abi::version));
    for (const std::string_view part : translation.of) hash.add(part);
    return hash.hex();
  });
}

namespace {

Result<LoadedObject> load_anew(const std::string& key, const Translation& translation) {
  const auto start = std::chrono::steady_clock::now();
  const Result<ObjectCache> cache = ObjectCache::open();
  if (!cache) return cache.why();
  LoadedObject object;
  std::optional<std::string> path = cache->find(key);
  object.was_kept = path.has_value();
  if (!path) {
    const ObjectCache::Lock lock = cache->lock(key);
    path = cache->find(key);  // another process may have made it meanwhile
    if (!path) {
      Result<std::string> made = compiled(*cache, key, translation);
      if (!made) return made.why();
      path = std::move(*made);
    }
  }
  const Result<const abi::Module*> module = opened(*path, translation.name);
  if (!module) return module.why();
  object.module = *module;
  object.path = *path;
  object.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return object;
}

}  // namespace

Result<LoadedObject> load(const Translation& translation) {
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::string, LoadedObject>;
  return no_throw([&]() -> Result<LoadedObject> {
    const std::lock_guard guard(mutex);
    for (;;) {
      const bool direct = direct_thread_locals;
      const Result<std::string> key = key_of(translation);
      if (!key) return key.why();
      if (const auto known = loaded.find(*key); known != loaded.end()) return known->second;
      Result<LoadedObject> object = load_anew(*key, translation);
      if (!object && direct && !direct_thread_locals) continue;
      if (object) loaded.emplace(*key, *object);
      return object;
    }
  });
}

}  // namespace warploom::ptx
