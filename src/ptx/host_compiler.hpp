// The C++ compiler of this machine, which makes translated PTX into code.
//
//   Result<HostCompiler> compiler = host_compiler();        // WARPLOOM_CXX, or c++, g++, clang++ on PATH
//   Result<bool> done = compiler->compile("k.cpp", "k.so", "k.log");
//
// No shell stands between: paths and flags are handed over as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/result.hpp"

namespace warploom::ptx {

struct HostCompiler {
  std::string path;                ///< of the program, absolute
  std::string version;             ///< the first line of what it says of itself
  std::string headers;             ///< the folder that holds warploom/ptx/abi.hpp
  std::vector<std::string> flags;  ///< without files and folders

  /// A shared object from one C++ file, and whether there is one now. What the compiler says goes to `log`.
  Result<bool> compile(const std::string& source, const std::string& object, const std::string& log,
                       const std::vector<std::string>& more_flags = {}) const;
};

/// Found once for each environment; looked for again where it was not found.
Result<HostCompiler> host_compiler();

/// The folder with the library's headers: WARPLOOM_INCLUDE; or `include` beside or above what this code is in, be it
/// installed or in a build folder; or that of the tree it was built from.
Result<std::string> header_folder();

/// The CPU as far as its instructions go: what is compiled for one of them may not run on another.
std::string cpu_identity();

/// Runs a program with these words, no standard input, and everything it says in a file. Its exit code, or a sentence.
Result<int> run_program(const std::vector<std::string>& words, const std::string& log);

}  // namespace warploom::ptx
