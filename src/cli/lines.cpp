#include "cli/lines.hpp"

#include <elf.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/tell.hpp"
#include "cli/whole_file.hpp"
#include "loom/report/symbols.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::cli {
namespace {

/// The section headers alone: quick, where the reader of debug information takes a tenth of a second.
bool has_section_of_lines(const std::string& path) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return false;
  const auto read = [&](uint64_t from, auto& to) {
    return from <= file->size() && file->read(from, std::as_writable_bytes(std::span(to))).empty();
  };
  Elf64_Ehdr header[1];
  if (!read(0, header) || header->e_shnum == 0 || header->e_shstrndx >= header->e_shnum ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return false;
  std::vector<Elf64_Shdr> sections(header->e_shnum);
  if (!read(header->e_shoff, sections)) return false;
  const Elf64_Shdr& of_names = sections[header->e_shstrndx];
  if (of_names.sh_size > file->size()) return false;
  std::string names(of_names.sh_size, '\0');
  if (!read(of_names.sh_offset, names)) return false;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.size()) continue;
    const std::string name = names.c_str() + section.sh_name;
    if (name == ".debug_line" || name == ".zdebug_line") return true;
  }
  return false;
}

}  // namespace

bool has_line_information() {
  static const bool known = [] {
    if (has_section_of_lines("/proc/self/exe")) return true;
    // It may lie in a file of its own, or the kernels in a shared library.
    const auto* const code = reinterpret_cast<const char*>(&run_on_loom);
    return loom::locate(code + 1).library.line != 0 || loom::locate(code + 1).user.line != 0;
  }();
  return known;
}

void remark_on_missing_lines() {
  if (has_line_information()) return;
  remark(
      "this program has no line information (it was stripped): places are shown without file and line, and barrier "
      "operations that differ in their line alone are one; a build as ./dev build makes it, not stripped, has it");
}

}  // namespace warploom::cli
