// What releases have left at words of memory, for the acquires that find it there: an atomic or an ordered store that
// releases tells all that its thread knew; one that acquires learns it, if the scope of each reaches the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/knowledge.hpp"
#include "warploom/types/memory_order.hpp"

namespace warploom::loom::check {

/// What somebody knows of several clusters: of each, what was told there. The first entry is somebody's own, the others
/// are sorted.
using Told = std::vector<std::pair<uint32_t, KnowledgeRef>>;
using ToldRef = std::shared_ptr<const Told>;

/// Adds what is told of a cluster to what is known of it.
void add(Told& told, uint32_t cluster, const KnowledgeRef& news);

class SyncWords {
 public:
  struct Release {
    MemoryScope scope = MemoryScope::gpu;
    uint32_t cluster = 0, cta = 0;
    ToldRef told;
  };

  /// It joins what is there already: atomics go on with the chain.
  void release(const void* begin, size_t bytes, const Release& release);
  /// A store that replaces what is there: who finds that learns nothing of those before it.
  void overwrite(const void* begin, size_t bytes);
  /// What an operation of this scope, by a thread of that CTA, finds there.
  std::vector<Release> found(const void* begin, size_t bytes, MemoryScope scope, uint32_t cluster, uint32_t cta) const;
  static bool reaches(const Release& release, MemoryScope scope, uint32_t cluster, uint32_t cta);

 private:
  static constexpr uintptr_t unit = 4;  ///< smaller operations share the word they lie in
  std::unordered_map<uintptr_t, std::vector<Release>> words_;
};

}  // namespace warploom::loom::check
