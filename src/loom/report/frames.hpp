// Frames of the debug information: what stands at an address, and which of its functions are inlined there. symbols.cpp
// asks at run time, src/lines for the table that the installed archive carries (line_table.hpp).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

inline constexpr std::string_view kIncludeTree = "include/warploom/";

/// Position of `part` where it starts a path component; the last one, because the tree itself may lie below any name.
size_t find_component(std::string_view path, std::string_view part);

struct Frame {
  std::string path;  // "" when unknown
  uint32_t line = 0;
  std::string function;
  bool library = false;
  bool standard = false;

  bool within(std::string_view part) const;
  /// The library's own instantiations: a kernel's entry point, in which no user's line stands.
  bool entry() const { return find_component(path, "src/kernels/") != std::string_view::npos; }
  bool kernel() const { return !path.empty() && !library && !standard && !entry(); }
  SourceLine short_form() const;
};

Frame make_frame(const char* file, int line, Dwarf_Die* function);

struct CallSite {
  const char* file = nullptr;
  int line = 0;
};
/// From where a function was inlined.
CallSite call_site(Dwarf_Die* unit, Dwarf_Die* inlined);

/// What a report says of frames, innermost first; there is at least one.
Location location_of(std::span<const Frame> frames);

/// Whether a line of a kernel is among them.
bool holds_kernel(std::span<const Frame> frames);

}  // namespace warploom::loom
