#include "support/pattern.hpp"

#include <map>
#include <regex>
#include <utility>

namespace warploom::test {
namespace {

const std::regex& compiled(const std::string& pattern, bool ignore_case = false) {
  static std::map<std::pair<std::string, bool>, std::regex> known;
  const auto [at, added] = known.try_emplace({pattern, ignore_case});
  if (added)
    at->second.assign(pattern, ignore_case ? std::regex::ECMAScript | std::regex::icase : std::regex::ECMAScript);
  return at->second;
}

Groups groups_of(const std::smatch& match) {
  Groups groups;
  for (const auto& part : match) groups.push_back(part.str());
  return groups;
}

}  // namespace

std::vector<Groups> find_all(const std::string& text, const std::string& pattern) {
  std::vector<Groups> found;
  for (std::sregex_iterator at(text.begin(), text.end(), compiled(pattern)), end; at != end; ++at)
    found.push_back(groups_of(*at));
  return found;
}

std::optional<Groups> match_whole(const std::string& text, const std::string& pattern) {
  std::smatch match;
  if (!std::regex_match(text, match, compiled(pattern))) return std::nullopt;
  return groups_of(match);
}

bool is_in(const std::string& text, const std::string& pattern, bool ignore_case) {
  return std::regex_search(text, compiled(pattern, ignore_case));
}

std::string with_replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, compiled(pattern), by);
}

}  // namespace warploom::test
