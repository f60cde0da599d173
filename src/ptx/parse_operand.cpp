// The operands of instructions.
#include <algorithm>
#include <array>

#include "ptx/parsing.hpp"

namespace warploom::ptx {
namespace {

constexpr uint32_t most_nested = 8;
constexpr size_t most_parts = 1024;

constexpr auto special_registers = [] {
  std::array<std::string_view, 64> names{
      "%aggr_smem_size",
      "%clock",
      "%clock64",
      "%clock_hi",
      "%cluster_ctaid",
      "%cluster_ctaid.x",
      "%cluster_ctaid.y",
      "%cluster_ctaid.z",
      "%cluster_ctarank",
      "%cluster_nctaid",
      "%cluster_nctaid.x",
      "%cluster_nctaid.y",
      "%cluster_nctaid.z",
      "%cluster_nctarank",
      "%clusterid",
      "%clusterid.x",
      "%clusterid.y",
      "%clusterid.z",
      "%ctaid",
      "%ctaid.x",
      "%ctaid.y",
      "%ctaid.z",
      "%current_graph_exec",
      "%dynamic_smem_size",
      "%globaltimer",
      "%globaltimer_hi",
      "%globaltimer_lo",
      "%gridid",
      "%is_explicit_cluster",
      "%laneid",
      "%lanemask_eq",
      "%lanemask_ge",
      "%lanemask_gt",
      "%lanemask_le",
      "%lanemask_lt",
      "%nclusterid",
      "%nclusterid.x",
      "%nclusterid.y",
      "%nclusterid.z",
      "%nctaid",
      "%nctaid.x",
      "%nctaid.y",
      "%nctaid.z",
      "%nsmid",
      "%ntid",
      "%ntid.x",
      "%ntid.y",
      "%ntid.z",
      "%nwarpid",
      "%reserved_smem_offset_0",
      "%reserved_smem_offset_1",
      "%reserved_smem_offset_begin",
      "%reserved_smem_offset_cap",
      "%reserved_smem_offset_end",
      "%smid",
      "%tid",
      "%tid.x",
      "%tid.y",
      "%tid.z",
      "%total_smem_size",
      "%warpid",
  };
  std::sort(names.begin(), names.end());
  return names;
}();

}  // namespace

bool is_special_register(std::string_view name) {
  return name.size() > 1 && std::binary_search(special_registers.begin(), special_registers.end(), name);
}

uint64_t Parser::negated(const Number& number) {
  switch (number.literal) {
    case Operand::Literal::f32: return number.bits ^ (uint64_t{1} << 31U);
    case Operand::Literal::f64: return number.bits ^ (uint64_t{1} << 63U);
    case Operand::Literal::integer: return ~number.bits + 1;
  }
  return number.bits;
}

bool Parser::addend(int64_t& out) {
  auto sum = static_cast<uint64_t>(out);
  while (peek().is('+') || peek().is('-')) {
    bool negative = take().is('-');
    while (peek().is('+') || peek().is('-')) negative = take().is('-') != negative;
    const uint32_t line = peek().line;
    const std::optional<Number> number = take_number();
    if (!number) return false;
    if (number->literal != Operand::Literal::integer) return fail(line, "an offset must be a whole number of bytes");
    sum += negative ? ~number->bits + 1 : number->bits;
  }
  out = static_cast<int64_t>(sum);
  return !failed();
}

bool Parser::immediate(Operand& out, bool negative) {
  const std::optional<Number> number = take_number();
  if (!number) return false;
  out.kind = Operand::Kind::immediate;
  out.literal = number->literal;
  out.bits = negative ? negated(*number) : number->bits;
  return true;
}

std::optional<uint32_t> Parser::register_named(const Token& token) {
  const Symbol* found = scopes_.find(token.text);
  if (const Scopes::Range* range = scopes_.range_of(token.text, found); range != nullptr) {
    const auto index = static_cast<uint32_t>(current().registers.size());
    current().registers.push_back({token.text, range->type});
    scopes_.declare_of_range(*range, token.text, {Symbol::Kind::reg, index, token.line});
    return index;
  }
  if (found != nullptr && found->kind == Symbol::Kind::reg) return found->index;
  return std::nullopt;
}

bool Parser::named(Operand& out) {
  const Token token = take();
  out.name = token.text;
  if (token.text == "_") {
    out.kind = Operand::Kind::sink;
    return true;
  }
  if (const std::optional<uint32_t> index = register_named(token)) {
    out.kind = Operand::Kind::reg;
    out.index = *index;
    return true;
  }
  if (const Symbol* symbol = scopes_.find(token.text); symbol != nullptr) {
    out.index = symbol->index;
    switch (symbol->kind) {
      case Symbol::Kind::variable: out.kind = Operand::Kind::variable; return true;
      case Symbol::Kind::parameter: out.kind = Operand::Kind::parameter; return true;
      case Symbol::Kind::result: out.kind = Operand::Kind::result; return true;
      case Symbol::Kind::function: out.kind = Operand::Kind::function; return true;
      default: break;
    }
  }
  if (is_special_register(token.text)) {
    out.kind = Operand::Kind::special;
    return true;
  }
  if (token.text == "WARP_SZ") {
    out.kind = Operand::Kind::immediate;
    out.bits = 32;
    return true;
  }
  if (token.text.front() == '%')
    return fail(token.line, "there is no register called {} in this scope", shown(token.text));
  out.kind = Operand::Kind::label;
  out.index = label_reference(token.text, token.line);
  return true;
}

bool Parser::group(Operand& out, char close, uint32_t depth) {
  const uint32_t line = take().line;
  if (accept(close)) return true;
  do {
    if (out.parts.size() == most_parts) return fail(line, "a list of more than {} operands", most_parts);
    if (!operand(out.parts.emplace_back(), depth + 1)) return false;
  } while (accept(','));
  return expect(close, "after a list of operands");
}

bool Parser::address(Operand& out, uint32_t depth) {
  out.kind = Operand::Kind::address;
  if (!group(out, ']', depth)) return false;
  if (out.parts.empty())
    return fail(peek().line, "an address needs a register, a name or a number between its brackets");
  out.offset = out.parts.front().offset;
  out.parts.front().offset = 0;
  return true;
}

bool Parser::operand(Operand& out, uint32_t depth) {
  const Token& token = peek();
  if (depth > most_nested) return fail(token.line, "operands are nested more than {} deep", most_nested);
  if (token.kind == Token::Kind::number) return immediate(out, false);
  if (token.is('-')) {
    take();
    return immediate(out, true);
  }
  if (token.is('{')) {
    out.kind = Operand::Kind::vector;
    if (!group(out, '}', depth)) return false;
  } else if (token.is('(')) {
    out.kind = Operand::Kind::list;
    return group(out, ')', depth);
  } else if (token.is('[')) {
    return address(out, depth);
  } else if (token.is('!')) {
    const uint32_t line = take().line;
    if (peek().kind != Token::Kind::name || !named(out))
      return fail(line, "'!' must be followed by a predicate register");
    if (!out.is_register() || current().registers[out.index].type != Type::pred)
      return fail(line, "'!' must be followed by a predicate register, which {} is not", shown(out.name));
    out.negated = true;
  } else if (token.kind == Token::Kind::name) {
    if (!named(out)) return false;
    if ((peek().is('+') || peek().is('-')) && !addend(out.offset)) return false;
  } else {
    return fail(token.line, "an operand must come here, not {}", shown(token));
  }
  if (!peek().is('|') || depth > most_nested) return !failed();
  take();
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.parts.push_back(std::move(out));
  if (!operand(pair.parts.emplace_back(), depth + 1)) return false;
  out = std::move(pair);
  return true;
}

}  // namespace warploom::ptx
