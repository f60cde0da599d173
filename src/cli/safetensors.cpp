#include "cli/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/safetensors_header.hpp"
#include "cli/text.hpp"
#include "cli/whole_file.hpp"

namespace warploom::cli {
namespace {

constexpr std::pair<DType, const char*> names_of_types[] = {{DType::f32, "F32"},
                                                            {DType::f16, "F16"},
                                                            {DType::bf16, "BF16"},
                                                            {DType::e4m3, "F8_E4M3"},
                                                            {DType::e5m2, "F8_E5M2"}};
constexpr uint64_t most_bytes = 8'000'000'000;  // of the tensors that are read, as of a problem

std::optional<DType> type_of(const std::string& name) {
  for (const auto& [type, text] : names_of_types)
    if (name == text) return type;
  return std::nullopt;
}

constexpr const char* too_short = "the file is too short for a safetensors file: it has no header length";

uint64_t number_at(const std::byte* bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

}  // namespace

Result<SafeTensors> SafeTensors::parse(std::vector<std::byte> file) {
  if (file.size() < safetensors_length_bytes) return Error{too_short};
  const Result<uint64_t> length = safetensors_header_bytes(number_at(file.data()), file.size());
  if (!length) return Error{length.error()};
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + safetensors_length_bytes, *length);
  const uint64_t data_at = safetensors_length_bytes + *length;
  Result<std::vector<SafeTensorEntry>> entries = parse_safetensors_header(header, file.size() - data_at);
  if (!entries) return Error{entries.error()};
  SafeTensors result;
  result.bytes_.push_back(std::move(file));
  const std::span<const std::byte> data = std::span(result.bytes_.front()).subspan(data_at);
  for (SafeTensorEntry& entry : *entries)
    if (const std::optional<DType> type = type_of(entry.type))
      result.tensors_[entry.name] = {*type, std::move(entry.shape), data.subspan(entry.begin, entry.end - entry.begin)};
    else
      result.unread_[entry.name] = std::move(entry.type);
  return result;
}

Result<SafeTensors> SafeTensors::read(const std::string& path, const std::vector<std::string_view>& names) {
  const auto in_file = [&](const std::string& reason) { return Error{fmt::format("{}: {}", path, reason)}; };
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return Error{file.error()};
  if (file->size() < safetensors_length_bytes) return in_file(too_short);
  std::byte first[safetensors_length_bytes];
  if (std::string reason = file->read(0, first); !reason.empty()) return Error{reason};
  const Result<uint64_t> length = safetensors_header_bytes(number_at(first), file->size());
  if (!length) return in_file(length.error());
  std::string header(*length, '\0');
  if (std::string reason = file->read(safetensors_length_bytes, std::as_writable_bytes(std::span(header)));
      !reason.empty())
    return Error{reason};
  const uint64_t data_at = safetensors_length_bytes + *length;
  Result<std::vector<SafeTensorEntry>> entries = parse_safetensors_header(header, file->size() - data_at);
  if (!entries) return in_file(entries.error());

  SafeTensors result;
  uint64_t total = 0;
  for (SafeTensorEntry& entry : *entries) {
    const std::optional<DType> type = type_of(entry.type);
    if (!type) {
      result.unread_[entry.name] = std::move(entry.type);
      continue;
    }
    SafeTensor& tensor = result.tensors_[entry.name];
    tensor.type = *type;
    tensor.shape = std::move(entry.shape);
    if (!names.empty() && std::find(names.begin(), names.end(), entry.name) == names.end()) continue;
    total += entry.end - entry.begin;
    if (total > most_bytes)
      return in_file(
          fmt::format("tensors of more than {:.0f} GB are too large", static_cast<double>(most_bytes) * 1e-9));
    std::vector<std::byte>& bytes = result.bytes_.emplace_back(entry.end - entry.begin);
    if (std::string reason = file->read(data_at + entry.begin, bytes); !reason.empty()) return Error{reason};
    tensor.data = bytes;
  }
  return result;
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
  constexpr size_t shown_names = 8, longest = 60;
  std::string list;
  size_t count = 0;
  for (const auto& [name, tensor] : tensors_) {
    if (count++ == shown_names) return list + fmt::format(" and {} more", tensors_.size() - shown_names);
    list += (list.empty() ? "" : ", ") + shown(name.size() > longest ? name.substr(0, longest) + "..." : name);
  }
  if (!list.empty()) return list;
  return unread_.empty() ? "none" : fmt::format("none of a type that is read, and {} of others", unread_.size());
}

std::vector<std::byte> to_safetensors(const std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
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
  std::vector<std::byte> file(safetensors_length_bytes + text.size() + at);
  std::memcpy(file.data(), &length, safetensors_length_bytes);
  std::memcpy(file.data() + safetensors_length_bytes, text.data(), text.size());
  size_t to = safetensors_length_bytes + text.size();
  for (const NamedTensor& tensor : tensors) {
    std::copy(tensor.data.begin(), tensor.data.end(), file.begin() + static_cast<std::ptrdiff_t>(to));
    to += tensor.data.size();
  }
  return file;
}

}  // namespace warploom::cli
