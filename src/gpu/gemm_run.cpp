#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "gpu/cluster_places.hpp"
#include "gpu/gemm_kernels.hpp"
#include "kernels/gemm_params.hpp"
#include "types/no_throw.hpp"
#include "warploom/gpu/gemm.hpp"

namespace warploom::gpu {
namespace {

/// The counters of split K come first in every workspace, in room of the same size for all plans: a launch leaves them
/// zero, and no other plan's partial sums can have been there.
constexpr size_t counter_room = size_t{64} << 10;

std::string text(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return "";
  (void)cudaGetLastError();  // reported here, and not again by the caller's next check
  return std::string(what) + ": " + cudaGetErrorString(error);
}

/// The driver's function, found through the runtime: the library links no libcuda.
Result<decltype(&cuTensorMapEncodeTiled)> driver_encode() {
  static const auto found = []() -> Result<decltype(&cuTensorMapEncodeTiled)> {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult query{};
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query);
    if (error != cudaSuccess) return Error{text(error, "cuTensorMapEncodeTiled"), ErrorCode::device_failed};
    if (query != cudaDriverEntryPointSuccess || function == nullptr)
      return Error{"the driver has no cuTensorMapEncodeTiled; it must be of CUDA 12.0 or newer",
                   ErrorCode::device_failed};
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  return found;
}

Result<TensorMap> encode(const TensorMapArgs& args) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  const auto function = driver_encode();
  if (!function) return function.why();
  CUtensorMap encoded{};
  const CUresult result = (*function)(
      &encoded, static_cast<CUtensorMapDataType>(args.type), args.rank, const_cast<void*>(args.address),
      args.dims.data(), args.strides.data(), args.box.data(), args.element_strides.data(),
      static_cast<CUtensorMapInterleave>(args.interleave), static_cast<CUtensorMapSwizzle>(args.swizzle),
      static_cast<CUtensorMapL2promotion>(args.l2_promotion), static_cast<CUtensorMapFloatOOBfill>(args.fill));
  if (result != CUDA_SUCCESS)
    return Error{"cuTensorMapEncodeTiled refuses a tensor map: error " + std::to_string(result),
                 ErrorCode::device_failed};
  TensorMap map{};
  std::memcpy(&map, &encoded, sizeof(map));
  return map;
}

/// Lets a kernel have its shared memory, once per kernel and device.
std::string allow_shared_memory(const GemmKernel& kernel) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return text(error, "cudaGetDevice");
  static std::mutex mutex;
  static std::set<std::pair<int, const void*>> allowed;  // on which device, which kernel
  const std::lock_guard lock(mutex);
  if (allowed.contains({device, kernel.entry})) return "";
  const cudaError_t error = cudaFuncSetAttribute(kernel.entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(kernel.shape.shared_bytes));
  if (error != cudaSuccess) return text(error, kernel.key);
  if (kernel.shape.cluster_size() > 8) {  // the most that every chip must run
    const cudaError_t refused = cudaFuncSetAttribute(kernel.entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (refused != cudaSuccess) return text(refused, kernel.key);
  }
  allowed.emplace(device, kernel.entry);
  return "";
}

/// nvcc and the host compiler must have computed the same kernel.
bool same(const GemmShape& a, const GemmShape& b) {
  return a.chip == b.chip && a.tile_left == b.tile_left && a.tile_right == b.tile_right && a.tile_k == b.tile_k &&
         a.left_box_rows == b.left_box_rows && a.right_box_rows == b.right_box_rows &&
         a.unit_columns == b.unit_columns && a.rest_columns == b.rest_columns && a.load_rows == b.load_rows &&
         a.store_rows == b.store_rows && a.plain_rows == b.plain_rows && a.plain_columns == b.plain_columns &&
         a.cta_group == b.cta_group && a.k_group == b.k_group && a.launch_control == b.launch_control &&
         a.groups == b.groups && a.cluster_left == b.cluster_left && a.cluster_right == b.cluster_right &&
         a.cluster_k == b.cluster_k && a.stages == b.stages && a.threads == b.threads &&
         a.shared_bytes == b.shared_bytes && a.partial_floats == b.partial_floats && a.ping_pong == b.ping_pong &&
         a.swap == b.swap && a.fuses == b.fuses && a.own_function == b.own_function;
}

}  // namespace

struct Prepared::Launch {
  GemmKernel kernel = {};
  GemmLaunch made = {};
};

namespace {

std::string what_is_missing() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
    return error == cudaSuccess ? "there is no GPU" : text(error, "there is no GPU");
  int device = 0, major = 0, minor = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return text(error, "cudaGetDevice");
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if ((major != 9 && major != 10) || minor != 0)
    return "the GEMMs are compiled for compute capability 9.0 (H100, H200) and 10.0 (B200); this GPU has " +
           std::to_string(major) + "." + std::to_string(minor);
  return "";
}

}  // namespace

