#include "ptx/forms.hpp"

#include <algorithm>
#include <unordered_map>

#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

/// One part of a pattern: what it may be, and whether it may be left out.
struct Part {
  std::vector<std::string_view> choices;
  bool optional = false;

  bool takes(std::string_view part) const {
    return std::ranges::any_of(choices, [&](std::string_view choice) {
      if (choice.ends_with('*')) return part.starts_with(choice.substr(0, choice.size() - 1));
      return part == choice;
    });
  }
};

std::vector<Part> parts_of(std::string_view pattern) {
  std::vector<Part> parts;
  while (!pattern.empty()) {
    Part part;
    size_t end = 0;
    if (pattern.front() == '{') {
      end = pattern.find('}');
      std::string_view choices = pattern.substr(1, end - 1);
      while (!choices.empty()) {
        const size_t comma = std::min(choices.find(','), choices.size());
        part.choices.push_back(choices.substr(0, comma));
        choices.remove_prefix(std::min(comma + 1, choices.size()));
      }
      ++end;
    } else {
      end = std::min(pattern.find_first_of(".?"), pattern.size());
      part.choices.emplace_back(pattern.data(), end);
    }
    part.optional = end < pattern.size() && pattern[end] == '?';
    if (part.optional) ++end;
    if (end < pattern.size()) ++end;  // the dot
    pattern.remove_prefix(end);
    parts.push_back(std::move(part));
  }
  return parts;
}

bool match(std::span<const Part> pattern, std::span<const std::string_view> parts) {
  if (pattern.empty()) return parts.empty();
  if (!parts.empty() && pattern[0].takes(parts[0]) && match(pattern.subspan(1), parts.subspan(1))) return true;
  return pattern[0].optional && match(pattern.subspan(1), parts);
}

void spell(std::span<const Part> pattern, const std::string& so_far, std::vector<std::string>& all) {
  if (pattern.empty()) {
    all.push_back(so_far);
    return;
  }
  if (pattern[0].optional) spell(pattern.subspan(1), so_far, all);
  for (const std::string_view choice : pattern[0].choices) {
    std::string longer = so_far;
    if (!longer.empty()) longer += '.';
    longer += choice;
    spell(pattern.subspan(1), longer, all);
  }
}

struct Row {
  const Form* form;
  std::vector<Part> parts;
};
struct Table {
  std::vector<Form> forms;
  std::unordered_map<std::string_view, std::vector<Row>> by_base;
};
const Table& table() {
  static const Table made = [] {
    Table all;
    for (const auto part : {integer_forms(), float_forms(), conversion_forms(), memory_forms(), control_forms(),
                            barrier_forms(), copy_forms(), tensor_forms()})
      all.forms.insert(all.forms.end(), part.begin(), part.end());
    for (const Form& form : all.forms) {
      Row row{&form, parts_of(form.pattern)};
      all.by_base[row.parts.front().choices.front()].push_back(std::move(row));
    }
    return all;
  }();
  return made;
}

Type first_type(const Opcode& opcode) {
  for (size_t i = 1; i < opcode.parts.size(); ++i)
    if (const Type type = type_named(opcode.parts[i]); type != Type::none) return type;
  return Type::none;
}

Type resolve(std::string_view which, const Opcode& opcode) {
  const Type last = opcode.last_type();
  if (which.empty()) return last;
  if (which == "0") return first_type(opcode);
  if (which == "0b") return as_bits(first_type(opcode));
  if (which == "b") return as_bits(last);
  if (which == "s") return as_signed(last);
  if (which == "u") return as_unsigned(last);
  if (which == "w") return as_wide(last);
  return type_named(which);
}

