// Runs the Hopper GEMM on the loom, checks it against plain C++ and prints one line per case: `name hash ok`.
// examples/gpu/hopper_gemm.cu does the same on the chip; the hashes must agree (tools/gpu_check.sh compares them).
//
//   hopper_gemm [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "hopper_gemm_cases.hpp"
#include "loom_machine.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule);
  return run_all(machine, hopper_gemm_cases<LoomMachine>());
}
