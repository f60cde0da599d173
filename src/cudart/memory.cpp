#include "cudart/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace warploom::cudart {
namespace {

constexpr size_t alignment = 256;
/// What nobody has written is not zero: NaN, or a large number, for any type. Beyond this many bytes that takes too
/// long.
constexpr size_t most_filled = size_t{256} << 20;
constexpr unsigned char unwritten = 0xff;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

const char* call_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device: return "cudaMalloc";
    case MemoryKind::host: return "cudaMallocHost";
    case MemoryKind::managed: return "cudaMallocManaged";
    case MemoryKind::registered: return "cudaHostRegister";
  }
  return "memory";
}

}  // namespace

void* Memory::allocate(size_t bytes, MemoryKind kind) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > size_t{1} << 46) return nullptr;
  const size_t inside = rounded(std::max(bytes, size_t{1}), alignment), mapped = rounded(inside, page) + 2 * page;
  void* const mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapping);
  mprotect(begin, page, PROT_NONE);
  mprotect(begin + mapped - page, page, PROT_NONE);
  // As far behind as its alignment lets it: what runs over ends in the page.
  std::byte* const block = begin + mapped - page - inside;
  if (bytes <= most_filled) std::memset(block, unwritten, inside);
  blocks_[reinterpret_cast<uintptr_t>(block)] = {
      bytes, kind, fmt::format("{} #{} ({} bytes)", call_of(kind), ++count_, bytes), mapped, begin};
  bytes_ += bytes;
  return block;
}

bool Memory::release(const void* pointer, MemoryKind kind) {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == blocks_.end() || found->second.mapped == 0) return false;
  const bool of_host = found->second.kind == MemoryKind::host;
  if (of_host != (kind == MemoryKind::host)) return false;
  bytes_ -= found->second.bytes;
  munmap(found->second.mapping, found->second.mapped);
  blocks_.erase(found);
  return true;
}

bool Memory::enroll(void* pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0 || find(pointer) != nullptr) return false;
  blocks_[reinterpret_cast<uintptr_t>(pointer)] = {
      bytes, MemoryKind::registered,
      fmt::format("{} #{} ({} bytes)", call_of(MemoryKind::registered), ++count_, bytes)};
  return true;
}

bool Memory::withdraw(void* pointer) {
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == blocks_.end() || found->second.kind != MemoryKind::registered) return false;
  blocks_.erase(found);
  return true;
}

const Memory::Block* Memory::find(const void* address, const void** begin) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) return nullptr;
  --next;
  if (at - next->first >= std::max(next->second.bytes, size_t{1})) return nullptr;
  if (begin != nullptr) *begin = reinterpret_cast<const void*>(next->first);
  return &next->second;
}

std::string Memory::why_not_inside(const void* address, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) return {};
  --next;
  const uintptr_t offset = at - next->first;
  const Block& block = next->second;
  if (block.mapped == 0 || offset >= block.bytes || bytes <= block.bytes - offset) return {};
  return fmt::format("{} bytes from byte {} on end {} bytes behind the end of {}", bytes, offset,
                     bytes - (block.bytes - offset), block.name);
}

std::vector<loom::TensorRef> Memory::tensors() const {
  std::vector<loom::TensorRef> all;
  all.reserve(blocks_.size());
  for (const auto& [address, block] : blocks_)
    if (block.bytes > 0)
      all.push_back({reinterpret_cast<const void*>(address), block.bytes, loom::Access::write, block.name.c_str()});
  return all;
}

}  // namespace warploom::cudart
