// Splits PTX text into tokens, one at a time. The parser's: nothing else uses it.
//
//   Lexer lexer(text);
//   for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) ...
//
// A dotted name is one token (`ld.shared::cluster.v4.f32`, `%tid.x`), a directive is one for each dot (`.reg`, `.b32`).
// Comments are skipped. Any bytes may be in the text: what begins no token is a token of kind `bad`, whose text says
// what is wrong.
#pragma once

#include <cstdint>
#include <string_view>

namespace warploom::ptx {

struct Token {
  enum class Kind : uint8_t { end, name, directive, number, string, punctuation, bad };

  Kind kind = Kind::end;
  uint32_t line = 0;
  std::string_view text;  ///< of a string without its quotes; of a bad token the complaint

  bool is(char c) const { return kind == Kind::punctuation && text.front() == c; }
  bool is(std::string_view word) const { return (kind == Kind::name || kind == Kind::directive) && text == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  /// False where a comment does not end.
  bool skip_blanks();
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void skip_word();
  void skip_number();
  Token make(Token::Kind kind, size_t begin) const { return {kind, line_, text_.substr(begin, position_ - begin)}; }
  Token quoted();

  std::string_view text_;
  size_t position_ = 0;
  uint32_t line_ = 1;
};

}  // namespace warploom::ptx
