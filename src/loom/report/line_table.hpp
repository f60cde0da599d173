// Lines without debug information, for a program into which the installed libwarploom.a was linked. Of an archive's
// debug information two thirds are relocations: with it the archive has six times the size. So it has none, and a
// member that says what a report would say at every address of the library's kernels: function by function, because
// where a function begins is the program's business. src/lines makes the table from the shared library, which was
// linked from the same objects; cmake/compact_static.cmake puts it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

class LineTable {
 public:
  struct Lines {
    Location at = {};
    bool kernel = false;  ///< a line of a kernel stands there, and not only the machine's
    friend bool operator==(const Lines& a, const Lines& b);
  };
  /// So many bytes of code with the same lines.
  struct Run {
    uint32_t bytes = 0;
    Lines lines = {};
  };
  struct Function {
    std::string symbol = {};
    uint64_t bytes = 0;
    std::vector<Run> runs = {};  ///< from its beginning; behind the last nothing is known
  };
  static std::vector<std::byte> encode(std::span<const Function> functions);

  /// Made by `encode`, and aligned to 8 bytes; anything else, and nothing, is an empty table.
  explicit LineTable(std::span<const std::byte> encoded);
  /// At an offset of a function: nothing is known of one that has another size here.
  std::optional<Lines> find(std::string_view symbol, uint64_t bytes, uint64_t offset) const;

 private:
  struct Header;
  struct StoredFunction;

  std::span<const StoredFunction> functions_;
  std::vector<Lines> lines_;
  std::span<const std::byte> runs_;
};

/// Empty, but in a program that links the installed archive.
std::span<const std::byte> carried_line_table();

}  // namespace warploom::loom
