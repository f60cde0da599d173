// The cases of examples/per_k_epilogue.cpp on a Blackwell GPU: one line per case, `name hash ok`.
#include "../per_k_epilogue_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(per_k_epilogue_cases<GpuMachine>(), argc, argv, 10);
}
