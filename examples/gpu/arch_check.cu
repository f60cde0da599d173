// The cases of examples/arch_check.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../arch_check_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(arch_check_cases<GpuMachine>(), argc, argv);
}
