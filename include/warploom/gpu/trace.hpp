// The host's end of GPU tracing, for .cu files compiled with WARPLOOM_TRACE=1 (docs/instrumentation.md).
//
//   auto trace = warploom::gpu::arm_trace({.blocks = 132, .warps = 7});   // in the file that holds the kernel
//   kernel<<<132, 224, ...>>>(params);
//   auto log = trace->collect();                                          // waits for the kernel
//   if (log) std::ofstream("kernel.json") << to_chrome_json(*log);
//
// In a build without WARPLOOM_TRACE arming records nothing. Link warploom::gpu or warploom::warploom.
#pragma once

#include <cuda_runtime.h>

#include "warploom/arch/trace.hpp"
#include "warploom/gpu/owned.hpp"
#include "warploom/gpu/trace_log.hpp"
#include "warploom/types/result.hpp"

namespace warploom::gpu {

struct TraceOptions {
  uint32_t blocks = 1;  ///< of the grid
  uint32_t warps = 1;   ///< per block
  uint32_t records_per_warp = 4096;
};

/// Room for the records of a grid, on the GPU. Keep it as long as traced kernels run.
class Trace {
 public:
  static Result<Trace> make(const TraceOptions& options) {
    Trace trace;
    trace.options_ = options;
    const size_t regions = size_t{options.blocks} * options.warps;
    const struct {
      Memory& memory;
      size_t bytes;
    } blocks[] = {{trace.buffer_, sizeof(TraceBuffer)},
                  {trace.regions_, regions * sizeof(TraceRegion)},
                  {trace.records_, regions * options.records_per_warp * sizeof(TraceRecord)}};
    for (const auto& block : blocks) {
      void* memory = nullptr;
      if (const cudaError_t error = cudaMalloc(&memory, block.bytes == 0 ? 1 : block.bytes); error != cudaSuccess)
        return Error{std::string("trace: cudaMalloc: ") + cudaGetErrorString(error)};
      block.memory = Memory(static_cast<std::byte*>(memory));
    }
    if (const cudaError_t error = trace.clear(); error != cudaSuccess)
      return Error{std::string("trace: ") + cudaGetErrorString(error)};
    return Result<Trace>(std::move(trace));
  }

  /// Forgets what was recorded.
  cudaError_t clear() {
    const size_t regions = size_t{options_.blocks} * options_.warps;
    const TraceBuffer buffer{reinterpret_cast<TraceRegion*>(regions_.get()),
                             reinterpret_cast<TraceRecord*>(records_.get()),
                             options_.blocks,
                             options_.warps,
                             options_.records_per_warp,
                             0};
    if (const cudaError_t error = cudaMemset(regions_.get(), 0, regions * sizeof(TraceRegion)); error != cudaSuccess)
      return error;
    return cudaMemcpy(buffer_.get(), &buffer, sizeof(buffer), cudaMemcpyHostToDevice);
  }

  /// Waits for the GPU; what all launches since the last clear() have recorded.
  Result<TraceLog> collect() const {
    TraceMemory memory;
    TraceBuffer buffer{};
    memory.warps_per_block = options_.warps;
    memory.capacity = options_.records_per_warp;
    memory.regions.resize(size_t{options_.blocks} * options_.warps);
    memory.records.resize(memory.regions.size() * memory.capacity);
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = fetch(&buffer, buffer_.get(), sizeof(buffer));
    if (error == cudaSuccess)
      error = fetch(memory.regions.data(), regions_.get(), memory.regions.size() * sizeof(TraceRegion));
    if (error == cudaSuccess)
      error = fetch(memory.records.data(), records_.get(), memory.records.size() * sizeof(TraceRecord));
    int device = 0, kilohertz = 0;
    if (error == cudaSuccess) error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device);
    memory.strangers = buffer.strangers;
    struct FromGpu : TraceTexts {
      cudaError_t& error;
      explicit FromGpu(cudaError_t& e) : error(e) {}
      std::string at(uint64_t address) override { return text_at(address, error); }
    } texts(error);
    if (error == cudaSuccess) {
      TraceLog log = make_trace_log(memory, texts, kilohertz > 0 ? 1e6 / kilohertz : 1.0);
      if (error == cudaSuccess) return Result<TraceLog>(std::move(log));
    }
    return Error{std::string("trace: ") + cudaGetErrorString(error)};
  }

  TraceBuffer* on_gpu() const { return reinterpret_cast<TraceBuffer*>(buffer_.get()); }

 private:
  using Memory = Owned<std::byte, cudaFree>;

  Trace() = default;
  static cudaError_t fetch(void* to, const void* from, size_t bytes) {
    return bytes == 0 ? cudaSuccess : cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  static std::string text_at(uint64_t address, cudaError_t& error) {
    DeviceText head{};
    const auto* text = reinterpret_cast<const DeviceText*>(address);
    std::string characters;
    if (error == cudaSuccess) error = fetch(&head, text, sizeof(head));
    if (error == cudaSuccess) characters.resize(head.length);
    if (error == cudaSuccess && head.length > 0) error = fetch(characters.data(), text->characters(), head.length);
    return characters;
  }

  TraceOptions options_;
  Memory buffer_, regions_, records_;
};

/// Traces the kernels of this file from here on, each file having a pointer of its own to the records.
[[maybe_unused]] static Result<Trace> arm_trace(TraceOptions options) {
  if (!WARPLOOM_TRACE) options.records_per_warp = 0;  // nothing will be recorded
  Result<Trace> trace = Trace::make(options);
#if WARPLOOM_TRACE
  if (trace) {
    TraceBuffer* const buffer = trace->on_gpu();
    if (const cudaError_t error = cudaMemcpyToSymbol(arch::detail::trace_buffer, &buffer, sizeof(buffer));
        error != cudaSuccess)
      return Error{std::string("trace: ") + cudaGetErrorString(error)};
  }
#endif
  return trace;
}

}  // namespace warploom::gpu
