// Machine code for tests, and cubins around it.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "sass/instruction.hpp"

namespace warploom::sass {

using Code = std::vector<Instruction>;

inline constexpr uint32_t opcode_hgmma = 0x9f0, opcode_qgmma = 0x9f3, opcode_branch = 0x947, opcode_sync = 0x941,
                          opcode_load = 0x984;

/// Under no predicate, one cycle to the next; it stays.
inline Instruction instruction(uint32_t opcode, uint32_t d = 0, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
  return {opcode | 7u << 12 | uint64_t{d} << 16 | uint64_t{a} << 24 | uint64_t{b} << 32,
          c | uint64_t{1} << 41 | uint64_t{1} << 45};
}

/// total = product * scale + total as ptxas has it: every second one yields, nothing is kept.
inline Code promotion(int count, uint32_t scale = 200) {
  Code code;
  for (int i = 0; i < count; ++i) {
    code.push_back(instruction(Instruction::ffma, i, 101 + i, scale, i));
    code.back().hint(i % 2 == 1, false);
  }
  return code;
}

inline Code joined(std::initializer_list<Code> parts) {
  Code code;
  for (const Code& part : parts) code.insert(code.end(), part.begin(), part.end());
  return code;
}

/// All that is not a hint.
inline Instruction without_hints(Instruction one) {
  one.hint(false, false);
  return one;
}

struct Section {
  std::string name;
  Code code;
};

/// A file with these sections: header, texts, names, table of sections.
inline std::vector<std::byte> cubin(const std::vector<Section>& sections, uint32_t chip = 90, uint16_t machine = 190) {
  std::vector<std::byte> file(sizeof(Elf64_Ehdr));
  const auto append = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    file.insert(file.end(), bytes, bytes + size);
  };
  std::vector<Elf64_Shdr> table(1);
  std::string names(1, '\0');
  for (const Section& section : sections) {
    Elf64_Shdr entry{};
    entry.sh_name = static_cast<Elf64_Word>(names.size());
    entry.sh_type = SHT_PROGBITS;
    entry.sh_offset = file.size();
    entry.sh_size = section.code.size() * sizeof(Instruction);
    table.push_back(entry);
    names += section.name + '\0';
    append(section.code.data(), entry.sh_size);
  }
  Elf64_Shdr entry{};
  entry.sh_name = static_cast<Elf64_Word>(names.size());
  names += std::string(".shstrtab") + '\0';
  entry.sh_type = SHT_STRTAB;
  entry.sh_offset = file.size();
  entry.sh_size = names.size();
  table.push_back(entry);
  append(names.data(), names.size());
  Elf64_Ehdr header{};
  const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8};
  std::memcpy(header.e_ident, ident, sizeof ident);
  header.e_machine = machine;
  header.e_flags = 0x6000004u | chip << 8;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(table.size());
  header.e_shstrndx = static_cast<Elf64_Half>(table.size() - 1);
  append(table.data(), table.size() * sizeof(Elf64_Shdr));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace warploom::sass
