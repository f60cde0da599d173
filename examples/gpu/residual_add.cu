// The cases of examples/residual_add.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../residual_add_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(residual_add_cases<GpuMachine>(), argc, argv);
}
