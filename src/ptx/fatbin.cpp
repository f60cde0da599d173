#include "ptx/fatbin.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "types/no_throw.hpp"

namespace warploom::ptx {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t container_magic = 0xBA55ED50u, wrapper_magic = 0x466243b1u;
constexpr uint16_t kind_ptx = 1, kind_machine_code = 2;
constexpr uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

// Texts of tens of thousands of instructions have a few MiB, and shrink to a tenth or a fiftieth.
constexpr uint64_t most_text = uint64_t{256} << 20, most_shrinking = 1000, always_allowed = uint64_t{64} << 10;
constexpr uint64_t most_texts = uint64_t{1} << 30;  ///< of one file, together

template <class T>
std::optional<T> read(Bytes bytes, uint64_t at) {
  T value;
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Nothing of what lies outside.
std::optional<Bytes> part(Bytes bytes, uint64_t from, uint64_t size) {
  if (from > bytes.size() || size > bytes.size() - from) return std::nullopt;
  return bytes.subspan(from, size);
}

struct ContainerHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  ///< behind the header
};

/// As it stands in the file; the parts nobody needs are left out of the names.
struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;       ///< of what follows, padded
  uint32_t compressed;  ///< of what follows; 0 where nothing is compressed
  uint32_t options_at;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t name_at, name_bytes;
  uint64_t flags;
  uint64_t unused;
  uint64_t uncompressed;
};
static_assert(sizeof(EntryHeader) == 64 && sizeof(ContainerHeader) == 16);

Error broken(std::string_view what) {
  return {fmt::format("the fat binary is damaged: {}", what), ErrorCode::bad_argument};
}

Result<std::string> unpacked(const EntryHeader& entry, Bytes body) {
  const bool zstd = (entry.flags & flag_zstd) != 0, lz4 = (entry.flags & flag_lz4) != 0;
  if (!zstd && !lz4) {
    if (body.size() > most_text) return broken("a text is larger than any PTX");
    return std::string(reinterpret_cast<const char*>(body.data()), body.size());
  }
  const std::optional<Bytes> packed = part(body, 0, entry.compressed);
  if (!packed || packed->empty()) return broken("a compressed text ends before its end");
  const uint64_t size = entry.uncompressed;
  if (size == 0 || size > most_text || size > packed->size() * most_shrinking + always_allowed)
    return broken(fmt::format("{} bytes cannot hold a text of {}", packed->size(), size));
  std::string text(size, '\0');
  size_t made = 0;
  if (zstd) {
    made = ZSTD_decompress(text.data(), text.size(), packed->data(), packed->size());
    if (ZSTD_isError(made) != 0) return broken(fmt::format("zstd: {}", ZSTD_getErrorName(made)));
  } else {
    const int done = LZ4_decompress_safe(reinterpret_cast<const char*>(packed->data()), text.data(),
                                         static_cast<int>(packed->size()), static_cast<int>(text.size()));
    if (done < 0) return broken("its LZ4 block cannot be read");
    made = static_cast<size_t>(done);
  }
  if (made != size) return broken(fmt::format("a text has {} bytes, not {}", made, size));
  return text;
}

/// Collects texts over all containers of a file.
struct Collector {
  std::vector<Image> images = {};
  uint32_t modules = 0, machine_codes = 0, others = 0;
  uint64_t bytes = 0;

  /// "" or what is wrong.
  std::optional<Error> entry(const EntryHeader& entry, Bytes body) {
    if (entry.kind == kind_machine_code) ++machine_codes;
    if (entry.kind != kind_ptx && entry.kind != kind_machine_code) ++others;
    if (entry.kind != kind_ptx) return std::nullopt;
    Result<std::string> text = unpacked(entry, body);
    if (!text) return text.why();
    text->resize(std::min(text->size(), text->find('\0')));
    bytes += text->size();
    if (bytes > most_texts) return broken("its texts together are larger than any program's");
    Image image = image_of_text(std::move(*text));
    if (image.architecture == 0) image.architecture = entry.architecture;
    image.module = modules;
    images.push_back(std::move(image));
    return std::nullopt;
  }

