// Runs the scaled FP8 GEMM that hands over once per K block on the loom, as a Blackwell: checks it against plain C++
// and prints one line per case, `name hash ok`. examples/gpu/per_k_epilogue_sm100.cu compiles it for the chip.
//
//   per_k_epilogue [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "loom_machine.hpp"
#include "per_k_epilogue_cases.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule, warploom::loom::Chip::sm100);
  return run_all(machine, per_k_epilogue_cases<LoomMachine>());
}
