#include "ptx/lexer.hpp"

#include <array>

namespace warploom::ptx {
namespace {

enum : uint8_t { word = 1, digit = 2, starts_name = 4 };

constexpr auto classes = [] {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = word | starts_name;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = word | starts_name;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = word | digit;
  table['_'] = table['$'] = word | starts_name;
  table['%'] = starts_name;
  return table;
}();

uint8_t class_of(char c) { return classes[static_cast<unsigned char>(c)]; }
bool is_word(char c) { return (class_of(c) & word) != 0; }
bool is_digit(char c) { return (class_of(c) & digit) != 0; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

}  // namespace

bool Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_blank(c)) {
      line_ += c == '\n' ? 1 : 0;
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '/' && at(position_ + 1) == '*') {
      const size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) return false;
      for (; position_ < end + 2; ++position_) line_ += text_[position_] == '\n' ? 1 : 0;
    } else {
      return true;
    }
  }
  return true;
}

// `shared::cluster`: two colons belong to the word if another word follows, one colon ends a label.
void Lexer::skip_word() {
  for (;;) {
    while (is_word(at(position_))) ++position_;
    if (at(position_) != ':' || at(position_ + 1) != ':' || !is_word(at(position_ + 2))) return;
    position_ += 2;
  }
}

// Letters and digits, whatever they mean: 0f3F800000, 0x1Fu, 12, 1.5e-3. The parser reads the value.
void Lexer::skip_number() {
  const bool plain = at(position_) != '0' || is_digit(at(position_ + 1)) || !is_word(at(position_ + 1));
  while (is_word(at(position_))) ++position_;
  if (!plain) return;
  if (at(position_) == '.' && is_digit(at(position_ + 1)))
    for (++position_; is_word(at(position_));) ++position_;
  const char last = text_[position_ - 1];
  if ((last == 'e' || last == 'E') && (at(position_) == '+' || at(position_) == '-') && is_digit(at(position_ + 1)))
    for (++position_; is_digit(at(position_));) ++position_;
}

Token Lexer::quoted() {
  const size_t begin = ++position_;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n')
    position_ += text_[position_] == '\\' && position_ + 1 < text_.size() && text_[position_ + 1] != '\n' ? 2 : 1;
  if (at(position_) != '"') return {Token::Kind::bad, line_, "a string does not end in its line"};
  const Token token = make(Token::Kind::string, begin);
  ++position_;
  return token;
}

Token Lexer::next() {
  const uint32_t before = line_;
  if (!skip_blanks()) {
    position_ = text_.size();
    return {Token::Kind::bad, before, "a comment that begins with /* does not end"};
  }
  if (position_ >= text_.size()) return {Token::Kind::end, line_, {}};
  const size_t begin = position_;
  const char c = text_[position_];
  if (is_digit(c)) {
    skip_number();
    return make(Token::Kind::number, begin);
  }
  if ((class_of(c) & starts_name) != 0) {
    ++position_;
    if (c == '%' && at(position_) == '%') ++position_;
    skip_word();
    while (at(position_) == '.' && is_word(at(position_ + 1))) {
      ++position_;
      skip_word();
    }
    return make(Token::Kind::name, begin);
  }
  if (c == '.' && is_word(at(position_ + 1))) {
    ++position_;
    skip_word();
    return make(Token::Kind::directive, begin);
  }
  if (c == '"') return quoted();
  ++position_;
  if (std::string_view("[]{}(),;:|!@+-=<>").find(c) != std::string_view::npos)
    return make(Token::Kind::punctuation, begin);
  return {Token::Kind::bad, line_, "a character that PTX does not have"};
}

}  // namespace warploom::ptx
