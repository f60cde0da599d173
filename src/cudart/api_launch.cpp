// What nvcc puts into a program: fat binaries, stubs of kernels and variables that register themselves; and launches.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cudart/api.hpp"

namespace warploom::cudart {
namespace {

/// Between <<<...>>> and the stub that it calls.
std::vector<LaunchConfiguration>& configurations() {
  static thread_local std::vector<LaunchConfiguration> stack;
  return stack;
}

Status launch(const void* stub, const LaunchConfiguration& configuration, void** arguments) {
  return guarded([&](Device& device) { return device.launch(stub, configuration, arguments); });
}

/// The kernel behind a stub, for questions about it.
template <class Ask>
Status ask(const void* stub, Ask&& ask) {
  return guarded([&](Device& device) {
    Function* const function = device.function(stub);
    if (function == nullptr) return device.report(Status::invalid_device_function);
    const Result<const ptx::abi::Kernel*> kernel = device.kernel(*function);
    if (!kernel) return device.refuse(Status::invalid_kernel_image, kernel.error());
    return ask(device, *function, **kernel);
  });
}

int most_threads_of(const ptx::abi::Kernel& kernel) {
  const auto volume = [](const uint32_t(&t)[3]) { return static_cast<int>(t[0] * t[1] * t[2]); };
  constexpr int most = 1024;
  if (kernel.required_threads[0] != 0) return volume(kernel.required_threads);
  return kernel.max_threads[0] != 0 ? std::min(most, volume(kernel.max_threads)) : most;
}

constexpr size_t shared_of_processor = 233472, shared_of_runtime = 1024;

int blocks_that_fit(const ptx::abi::Kernel& kernel, int threads, size_t dynamic_shared) {
  if (threads <= 0 || threads > most_threads_of(kernel)) return 0;
  constexpr int threads_of_processor = 2048, most_blocks = 32;
  const size_t shared =
      std::max<size_t>(kernel.static_shared, dynamic_shared == 0 ? 0 : kernel.dynamic_offset + dynamic_shared);
  const int warps = (threads + 31) / 32;
  const auto by_shared = static_cast<int>(shared_of_processor / (shared + shared_of_runtime));
  return std::min({threads_of_processor / (32 * warps), by_shared, most_blocks});
}

}  // namespace
}  // namespace warploom::cudart

using namespace warploom::cudart;  // the calls below are C
using warploom::ptx::abi::Kernel;

#define WARPLOOM_HIDDEN_CALL extern "C" __attribute__((visibility("default")))

WARPLOOM_HIDDEN_CALL void** __cudaRegisterFatBinary(void* wrapper) {
  const Locked device;
  return reinterpret_cast<void**>(device->add_binary(wrapper));
}
WARPLOOM_HIDDEN_CALL void __cudaRegisterFatBinaryEnd(void**) {}
WARPLOOM_HIDDEN_CALL void __cudaUnregisterFatBinary(void**) {}
WARPLOOM_HIDDEN_CALL void __cudaRegisterFunction(void** binary, const char* stub, char*, const char* name, int, void*,
                                                 void*, void*, void*, int*) {
  const Locked device;
  device->add_function(reinterpret_cast<Binary*>(binary), stub, name);
}
WARPLOOM_HIDDEN_CALL void __cudaRegisterVar(void** binary, char* stub, char*, const char* name, int, size_t bytes, int,
                                            int) {
  const Locked device;
  device->add_symbol(reinterpret_cast<Binary*>(binary), stub, name, bytes);
}
WARPLOOM_HIDDEN_CALL void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, size_t, int, int) {
  const Locked device;
  device->unsupported(fmt::format("__cudaRegisterManagedVar for the variable {}", name),
                      "a __managed__ variable can be a pointer to memory of cudaMallocManaged");
}
WARPLOOM_HIDDEN_CALL void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
WARPLOOM_HIDDEN_CALL char __cudaInitModule(void**) { return 1; }
WARPLOOM_CUDA(__cudaGetKernel, (KernelHandle * kernel, const void* stub)) {
  *kernel = stub;
  return Status::success;
}
WARPLOOM_CUDA(cudaGetKernel, (KernelHandle * kernel, const void* stub)) {
  *kernel = stub;
  return Status::success;
}
WARPLOOM_CUDA(cudaGetFuncBySymbol, (KernelHandle * kernel, const void* stub)) {
  *kernel = stub;
  return Status::success;
}
WARPLOOM_HIDDEN_CALL unsigned __cudaPushCallConfiguration(Extent3 grid, Extent3 block, size_t shared, Stream stream) {
  configurations().push_back({grid, block, shared, stream, nullptr, 0});
  return 0;
}
WARPLOOM_CUDA(__cudaPopCallConfiguration, (Extent3 * grid, Extent3* block, size_t* shared, void* stream)) {
  if (configurations().empty()) return Status::invalid_configuration;
  const LaunchConfiguration last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.dynamic_shared;
  std::memcpy(stream, &last.stream, sizeof(Stream));
  return Status::success;
}

