// Names that others chose, glyphs that a terminal lacks, paragraphs as wide as it is.
#include "cli/text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace warploom::cli {
namespace {

TEST(Text, WhatATerminalObeysIsShownInstead) {
  EXPECT_EQ(shown("plain, größer, 漢字 ▁█"), "plain, größer, 漢字 ▁█");
  EXPECT_EQ(shown("\x1b[31mred\a\r\n\t\x7f"), "\\x1b[31mred\\x07\\x0d\\n\\x09\\x7f");
  EXPECT_EQ(shown("a\xff\xc0\x80z"), "a\\xff\\xc0\\x80z");  // overlong
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");      // half a pair
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\x9b31m");  // an escape in one character
  EXPECT_EQ(shown("a\xe2\x80\xae"
                  "b\xe2\x80\x8b"),
            "a\\u{202e}b\\u{200b}");
  EXPECT_EQ(shown("\xe2\x80"), "\\xe2\\x80");  // cut
}

TEST(Text, WhateverTheBytesTheAnswerIsUtf8WithoutControls) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? random() % 256 : 0x80 + random() % 0x80);
    const std::string text = shown(bytes);
    ASSERT_TRUE(is_utf8(text));
    for (const char c : text) ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
    for (const char c : in_ascii(bytes)) ASSERT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(Text, GlyphsHavePlainOnes) {
  EXPECT_EQ(in_ascii("128×64 → ≤3 …, §2.1 ▁▂▃▄▅▆▇█·─┬"), "128x64 -> <=3 ., sec. 2.1 _,-~=+*#.-+");
  EXPECT_EQ(in_ascii("漢\xff"), "??");
}

TEST(Text, ParagraphsAreFilledAndCodeIsNot) {
  EXPECT_EQ(
      wrapped("# A title that is long\n\none two three\nfour\n\n- item one two\n  three\n- b\n\n```\ncode that is "
              "long\n```\n| a table row that is long |\n",
              12),
      "# A title that is long\n\none two\nthree four\n\n- item one\n  two three\n- b\n\n```\ncode that is "
      "long\n```\n| a table row that is long |\n");
}

TEST(Text, TheNearestBeginLikeItOrDifferLittle) {
  const std::vector<std::string> known{"run", "check", "mutate", "machine"};
  EXPECT_EQ(nearest("m", known), (std::vector<std::string>{"mutate", "machine"}));
  EXPECT_EQ(nearest("mutat3", known).front(), "mutate");
  EXPECT_EQ(nearest("chekc", known, 1), (std::vector<std::string>{"check"}));
}

}  // namespace
}  // namespace warploom::cli
