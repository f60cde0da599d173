// .file and .loc: which line of which source an instruction comes from.
#include <algorithm>

#include "ptx/parsing.hpp"

namespace warploom::ptx {
namespace {

constexpr uint64_t most_files = 0xffff;
constexpr uint64_t most_columns = 0xffff;
constexpr size_t longest_name = 16384;
/// Of functions that are inlined into one another. A longer chain ends there.
constexpr uint8_t most_inlined = 64;

uint64_t key_of(const Location& location) {
  return uint64_t{location.file} << 48U | uint64_t{location.line} << 16U | location.column;
}

}  // namespace

bool Parser::file() {
  take();
  const auto number = take_integer(most_files, "the number of a file");
  if (!number) return false;
  if (peek().kind != Token::Kind::string) return fail(peek().line, ".file needs a name, not {}", shown(peek()));
  std::string_view name = take().text;
  if (peek().kind == Token::Kind::string) {
    const std::string_view in_folder = take().text;
    module_.strings.push_back(in_folder.starts_with('/') ? std::string(in_folder)
                                                         : fmt::format("{}/{}", name, in_folder));
    name = module_.strings.back();
  }
  while (accept(','))  // time and size
    if (!take_number()) return false;
  module_.files.push_back({static_cast<uint32_t>(*number), name});
  return true;
}

bool Parser::location() {
  const auto triple = [&](Location& out) {
    const auto number = take_integer(most_files, "the number of a file");
    const auto line = number ? take_integer(~uint32_t{0} - 1, "a line") : std::nullopt;
    const auto column = line ? take_integer(most_columns, "a column") : std::nullopt;
    if (!column) return false;
    out.file = static_cast<uint32_t>(*number);
    out.line = static_cast<uint32_t>(*line);
    out.column = static_cast<uint32_t>(*column);
    return true;
  };
  const uint32_t line = take().line;
  Location here;
  if (!triple(here)) return false;
  std::optional<NamedLocation> named;
  while (accept(',')) {
    if (accept("function_name")) {
      const auto label = take_name("the label of a name in .debug_str");
      if (!label) return false;
      named = NamedLocation{0, *label, 0, line};
      if (accept('+')) {
        const auto offset = take_integer(~uint32_t{0}, "an offset into .debug_str");
        if (!offset) return false;
        named->offset = *offset;
      }
    } else if (accept("inlined_at")) {
      Location call;
      if (!triple(call)) return false;
      const auto known = latest_location_.find(key_of(call));
      if (known != latest_location_.end())
        here.inlined_at = known->second;
      else
        here.inlined_at = add_location(call);
    } else {
      return fail(peek().line, ".loc is followed by function_name or inlined_at, not by {}", shown(peek()));
    }
  }
  // Recursive functions can be inlined into themselves: a bound keeps whoever follows the chain short.
  if (here.inlined_at != no_index && location_depth_[here.inlined_at] >= most_inlined) here.inlined_at = no_index;
  location_ = add_location(here);
  if (named) {
    named->location = location_;
    named_locations_.push_back(*named);
  }
  return true;
}

uint32_t Parser::add_location(const Location& location) {
  const auto index = static_cast<uint32_t>(module_.locations.size());
  module_.locations.push_back(location);
  const uint8_t outer = location.inlined_at == no_index ? uint8_t{0} : location_depth_[location.inlined_at];
  location_depth_.push_back(location.inlined_at == no_index ? uint8_t{0} : static_cast<uint8_t>(outer + 1));
  latest_location_[key_of(location)] = index;
  return index;
}

// The names stand behind everything else, in the section .debug_str.
bool Parser::finish_locations() {
  std::unordered_map<size_t, std::string_view> names;
  for (const NamedLocation& named : named_locations_) {
    const auto label = debug_labels_.find(named.label);
    if (label == debug_labels_.end()) continue;  // line information without debug strings: the lines alone
    const size_t begin = label->second + named.offset;
    if (begin >= debug_text_.size())
      return fail(named.line, "the name of this function lies behind the end of .debug_str");
    std::string_view& name = names[begin];
    if (name.empty()) {
      const auto from = debug_text_.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto most =
          debug_text_.begin() + static_cast<std::ptrdiff_t>(std::min(debug_text_.size(), begin + longest_name));
      module_.strings.emplace_back(from, std::find(from, most, '\0'));
      name = module_.strings.back();
    }
    module_.locations[named.location].function = name;
  }
  return true;
}

}  // namespace warploom::ptx
