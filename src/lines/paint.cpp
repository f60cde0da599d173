#include "paint.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "loom/report/frames.hpp"

namespace warploom::lines {
namespace {

using loom::Frame;
using loom::LineTable;

/// A function, or a function inlined into another.
struct Scope {
  Dwarf_Die die;
  Dwarf_Die unit;
  int parent = -1;  ///< into which it is inlined
};

struct Row {
  const char* file = nullptr;
  int line = 0;
  bool operator==(const Row&) const = default;
};

class Painter {
 public:
  /// Functions inside others come after these, and so over them.
  void add_unit(Dwarf_Die unit) {
    add_children(unit, unit, -1);
    Dwarf_Lines* rows = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit, &rows, &count) != 0) return;
    for (size_t i = 0; i < count; ++i) {
      Dwarf_Line* row = dwarf_onesrcline(rows, i);
      Dwarf_Addr address = 0;
      bool end = false;
      Row here;
      if (dwarf_lineaddr(row, &address) != 0 || dwarf_lineendsequence(row, &end) != 0) continue;
      if (!end) {
        here.file = dwarf_linesrc(row, nullptr, nullptr);
        if (dwarf_lineno(row, &here.line) != 0) here.line = 0;
      } else if (rows_.contains(address)) {
        continue;  // where another sequence begins
      }
      rows_[address] = here;
    }
  }

  LineTable::Function function(std::string symbol, Dwarf_Addr begin, Dwarf_Addr bytes) {
    LineTable::Function result{std::move(symbol), bytes, {}};
    bool kernel = false;
    const Dwarf_Addr end = begin + bytes;
    auto scope = at(scope_at_, begin);
    auto row = at(rows_, begin);
    for (Dwarf_Addr address = begin; address < end;) {
      const auto next_scope = scope_at_.upper_bound(address);
      const auto next_row = rows_.upper_bound(address);
      Dwarf_Addr next = end;
      if (next_scope != scope_at_.end() && next_scope->first < next) next = next_scope->first;
      if (next_row != rows_.end() && next_row->first < next) next = next_row->first;
      const LineTable::Lines& lines = lines_of(scope.value_or(-1), row.value_or(Row{}));
      kernel = kernel || lines.kernel;
      const auto length = static_cast<uint32_t>(next - address);
      if (!result.runs.empty() && result.runs.back().lines == lines)
        result.runs.back().bytes += length;
      else
        result.runs.push_back({length, lines});
      address = next;
      scope = at(scope_at_, address);
      row = at(rows_, address);
    }
    if (!kernel) result.runs = {{static_cast<uint32_t>(bytes), {}}};
    return result;
  }

 private:
  void add_children(Dwarf_Die& parent, const Dwarf_Die& unit, int inside) {
    Dwarf_Die die;
    if (dwarf_child(&parent, &die) != 0) return;
    do {
      int scope = inside;
      const int tag = dwarf_tag(&die);
      if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
        scope = static_cast<int>(scopes_.size());
        scopes_.push_back({die, unit, tag == DW_TAG_subprogram ? -1 : inside});
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (ptrdiff_t i = 0; (i = dwarf_ranges(&die, i, &base, &begin, &end)) > 0;) paint(begin, end, scope);
      }
      add_children(die, unit, scope);
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  void paint(Dwarf_Addr begin, Dwarf_Addr end, int scope) {
    if (begin >= end) return;
    const int behind = at(scope_at_, end).value_or(-1);
    scope_at_.erase(scope_at_.lower_bound(begin), scope_at_.lower_bound(end));
    scope_at_[begin] = scope;
    scope_at_.try_emplace(end, behind);
  }

  template <class Value>
  static std::optional<Value> at(const std::map<Dwarf_Addr, Value>& map, Dwarf_Addr address) {
    auto found = map.upper_bound(address);
    if (found == map.begin()) return std::nullopt;
    return (--found)->second;
  }

  const LineTable::Lines& lines_of(int scope, const Row& row) {
    const auto [known, fresh] = known_.try_emplace({scope, row.file, row.line});
    if (!fresh) return known->second;
    std::vector<Frame> frames;
    const char* file = row.file;
    int line = row.line;
    for (int i = scope; i >= 0; i = scopes_[static_cast<size_t>(i)].parent) {
      Scope& here = scopes_[static_cast<size_t>(i)];
      frames.push_back(loom::make_frame(file, line, &here.die));
      if (here.parent < 0) break;
      const loom::CallSite from = loom::call_site(&here.unit, &here.die);
      file = from.file;
      line = from.line;
    }
    if (!frames.empty()) known->second = {loom::location_of(frames), loom::holds_kernel(frames)};
    return known->second;
  }

  std::vector<Scope> scopes_;
  std::map<Dwarf_Addr, int> scope_at_;  ///< from here on
  std::map<Dwarf_Addr, Row> rows_;      ///< from here on
  std::map<std::tuple<int, const char*, int>, LineTable::Lines> known_;
};

/// By the symbol table.
void add_functions(Elf* elf, Painter& painter, std::vector<LineTable::Function>& functions) {
  Elf_Scn* table = nullptr;
  GElf_Shdr header;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;)
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) table = section;
  if (table == nullptr || gelf_getshdr(table, &header) == nullptr || header.sh_entsize == 0) return;
  Elf_Data* data = elf_getdata(table, nullptr);
  std::map<std::pair<std::string, GElf_Addr>, bool> seen;
  for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) continue;
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || !seen.try_emplace({name, symbol.st_value}, true).second) continue;
    functions.push_back(painter.function(name, symbol.st_value, symbol.st_size));
  }
}

}  // namespace

std::vector<LineTable::Function> functions_of(const std::string& file, std::string& trouble) {
  std::vector<LineTable::Function> functions;
  elf_version(EV_CURRENT);
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  Dwarf* dwarf = descriptor < 0 ? nullptr : dwarf_begin(descriptor, DWARF_C_READ);
  if (dwarf == nullptr) {
    trouble = file + " cannot be read, or has no debug information.";
    if (descriptor >= 0) close(descriptor);
    return functions;
  }
  Painter painter;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) painter.add_unit(die);
  add_functions(dwarf_getelf(dwarf), painter, functions);
  if (functions.empty()) trouble = file + " has no symbol table.";
  dwarf_end(dwarf);
  close(descriptor);
  return functions;
}

}  // namespace warploom::lines
