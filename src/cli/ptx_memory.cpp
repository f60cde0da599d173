#include "cli/ptx_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string_view>

#include "cli/text.hpp"
#include "cli/whole_file.hpp"
#include "warploom/loom/tensor_map.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::cli {
namespace {

struct ElementRow {
  std::string_view name;
  Element element;
  uint32_t bytes;
  TmaType map;
};
constexpr std::array elements = {
    ElementRow{"i8", Element::i8, 1, TmaType::u8},    ElementRow{"u8", Element::u8, 1, TmaType::u8},
    ElementRow{"i16", Element::i16, 2, TmaType::u16}, ElementRow{"u16", Element::u16, 2, TmaType::u16},
    ElementRow{"i32", Element::i32, 4, TmaType::s32}, ElementRow{"u32", Element::u32, 4, TmaType::u32},
    ElementRow{"i64", Element::i64, 8, TmaType::s64}, ElementRow{"u64", Element::u64, 8, TmaType::u64},
    ElementRow{"f16", Element::f16, 2, TmaType::f16}, ElementRow{"bf16", Element::bf16, 2, TmaType::bf16},
    ElementRow{"f32", Element::f32, 4, TmaType::f32}, ElementRow{"f64", Element::f64, 8, TmaType::f64},
};

const ElementRow* row_of(std::string_view name) {
  for (const ElementRow& row : elements)
    if (row.name == name) return &row;
  return nullptr;
}
const ElementRow& row_of(Element element) {
  return *std::find_if(elements.begin(), elements.end(), [&](const ElementRow& r) { return r.element == element; });
}

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  int base = 10;
  const bool hex = text.starts_with("0x");
  if (hex) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> real(const std::string& text) {
  if (text.empty() || text.find_first_not_of("+-.0123456789eEinfa") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// One element of that value; nothing where it is no such number.
std::optional<std::vector<std::byte>> encoded(Element element, const std::string& text) {
  const auto integer = [&]<class T>(T) -> std::optional<std::vector<std::byte>> {
    const std::optional<T> value = whole<T>(text);
    return value ? std::optional(bytes_of(*value)) : std::nullopt;
  };
  const std::optional<double> value = real(text);
  switch (element) {
    case Element::i8: return integer(int8_t{});
    case Element::u8: return integer(uint8_t{});
    case Element::i16: return integer(int16_t{});
    case Element::u16: return integer(uint16_t{});
    case Element::i32: return integer(int32_t{});
    case Element::u32: return integer(uint32_t{});
    case Element::i64: return integer(int64_t{});
    case Element::u64: return integer(uint64_t{});
    case Element::f16: return value ? std::optional(bytes_of(to_f16(static_cast<float>(*value)))) : std::nullopt;
    case Element::bf16: return value ? std::optional(bytes_of(to_bf16(static_cast<float>(*value)))) : std::nullopt;
    case Element::f32: return value ? std::optional(bytes_of(static_cast<float>(*value))) : std::nullopt;
    case Element::f64: return value ? std::optional(bytes_of(*value)) : std::nullopt;
  }
  return std::nullopt;
}

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

double value_at(Element element, const std::byte* from) {
  switch (element) {
    case Element::i8: return read_as<int8_t>(from);
    case Element::u8: return read_as<uint8_t>(from);
    case Element::i16: return read_as<int16_t>(from);
    case Element::u16: return read_as<uint16_t>(from);
    case Element::i32: return read_as<int32_t>(from);
    case Element::u32: return read_as<uint32_t>(from);
    case Element::i64: return static_cast<double>(read_as<int64_t>(from));
    case Element::u64: return static_cast<double>(read_as<uint64_t>(from));
    case Element::f16: return to_float(read_as<f16>(from));
    case Element::bf16: return to_float(read_as<bf16>(from));
    case Element::f32: return read_as<float>(from);
    case Element::f64: return read_as<double>(from);
  }
  return 0;
}

std::string shown_at(Element element, const std::byte* from) {
  if (element == Element::i64) return fmt::format("{}", read_as<int64_t>(from));
  if (element == Element::u64) return fmt::format("{}", read_as<uint64_t>(from));
  if (element == Element::f32) return fmt::format("{}", read_as<float>(from));
  return fmt::format("{}", value_at(element, from));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::vector<std::byte>> file_of(const std::string& path) {
  const Result<std::string> text = read_whole(path);
  if (!text) return Error{text.error(), text.code()};
  const auto* const begin = reinterpret_cast<const std::byte*>(text->data());
  return std::vector<std::byte>(begin, begin + text->size());
}

constexpr uint64_t most_bytes = uint64_t{1} << 36;

/// `zero`, `iota`, ...: or a sentence.
Result<std::vector<std::byte>> filled(const ElementRow& row, uint64_t count, const std::string& how) {
  std::vector<std::byte> bytes(count * row.bytes);
  const auto set = [&](uint64_t i, const std::string& value) {
    const auto element = encoded(row.element, value);
    if (element) std::memcpy(bytes.data() + i * row.bytes, element->data(), row.bytes);
    return element.has_value();
  };
  if (how == "zero") return bytes;
  if (how == "unwritten") {
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    return bytes;
  }
  if (how.starts_with('@')) {
    Result<std::vector<std::byte>> file = file_of(how.substr(1));
    if (file && file->size() != bytes.size())
      return Error{fmt::format("'{}' has {} bytes, and {} elements of {} are {}", shown(how.substr(1)), file->size(),
                               count, row.name, bytes.size())};
    return file;
  }
  const bool seeded = how.starts_with("random=");
  if (how == "iota" || how == "random" || seeded) {
    const std::optional<uint64_t> seed = seeded ? whole<uint64_t>(std::string_view(how).substr(7)) : 1;
    if (!seed) return Error{fmt::format("'{}' names no seed", shown(how))};
    std::mt19937_64 random(*seed);
    const bool fraction = row.element >= Element::f16;
    const uint64_t round = row.bytes == 1 ? 64 : row.element == Element::bf16 ? 256 : row.bytes == 2 ? 1024 : count;
    for (uint64_t i = 0; i < count; ++i) {
      // Small numbers, which every type holds: exact in sums of products for a while.
      const auto drawn = static_cast<int64_t>(random() % 17);
      const std::string value = how == "iota" ? fmt::format("{}", i % std::max<uint64_t>(round, 1))
                                : fraction    ? fmt::format("{}", static_cast<double>(drawn - 8) / 4)
                                              : fmt::format("{}", drawn);
      set(i, value);
    }
    return bytes;
  }
  for (uint64_t i = 0; i < count; ++i)
    if (!set(i, how))
      return Error{
          fmt::format("memory is filled with zero, unwritten, iota, random, random=SEED, a number of {}, or "
                      "@FILE, not with '{}'",
                      row.name, shown(how))};
  return bytes;
}

}  // namespace

Result<Dim3> parse_extents(const char* option, const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  std::array<uint32_t, 3> values{1, 1, 1};
  bool good = parts.size() <= 3;
  for (size_t i = 0; i < parts.size() && good; ++i) {
    const std::optional<uint32_t> value = whole<uint32_t>(parts[i]);
    good = value && *value > 0 && *value <= 0x7fffffff;
    if (good) values[i] = *value;
  }
  if (!good) return Error{fmt::format("{} is X, X,Y or X,Y,Z, each at least 1, not '{}'", option, shown(text))};
  return Dim3{values[0], values[1], values[2]};
}

Result<KernelArguments::Argument> KernelArguments::number(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon), value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (type == "bytes" && value.starts_with('@')) {
    Result<std::vector<std::byte>> file = file_of(value.substr(1));
    if (!file) return file.why();
    return Argument{text, std::move(*file)};
  }
  const ElementRow* const row = row_of(type);
  if (row == nullptr)
    return Error{
        fmt::format("--arg '{}' is neither a number (i32:7), nor memory (f32[64]:zero), nor bytes:@FILE, nor a "
                    "tensor map (map:0,f16,64x64,box=64x64)",
                    shown(text))};
  std::optional<std::vector<std::byte>> bytes = encoded(row->element, value);
  if (!bytes) return Error{fmt::format("--arg '{}': '{}' is no number of {}", shown(text), shown(value), type)};
  return Argument{text, std::move(*bytes)};
}

Result<KernelArguments::Argument> KernelArguments::memory(const std::string& text, size_t index) {
  const size_t open = text.find('['), close = text.find("]:");
  const ElementRow* const row = row_of(text.substr(0, open));
  uint64_t count = 0;
  if (close != std::string::npos)
    count = whole<uint64_t>(std::string_view(text).substr(open + 1, close - open - 1)).value_or(0);
  if (row == nullptr || count == 0 || count > most_bytes / row->bytes)
    return Error{fmt::format("--arg '{}': memory is TYPE[COUNT]:FILL, such as f32[1024]:iota", shown(text))};
  const std::vector<std::string> parts = split(std::string_view(text).substr(close + 2), ',');
  Result<std::vector<std::byte>> initial = filled(*row, count, parts.front());
  if (!initial) return Error{fmt::format("--arg '{}': {}", shown(text), initial.error()), initial.code()};
  Memory memory{.element = row->element, .count = count, .initial = std::move(*initial)};
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string &part = parts[i], value = part.substr(std::min(part.find('=') + 1, part.size()));
    if (part.starts_with("print=") && whole<uint64_t>(value)) {
      memory.print = *whole<uint64_t>(value);
    } else if (part.starts_with("within=") && real(value) && *real(value) >= 0) {
      memory.tolerance = *real(value);
    } else if (part.starts_with("out=") && !value.empty()) {
      memory.out = value;
    } else if (part.starts_with("expect=") && !value.empty()) {
      Result<std::vector<std::byte>> expected = filled(*row, count, "@" + value);
      if (!expected) return Error{fmt::format("--arg '{}': {}", shown(text), expected.error()), expected.code()};
      memory.expected = std::move(*expected);
      memory.expect = value;
    } else {
      return Error{fmt::format("--arg '{}': '{}' is none of print=N, out=FILE, expect=FILE, within=TOLERANCE",
                               shown(text), shown(part))};
    }
  }
  constexpr size_t alignment = 256;
  memory.storage = std::shared_ptr<std::byte[]>(new std::byte[memory.initial.size() + alignment]);
  const auto address = reinterpret_cast<uintptr_t>(memory.storage.get());
  memory.begin = memory.storage.get() + ((address + alignment - 1) / alignment * alignment - address);
  memory.name = fmt::format("argument {}", index);
  Argument argument{text, bytes_of(memory.begin), static_cast<int64_t>(memories_.size())};
  memories_.push_back(std::move(memory));
  return argument;
}

Result<KernelArguments::Argument> KernelArguments::tensor_map(const std::string& text, uint32_t chip) {
  const auto bad = [&](const std::string& why) {
    return Error{
        fmt::format("--arg '{}': {}; a tensor map is map:ARGUMENT,TYPE,INNERxOUTER...,box=INNERxOUTER..., and "
                    "may have swizzle=0, 32, 64 or 128 and stride=BYTES",
                    shown(text), why)};
  };
  const std::vector<std::string> parts = split(std::string_view(text).substr(4), ',');
  if (parts.size() < 4) return bad("something is missing");
  const std::optional<uint64_t> of = whole<uint64_t>(parts[0]);
  if (!of || *of >= arguments_.size() || arguments_[*of].memory < 0)
    return bad(fmt::format("'{}' is no argument before this one that is memory", shown(parts[0])));
  const ElementRow* const row = row_of(parts[1]);
  if (row == nullptr) return bad(fmt::format("'{}' is no type", shown(parts[1])));
  const auto extents = [](const std::string& list) {
    std::vector<uint64_t> values;
    for (const std::string& one : split(list, 'x')) values.push_back(whole<uint64_t>(one).value_or(0));
    return values;
  };
  TensorMapArgs args;
  args.type = row->map;
  args.address = memories_[static_cast<size_t>(arguments_[*of].memory)].begin;
  const std::vector<uint64_t> dims = extents(parts[2]);
  if (dims.size() > 5 || std::find(dims.begin(), dims.end(), 0) != dims.end()) return bad("its extents are no numbers");
  args.rank = static_cast<uint32_t>(dims.size());
  uint64_t stride = dims[0] * row->bytes;
  for (size_t i = 3; i < parts.size(); ++i) {
    const std::string value = parts[i].substr(std::min(parts[i].find('=') + 1, parts[i].size()));
    if (parts[i].starts_with("box=")) {
      const std::vector<uint64_t> box = extents(value);
      if (box.size() != dims.size()) return bad("the box has another number of dimensions");
      for (size_t d = 0; d < box.size(); ++d) args.box[d] = static_cast<uint32_t>(box[d]);
    } else if (parts[i].starts_with("swizzle=")) {
      if (value != "0" && value != "32" && value != "64" && value != "128") return bad("there is no such swizzle");
      args.swizzle = value == "0"    ? Swizzle::none
                     : value == "32" ? Swizzle::b32
                     : value == "64" ? Swizzle::b64
                                     : Swizzle::b128;
    } else if (parts[i].starts_with("stride=") && whole<uint64_t>(value)) {
      stride = *whole<uint64_t>(value);
    } else {
      return bad(fmt::format("'{}' means nothing", shown(parts[i])));
    }
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    args.dims[d] = dims[d];
    if (d + 1 == dims.size()) break;
    args.strides[d] = stride;
    stride *= dims[d + 1];
  }
  const Result<TensorMap> map = loom::encode_tensor_map(args, chip == 100 ? Chip::sm100 : Chip::sm90);
  if (!map) return bad(map.error());
  return Argument{text, bytes_of(*map)};
}

Result<KernelArguments> KernelArguments::parse(const std::vector<std::string>& texts, uint32_t chip) {
  KernelArguments all;
  for (const std::string& word : texts) {
    constexpr std::string_view also = "also:";
    const bool beside = word.starts_with(also);
    const std::string text = beside ? word.substr(also.size()) : word;
    const bool is_memory = text.find('[') < text.find(':');
    if (beside && !is_memory)
      return Error{fmt::format("--arg '{}': behind also: there is memory, such as f32[1024]:iota", shown(word))};
    Result<Argument> argument = text.starts_with("map:") ? all.tensor_map(text, chip)
                                : is_memory              ? all.memory(text, all.arguments_.size())
                                                         : number(text);
    if (!argument) return argument.why();
    argument->is_parameter = !beside;
    all.arguments_.push_back(std::move(*argument));
  }
  all.reset();
  return all;
}

void KernelArguments::reset() {
  for (const Memory& memory : memories_) std::memcpy(memory.begin, memory.initial.data(), memory.initial.size());
}

Result<std::vector<std::byte>> KernelArguments::block_for(const ptx::abi::Kernel& kernel) const {
  std::vector<const Argument*> parameters;
  for (const Argument& argument : arguments_)
    if (argument.is_parameter) parameters.push_back(&argument);
  if (parameters.size() != kernel.parameter_count) {
    std::string list;
    for (uint32_t i = 0; i < kernel.parameter_count; ++i)
      list += fmt::format("{}{} bytes", i == 0 ? "" : ", ", kernel.parameters[i].bytes);
    return Error{fmt::format("the kernel has {} parameters ({}), and --arg gives {}", kernel.parameter_count,
                             list.empty() ? "none" : list, parameters.size())};
  }
  std::vector<std::byte> block(kernel.parameter_bytes);
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const ptx::abi::Parameter& parameter = kernel.parameters[i];
    if (parameters[i]->bytes.size() != parameter.bytes)
      return Error{fmt::format("parameter {} of the kernel has {} bytes, and --arg '{}' has {}", i, parameter.bytes,
                               shown(parameters[i]->text), parameters[i]->bytes.size())};
    std::memcpy(block.data() + parameter.offset, parameters[i]->bytes.data(), parameter.bytes);
  }
  return block;
}

