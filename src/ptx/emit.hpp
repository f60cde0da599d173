// From a PTX module to C++ for the loom: one function per kernel and device function, and the table that abi.hpp
// describes. compile.hpp makes a shared object of the text.
//
//   Result<std::string> source = emit(*parse(text, "gemm.ptx"), {.kernels = {"_Z4gemmPf"}});
//   // or an error: gemm.ptx:120: tex.2d.v4.f32.f32: textures are not translated
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.hpp"
#include "warploom/types/result.hpp"

namespace warploom::ptx {

struct EmitOptions {
  /// Their names, as in the text; with the functions that they call. None: all kernels of the module.
  std::vector<std::string> kernels;
};
Result<std::string> emit(const Module& module, const EmitOptions& options = {});

/// What a kernel does beyond its own CTA, and what it declares: the same facts that the translation exports.
struct KernelFacts {
  uint32_t static_shared = 0, dynamic_offset = 0, dynamic_align = 16;
  bool uses_launch_control = false, talks_across_clusters = false;
  uint32_t instructions = 0;
};
KernelFacts facts_of(const Module& module, const Function& kernel);

}  // namespace warploom::ptx
