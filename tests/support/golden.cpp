#include "support/golden.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace warploom::test {

json parse_json(const std::string& text) { return json::parse(text); }

std::vector<uint8_t> read_bytes(const std::string& name) {
  std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " WARPLOOM_TEST_DATA "/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<json> read_json_lines(const std::string& name) {
  const std::vector<uint8_t> bytes = read_bytes(name);
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::vector<json> rows;
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) rows.push_back(parse_json(line));
  return rows;
}

std::vector<std::vector<std::string>> read_csv(const std::string& name) {
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

uint64_t number(const std::string& text) { return std::stoull(text, nullptr, 0); }
uint64_t number(const json& value) {
  return value.is_string() ? number(value.get<std::string>()) : value.get<uint64_t>();
}

}  // namespace warploom::test
