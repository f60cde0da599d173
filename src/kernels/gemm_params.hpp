// From a problem and a plan to what a launch needs: the same for both machines, which differ only in how a tensor map
// is made.
//
//   auto launch = make_launch(problem, plan, workspace, &encode);          // or one sentence
//   if (launch->grid.x != 0) start(launch->grid, launch->cluster, launch->threads, launch->shared_bytes,
//   launch->params);
#pragma once

#include <vector>

#include "warploom/kernels/gemm_problem.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom {

using EncodeTensorMap = Result<TensorMap> (*)(const TensorMapArgs& args);

struct GemmLaunch {
  GemmParams params = {};
  Dim3 grid = {0, 1, 1};  ///< x is 0 where there is nothing to compute: nothing is launched then
  Dim3 cluster = {};
  uint32_t threads = 0;
  size_t shared_bytes = 0;
};

/// `workspace`: plan.workspace_bytes at a multiple of 128 bytes, the first gemm_counter_bytes of them zero.
Result<GemmLaunch> make_launch(const GemmProblem& problem, const GemmPlan& plan, void* workspace,
                               EncodeTensorMap encode);

/// How C and D are touched: TMA where its 16-byte rules hold for the tensor and for the kernel's box.
Path d_path(const GemmProblem& problem, const GemmShape& shape);
Path c_path(const GemmProblem& problem, const GemmShape& shape);
/// Whether there is nothing to store but the product, in 16 bits, by TMA: GemmParams::plain.
bool plain_output(const GemmProblem& problem, const GemmShape& shape, int splits);
/// Whether it is what the kernel has quick code for: GemmParams::fused.
bool fused_output(const GemmProblem& problem, const GemmShape& shape, int splits);

/// The tiles of an output: of CTAs along either operand, whole clusters, and the work items of a launch.
struct GemmTiles {
  int64_t left_clusters = 0, right_clusters = 0;
  int64_t clusters = 0;  ///< of one batch entry
  int64_t ctas = 0;      ///< of one batch entry
};
GemmTiles gemm_tiles(const GemmProblem& problem, const GemmShape& shape);

/// Split K: arrival counters, [batch * tiles][groups], padded to 1024 bytes; then the partial sums. 0 without splits.
size_t gemm_counter_bytes(const GemmProblem& problem, const GemmShape& shape, int splits);
size_t gemm_workspace_bytes(const GemmProblem& problem, const GemmShape& shape, int splits);

/// Whether a launch left the counters as the next one needs them.
bool gemm_counters_zero(const void* workspace, size_t counter_bytes);

/// Bytes from the first element of a tensor to its last.
size_t span_bytes(int64_t inner, int64_t outer, int64_t stride, int batch, int64_t batch_stride, DType type);

/// Every tensor that the launch may touch, byte for byte; those it does not read are left out.
std::vector<loom::TensorRef> gemm_tensors(const GemmProblem& problem, const GemmPlan& plan, void* workspace);

}  // namespace warploom
