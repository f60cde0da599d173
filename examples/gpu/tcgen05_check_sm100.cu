// The cases of examples/tcgen05_check.cpp on a Blackwell GPU: one line per case, `name hash ok`.
#include "../tcgen05_check_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(tcgen05_check_cases<GpuMachine>(), argc, argv, 10);
}
