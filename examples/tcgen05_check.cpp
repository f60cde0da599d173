// Runs Blackwell's tensor core on the loom and prints one line per case: `name hash ok`.
// examples/gpu/tcgen05_check_sm100.cu does the same on the chip; the hashes must agree (tools/gpu_check.sh compares
// them).
//
//   tcgen05_check [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "loom_machine.hpp"
#include "tcgen05_check_cases.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule, warploom::loom::Chip::sm100);
  return run_all(machine, tcgen05_check_cases<LoomMachine>());
}
