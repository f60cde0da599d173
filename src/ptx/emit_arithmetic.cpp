// Emitters of arithmetic that is more than one expression.
#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

std::string_view comparison_of(const Opcode& opcode) { return opcode.part(1); }

/// a < b and its like; of floats, false where one is no number.
std::string ordered(std::string_view comparison, std::string_view a, std::string_view b) {
  std::string_view sign = "==";
  if (comparison == "ne") sign = "!=";
  if (comparison == "lt" || comparison == "lo") sign = "<";
  if (comparison == "le" || comparison == "ls") sign = "<=";
  if (comparison == "gt" || comparison == "hi") sign = ">";
  if (comparison == "ge" || comparison == "hs") sign = ">=";
  return fmt::format("({} {} {})", a, sign, b);
}

std::string compare_floats(std::string_view comparison, std::string_view a, std::string_view b) {
  if (comparison == "num") return fmt::format("({0} == {0} && {1} == {1})", a, b);
  if (comparison == "nan") return fmt::format("({0} != {0} || {1} != {1})", a, b);
  if (comparison == "ne") return fmt::format("({0} < {1} || {0} > {1})", a, b);
  if (comparison == "equ") return fmt::format("!({0} < {1} || {0} > {1})", a, b);
  if (comparison == "neu") return fmt::format("({} != {})", a, b);
  if (comparison == "ltu") return fmt::format("!({} >= {})", a, b);
  if (comparison == "leu") return fmt::format("!({} > {})", a, b);
  if (comparison == "gtu") return fmt::format("!({} <= {})", a, b);
  if (comparison == "geu") return fmt::format("!({} < {})", a, b);
  return ordered(comparison, a, b);
}

/// The comparison of operands 1 and 2, which are put into constants first.
std::string compare(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const Type type = opcode.last_type();
  const std::string a = body.value(instruction.operands[1], type), b = body.value(instruction.operands[2], type);
  if (!is_float(type)) return ordered(comparison_of(opcode), a, b);
  const uint32_t n = body.next_number();
  const auto wide = [&](const std::string& value) {
    const std::string flush = opcode.has("ftz") ? "true" : "false";
    if (type == Type::f16) return fmt::format("f16_to_f32(flushed_half<half, {}>({}))", flush, value);
    if (type == Type::bf16) return fmt::format("bf16_to_f32(flushed_half<brain, {}>({}))", flush, value);
    return opcode.has("ftz") ? fmt::format("flush({})", value) : value;
  };
  body.put("const auto x{0} = {1}; const auto y{0} = {2}; ", n, wide(a), wide(b));
  return compare_floats(comparison_of(opcode), fmt::format("x{}", n), fmt::format("y{}", n));
}

std::string_view combination(const Opcode& opcode) {
  if (opcode.has("and")) return "&";
  if (opcode.has("or")) return "|";
  return opcode.has("xor") ? "^" : "";
}

}  // namespace

void emit_add_carry(Body& body, const Instruction& instruction) {
  const Type type = as_unsigned(instruction.op().last_type());
  const std::string_view wide = bits(type) == 64 ? "u128" : "u64";
  const auto& operands = instruction.operands;
  body.put("{{ const {0} sum = ({0}){1} + {2}{3}; ", wide, body.value(operands[1], type), body.value(operands[2], type),
           instruction.op().base() == "addc" ? " + carry" : "");
  body.set(operands[0], type, fmt::format("({})sum", c_type(type)));
  body.put("{} }}", instruction.op().has("cc") ? " carry = carry_of(sum);" : "");
}

void emit_subtract_carry(Body& body, const Instruction& instruction) {
  const Type type = as_unsigned(instruction.op().last_type());
  const std::string_view wide = bits(type) == 64 ? "u128" : "u64";
  const auto& operands = instruction.operands;
  body.put("{{ const {0} sum = ({0}){1} - {2}{3}; ", wide, body.value(operands[1], type), body.value(operands[2], type),
           instruction.op().base() == "subc" ? " - carry" : "");
  body.set(operands[0], type, fmt::format("({})sum", c_type(type)));
  body.put("{} }}", instruction.op().has("cc") ? " carry = carry_of(sum) & 1;" : "");
}

