// Files that were made from other files, such as the PTX that nvcc makes: their lines have lines of the source behind
// them, which a report names first.
//
//   set_origins("/tmp/gemm.ptx", [module](uint32_t line) { return chain_of(*module, line); });
//   locate(pc).user      gemm.cu:40        where that line of the PTX comes from
//   locate(pc).library   gemm.ptx:1234     the line itself
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

/// The lines that one line of the file comes from: an inlined function's first, then the one that it was called from.
/// Paths are whole. Empty where nothing is known.
using Origins = std::function<std::vector<SourceLine>(uint32_t line)>;

/// From here on, for every report of this process. Called by whoever locates, one thread at a time.
void set_origins(const std::string& path, Origins origins);

/// Whether the file has any.
bool has_origins(std::string_view path);

/// Whether any file has: where none does, nobody need look.
bool any_origins();

/// Of a line of a file; empty where there are none.
std::vector<SourceLine> origins_of(std::string_view path, uint32_t line);

/// What a report says of a line of such a file: the innermost origin that is no header of wrappers (`cute/arch`, those
/// of the CUDA toolkit, the library's own); the line itself as `library`.
Location location_of_origin(std::string_view path, uint32_t line, const std::vector<SourceLine>& chain);

/// "inlined: copy_sm90.hpp:40, from kernel.cu:12 in gemm", or "" where there is only one line.
std::string inline_chain(const std::vector<SourceLine>& chain);

/// Headers of other libraries that hold one instruction each, and nobody's kernel.
bool is_wrapper_header(std::string_view path);

}  // namespace warploom::loom
