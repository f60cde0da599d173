// Runs one of our programs, as its users do.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace warploom::test {

struct Output {
  int code = 0;
  std::string text;  ///< standard output and error together
};

inline Output run_program(const std::string& command) {
  Output output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot run " + command};
  std::array<char, 4096> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.text.append(buffer.data(), n);
  output.code = WEXITSTATUS(pclose(pipe));
  return output;
}

}  // namespace warploom::test
