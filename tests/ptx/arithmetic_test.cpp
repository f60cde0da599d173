// Every arithmetic form of the table against the model: random well-formed programs, translated, run, compared. One
// module has them all, so that the compiler runs once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "arithmetic_floats.hpp"
#include "arithmetic_model.hpp"
#include "ptx/forms.hpp"
#include "ptx/program.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::ptx {
namespace {

constexpr uint32_t threads = 32, ctas = 8, lanes = threads * ctas, slots = 6;

uint64_t state = 1;
uint64_t next_random() {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// An instruction of the program, and where its operands come from.
struct Operation {
  Opcode opcode;
  std::vector<Type> inputs;
  uint64_t immediate = 0;
  bool writes_pair = false;
};

Opcode opcode_of(const std::string& text) {
  Opcode opcode;
  opcode.text = text;
  return opcode;
}
void take_apart(Opcode& opcode) {  // where it will stay
  opcode.parts.clear();
  std::string_view rest = opcode.text;
  for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
    opcode.parts.push_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  opcode.parts.push_back(rest);
}

std::string_view register_class(Type type) {
  if (type == Type::pred) return "%p";
  const uint32_t width = bits(type);
  return width == 64 ? "%x" : width == 32 ? "%r" : "%h";
}

/// One instruction with its loads and stores, as PTX.
void write(std::string& text, Operation& operation, const Form& form, size_t index) {
  std::string list;
  std::string after;
  size_t in = 0;
  const auto store = [&](size_t result, std::string_view from, Type type) {
    if (type == Type::pred)
      after += fmt::format("selp.u64 %o{}, 1, 0, {};\n", result, from);
    else if (bits(type) == 64)
      after += fmt::format("mov.b64 %o{}, {};\n", result, from);
    else
      after += fmt::format("cvt.u64.u{} %o{}, {};\n", bits(type) == 32 ? 32 : 16, result, from);
    after += fmt::format("st.global.b64 [%out+{}], %o{};\n", (index * 2 + result) * lanes * 8, result);
  };
  for (const OperandSpec& spec : operands_of(form, operation.opcode)) {
    if (!list.empty()) list += ", ";
    if (spec.use == Use::write && spec.shape == Shape::pair) {
      list += fmt::format("{}6|%p7", spec.type == Type::pred ? "%p" : "%r");
      store(0, spec.type == Type::pred ? "%p6" : "%r6", spec.type == Type::pred ? Type::pred : Type::b32);
      store(1, "%p7", Type::pred);
      operation.writes_pair = true;
    } else if (spec.use == Use::write) {
      const Type type =
          spec.shape == Shape::predicate || operation.opcode.last_type() == Type::pred ? Type::pred : spec.type;
      const std::string to = fmt::format("{}6", register_class(type));
      list += to;
      store(0, to, type);
    } else if (spec.shape == Shape::immediate) {
      operation.immediate = next_random() & 255;
      list += fmt::format("{}", operation.immediate);
    } else {
      if (spec.optional) {
        list.resize(list.size() - 2);
        continue;
      }
      const Type type = spec.shape == Shape::predicate ? Type::pred : spec.type;
      operation.inputs.push_back(type);
      const std::string_view kind = register_class(type);
      text += fmt::format("ld.global.b64 %o2, [%in+{}];\n", (index * slots + in) * lanes * 8);
      if (type == Type::pred)
        text += fmt::format("setp.ne.u64 %p{}, %o2, 0;\n", in);
      else if (kind == "%x")
        text += fmt::format("mov.b64 %x{}, %o2;\n", in);
      else
        text += fmt::format("cvt.u{}.u64 {}{}, %o2;\n", kind == "%r" ? 32 : 16, kind, in);
      list += fmt::format("{}{}", kind, in++);
    }
  }
  text += fmt::format("{} {};\n{}", operation.opcode.text, list, after);
}

struct Case {
  std::deque<Operation> operations;
  std::string text;
};

/// One kernel with everything would take the compiler minutes.
constexpr size_t of_kernel = 24;

void begin_kernel(std::string& text, size_t number) {
  text += fmt::format(
      ".visible .entry arithmetic_{}(.param .u64 inputs, .param .u64 outputs) {{\n"
      ".reg .b64 %x<8>; .reg .b32 %r<8>; .reg .b16 %h<8>; .reg .pred %p<8>; .reg .b64 %o<4>; .reg .b64 %in, %out;\n"
      ".reg .b32 %lane;\n"
      "ld.param.u64 %in, [inputs];\nld.param.u64 %out, [outputs];\n"
      "mov.u32 %lane, %ctaid.x;\nmov.u32 %r0, %tid.x;\nmad.lo.u32 %lane, %lane, 32, %r0;\n"
      "mul.wide.u32 %o0, %lane, 8;\nadd.u64 %in, %in, %o0;\nadd.u64 %out, %out, %o0;\n",
      number);
}

/// At most so many spellings of each form, others with each seed.
Case make(size_t of_each) {
  Case made;
  made.text = ".version 8.8\n.target sm_100a\n.address_size 64\n";
  for (const auto part : {integer_forms(), float_forms(), conversion_forms()})
    for (const Form& row : part) {
      const std::vector<std::string> all = spellings(row.pattern);
      const size_t step = std::max<size_t>(1, all.size() / of_each);
      for (size_t i = next_random() % step; i < all.size(); i += step) {
        Operation operation{opcode_of(all[i]), {}, 0, false};
        take_apart(operation.opcode);
        if (operation.opcode.has("b128") || !model::evaluate(operation.opcode, {}, 0)) continue;
        made.operations.push_back(std::move(operation));
        Operation& stays = made.operations.back();
        take_apart(stays.opcode);
        const Form* form = find_form(stays.opcode);
        EXPECT_NE(form, nullptr) << all[i];
        if (form == nullptr) return made;
        const size_t index = made.operations.size() - 1;
        if (index % of_kernel == 0) begin_kernel(made.text, index / of_kernel);
        write(made.text, stays, *form, index);
        if (index % of_kernel == of_kernel - 1) made.text += "ret;\n}\n";
      }
    }
  if (made.operations.size() % of_kernel != 0) made.text += "ret;\n}\n";
  return made;
}

bool is_nan(uint64_t value, Type type) {
  return is_float(type) && std::isnan(model::decode(value, model::format_of(type)));
}

/// "" or how they differ.
std::string difference(const Operation& operation, const model::Answer& wanted, uint64_t got, uint64_t second) {
  const std::string_view base = operation.opcode.base();
  if (wanted.tolerance != 0) {
    float value = 0;
    std::memcpy(&value, &got, 4);
    if (std::isnan(wanted.truth)) return std::isnan(value) ? "" : "a number, not NaN";
    const double truth = wanted.truth;
    if (std::fabs(truth) >= 0x1p128)
      return std::isinf(value) && std::signbit(value) == std::signbit(truth) ? "" : "no infinity";
    const double allowed =
        wanted.tolerance * 0x1p-22 * (base == "sin" || base == "cos" ? 1 : std::fabs(truth)) + 0x1.1p-126;
    return std::fabs(value - truth) <= allowed || (std::isinf(value) && std::fabs(truth) > 0x1.fffff0p127)
               ? ""
               : fmt::format("{} instead of {}", value, truth);
  }
  // A NaN of f64 may be any.
  const Type type = base == "cvt" ? type_named(operation.opcode.parts[operation.opcode.parts.size() - 2])
                                  : operation.opcode.last_type();
  if (base != "mov" && type == Type::f64 && is_nan(got, type) && is_nan(wanted.value, type)) return {};
  if (got != wanted.value) return fmt::format("0x{:x} instead of 0x{:x}", got, wanted.value);
  if (wanted.second && second != *wanted.second) return fmt::format("the second result is {}", second);
  return {};
}

void compare(uint64_t seed, size_t of_each) {
  state = seed;
  const Case program_text = make(of_each);
  ASSERT_GT(program_text.operations.size(), 300u);
  Program program(program_text.text, "/arithmetic.ptx");
  const size_t count = program_text.operations.size();
  std::vector<uint64_t> inputs(count * slots * lanes), outputs(count * 2 * lanes);
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < program_text.operations[k].inputs.size(); ++i)
      for (size_t lane = 0; lane < lanes; ++lane) {
        const Type type = program_text.operations[k].inputs[i];
        inputs[(k * slots + i) * lanes + lane] =
            type == Type::pred ? next_random() & 1 : model::random_operand(next_random, type);
      }
  const loom::TensorRef tensors[] = {{inputs.data(), inputs.size() * 8, loom::Access::read, "inputs"},
                                     {outputs.data(), outputs.size() * 8, loom::Access::write, "outputs"}};
  LaunchRequest request{.grid = {ctas}, .block = {threads}};
  request.parameters.resize(16);
  const void* const pointers[] = {inputs.data(), outputs.data()};
  std::memcpy(request.parameters.data(), pointers, 16);
  for (size_t k = 0; k * of_kernel < count; ++k) {
    const Result<const abi::Kernel*> kernel = program.kernel(fmt::format("arithmetic_{}", k));
    ASSERT_TRUE(kernel) << kernel.error();
    const loom::Outcome outcome = launch(program, **kernel, request, tensors, {});
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  }

  size_t wrong = 0, compared = 0;
  for (size_t k = 0; k < count; ++k) {
    const Operation& operation = program_text.operations[k];
    bool told = false;
    for (size_t lane = 0; lane < lanes; ++lane) {
      model::Inputs in = {};
      for (size_t i = 0; i < operation.inputs.size(); ++i) in[i] = inputs[(k * slots + i) * lanes + lane];
      const auto wanted = model::evaluate(operation.opcode, in, operation.immediate);
      if (!wanted) continue;
      ++compared;
      const std::string how =
          difference(operation, *wanted, outputs[k * 2 * lanes + lane], outputs[(k * 2 + 1) * lanes + lane]);
      if (how.empty() || told) continue;
      told = true;
      if (++wrong <= 40)
        ADD_FAILURE() << fmt::format("{} of 0x{:x}, 0x{:x}, 0x{:x}, 0x{:x} ({}): {}", operation.opcode.text, in[0],
                                     in[1], in[2], in[3], operation.immediate, how);
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << count << " instructions";
  EXPECT_GT(compared, count * lanes / 2);
}

TEST(Arithmetic, IsWhatTheModelSays) { compare(1, 3); }
TEST(ArithmeticFull, IsWhatTheModelSays) {
  for (uint64_t seed = 2; seed < 5; ++seed) compare(seed, 24);
}

}  // namespace
}  // namespace warploom::ptx
