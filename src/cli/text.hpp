// Text that the program shows: names that others chose, glyphs that a terminal may lack, paragraphs as wide as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warploom::cli {

/// A name or a path as it may be shown: bytes that are not UTF-8 become \xff, characters that a terminal obeys
/// (controls, escapes, changes of direction) \x1b or \u{202e}. All else stays as it is.
std::string shown(std::string_view text);

bool is_utf8(std::string_view text);

/// The same in ASCII: each glyph that we print has a plain one, others become '?'.
std::string in_ascii(std::string_view text);

/// Markdown whose paragraphs and lists fit into so many columns. Code, tables and titles stay as they are.
std::string wrapped(std::string_view page, size_t width);

/// How many letters must be changed, put in or left out.
size_t edit_distance(std::string_view from, std::string_view to);

/// Of `known`, those that begin with what was typed, or else the `most` that are, or begin, most like it.
std::vector<std::string> nearest(const std::string& typed, const std::vector<std::string>& known, size_t most = 3);

}  // namespace warploom::cli
