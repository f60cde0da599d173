// A million dot products of every combination of types that wgmma has, on the loom with exact numerics, against a plain
// model of the arithmetic; prints one line per case: `name hash ok`.
// examples/gpu/wgmma_exact.cu does the same on the chip; the hashes must agree (tools/gpu_check.sh compares them).
//
//   wgmma_exact [schedule]      a schedule as in reports: eager (default), lazy, adversarial, random:7
#include "loom_machine.hpp"
#include "wgmma_exact_cases.hpp"

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const auto schedule = warploom::loom::Schedule::parse(argc > 1 ? argv[1] : "eager");
  if (!schedule) {
    std::fprintf(stderr, "%s\n", schedule.error().c_str());
    return 2;
  }
  LoomMachine machine(*schedule);
  machine.use(warploom::loom::Numerics::exact);
  return run_all(machine, wgmma_exact_cases<LoomMachine>());
}
