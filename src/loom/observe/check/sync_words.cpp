#include "loom/observe/check/sync_words.hpp"

#include <algorithm>
#include <iterator>

namespace warploom::loom::check {
namespace {

/// Calls visit(unit) for each of them that the bytes touch.
template <class Visit>
void for_each_unit(const void* begin, size_t bytes, uintptr_t unit, Visit&& visit) {
  const auto first = reinterpret_cast<uintptr_t>(begin);
  for (uintptr_t at = first / unit * unit; at < first + bytes; at += unit) visit(at);
}

}  // namespace

void add(Told& told, uint32_t cluster, const KnowledgeRef& news) {
  auto known = told.begin();
  if (known == told.end() || known->first != cluster) {
    const auto others = told.begin() + (told.empty() ? 0 : 1);
    known =
        std::lower_bound(others, told.end(), cluster, [](const auto& entry, uint32_t c) { return entry.first < c; });
    if (known == told.end() || known->first != cluster) {
      told.emplace(known, cluster, news);
      return;
    }
  }
  if (known->second == news) return;
  auto both = make_knowledge(*known->second);
  both->join(*news);
  known->second = std::move(both);
}

void SyncWords::release(const void* begin, size_t bytes, const Release& release) {
  for_each_unit(begin, bytes, unit, [&](uintptr_t at) {
    std::vector<Release>& list = words_[at];
    const auto same = std::find_if(list.begin(), list.end(), [&](const Release& other) {
      return other.scope == release.scope && other.cluster == release.cluster && other.cta == release.cta;
    });
    if (same == list.end()) {
      list.push_back(release);
      return;
    }
    auto both = std::make_shared<Told>(*same->told);
    for (const auto& [cluster, knowledge] : *release.told) add(*both, cluster, knowledge);
    same->told = std::move(both);
  });
}

void SyncWords::overwrite(const void* begin, size_t bytes) {
  if (words_.empty()) return;
  if (bytes / unit < words_.size()) {
    for_each_unit(begin, bytes, unit, [&](uintptr_t at) { words_.erase(at); });
    return;
  }
  const auto first = reinterpret_cast<uintptr_t>(begin);
  std::erase_if(words_, [&](const auto& word) { return word.first + unit > first && word.first < first + bytes; });
}

std::vector<SyncWords::Release> SyncWords::found(const void* begin, size_t bytes, MemoryScope scope, uint32_t cluster,
                                                 uint32_t cta) const {
  std::vector<Release> list;
  for_each_unit(begin, bytes, unit, [&](uintptr_t at) {
    if (const auto entry = words_.find(at); entry != words_.end())
      std::copy_if(entry->second.begin(), entry->second.end(), std::back_inserter(list),
                   [&](const Release& release) { return reaches(release, scope, cluster, cta); });
  });
  return list;
}

bool SyncWords::reaches(const Release& release, MemoryScope scope, uint32_t cluster, uint32_t cta) {
  const auto within = [&](MemoryScope reach) {
    return reach >= MemoryScope::gpu ||
           (release.cluster == cluster && (reach == MemoryScope::cluster || release.cta == cta));
  };
  return within(release.scope) && within(scope);
}

}  // namespace warploom::loom::check