OperandSpec spec_of(std::string_view word, const Opcode& opcode) {
  OperandSpec spec;
  if (word.ends_with('?')) {
    spec.optional = true;
    word.remove_suffix(1);
  }
  size_t dot = 0;  // not find(): g++ 12 warns of a length that cannot be
  while (dot < word.size() && word[dot] != '.') ++dot;
  const std::string_view kind = word.substr(0, dot);
  spec.type = resolve(dot < word.size() ? word.substr(dot + 1) : std::string_view{}, opcode);
  const auto be = [&](Shape shape, Use use) {
    spec.shape = shape;
    spec.use = use;
  };
  if (kind == "d") be(Shape::value, Use::write);
  if (kind == "a") be(Shape::value, Use::read);
  if (kind == "p") be(Shape::predicate, Use::read);
  if (kind == "P") be(Shape::predicate, Use::write);
  if (kind == "PP" || kind == "dP") be(Shape::pair, Use::write);
  if (kind == "PP") spec.type = Type::pred;
  if (kind == "p" || kind == "P") spec.type = Type::pred;
  if (kind == "v") be(Shape::vector, Use::read);
  if (kind == "V") be(Shape::vector, Use::write);
  if (kind == "C") be(Shape::vector, Use::async_read_write);
  if (kind == "D") be(Shape::vector, Use::async_write);
  if (kind == "R") be(Shape::vector, Use::async_read);
  if (kind == "m") be(Shape::address, Use::read);
  if (kind == "i") be(Shape::immediate, Use::none);
  if (kind == "l") be(Shape::label, Use::none);
  if (kind == "c") be(Shape::call, Use::read);
  return spec;
}

bool fits(const OperandSpec& spec, const Operand& operand) {
  using Kind = Operand::Kind;
  switch (spec.shape) {
    case Shape::address: return operand.is(Kind::address);
    case Shape::immediate: return operand.is(Kind::immediate);
    case Shape::label: return operand.is(Kind::label);
    case Shape::call: return true;
    case Shape::pair: return operand.is(Kind::pair) || operand.is(Kind::reg) || operand.is(Kind::sink);
    case Shape::predicate: return operand.is(Kind::reg) || operand.is(Kind::sink) || operand.is(Kind::immediate);
    case Shape::vector: return !operand.is(Kind::address) && !operand.is(Kind::pair) && !operand.is(Kind::label);
    case Shape::value:
      if (spec.use == Use::write) return operand.is(Kind::reg) || operand.is(Kind::sink);
      // tcgen05.mma takes A from tensor memory, too
      return !operand.is(Kind::vector) && !operand.is(Kind::pair) && !operand.is(Kind::label);
  }
  return false;
}

/// Leaves out optional operands until what is left fits.
bool assign(std::span<const OperandSpec> specs, std::span<const Operand> operands, std::vector<OperandSpec>& out) {
  if (specs.empty()) return operands.empty();
  if (specs.size() < operands.size()) return false;
  if (!operands.empty() && fits(specs[0], operands[0])) {
    out.push_back(specs[0]);
    if (assign(specs.subspan(1), operands.subspan(1), out)) return true;
    out.pop_back();
  }
  return specs[0].optional && assign(specs.subspan(1), operands, out);
}

