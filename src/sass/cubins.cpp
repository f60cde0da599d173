#include "sass/cubins.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

namespace warploom::sass {

static_assert(std::endian::native == std::endian::little, "cubins are read as they lie");

namespace {

using Bytes = std::span<const std::byte>;

constexpr auto magic = std::to_array<std::byte>(
    {std::byte{0x7f}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'}, std::byte{ELFCLASS64}, std::byte{ELFDATA2LSB}});
constexpr uint16_t machine_cuda = 190;

template <class T>
std::optional<T> read(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// The chip is in the second byte of the flags since CUDA 13, whose files say 8 where others name the ABI's version,
/// and in the first before.
uint32_t chip_of(const Elf64_Ehdr& header) {
  return header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
}

/// The text of a section that begins with `.text.`, from `elf`, which lies at `start`.
std::optional<KernelCode> kernel_of(Bytes elf, size_t start, const Elf64_Shdr& section, const Elf64_Shdr& names) {
  constexpr std::string_view prefix = ".text.";
  constexpr uint64_t longest_name = 1 << 16;
  const uint64_t name_at = names.sh_offset + section.sh_name;
  if (section.sh_type != SHT_PROGBITS || section.sh_name >= names.sh_size || name_at >= elf.size()) return std::nullopt;
  const Bytes rest = elf.subspan(name_at, std::min<uint64_t>(names.sh_size - section.sh_name, elf.size() - name_at));
  std::string_view name(reinterpret_cast<const char*>(rest.data()), rest.size());
  name = name.substr(0, name.find('\0'));
  if (!name.starts_with(prefix) || name.size() > longest_name || section.sh_size < sizeof(Instruction))
    return std::nullopt;
  if (section.sh_offset > elf.size() || elf.size() - section.sh_offset < section.sh_size) return std::nullopt;
  return KernelCode{std::string(name.substr(prefix.size())), start + section.sh_offset,
                    section.sh_size / sizeof(Instruction)};
}

}  // namespace

std::vector<KernelCode> find_kernels(Bytes file) {
  std::vector<KernelCode> kernels;
  for (auto at = file.begin();; ++at) {
    at = std::search(at, file.end(), magic.begin(), magic.end());
    if (at == file.end()) return kernels;
    const size_t start = at - file.begin();
    const Bytes elf = file.subspan(start);
    const auto header = read<Elf64_Ehdr>(elf, 0);
    if (!header || header->e_machine != machine_cuda || chip_of(*header) != 90) continue;
    if (header->e_shentsize != sizeof(Elf64_Shdr)) continue;
    const auto section = [&](uint64_t index) {
      return read<Elf64_Shdr>(elf, std::min<uint64_t>(header->e_shoff, elf.size()) + index * sizeof(Elf64_Shdr));
    };
    const auto names = section(header->e_shstrndx);
    if (!names) continue;
    for (uint64_t i = 0; i < header->e_shnum; ++i)
      if (const auto one = section(i))
        if (auto kernel = kernel_of(elf, start, *one, *names)) kernels.push_back(std::move(*kernel));
  }
}

std::vector<Instruction> read_code(Bytes file, const KernelCode& kernel) {
  std::vector<Instruction> code(kernel.count);
  std::memcpy(code.data(), file.data() + kernel.offset, kernel.count * sizeof(Instruction));
  return code;
}

}  // namespace warploom::sass
