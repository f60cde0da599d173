// What describe.cpp tells of a module.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ptx/describe.hpp"
#include "ptx/plan.hpp"

namespace warploom::ptx {
namespace {

/// Variables and functions that a function names.
struct Names {
  std::set<uint32_t> variables, functions;

  void add(const Operand& operand) {
    if (operand.is(Operand::Kind::variable)) variables.insert(operand.index);
    if (operand.is(Operand::Kind::function)) functions.insert(operand.index);
    for (const Operand& part : operand.parts) add(part);
  }
};

/// Those of a function and of all that it may call.
Names names_of(const Module& module, uint32_t function) {
  Names all;
  std::vector<uint32_t> todo{function};
  std::set<uint32_t> seen;
  while (!todo.empty()) {
    const uint32_t next = todo.back();
    todo.pop_back();
    if (!seen.insert(next).second) continue;
    Names own;
    for (const Instruction& instruction : module.functions[next].body)
      for (const Operand& operand : instruction.operands) own.add(operand);
    all.variables.merge(own.variables);
    todo.insert(todo.end(), own.functions.begin(), own.functions.end());
    if (module.functions[next].alias_of != no_index) todo.push_back(module.functions[next].alias_of);
  }
  return all;
}

FunctionFacts facts_of(const Module& module, uint32_t index) {
  const Function& function = module.functions[index];
  FunctionFacts facts;
  facts.function = &function;
  std::map<Type, uint64_t> registers;
  for (const Register& reg : function.registers) ++registers[reg.type];
  facts.registers.assign(registers.begin(), registers.end());
  const auto aligned = [](uint64_t bytes, uint32_t align) { return (bytes + align - 1) / align * align; };
  for (const uint32_t number : names_of(module, index).variables) {
    const Variable& variable = module.variables[number];
    if (variable.space == Space::local) facts.local = aligned(facts.local, variable.align) + variable.bytes;
    if (variable.space != Space::shared) continue;
    facts.dynamic_shared = facts.dynamic_shared || variable.unsized;
    if (!variable.unsized) facts.static_shared = aligned(facts.static_shared, variable.align) + variable.bytes;
  }
  std::set<const Opcode*> forms;
  for (const Instruction& instruction : function.body) forms.insert(instruction.opcode);
  facts.forms = forms.size();
  const Plan plan = plan_of(module, function);
  for (const WaitLoop wait : plan.waits) {
    facts.waits += wait == WaitLoop::parks || wait == WaitLoop::parks_before_wgmma ? 1 : 0;
    facts.polls += wait == WaitLoop::poll ? 1 : 0;
  }
  facts.loads_without_wait = plan.loads_without_wait.size();
  facts.failure = plan.failure;
  return facts;
}

}  // namespace

ModuleFacts facts_of(const Module& module, const Refusal& refusal) {
  ModuleFacts facts;
  std::map<std::string_view, uint64_t> counts;
  std::map<std::pair<std::string_view, std::string>, size_t> known;
  for (const bool kernels : {true, false}) {
    for (uint32_t i = 0; i < module.functions.size(); ++i) {
      const Function& function = module.functions[i];
      if (!function.defined || function.entry != kernels) continue;
      facts.functions.push_back(facts_of(module, i));
      for (const Instruction& instruction : function.body) {
        ++counts[instruction.op().text];
        std::string why = refusal ? refusal(module, instruction) : std::string();
        if (why.empty()) continue;
        const auto [place, is_new] = known.try_emplace({instruction.op().text, why}, facts.unsupported.size());
        if (is_new) facts.unsupported.push_back({instruction.line, 0, instruction.op().text, std::move(why)});
        Unsupported& entry = facts.unsupported[place->second];
        ++entry.count;
        entry.line = std::min(entry.line, instruction.line);
      }
    }
  }
  for (const auto& [form, count] : counts) facts.forms.push_back({form, count});
  std::ranges::stable_sort(facts.forms, std::ranges::greater{}, &FormCount::count);
  std::ranges::stable_sort(facts.unsupported, {}, &Unsupported::line);
  return facts;
}

}  // namespace warploom::ptx
