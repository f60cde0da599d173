// A hang on a Hopper GPU that explains itself: the relay of examples/relay_kernel.hpp with one number planted wrong,
// compiled with the watchdog.
//
//   watchdog right                    runs the kernel as it should be
//   watchdog full|empty|bytes         plants an error, and prints how long it took, the watchdog's report and the CUDA
//   error watchdog full --printf            the same with the report left to printf
#define WARPLOOM_WATCHDOG 1

#include <ctime>

#include "../relay_run.hpp"
#include "gpu_machine.cuh"
#include "warploom/gpu/watchdog.hpp"

namespace {

using namespace warploom::examples;

double seconds() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <Planted planted>
int run(bool through_printf) {
  GpuMachine machine;
  warploom::gpu::Watchdog watchdog;
  if (!through_printf) {
    auto armed = warploom::gpu::arm_watchdog();
    if (!armed) {
      std::fprintf(stderr, "%s\n", armed.error().c_str());
      return 1;
    }
    watchdog = std::move(*armed);
  }
  constexpr uint32_t ctas = 4;
  Comparison words;
  run_relay<Planted::nothing>(machine, ctas, words);
  if (!machine.trouble().empty() || words.got != words.want) {
    std::printf("the right kernel FAILED: %s\n%s", machine.trouble().c_str(), watchdog.text().c_str());
    return 1;
  }
  std::printf("the right kernel: %zu words agree with plain C++\n", words.got.size());
  if constexpr (planted != Planted::nothing) {
    std::fflush(stdout);
    const double began = seconds();
    run_relay<planted>(machine, ctas, words);
    const double took = seconds() - began;
    std::fputs(watchdog.text().c_str(), stdout);
    std::printf("planted: the launch %s after %.3f s: %s\n", machine.trouble().empty() ? "SUCCEEDED" : "failed", took,
                machine.trouble().c_str());
    if (machine.trouble().empty() || took > 2.0) return 1;
    if (!through_printf && watchdog.text().empty()) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "right";
  const bool through_printf = argc > 2 && std::string(argv[2]) == "--printf";
  if (const std::string missing = GpuMachine::missing(); !missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 2;
  }
  if (what == "right") return run<Planted::nothing>(through_printf);
  if (what == "full") return run<Planted::full_count>(through_printf);
  if (what == "empty") return run<Planted::empty_count>(through_printf);
  if (what == "bytes") return run<Planted::bytes>(through_printf);
  std::fprintf(stderr, "usage: watchdog [right|full|empty|bytes] [--printf]\n");
  return 2;
}
