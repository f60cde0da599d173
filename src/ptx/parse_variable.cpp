// Variables of a module or a function with their initialisers, and the parameters of functions.
#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/parsing.hpp"

namespace warploom::ptx {
namespace {

constexpr uint64_t largest_variable = uint64_t{1} << 40U;
constexpr uint64_t largest_images = uint64_t{1}
                                    << 28U;  ///< of a whole module: a text of a few bytes must not ask for more
constexpr uint64_t largest_alignment = uint64_t{1} << 16U;
constexpr size_t most_dimensions = 8;

Space space_of(std::string_view directive) {
  if (directive == ".global") return Space::global;
  if (directive == ".shared") return Space::shared;
  if (directive == ".const") return Space::constant;
  if (directive == ".local") return Space::local;
  if (directive == ".param") return Space::param;
  if (directive == ".reg") return Space::reg;
  return Space::none;
}

/// False where an array, or one row of it, is too large.
bool size_of(const std::vector<uint64_t>& dimensions, uint64_t element, uint64_t& bytes) {
  uint64_t row = element;
  bytes = element;
  for (const uint64_t size : dimensions) {
    bytes *= size;
    if (__builtin_mul_overflow(row, std::max<uint64_t>(size, 1), &row) || row > largest_variable) return false;
  }
  return true;
}

/// The bits of a value as an element of that type has them.
uint64_t as_element(Type type, uint64_t bits, Operand::Literal literal) {
  const bool wants_float = type == Type::f32 || type == Type::f64;
  if (!wants_float || (literal == Operand::Literal::f32 && type == Type::f32)) return bits;
  const double value = literal == Operand::Literal::integer ? static_cast<double>(static_cast<int64_t>(bits))
                       : literal == Operand::Literal::f32   ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                                                            : std::bit_cast<double>(bits);
  return type == Type::f32 ? std::bit_cast<uint32_t>(static_cast<float>(value)) : std::bit_cast<uint64_t>(value);
}

}  // namespace

bool Parser::attribute(Declaration& out) {
  const uint32_t line = take().line;
  if (!expect('(', "after .attribute")) return false;
  do {
    if (accept(".managed")) {
      out.managed = true;
    } else if (accept(".unified")) {  // an address for all devices: there is one here
      if (!expect('(', "after .unified") || !take_number() || !expect(',', "between the numbers of .unified") ||
          !take_number() || !expect(')', "after the numbers of .unified"))
        return false;
    } else {
      return fail(line, "the attribute {} is not supported: .managed and .unified are", shown(peek()));
    }
  } while (accept(','));
  return expect(')', "after the attributes");
}

bool Parser::declaration(Declaration& out) {
  const Token first = take();
  out.space = space_of(first.text);
  while (peek().kind == Token::Kind::directive) {
    if (peek().is(".attribute")) {
      if (!attribute(out)) return false;
      continue;
    }
    const Token token = take();
    const std::string_view word = token.text.substr(1);
    if (word == "align") {
      const auto align = take_integer(largest_alignment, "an alignment");
      if (!align) return false;
      if (!std::has_single_bit(*align))
        return fail(token.line, "an alignment must be a power of two, which {} is not", *align);
      out.align = static_cast<uint32_t>(*align);
    } else if (word == "ptr") {
      out.pointer = true;
    } else if (out.pointer && space_of(token.text) != Space::none) {
      out.points_to = space_of(token.text);
    } else if (word == "v2" || word == "v4" || word == "v8") {
      out.vector = static_cast<uint32_t>(word[1] - '0');
    } else if (const Type type = type_named(word); type != Type::none) {
      if (out.type != Type::none)
        return fail(token.line, "a declaration has one type, and here are .{} and {}", to_string(out.type),
                    shown(token.text));
      out.type = type;
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      return fail(token.line, "textures and surfaces are not supported: {} declares one", shown(token.text));
    } else {
      return fail(token.line, "{} has no meaning in a declaration that can be read here", shown(token.text));
    }
  }
  if (failed()) return false;
  if (out.type == Type::none) return fail(first.line, "this declaration needs a type, such as .b32");
  return true;
}

bool Parser::dimensions(std::vector<uint64_t>& out, bool& unsized) {
  while (accept('[')) {
    const uint32_t line = peek().line;
    if (out.size() == most_dimensions) return fail(line, "an array of more than {} dimensions", most_dimensions);
    if (accept(']')) {
      if (!out.empty()) return fail(line, "only the first dimension of an array may be left open");
      unsized = true;
      out.push_back(0);
      continue;
    }
    const auto size = take_integer(largest_variable, "the size of an array");
    if (!size || !expect(']', "after the size of an array")) return false;
    if (*size == 0 && !out.empty()) return fail(line, "only the first dimension of an array may be empty");
    out.push_back(*size);
  }
  return !failed();
}

bool Parser::variables(Linkage linkage, uint32_t function) {
  Declaration declared;
  if (!declaration(declared)) return false;
  if (declared.type == Type::pred)
    return fail(peek().line, "a predicate lives in registers only: a variable cannot be .pred");
  const uint32_t element = bytes(declared.type) * declared.vector;
  do {
    Variable variable;
    variable.line = peek().line;
    const auto name = take_name("the name of a variable");
    if (!name) return false;
    variable.name = *name;
    variable.space = declared.space;
    variable.type = declared.type;
    variable.vector = declared.vector;
    variable.align = std::max(declared.align, declared.align == 0 ? element : 1U);
    variable.linkage = linkage;
    variable.managed = declared.managed;
    variable.function = function;
    std::vector<uint64_t> sizes;
    if (!dimensions(sizes, variable.unsized)) return false;
    if (!size_of(sizes, element, variable.bytes)) return fail(variable.line, "{} is larger than 1 TiB", shown(*name));
    // The name may stand in its own initialiser: a list that points to itself.
    const auto index = static_cast<uint32_t>(module_.variables.size());
    const Symbol* known = scopes_.find(*name);
    const bool again = function == no_index && known != nullptr && known->kind == Symbol::Kind::variable &&
                       linkage != Linkage::external && module_.variables[known->index].linkage == Linkage::external;
    if (!again && !declare(*name, {Symbol::Kind::variable, index, variable.line})) return false;
    const uint32_t place = again ? known->index : index;
    if (!again) module_.variables.push_back({});
    if (accept('=')) {
      if (variable.space != Space::global && variable.space != Space::constant)
        return fail(variable.line, "only variables in .global and .const have an initial value, and {} is in .{}",
                    shown(*name), to_string(variable.space));
      if (!initialiser(variable, sizes)) return false;
    }
    module_.variables[place] = std::move(variable);
  } while (accept(','));
  return expect(';', "after a variable");
}

bool Parser::initialiser(Variable& variable, const std::vector<uint64_t>& dimensions) {
  // The strides of the braces, outermost first: elements that one step takes.
  std::vector<uint64_t> sizes = dimensions;
  if (variable.vector > 1) sizes.push_back(variable.vector);
  if (sizes.empty()) return initial_value(variable, 0);
  std::vector<uint64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];

