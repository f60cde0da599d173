// From translated C++ to code in this process: compiled by the host's compiler, kept in a cache, loaded.
//
//   Result<LoadedObject> object = load({.name = "gemm.ptx", .identity = text, .source = [&] { return translate(...);
//   }}); for (uint32_t i = 0; i < object->module->kernel_count; ++i) ...
//
// What was compiled before, from the same text by the same compiler for the same library and CPU, is loaded and no
// more: `source` is then not asked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/object_cache.hpp"
#include "types/no_throw.hpp"
#include "warploom/ptx/abi.hpp"

namespace warploom::ptx {

struct Translation {
  std::string name = {};             ///< of the PTX, as sentences call it
  std::vector<std::string_view> of;  ///< all that the C++ follows from: the PTX, which of its kernels, how it is called
  std::function<Result<std::string>()> source = {};
};

struct LoadedObject {
  const abi::Module* module = nullptr;  ///< stays for as long as the process: reports look at its code
  std::string path = {};
  bool was_kept = false;  ///< nothing had to be compiled
  double seconds = 0;
};

/// Thread-safe. The same translation is loaded once.
Result<LoadedObject> load(const Translation& translation);

/// The key under which it is kept.
Result<std::string> key_of(const Translation& translation);

}  // namespace warploom::ptx
