// The pages of docs/checks, compiled in (cmake/WarploomPages.cmake).
#pragma once

#include <span>
#include <string_view>

namespace warploom::cli {

struct Page {
  std::string_view code;
  std::string_view text;  ///< Markdown: a title, a sentence, ...
};

/// Sorted by code.
std::span<const Page> check_pages();

}  // namespace warploom::cli
