// warploom explain: what a code of a report means.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/commands.hpp"
#include "cli/pages.hpp"
#include "cli/tell.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

namespace warploom::cli {

namespace {

/// The first sentence of a page: the paragraph behind its title, on one line.
std::string summary_of(const Page& page) {
  const size_t begin = page.text.find("\n\n") + 2;
  std::string text(page.text.substr(begin, page.text.find("\n\n", begin) - begin));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// As wide as the terminal; as it was written where nobody says how wide that is.
std::string wrapped_for_terminal(std::string_view page) {
  constexpr uint32_t narrowest = 20;
  const uint32_t columns = terminal().columns;
  return columns == 0 ? std::string(page) : wrapped(page, std::max(columns, narrowest));
}

int list(bool json) {
  Json all = Json::array();
  for (const Page& page : check_pages()) {
    if (json)
      all.push_back({{"code", page.code}, {"summary", summary_of(page)}});
    else
      say("{:<20}  {}\n", page.code, summary_of(page));
  }
  if (json) put_json({{"codes", all}});
  return 0;
}

}  // namespace

std::vector<std::string> nearest_codes(const std::string& typed) {
  std::vector<std::string> codes;
  for (const Page& page : check_pages()) codes.emplace_back(page.code);
  return nearest(typed, codes);
}

int explain(const std::string& code, bool json) {
  if (code.empty()) return list(json);
  const std::string wanted = upper(code);
  for (const Page& page : check_pages()) {
    if (page.code != wanted) continue;
    if (json)
      put_json({{"code", page.code}, {"summary", summary_of(page)}, {"page", page.text}});
    else
      put(wrapped_for_terminal(page.text));
    return 0;
  }
  return bad(fmt::format("There is no code {}; the nearest are {}.", code, fmt::join(nearest_codes(wanted), ", ")),
             json);
}

}  // namespace warploom::cli
