#include "symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames.hpp"
#include "line_table.hpp"
#include "origins.hpp"

namespace warploom::loom {
namespace {

std::string source_root() {
#ifdef WARPLOOM_SOURCE_ROOT
  std::string root = std::filesystem::path(WARPLOOM_SOURCE_ROOT).lexically_normal().string();
#else
  // This file knows its own place in the tree.
  std::string root = std::filesystem::path(__FILE__).lexically_normal().string();
  const size_t at = find_component(root, "src/loom/report/symbols.cpp");
  root.resize(at == std::string::npos ? 0 : at);
#endif
  if (root.empty() || root.front() != '/') return {};
  if (root.back() != '/') root += '/';
  return root;
}

class Symbols {
 public:
  static Symbols& instance() {
    static auto* symbols = new Symbols;  // never destroyed: a report may be made by another static's destructor
    return *symbols;
  }

  Location locate(const void* return_address) {
    const std::lock_guard lock(mutex_);
    if (const auto known = cache_.find(return_address); known != cache_.end()) return known->second;
    Location location;
    // A return address is the instruction after the call, which may belong to the next line or the next function.
    if (return_address != nullptr)
      location = or_begin_anew([&] { return resolve(reinterpret_cast<uintptr_t>(return_address) - 1); });
    return cache_.emplace(return_address, std::move(location)).first->second;
  }

  std::string inlined(const void* return_address) {
    const std::lock_guard lock(mutex_);
    return or_begin_anew([&]() -> std::string {
      const Dwarf_Addr pc = reinterpret_cast<uintptr_t>(return_address) - 1;
      Dwfl_Module* module = module_at(pc);
      if (module == nullptr) return {};
      const std::vector<Frame> frames = inline_frames(module, pc);
      const Frame* const made = made_from_another(frames);
      return made == nullptr ? std::string() : inline_chain(origins_of(made->path, made->line));
    });
  }

  /// Whether the innermost line outside the library is a kernel's.
  enum class Owner : uint8_t { kernel, nobody_known, library };
  Owner owner(const void* return_address) {
    const std::lock_guard lock(mutex_);
    if (const auto known = owners_.find(return_address); known != owners_.end()) return known->second;
    const Owner found = or_begin_anew([&] { return find_owner(return_address); });
    owners_.emplace(return_address, found);
    return found;
  }

 private:
  /// libdw that has found no memory is in an unknown state: it is left alone, and the next caller has another.
  template <class Find>
  auto or_begin_anew(Find&& find) -> decltype(find()) {
    try {
      if (dwfl_ == nullptr) begin();
      return find();
    } catch (const LibdwHasNoMemory&) {
      dwfl_ = nullptr;
      throw;
    }
  }
  struct LibdwHasNoMemory : std::bad_alloc {};
  /// libdw would end the process.
  [[noreturn]] static void no_memory() { throw LibdwHasNoMemory(); }

  Owner find_owner(const void* return_address) {
    const Dwarf_Addr pc = reinterpret_cast<uintptr_t>(return_address) - 1;
    Dwfl_Module* module = module_at(pc);
    if (module == nullptr) return Owner::library;
    const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (name == nullptr || is_runtime_library(name)) return Owner::library;
    const std::vector<Frame> frames = inline_frames(module, pc);
    if (!frames.empty()) return holds_kernel(frames) ? Owner::kernel : Owner::library;
    const auto carried = carried_lines(module, pc);
    return !carried ? Owner::nobody_known : carried->kernel ? Owner::kernel : Owner::library;
  }

  void begin() {
    dwfl_ = dwfl_begin(&callbacks_);
    report_modules();
  }

  void report_modules() {
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    dwfl_linux_proc_report(dwfl_, getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }

  Dwfl_Module* module_at(Dwarf_Addr pc) {
    if (dwfl_ == nullptr) return nullptr;
    if (Dwfl_Module* module = dwfl_addrmodule(dwfl_, pc)) return module;
    report_modules();  // a library loaded since
    return dwfl_addrmodule(dwfl_, pc);
  }

  Location resolve(Dwarf_Addr pc) {
    Dwfl_Module* module = module_at(pc);
    if (module == nullptr) return {};
    const std::vector<Frame> frames = inline_frames(module, pc);
    if (const Frame* made = made_from_another(frames))
      return location_of_origin(made->path, made->line, origins_of(made->path, made->line));
    if (!frames.empty()) return location_of(frames);
    if (const auto carried = carried_lines(module, pc)) return carried->at;
    return from_symbol_table(module, pc);
  }

  /// The innermost line that stands in such a file (origins.hpp).
  static const Frame* made_from_another(std::span<const Frame> frames) {
    const auto found =
        std::find_if(frames.begin(), frames.end(), [](const Frame& frame) { return has_origins(frame.path); });
    return found == frames.end() ? nullptr : &*found;
  }

  /// Of a function of the installed archive, which has no debug information.
  std::optional<LineTable::Lines> carried_lines(Dwfl_Module* module, Dwarf_Addr pc) {
    if (!table_) table_.emplace(carried_line_table());
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr) return std::nullopt;
    return table_->find(name, symbol.st_size, offset);
  }