  /// How many bytes the container takes.
  Result<uint64_t> container(Bytes bytes_there) {
    const auto header = read<ContainerHeader>(bytes_there, 0);
    if (!header || header->magic != container_magic) return broken("its first bytes are not those of one");
    if (header->header_bytes < sizeof(ContainerHeader)) return broken("its header is too short");
    const std::optional<Bytes> inside = part(bytes_there, header->header_bytes, header->bytes);
    if (!inside) return broken("it ends before its end");
    for (uint64_t at = 0; at < inside->size();) {
      const auto next = read<EntryHeader>(*inside, at);
      if (!next || next->header_bytes < sizeof(EntryHeader)) return broken("the header of an entry is too short");
      const std::optional<Bytes> body =
          part(*inside, at, next->header_bytes) ? part(*inside, at + next->header_bytes, next->bytes) : std::nullopt;
      if (!body) return broken("an entry ends behind its end");
      if (const std::optional<Error> trouble = entry(*next, *body)) return *trouble;
      at += next->header_bytes + next->bytes;
    }
    ++modules;
    return header->header_bytes + header->bytes;
  }

  /// Containers behind each other, aligned to 8 bytes, with zeros between them.
  std::optional<Error> containers(Bytes all) {
    for (uint64_t at = 0; at + sizeof(ContainerHeader) <= all.size();) {
      if (*read<uint32_t>(all, at) != container_magic) {
        at += 8;
        continue;
      }
      const Result<uint64_t> taken = container(all.subspan(at));
      if (!taken) return taken.why();
      at += (*taken + 7) / 8 * 8;
    }
    return std::nullopt;
  }

  Result<std::vector<Image>> result() && {
    if (!images.empty()) return std::move(images);
    if (machine_codes > 0)
      return Error{
          "there is machine code in it and no PTX; compile with -gencode arch=compute_90a,code=[sm_90a,compute_90a], "
          "so that nvcc puts the PTX beside it",
          ErrorCode::unsupported};
    if (others > 0)
      return Error{"there is code for the linker in it (-dlto) and no PTX; compile without -dlto",
                   ErrorCode::unsupported};
    return Error{"there is no device code in it", ErrorCode::not_found};
  }
};

Result<std::vector<Image>> from_fatbin(Bytes bytes) {
  Collector found;
  if (const std::optional<Error> trouble = found.containers(bytes)) return *trouble;
  return std::move(found).result();
}

