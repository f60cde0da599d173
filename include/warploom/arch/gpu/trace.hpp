// The GPU side of arch/trace.hpp: nothing at all, or with WARPLOOM_TRACE=1 a record in the warp's region of a buffer in
// global memory, which the host has provided (gpu/trace.hpp). Lane 0 writes it.
#pragma once

#if WARPLOOM_TRACE
#include "warploom/arch/gpu/barrier_notes.hpp"
#endif

namespace warploom::inline WARPLOOM_MACHINE::arch {

#if WARPLOOM_TRACE

namespace detail {

/// One copy per .cu file: without relocatable device code a header cannot share it between files.
static __device__ ::warploom::gpu::TraceBuffer* trace_buffer;

/// The region of this warp, or null.
WARPLOOM_FN ::warploom::gpu::TraceRegion* trace_region() noexcept {
  ::warploom::gpu::TraceBuffer* const buffer = trace_buffer;
  if (buffer == nullptr) return nullptr;
  const uint32_t block = ::blockIdx.x + ::gridDim.x * (::blockIdx.y + ::gridDim.y * ::blockIdx.z);
  const uint32_t warp = ::threadIdx.x / warp_size;
  if (block >= buffer->blocks || warp >= buffer->warps) return nullptr;
  return buffer->regions + block * buffer->warps + warp;
}

/// Called by one lane, which fills in where it is.
static __device__ __noinline__ void write_trace(::warploom::gpu::TraceRecord record) {
  ::warploom::gpu::TraceRegion* const region = trace_region();
  if (region == nullptr) {
    if (trace_buffer != nullptr) atomicAdd(&trace_buffer->strangers, 1u);
    return;
  }
  const uint32_t slot = atomicAdd(&region->attempts, 1u);
  if (slot == 0) region->cluster_rank = ptx::get_sreg_cluster_ctarank();
  if (slot >= trace_buffer->capacity) return;
  record.sm = static_cast<uint16_t>(ptx::get_sreg_smid());
  record.lane = static_cast<uint16_t>(ptx::get_sreg_laneid());
  trace_buffer->records[static_cast<uint64_t>(region - trace_buffer->regions) * trace_buffer->capacity + slot] = record;
}

template <class Label>
WARPLOOM_FN void trace_point(::warploom::gpu::TraceKind kind) noexcept {
  if (!speaks_for_warp()) return;
  ::warploom::gpu::TraceRecord record{};
  record.clock = ptx::get_sreg_clock64();
  record.nanoseconds = global_nanoseconds();
  record.label = reinterpret_cast<uint64_t>(device_text<LabelName<Label>>());
  record.kind = kind;
  write_trace(record);
}

WARPLOOM_FN void trace_role(const DeviceText* role) noexcept {
  if (!speaks_for_warp()) return;
  if (::warploom::gpu::TraceRegion* const region = trace_region()) region->role = reinterpret_cast<uint64_t>(role);
}

/// The span of one wait on a named barrier: from construction to passed().
class WaitTrace {
 public:
  WARPLOOM_FN WaitTrace() noexcept : clock_(ptx::get_sreg_clock64()), nanoseconds_(global_nanoseconds()) {}

  WARPLOOM_FN void passed(SharedAddress barrier, uint32_t phases) const noexcept {
    if (!speaks_for_warp()) return;
    const BarrierNotes& notes = notes_of(barrier);
    if (notes.ring == nullptr) return;
    const uint64_t cycles = ptx::get_sreg_clock64() - clock_;
    ::warploom::gpu::TraceRecord record{};
    record.clock = clock_;
    record.nanoseconds = nanoseconds_;
    record.label = reinterpret_cast<uint64_t>(notes.ring);
    record.cycles = cycles < ~0u ? static_cast<uint32_t>(cycles) : ~0u;
    record.phase = phases - 1;
    record.stage = notes.stage;
    record.side = notes.side;
    record.kind = ::warploom::gpu::TraceKind::wait;
    write_trace(record);
  }

 private:
  uint64_t clock_, nanoseconds_;
};

}  // namespace detail

template <class Label>
WARPLOOM_FN void trace_begin() noexcept {
  detail::trace_point<Label>(::warploom::gpu::TraceKind::begin);
}
template <class Label>
WARPLOOM_FN void trace_end() noexcept {
  detail::trace_point<Label>(::warploom::gpu::TraceKind::end);
}
template <class Label>
WARPLOOM_FN void trace_instant() noexcept {
  detail::trace_point<Label>(::warploom::gpu::TraceKind::instant);
}

#else

template <class Label>
WARPLOOM_FN void trace_begin() noexcept {}
template <class Label>
WARPLOOM_FN void trace_end() noexcept {}
template <class Label>
WARPLOOM_FN void trace_instant() noexcept {}

#endif

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
