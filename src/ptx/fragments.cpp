#include "ptx/fragments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "ptx/bit_sets.hpp"
#include "ptx/effects.hpp"

namespace warploom::ptx {
namespace {

bool is_wgmma(const Instruction& instruction) { return instruction.op().is("wgmma", "mma_async"); }
bool is_asynchronous(const Instruction& instruction) {
  return is_wgmma(instruction) || is_tensor_memory_load(instruction);
}

std::vector<uint32_t> registers_of(const Operand& operand) {
  std::vector<uint32_t> registers;
  const auto one = [&](const Operand& element) {
    registers.push_back(element.is_register() ? element.index : no_index);
  };
  if (operand.is(Operand::Kind::vector))
    for (const Operand& element : operand.parts) one(element);
  else
    one(operand);
  return registers;
}

/// How many instructions write each register.
std::vector<uint32_t> counts_of_writes(const Function& function) {
  std::vector<uint32_t> counts(function.registers.size(), 0);
  for (const Instruction& instruction : function.body)
    for_each_written(instruction, [&](uint32_t reg) { ++counts[reg]; });
  return counts;
}

bool comes_before(const Graph& graph, uint32_t first, uint32_t second) {
  const uint32_t a = graph.block_of(first), b = graph.block_of(second);
  if (a == b) return first < second;
  return graph.reached(a) && graph.reached(b) && graph.dominates(a, b);
}

/// No compiler writes such a function, a few megabytes of text can have it: then nothing is known, which costs speed
/// alone.
bool is_too_large(const Graph& graph, size_t items) { return graph.blocks().size() * items > uint64_t{1} << 31U; }

/// Runs `step(state, instruction)` over every block until nothing changes; the sets then hold what is true at the
/// block's beginning.
template <class Step>
BitSets forward(const Graph& graph, size_t items, std::span<const uint32_t> at_start, Step step) {
  const size_t blocks = graph.blocks().size();
  BitSets sets(blocks + 1, items);
  const size_t state = blocks;
  for (const uint32_t item : at_start) sets.add(0, item);
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t block : graph.order()) {
      sets.copy(state, block);
      for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i) step(sets, state, i);
      for (const uint32_t next : graph.block(block).successors) changed = sets.include(next, state) || changed;
    }
  }
  return sets;
}

}  // namespace

bool is_tensor_memory_load(const Instruction& instruction) {
  return instruction.op().is("tcgen05", "ld") && !instruction.operands.empty();
}

bool is_tensor_memory_load_wait(const Instruction& instruction) { return instruction.op().is("tcgen05", "wait::ld"); }

void find_groups(const Function& function, Plan& plan) {
  plan.places.assign(function.registers.size(), {});
  plan.group_of.assign(function.body.size(), {});
  std::map<std::vector<uint32_t>, uint32_t> known;
  const auto group_of = [&](uint32_t instruction, size_t operand, bool tensor_memory) {
    std::vector<uint32_t> registers = registers_of(function.body[instruction].operands[operand]);
    const auto [place, is_new] = known.try_emplace(registers, static_cast<uint32_t>(plan.groups.size()));
    if (is_new) plan.groups.push_back({std::move(registers), tensor_memory, false, function.body[instruction].line});
    plan.group_of[instruction].resize(function.body[instruction].operands.size());
    plan.group_of[instruction][operand].group = place->second;
  };
  // Accumulators first: they must have the array to themselves.
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (is_wgmma(function.body[i]) && !function.body[i].operands.empty()) group_of(i, 0, false);
  const size_t accumulators = plan.groups.size();
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    const Instruction& instruction = function.body[i];
    if (is_wgmma(instruction) && instruction.operands.size() > 1 && instruction.operands[1].is(Operand::Kind::vector))
      group_of(i, 1, false);
    if (is_tensor_memory_load(instruction)) group_of(i, 0, true);
  }

  for (uint32_t g = 0; g < plan.groups.size(); ++g) {
    FragmentGroup& group = plan.groups[g];
    std::vector<uint32_t> sorted = group.registers;
    std::erase(sorted, no_index);
    std::ranges::sort(sorted);
    const auto taken = std::ranges::find_if(sorted, [&](uint32_t reg) { return plan.places[reg].group != no_index; });
    const auto twice = std::ranges::adjacent_find(sorted);
    if (taken == sorted.end() && twice == sorted.end()) {
      for (uint32_t k = 0; k < group.registers.size(); ++k)
        if (group.registers[k] != no_index) plan.places[group.registers[k]] = {g, k};
      continue;
    }
    group.copied = true;
    if (g >= accumulators || !plan.failure.empty()) continue;
    const uint32_t reg = taken != sorted.end() ? *taken : *twice;
    plan.failure = taken != sorted.end()
                       ? fmt::format(
                             "{}: the register {} is in two different accumulator lists of wgmma, here and in line {}: "
                             "only whole lists can be "
                             "accumulated into again",
                             group.line, function.registers[reg].name, plan.groups[plan.places[reg].group].line)
                       : fmt::format("{}: the register {} is in this accumulator list twice", group.line,
                                     function.registers[reg].name);
  }
}

