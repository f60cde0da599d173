// The header of a safetensors file: read in one pass, checked as the format's own reader does, and no tensor made of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/result.hpp"

namespace warploom::cli {

constexpr uint64_t safetensors_length_bytes = 8;

/// A tensor as its header has it. `begin` and `end` count from the end of the header.
struct SafeTensorEntry {
  std::string name = {};
  std::string type = {};  ///< one of the format's
  std::vector<int64_t> shape = {};
  uint64_t begin = 0, end = 0;
};

/// How long the header of a file of so many bytes is, from its first eight.
Result<uint64_t> safetensors_header_bytes(uint64_t claimed, uint64_t file_bytes);

/// The entries in the order of their data, of which there are so many bytes.
Result<std::vector<SafeTensorEntry>> parse_safetensors_header(std::string_view header, uint64_t data_bytes);

}  // namespace warploom::cli
