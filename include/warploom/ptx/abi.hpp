// What a translated PTX module (a shared object) exports, and what its kernels receive. The loader reads `Module` by
// the name `module_symbol`, compares `version`, and launches `Kernel::entry` with a `Launch`:
//
//   auto* module = static_cast<const ptx::abi::Module*>(dlsym(object, ptx::abi::module_symbol));
//   if (module->version != ptx::abi::version) ...  // made by another version of the library: translate again
//   ptx::abi::Launch launch{.parameters = block, .parameter_bytes = kernel.parameter_bytes, .block = {128, 1, 1}, ...};
//   loom::launch(config, kernel.entry, &launch, tensors, options);
//
// Plain C structures: the object and the library may come from different compilers.
#pragma once

#include <cstdint>

namespace warploom::ptx::abi {

/// Changes with every change of this file or of what translated code may call (runtime.hpp). Part of a cache's key.
inline constexpr uint32_t version = 1;

/// The one symbol of a translated object: `extern "C" const warploom::ptx::abi::Module warploom_ptx_module`.
inline constexpr const char* module_symbol = "warploom_ptx_module";

/// A kernel parameter: where its bytes lie in the parameter block.
struct Parameter {
  const char* name;
  uint32_t offset, bytes, align;
};

/// What every thread runs; the argument is a `Launch`.
using KernelEntry = void (*)(const void* launch);

struct Kernel {
  const char* name;  ///< as in the PTX text (mangled)
  KernelEntry entry;
  const char* file;  ///< the PTX file, as it was called at translation
  uint32_t line;     ///< of .entry

  const Parameter* parameters;
  uint32_t parameter_count;
  uint32_t parameter_bytes;  ///< of the block

  /// Shared memory declared by the module that this kernel can reach. The dynamic part (`extern .shared`) begins at
  /// `dynamic_offset`: `static_shared` rounded up to the largest alignment asked for. A launch with `d` dynamic bytes
  /// has LaunchConfig::shared_bytes = dynamic_offset + d.
  uint32_t static_shared;
  uint32_t dynamic_offset;
  uint32_t dynamic_align;

  uint32_t max_threads[3];       ///< .maxntid; 0, 0, 0: not given
  uint32_t required_threads[3];  ///< .reqntid; 0, 0, 0: not given
  uint32_t required_cluster[3];  ///< .reqnctapercluster; 0, 0, 0: not given
  uint32_t max_registers;        ///< .maxnreg; 0: not given
  bool explicit_cluster;         ///< .explicitcluster: cluster dimensions must be given at launch

  bool uses_launch_control;  ///< clusterlaunchcontrol: LaunchConfig::launch_control
  /// Global atomics, or ordered loads and stores of global memory: LaunchConfig::talks_across_clusters.
  bool talks_across_clusters;
  uint32_t instructions;  ///< of the PTX text, device functions included
};

enum class VariableSpace : uint32_t { global, constant };

/// A module variable that a host may name (cudaMemcpyToSymbol), and memory that every launch may touch: it belongs
/// among the launch's tensors, .const ones as read-only. The object has storage for it, with its initial bytes, at
/// `data`. Translated code goes by `*place`, which is `data` until the loader says otherwise: objects of several
/// kernels of one PTX module share the variables of the first that is loaded.
struct Variable {
  const char* name;
  void* data;
  void** place;
  uint64_t bytes;
  uint32_t align;
  VariableSpace space;
};

/// At `*variables[variable].place + offset` lies the address of another variable, plus `addend`. To be written by the
/// loader, once all places are settled.
struct Relocation {
  uint32_t variable;
  uint32_t target;
  uint64_t offset;
  int64_t addend;
};

struct Module {
  uint32_t version;  ///< abi::version
  uint32_t chip;     ///< 90, 100
  const char* file;
  const Kernel* kernels;
  uint32_t kernel_count;
  const Variable* variables;
  uint32_t variable_count;
  const Relocation* relocations;
  uint32_t relocation_count;
};

/// The argument of `Kernel::entry`, the same for all threads of a launch; it must live as long as the launch runs.
struct Launch {
  const void* parameters = nullptr;  ///< aligned to 64 bytes: tensor maps may lie in it
  uint32_t parameter_bytes = 0;
  uint32_t block[3] = {1, 1, 1};    ///< blockDim
  uint32_t cluster[3] = {1, 1, 1};  ///< cluster dimensions, in CTAs
  uint32_t dynamic_shared = 0;      ///< as the host asked for it
  uint32_t total_shared = 0;        ///< LaunchConfig::shared_bytes
  uint32_t processors = 132;        ///< %nsmid
};

}  // namespace warploom::ptx::abi