void find_copies(const Function& function, const Graph& graph, Plan& plan) {
  if (std::ranges::none_of(plan.groups, &FragmentGroup::tensor_memory)) return;
  const std::vector<uint32_t> writes = counts_of_writes(function);
  std::vector<uint32_t> written_at(function.registers.size(), no_index);
  std::vector<std::vector<uint32_t>> readers(function.registers.size());
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    for_each_written(function.body[i], [&](uint32_t reg) { written_at[reg] = i; });
    for_each_read(function.body[i], [&](uint32_t reg) { readers[reg].push_back(i); });
  }
  for (const uint32_t block : graph.order()) {
    for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i) {
      const Instruction& move = function.body[i];
      if (move.op().base() != "mov" || move.guard != no_index || move.operands.size() != 2) continue;
      if (!move.operands[0].is_register() || !move.operands[1].is_register()) continue;
      const uint32_t to = move.operands[0].index, from = move.operands[1].index;
      const FragmentPlace place = plan.places[from];
      if (place.group == no_index || !plan.groups[place.group].tensor_memory || plan.places[to].group != no_index)
        continue;
      if (bits(function.registers[from].type) != 32 || bits(function.registers[to].type) != 32) continue;
      if (writes[to] != 1 || writes[from] != 1 || !comes_before(graph, written_at[from], i)) continue;
      if (!std::ranges::all_of(readers[to], [&](uint32_t reader) { return comes_before(graph, i, reader); })) continue;
      plan.places[to] = place;
      plan.dropped.insert(i);
    }
  }
}

void find_loads_without_wait(const Function& function, const Graph& graph, Plan& plan) {
  std::vector<uint32_t> loads;
  std::vector<std::vector<uint32_t>> loads_of(function.registers.size());  // by the registers that they write
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    if (!is_tensor_memory_load(function.body[i])) continue;
    for (const uint32_t reg : registers_of(function.body[i].operands[0]))
      if (reg != no_index) loads_of[reg].push_back(static_cast<uint32_t>(loads.size()));
    loads.push_back(i);
  }
  if (loads.empty()) return;
  if (is_too_large(graph, loads.size())) {
    plan.loads_without_wait.insert(loads.begin(), loads.end());
    return;
  }
  // A copy of a register that is on its way stands for it.
  for (const uint32_t block : graph.order())
    for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i)
      if (plan.dropped.contains(i))
        loads_of[function.body[i].operands[0].index] = loads_of[function.body[i].operands[1].index];

  std::vector<uint32_t> number(function.body.size(), no_index);
  for (uint32_t k = 0; k < loads.size(); ++k) number[loads[k]] = k;
  const auto step = [&](BitSets& sets, size_t state, uint32_t i) {
    if (is_tensor_memory_load_wait(function.body[i]) && function.body[i].guard == no_index) sets.clear(state);
    if (number[i] != no_index) sets.add(state, number[i]);
  };
  BitSets sets = forward(graph, loads.size(), {}, step);
  const size_t state = graph.blocks().size();
  for (const uint32_t block : graph.order()) {
    sets.copy(state, block);
    for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i) {
      const auto touched = [&](uint32_t reg) {
        for (const uint32_t load : loads_of[reg])
          if (sets.has(state, load)) plan.loads_without_wait.insert(loads[load]);
      };
      if (!plan.dropped.contains(i)) {
        for_each_read(function.body[i], touched);
        if (number[i] == no_index) for_each_written(function.body[i], touched);
      }
      step(sets, state, i);
    }
  }
}

std::vector<std::vector<uint32_t>> fragment_checks(const Function& function, const Graph& graph, const Plan& plan) {
  std::vector<std::vector<uint32_t>> checks(function.body.size());
  if (plan.groups.empty()) return checks;
  // wgmma.fence begins a new count too: whether ordinary code touches an accumulator behind it decides if the next
  // wgmma needs another.
  std::vector<uint32_t> of_wgmma;
  for (uint32_t g = 0; g < plan.groups.size(); ++g)
    if (!plan.groups[g].tensor_memory) of_wgmma.push_back(g);

  const auto touched = [&](uint32_t i, auto&& visit) {
    const Instruction& instruction = function.body[i];
    if (is_asynchronous(instruction) || plan.dropped.contains(i)) return;
    const auto one = [&](uint32_t reg) {
      if (plan.places[reg].group != no_index) visit(plan.places[reg].group);
    };
    for_each_read(instruction, one);
    for_each_written(instruction, one);
  };
  const auto step = [&](BitSets& sets, size_t state, uint32_t i) {
    const Instruction& instruction = function.body[i];
    if (instruction.guard == no_index) touched(i, [&](uint32_t group) { sets.remove(state, group); });
    for (const FragmentPlace& place : plan.group_of[i])
      if (place.group != no_index) sets.add(state, place.group);
    if (instruction.op().is("wgmma", "fence"))
      for (const uint32_t group : of_wgmma) sets.add(state, group);
  };
  if (is_too_large(graph, plan.groups.size())) {
    for (uint32_t i = 0; i < function.body.size(); ++i) touched(i, [&](uint32_t group) { checks[i].push_back(group); });
    return checks;
  }
  BitSets sets = forward(graph, plan.groups.size(), of_wgmma, step);
  const size_t state = graph.blocks().size();
  for (const uint32_t block : graph.order()) {
    sets.copy(state, block);
    for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i) {
      std::vector<uint32_t>& here = checks[i];
      touched(i, [&](uint32_t group) {
        if (sets.has(state, group)) here.push_back(group);
      });
      std::ranges::sort(here);
      here.erase(std::ranges::unique(here).begin(), here.end());
      step(sets, state, i);
    }
  }
  return checks;
}

}  // namespace warploom::ptx