  struct Level {
    uint64_t next, end;
  };
  const uint64_t no_end = largest_variable;
  std::vector<Level> open;
  if (!expect('{', "before the values of an array")) return false;
  open.push_back({0, variable.unsized ? no_end : strides[0] * sizes[0]});
  uint64_t furthest = 0;
  while (!failed() && !open.empty()) {
    Level& level = open.back();
    if (accept('}')) {
      furthest = level.next;
      open.pop_back();
      if (open.empty()) break;
      open.back().next += strides[open.size() - 1];
      if (!peek().is('}') && !expect(',', "between the values of an array")) return false;
      continue;
    }
    if (peek().is('{')) {
      const size_t depth = open.size();
      const uint32_t line = take().line;
      if (depth >= sizes.size())
        return fail(line, "the values of {} are nested deeper than its dimensions", shown(variable.name));
      if (level.next % strides[depth - 1] != 0)
        return fail(line, "the values of {} before this brace fill no whole row", shown(variable.name));
      if (level.next >= level.end) return fail(line, "{} has more values than elements", shown(variable.name));
      open.push_back({level.next, level.next + strides[depth - 1]});
      continue;
    }
    if (level.next >= level.end) return fail(peek().line, "{} has more values than elements", shown(variable.name));
    if (!initial_value(variable, level.next)) return false;
    ++level.next;
    if (!peek().is('}') && !expect(',', "between the values of an array")) return false;
  }
  if (variable.unsized) {
    const uint64_t row = strides[0];
    variable.bytes = row == 0 ? 0 : (furthest + row - 1) / row * row * bytes(variable.type);
  }
  return !failed();
}

