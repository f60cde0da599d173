// A GPU as the cases see it: memory, tensor maps and launches. loom_machine.hpp has the same members.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "../check.hpp"
#include "warploom/types/tensor_map_args.hpp"

/// Compute capability that programs are compiled for which run on more than one.
#ifndef WARPLOOM_GPU_MAJOR
#define WARPLOOM_GPU_MAJOR 9
#endif

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) entry(const __grid_constant__ typename Kernel::Params params) {
  Kernel::run(params);
}

class GpuMachine {
 public:
  /// "" or why kernels for chips of this compute capability cannot run here.
  static std::string missing(int major = 9) {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
      return std::string("no GPU: ") + cudaGetErrorString(error);
    cudaDeviceProp device{};
    cudaGetDeviceProperties(&device, 0);
    if (device.major != major)
      return "compiled for sm_" + std::to_string(major) + "0a, but this is a " + device.name +
             " of compute capability " + std::to_string(device.major) + "." + std::to_string(device.minor);
    return "";
  }

  GpuMachine() {
    find("cuTensorMapEncodeTiled", encode_);
    find("cuTensorMapEncodeIm2col", encode_im2col_);
  }
  ~GpuMachine() { reset(); }
  GpuMachine(const GpuMachine&) = delete;
  GpuMachine& operator=(const GpuMachine&) = delete;

  void reset() {
    for (void* block : blocks_) cudaFree(block);
    blocks_.clear();
    // A fault ends the context: every later call fails, and says so.
    trouble_.clear();
    check(cudaGetLastError(), "an earlier case");
  }
  const std::string& trouble() const { return trouble_; }

  /// Memory of the machine, with these contents.
  template <class T>
  T* memory(const std::vector<T>& contents, bool writable = false) {
    (void)writable;
    void* block = nullptr;
    const size_t bytes = contents.size() * sizeof(T);
    if (!check(cudaMalloc(&block, bytes), "cudaMalloc")) return nullptr;
    blocks_.push_back(block);
    check(cudaMemcpy(block, contents.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
    return static_cast<T*>(block);
  }
  template <class T>
  std::vector<T> read(const T* memory, size_t count) {
    std::vector<T> contents(count);
    if (!check(cudaDeviceSynchronize(), "a kernel")) return contents;
    check(cudaMemcpy(contents.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the GPU");
    return contents;
  }

  TensorMap encode(const TensorMapArgs& args) {
    static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
    TensorMap map{};
    if (!trouble_.empty()) return map;
    CUtensorMap encoded{};  // the driver's type asks for more alignment than the hardware
    if (args.im2col) return encode_im2col(args);
    const CUresult result = encode_(
        &encoded, static_cast<CUtensorMapDataType>(args.type), args.rank, const_cast<void*>(args.address),
        args.dims.data(), args.strides.data(), args.box.data(), args.element_strides.data(),
        static_cast<CUtensorMapInterleave>(args.interleave), static_cast<CUtensorMapSwizzle>(args.swizzle),
        static_cast<CUtensorMapL2promotion>(args.l2_promotion), static_cast<CUtensorMapFloatOOBfill>(args.fill));
    if (result != CUDA_SUCCESS) fail("cuTensorMapEncodeTiled: error " + std::to_string(result));
    std::memcpy(&map, &encoded, sizeof(map));
    return map;
  }

  /// Each launch may begin while the one before it ends (programmatic dependent launch): kernels that read what an
  /// earlier one wrote say so with grid_dependency_wait.
  template <class Kernel>
  void launch(const Shape& shape, const typename Kernel::Params& params) {
    if (!trouble_.empty()) return;
    constexpr int bytes = sizeof(typename Kernel::Storage);
    if (!check(cudaFuncSetAttribute(&entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), Kernel::name))
      return;
    cudaLaunchAttribute attributes[2]{};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = {shape.grid.x, shape.grid.y, shape.grid.z};
    config.blockDim = {shape.threads, 1, 1};
    config.dynamicSmemBytes = bytes;
    config.attrs = attributes;
    config.numAttrs = Kernel::waits_for_earlier_grids ? 2 : 1;
    check(cudaLaunchKernelEx(&config, &entry<Kernel>, params), Kernel::name);
  }

 private:
  template <class Function>
  void find(const char* name, Function& entry) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
          "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess) fail(std::string("the driver has no ") + name);
    entry = reinterpret_cast<Function>(function);
  }

  TensorMap encode_im2col(const TensorMapArgs& args) {
    TensorMap map{};
    CUtensorMap encoded{};
    const CUresult result = encode_im2col_(
        &encoded, static_cast<CUtensorMapDataType>(args.type), args.rank, const_cast<void*>(args.address),
        args.dims.data(), args.strides.data(), args.im2col->lower.data(), args.im2col->upper.data(),
        args.im2col->channels, args.im2col->pixels, args.element_strides.data(),
        static_cast<CUtensorMapInterleave>(args.interleave), static_cast<CUtensorMapSwizzle>(args.swizzle),
        static_cast<CUtensorMapL2promotion>(args.l2_promotion), static_cast<CUtensorMapFloatOOBfill>(args.fill));
    if (result != CUDA_SUCCESS) fail("cuTensorMapEncodeIm2col: error " + std::to_string(result));
    std::memcpy(&map, &encoded, sizeof(map));
    return map;
  }

  bool check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
    return error == cudaSuccess;
  }
  void fail(const std::string& text) {
    if (trouble_.empty()) trouble_ = text;
  }

  decltype(&cuTensorMapEncodeTiled) encode_ = nullptr;
  decltype(&cuTensorMapEncodeIm2col) encode_im2col_ = nullptr;
  std::vector<void*> blocks_;
  std::string trouble_;
};

/// `main` of a GPU program; arguments name the cases to run. The exit status is 0 when every case agrees, 1 when one
/// does not, 2 where it cannot run.
inline int gpu_main(const std::vector<Case<GpuMachine>>& cases, int argc, char** argv, int major = WARPLOOM_GPU_MAJOR) {
  if (const std::string missing = GpuMachine::missing(major); !missing.empty()) {
    std::fprintf(stderr, "%s\n", missing.c_str());
    return 2;
  }
  GpuMachine machine;
  return run_all(machine, cases, {argv + 1, argv + argc});
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