Result<std::vector<Image>> from_elf(Bytes file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return Error{"it is no ELF file of 64 bits", ErrorCode::bad_argument};
  if (header->e_shnum == 0 || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
    return Error{"the ELF file has no sections", ErrorCode::bad_argument};
  const std::optional<Bytes> table = part(file, header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr));
  if (!table) return Error{"the sections of the ELF file lie behind its end", ErrorCode::bad_argument};
  const auto section = [&](uint32_t index) { return *read<Elf64_Shdr>(*table, uint64_t{index} * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr of_names = section(header->e_shstrndx);
  const std::optional<Bytes> names = part(file, of_names.sh_offset, of_names.sh_size);
  if (!names) return Error{"the names of the ELF file's sections lie behind its end", ErrorCode::bad_argument};

  Collector found;
  for (uint32_t i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (one.sh_type == SHT_NOBITS || one.sh_name >= names->size()) continue;
    const Bytes rest = names->subspan(one.sh_name);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    const std::string_view name = text.substr(0, text.find('\0'));
    // With -rdc=true the linked device code lies in the second.
    if (name != ".nv_fatbin" && name != "__nv_relfatbin") continue;
    const std::optional<Bytes> bytes = part(file, one.sh_offset, one.sh_size);
    if (!bytes) return Error{fmt::format("section {} lies behind the end of the file", name), ErrorCode::bad_argument};
    if (const std::optional<Error> trouble = found.containers(*bytes)) return *trouble;
  }
  return std::move(found).result();
}

Result<std::vector<std::byte>> content_of(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return Error{fmt::format("{}: {}", path, std::strerror(errno)), ErrorCode::io};
  constexpr size_t step = size_t{1} << 20, most = size_t{4} << 30;
  std::vector<std::byte> bytes;
  for (size_t had = 0;;) {
    bytes.resize(had + step);
    const size_t got = std::fread(bytes.data() + had, 1, step, file.get());
    bytes.resize(had + got);
    had += got;
    if (std::ferror(file.get()) != 0) return Error{fmt::format("{}: {}", path, std::strerror(errno)), ErrorCode::io};
    if (got < step) return bytes;
    if (had > most) return Error{fmt::format("{} is larger than any program", path), ErrorCode::bad_argument};
  }
}

/// Whether a chip of this number takes such a text.
bool runs_on(const Image& image, uint32_t architecture) {
  switch (image.feature) {
    case Feature::none: return image.architecture <= architecture;
    case Feature::specific: return image.architecture == architecture;
    case Feature::family: return image.architecture / 10 == architecture / 10 && image.architecture <= architecture;
  }
  return false;
}

}  // namespace

std::string Image::target() const {
  return fmt::format("sm_{}{}", architecture,
                     feature == Feature::specific ? "a"
                     : feature == Feature::family ? "f"
                                                  : "");
}

Image image_of_text(std::string text) {
  Image image;
  constexpr std::string_view directive = ".target", prefix = "sm_";
  size_t at = 0;
  // Of a line that begins with it: the word may stand in a comment.
  for (at = text.find(directive); at != std::string::npos; at = text.find(directive, at + 1)) {
    const size_t line = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (at == 0 || line == std::string::npos || text[line] == '\n' || text[line] == '\r') break;
  }
  if (at != std::string::npos) {
    at = text.find_first_not_of(" \t", at + directive.size());
    if (at != std::string::npos && text.compare(at, prefix.size(), prefix) == 0) {
      const char* const begin = text.data() + at + prefix.size();
      const char* const all = text.data() + text.size();
      const auto [end, error] = std::from_chars(begin, all, image.architecture);
      if (error != std::errc{}) image.architecture = 0;
      if (end != all && *end == 'a') image.feature = Feature::specific;
      if (end != all && *end == 'f') image.feature = Feature::family;
    }
  }
  image.text = std::move(text);
  return image;
}

Result<std::vector<Image>> images_of_fatbin(Bytes bytes) {
  return no_throw([&]() -> Result<std::vector<Image>> { return from_fatbin(bytes); });
}

Result<std::vector<Image>> images_of_registered(const void* wrapper) {
  struct Wrapper {
    uint32_t magic, version;
    const std::byte* data;
    const void* more;
  };
  return no_throw([&]() -> Result<std::vector<Image>> {
    Wrapper w;
    if (wrapper == nullptr) return broken("there is none");
    std::memcpy(&w, wrapper, sizeof(w));
    if (w.magic != wrapper_magic || w.data == nullptr) return broken("what names it is no wrapper of a fat binary");
    ContainerHeader header;
    std::memcpy(&header, w.data, sizeof(header));
    if (header.magic != container_magic) return broken("its first bytes are not those of one");
    return from_fatbin({w.data, header.header_bytes + header.bytes});
  });
}

Result<std::vector<Image>> images_of_elf(Bytes file) {
  return no_throw([&]() -> Result<std::vector<Image>> { return from_elf(file); });
}

Result<std::vector<Image>> images_of_file(const std::string& path) {
  return no_throw([&]() -> Result<std::vector<Image>> {
    const Result<std::vector<std::byte>> content = content_of(path);
    if (!content) return content.why();
    const auto named = [&](Result<std::vector<Image>> images) -> Result<std::vector<Image>> {
      if (images) return images;
      return Error{fmt::format("{}: {}", path, images.error()), images.code()};
    };
    if (content->size() >= SELFMAG && std::memcmp(content->data(), ELFMAG, SELFMAG) == 0)
      return named(from_elf(*content));
    if (const auto magic = read<uint32_t>(*content, 0); magic && *magic == container_magic)
      return named(from_fatbin(*content));
    std::string text(reinterpret_cast<const char*>(content->data()), content->size());
    text.resize(std::min(text.size(), text.find('\0')));
    if (text.find(".version") == std::string::npos || text.find(".target") == std::string::npos)
      return Error{
          fmt::format("{} is neither PTX (it has no .version and .target), nor a fat binary, nor an ELF file", path),
          ErrorCode::bad_argument};
    std::vector<Image> images;
    images.push_back(image_of_text(std::move(text)));
    return images;
  });
}

const Image* choose(std::span<const Image> images, uint32_t architecture) {
  const Image* best = nullptr;
  const auto rank = [](const Image& image) {
    return std::pair(image.architecture, image.feature == Feature::specific ? 2 : image.feature == Feature::family);
  };
  for (const Image& image : images)
    if (runs_on(image, architecture) && (best == nullptr || rank(image) > rank(*best))) best = &image;
  return best;
}

const Image* choose(std::span<const Image> images, uint32_t architecture, uint32_t module) {
  const auto of_module = [&](const Image& image) { return image.module == module; };
  const auto first = std::find_if(images.begin(), images.end(), of_module);
  const auto last = std::find_if_not(first, images.end(), of_module);
  return choose(std::span(first, last), architecture);
}

uint32_t chip_for(std::span<const Image> images) {
  bool hopper = false, blackwell = false;
  for (const Image& image : images) {
    hopper |= image.architecture == 90 && image.feature == Feature::specific;
    blackwell |= image.architecture == 100;
  }
  return blackwell && !hopper ? 100 : 90;
}

}  // namespace warploom::ptx