bool Parser::initial_value(Variable& variable, uint64_t element) {
  const uint32_t size = bytes(variable.type);
  const uint64_t offset = element * size;
  if (offset + size > variable.image.size()) {
    image_bytes_ += offset + size - variable.image.size();
    if (image_bytes_ > largest_images)
      return fail(peek().line, "the initial values of this module reach over more than 256 MiB");
    variable.image.resize(offset + size);
  }
  if (peek().kind == Token::Kind::name) return initial_address(variable, offset);
  const bool negative = accept('-');
  std::optional<Number> number = take_number();
  if (!number) return false;
  if (negative) number->bits = negated(*number);
  const uint64_t bits = as_element(variable.type, number->bits, number->literal);
  std::memcpy(variable.image.data() + offset, &bits, std::min<size_t>(size, sizeof bits));
  return true;
}

bool Parser::initial_address(Variable& variable, uint64_t offset) {
  Relocation relocation;
  relocation.offset = offset;
  relocation.bytes = bytes(variable.type);
  relocation.generic = peek().is("generic") && peek_second().is('(');
  if (relocation.generic) {
    take();
    take();
  }
  const Token token = peek();
  const auto name = take_name("a variable or a function");
  if (!name) return false;
  const Symbol* symbol = scopes_.find(*name);
  if (symbol == nullptr || (symbol->kind != Symbol::Kind::variable && symbol->kind != Symbol::Kind::function))
    return fail(token.line, "{} is no variable and no function that is declared before this line", shown(*name));
  if (relocation.bytes != 8)
    return fail(token.line, "an address has 8 bytes: it cannot be a value of type .{}", to_string(variable.type));
  relocation.is_function = symbol->kind == Symbol::Kind::function;
  relocation.index = symbol->index;
  if (relocation.generic && !expect(')', "after generic(")) return false;
  if (!addend(relocation.addend)) return false;
  variable.relocations.push_back(relocation);
  return true;
}

// ---- parameters

bool Parser::parameter(Parameter& out) {
  if (!peek().is(".param") && !peek().is(".reg"))
    return fail(peek().line, "a parameter begins with .param or .reg, not with {}", shown(peek()));
  const uint32_t line = peek().line;
  Declaration declared;
  if (!declaration(declared)) return false;
  out.in_register = declared.space == Space::reg;
  out.type = declared.type;
  out.points_to = declared.points_to;
  const auto name = take_name("the name of a parameter");
  if (!name) return false;
  out.name = *name;
  std::vector<uint64_t> sizes;
  bool unsized = false;
  if (!dimensions(sizes, unsized)) return false;
  if (unsized) return fail(line, "a parameter needs a size, and {} has none", shown(*name));
  const uint32_t element = bytes(declared.type) * declared.vector;
  out.array = !sizes.empty();
  if (!size_of(sizes, element, out.bytes)) return fail(line, "the parameter {} is larger than 1 TiB", shown(*name));
  // `.ptr .align` speaks of what the pointer points to, not of the parameter.
  out.align = declared.align == 0 || declared.pointer ? element : declared.align;
  return true;
}

bool Parser::parameters(std::vector<Parameter>& out, uint64_t* block) {
  if (!expect('(', "before parameters")) return false;
  uint64_t end = 0;
  if (!accept(')')) {
    do {
      Parameter one;
      if (!parameter(one)) return false;
      end = (end + one.align - 1) / one.align * one.align;
      one.offset = end;
      end += one.bytes;
      out.push_back(one);
    } while (accept(','));
    if (!expect(')', "after the parameters")) return false;
  }
  if (block != nullptr) *block = end;
  return true;
}

}  // namespace warploom::ptx
