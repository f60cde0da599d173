#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.hpp"
#include "warploom/kernels/blockwise_fp8_problem.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::cli {

using Json = nlohmann::ordered_json;

namespace {

std::string schedule_of(const GemmShape& shape) {
  return fmt::format("{}{}",
                     shape.ping_pong    ? "ping-pong"
                     : shape.groups > 1 ? "cooperative"
                                        : "one group",
                     shape.swap ? ", B on the left" : "");
}

}  // namespace

int machine(bool json) {
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  if (json) {
    fmt::print("{}\n", Json{{"targets", {"loom:sm100", "loom:sm90"}},
                            {"workers", workers},
                            {"shared_bytes_per_cta", 227 * 1024},
                            {"tensor_memory", {{"lanes", 128}, {"columns", 512}}},
                            {"threads_per_cta", 1024},
                            {"cluster_size", 16},
                            {"policies", {"eager", "lazy", "random", "adversarial"}},
                            {"numerics", {"fast"}}}
                           .dump(2));
    return 0;
  }
  fmt::print(
      "loom:sm100   Blackwell as this CPU runs it, {} worker{}\n"
      "loom:sm90    Hopper, the same way\n"
      "  CTA        up to 1024 threads, 227 KiB shared memory, 128 x 512 words of tensor memory; clusters up to 16 "
      "CTAs\n"
      "  units      mbarrier, named and cluster barriers, TMA tiles (load, multicast, store), cp.async, stmatrix, "
      "shuffles, elect;\n"
      "             sm_100: tcgen05 alloc, ld, st, mma (f16, f8f6f4), commit, cluster launch control;\n"
      "             sm_90: wgmma (bf16, f16, e4m3, e5m2), setmaxnreg\n"
      "  policies   eager (asynchronous work completes at once), lazy (as late as possible), random:SEED,\n"
      "             adversarial (writes early, reads late); any of them with :skew=CTA\n"
      "  numerics   fast: fp32 fused multiply-adds in ascending k\n"
      "Blackwell kernels are executed and checked here and compiled for sm_100a; they have not run on a B200.\n",
      workers, workers == 1 ? "" : "s");
  return 0;
}

int kernels(bool json) {
  Json list = Json::array();
  for (const BlockwiseFP8Config& config : blockwise_fp8_configs())
    list.push_back({{"kernel", "blockwise-fp8"},
                    {"target", "sm_100"},
                    {"config", config.key},
                    {"cta_group", config.cta_group},
                    {"cluster", {config.cluster_m, config.cluster_n}},
                    {"stages", config.stages},
                    {"shared_bytes", config.shared_bytes},
                    {"launch_control", config.launch_control}});
  for (const GemmConfig& config : gemm_configs())
    list.push_back({{"kernel", config.scaling == Scaling::none ? "gemm" : "blockwise-fp8"},
                    {"target", "sm_90"},
                    {"config", config.key},
                    {"a_type", name_of(config.a)},
                    {"b_type", name_of(config.b)},
                    {"tile", {config.shape.tile_left, config.shape.tile_right}},
                    {"cluster", {config.shape.cluster_left, config.shape.cluster_right}},
                    {"cluster_k", config.shape.cluster_k},
                    {"swap", config.shape.swap},
                    {"stages", config.shape.stages},
                    {"threads", config.shape.threads},
                    {"shared_bytes", config.shape.shared_bytes}});
  if (json) {
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  fmt::print(
      "blockwise-fp8   D = alpha * (A * B^T) + beta * C; e4m3, fp32 scales 1x128 and 128x128, bf16 out; sm_100\n");
  for (const BlockwiseFP8Config& config : blockwise_fp8_configs())
    fmt::print("  {:<12} {}-SM MMA {}x128, cluster {}x{}, {} input stages, {} KiB shared memory{}\n", config.key,
               config.cta_group, 128 * config.cta_group, config.cluster_m, config.cluster_n, config.stages,
               (config.shared_bytes + 1023) / 1024, config.launch_control ? ", launch control" : "");
  for (const bool scaled : {false, true}) {
    fmt::print("{}\n", scaled ? "blockwise-fp8   the same with every epilogue of gemm; sm_90"
                              : "gemm            D = act(alpha * A * B^T + beta * C + bias); sm_90");
    for (const GemmConfig& config : gemm_configs())
      if (scaled == (config.scaling != Scaling::none))
        fmt::print("  {:<34} {:>3} x {:<3} {}, cluster {}x{}{}, {:2} input stages, {} KiB shared memory\n", config.key,
                   config.shape.tile_left, config.shape.tile_right, schedule_of(config.shape),
                   config.shape.cluster_left, config.shape.cluster_right,
                   config.shape.cluster_k > 1 ? fmt::format("x{}", config.shape.cluster_k) : "", config.shape.stages,
                   (config.shape.shared_bytes + 1023) / 1024);
  }
  return 0;
}

}  // namespace warploom::cli
