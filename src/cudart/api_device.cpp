// The calls about devices, errors, streams and events. There is one device, and all streams are one: what is launched
// runs in the order of the program, when somebody waits for it.
#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "cudart/api.hpp"

namespace warploom::cudart {

struct StreamHandle {
  unsigned flags = 0;
  int priority = 0;
};
struct EventHandle {
  std::chrono::steady_clock::time_point recorded = {};
  bool is_recorded = false;
};

namespace {

Status settle() {
  return guarded([](Device& device) { return device.report(device.settle()); });
}

/// cudaDevAttr...; nothing for what no program asks a CPU for.
int attribute_of(Device& device, int attribute) {
  const int major = static_cast<int>(device.chip()) / 10;
  switch (attribute) {
    case 1: return 1024;         // threads per block
    case 2:                      // ... along x
    case 3: return 1024;         // ... along y
    case 4: return 64;           // ... along z
    case 5: return 0x7fffffff;   // blocks along x
    case 6:                      // ... along y
    case 7: return 65535;        // ... along z
    case 8: return 49152;        // shared memory per block
    case 9: return 65536;        // constant memory
    case 10: return 32;          // lanes
    case 11: return 0x7fffffff;  // pitch
    case 12:                     // registers per block
    case 82: return 65536;       // ... per SM
    case 13: return 1000000;     // clock, kHz
    case 14: return 512;         // alignment of textures
    case 16: return static_cast<int>(device.settings.processors);
    case 19:  // host memory can be mapped
    case 31:  // kernels at a time
    case 41:  // one address space
    case 78:  // priorities of streams
    case 79:  // L1
    case 80:
    case 83:                   // managed memory
    case 89:                   // ... from both sides
    case 91:                   // host pointers of registered memory
    case 99:                   // registered host memory
    case 115:                  // cudaMallocAsync
    case 120: return 1;        // clusters
    case 36: return 1000000;   // memory clock, kHz
    case 37: return 5120;      // bus, bits
    case 38: return 50 << 20;  // L2
    case 39: return 2048;      // threads per SM
    case 40: return 3;         // copy engines
    case 75: return major;
    case 76: return 0;
    case 81: return 233472;  // shared memory per SM
    case 97: return 232448;  // ... per block, with cudaFuncSetAttribute
    case 106: return 32;     // blocks per SM
    case 111: return 1024;   // shared memory of the runtime
    default: return 0;
  }
}

void describe(Device& device, DeviceProperties& p) {
  p = {};
  const auto value = [&](int attribute) { return attribute_of(device, attribute); };
  const std::string name = fmt::format("Warploom loom sm_{}a (CPU)", device.chip());
  std::memcpy(p.name, name.c_str(), name.size() + 1);
  p.global_bytes = size_t{16} << 30;
  p.shared_per_block = static_cast<size_t>(value(8));
  p.registers_per_block = p.registers_per_processor = value(12);
  p.warp_size = value(10);
  p.pitch = static_cast<size_t>(value(11));
  p.threads_per_block = value(1);
  for (int i = 0; i < 3; ++i) {
    p.threads_dim[i] = value(2 + i);
    p.grid_size[i] = value(5 + i);
  }
  p.constant_bytes = static_cast<size_t>(value(9));
  p.major = value(75);
  p.minor = value(76);
  p.texture_alignment = static_cast<size_t>(value(14));
  p.processors = value(16);
  p.can_map_host = p.concurrent_kernels = p.unified_addressing = p.stream_priorities = 1;
  p.global_l1 = p.local_l1 = p.managed_memory = p.concurrent_managed = p.host_register = p.memory_pools = 1;
  p.cluster_launch = p.host_pointer_for_registered = 1;
  p.async_engines = value(40);
  p.bus_width = value(37);
  p.l2_bytes = value(38);
  p.threads_per_processor = value(39);
  p.shared_per_processor = static_cast<size_t>(value(81));
  p.shared_per_block_optin = static_cast<size_t>(value(97));
  p.blocks_per_processor = value(106);
  p.reserved_shared = static_cast<size_t>(value(111));
}

Status only_device(Device& device, int number) {
  return number == 0 ? Status::success : device.report(Status::invalid_device);
}

Status make_stream(Stream* stream, unsigned flags, int priority) {
  if (stream == nullptr) return Status::invalid_value;
  *stream = new StreamHandle{flags, priority};
  return Status::success;
}

/// The default streams are small numbers.
bool is_handle(Stream stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

Status record(Event event) {
  return guarded([&](Device& device) {
    if (event == nullptr) return device.report(Status::invalid_handle);
    const Status status = device.settle();
    event->recorded = std::chrono::steady_clock::now();
    event->is_recorded = true;
    return status;
  });
}

}  // namespace
}  // namespace warploom::cudart

using namespace warploom::cudart;  // the calls below are C

// ---- errors

WARPLOOM_CUDA(cudaGetLastError, ()) {
  return guarded([](Device& device) { return device.take_last_error(); });
}
WARPLOOM_CUDA(cudaPeekAtLastError, ()) {
  return guarded([](Device& device) { return device.last_error(); });
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(Status status) {
  return text_of(status);
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(Status status) {
  return name_of(status);
}

// ---- devices

WARPLOOM_CUDA(cudaGetDeviceCount, (int* count)) {
  *count = 1;
  return Status::success;
}
WARPLOOM_CUDA(cudaGetDevice, (int* number)) {
  *number = 0;
  return Status::success;
}
WARPLOOM_CUDA(cudaSetDevice, (int number)) {
  return guarded([&](Device& device) { return only_device(device, number); });
}
WARPLOOM_CUDA(cudaInitDevice, (int number, unsigned, unsigned)) {
  return guarded([&](Device& device) { return only_device(device, number); });
}
WARPLOOM_CUDA(cudaSetDeviceFlags, (unsigned)) { return Status::success; }
WARPLOOM_CUDA(cudaGetDeviceFlags, (unsigned* flags)) {
  *flags = 0;
  return Status::success;
}
WARPLOOM_CUDA(cudaGetDeviceProperties, (DeviceProperties * properties, int number)) {
  return guarded([&](Device& device) {
    describe(device, *properties);
    return only_device(device, number);
  });
}
WARPLOOM_CUDA(cudaDeviceGetAttribute, (int* value, int attribute, int number)) {
  return guarded([&](Device& device) {
    *value = attribute_of(device, attribute);
    return only_device(device, number);
  });
}
WARPLOOM_CUDA(cudaDriverGetVersion, (int* number)) {
  *number = driver_version;
  return Status::success;
}
WARPLOOM_CUDA(cudaRuntimeGetVersion, (int* number)) {
  *number = runtime_version;
  return Status::success;
}
WARPLOOM_CUDA(cudaDeviceSynchronize, ()) { return settle(); }
WARPLOOM_CUDA(cudaDeviceReset, ()) { return settle(); }
WARPLOOM_CUDA(cudaDeviceSetCacheConfig, (int)) { return Status::success; }
WARPLOOM_CUDA(cudaDeviceSetSharedMemConfig, (int)) { return Status::success; }
WARPLOOM_CUDA(cudaDeviceSetLimit, (int, size_t)) { return Status::success; }
WARPLOOM_CUDA(cudaDeviceGetLimit, (size_t* value, int)) {
  *value = size_t{8} << 20;
  return Status::success;
}
WARPLOOM_CUDA(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest)) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return Status::success;
}
WARPLOOM_CUDA(cudaDeviceCanAccessPeer, (int* can, int, int)) {
  *can = 0;
  return Status::success;
}
WARPLOOM_CUDA(cudaProfilerStart, ()) { return Status::success; }
WARPLOOM_CUDA(cudaProfilerStop, ()) { return Status::success; }

// ---- streams

WARPLOOM_CUDA(cudaStreamCreate, (Stream * stream)) { return make_stream(stream, 0, 0); }
WARPLOOM_CUDA(cudaStreamCreateWithFlags, (Stream * stream, unsigned flags)) { return make_stream(stream, flags, 0); }
WARPLOOM_CUDA(cudaStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority)) {
  return make_stream(stream, flags, priority);
}
WARPLOOM_CUDA(cudaStreamDestroy, (Stream stream)) {
  const Status status = settle();
  if (is_handle(stream)) delete stream;
  return status;
}
WARPLOOM_CUDA(cudaStreamSynchronize, (Stream)) { return settle(); }
WARPLOOM_CUDA_ALSO(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);
WARPLOOM_CUDA(cudaStreamQuery, (Stream)) { return settle(); }
WARPLOOM_CUDA_ALSO(cudaStreamQuery_ptsz, cudaStreamQuery);
WARPLOOM_CUDA(cudaStreamWaitEvent, (Stream, Event, unsigned)) { return Status::success; }
WARPLOOM_CUDA_ALSO(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);
WARPLOOM_CUDA(cudaStreamGetFlags, (Stream stream, unsigned* flags)) {
  *flags = is_handle(stream) ? stream->flags : 0;
  return Status::success;
}
WARPLOOM_CUDA_ALSO(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
WARPLOOM_CUDA(cudaStreamGetPriority, (Stream stream, int* priority)) {
  *priority = is_handle(stream) ? stream->priority : 0;
  return Status::success;
}
WARPLOOM_CUDA_ALSO(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
WARPLOOM_CUDA(cudaStreamGetDevice, (Stream, int* number)) {
  *number = 0;
  return Status::success;
}
WARPLOOM_CUDA_ALSO(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);
WARPLOOM_CUDA(cudaStreamGetId, (Stream stream, unsigned long long* id)) {
  *id = reinterpret_cast<uintptr_t>(stream);
  return Status::success;
}
WARPLOOM_CUDA_ALSO(cudaStreamGetId_ptsz, cudaStreamGetId);
WARPLOOM_CUDA(cudaStreamIsCapturing, (Stream, int* capturing)) {
  *capturing = 0;
  return Status::success;
}
WARPLOOM_CUDA_ALSO(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);

// ---- events

WARPLOOM_CUDA(cudaEventCreate, (Event * event)) {
  if (event == nullptr) return Status::invalid_value;
  *event = new EventHandle;
  return Status::success;
}
WARPLOOM_CUDA(cudaEventCreateWithFlags, (Event * event, unsigned)) { return cudaEventCreate(event); }
WARPLOOM_CUDA(cudaEventDestroy, (Event event)) {
  delete event;
  return Status::success;
}
WARPLOOM_CUDA(cudaEventRecord, (Event event, Stream)) { return record(event); }
WARPLOOM_CUDA_ALSO(cudaEventRecord_ptsz, cudaEventRecord);
WARPLOOM_CUDA(cudaEventRecordWithFlags, (Event event, Stream, unsigned)) { return record(event); }
WARPLOOM_CUDA_ALSO(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
WARPLOOM_CUDA(cudaEventQuery, (Event)) { return settle(); }
WARPLOOM_CUDA(cudaEventSynchronize, (Event)) { return settle(); }
WARPLOOM_CUDA(cudaEventElapsedTime, (float* milliseconds, Event from, Event to)) {
  return guarded([&](Device& device) {
    if (from == nullptr || to == nullptr || !from->is_recorded || !to->is_recorded)
      return device.report(Status::invalid_handle);
    *milliseconds = std::chrono::duration<float, std::milli>(to->recorded - from->recorded).count();
    return Status::success;
  });
}
