// Every other call of the CUDA runtime. Its name must be there for programs to start, and its absence must be told.
#include <cstring>
#include <string>

#include "cudart/api.hpp"

namespace warploom::cudart {
namespace {

[[noreturn]] void not_here(const char* call) {
  struct Hint {
    const char *part, *sentence;
  };
  static constexpr Hint hints[] = {
      {"Graph", "launch the kernels without a graph"},
      {"Capture", "launch the kernels without a graph"},
      {"Texture", "textures and surfaces are not part of the loom"},
      {"Surface", "textures and surfaces are not part of the loom"},
      {"Array", "textures and surfaces are not part of the loom"},
      {"Pool", "use cudaMalloc or cudaMallocAsync"},
      {"3D", "use cudaMalloc, cudaMemcpy or cudaMemcpy2D"},
      {"Library", "link the kernels into the program"},
  };
  std::string instead;
  for (const Hint& hint : hints)
    if (instead.empty() && std::strstr(call, hint.part) != nullptr) instead = hint.sentence;
  const Locked device;
  device->unsupported(call, instead);
}

}  // namespace
}  // namespace warploom::cudart

#define WARPLOOM_NOT_HERE(name) \
  extern "C" __attribute__((visibility("default"))) void name() { warploom::cudart::not_here(#name); }
#include "cudart/not_here.def"