void emit_multiply_carry(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const Type type = opcode.last_type(), plain = as_unsigned(type);
  const std::string_view wide = bits(type) == 64 ? "u128" : "u64";
  const auto& operands = instruction.operands;
  const std::string product =
      opcode.has("hi")
          ? fmt::format("({})mul_hi<{}>({}, {})", c_type(plain), c_type(type), body.value(operands[1], type),
                        body.value(operands[2], type))
          : fmt::format("({})({} * {})", c_type(plain), body.value(operands[1], plain), body.value(operands[2], plain));
  body.put("{{ const {0} sum = ({0})({1}) + {2}{3}; ", wide, product, body.value(operands[3], plain),
           opcode.base() == "madc" ? " + carry" : "");
  body.set(operands[0], plain, fmt::format("({})sum", c_type(plain)));
  body.put("{} }}", opcode.has("cc") ? " carry = carry_of(sum);" : "");
}

void emit_lop3_predicate(Body& body, const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const uint32_t n = body.next_number();
  body.put("{{ const u32 l{} = lop3<{}>({}, {}, {}); ", n, operands[4].bits & 255, body.value(operands[1], Type::b32),
           body.value(operands[2], Type::b32), body.value(operands[3], Type::b32));
  const std::string result =
      fmt::format("(l{} != 0) {} {}", n, instruction.op().has("or") ? "|" : "&", body.predicate(operands[5]));
  const Operand& to = operands[0];
  if (!to.is(Operand::Kind::pair)) {
    body.fail("lop3 with .and or .or writes a register and a predicate");
    return;
  }
  body.put("const bool p{} = {}; ", n, result);
  if (Body::wanted(to.parts[0])) body.set(to.parts[0], Type::b32, fmt::format("l{}", n));
  body.set_predicate(to.parts[1], fmt::format("p{}", n));
  body.put(" }}");
}

void emit_setp(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& operands = instruction.operands;
  const Operand& to = operands[0];
  const std::string_view with = combination(opcode);
  const std::string tail = with.empty() ? "" : fmt::format(" {} {}", with, body.predicate(operands[3]));
  const Type type = opcode.last_type();
  if (type == Type::f16x2 || type == Type::bf16x2) {
    // Each half has its own result.
    const std::string_view half = type == Type::f16x2 ? "half" : "brain";
    const std::string flush = opcode.has("ftz") ? "true" : "false";
    const std::string a = body.value(operands[1], Type::b32), b = body.value(operands[2], Type::b32);
    const uint32_t n = body.next_number();
    body.put(
        "{{ const u32 a{0} = {1}, b{0} = {2}; bool h{0}[2]; for (u32 i = 0; i < 2; ++i) {{ "
        "const f32 x = {3}::wide(flushed_half<{3}, {4}>((u16)(a{0} >> 16 * i))), "
        "y = {3}::wide(flushed_half<{3}, {4}>((u16)(b{0} >> 16 * i))); h{0}[i] = {5}{6}; }} ",
        n, a, b, half, flush, compare_floats(comparison_of(opcode), "x", "y"), tail);
    const auto pieces = to.is(Operand::Kind::pair) ? std::span<const Operand>(to.parts) : std::span(&to, 1);
    for (uint32_t i = 0; i < pieces.size(); ++i) body.set_predicate(pieces[i], fmt::format("h{}[{}]", n, i));
    body.put(" }}");
    return;
  }
  const bool block = is_float(type) || to.is(Operand::Kind::pair);
  if (block) body.put("{{ ");
  const std::string result = compare(body, instruction);
  if (!to.is(Operand::Kind::pair)) {
    body.set_predicate(to, result + tail);
  } else {
    const uint32_t n = body.next_number();
    body.put("const bool c{0} = {1}, d{0} = c{0}{2}, e{0} = !c{0}{2}; ", n, result, tail);
    body.set_predicate(to.parts[0], fmt::format("d{}", n));
    body.set_predicate(to.parts[1], fmt::format("e{}", n));
  }
  if (block) body.put(" }}");
}

