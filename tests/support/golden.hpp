// Reference data for tests: files in tests/data (see its README), made by NVIDIA's headers or observed on an H200.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace warploom::test {

std::vector<uint8_t> read_bytes(const std::string& name);
std::vector<json> read_json_lines(const std::string& name);
/// Rows of a CSV without its header line.
std::vector<std::vector<std::string>> read_csv(const std::string& name);

uint64_t number(const std::string& text);
uint64_t number(const json& value);

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
