// A function of the translation: its head, its registers, its instructions in their order.
#include <map>

#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

/// Puts operands and modifiers into the C++ of a row.
std::string expand(Body& body, const Form& form, const Instruction& instruction, std::span<const OperandSpec> specs) {
  const Opcode& opcode = instruction.op();
  std::string out;
  const std::string_view code = form.code;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] != '$') {
      out += code[i];
      continue;
    }
    const char c = code[++i];
    if (c >= '0' && c <= '9') {
      const auto at = static_cast<size_t>(c - '0');
      const Operand& operand = instruction.operands[at];
      if (specs[at].shape == Shape::predicate)
        out += body.predicate(operand);
      else if (specs[at].shape == Shape::immediate)
        out += fmt::format("{}", operand.bits & 0xffffffffu);
      else
        out += body.value(operand, specs[at].type);
    } else if (c == '(') {
      const size_t end = code.find(')', i);
      out += opcode.has(code.substr(i + 1, end - i - 1)) ? "true" : "false";
      i = end;
    } else if (c == 'T') {
      out += c_type(opcode.last_type());
    } else if (c == 'F' || c == 'E' || c == 'H') {
      Type first = Type::none;
      for (size_t k = 1; k < opcode.parts.size() && first == Type::none; ++k) first = type_named(opcode.parts[k]);
      if (c == 'F') out += c_type(first);
      if (c == 'H') out += first == Type::bf16 || first == Type::bf16x2 ? "brain" : "half";
      if (c == 'E') {  // the narrow one of the two
        for (size_t k = 1; k < opcode.parts.size(); ++k)
          if (const std::string_view part = opcode.parts[k]; part.starts_with('e') && part.ends_with("x2"))
            out += part.substr(0, part.size() - 2);
      }
    } else if (c == 'R') {
      out += rounding_of(opcode);
    } else if (c == 'M') {  // what is no type
      for (size_t k = 1; k < opcode.parts.size(); ++k)
        if (type_named(opcode.parts[k]) == Type::none) {
          out += opcode.parts[k];
          break;
        }
    }
  }
  return out;
}

}  // namespace

void Body::write_head() {
  if (is_entry()) {
    put("static void {}(const void* launch) {{\n", function_name(module, index_of(module, function)));
    put("[[maybe_unused]] const Launch* const L = static_cast<const Launch*>(launch);\n"
        "[[maybe_unused]] const u64 P = reinterpret_cast<u64>(L->parameters);\n");
  } else {
    put("{} {{\n", signature(module, function));
  }
  std::map<std::string_view, std::vector<uint32_t>> by_type;
  for (uint32_t reg = 0; reg < function.registers.size(); ++reg)
    if (plan.places[reg].group == no_index) by_type[register_type(function.registers[reg].type)].push_back(reg);
  for (const auto& [type, registers] : by_type) {
    put("[[maybe_unused]] {} ", type);
    const std::string_view zero = type == "b128" ? "{}" : "{0}";
    for (size_t i = 0; i < registers.size(); ++i) put("{}{}{}", i == 0 ? "" : ", ", name(registers[i]), zero);
    put(";\n");
  }
  for (uint32_t g = 0; g < plan.groups.size(); ++g) {
    put("Fragment<{}> fragment_{};\n", plan.groups[g].registers.size(), g);
    if (plan.groups[g].copied) put("bool pending_{} = false;\n", g);
  }
  const uint32_t self = index_of(module, function);
  for (uint32_t v = 0; v < module.variables.size(); ++v) {
    const Variable& variable = module.variables[v];
    if (variable.function == self && (variable.space == Space::local || variable.space == Space::param))
      put("alignas({}) [[maybe_unused]] u8 {}[{}];\n", std::max(variable.align, 1u), variable_name(module, v),
          std::max<uint64_t>(variable.bytes, 1));
  }
  put("[[maybe_unused]] u32 carry = 0;\n");
  if (!is_entry())
    for (uint32_t i = 0; i < function.parameters.size(); ++i)
      if (const Parameter& parameter = function.parameters[i]; parameter.in_register)
        put("std::memcpy(&{}, a{}, {});\n", name(parameter.register_index), i, parameter.bytes);
}

void Body::write_checks(uint32_t index) {
  for (const uint32_t group : plan.checks[index]) put("fragment_{}.touch(); ", group);
}

void Body::write_instruction(uint32_t index) {
  const Instruction& instruction = function.body[index];
  const Form* form = find_form(instruction.op());
  if (const std::string sentence = why_not(module, instruction); !sentence.empty() || form == nullptr)
    return fail(sentence);
  if (instruction.guard != no_index)
    put("if ({}{}) {{ ", instruction.guard_negated ? "!" : "", name(instruction.guard));
  write_checks(index);
  if (form->emit != nullptr) {
    form->emit(*this, instruction);
  } else {
    const std::vector<OperandSpec> specs = operands_of(*form, instruction.op());
    const std::string code = expand(*this, *form, instruction, specs);
    if (specs[0].shape == Shape::predicate)
      set_predicate(instruction.operands[0], code);
    else
      set(instruction.operands[0], specs[0].type, code);
  }
  if (instruction.guard != no_index) put(" }}");
  put("\n");
}

void Body::write() {
  put("#line {} \"{}\"\n", std::max(function.line, 1u), module.name);
  write_head();
  size_t label = 0;
  uint32_t line = 0;
  const auto labels_at = [&](uint32_t index) {
    for (; label < function.labels.size() && function.labels[label].target == index; ++label) {
      put("l{}:;\n", label);
      ++line;
    }
  };
  for (uint32_t i = 0; i < function.body.size() && failure.empty(); ++i) {
    labels_at(i);
    if (plan.dropped.contains(i)) continue;
    const Instruction& instruction = function.body[i];
    if (instruction.line != line) put("#line {} \"{}\"\n", instruction.line, module.name);
    line = instruction.line + 1;
    write_instruction(i);
    if (!failure.empty()) failure = fmt::format("{}:{}: {}", module.name, instruction.line, failure);
  }
  labels_at(static_cast<uint32_t>(function.body.size()));
  put("}}\n");
}

}  // namespace warploom::ptx
