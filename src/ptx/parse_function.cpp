// Kernels and functions: their directives, scopes, registers, labels and instructions.
#include <algorithm>
#include <utility>

#include "ptx/parsing.hpp"

namespace warploom::ptx {
namespace {

constexpr uint32_t most_scopes = 256;
constexpr uint64_t most_registers = uint64_t{1} << 32U;
constexpr size_t most_operands = 64;

}  // namespace

bool Parser::function(Linkage linkage) {
  Function read;
  read.line = peek().line;
  read.entry = take().text == ".entry";
  read.linkage = linkage;
  while (peek().is(".attribute")) {
    Declaration unused;
    if (!attribute(unused)) return false;
  }
  if (accept(".noreturn")) read.directives.noreturn = true;
  if (!read.entry && peek().is('(') && !parameters(read.results, nullptr)) return false;
  const auto name = take_name("the name of a function");
  if (!name) return false;
  read.name = *name;
  if (peek().is('(') && !parameters(read.parameters, &read.parameter_bytes)) return false;
  if (!directives(read.directives, read.pragmas)) return false;
  read.defined = peek().is('{');

  const Symbol* known = scopes_.find(*name);
  if (known != nullptr && known->kind == Symbol::Kind::function) {
    function_ = known->index;
    Function& declared = current();
    if (declared.entry != read.entry)
      return fail(read.line, "{} is a kernel in one place and a function in another", shown(*name));
    if (declared.defined && read.defined)
      return fail(read.line, "{} has two bodies, the first in line {}", shown(*name), declared.line);
    if (read.defined) declared = std::move(read);
  } else {
    function_ = static_cast<uint32_t>(module_.functions.size());
    if (!declare(*name, {Symbol::Kind::function, function_, read.line})) return false;
    module_.functions.push_back(std::move(read));
  }
  if (accept(';')) return true;
  return body();
}

bool Parser::directives(Directives& out, std::vector<std::string_view>& pragmas) {
  const auto triple = [&](std::optional<Triple>& into) {
    Triple sizes{1, 1, 1};
    const uint32_t line = take().line;
    if (into) return fail(line, "a size is given twice");
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto size = take_integer(~uint32_t{0}, "a size");
      if (!size) return false;
      sizes[i] = static_cast<uint32_t>(*size);
      if (i + 1 < sizes.size() && !accept(',')) break;
    }
    into = sizes;
    return true;
  };
  const auto single = [&](std::optional<uint32_t>& into) {
    take();
    const auto value = take_integer(~uint32_t{0}, "a count");
    if (value) into = static_cast<uint32_t>(*value);
    return value.has_value();
  };
  const auto flag = [&](bool& into) {
    take();
    return into = true;
  };
  while (peek().kind == Token::Kind::directive) {
    const Token& token = peek();
    bool fine = false;
    if (token.is(".maxntid"))
      fine = triple(out.maxntid);
    else if (token.is(".reqntid"))
      fine = triple(out.reqntid);
    else if (token.is(".reqnctapercluster"))
      fine = triple(out.reqnctapercluster);
    else if (token.is(".maxclusterrank"))
      fine = single(out.maxclusterrank);
    else if (token.is(".minnctapersm"))
      fine = single(out.minnctapersm);
    else if (token.is(".maxnctapersm"))
      fine = single(out.maxnctapersm);
    else if (token.is(".maxnreg"))
      fine = single(out.maxnreg);
    else if (token.is(".explicitcluster"))
      fine = flag(out.explicitcluster);
    else if (token.is(".blocksareclusters"))
      fine = flag(out.blocksareclusters);
    else if (token.is(".noreturn"))
      fine = flag(out.noreturn);
    else if (token.is(".pragma"))
      fine = pragma(pragmas);
    else
      return fail(token.line, "{} is no directive of a function that can be read here", shown(token));
    if (!fine) return false;
  }
  return !failed();
}

// A parameter in a register is a register; one in memory is a name for its place in the block.
bool Parser::declare_parameters(Function& function) {
  const auto declare_all = [&](std::vector<Parameter>& list, Symbol::Kind kind) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      if (list[i].name == "_") continue;
      Symbol symbol{kind, i, function.line};
      if (list[i].in_register) {
        list[i].register_index = symbol.index = static_cast<uint32_t>(function.registers.size());
        symbol.kind = Symbol::Kind::reg;
        function.registers.push_back({list[i].name, list[i].type});
      }
      if (!declare(list[i].name, symbol)) return false;
    }
    return true;
  };
  return declare_all(function.results, Symbol::Kind::result) &&
         declare_all(function.parameters, Symbol::Kind::parameter);
}

