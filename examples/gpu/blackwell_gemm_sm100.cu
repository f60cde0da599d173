// The cases of examples/blackwell_gemm.cpp on a Blackwell GPU: one line per case, `name hash ok`.
#include "../blackwell_gemm_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(blackwell_gemm_cases<GpuMachine>(), argc, argv, 10);
}
