// How many schedules of a small pipeline the checker goes through in a second, on one core: what an exploration of a
// kernel that depends on its schedule costs, once its tiles are small.
//
//   warploom-check-rate [seconds]       examples/relay_kernel.hpp: three roles, two rings, 16 turns; a random schedule
//   a run
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../../examples/loom_machine.hpp"
#include "../../examples/relay_run.hpp"

namespace {

using namespace warploom;
using namespace warploom::examples;

/// Runs in so many seconds; 0 when one of them failed.
double rate(bool checked, double seconds) {
  uint64_t runs = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (passed() < seconds) {
    LoomMachine machine({loom::Policy::random, ++runs});
    if (checked) machine.check();
    Comparison words;
    run_relay<Planted::nothing>(machine, 1, words);
    if (!machine.trouble().empty() || words.got != words.want) {
      std::fprintf(stderr, "%s\n", machine.trouble().c_str());
      return 0;
    }
  }
  return static_cast<double>(runs) / passed();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5.0;
  const double checked = rate(true, seconds), unchecked = rate(false, seconds);
  std::printf("relay, random schedules, one core: %.0f runs/s checked, %.0f unchecked\n", checked, unchecked);
  return checked > 0 && unchecked > 0 ? 0 : 1;
}
