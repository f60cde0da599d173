// The cases of examples/two_stage_copy.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../two_stage_copy_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(two_stage_copy_cases<GpuMachine>(), argc, argv);
}
