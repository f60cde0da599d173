// From a line of PTX to the lines of the source that it comes from, by the .loc directives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "warploom/loom/report.hpp"

namespace warploom::ptx {

/// Reports ask for the lines of this text from now on (loom/origins.hpp). The text is read when the first one does.
void register_source_lines(const std::string& path, std::shared_ptr<const std::string> text);

/// The lines behind one line of the text: innermost inlined function first.
class SourceLines {
 public:
  explicit SourceLines(const std::string& text, const std::string& name);
  std::vector<loom::SourceLine> at(uint32_t line) const;

 private:
  struct Entry {
    uint32_t line;
    uint32_t chain;  ///< in chains_
  };
  std::vector<Entry> entries_;  ///< by line
  std::vector<std::vector<loom::SourceLine>> chains_;
};

}  // namespace warploom::ptx