bool Parser::body() {
  const uint32_t line = peek().line;
  if (!expect('{', "before the body of a function (or ';' after its declaration)")) return false;
  const uint32_t outside = scopes_.depth();
  location_ = no_index;
  pending_.clear();
  scope_labels_.clear();
  scopes_.enter();
  if (!declare_parameters(current())) return false;
  scopes_.enter();
  scope_labels_.emplace_back();
  while (!failed() && !scope_labels_.empty()) {
    if (peek().kind == Token::Kind::end)
      return fail(line, "the body of {} has no closing brace", shown(current().name));
    statement();
  }
  while (scopes_.depth() > outside) scopes_.leave();
  return !failed() && finish_function();
}

bool Parser::statement() {
  const Token& token = peek();
  if (token.kind == Token::Kind::name) {
    if (!peek_second().is(':')) return instruction();
    const Token name = take();
    take();
    return label(name);
  }
  if (token.is('@')) return instruction();
  if (token.is(".loc")) return location();
  if (token.is(".reg")) return registers();
  if (token.is(".param") || token.is(".shared") || token.is(".local") || token.is(".global") || token.is(".const"))
    return variables(Linkage::local, function_);
  if (token.is(".pragma")) return pragma(current().pragmas);
  if (token.is(".file")) return file();
  if (token.is('{')) {
    if (scope_labels_.size() == most_scopes)
      return fail(token.line, "scopes are nested more than {} deep", most_scopes);
    take();
    scopes_.enter();
    scope_labels_.emplace_back();
    return true;
  }
  if (token.is('}')) {
    take();
    leave_scope();
    return !failed();
  }
  if (accept(';')) return true;
  return fail(token.line, "{} begins no instruction, label or directive that can be read in a function", shown(token));
}

bool Parser::registers() {
  const Token first = peek();
  Declaration declared;
  if (!declaration(declared)) return false;
  if (declared.vector > 1)
    return fail(first.line, "registers that are vectors are not supported: declare their elements");
  do {
    const Token token = peek();
    const auto name = take_name("the name of a register");
    if (!name) return false;
    if (accept('<')) {
      const auto count = take_integer(most_registers, "the count of registers");
      if (!count || !expect('>', "after the count of registers")) return false;
      if (!scopes_.declare_range(*name, declared.type, *count))
        return fail(token.line, "the registers {} are declared twice in this scope", shown(*name));
    } else {
      const auto index = static_cast<uint32_t>(current().registers.size());
      if (!declare(*name, {Symbol::Kind::reg, index, token.line})) return false;
      current().registers.push_back({*name, declared.type});
    }
  } while (accept(','));
  return expect(';', "after registers");
}

// ---- instructions

const Opcode* Parser::intern(std::string_view text) {
  if (const auto known = opcodes_.find(text); known != opcodes_.end()) return known->second;
  Opcode& opcode = module_.opcodes.emplace_back();
  opcode.text = text;
  opcode.index = static_cast<uint32_t>(module_.opcodes.size() - 1);
  const std::string_view kept = opcode.text;
  for (size_t begin = 0; begin <= kept.size();) {
    const size_t end = std::min(kept.find('.', begin), kept.size());
    opcode.parts.push_back(kept.substr(begin, end - begin));
    begin = end + 1;
  }
  opcodes_.emplace(kept, &opcode);
  return &opcode;
}

bool Parser::instruction() {
  Instruction read;
  if (accept('@')) {
    read.guard_negated = accept('!');
    const Token guard = peek();
    if (!take_name("a predicate register")) return false;
    const std::optional<uint32_t> index = register_named(guard);
    if (!index) return fail(guard.line, "there is no register called {} in this scope", shown(guard.text));
    if (current().registers[*index].type != Type::pred)
      return fail(guard.line, "'@' must be followed by a predicate register, which {} is not", shown(guard.text));
    read.guard = *index;
  }
  const Token opcode = peek();
  if (opcode.kind != Token::Kind::name || opcode.text.front() < 'a' || opcode.text.front() > 'z')
    return fail(opcode.line, "an instruction must come here, not {}", shown(opcode));
  take();
  read.line = opcode.line;
  read.location = location_;
  if (peek().kind == Token::Kind::directive) {  // `ld .global`
    std::string text(opcode.text);
    while (peek().kind == Token::Kind::directive) text += take().text;
    read.opcode = intern(text);
  } else {
    read.opcode = intern(opcode.text);
  }
  if (!peek().is(';')) {
    do {
      if (read.operands.size() == most_operands)
        return fail(read.line, "an instruction of more than {} operands", most_operands);
      if (!operand(read.operands.emplace_back(), 0)) return false;
    } while (accept(','));
  }
  if (!expect(';', "after an instruction")) return false;
  current().body.push_back(std::move(read));
  return true;
}

}  // namespace warploom::ptx
