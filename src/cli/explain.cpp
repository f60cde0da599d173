// warploom explain: what a code of a report means.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/pages.hpp"

namespace warploom::cli {

using Json = nlohmann::ordered_json;

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

/// Letters to insert, take away or change.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

int list(bool json) {
  Json all = Json::array();
  for (const Page& page : check_pages()) {
    if (json)
      all.push_back({{"code", page.code}, {"summary", summary_of(page)}});
    else
      fmt::print("{:<20}  {}\n", page.code, summary_of(page));
  }
  if (json) fmt::print("{}\n", all.dump(2));
  return 0;
}

}  // namespace

std::vector<std::string> nearest_codes(const std::string& typed) {
  std::vector<std::string> codes, beginning;
  for (const Page& page : check_pages()) {
    codes.emplace_back(page.code);
    if (!typed.empty() && page.code.starts_with(typed)) beginning.emplace_back(page.code);
  }
  if (!beginning.empty()) return beginning;
  const auto unlike = [&](const std::string& code) {
    return std::min(distance(typed, code), distance(typed, code.substr(0, typed.size())));
  };
  std::sort(codes.begin(), codes.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(unlike(a), a) < std::pair(unlike(b), b);
  });
  codes.resize(std::min<size_t>(codes.size(), 3));
  return codes;
}

int explain(const std::string& code, bool json) {
  if (code.empty()) return list(json);
  const std::string wanted = upper(code);
  for (const Page& page : check_pages()) {
    if (page.code != wanted) continue;
    if (json)
      fmt::print("{}\n", Json{{"code", page.code}, {"summary", summary_of(page)}, {"page", page.text}}.dump(2));
    else
      fmt::print("{}", page.text);
    return 0;
  }
  const std::string sentence =
      fmt::format("There is no code {}; the nearest are {}.", code, fmt::join(nearest_codes(wanted), ", "));
  if (json)
    fmt::print("{}\n", Json{{"error", sentence}}.dump(2));
  else
    fmt::print(stderr, "warploom: {}\n", sentence);
  return 2;
}

}  // namespace warploom::cli
