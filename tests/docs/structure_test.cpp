// docs/structure.md shows code that stands in the tree, and names reports that exist; the structure headers open with
// what they are and an example, and stay small.
#include <gtest/gtest.h>

#include <algorithm>

#include "docs/text.hpp"
#include "support/pattern.hpp"

namespace warploom::test {
namespace {

constexpr const char* folders[] = {"pipeline", "warp", "schedule", "epilogue"};

std::vector<std::filesystem::path> headers_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "include/warploom" / folder))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::filesystem::path> headers() {
  std::vector<std::filesystem::path> found;
  for (const char* folder : folders)
    for (const auto& header : headers_in(folder)) found.push_back(header);
  return found;
}

/// Without indentation, and without the slashes of an example in a header's opening comment.
std::string plain(const std::string& line) {
  const std::string text = trimmed(line);
  return text.starts_with("//") && !text.starts_with("///") ? trimmed(text.substr(2)) : text;
}

std::vector<std::string> plain_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const std::string& line : lines) all.push_back(plain(line));
  return all;
}

TEST(Structure, ShowsCodeThatStandsInTheTree) {
  const std::vector<std::string> lines = lines_of(source_folder() / "docs/structure.md");
  int pieces = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] != "```cpp") continue;
    SCOPED_TRACE("docs/structure.md:" + std::to_string(i + 1));
    ASSERT_GT(i, 0u);
    const std::optional<Groups> comment = match_whole(lines[i - 1], "<!-- (\\S+) -->");
    ASSERT_TRUE(comment) << "a piece of code names its file: <!-- path -->";
    const std::string& source = (*comment)[1];
    const auto end = std::find(lines.begin() + static_cast<long>(i), lines.end(), "```");
    const std::vector<std::string> piece = plain_lines({lines.begin() + static_cast<long>(i) + 1, end});
    const std::vector<std::string> file = plain_lines(lines_of(source_folder() / source));
    ASSERT_FALSE(file.empty()) << "there is no " << source;
    EXPECT_NE(std::search(file.begin(), file.end(), piece.begin(), piece.end()), file.end())
        << "not in " << source << ", line by line:\n"
        << testing::PrintToString(piece);
    ++pieces;
  }
  EXPECT_GE(pieces, 10);
}

TEST(Structure, NamesReportsThatExist) {
  const std::string reports = text_of(source_folder() / "docs/reports.md");
  for (const char* document : {"docs/structure.md", "docs/seed_table.md"}) {
    const std::vector<Groups> codes =
        find_all(text_of(source_folder() / document), "`([A-Z]+(?:-[A-Z]+)+|DEADLOCK|PHASE|FRAGMENT)`");
    for (const Groups& code : codes)
      EXPECT_NE(reports.find("| `" + code[1] + "` |"), std::string::npos)
          << document << " names " << code[1] << ", which docs/reports.md does not explain";
    EXPECT_GT(codes.size(), 3u) << document;
  }
}

TEST(Structure, SpeaksOfEveryHeader) {
  const std::string text = text_of(source_folder() / "docs/structure.md");
  for (const auto& header : headers()) {
    const std::string folder = header.parent_path().filename();
    const std::string name = folder + "/" + header.filename().string();
    if (name == "types/text.hpp") continue;  // the words in reports
    EXPECT_TRUE(text.find("`" + name + "`") != std::string::npos || text.find("`" + folder + "/`") != std::string::npos)
        << "docs/structure.md does not mention " << name;
  }
  for (const std::string folder : {"kernels/gemm", "kernels/hopper", "kernels/blackwell"})
    for (const auto& header : headers_in(folder)) {
      const std::string name = folder + "/" + header.filename().string();
      EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << "docs/structure.md does not mention " << name;
    }
}

TEST(StructureHeaders, OpenWithWhatTheyAreAndAnExample) {
  for (const auto& header : headers()) {
    int opening = 0, example = 0;
    for (const std::string& line : lines_of(header)) {
      if (!line.starts_with("//")) break;
      ++opening;
      example += line.starts_with("//   ");
    }
    EXPECT_GE(opening, 3) << header.filename();
    EXPECT_GE(example, 1) << header.filename() << ": no example in the opening comment";
  }
}

TEST(StructureHeaders, StaySmall) {
  size_t all = 0, code = 0;
  for (const auto& header : headers()) {
    const std::vector<std::string> lines = lines_of(header);
    all += lines.size();
    for (const std::string& line : lines) code += !trimmed(line).empty() && !trimmed(line).starts_with("//");
  }
  std::cout << headers().size() << " structure headers: " << all << " lines, " << code << " of them code\n";
  EXPECT_LE(all, 3500u);
}

}  // namespace
}  // namespace warploom::test
