// Reference data for tests: files in tests/data (see its README), made by NVIDIA's headers or observed on an H200.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace warploom::test {

using nlohmann::json;

inline std::vector<uint8_t> read_bytes(const std::string& name) {
  std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " WARPLOOM_TEST_DATA "/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<json> read_json_lines(const std::string& name) {
  const std::vector<uint8_t> bytes = read_bytes(name);
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::vector<json> rows;
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) rows.push_back(json::parse(line));
  return rows;
}

/// Rows of a CSV without its header line.
inline std::vector<std::vector<std::string>> read_csv(const std::string& name) {
  const std::vector<uint8_t> bytes = read_bytes(name);
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    rows.push_back(std::move(cells));
  }
  return rows;
}

inline uint64_t number(const std::string& text) { return std::stoull(text, nullptr, 0); }
inline uint64_t number(const json& value) {
  return value.is_string() ? number(value.get<std::string>()) : value.get<uint64_t>();
}

/// FNV-1a over 64 bits, as in the data files.
class Fnv {
 public:
  void byte(uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3; }
  void word(uint32_t value) {
    for (int i = 0; i < 4; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  template <class Bytes>
  void bytes(const Bytes& values) {
    for (const auto value : values) byte(static_cast<uint8_t>(value));
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace warploom::test
