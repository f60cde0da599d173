#include "frames.hpp"

#include <dwarf.h>

#include <algorithm>

#include "symbols.hpp"

namespace warploom::loom {
namespace {

/// The standard library's inline frames (std::apply, std::invoke) are neither ours nor the line a user looks for.
bool is_standard_header(std::string_view path) {
  return path.find("/include/c++/") != std::string_view::npos || path.find("/c++/v1/") != std::string_view::npos;
}

}  // namespace

size_t find_component(std::string_view path, std::string_view part) {
  for (size_t at = path.rfind(part); at != std::string_view::npos; at = path.rfind(part, at - 1)) {
    if (at == 0 || path[at - 1] == '/') return at;
  }
  return std::string_view::npos;
}

bool Frame::within(std::string_view part) const {
  return find_component(path, std::string(kIncludeTree) + std::string(part)) != std::string_view::npos;
}

SourceLine Frame::short_form() const {
  SourceLine result;
  if (!path.empty() && line != 0) {
    result.file = short_path(path);
    result.line = line;
  }
  result.function = function;
  return result;
}

Frame make_frame(const char* file, int line, Dwarf_Die* function) {
  Frame frame;
  if (file != nullptr && line > 0) {
    frame.path = file;
    frame.line = static_cast<uint32_t>(line);
  }
  const char* name = function != nullptr ? dwarf_diename(function) : nullptr;
  if (name != nullptr) frame.function = short_function(name);
  // Without a line, the place where the function was declared still says whose frame it is.
  const char* owner = frame.path.empty() && function != nullptr ? dwarf_decl_file(function) : file;
  if (owner != nullptr) {
    frame.library = is_library_file(owner);
    frame.standard = is_standard_header(owner);
  }
  return frame;
}

CallSite call_site(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word index = 0;
  Dwarf_Word number = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) != 0 ||
      dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) != 0 ||
      dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) {
    return {};
  }
  return {dwarf_filesrc(files, index, nullptr, nullptr), static_cast<int>(number)};
}

Location location_of(std::span<const Frame> frames) {
  auto first = [&](auto&& wanted) -> const Frame* {
    const auto found = std::find_if(frames.begin(), frames.end(), wanted);
    return found == frames.end() ? nullptr : &*found;
  };
  // Every operation ends in `arch`; the layer above it says which of the library's operations this is.
  const Frame* library = first([](const Frame& frame) { return frame.library && !frame.within("arch/"); });
  if (library == nullptr) library = &frames.front();
  const Frame* user = first([](const Frame& frame) { return !frame.library && !frame.standard && !frame.entry(); });
  // What the skeleton does on a kernel's behalf stands in no user's line.
  if (user == nullptr) user = first([](const Frame& frame) { return frame.within("warp/skeleton.hpp"); });
  if (user == nullptr) user = &frames.back();
  return {.user = user->short_form(), .library = library->short_form()};
}

bool holds_kernel(std::span<const Frame> frames) {
  return std::any_of(frames.begin(), frames.end(), [](const Frame& frame) { return frame.kernel(); });
}

}  // namespace warploom::loom
