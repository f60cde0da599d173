// From a return address to source lines.
//
// Loom entry points record `__builtin_return_address(0)`; since everything above them is force-inlined, the inline
// frames of that one address hold the whole path from `arch` down to the kernel's own line:
//
//   Location at = locate(__builtin_return_address(0));
//   at.user      kernels/gemm.hpp:141     the innermost line outside the library
//   at.library   pipeline/ring.hpp:88     the operation that line called; `arch` only where nothing stands above it
//
// What is not known stays empty: a wrong line costs its reader more than none.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

/// Thread-safe and cached. The first call reads debug information and needs an ordinary stack: call it when the report
/// is made, not on a fiber.
Location locate(const void* return_address);

/// Through which inlined functions a line of PTX comes from where `locate` says, in words; "" where that says it all.
std::string inlined_at(const void* return_address);

/// Of the return addresses of a stack, innermost first: the first that stands in a line of the kernel, and not in the C
/// library or the loom. The first of all where there is none.
const void* innermost_kernel_frame(std::span<const void* const> stack);

/// Shared objects that no kernel is in: the C and C++ libraries, the loader, sanitizers.
bool is_runtime_library(std::string_view path);

/// Files whose frames belong to the library. Kernels, ours included, count as the user's.
bool is_library_file(std::string_view path);

/// `kernels/gemm.hpp` for files of the include tree, the path below the source root, or the last two components.
std::string short_path(std::string_view path);

/// Unqualified name without template arguments or parameters, of a DWARF name or a demangled symbol.
std::string short_function(std::string_view name);

}  // namespace warploom::loom
