// What stands at every address of a linked file: its functions, each with the lines that a report would give.
#pragma once

#include <string>
#include <vector>

#include "loom/report/line_table.hpp"

namespace warploom::lines {

/// Of an ELF file with debug information. Functions in which no line of a kernel stands have one run, which says so.
/// Empty, and a sentence in `trouble`, where the file cannot be read.
std::vector<loom::LineTable::Function> functions_of(const std::string& file, std::string& trouble);

}  // namespace warploom::lines
