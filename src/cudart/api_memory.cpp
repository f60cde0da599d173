// The calls that allocate, copy and fill memory. Everything that waits is run first: copies are in the order of their
// stream, and all streams are one here.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cudart/api.hpp"

namespace warploom::cudart {
namespace {

Status allocate(void** pointer, size_t bytes, MemoryKind kind) {
  return guarded([&](Device& device) {
    if (pointer == nullptr) return device.report(Status::invalid_value);
    *pointer = bytes == 0 ? nullptr : device.memory.allocate(bytes, kind);
    if (bytes != 0 && *pointer == nullptr) return device.report(Status::memory_allocation);
    return Status::success;
  });
}

Status release(void* pointer, MemoryKind kind) {
  return guarded([&](Device& device) {
    if (pointer == nullptr) return Status::success;
    const Status before = device.settle();
    if (!device.memory.release(pointer, kind))
      return device.refuse(Status::invalid_value,
                           fmt::format("{} is called with {}, which is the beginning of no such "
                                       "block",
                                       kind == MemoryKind::host ? "cudaFreeHost" : "cudaFree", pointer));
    return before;
  });
}

/// "" or what is wrong with bytes that a call reads or writes.
std::string why_not(Device& device, const void* address, size_t bytes) {
  return bytes == 0 ? std::string() : device.memory.why_not_inside(address, bytes);
}

Status look_at(Device& device, const char* call, const void* address, size_t bytes) {
  if (bytes > 0 && address == nullptr) return device.report(Status::invalid_value);
  if (std::string reason = why_not(device, address, bytes); !reason.empty())
    return device.refuse(Status::invalid_value, fmt::format("{}: {}", call, reason));
  return Status::success;
}

Status copy_rows(Device& device, const char* call, void* to, size_t to_pitch, const void* from, size_t from_pitch,
                 size_t width, size_t rows) {
  if (const Status before = device.settle(); before != Status::success) return before;
  if (width == 0 || rows == 0) return Status::success;
  if (width > to_pitch || width > from_pitch) return device.report(Status::invalid_pitch);
  if (const Status status = look_at(device, call, to, to_pitch * (rows - 1) + width); status != Status::success)
    return status;
  if (const Status status = look_at(device, call, from, from_pitch * (rows - 1) + width); status != Status::success)
    return status;
  for (size_t row = 0; row < rows; ++row)
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch,
                 width);
  return Status::success;
}

Status copy(const char* call, void* to, const void* from, size_t bytes) {
  return guarded([&](Device& device) { return copy_rows(device, call, to, bytes, from, bytes, bytes, 1); });
}

Status fill(const char* call, void* to, size_t pitch, int value, size_t width, size_t rows) {
  return guarded([&](Device& device) {
    if (const Status before = device.settle(); before != Status::success) return before;
    if (width == 0 || rows == 0) return Status::success;
    if (const Status status = look_at(device, call, to, pitch * (rows - 1) + width); status != Status::success)
      return status;
    for (size_t row = 0; row < rows; ++row) std::memset(static_cast<std::byte*>(to) + row * pitch, value, width);
    return Status::success;
  });
}

/// To or from a variable of the device.
template <class Copy>
Status with_symbol(const void* symbol, size_t bytes, size_t offset, Copy&& copy) {
  return guarded([&](Device& device) {
    if (const Status before = device.settle(); before != Status::success) return before;
    size_t size = 0;
    const Result<std::byte*> place = device.symbol(symbol, &size);
    if (!place) return device.refuse(Status::invalid_symbol, place.error());
    if (offset > size || bytes > size - offset) return device.report(Status::invalid_value);
    copy(*place + offset);
    return Status::success;
  });
}

}  // namespace
}  // namespace warploom::cudart

using namespace warploom::cudart;  // the calls below are C

WARPLOOM_CUDA(cudaMalloc, (void** pointer, size_t bytes)) { return allocate(pointer, bytes, MemoryKind::device); }
WARPLOOM_CUDA(cudaMallocAsync, (void** pointer, size_t bytes, Stream)) {
  return allocate(pointer, bytes, MemoryKind::device);
}
WARPLOOM_CUDA_ALSO(cudaMallocAsync_ptsz, cudaMallocAsync);
WARPLOOM_CUDA(cudaMallocManaged, (void** pointer, size_t bytes, unsigned)) {
  return allocate(pointer, bytes, MemoryKind::managed);
}
WARPLOOM_CUDA(cudaMallocHost, (void** pointer, size_t bytes)) { return allocate(pointer, bytes, MemoryKind::host); }
WARPLOOM_CUDA(cudaHostAlloc, (void** pointer, size_t bytes, unsigned)) {
  return allocate(pointer, bytes, MemoryKind::host);
}
WARPLOOM_CUDA(cudaMallocPitch, (void** pointer, size_t* pitch, size_t width, size_t height)) {
  constexpr size_t row_alignment = 512;
  if (pitch == nullptr) return Status::invalid_value;
  *pitch = (width + row_alignment - 1) / row_alignment * row_alignment;
  return allocate(pointer, *pitch * height, MemoryKind::device);
}
WARPLOOM_CUDA(cudaFree, (void* pointer)) { return release(pointer, MemoryKind::device); }
WARPLOOM_CUDA(cudaFreeAsync, (void* pointer, Stream)) { return release(pointer, MemoryKind::device); }
WARPLOOM_CUDA_ALSO(cudaFreeAsync_ptsz, cudaFreeAsync);
WARPLOOM_CUDA(cudaFreeHost, (void* pointer)) { return release(pointer, MemoryKind::host); }
WARPLOOM_CUDA(cudaHostRegister, (void* pointer, size_t bytes, unsigned)) {
  return guarded(
      [&](Device& d) { return d.memory.enroll(pointer, bytes) ? Status::success : d.report(Status::invalid_value); });
}
WARPLOOM_CUDA(cudaHostUnregister, (void* pointer)) {
  return guarded([&](Device& device) {
    const Status before = device.settle();
    return device.memory.withdraw(pointer) ? before : device.report(Status::invalid_value);
  });
}
WARPLOOM_CUDA(cudaHostGetDevicePointer, (void** device_pointer, void* pointer, unsigned)) {
  *device_pointer = pointer;
  return Status::success;
}
WARPLOOM_CUDA(cudaMemGetInfo, (size_t* free, size_t* total)) {
  return guarded([&](Device& device) {
    constexpr size_t all = size_t{16} << 30;
    *total = all;
    *free = all - std::min(all, device.memory.bytes());
    return Status::success;
  });
}
WARPLOOM_CUDA(cudaPointerGetAttributes, (PointerAttributes * attributes, const void* pointer)) {
  return guarded([&](Device& device) {
    *attributes = {};
    const Memory::Block* const block = device.memory.find(pointer);
    void* const same = const_cast<void*>(pointer);
    constexpr int host = 1, of_device = 2, managed = 3;
    if (block == nullptr) {
      attributes->device = -2;  // cudaInvalidDeviceId: the host's memory
      attributes->host_pointer = same;
      return Status::success;
    }
    attributes->kind = block->kind == MemoryKind::device    ? of_device
                       : block->kind == MemoryKind::managed ? managed
                                                            : host;
    attributes->device_pointer = same;
    attributes->host_pointer = block->kind == MemoryKind::device ? nullptr : same;
    return Status::success;
  });
}

