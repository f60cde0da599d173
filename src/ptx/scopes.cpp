#include "ptx/scopes.hpp"

#include <charconv>

namespace warploom::ptx {

bool Scopes::declare_range(std::string_view prefix, Type type, uint64_t count) {
  uint32_t& innermost = range_of_[prefix];
  if (innermost != 0 && ranges_[innermost - 1].depth == depth()) return false;
  ranges_.push_back({prefix, type, count, depth(), innermost});
  innermost = static_cast<uint32_t>(ranges_.size());
  return true;
}

const Scopes::Range* Scopes::range_of(std::string_view name, const Symbol* found) const {
  if (ranges_.empty() || (found != nullptr && found->depth >= ranges_.back().depth)) return nullptr;
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  // %r10 is number 10 of %r, and would be number 0 of a range called %r1. Leading zeros name no register.
  const Range* best = nullptr;
  for (size_t split = digits; split < name.size() && name.size() - split <= 20; ++split) {
    if (name[split] == '0' && split + 1 < name.size()) continue;
    const auto it = range_of_.find(name.substr(0, split));
    if (it == range_of_.end() || it->second == 0) continue;
    uint64_t number = 0;
    if (std::from_chars(name.data() + split, name.data() + name.size(), number).ec != std::errc{}) continue;
    for (uint32_t i = it->second; i != 0; i = ranges_[i - 1].outer) {
      const Range& range = ranges_[i - 1];
      if (number >= range.count) continue;
      if ((best == nullptr || range.depth > best->depth) && (found == nullptr || range.depth > found->depth))
        best = &range;
      break;
    }
  }
  return best;
}

}  // namespace warploom::ptx
