// The cases of examples/hopper_gemm.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../hopper_gemm_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(hopper_gemm_cases<GpuMachine>(), argc, argv);
}