std::string missing() {
  return sentence_of([] { return what_is_missing(); });
}

ChipLimits chip_limits() {
  ChipLimits limits;
  int device = 0, sms = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return limits;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 10)
    limits = ChipLimits::of(Chip::sm100);
  if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) == cudaSuccess && sms > 0) limits.sms = sms;
  return limits;
}

size_t workspace_bytes(const GemmPlan& plan) {
  return plan.workspace_bytes == 0 ? 0 : counter_room + plan.workspace_bytes;
}

std::string clear(const Workspace& workspace, Stream stream) {
  if (workspace.bytes == 0) return "";
  const size_t counters = workspace.bytes < counter_room ? workspace.bytes : counter_room;
  const cudaError_t error = cudaMemsetAsync(workspace.data, 0, counters, stream);
  return sentence_of([error] { return text(error, "clearing the workspace"); });
}

namespace {

Result<Prepared> made_ready(const GemmProblem& problem, const GemmPlan& plan, const Workspace& workspace) {
  if (plan.config == nullptr) return Error{"the plan is empty: make it with plan_gemm"};
  const GemmKernel own{plan.config->key, plan.config->gpu_entry, plan.config->shape};
  const GemmKernel* const kernel = own.entry != nullptr ? &own : find_gemm_kernel(plan.config->key);
  if (kernel == nullptr)
    return Error{std::string("the configuration ") + plan.config->key + " is not part of this build of warploom_gpu",
                 ErrorCode::not_built};
  if (!same(kernel->shape, plan.config->shape))
    return Error{std::string("the plan's ") + plan.config->key +
                     " is not the kernel of this build: libwarploom and libwarploom_gpu are of different versions",
                 ErrorCode::internal};
  if (workspace.bytes < workspace_bytes(plan) || (workspace.data == nullptr && plan.workspace_bytes > 0))
    return Error{"the workspace has " + std::to_string(workspace.bytes) + " bytes; this plan needs " +
                 std::to_string(workspace_bytes(plan))};
  if (reinterpret_cast<uintptr_t>(workspace.data) % 256 != 0)
    return Error{"the workspace must be aligned to 256 bytes"};
  if (std::string trouble = allow_shared_memory(*kernel); !trouble.empty())
    return Error{std::move(trouble), ErrorCode::device_failed};

  auto made = make_launch(problem, plan, workspace.data, &encode);
  if (!made) return made.why();
  if (plan.splits > 1) {
    if (gemm_counter_bytes(problem, kernel->shape, plan.splits) > counter_room)
      return Error{"K is split over more output tiles than a workspace has counters for; plan with fewer splits",
                   ErrorCode::unsupported};
    made->params.partials = reinterpret_cast<float*>(static_cast<std::byte*>(workspace.data) + counter_room);
  }
  // Where each cluster has several tiles; with one, it does not matter which.
  const int size = kernel->shape.cluster_size(), clusters = plan.ctas / size;
  if (kernel->shape.placed && kernel->shape.cluster_k == 1 &&
      gemm_tiles(problem, kernel->shape).clusters * problem.batch > clusters)
    made->params.places = cluster_places(clusters, size);
  auto launch = std::make_shared<Prepared::Launch>(Prepared::Launch{*kernel, *made});
  return Prepared{std::move(launch)};
}

}  // namespace

Result<Prepared> prepare(const GemmProblem& problem, const GemmPlan& plan, const Workspace& workspace) {
  return no_throw([&] { return made_ready(problem, plan, workspace); });
}

std::string launch(const Prepared& prepared, Stream stream, bool overlap_previous) {
  const GemmLaunch& what = prepared.launch->made;
  const GemmKernel& kernel = prepared.launch->kernel;
  if (what.grid.x == 0) return "";
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (kernel.shape.cluster_size() > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {what.cluster.x, what.cluster.y, what.cluster.z};
  }
  if (overlap_previous) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = {what.grid.x, what.grid.y, what.grid.z};
  config.blockDim = {what.threads, 1, 1};
  config.dynamicSmemBytes = what.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[] = {const_cast<GemmParams*>(&what.params)};
  const cudaError_t error = cudaLaunchKernelExC(&config, kernel.entry, arguments);
  return sentence_of([&] { return text(error, kernel.key); });
}

std::string run(const GemmProblem& problem, const GemmPlan& plan, const Workspace& workspace, Stream stream,
                bool overlap_previous) {
  const auto prepared = prepare(problem, plan, workspace);
  return prepared ? launch(*prepared, stream, overlap_previous) : prepared.error();
}

}  // namespace warploom::gpu
