#include "cli/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "cli/text.hpp"

namespace warploom::cli {
namespace {

constexpr uint64_t longest_header = 100'000'000;  // the format's own limit

/// Types of the format, and the bits of an element.
constexpr std::pair<const char*, uint64_t> types[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};

std::optional<uint64_t> bits_of(std::string_view type) {
  for (const auto& [name, bits] : types)
    if (type == name) return bits;
  return std::nullopt;
}

std::string sentence(const std::string& name, std::string_view what) {
  constexpr size_t longest = 200;
  return fmt::format("tensor '{}' of the safetensors file {}",
                     shown(name.size() > longest ? name.substr(0, longest) : name), what);
}

/// Takes the header as it is read: no tree of it is built, and a name is looked up by its hash.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<SafeTensorEntry> entries;
  std::string error;

  bool null() override { return (depth_ == 1 && where_ == Where::metadata) || other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return number({}); }
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t, const string_t&) override { return number({}); }
  bool binary(binary_t&) override { return other(); }

  bool string(string_t& value) override {
    if (depth_ == 2 && where_ == Where::metadata) return true;
    if (depth_ == 2 && field_ == Field::type) {
      entries.back().type = std::move(value);
      return true;
    }
    return other();
  }

  bool start_object(size_t) override {
    if (depth_ <= 1) return deeper();  // of depth 1, `key` has seen what it is
    return passes_over() ? deeper() : other();
  }
  bool end_object() override {
    --depth_;
    return depth_ != 1 || where_ == Where::metadata || complete();
  }

  bool start_array(size_t) override {
    if (depth_ == 2 && where_ == Where::tensor && (field_ == Field::shape || field_ == Field::offsets)) {
      list_.clear();
      return deeper();
    }
    return passes_over() ? deeper() : other();
  }
  bool end_array() override {
    --depth_;
    if (depth_ != 2 || where_ != Where::tensor) return true;
    if (field_ == Field::shape) entries.back().shape.assign(list_.begin(), list_.end());
    if (field_ == Field::offsets) {
      if (list_.size() != 2) return refuse("needs two data_offsets that are not negative");
      entries.back().begin = list_[0];
      entries.back().end = list_[1];
    }
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      where_ = name == "__metadata__" ? Where::metadata : Where::tensor;
      seen_ = 0;
      if (!names_.insert(name).second) return refuse_file(fmt::format("has the name '{}' twice", shown(name)));
      if (where_ == Where::tensor) entries.push_back({.name = std::move(name)});
      field_ = Field::none;
    } else if (depth_ == 2 && where_ == Where::tensor) {
      field_ = name == "dtype"          ? Field::type
               : name == "shape"        ? Field::shape
               : name == "data_offsets" ? Field::offsets
                                        : Field::unknown;
      const unsigned bit = field_ == Field::unknown ? 0 : 1u << static_cast<unsigned>(field_);
      if ((seen_ & bit) != 0) return refuse(fmt::format("has {} twice", name));
      seen_ |= bit;
    }
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    error = "the safetensors header is not a JSON object";
    return false;
  }

 private:
  enum class Where : uint8_t { metadata, tensor };
  enum class Field : uint8_t { none, type, shape, offsets, unknown };
  static constexpr int deepest = 127;  // of the format's own reader
  static constexpr unsigned all_fields = 1u << 1 | 1u << 2 | 1u << 3;

  bool deeper() { return ++depth_ <= deepest || refuse_file("has a header that is nested too deeply"); }
  /// Inside a field that the format does not have: its own reader passes over those.
  bool passes_over() const { return depth_ >= 2 && where_ == Where::tensor && field_ == Field::unknown; }

  bool refuse(std::string_view what) {
    error = sentence(entries.back().name, what);
    return false;
  }
  bool refuse_file(std::string_view what) {
    error = fmt::format("the safetensors file {}", what);
    return false;
  }

  bool number(std::optional<uint64_t> value) {
    if (depth_ == 3 && where_ == Where::tensor && field_ == Field::shape) {
      if (!value) return refuse("has a shape that is not a list of whole numbers");
      if (*value > INT64_MAX) return refuse("has a shape that no file could hold");
    } else if (depth_ == 3 && where_ == Where::tensor && field_ == Field::offsets) {
      if (!value) return refuse("needs two data_offsets that are not negative");
    } else {
      return other();
    }
    list_.push_back(*value);
    return true;
  }

  /// A value where none of its kind belongs.
  bool other() {
    if (where_ == Where::metadata) return refuse_file("has __metadata__ that is not a list of texts");
    if (depth_ == 3 && field_ == Field::shape) return refuse("has a shape that is not a list of whole numbers");
    if (depth_ == 3 && field_ == Field::offsets) return refuse("needs two data_offsets that are not negative");
    return passes_over() ? true : refuse("needs dtype, shape and data_offsets");
  }

  bool complete() { return seen_ == all_fields || refuse("needs dtype, shape and data_offsets"); }

  int depth_ = 0;
  Where where_ = Where::tensor;
  Field field_ = Field::none;
  unsigned seen_ = 0;
  std::vector<uint64_t> list_;
  std::unordered_set<std::string> names_;
};

