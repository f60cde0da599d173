// The cases of examples/wgmma_check.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../wgmma_check_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(wgmma_check_cases<GpuMachine>(), argc, argv);
}
