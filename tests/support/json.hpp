// JSON for tests. The parser is compiled once, in support/golden.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warploom::test {

using nlohmann::json;

json parse_json(const std::string& text);

}  // namespace warploom::test
