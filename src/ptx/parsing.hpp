// The parser's state, shared by its files: parser.cpp (the module), parse_function.cpp, parse_labels.cpp,
// parse_operand.cpp, parse_variable.cpp and parse_lines.cpp. Nothing else includes it.
//
// An error is kept where it is found first; from there on every token is the end of the text, and every function
// returns false.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/lexer.hpp"
#include "ptx/module.hpp"
#include "ptx/scopes.hpp"
#include "warploom/types/result.hpp"

namespace warploom::ptx {

/// Is there a special register of that name, `%tid.x`?
bool is_special_register(std::string_view name);

class Parser {
 public:
  Parser(std::string_view text, std::string_view name);
  Result<Module> run();

 private:
  struct Number {
    uint64_t bits = 0;
    Operand::Literal literal = Operand::Literal::integer;
  };
  /// What a label's name will turn out to be. References are made before it is known.
  struct PendingLabel {
    enum class Kind : uint8_t { unknown, label, targets, prototype, alias };
    std::string_view name;
    Kind kind = Kind::unknown;
    uint32_t index = 0;  ///< of the label, the list of targets or the prototype; of another pending label for an alias
    uint32_t line = 0;
  };
  struct Reference {
    std::string_view name;
    uint32_t label;
  };

  // ---- tokens

  const Token& peek() const { return token_; }
  const Token& peek_second();
  Token take();
  bool accept(char c);
  bool accept(std::string_view word);
  bool expect(char c, std::string_view where);
  template <class... Arguments>
  bool fail(uint32_t line, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (!error_)
      error_ = fmt::format("{}:{}: {}", module_.name, line, fmt::format(format, std::forward<Arguments>(arguments)...));
    token_ = second_ = Token{};
    return false;
  }
  bool failed() const { return error_.has_value(); }
  /// What stands there, for a sentence.
  static std::string shown(const Token& token);
  static std::string shown(std::string_view text);
  std::optional<std::string_view> take_name(std::string_view what);
  std::optional<Number> take_number();
  static uint64_t negated(const Number& number);
  /// `+16`, `+-16`, or nothing.
  bool addend(int64_t& out);
  /// A decimal, hexadecimal, octal or binary integer of at most `most`.
  std::optional<uint64_t> take_integer(uint64_t most, std::string_view what);

  // ---- the module: parser.cpp

  bool module_item();
  bool version();
  bool target();
  bool section();
  bool debug_strings();
  bool alias();
  bool pragma(std::vector<std::string_view>& into);
  bool declare(std::string_view name, Symbol symbol);

  // ---- files and locations: parse_lines.cpp

  bool file();
  bool location();
  uint32_t add_location(const Location& location);
  bool finish_locations();

  // ---- variables: parse_variable.cpp

  struct Declaration {
    Space space = Space::none;
    Type type = Type::none;
    uint32_t vector = 1;
    uint32_t align = 0;
    bool managed = false;
    Space points_to = Space::none;
    bool pointer = false;
  };
  /// `.global .align 4 .v2 .f32`: everything before the name.
  bool declaration(Declaration& out);
  bool attribute(Declaration& out);
  bool dimensions(std::vector<uint64_t>& out, bool& unsized);
  bool variables(Linkage linkage, uint32_t function);
  bool initialiser(Variable& variable, const std::vector<uint64_t>& dimensions);
  bool initial_value(Variable& variable, uint64_t element);
  bool initial_address(Variable& variable, uint64_t offset);
  bool parameters(std::vector<Parameter>& out, uint64_t* bytes);
  bool parameter(Parameter& out);

  // ---- functions: parse_function.cpp

  bool function(Linkage linkage);
  bool directives(Directives& out, std::vector<std::string_view>& pragmas);
  bool declare_parameters(Function& function);
  bool body();
  bool statement();
  bool registers();
  bool label(const Token& name);
  bool branch_targets(const Token& name);
  bool prototype(const Token& name);
  bool instruction();
  void leave_scope();
  bool finish_function();
  uint32_t label_reference(std::string_view name, uint32_t line);
  bool define_label(const Token& name, PendingLabel::Kind kind, uint32_t index);
  uint32_t settled(uint32_t label) const;
  void settle(Operand& operand);
  const Opcode* intern(std::string_view text);
  Function& current() { return module_.functions[function_]; }

  // ---- operands: parse_operand.cpp

  bool operand(Operand& out, uint32_t depth);
  bool group(Operand& out, char close, uint32_t depth);
  bool address(Operand& out, uint32_t depth);
  bool immediate(Operand& out, bool negative);
  bool named(Operand& out);
  std::optional<uint32_t> register_named(const Token& name);

  Module module_;
  Lexer lexer_;
  Token token_, second_;
  bool has_second_ = false;
  std::optional<std::string> error_;

  Scopes scopes_;
  std::unordered_map<std::string_view, Opcode*> opcodes_;
  uint32_t function_ = no_index;
  uint64_t image_bytes_ = 0;  ///< of all initial values

  // of the function that is being read
  uint32_t location_ = no_index;
  std::vector<PendingLabel> pending_;
  std::vector<std::unordered_map<std::string_view, uint32_t>>
      scope_labels_;             ///< of each scope of the body, into pending_
  uint32_t unknown_ = no_index;  ///< the first label that is nowhere defined

  // of the lines
  std::unordered_map<uint64_t, uint32_t> latest_location_;  ///< by file, line and column
  std::vector<uint8_t> location_depth_;
  struct NamedLocation {
    uint32_t location;
    std::string_view label;
    uint64_t offset;
    uint32_t line;
  };
  std::vector<NamedLocation> named_locations_;
  std::vector<char> debug_text_;
  std::unordered_map<std::string_view, size_t> debug_labels_;
};

}  // namespace warploom::ptx
