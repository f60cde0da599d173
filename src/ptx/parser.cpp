#include "ptx/parser.hpp"

#include <charconv>
#include <limits>
#include <memory>

#include "ptx/parsing.hpp"
#include "types/no_throw.hpp"

namespace warploom::ptx {

Result<Module> parse(std::string_view text, std::string_view name) {
  return no_throw([&]() -> Result<Module> { return Parser(text, name).run(); });
}

Parser::Parser(std::string_view text, std::string_view name) : lexer_({}) {
  module_.name = name;
  while (text.ends_with('\0')) text.remove_suffix(1);  // texts in fat binaries end so
  module_.text = std::make_unique<const std::string>(text);
  lexer_ = Lexer(*module_.text);
}

Result<Module> Parser::run() {
  take();
  while (!failed() && peek().kind != Token::Kind::end) module_item();
  if (!failed() && module_.target.empty())
    fail(1, "there is no .target: this is not a PTX module (nvcc -ptx -arch=sm_90a writes one)");
  if (!failed()) finish_locations();
  if (failed()) return Error{*error_, ErrorCode::bad_argument};
  return std::move(module_);
}

// ---- tokens

const Token& Parser::peek_second() {
  if (!has_second_ && !failed()) {
    second_ = lexer_.next();
    has_second_ = true;
    if (second_.kind == Token::Kind::bad) fail(second_.line, "{}", second_.text);
  }
  return second_;
}

Token Parser::take() {
  const Token taken = token_;
  if (failed()) return taken;
  if (has_second_) {
    token_ = second_;
    has_second_ = false;
    return taken;
  }
  token_ = lexer_.next();
  if (token_.kind == Token::Kind::bad) fail(token_.line, "{}", token_.text);
  return taken;
}

bool Parser::accept(char c) {
  if (!peek().is(c)) return false;
  take();
  return true;
}

bool Parser::accept(std::string_view word) {
  if (!peek().is(word)) return false;
  take();
  return true;
}

bool Parser::expect(char c, std::string_view where) {
  if (accept(c)) return true;
  return fail(peek().line, "'{}' must come {}, but here is {}", c, where, shown(peek()));
}

// The text may be anything: what a sentence shows of it is short and printable.
std::string Parser::shown(std::string_view text) {
  constexpr size_t most = 80;
  std::string out;
  for (const char c : text.substr(0, most)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > most ? out + "..." : out;
}

std::string Parser::shown(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  if (token.kind == Token::Kind::string) return fmt::format("\"{}\"", shown(token.text));
  return fmt::format("'{}'", shown(token.text));
}

std::optional<std::string_view> Parser::take_name(std::string_view what) {
  if (peek().kind == Token::Kind::name) return take().text;
  fail(peek().line, "{} must come here, not {}", what, shown(peek()));
  return std::nullopt;
}

std::optional<Parser::Number> Parser::take_number() {
  if (peek().kind != Token::Kind::number) {
    fail(peek().line, "a number must come here, not {}", shown(peek()));
    return std::nullopt;
  }
  const Token token = take();
  const std::string_view text = token.text;
  const auto read = [&](std::string_view digits, int base) -> std::optional<uint64_t> {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  Number number;
  std::optional<uint64_t> bits;
  const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
    const bool single = second == 'f' || second == 'F';
    number.literal = single ? Operand::Literal::f32 : Operand::Literal::f64;
    if (text.size() == (single ? 10U : 18U)) bits = read(text.substr(2), 16);
  } else if (second != 'x' && second != 'X' && text.find_first_of(".eE") != std::string_view::npos) {
    number.literal = Operand::Literal::f64;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) {
      bits = 0;
      static_assert(sizeof value == sizeof *bits);
      __builtin_memcpy(&*bits, &value, sizeof value);
    }
  } else {
    std::string_view digits = text;
    if (digits.back() == 'U' || digits.back() == 'u') digits.remove_suffix(1);
    if (second == 'x' || second == 'X')
      bits = read(digits.substr(2), 16);
    else if (second == 'b' || second == 'B')
      bits = read(digits.substr(2), 2);
    else
      bits = read(digits, second != '\0' && digits.size() > 1 ? 8 : 10);
  }
  if (!bits) {
    fail(token.line, "'{}' is not a number that PTX knows, or has more than 64 bits", shown(text));
    return std::nullopt;
  }
  number.bits = *bits;
  return number;
}

std::optional<uint64_t> Parser::take_integer(uint64_t most, std::string_view what) {
  const uint32_t line = peek().line;
  const std::optional<Number> number = take_number();
  if (!number) return std::nullopt;
  if (number->literal == Operand::Literal::integer && number->bits <= most) return number->bits;
  fail(line, "{} must be a whole number of at most {}", what, most);
  return std::nullopt;
}

// ---- the module

bool Parser::module_item() {
  Linkage linkage = Linkage::local;
  for (;;) {
    if (accept(".visible"))
      linkage = Linkage::visible;
    else if (accept(".extern"))
      linkage = Linkage::external;
    else if (accept(".weak"))
      linkage = Linkage::weak;
    else if (accept(".common"))
      linkage = Linkage::common;
    else
      break;
  }
  const Token& token = peek();
  if (token.is(".entry") || token.is(".func")) return function(linkage);
  if (token.is(".global") || token.is(".shared") || token.is(".const")) return variables(linkage, no_index);
  if (token.is(".version")) return version();
  if (token.is(".target")) return target();
  if (token.is(".address_size")) {
    take();
    const uint32_t line = peek().line;
    const auto size = take_integer(64, "the address size");
    if (size && *size != 64)
      return fail(line, "addresses of {} bits are not supported: the address size must be 64", *size);
    return size.has_value();
  }
  if (token.is(".file")) return file();
  if (token.is(".loc")) return location();
  if (token.is(".section")) return section();
  if (token.is(".pragma")) {
    std::vector<std::string_view> unused;  // what a module's pragmas ask for concerns ptxas
    return pragma(unused);
  }
  if (token.is(".alias")) return alias();
  if (accept(';')) return true;
  return fail(token.line, "{} begins no directive, variable or function of a module that can be read here",
              shown(token));
}

bool Parser::version() {
  take();
  const Token token = peek();
  const size_t dot = token.text.find('.');
  const auto read = [](std::string_view digits, uint32_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (token.kind != Token::Kind::number || dot == std::string_view::npos ||
      !read(token.text.substr(0, dot), module_.version_major) ||
      !read(token.text.substr(dot + 1), module_.version_minor))
    return fail(token.line, ".version needs a version such as 9.0, not {}", shown(token));
  take();
  return true;
}

bool Parser::target() {
  const uint32_t line = take().line;
  if (!module_.target.empty()) return fail(line, "there is a second .target; the first is {}", shown(module_.target));
  const auto name = take_name("the name of a target, such as sm_90a,");
  if (!name) return false;
  module_.target = *name;
  while (accept(',')) {
    const auto option = take_name("an option of the target");
    if (!option) return false;
    module_.target_options.push_back(*option);
  }
  return true;
}

// Debug information. The strings among it are the names of inlined functions.
bool Parser::section() {
  const uint32_t line = take().line;
  const Token name = take();
  if (name.kind != Token::Kind::directive)
    return fail(name.line, "a section needs a name, such as .debug_str, not {}", shown(name));
  if (!expect('{', "before what a section holds")) return false;
  if (name.is(".debug_str")) return debug_strings();
  while (!peek().is('}')) {
    if (peek().kind == Token::Kind::end) return fail(line, "the section {} has no closing brace", shown(name.text));
    take();
  }
  take();
  return true;
}

bool Parser::debug_strings() {
  while (!failed() && !accept('}')) {
    if (peek().kind == Token::Kind::name) {
      debug_labels_.emplace(take().text, debug_text_.size());
      if (!expect(':', "after a label of .debug_str")) return false;
    } else if (accept(".b8")) {
      do {
        const auto byte = take_integer(255, "a byte of .debug_str");
        if (!byte) return false;
        debug_text_.push_back(static_cast<char>(*byte));
      } while (accept(','));
    } else {
      return fail(peek().line, "{} is no label and no .b8 of .debug_str", shown(peek()));
    }
  }
  return !failed();
}

bool Parser::alias() {
  take();
  uint32_t functions[2] = {no_index, no_index};
  for (uint32_t& function : functions) {
    const Token token = peek();
    const auto name = take_name("the name of a function");
    if (!name) return false;
    const Symbol* symbol = scopes_.find(*name);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::function)
      return fail(token.line, ".alias needs functions that are declared before it, and {} is none", shown(*name));
    function = symbol->index;
    if (&function == functions && !expect(',', "between the two names of .alias")) return false;
  }
  Function& alias = module_.functions[functions[0]];
  const Function& body = module_.functions[functions[1]];
  if (alias.defined || body.alias_of != no_index || functions[0] == functions[1])
    return fail(peek().line, "{} cannot be another name of {}", shown(alias.name), shown(body.name));
  alias.alias_of = functions[1];
  return expect(';', "after .alias");
}

bool Parser::pragma(std::vector<std::string_view>& into) {
  take();
  do {
    if (peek().kind != Token::Kind::string) return fail(peek().line, ".pragma needs a string, not {}", shown(peek()));
    into.push_back(take().text);
  } while (accept(','));
  return expect(';', "after .pragma");
}

bool Parser::declare(std::string_view name, Symbol symbol) {
  if (name == "_") return fail(symbol.line, "'_' stands for no value: it names nothing");
  const Symbol* earlier = scopes_.declare(name, symbol);
  if (earlier == nullptr) return true;
  return fail(symbol.line, "{} is declared twice, first in line {}", shown(name), earlier->line);
}

}  // namespace warploom::ptx
