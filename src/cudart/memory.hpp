// Global memory of the device: what a program has allocated, each block a tensor of the loom, so that an access beside
// it is a finding. Blocks lie apart from each other, behind a page that nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "warploom/loom/launch.hpp"

namespace warploom::cudart {

enum class MemoryKind : uint8_t { device, host, managed, registered };

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  struct Block {
    size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    std::string name = {};
    size_t mapped = 0;  ///< bytes of the mapping, 0 where the memory is the program's
    std::byte* mapping = nullptr;
  };

  /// nullptr where there is none left.
  void* allocate(size_t bytes, MemoryKind kind);
  bool release(const void* pointer, MemoryKind kind);
  /// Memory of the program that kernels may use (cudaHostRegister).
  bool enroll(void* pointer, size_t bytes);
  bool withdraw(void* pointer);

  /// The block that the address lies in.
  const Block* find(const void* address, const void** begin = nullptr) const;
  /// "" or why these bytes are not all in one block: "reads 64 bytes beyond cudaMalloc #2 (1024 bytes)".
  std::string why_not_inside(const void* address, size_t bytes) const;
  std::vector<loom::TensorRef> tensors() const;
  size_t bytes() const { return bytes_; }

 private:
  std::map<uintptr_t, Block> blocks_;
  size_t bytes_ = 0;
  uint32_t count_ = 0;
};

}  // namespace warploom::cudart