std::vector<OperandSpec> specs_of(const Form& form, const Opcode& opcode) {
  std::vector<OperandSpec> specs;
  std::string_view words = form.operands;
  while (!words.empty()) {
    const size_t space = std::min(words.find(' '), words.size());
    specs.push_back(spec_of(words.substr(0, space), opcode));
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return specs;
}

void add_read(const Operand& operand, uint32_t index, uint32_t element, std::vector<RegisterUse>& uses) {
  if (operand.is_register()) uses.push_back({operand.index, Use::read, index, element});
  for (const Operand& part : operand.parts) add_read(part, index, element++, uses);
}

void add_uses(const OperandSpec& spec, const Operand& operand, uint32_t index, std::vector<RegisterUse>& uses) {
  if (spec.shape == Shape::address || operand.is(Operand::Kind::address)) return add_read(operand, index, 0, uses);
  if (operand.is_register()) {
    // A register in the place of wgmma's A operand is a descriptor.
    const bool descriptor = spec.use == Use::async_read;
    uses.push_back({operand.index, descriptor ? Use::read : spec.use, index, 0});
    return;
  }
  for (uint32_t i = 0; i < operand.parts.size(); ++i)
    if (operand.parts[i].is_register()) uses.push_back({operand.parts[i].index, spec.use, index, i});
}

struct Refusal {
  std::string_view base, sentence;
};
constexpr Refusal refusals[] = {
    {"brx", "jumps through a table of labels are not translated"},
    {"tex", "textures are not translated"},
    {"tld4", "textures are not translated"},
    {"txq", "textures are not translated"},
    {"suld", "surfaces are not translated"},
    {"sust", "surfaces are not translated"},
    {"sured", "surfaces are not translated"},
    {"suq", "surfaces are not translated"},
    {"wmma", "wmma is not translated; kernels for sm_90a and sm_100a use wgmma and tcgen05"},
    {"mma", "mma.sync is not translated; kernels for sm_90a and sm_100a use wgmma and tcgen05"},
    {"alloca", "allocation on the stack is not translated"},
    {"stacksave", "allocation on the stack is not translated"},
    {"stackrestore", "allocation on the stack is not translated"},
    {"vadd", "video instructions are not translated"},
    {"vsub", "video instructions are not translated"},
    {"vabsdiff", "video instructions are not translated"},
    {"vmin", "video instructions are not translated"},
    {"vmax", "video instructions are not translated"},
    {"multimem", "multimem needs several devices"},
};

}  // namespace

std::span<const Form> forms() { return table().forms; }

const Form* find_form(const Opcode& opcode) {
  const auto rows = table().by_base.find(opcode.base());
  if (rows == table().by_base.end()) return nullptr;
  for (const Row& row : rows->second)
    if (match(row.parts, opcode.parts)) return row.form;
  return nullptr;
}

bool matches(std::string_view pattern, const Opcode& opcode) { return match(parts_of(pattern), opcode.parts); }

std::vector<std::string> spellings(std::string_view pattern) {
  std::vector<std::string> all;
  spell(parts_of(pattern), {}, all);
  return all;
}

std::vector<OperandSpec> operands_of(const Form& form, const Opcode& opcode) { return specs_of(form, opcode); }

std::string why_not(const Module& module, const Instruction& instruction) {
  (void)module;
  const Opcode& opcode = instruction.op();
  const Form* form = find_form(opcode);
  if (form == nullptr) {
    for (const Refusal& refusal : refusals)
      if (opcode.base() == refusal.base) return opcode.text + ": " + std::string(refusal.sentence);
    return opcode.text + ": the translator has no such instruction, or not in this form";
  }
  std::vector<OperandSpec> specs;
  if (!assign(specs_of(*form, opcode), instruction.operands, specs))
    return opcode.text + ": these operands are not what this instruction takes";
  return {};
}

std::vector<RegisterUse> registers_of(const Form& form, const Instruction& instruction) {
  std::vector<RegisterUse> uses;
  std::vector<OperandSpec> specs;
  if (!assign(specs_of(form, instruction.op()), instruction.operands, specs)) return uses;
  if (!specs.empty() && specs[0].shape == Shape::call) {
    // Results are in front of the function, where there are any, and the rest are arguments.
    const auto& operands = instruction.operands;
    const bool results = operands[0].is(Operand::Kind::list);
    for (uint32_t i = 0; i < operands.size(); ++i)
      for (uint32_t k = 0; k < operands[i].parts.size(); ++k)
        if (operands[i].parts[k].is_register())
          uses.push_back({operands[i].parts[k].index, results && i == 0 ? Use::write : Use::read, i, k});
    return uses;
  }
  for (uint32_t i = 0; i < specs.size(); ++i) add_uses(specs[i], instruction.operands[i], i, uses);
  return uses;
}

bool is_pure(const Form& form) {
  return form.operation.empty() && form.emit != emit_call && form.emit != emit_branch && form.emit != emit_return;
}

}  // namespace warploom::ptx
