// The cases of examples/wgmma_exact.cpp on a Hopper GPU: a million dot products of every combination of types against
// the exact model, one line per case, `name hash ok`.
#include "../wgmma_exact_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(wgmma_exact_cases<GpuMachine>(), argc, argv);
}