WARPLOOM_CUDA(cudaMemcpy, (void* to, const void* from, size_t bytes, CopyKind)) {
  return copy("cudaMemcpy", to, from, bytes);
}
WARPLOOM_CUDA_ALSO(cudaMemcpy_ptds, cudaMemcpy);
WARPLOOM_CUDA(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, CopyKind, Stream)) {
  return copy("cudaMemcpyAsync", to, from, bytes);
}
WARPLOOM_CUDA_ALSO(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);
WARPLOOM_CUDA(cudaMemcpyPeer, (void* to, int, const void* from, int, size_t bytes)) {
  return copy("cudaMemcpyPeer", to, from, bytes);
}
WARPLOOM_CUDA(cudaMemcpy2D,
              (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, CopyKind)) {
  return guarded(
      [&](Device& d) { return copy_rows(d, "cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpy2D_ptds, cudaMemcpy2D);
WARPLOOM_CUDA(cudaMemcpy2DAsync, (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                  size_t height, CopyKind, Stream)) {
  return guarded(
      [&](Device& d) { return copy_rows(d, "cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);

WARPLOOM_CUDA(cudaMemset, (void* to, int value, size_t bytes)) {
  return fill("cudaMemset", to, bytes, value, bytes, 1);
}
WARPLOOM_CUDA_ALSO(cudaMemset_ptds, cudaMemset);
WARPLOOM_CUDA(cudaMemsetAsync, (void* to, int value, size_t bytes, Stream)) {
  return fill("cudaMemsetAsync", to, bytes, value, bytes, 1);
}
WARPLOOM_CUDA_ALSO(cudaMemsetAsync_ptsz, cudaMemsetAsync);
WARPLOOM_CUDA(cudaMemset2D, (void* to, size_t pitch, int value, size_t width, size_t height)) {
  return fill("cudaMemset2D", to, pitch, value, width, height);
}
WARPLOOM_CUDA_ALSO(cudaMemset2D_ptds, cudaMemset2D);
WARPLOOM_CUDA(cudaMemset2DAsync, (void* to, size_t pitch, int value, size_t width, size_t height, Stream)) {
  return fill("cudaMemset2DAsync", to, pitch, value, width, height);
}
WARPLOOM_CUDA_ALSO(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);

WARPLOOM_CUDA(cudaMemcpyToSymbol, (const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind)) {
  return with_symbol(symbol, bytes, offset, [&](std::byte* place) { std::memcpy(place, from, bytes); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);
WARPLOOM_CUDA(cudaMemcpyToSymbolAsync,
              (const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind, Stream)) {
  return with_symbol(symbol, bytes, offset, [&](std::byte* place) { std::memcpy(place, from, bytes); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);
WARPLOOM_CUDA(cudaMemcpyFromSymbol, (void* to, const void* symbol, size_t bytes, size_t offset, CopyKind)) {
  return with_symbol(symbol, bytes, offset, [&](const std::byte* place) { std::memcpy(to, place, bytes); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);
WARPLOOM_CUDA(cudaMemcpyFromSymbolAsync,
              (void* to, const void* symbol, size_t bytes, size_t offset, CopyKind, Stream)) {
  return with_symbol(symbol, bytes, offset, [&](const std::byte* place) { std::memcpy(to, place, bytes); });
}
WARPLOOM_CUDA_ALSO(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);
WARPLOOM_CUDA(cudaGetSymbolAddress, (void** pointer, const void* symbol)) {
  return with_symbol(symbol, 0, 0, [&](std::byte* place) { *pointer = place; });
}
WARPLOOM_CUDA(cudaGetSymbolSize, (size_t* bytes, const void* symbol)) {
  return guarded([&](Device& device) {
    const warploom::Result<std::byte*> place = device.symbol(symbol, bytes);
    return place ? Status::success : device.refuse(Status::invalid_symbol, place.error());
  });
}
