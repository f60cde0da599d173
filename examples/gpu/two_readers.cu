// The cases of examples/two_readers.cpp on a Hopper GPU: one line per case, `name hash ok`.
#include "../two_readers_cases.hpp"
#include "gpu_machine.cuh"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  return gpu_main(two_readers_cases<GpuMachine>(), argc, argv);
}