WARPLOOM_CUDA(cudaLaunchKernel,
              (const void* stub, Extent3 grid, Extent3 block, void** arguments, size_t shared, Stream stream)) {
  return launch(stub, {grid, block, shared, stream, nullptr, 0}, arguments);
}
WARPLOOM_CUDA_ALSO(cudaLaunchKernel_ptsz, cudaLaunchKernel);
WARPLOOM_CUDA_ALSO(__cudaLaunchKernel, cudaLaunchKernel);
WARPLOOM_CUDA_ALSO(__cudaLaunchKernel_ptsz, cudaLaunchKernel);
WARPLOOM_CUDA(cudaLaunchKernelExC, (const LaunchConfiguration* configuration, const void* stub, void** arguments)) {
  return configuration == nullptr ? Status::invalid_value : launch(stub, *configuration, arguments);
}
WARPLOOM_CUDA_ALSO(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);
WARPLOOM_CUDA(cudaLaunchCooperativeKernel,
              (const void* stub, Extent3 grid, Extent3 block, void** arguments, size_t shared, Stream stream)) {
  LaunchAttribute cooperative{.id = AttributeId::cooperative, .padding = 0, .bytes = {}};
  cooperative.number = 1;
  return launch(stub, {grid, block, shared, stream, &cooperative, 1}, arguments);
}
WARPLOOM_CUDA_ALSO(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);
WARPLOOM_CUDA(cudaLaunchHostFunc, (Stream, void (*function)(void*), void* argument)) {
  const Status status = guarded([](Device& device) { return device.settle(); });
  if (status == Status::success) function(argument);
  return status;
}
WARPLOOM_CUDA_ALSO(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);

