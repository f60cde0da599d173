// Runs the plain GEMM for Blackwell on the loom: checks it against plain C++ and prints one line per case, `name hash
// ok`. examples/gpu/blackwell_gemm_sm100.cu compiles it for the chip; `./dev bench loom` measures it.
//
//   blackwell_gemm [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "blackwell_gemm_cases.hpp"
#include "loom_machine.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule, warploom::loom::Chip::sm100);
  return run_all(machine, blackwell_gemm_cases<LoomMachine>());
}
