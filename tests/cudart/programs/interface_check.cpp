// Our declarations of the CUDA runtime's interface beside the real ones. It is compiled where CUDA is, and never run.
#include <cuda_runtime_api.h>

#include <cstddef>

#include "cudart/interface.hpp"

using namespace warploom::cudart;

#define SAME(ours, our_field, theirs, their_field)                            \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                    sizeof(ours::our_field) == sizeof(theirs::their_field),   \
                #ours "::" #our_field)

static_assert(sizeof(Extent3) == sizeof(dim3) && sizeof(Status) == sizeof(cudaError_t));
static_assert(static_cast<int>(Status::launch_failure) == cudaErrorLaunchFailure);
static_assert(static_cast<int>(Status::invalid_configuration) == cudaErrorInvalidConfiguration);
static_assert(static_cast<int>(Status::no_kernel_image) == cudaErrorNoKernelImageForDevice);
static_assert(static_cast<int>(Status::invalid_ptx) == cudaErrorInvalidPtx);
static_assert(static_cast<int>(Status::invalid_handle) == cudaErrorInvalidResourceHandle);
static_assert(static_cast<int>(Status::symbol_not_found) == cudaErrorSymbolNotFound);
static_assert(static_cast<int>(Status::invalid_device_function) == cudaErrorInvalidDeviceFunction);
static_assert(static_cast<int>(Status::invalid_kernel_image) == cudaErrorInvalidKernelImage);
static_assert(static_cast<int>(Status::invalid_symbol) == cudaErrorInvalidSymbol);
static_assert(static_cast<int>(Status::invalid_pitch) == cudaErrorInvalidPitchValue);
static_assert(static_cast<int>(Status::memory_allocation) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(Status::invalid_device) == cudaErrorInvalidDevice);
static_assert(static_cast<int>(Status::not_supported) == cudaErrorNotSupported);
static_assert(static_cast<int>(Status::not_ready) == cudaErrorNotReady);
static_assert(static_cast<int>(Status::out_of_resources) == cudaErrorLaunchOutOfResources);
static_assert(static_cast<int>(Status::invalid_cluster_size) == cudaErrorInvalidClusterSize);
static_assert(static_cast<int>(AttributeId::cooperative) == cudaLaunchAttributeCooperative);
static_assert(static_cast<int>(AttributeId::cluster_dimension) == cudaLaunchAttributeClusterDimension);
static_assert(static_cast<int>(AttributeId::programmatic_serialization) ==
              cudaLaunchAttributeProgrammaticStreamSerialization);
static_assert(static_cast<int>(FunctionAttribute::max_dynamic_shared) == cudaFuncAttributeMaxDynamicSharedMemorySize);
static_assert(static_cast<int>(FunctionAttribute::non_portable_cluster) ==
              cudaFuncAttributeNonPortableClusterSizeAllowed);
static_assert(sizeof(LaunchAttribute) == sizeof(cudaLaunchAttribute));
SAME(LaunchAttribute, cluster, cudaLaunchAttribute, val.clusterDim);
SAME(LaunchConfiguration, grid, cudaLaunchConfig_t, gridDim);
SAME(LaunchConfiguration, block, cudaLaunchConfig_t, blockDim);
SAME(LaunchConfiguration, dynamic_shared, cudaLaunchConfig_t, dynamicSmemBytes);
SAME(LaunchConfiguration, attributes, cudaLaunchConfig_t, attrs);
SAME(LaunchConfiguration, attribute_count, cudaLaunchConfig_t, numAttrs);
static_assert(sizeof(FunctionAttributes) == sizeof(cudaFuncAttributes));
SAME(FunctionAttributes, max_threads, cudaFuncAttributes, maxThreadsPerBlock);
SAME(FunctionAttributes, registers, cudaFuncAttributes, numRegs);
SAME(FunctionAttributes, max_dynamic_shared, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME(FunctionAttributes, cluster_must_be_set, cudaFuncAttributes, clusterDimMustBeSet);
SAME(FunctionAttributes, cluster_depth, cudaFuncAttributes, requiredClusterDepth);
SAME(FunctionAttributes, non_portable_cluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
static_assert(sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
SAME(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
static_assert(sizeof(DeviceProperties) == sizeof(cudaDeviceProp));
SAME(DeviceProperties, global_bytes, cudaDeviceProp, totalGlobalMem);
SAME(DeviceProperties, warp_size, cudaDeviceProp, warpSize);
SAME(DeviceProperties, grid_size, cudaDeviceProp, maxGridSize);
SAME(DeviceProperties, major, cudaDeviceProp, major);
SAME(DeviceProperties, processors, cudaDeviceProp, multiProcessorCount);
SAME(DeviceProperties, concurrent_kernels, cudaDeviceProp, concurrentKernels);
SAME(DeviceProperties, l2_bytes, cudaDeviceProp, l2CacheSize);
SAME(DeviceProperties, threads_per_processor, cudaDeviceProp, maxThreadsPerMultiProcessor);
SAME(DeviceProperties, shared_per_processor, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME(DeviceProperties, registers_per_processor, cudaDeviceProp, regsPerMultiprocessor);
SAME(DeviceProperties, managed_memory, cudaDeviceProp, managedMemory);
SAME(DeviceProperties, concurrent_managed, cudaDeviceProp, concurrentManagedAccess);
SAME(DeviceProperties, cooperative, cudaDeviceProp, cooperativeLaunch);
SAME(DeviceProperties, shared_per_block_optin, cudaDeviceProp, sharedMemPerBlockOptin);
SAME(DeviceProperties, blocks_per_processor, cudaDeviceProp, maxBlocksPerMultiProcessor);
SAME(DeviceProperties, reserved_shared, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(DeviceProperties, host_register, cudaDeviceProp, hostRegisterSupported);
SAME(DeviceProperties, memory_pools, cudaDeviceProp, memoryPoolsSupported);
SAME(DeviceProperties, cluster_launch, cudaDeviceProp, clusterLaunch);