void emit_set(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& operands = instruction.operands;
  const std::string_view with = combination(opcode);
  Type to = Type::none;
  for (size_t i = 1; i < opcode.parts.size() && to == Type::none; ++i) to = type_named(opcode.parts[i]);
  body.put("{{ ");
  const std::string result = compare(body, instruction);
  const std::string all = with.empty() ? result : fmt::format("({} {} {})", result, with, body.predicate(operands[3]));
  if (to == Type::f32)
    body.set(operands[0], Type::f32, fmt::format("({} ? 1.0f : 0.0f)", all));
  else
    body.set(operands[0], Type::u32, fmt::format("{} ? ~0u : 0u", all));
  body.put(" }}");
}

void emit_move(Body& body, const Instruction& instruction) {
  const Type type = as_bits(instruction.op().last_type());
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  const uint32_t width = bits(type);
  if (to.is(Operand::Kind::vector)) {  // taken apart
    const auto count = static_cast<uint32_t>(to.parts.size());
    if (count != 2 && count != 4 && count != 8) return body.fail("mov takes two, four or eight pieces");
    const uint32_t n = body.next_number();
    body.put("{{ const {} m{} = {}; ", c_type(type), n, body.value(from, type));
    for (uint32_t i = 0; i < count; ++i) {
      if (!Body::wanted(to.parts[i])) continue;
      const uint32_t shift = i * width / count;
      const Type piece = width / count == 64   ? Type::b64
                         : width / count == 32 ? Type::b32
                         : width / count == 16 ? Type::b16
                                               : Type::b8;
      const std::string source =
          width == 128 ? fmt::format("m{}.q[{}] >> {}", n, shift / 64, shift % 64) : fmt::format("m{} >> {}", n, shift);
      body.set(to.parts[i], piece, source);
      body.put(" ");
    }
    return body.put("}}");
  }
  if (from.is(Operand::Kind::vector)) {  // put together
    const auto count = static_cast<uint32_t>(from.parts.size());
    const uint32_t each = width / std::max(count, 1u);
    if (each != 8 && each != 16 && each != 32 && each != 64) return body.fail("mov takes two, four or eight pieces");
    const Type piece = each == 64 ? Type::b64 : each == 32 ? Type::b32 : each == 16 ? Type::b16 : Type::b8;
    const auto sum = [&](uint32_t begin, uint32_t end) {
      std::string text;
      for (uint32_t i = begin; i < end; ++i) {
        if (i != begin) text += " | ";
        text += fmt::format("(u64){}", body.value(from.parts[i], piece));
        if (i != begin) text += fmt::format(" << {}", (i - begin) * each);
      }
      return text;
    };
    if (width == 128)
      return body.set(to, Type::b128, fmt::format("b128{{{{{}, {}}}}}", sum(0, count / 2), sum(count / 2, count)));
    return body.set(to, type, sum(0, count));
  }
  body.set(to, type, body.value(from, type));
}

void emit_min_max_f32(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& operands = instruction.operands;
  const std::string function = fmt::format("{}_f32<{}, {}>", opcode.base(), opcode.has("ftz"), opcode.has("NaN"));
  std::string code =
      fmt::format("{}({}, {})", function, body.value(operands[1], Type::f32), body.value(operands[2], Type::f32));
  if (operands.size() > 3) code = fmt::format("{}({}, {})", function, code, body.value(operands[3], Type::f32));
  body.set(operands[0], Type::f32, code);
}

void emit_cvt_pack(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const std::string_view to = opcode.part(3);  // u8, s4, ...
  const auto& operands = instruction.operands;
  body.set(
      operands[0], Type::b32,
      fmt::format("pack_clamped<{}, {}>({}, {}, {})", to.substr(1), to[0] == 's', body.value(operands[1], Type::s32),
                  body.value(operands[2], Type::s32), operands.size() > 3 ? body.value(operands[3], Type::b32) : "0u"));
}

}  // namespace warploom::ptx
