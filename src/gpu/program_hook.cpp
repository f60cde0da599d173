// Linked into the program where the GPU half is built: how it reaches a GPU (kernels/gemm_gpu_hook.hpp).
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "kernels/gemm_params.hpp"
#include "warploom/gpu/gemm.hpp"
#include "warploom/kernels/gemm_gpu_hook.hpp"

namespace warploom::gpu {
namespace {

std::string text(cudaError_t error, const char* what) {
  return error == cudaSuccess ? "" : std::string(what) + ": " + cudaGetErrorString(error);
}

/// Copies of the host's tensors on the device, found by their host address.
class Mirror {
 public:
  ~Mirror() {
    for (const Tensor& tensor : tensors_) cudaFree(tensor.device);
  }
  std::string add(const loom::TensorRef& ref) {
    if (ref.bytes == 0) return "";
    Tensor tensor{ref, nullptr};
    if (std::string trouble = text(cudaMalloc(&tensor.device, ref.bytes), "cudaMalloc"); !trouble.empty())
      return trouble;
    tensors_.push_back(tensor);
    return copy_in(tensor);
  }
  template <class Pointer>
  Pointer at(Pointer host) const {
    for (const Tensor& tensor : tensors_) {
      const auto* first = static_cast<const std::byte*>(tensor.ref.pointer);
      const auto* byte = reinterpret_cast<const std::byte*>(host);
      if (byte >= first && byte < first + tensor.ref.bytes)
        return reinterpret_cast<Pointer>(static_cast<std::byte*>(tensor.device) + (byte - first));
    }
    return nullptr;
  }
  /// What launches write, as it was.
  std::string restore() const {
    for (const Tensor& tensor : tensors_)
      if (tensor.ref.access == loom::Access::write)
        if (std::string trouble = copy_in(tensor); !trouble.empty()) return trouble;
    return "";
  }
  std::string copy_back() const {
    for (const Tensor& tensor : tensors_)
      if (tensor.ref.access == loom::Access::write)
        if (std::string trouble = text(cudaMemcpy(const_cast<void*>(tensor.ref.pointer), tensor.device,
                                                  tensor.ref.bytes, cudaMemcpyDeviceToHost),
                                       "copying D back");
            !trouble.empty())
          return trouble;
    return "";
  }

 private:
  struct Tensor {
    loom::TensorRef ref;
    void* device;
  };
  static std::string copy_in(const Tensor& tensor) {
    return text(cudaMemcpy(tensor.device, tensor.ref.pointer, tensor.ref.bytes, cudaMemcpyHostToDevice),
                tensor.ref.name);
  }
  std::vector<Tensor> tensors_;
};

Result<std::string> device() {
  if (std::string why = missing(); !why.empty()) return Error{std::move(why), ErrorCode::no_device};
  int number = 0;
  cudaDeviceProp properties{};
  if (std::string trouble = text(cudaGetDevice(&number), "cudaGetDevice"); !trouble.empty()) return Error{trouble};
  if (std::string trouble = text(cudaGetDeviceProperties(&properties, number), "the GPU"); !trouble.empty())
    return Error{trouble};
  return std::string(properties.name);
}

Result<GemmGpuRun> run_host_problem(const GemmProblem& problem, const GemmPlan& plan, int launches) {
  Mirror mirror;
  for (const loom::TensorRef& ref : gemm_tensors(problem, plan, nullptr))
    if (ref.pointer != nullptr)
      if (std::string trouble = mirror.add(ref); !trouble.empty()) return Error{trouble};
  GemmProblem there = problem;
  there.a.data = mirror.at(problem.a.data);
  there.b.data = mirror.at(problem.b.data);
  there.c.data = mirror.at(problem.c.data);
  there.d.data = mirror.at(problem.d.data);
  there.bias.data = mirror.at(problem.bias.data);
  there.a_scales.data = mirror.at(problem.a_scales.data);
  there.b_scales.data = mirror.at(problem.b_scales.data);

  struct Memory {
    void* data = nullptr;
    ~Memory() { cudaFree(data); }
  } memory;
  const Workspace workspace_size{nullptr, workspace_bytes(plan)};
  if (workspace_size.bytes > 0)
    if (std::string trouble = text(cudaMalloc(&memory.data, workspace_size.bytes), "the workspace"); !trouble.empty())
      return Error{trouble};
  const Workspace workspace{memory.data, workspace_size.bytes};
  if (std::string trouble = clear(workspace, nullptr); !trouble.empty()) return Error{trouble};
  const auto prepared = prepare(there, plan, workspace);
  if (!prepared) return Error{prepared.error()};

  cudaEvent_t before = nullptr, after = nullptr;
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  std::vector<double> times;
  std::string trouble;
  for (int i = 0; i < std::max(launches, 1) && trouble.empty(); ++i) {
    if (i > 0) trouble = mirror.restore();
    cudaEventRecord(before, nullptr);
    if (trouble.empty()) trouble = launch(*prepared, nullptr);
    cudaEventRecord(after, nullptr);
    if (trouble.empty()) trouble = text(cudaDeviceSynchronize(), "the kernel");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, before, after);
    times.push_back(1e3 * static_cast<double>(milliseconds));
  }
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  if (trouble.empty()) trouble = mirror.copy_back();
  if (!trouble.empty()) return Error{trouble};
  std::sort(times.begin(), times.end());
  return GemmGpuRun{times[times.size() / 2], static_cast<int>(times.size())};
}

const GemmGpuRegistrar registrar({.device = &device, .chip = &chip_limits, .run = &run_host_problem});

}  // namespace
}  // namespace warploom::gpu
