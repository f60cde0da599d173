// GEMMs on a Hopper GPU. A launch allocates nothing, waits for nothing and touches no stream but the caller's, so it
// can be captured into a CUDA graph; what it may use beyond its operands is the workspace that the plan asks for.
//
//   auto plan = plan_gemm(problem, gpu::chip_limits());
//   gpu::Workspace workspace{memory, gpu::workspace_bytes(*plan)};            // device memory, the caller's
//   if (auto why = gpu::clear(workspace, stream); !why.empty()) puts(why.c_str());        // once, before the first
//   launch if (auto why = gpu::run(problem, *plan, workspace, stream); !why.empty()) puts(why.c_str());
//
// For many launches of one problem: `auto prepared = gpu::prepare(problem, *plan, workspace)` does all that the host
// has to do but the launch; `gpu::launch(*prepared, stream)` is then one call of the driver.
#pragma once

#include <memory>

#include "warploom/kernels/gemm_problem.hpp"

struct CUstream_st;

namespace warploom::gpu {

using Stream = CUstream_st*;  ///< cudaStream_t, without the CUDA headers

/// Device memory for plans that split K, aligned to 256 bytes. Launches of different streams must not share one.
struct Workspace {
  void* data = nullptr;
  size_t bytes = 0;
};

/// What a launch needs, ready: tensor maps are encoded. It holds the problem's pointers and belongs to the device that
/// was current when it was made. Copying is cheap, and copies can be launched from several threads.
struct Prepared {
  struct Launch;
  std::shared_ptr<const Launch> launch;
};

/// "" or why no kernel of this library runs on the current device.
std::string missing();
/// Of the current device.
ChipLimits chip_limits();

size_t workspace_bytes(const GemmPlan& plan);
/// Zeroes a workspace, on the stream. Needed once, before its first launch: every launch leaves it fit for any other.
std::string clear(const Workspace& workspace, Stream stream);

Result<Prepared> prepare(const GemmProblem& problem, const GemmPlan& plan, const Workspace& workspace);

/// "" or what went wrong. With `overlap_previous` the kernel may begin while the one before it on the stream ends
/// (programmatic dependent launch); it waits for that one's results before it reads memory.
std::string launch(const Prepared& prepared, Stream stream, bool overlap_previous = false);
std::string run(const GemmProblem& problem, const GemmPlan& plan, const Workspace& workspace, Stream stream,
                bool overlap_previous = false);

}  // namespace warploom::gpu