WARPLOOM_CUDA(cudaFuncSetAttribute, (const void* stub, FunctionAttribute attribute, int value)) {
  return guarded([&](Device& device) {
    Function* const function = device.function(stub);
    if (function == nullptr) return device.report(Status::invalid_device_function);
    constexpr int most_shared = 232448;
    const auto extent = static_cast<unsigned>(value);
    switch (attribute) {
      case FunctionAttribute::max_dynamic_shared:
        if (value < 0 || value > most_shared)
          return device.refuse(
              Status::invalid_value,
              fmt::format("cudaFuncSetAttribute: {} bytes of dynamic shared memory for {}; there are {}", value,
                          warploom::ptx::shown_kernel_name(function->name.c_str()), most_shared));
        function->dynamic_shared = static_cast<uint32_t>(value);
        return Status::success;
      case FunctionAttribute::carveout: function->carveout = value; return Status::success;
      case FunctionAttribute::non_portable_cluster: function->non_portable_cluster = value != 0; return Status::success;
      case FunctionAttribute::cluster_width: function->cluster = {extent, 1, 1}; return Status::success;
      case FunctionAttribute::cluster_height: function->cluster.y = extent; return Status::success;
      case FunctionAttribute::cluster_depth: function->cluster.z = extent; return Status::success;
      case FunctionAttribute::cluster_must_be_set:
      case FunctionAttribute::cluster_scheduling: return Status::success;
    }
    return device.report(Status::invalid_value);
  });
}
WARPLOOM_CUDA(cudaFuncSetCacheConfig, (const void*, int)) { return Status::success; }
WARPLOOM_CUDA(cudaFuncSetSharedMemConfig, (const void*, int)) { return Status::success; }
WARPLOOM_CUDA(cudaFuncGetAttributes, (FunctionAttributes * attributes, const void* stub)) {
  return ask(stub, [&](Device& device, const Function& function, const Kernel& kernel) {
    *attributes = {};
    attributes->shared_bytes = kernel.static_shared;
    attributes->max_threads = most_threads_of(kernel);
    constexpr int registers = 65536, most_registers = 255;
    attributes->registers = kernel.max_registers != 0
                                ? static_cast<int>(kernel.max_registers)
                                : std::min(registers / attributes->max_threads / 8 * 8, most_registers);
    attributes->ptx_version = attributes->binary_version = static_cast<int>(device.chip());
    attributes->max_dynamic_shared = static_cast<int>(function.dynamic_shared);
    attributes->carveout = function.carveout;
    attributes->cluster_must_be_set = kernel.explicit_cluster ? 1 : 0;
    attributes->cluster_width = static_cast<int>(kernel.required_cluster[0]);
    attributes->cluster_height = static_cast<int>(kernel.required_cluster[1]);
    attributes->cluster_depth = static_cast<int>(kernel.required_cluster[2]);
    attributes->non_portable_cluster = function.non_portable_cluster ? 1 : 0;
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaFuncGetName, (const char** name, const void* stub)) {
  return guarded([&](Device& device) {
    const Function* const function = device.function(stub);
    if (function == nullptr) return device.report(Status::invalid_device_function);
    *name = function->name.c_str();
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaFuncGetParamInfo, (const void* stub, size_t index, size_t* offset, size_t* bytes)) {
  return ask(stub, [&](Device& device, const Function&, const Kernel& kernel) {
    if (index >= kernel.parameter_count) return device.report(Status::invalid_value);
    *offset = kernel.parameters[index].offset;
    if (bytes != nullptr) *bytes = kernel.parameters[index].bytes;
    return Status::success;
  });
}

WARPLOOM_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              (int* blocks, const void* stub, int threads, size_t shared, unsigned)) {
  return ask(stub, [&](Device&, const Function&, const Kernel& kernel) {
    *blocks = blocks_that_fit(kernel, threads, shared);
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
              (int* blocks, const void* stub, int threads, size_t shared)) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, threads, shared, 0);
}
WARPLOOM_CUDA(cudaOccupancyAvailableDynamicSMemPerBlock, (size_t* bytes, const void* stub, int blocks, int threads)) {
  return ask(stub, [&](Device& device, const Function&, const Kernel& kernel) {
    constexpr size_t most = 232448;
    if (blocks <= 0 || threads <= 0) return device.report(Status::invalid_value);
    const size_t each = shared_of_processor / static_cast<size_t>(blocks);
    const size_t taken = kernel.static_shared + shared_of_runtime;
    *bytes = std::min(each > taken ? each - taken : 0, most);
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaOccupancyMaxActiveClusters,
              (int* clusters, const void* stub, const LaunchConfiguration* configuration)) {
  return ask(stub, [&](Device& device, const Function& function, const Kernel& kernel) {
    unsigned ctas = std::max(1u, function.cluster.x * function.cluster.y * function.cluster.z);
    for (unsigned i = 0; i < configuration->attribute_count; ++i)
      if (const LaunchAttribute& one = configuration->attributes[i]; one.id == AttributeId::cluster_dimension)
        ctas = one.cluster.x * one.cluster.y * one.cluster.z;
    const Extent3 block = configuration->block;
    const auto threads = static_cast<int>(block.x * block.y * block.z);
    const int fit = blocks_that_fit(kernel, threads, configuration->dynamic_shared);
    *clusters = ctas == 0 ? 0 : static_cast<int>(device.settings.processors * static_cast<unsigned>(fit) / ctas);
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaOccupancyMaxPotentialClusterSize, (int* ctas, const void* stub, const LaunchConfiguration*)) {
  return guarded([&](Device& device) {
    const Function* const function = device.function(stub);
    if (function == nullptr) return device.report(Status::invalid_device_function);
    *ctas = function->non_portable_cluster ? 16 : 8;
    return Status::success;
  });
}
