#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace warploom::cli {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  ///< 0: what stands there is not UTF-8
};

/// The first character of a text that is not empty. Neither overlong forms nor surrogates are characters.
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool shortest = code >= (bytes == 2 ? 0x80u : bytes == 3 ? 0x800u : 0x10000u);
  if (!shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

/// A terminal obeys it, or shows what follows in another order or place.
bool obeyed(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xe0000 && code <= 0xe0fff);
}

constexpr std::pair<uint32_t, const char*> plain_glyphs[] = {
    {0xa0, " "},    {0xa7, "sec. "}, {0xb0, " degrees"}, {0xb1, "+-"},   {0xb2, "^2"},  {0xb5, "u"},   {0xb7, "."},
    {0xd7, "x"},    {0x1d40, "^T"},  {0x2013, "-"},      {0x2014, "-"},  {0x2018, "'"}, {0x2019, "'"}, {0x201c, "\""},
    {0x201d, "\""}, {0x2026, "."},   {0x2190, "<-"},     {0x2192, "->"}, {0x2212, "-"}, {0x2248, "~"}, {0x2260, "!="},
    {0x2264, "<="}, {0x2265, ">="},  {0x2500, "-"},      {0x252c, "+"},  {0x2581, "_"}, {0x2582, ","}, {0x2583, "-"},
    {0x2584, "~"},  {0x2585, "="},   {0x2586, "+"},      {0x2587, "*"},  {0x2588, "#"},
};

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Where the text of a line of a list begins: behind "- ", "* " or "1. ". 0: it is no such line.
size_t item_of(std::string_view line) {
  const size_t at = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view rest = line.substr(at);
  if (rest.starts_with("- ") || rest.starts_with("* ")) return at + 2;
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits > 0 && rest.substr(digits).starts_with(". ") ? at + digits + 2 : 0;
}

/// Words of one paragraph, filled.
std::string filled(std::string_view paragraph, size_t width) {
  const size_t item = item_of(paragraph);
  const size_t indent = item != 0 ? item : std::min(paragraph.find_first_not_of(' '), paragraph.size());
  std::string text(paragraph.substr(0, indent));
  size_t column = columns_of(text);
  bool begins = true;
  for (std::string_view rest = paragraph.substr(indent); !rest.empty();) {
    const size_t from = std::min(rest.find_first_not_of(" \n"), rest.size());
    rest.remove_prefix(from);
    const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \n"), rest.size()));
    if (word.empty()) break;
    rest.remove_prefix(word.size());
    if (!begins && column + 1 + columns_of(word) > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
      begins = true;
    }
    text += begins ? "" : " ";
    text += word;
    column += columns_of(word) + (begins ? 0 : 1);
    begins = false;
  }
  return text + "\n";
}

}  // namespace

std::string shown(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character next = first_of(text);
    if (next.bytes == 0)
      result += fmt::format("\\x{:02x}", static_cast<uint8_t>(text.front()));
    else if (!obeyed(next.code))
      result += text.substr(0, next.bytes);
    else
      result += next.code == '\n'  ? "\\n"
                : next.code < 0xa0 ? fmt::format("\\x{:02x}", next.code)
                                   : fmt::format("\\u{{{:x}}}", next.code);
    text.remove_prefix(std::max<size_t>(next.bytes, 1));
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_of(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string in_ascii(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character next = first_of(text);
    if (next.bytes == 1) {
      result += text.front();
    } else {
      const auto* plain = std::find_if(std::begin(plain_glyphs), std::end(plain_glyphs),
                                       [&](const auto& glyph) { return next.bytes != 0 && glyph.first == next.code; });
      result += plain == std::end(plain_glyphs) ? "?" : plain->second;
    }
    text.remove_prefix(std::max<size_t>(next.bytes, 1));
  }
  return result;
}

std::string wrapped(std::string_view page, size_t width) {
  std::string result, paragraph;
  bool code = false;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) result += filled(paragraph, width);
    paragraph.clear();
  };
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    const bool fence = line.starts_with("```");
    if (code || fence || line.empty() || line.front() == '#' || line.front() == '|') {
      end_paragraph();
      result += line;
      result += '\n';
      code = code != fence;
      continue;
    }
    if (item_of(line) != 0) end_paragraph();
    paragraph += (paragraph.empty() ? "" : "\n");
    paragraph += line;
  }
  end_paragraph();
  return result;
}

size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::vector<std::string> nearest(const std::string& typed, const std::vector<std::string>& known, size_t most) {
  // Whoever types a page does not mean a word: its first letters are enough, and the distance stays quick.
  const std::string begun = typed.substr(0, 256);
  std::vector<std::string> beginning;
  for (const std::string& word : known)
    if (!begun.empty() && word.starts_with(begun)) beginning.push_back(word);
  if (!beginning.empty()) return beginning;
  std::vector<std::pair<size_t, std::string>> all;
  for (const std::string& word : known)
    all.emplace_back(std::min(edit_distance(begun, word), edit_distance(begun, word.substr(0, begun.size()))), word);
  std::sort(all.begin(), all.end());
  std::vector<std::string> list;
  for (size_t i = 0; i < std::min(all.size(), most); ++i) list.push_back(std::move(all[i].second));
  return list;
}

}  // namespace warploom::cli
