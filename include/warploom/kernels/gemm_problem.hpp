// The host's side of the GEMMs: a problem is described, a plan picks a configuration or says why there is none, and
// either machine runs it.
//
//   GemmProblem problem{.m = m, .n = n, .k = k, .a = {a, DType::bf16, k}, .b = {b, DType::bf16, k},
//                       .d = {d, DType::bf16, n}};
//   auto plan = plan_gemm(problem);
//   if (!plan) puts(plan.error().c_str());              // one sentence: what is not possible, and what is
//   auto outcome = run_on_loom(problem, *plan);         // or gpu::run(problem, *plan, workspace, stream)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "warploom/kernels/gemm_params.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/result.hpp"

namespace warploom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// A matrix operand; in f32 it is multiplied as tf32, whose low 13 bits the tensor core ignores. `stride` elements
/// between rows (major K: [rows, K]) or between K (major MN: [K, rows]).
struct OperandRef {
  const void* data = nullptr;
  DType type = DType::bf16;
  int64_t stride = 0;
  int64_t batch_stride = 0;
  Major major = Major::k;
};
/// A row-major output or source, [m, n].
template <class Pointer>
struct OutputRef {
  Pointer data = nullptr;
  DType type = DType::bf16;
  int64_t stride = 0;
  int64_t batch_stride = 0;
};
struct BiasRef {
  const void* data = nullptr;
  DType type = DType::f32;
  BiasAlong along = BiasAlong::none;
};
/// fp32 scales: of rows, [ceil(k/128)][stride >= rows]; of 128 x 128 blocks, [ceil(n/128)][ceil(k/128)].
struct ScalesRef {
  const float* data = nullptr;  ///< at a multiple of 16 bytes
  int64_t stride = 0;           ///< of rows only
  int64_t batch_stride = 0;     ///< a multiple of 4 elements
};

/// D = act(alpha * A * B^T + beta * C + bias), fp32 throughout and rounded once. A [m, k], B [n, k], C and D [m, n].
/// C is not touched when beta is 0, may be D itself, and otherwise must not overlap D. What overlaps is decided element
/// by element: tensors may be other columns of one buffer.
struct GemmProblem {
  int m = 0, n = 0, k = 0;
  int batch = 1;
  OperandRef a = {}, b = {};
  OutputRef<void*> d = {};
  OutputRef<const void*> c = {};
  BiasRef bias = {};
  float alpha = 1.0f, beta = 0.0f;
  Activation activation = Activation::none;
  Scaling scaling = Scaling::none;
  ScalesRef a_scales = {}, b_scales = {};
};

/// One ahead-of-time kernel (a row of hopper_gemm.def or blackwell_gemm.def), or one of the user's (own_gemm.hpp).
struct GemmConfig {
  const char* key;
  DType a, b;
  Major a_major, b_major;
  Scaling scaling;
  GemmShape shape;
  // Of a kernel of the user's: what runs it on either machine.
  loom::Entry loom_entry = nullptr;
  const void* gpu_entry = nullptr;  ///< a __global__ function of one GemmParams
};

/// A configuration and the choices left to run time.
struct GemmPlan {
  const GemmConfig* config = nullptr;
  int splits = 1;
  int ctas = 0;           ///< of the launch, whole clusters
  int at_once = 0;        ///< clusters that the chip runs at one time
  int weight_blocks = 0;  ///< K blocks of B that each CTA asks for before earlier grids are done
  Raster raster = {};
  size_t workspace_bytes = 0;
  double predicted_us = 0;
  std::string why;                         ///< one line for people
  const GemmConfig* instead_of = nullptr;  ///< from plan_gemm_on_loom: what it would have taken, were it built
};

/// The chip a plan is for.
struct ChipLimits {
  int sms = 132;
  Chip chip = Chip::sm90;

  /// An H200, or a B200.
  static constexpr ChipLimits of(Chip chip) { return {chip == Chip::sm90 ? 132 : 148, chip}; }
};

std::span<const GemmConfig> gemm_configs(Chip chip = Chip::sm90);
/// Of any chip: keys are unique.
Result<const GemmConfig*> find_gemm_config(std::string_view key);

/// "" or why no kernel for the chip can run this problem: one sentence about the first rule that it breaks.
std::string why_not(const GemmProblem& problem, Chip chip = Chip::sm90);
/// "" or why this configuration cannot.
std::string why_not(const GemmProblem& problem, const GemmConfig& config);
/// The nearest problem that runs: the types, sizes and strides that `why_not` asks for. Pointers are kept, save that
/// one that is not aligned moves up to the next multiple; a tensor that cannot be read is left out, by k = 0, beta = 0
/// or no bias. Where D is missing, m = 0.
GemmProblem nearest_that_runs(const GemmProblem& problem, Chip chip = Chip::sm90);

/// Plans are kept, about a thousand of them: for a problem of the same form, wherever its tensors lie, the second call
/// looks at pointers, alignment and overlap only, in less than a microsecond (docs/host.md).
Result<GemmPlan> plan_gemm(const GemmProblem& problem, const ChipLimits& chip = {});
/// The plan for one configuration on its chip; splits 0: as many as the cost model likes.
Result<GemmPlan> plan_gemm(const GemmProblem& problem, const GemmConfig& config, int splits = 0,
                           const ChipLimits& chip = {});
/// Every plan that is legal, cheapest first.
std::vector<GemmPlan> gemm_plans(const GemmProblem& problem, const ChipLimits& chip = {});

/// Whether the loom has it: a build may hold a part of the configurations (CMake's WARPLOOM_KERNELS), and a kernel of
/// the user's is always there. A GPU library has them all.
bool built_for_loom(const GemmConfig& config);
/// "" or a sentence that says so, and how it is built.
std::string why_not_on_loom(const GemmConfig& config);
/// The cheapest plan of those whose configuration is built. Where plan_gemm's is not, `instead_of` and `why` name it.
Result<GemmPlan> plan_gemm_on_loom(const GemmProblem& problem, const ChipLimits& chip = {});

/// Runs on the loom, or says that its configuration is not built; its workspace, where the plan needs one, is its own.
Result<loom::Outcome> run_on_loom(const GemmProblem& problem, const GemmPlan& plan, const loom::Options& options = {});

#pragma GCC visibility pop
}  // namespace warploom
