// The timeline of a kernel on a Hopper GPU: the relay of examples/relay_kernel.hpp, traced, as a file for Perfetto or
// chrome://tracing.
//
//   trace [out.json]
#define WARPLOOM_TRACE 1

#include "../relay_run.hpp"
#include "gpu_machine.cuh"
#include "warploom/gpu/trace.hpp"

namespace {

using namespace warploom::examples;
using warploom::gpu::TraceEvent;
using warploom::gpu::TraceKind;
using warploom::gpu::TraceLog;
using Kernel = Relay<Planted::nothing>;

constexpr uint32_t ctas = 4, warps = Kernel::threads / 32, turns = Kernel::turns;

/// A traced run with room for so many records per warp; "" or what went wrong.
std::string traced_run(uint32_t records_per_warp, TraceLog& log) {
  GpuMachine machine;
  auto trace = warploom::gpu::arm_trace({.blocks = ctas, .warps = warps, .records_per_warp = records_per_warp});
  if (!trace) return trace.error();
  Comparison words;
  run_relay<Planted::nothing>(machine, ctas, words);
  if (!machine.trouble().empty()) return machine.trouble();
  if (words.got != words.want) return "the traced kernel gave other words than plain C++";
  auto collected = trace->collect();
  if (!collected) return collected.error();
  log = std::move(*collected);
  return "";
}

/// What every CTA must have recorded: each wait once per warp, each trace point once per warp.
std::string check(const TraceLog& log) {
  constexpr uint32_t squares = Kernel::Square::warps;
  struct Count {
    const char* what;
    size_t expected, found;
  };
  Count counts[] = {{"wait input.empty", turns + Kernel::InputRing::num_stages, 0},  // and the drain
                    {"wait input.full", turns * squares, 0},
                    {"wait output.empty", turns * squares, 0},
                    {"wait output.full", turns, 0},
                    {"begin square a row", turns * squares, 0},
                    {"end square a row", turns * squares, 0},
                    {"instant half way", 1, 0}};
  for (const TraceEvent& event : log.events) {
    static constexpr const char* kinds[] = {"begin ", "end ", "instant ", "wait "};
    const std::string what = kinds[static_cast<int>(event.kind)] + event.name.substr(0, event.name.find('['));
    bool known = false;
    for (Count& count : counts)
      if (what == count.what) {
        ++count.found;
        known = true;
      }
    if (!known) return "a record of \"" + what + "\", which is not there";
  }
  for (const Count& count : counts)
    if (count.found != ctas * count.expected)
      return std::to_string(count.found) + " records of \"" + count.what + "\", expected " +
             std::to_string(ctas * count.expected);
  if (log.warps.size() != ctas * warps) return std::to_string(log.warps.size()) + " warps recorded something";
  for (const auto& warp : log.warps)
    if (warp.role != (warp.warp == 0 ? "fetch" : warp.warp == 3 ? "total" : "square"))
      return "warp " + std::to_string(warp.warp) + " has role \"" + warp.role + "\"";
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string missing = GpuMachine::missing(); !missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 2;
  }
  TraceLog log;
  std::string trouble = traced_run(256, log);
  if (trouble.empty()) trouble = check(log);
  if (trouble.empty() && log.lost != 0) trouble = std::to_string(log.lost) + " records were lost";
  if (trouble.empty()) {
    const std::string path = argc > 1 ? argv[1] : "trace.json";
    const std::string json = to_chrome_json(log);
    std::FILE* const file = std::fopen(path.c_str(), "w");
    bool written = file != nullptr && std::fwrite(json.data(), 1, json.size(), file) == json.size();
    written = file != nullptr && std::fclose(file) == 0 && written;
    if (!written) trouble = "cannot write " + path;
    double end = 0;
    for (const TraceEvent& event : log.events)
      if (const double its_end = event.begin_ns + event.length_ns; its_end > end) end = its_end;
    std::printf("%s: %zu records of %zu warps over %.1f us\n", path.c_str(), log.events.size(), log.warps.size(),
                end / 1000);
  }
  // The same with too little room: what does not fit is counted.
  const size_t all = log.events.size();
  if (trouble.empty()) trouble = traced_run(8, log);
  if (trouble.empty() && log.events.size() + log.lost != all)
    trouble =
        std::to_string(log.events.size()) + " kept and " + std::to_string(log.lost) + " lost of " + std::to_string(all);
  if (trouble.empty() && log.lost == 0) trouble = "nothing was lost in a buffer that is too small";
  if (trouble.empty())
    std::printf("with room for 8 a warp: %zu kept, %zu counted as lost\n", log.events.size(),
                static_cast<size_t>(log.lost));
  std::printf("trace: %s\n", trouble.empty() ? "ok" : ("FAILED: " + trouble).c_str());
  return trouble.empty() ? 0 : 1;
}
