// Regular expressions for tests that read documents. std::regex takes a second or two to compile wherever it is used,
// so it is used in pattern.cpp alone.
//
//   for (const Groups& code : find_all(text, "`([^`]*)`")) names.push_back(code[1]);
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace warploom::test {

/// What was found, then what each pair of brackets found: "" where it found nothing.
using Groups = std::vector<std::string>;

/// Every place in the text, one after the other.
std::vector<Groups> find_all(const std::string& text, const std::string& pattern);
/// The text from its beginning to its end.
std::optional<Groups> match_whole(const std::string& text, const std::string& pattern);
/// Anywhere in the text.
bool is_in(const std::string& text, const std::string& pattern, bool ignore_case = false);
/// With every place in the text replaced.
std::string with_replaced(const std::string& text, const std::string& pattern, const std::string& by);

}  // namespace warploom::test
