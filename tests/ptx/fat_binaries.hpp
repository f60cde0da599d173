// Fat binaries made by hand, as nvcc lays them out:
//
//   FatBinary fat;
//   fat.ptx("...", Packing::zstd, 90);
//   images_of_fatbin(fat.bytes());
#pragma once

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::ptx {

enum class Packing : uint8_t { none, lz4, zstd };

class FatBinary {
 public:
  FatBinary& ptx(std::string_view text, Packing packing, uint32_t architecture) {
    std::string body(text);
    body += '\0';
    const size_t plain = body.size();
    if (packing == Packing::zstd) {
      std::string packed(ZSTD_compressBound(plain), '\0');
      packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), plain, 3));
      body = packed;
    } else if (packing == Packing::lz4) {
      std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(plain))), '\0');
      packed.resize(static_cast<size_t>(
          LZ4_compress_default(body.data(), packed.data(), static_cast<int>(plain), static_cast<int>(packed.size()))));
      body = packed;
    }
    const bool is_packed = packing != Packing::none;
    return entry(1, architecture, body,
                 0x11u | (packing == Packing::lz4 ? 0x2000u
                          : is_packed             ? 0x8000u
                                                  : 0u),
                 is_packed ? body.size() : 0, is_packed ? plain : 0);
  }

  FatBinary& machine_code(uint32_t architecture) {
    return entry(2, architecture,
                 "\x7f"
                 "ELF code",
                 0x11, 0, 0);
  }

  FatBinary& entry(uint16_t kind, uint32_t architecture, std::string body, uint64_t flags, uint64_t packed,
                   uint64_t plain) {
    const uint32_t header_bytes = 80;
    body.resize((body.size() + 7) / 8 * 8);
    const size_t at = inside_.size();
    inside_.resize(at + header_bytes);
    const auto set = [&](size_t offset, auto value) {
      std::memcpy(inside_.data() + at + offset, &value, sizeof(value));
    };
    set(0, kind);
    set(2, uint16_t{0x101});
    set(4, header_bytes);
    set(8, uint64_t{body.size()});
    set(16, static_cast<uint32_t>(packed));
    set(20, uint32_t{64});
    set(28, architecture);
    set(40, flags);
    set(56, plain);
    inside_ += body;
    return *this;
  }

  /// The container.
  std::vector<std::byte> bytes() const {
    std::string all(16, '\0');
    const uint32_t magic = 0xBA55ED50u;
    const uint16_t version = 1, header = 16;
    const uint64_t size = inside_.size();
    std::memcpy(all.data(), &magic, 4);
    std::memcpy(all.data() + 4, &version, 2);
    std::memcpy(all.data() + 6, &header, 2);
    std::memcpy(all.data() + 8, &size, 8);
    all += inside_;
    const auto* begin = reinterpret_cast<const std::byte*>(all.data());
    return {begin, begin + all.size()};
  }

 private:
  std::string inside_;
};

/// An ELF file with one section of this name and content.
inline std::vector<std::byte> elf_with(std::string_view name, const std::vector<std::byte>& content) {
  const std::string names = std::string("\0.shstrtab\0", 11) + std::string(name) + '\0';
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  header.e_shoff = sizeof(header);
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(header) + sizeof(sections);
  sections[1].sh_size = names.size();
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_offset = sections[1].sh_offset + names.size();
  sections[2].sh_size = content.size();
  std::vector<std::byte> file(sections[2].sh_offset + content.size());
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), sections, sizeof(sections));
  std::memcpy(file.data() + sections[1].sh_offset, names.data(), names.size());
  std::memcpy(file.data() + sections[2].sh_offset, content.data(), content.size());
  return file;
}

}  // namespace warploom::ptx
