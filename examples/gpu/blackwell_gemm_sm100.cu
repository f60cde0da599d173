// The GPU side of the plain Blackwell GEMM. Compiled for sm_100a; no chip of that kind has run it yet.
#include "blackwell_gemm_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(blackwell_gemm_cases<GpuMachine>(), argc, argv, 10);
}
