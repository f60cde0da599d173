#include <fmt/format.h>

#include <thread>

#include "cli/commands.hpp"
#include "cli/tell.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::cli {

namespace {

std::string schedule_of(const GemmShape& shape) {
  if (shape.chip == Chip::sm100)
    return fmt::format("{}-SM{}{}", shape.cta_group, shape.launch_control ? ", launch control" : "",
                       shape.swap ? ", B on the left" : "");
  return fmt::format("{}{}",
                     shape.ping_pong    ? "ping-pong"
                     : shape.groups > 1 ? "cooperative"
                                        : "one group",
                     shape.swap ? ", B on the left" : "");
}

void print_gemms(const char* heading, Chip chip, bool scaled) {
  say("{}\n", heading);
  for (const GemmConfig& config : gemm_configs(chip)) {
    const GemmShape& s = config.shape;
    if (scaled != (config.scaling != Scaling::none)) continue;
    say("  {:<34} {:>3} x {:<3} {}, cluster {}x{}{}, {:2} input stages{}, {} KiB shared memory{}\n", config.key,
        s.tile_left, s.tile_right, schedule_of(s), s.cluster_left, s.cluster_right,
        s.cluster_k > 1 ? fmt::format("x{}", s.cluster_k) : "", s.stages,
        s.k_group > 1 ? fmt::format(" of {} K blocks", s.k_group) : "", (s.shared_bytes + 1023) / 1024,
        built_for_loom(config) ? "" : "  [not built]");
  }
}

}  // namespace

std::string part_that_is_built() {
  size_t built = 0, all = 0;
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip)) {
      ++all;
      built += built_for_loom(config);
    }
  if (built == all) return {};
  return fmt::format(
      "{} of {} configurations are built for the loom; -DWARPLOOM_KERNELS=all builds them all (./dev build --all)",
      built, all);
}

int machine(bool json) {
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  if (json) {
    put_json({{"targets", {"loom:sm100", "loom:sm90"}},
              {"workers", workers},
              {"shared_bytes_per_cta", 227 * 1024},
              {"tensor_memory", {{"lanes", 128}, {"columns", 512}}},
              {"threads_per_cta", 1024},
              {"cluster_size", 16},
              {"policies", {"eager", "lazy", "random", "adversarial"}},
              {"numerics", {"fast", "exact"}}});
    return 0;
  }
  say("loom:sm100   Blackwell as this CPU runs it, {} worker{}\n"
      "loom:sm90    Hopper, the same way\n"
      "  CTA        up to 1024 threads, 227 KiB shared memory, 128 x 512 words of tensor memory; clusters up to 16 "
      "CTAs\n"
      "  units      mbarrier, named and cluster barriers, TMA tiles (load, multicast, store), cp.async, stmatrix, "
      "shuffles, elect;\n"
      "             sm_100: tcgen05 alloc, ld, st, mma (f16, f8f6f4), commit, cluster launch control;\n"
      "             sm_90: wgmma (bf16, f16, e4m3, e5m2), setmaxnreg\n"
      "  policies   eager (asynchronous work completes at once), lazy (as late as possible), random:SEED,\n"
      "             adversarial (writes early, reads late); any of them with :skew=CTA\n"
      "  numerics   fast: fp32 fused multiply-adds in ascending k; exact: the tensor core's own sums, bit for bit\n"
      "Blackwell kernels are executed and checked here and compiled for sm_100a; they have not run on a B200.\n",
      workers, workers == 1 ? "" : "s");
  return 0;
}

int kernels(bool json) {
  Json list = Json::array();
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip))
      list.push_back({{"kernel", config.scaling == Scaling::none ? "gemm" : "blockwise-fp8"},
                      {"target", name_of(chip)},
                      {"config", config.key},
                      {"a_type", name_of(config.a)},
                      {"b_type", name_of(config.b)},
                      {"tile", {config.shape.tile_left, config.shape.tile_right}},
                      {"cta_group", config.shape.cta_group},
                      {"cluster", {config.shape.cluster_left, config.shape.cluster_right}},
                      {"cluster_k", config.shape.cluster_k},
                      {"swap", config.shape.swap},
                      {"launch_control", config.shape.launch_control},
                      {"stages", config.shape.stages},
                      {"k_group", config.shape.k_group},
                      {"threads", config.shape.threads},
                      {"shared_bytes", config.shape.shared_bytes},
                      {"built", built_for_loom(config)}});
  if (json) {
    put_json({{"kernels", list}});
    return 0;
  }
  print_gemms("gemm            D = act(alpha * A * B^T + beta * C + bias); sm_90", Chip::sm90, false);
  print_gemms("gemm            the same; sm_100", Chip::sm100, false);
  print_gemms("blockwise-fp8   the same for e4m3 with fp32 scales, 1x128 of A, 128x128 or 1x128 of B; sm_90",
              Chip::sm90, true);
  print_gemms("blockwise-fp8   the same; sm_100", Chip::sm100, true);
  if (const std::string part = part_that_is_built(); !part.empty()) say("{}\n", part);
  return 0;
}

}  // namespace warploom::cli
