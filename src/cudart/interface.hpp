// The part of the CUDA runtime's binary interface (version 13) that programs are linked against, in declarations of our
// own: this library is built where no CUDA is. What is compared with the real headers, where they are:
// tests/cudart/interface_check.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::cudart {

/// The numbers of cudaError_t.
enum class Status : int {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  invalid_pitch = 12,
  invalid_symbol = 13,
  invalid_copy_direction = 21,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_kernel_image = 200,
  no_kernel_image = 209,
  invalid_ptx = 218,
  invalid_handle = 400,
  symbol_not_found = 500,
  not_ready = 600,
  out_of_resources = 701,
  launch_failure = 719,
  not_supported = 801,
  invalid_cluster_size = 912,
};
const char* name_of(Status status);
const char* text_of(Status status);

/// dim3, which is passed by value.
struct Extent3 {
  unsigned x, y, z;
};

using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using KernelHandle = const void*;  ///< the address of the host's stub

/// cudaMemcpyKind.
enum class CopyKind : int { host_to_host = 0, host_to_device, device_to_host, device_to_device, by_address };

/// cudaLaunchAttributeID, as far as it is looked at.
enum class AttributeId : uint32_t {
  ignored = 0,
  access_policy = 1,
  cooperative = 2,
  synchronization_policy = 3,
  cluster_dimension = 4,
  cluster_scheduling = 5,
  programmatic_serialization = 6,
  programmatic_event = 7,
  priority = 8,
  memory_domain_map = 9,
  memory_domain = 10,
  preferred_cluster = 11,
  completion_event = 12,
  updatable_node = 13,
  shared_carveout = 14,
};

struct LaunchAttribute {
  AttributeId id;
  uint32_t padding;
  union {
    Extent3 cluster;
    int number;
    char bytes[64];
  };
};

struct LaunchConfiguration {
  Extent3 grid, block;
  size_t dynamic_shared;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// cudaFuncAttributes.
struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
  int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_scheduling, non_portable_cluster;
  int reserved[16];
};

/// cudaFuncAttribute.
enum class FunctionAttribute : int {
  max_dynamic_shared = 8,
  carveout = 9,
  cluster_must_be_set = 10,
  cluster_width = 11,
  cluster_height = 12,
  cluster_depth = 13,
  non_portable_cluster = 14,
  cluster_scheduling = 15,
};

/// cudaPointerAttributes.
struct PointerAttributes {
  int kind;  ///< 0: unregistered, 1: host, 2: device, 3: managed
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

/// cudaDeviceProp.
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t global_bytes, shared_per_block;
  int registers_per_block, warp_size;
  size_t pitch;
  int threads_per_block, threads_dim[3], grid_size[3];
  size_t constant_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int processors, integrated, can_map_host;
  int textures[25];
  int surfaces[14];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
  int bus_width, l2_bytes, persisting_l2_bytes, threads_per_processor, stream_priorities, global_l1, local_l1;
  size_t shared_per_processor;
  int registers_per_processor, managed_memory, multi_gpu, multi_gpu_group, host_atomics, pageable_access;
  int concurrent_managed, preemption, host_pointer_for_registered, cooperative;
  size_t shared_per_block_optin;
  int pageable_by_host_tables, direct_managed, blocks_per_processor, access_policy_bytes;
  size_t reserved_shared;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, rdma;
  unsigned rdma_flush;
  int rdma_ordering;
  unsigned pool_handles;
  int deferred_mapping, ipc_events, cluster_launch, unified_functions, numa_config, numa_id, mps, host_numa;
  unsigned pci_device_id, pci_subsystem_id;
  int host_numa_ipc;
  int reserved[56];
};

static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfiguration) == 56);
static_assert(sizeof(FunctionAttributes) == 144 && sizeof(PointerAttributes) == 88);
static_assert(sizeof(DeviceProperties) == 1008 && offsetof(DeviceProperties, shared_per_block_optin) == 672 &&
              offsetof(DeviceProperties, cluster_launch) == 748);

}  // namespace warploom::cudart
