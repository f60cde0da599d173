#include "cli/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "cli/tell.hpp"

namespace warploom::cli {
namespace {

constexpr size_t length_bytes = 8;
constexpr uint64_t longest_header = 100'000'000;  // the format's own limit

constexpr std::pair<DType, const char*> names_of_types[] = {{DType::f32, "F32"},
                                                            {DType::f16, "F16"},
                                                            {DType::bf16, "BF16"},
                                                            {DType::e4m3, "F8_E4M3"},
                                                            {DType::e5m2, "F8_E5M2"}};

std::optional<DType> type_of(const std::string& name) {
  for (const auto& [type, text] : names_of_types)
    if (name == text) return type;
  return std::nullopt;
}

struct Entry {
  std::optional<DType> type = {};  ///< none: one that we do not read
  std::vector<int64_t> shape = {};
  uint64_t begin = 0, end = 0;
};

/// Checks one entry of the header against the data behind it.
Result<Entry> entry_of(const std::string& name, const Json& json, uint64_t data_bytes) {
  auto bad = [&](const char* what) { return Error{fmt::format("tensor '{}' of the safetensors file {}", name, what)}; };
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
      !json["shape"].is_array() || !json.contains("data_offsets") || !json["data_offsets"].is_array())
    return bad("needs dtype, shape and data_offsets");
  Entry entry;
  entry.type = type_of(json["dtype"].get<std::string>());
  const Json& offsets = json["data_offsets"];
  if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return bad("needs two data_offsets that are not negative");
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  if (entry.begin > entry.end || entry.end > data_bytes) return bad("lies outside the file");
  uint64_t elements = 1;
  for (const Json& extent : json["shape"]) {
    if (!extent.is_number_unsigned()) return bad("has a shape that is not a list of whole numbers");
    const auto value = extent.get<uint64_t>();
    if (value > uint64_t{1} << 40 || (value != 0 && elements > (uint64_t{1} << 60) / value))
      return bad("has a shape that no file could hold");
    elements *= value;
    entry.shape.push_back(static_cast<int64_t>(value));
  }
  if (entry.type && elements * size_of(*entry.type) != entry.end - entry.begin)
    return bad("has a shape that does not match its bytes");
  return entry;
}

}  // namespace

Result<SafeTensors> SafeTensors::parse(std::vector<std::byte> file) {
  if (file.size() < length_bytes) return Error{"the file is too short for a safetensors file: it has no header length"};
  uint64_t header = 0;
  std::memcpy(&header, file.data(), length_bytes);
  if (header > longest_header || header > file.size() - length_bytes)
    return Error{
        fmt::format("the safetensors header is said to be {} bytes long, but the file has {} behind its first 8",
                    header, file.size() - length_bytes)};
  const char* text = reinterpret_cast<const char*>(file.data()) + length_bytes;
  const Json json = Json::parse(text, text + header, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return Error{"the safetensors header is not a JSON object"};

  SafeTensors result;
  result.file_ = std::move(file);
  const size_t data_at = length_bytes + header;
  const uint64_t data_bytes = result.file_.size() - data_at;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    Result<Entry> entry = entry_of(name, value, data_bytes);
    if (!entry) return Error{entry.error()};
    if (entry->begin != entry->end) ranges.emplace_back(entry->begin, entry->end);
    if (entry->type)
      result.tensors_[name] = {*entry->type, std::move(entry->shape),
                               std::span(result.file_).subspan(data_at + entry->begin, entry->end - entry->begin)};
    else
      result.unread_[name] = value["dtype"].get<std::string>();
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) return Error{"tensors of the safetensors file overlap"};
  return result;
}

Result<SafeTensors> SafeTensors::read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return Error{fmt::format("cannot open '{}'", path)};
  if (std::filesystem::is_directory(path)) return Error{fmt::format("'{}' is a directory", path)};
  const std::streamoff size = stream.tellg();
  if (size < 0) return Error{fmt::format("cannot read '{}'", path)};
  std::vector<std::byte> file(static_cast<size_t>(size));
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char*>(file.data()), size)) return Error{fmt::format("cannot read '{}'", path)};
  Result<SafeTensors> parsed = parse(std::move(file));
  if (!parsed) return Error{fmt::format("{}: {}", path, parsed.error())};
  return parsed;
}

const SafeTensor* SafeTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::string SafeTensors::why_unread(const std::string& name) const {
  const auto found = unread_.find(name);
  if (found == unread_.end()) return {};
  std::vector<std::string> types;
  for (const auto& [type, text] : names_of_types) types.emplace_back(text);
  return fmt::format("tensor '{}' is {}; {} are read", name, found->second, in_words(types));
}

std::string SafeTensors::names() const {
  std::string list;
  for (const auto& [name, tensor] : tensors_) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::vector<std::byte> to_safetensors(const std::vector<NamedTensor>& tensors) {
  Json header = Json::object();
  size_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const auto* name = std::find_if(std::begin(names_of_types), std::end(names_of_types),
                                    [&](const auto& candidate) { return candidate.first == tensor.type; });
    header[tensor.name] = {
        {"dtype", name->second}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.data.size()}}};
    at += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins at a multiple of 8
  const uint64_t length = text.size();
  std::vector<std::byte> file(length_bytes + text.size() + at);
  std::memcpy(file.data(), &length, length_bytes);
  std::memcpy(file.data() + length_bytes, text.data(), text.size());
  size_t to = length_bytes + text.size();
  for (const NamedTensor& tensor : tensors) {
    std::copy(tensor.data.begin(), tensor.data.end(), file.begin() + static_cast<std::ptrdiff_t>(to));
    to += tensor.data.size();
  }
  return file;
}

std::string write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const std::vector<std::byte> file = to_safetensors(tensors);
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  stream.close();
  return stream ? "" : fmt::format("cannot write '{}'", path);
}

}  // namespace warploom::cli