/// "" or why the shape and the type do not give so many bytes.
std::string fault_of(const SafeTensorEntry& entry) {
  const std::optional<uint64_t> bits = bits_of(entry.type);
  if (!bits)
    return fmt::format("has the type '{}', which the format does not know",
                       shown(std::string_view(entry.type).substr(0, 40)));
  uint64_t total = *bits;
  for (const int64_t extent : entry.shape)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(extent), &total))
      return "has a shape that no file could hold";
  if (total % 8 != 0) return "has a shape that does not end at a whole byte";
  if (total / 8 != entry.end - entry.begin) return "has a shape that does not match its bytes";
  return {};
}

}  // namespace

Result<uint64_t> safetensors_header_bytes(uint64_t claimed, uint64_t file_bytes) {
  if (claimed > longest_header)
    return Error{
        fmt::format("the safetensors header is said to be {} bytes long; {} are allowed", claimed, longest_header)};
  if (claimed > file_bytes - safetensors_length_bytes)
    return Error{
        fmt::format("the safetensors header is said to be {} bytes long, but the file has {} behind its first 8",
                    claimed, file_bytes - safetensors_length_bytes)};
  return claimed;
}

Result<std::vector<SafeTensorEntry>> parse_safetensors_header(std::string_view header, uint64_t data_bytes) {
  if (header.find('\0') != std::string_view::npos)  // where the parser would end
    return Error{"the safetensors header is not a JSON object: it has a byte of 0"};
  if (!header.starts_with('{')) return Error{"the safetensors header is not a JSON object: it must begin with '{'"};
  Reader reader;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader))
    return Error{reader.error.empty() ? "the safetensors header is not a JSON object" : reader.error};
  std::vector<SafeTensorEntry> entries = std::move(reader.entries);
  for (const SafeTensorEntry& entry : entries)
    if (entry.begin > entry.end || entry.end > data_bytes) return Error{sentence(entry.name, "lies outside the file")};
  std::sort(entries.begin(), entries.end(), [](const SafeTensorEntry& a, const SafeTensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  // Every byte of the data belongs to one tensor: nothing can hide in the file.
  uint64_t at = 0;
  for (const SafeTensorEntry& entry : entries) {
    if (entry.begin < at) return Error{sentence(entry.name, "overlaps another: its bytes begin before those end")};
    if (entry.begin > at)
      return Error{sentence(entry.name, fmt::format("leaves {} bytes before it to nobody", entry.begin - at))};
    if (std::string fault = fault_of(entry); !fault.empty()) return Error{sentence(entry.name, fault)};
    at = entry.end;
  }
  if (at != data_bytes)
    return Error{fmt::format("the last {} bytes of the safetensors file belong to no tensor", data_bytes - at)};
  return entries;
}

}  // namespace warploom::cli