  /// clang writes no .debug_aranges, which is all that dwfl_module_addrdie looks at.
  static Dwarf_Die* unit_at(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr* bias) {
    if (Dwarf* dwarf = dwfl_module_getdwarf(module, bias); dwarf != nullptr)
      dwarf_new_oom_handler(dwarf, reinterpret_cast<Dwarf_OOM>(&no_memory));  // to clang, a type of its own
    if (Dwarf_Die* unit = dwfl_module_addrdie(module, pc, bias); unit != nullptr && dwarf_haspc(unit, pc - *bias) > 0)
      return unit;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, bias)) != nullptr;) {
      if (dwarf_haspc(unit, pc - *bias) > 0) return unit;
    }
    return nullptr;
  }

  /// Innermost first; empty without debug information.
  static std::vector<Frame> inline_frames(Dwfl_Module* module, Dwarf_Addr pc) {
    std::vector<Frame> frames;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_at(module, pc, &bias);
    if (unit == nullptr) return frames;

    const char* file = nullptr;
    int line = 0;
    if (Dwarf_Line* row = dwarf_getsrc_die(unit, pc - bias)) {
      file = dwarf_linesrc(row, nullptr, nullptr);
      if (dwarf_lineno(row, &line) != 0) line = 0;
    }

    // With -gsplit-dwarf the functions are described in another file.
    Dwarf_Die split{};
    if (dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        split.addr != nullptr && dwarf_tag(&split) == DW_TAG_compile_unit) {
      unit = &split;
    }
    std::vector<Dwarf_Die> path;
    if (!find_scopes(unit, pc - bias, path, false)) find_scopes(unit, pc - bias, path, true);
    for (Dwarf_Die& scope : path | std::views::reverse) {
      frames.push_back(make_frame(file, line, &scope));
      if (dwarf_tag(&scope) == DW_TAG_subprogram) break;
      const CallSite from = call_site(unit, &scope);
      file = from.file;
      line = from.line;
    }
    if (frames.empty() && line > 0) {
      frames.push_back(make_frame(file, line, nullptr));
      frames.push_back({});  // the line is known, what it was inlined into is not
    }
    return frames;
  }

  /// Appends the function that holds `pc` and the functions inlined there, outermost first. libdw's own dwarf_getscopes
  /// misses functions that clang describes inside their namespace. `everywhere` also looks inside functions that do not
  /// hold `pc`: g++ describes the code of a local lambda there.
  static bool find_scopes(Dwarf_Die* parent, Dwarf_Addr pc, std::vector<Dwarf_Die>& path, bool everywhere) {
    Dwarf_Die die;
    if (dwarf_child(parent, &die) != 0) return false;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
          if (dwarf_haspc(&die, pc) <= 0) {
            if (everywhere && find_scopes(&die, pc, path, true)) return true;
            break;
          }
          path.push_back(die);
          find_scopes(&die, pc, path, false);
          return true;
        case DW_TAG_lexical_block:
          // A block without ranges of its own (an abstract one has none either) may still hold one that has.
          if (!everywhere && dwarf_haspc(&die, pc) < 0) break;
          if (find_scopes(&die, pc, path, everywhere)) return true;
          break;
        case DW_TAG_namespace:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
          if (find_scopes(&die, pc, path, everywhere)) return true;
          break;
        default: break;
      }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
  }

  /// Without debug information the symbol table still names the function that holds the code: the outermost frame.
  static Location from_symbol_table(Dwfl_Module* module, Dwarf_Addr pc) {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
    // The nearest symbol below an address is not always the one it belongs to.
    if (name == nullptr || offset >= symbol.st_size) return {};
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                                &std::free);
    Location location;
    location.user.function = short_function(demangled != nullptr ? demangled.get() : name);
    return location;
  }

  // Local files only: dwfl_standard_find_debuginfo may ask a debuginfod server, and a report must not wait for a
  // network.
  inline static const Dwfl_Callbacks callbacks_{.find_elf = dwfl_linux_proc_find_elf,
                                                .find_debuginfo = dwfl_build_id_find_debuginfo,
                                                .section_address = nullptr,
                                                .debuginfo_path = nullptr};

  std::mutex mutex_;  // libdw is not thread-safe
  Dwfl* dwfl_ = nullptr;
  std::optional<LineTable> table_;  // once it is asked
  std::unordered_map<const void*, Location> cache_;
  std::unordered_map<const void*, Owner> owners_;
};

}  // namespace

