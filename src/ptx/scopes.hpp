// What a name means at a point of the text: the parser's table of registers, variables, labels and functions.
//
//   scopes.enter();                                            // {
//   if (Symbol* earlier = scopes.declare("%p", symbol)) ...   // declared twice in this scope
//   const Symbol* found = scopes.find("%p");                   // the innermost one
//   scopes.leave();                                            // }: the names of that scope are gone
//
// One hash table with an undo list for each scope: what a lookup costs does not depend on how deep scopes nest.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/types.hpp"

namespace warploom::ptx {

struct Symbol {
  enum class Kind : uint8_t { missing, reg, variable, parameter, result, label, function };

  Kind kind = Kind::missing;
  uint32_t index = 0;
  uint32_t line = 0;
  uint32_t depth = 0;
};

class Scopes {
 public:
  uint32_t depth() const { return static_cast<uint32_t>(undo_.size()) - 1; }
  void enter() { undo_.emplace_back(); }
  void leave() {
    for (size_t i = undo_.back().size(); i-- > 0;) {
      const Undo& undo = undo_.back()[i];
      if (undo.previous.kind == Symbol::Kind::missing)
        names_.erase(undo.name);
      else
        names_[undo.name] = undo.previous;
    }
    undo_.pop_back();
    while (!ranges_.empty() && ranges_.back().depth > depth()) {
      range_of_[ranges_.back().prefix] = ranges_.back().outer;
      ranges_.pop_back();
    }
  }

  /// The symbol of that name in this very scope, if there is one already; otherwise nullptr, and now there is.
  const Symbol* declare(std::string_view name, Symbol symbol) { return declare_at(depth(), name, symbol); }
  /// The innermost symbol of that name, or nullptr.
  const Symbol* find(std::string_view name) const {
    const auto it = names_.find(name);
    return it == names_.end() ? nullptr : &it->second;
  }

  /// `.reg .b32 %r<100>`: the registers %r0 ... %r99. False where the scope has such a range already.
  bool declare_range(std::string_view prefix, Type type, uint64_t count);
  struct Range {
    std::string_view prefix;
    Type type;
    uint64_t count;
    uint32_t depth;
    uint32_t outer;  ///< the range of that name in a scope further out, as index + 1
  };
  /// The innermost range that `name` belongs to, deeper than `found`, or nullptr.
  const Range* range_of(std::string_view name, const Symbol* found) const;
  /// A register of a range, at its first use: a name of the range's scope.
  void declare_of_range(const Range& range, std::string_view name, Symbol symbol) {
    declare_at(range.depth, name, symbol);
  }

 private:
  struct Undo {
    std::string_view name;
    Symbol previous;
  };

  const Symbol* declare_at(uint32_t depth, std::string_view name, Symbol symbol) {
    symbol.depth = depth;
    Symbol& place = names_[name];
    if (place.kind != Symbol::Kind::missing && place.depth == depth) return &place;
    undo_[depth].push_back({name, place});
    place = symbol;
    return nullptr;
  }

  std::unordered_map<std::string_view, Symbol> names_;
  std::vector<std::vector<Undo>> undo_ = std::vector<std::vector<Undo>>(1);
  std::vector<Range> ranges_;
  std::unordered_map<std::string_view, uint32_t> range_of_;  ///< index + 1 of the innermost range with that prefix
};

}  // namespace warploom::ptx
