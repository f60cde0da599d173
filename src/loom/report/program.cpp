#include "loom/report/program.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace warploom::loom {
namespace {

using Bytes = std::span<const unsigned char>;

Bytes bytes_of(const dl_phdr_info& object, const ElfW(Phdr) & header) {
  return {reinterpret_cast<const unsigned char*>(object.dlpi_addr + header.p_vaddr), header.p_memsz};
}

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

/// The linker's note; empty where there is none.
std::string note_of(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    Bytes rest = bytes_of(object, header);
    while (rest.size() >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, rest.data(), sizeof(note));
      const size_t name = sizeof(note), content = name + padded(note.n_namesz), end = content + padded(note.n_descsz);
      if (end > rest.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(rest.data() + name, ELF_NOTE_GNU, 4) == 0) {
        std::string id;
        for (const unsigned char byte : rest.subspan(content, note.n_descsz)) id += fmt::format("{:02x}", byte);
        return id;
      }
      rest = rest.subspan(end);
    }
  }
  return {};
}

/// FNV-1a over what the program cannot change: its code and its constants.
std::string hash_of(const dl_phdr_info& object) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const ElfW(Phdr) & header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || (header.p_flags & PF_W) != 0) continue;
    for (const unsigned char byte : bytes_of(object, header)) hash = (hash ^ byte) * 0x100000001b3u;
  }
  return fmt::format("{:016x}", hash);
}

bool holds_this_code(const dl_phdr_info& object) {
  const auto here = reinterpret_cast<uintptr_t>(&program_id);
  for (const ElfW(Phdr) & header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t begin = object.dlpi_addr + header.p_vaddr;
    if (here >= begin && here < begin + header.p_memsz) return true;
  }
  return false;
}

struct Seen {
  bool library_alone = false;
  std::string text = {};
  bool program = true;  // it is listed first
};

int see(dl_phdr_info* object, size_t, void* data) {
  Seen& seen = *static_cast<Seen*>(data);
  if ((seen.program && !seen.library_alone) || holds_this_code(*object)) {
    const std::string note = note_of(*object);
    seen.text += (seen.text.empty() ? "" : "+") + (note.empty() ? hash_of(*object) : note);
  }
  seen.program = false;
  return 0;
}

}  // namespace

std::string program_id() {
  static const std::string id = [] {
    Seen seen;
    dl_iterate_phdr(&see, &seen);
    return seen.text;
  }();
  return id;
}

std::string library_id() {
  static const std::string id = [] {
    Seen seen{.library_alone = true};
    dl_iterate_phdr(&see, &seen);
    return seen.text;
  }();
  return id;
}

const char* compiler() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace warploom::loom