Location locate(const void* return_address) { return Symbols::instance().locate(return_address); }

std::string inlined_at(const void* return_address) {
  return return_address == nullptr || !any_origins() ? std::string() : Symbols::instance().inlined(return_address);
}

const void* innermost_kernel_frame(std::span<const void* const> stack) {
  using Owner = Symbols::Owner;
  const void* unknown = nullptr;  // of a kernel without debug information, perhaps
  for (const void* frame : stack) {
    const Owner owner = Symbols::instance().owner(frame);
    if (owner == Owner::kernel) return frame;
    if (owner == Owner::nobody_known && unknown == nullptr) unknown = frame;
  }
  return unknown != nullptr ? unknown : stack.empty() ? nullptr : stack.front();
}

bool is_runtime_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::array<std::string_view, 12> kNames{"libc.so",  "libc-",   "libm.so",   "libpthread",
                                                    "ld-linux", "ld.so",   "libstdc++", "libc++",
                                                    "libgcc_s", "libasan", "libubsan",  "[vdso"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view runtime) { return name.starts_with(runtime); });
}

bool is_library_file(std::string_view path) {
  if (find_component(path, "src/loom/") != std::string_view::npos) return true;
  const size_t at = find_component(path, kIncludeTree);
  if (at == std::string_view::npos) return false;
  const std::string_view below = path.substr(at + kIncludeTree.size());
  constexpr std::array<std::string_view, 8> kFolders{"arch/",     "pipeline/", "warp/",  "schedule/",
                                                     "epilogue/", "loom/",     "types/", "ptx/"};
  for (const std::string_view folder : kFolders) {
    if (below.starts_with(folder)) return true;
  }
  return false;
}

std::string short_path(std::string_view path) {
  static const auto& root = *new std::string(source_root());  // never destroyed: a report may be made at exit
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (const size_t at = find_component(normal, kIncludeTree); at != std::string::npos) {
    return normal.substr(at + kIncludeTree.size());
  }
  if (!root.empty() && normal.starts_with(root)) return normal.substr(root.size());
  if (!normal.starts_with('/') && !normal.starts_with("../")) return normal;
  const size_t name = normal.rfind('/');
  const size_t folder = name == 0 || name == std::string::npos ? std::string::npos : normal.rfind('/', name - 1);
  return folder == std::string::npos ? normal : normal.substr(folder + 1);
}

std::string short_function(std::string_view name) {
  std::string text(name);
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (size_t at; (at = text.find(kAnonymous)) != std::string::npos;) text.replace(at, kAnonymous.size(), "anonymous");

  // The one place where <, > and () are part of a name. A word before or after would make it another name.
  constexpr std::string_view kOperator = "operator";
  const size_t op = text.rfind(kOperator);
  const auto word = [](char c) { return c == '_' || (std::isalnum(static_cast<unsigned char>(c)) != 0); };
  if (op != std::string::npos && (op == 0 || !word(text[op - 1]))) {
    std::string_view symbol = std::string_view(text).substr(op + kOperator.size());
    constexpr std::array<std::string_view, 9> kBrackets{"()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->"};
    for (const std::string_view bracket : kBrackets) {
      if (symbol.starts_with(bracket)) return text.substr(op, kOperator.size() + bracket.size());
    }
    if (symbol.starts_with('<') || symbol.starts_with('>')) return text.substr(op, kOperator.size() + 1);
    if (symbol.empty() || !word(symbol.front())) return text.substr(op, text.find_first_of("<(", op) - op);
  }

  // Up to the parameters, the last name outside all template arguments.
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0) plain += c;
    if (c == '>') --depth;
  }
  if (const size_t scope = plain.rfind("::"); scope != std::string::npos) plain.erase(0, scope + 2);
  if (const size_t space = plain.rfind(' '); space != std::string::npos && !plain.starts_with("operator ")) {
    plain.erase(0, space + 1);
  }
  return plain.empty() ? text : plain;
}

}  // namespace warploom::loom
