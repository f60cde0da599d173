// Runs the copy through a ring of two slots on the loom: checks it against plain C++ and prints one line per case,
// `name hash ok`. examples/gpu/two_stage_copy.cu does the same on the chip; the hashes must agree (tools/gpu_check.sh
// compares them).
//
//   two_stage_copy [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "loom_machine.hpp"
#include "two_stage_copy_cases.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule);
  return run_all(machine, two_stage_copy_cases<LoomMachine>());
}