std::vector<loom::TensorRef> KernelArguments::tensors() const {
  std::vector<loom::TensorRef> list;
  for (const Memory& memory : memories_)
    list.push_back({memory.begin, memory.initial.size(), loom::Access::write, memory.name.c_str()});
  return list;
}

std::string KernelArguments::Difference::text() const {
  return fmt::format("argument {}: {} of {} elements are not those of '{}'; the first is [{}]: {}, expected {}",
                     argument, wrong, elements, shown(file), first, got, expected);
}

Result<std::vector<KernelArguments::Difference>> KernelArguments::differences() const {
  std::vector<Difference> all;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].memory < 0) continue;
    const Memory& memory = memories_[static_cast<size_t>(arguments_[i].memory)];
    if (memory.expect.empty()) continue;
    const uint32_t bytes = row_of(memory.element).bytes;
    Difference difference{.argument = i, .elements = memory.count, .file = memory.expect};
    for (uint64_t e = 0; e < memory.count; ++e) {
      const std::byte *got = memory.begin + e * bytes, *expected = memory.expected.data() + e * bytes;
      if (std::memcmp(got, expected, bytes) == 0) continue;
      const double a = value_at(memory.element, got), b = value_at(memory.element, expected);
      if (memory.tolerance > 0 && std::abs(a - b) <= memory.tolerance * std::max(1.0, std::abs(b))) continue;
      if (difference.wrong++ > 0) continue;
      difference.first = e;
      difference.got = shown_at(memory.element, got);
      difference.expected = shown_at(memory.element, expected);
    }
    if (difference.wrong > 0) all.push_back(std::move(difference));
  }
  return all;
}

std::vector<std::string> KernelArguments::printed() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].memory < 0) continue;
    const Memory& memory = memories_[static_cast<size_t>(arguments_[i].memory)];
    if (memory.print == 0) continue;
    std::string line = fmt::format("argument {}:", i);
    for (uint64_t e = 0; e < std::min(memory.print, memory.count); ++e)
      line += " " + shown_at(memory.element, memory.begin + e * row_of(memory.element).bytes);
    lines.push_back(std::move(line));
  }
  return lines;
}

Trouble KernelArguments::try_to_save() const {
  for (const Memory& memory : memories_)
    if (!memory.out.empty())
      if (Trouble trouble = try_to_write("out", memory.out)) return trouble;
  return {};
}

Trouble KernelArguments::save() const {
  for (const Memory& memory : memories_)
    if (!memory.out.empty())
      if (Trouble trouble = write_whole(memory.out, std::span<const std::byte>(memory.begin, memory.initial.size())))
        return trouble;
  return {};
}

}  // namespace warploom::cli
