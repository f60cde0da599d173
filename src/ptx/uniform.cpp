#include "ptx/uniform.hpp"

#include <algorithm>

#include "ptx/effects.hpp"

namespace warploom::ptx {
namespace {

/// The same for all lanes of a warp.
bool same_in_warp(std::string_view special) {
  if (special.starts_with("%lane") || special.starts_with("%clock") || special.starts_with("%globaltimer"))
    return false;
  // Neighbours in x are lanes of one warp; in narrow blocks those in y and z are as well.
  return special != "%tid" && !special.starts_with("%tid.");
}

/// Lanes load one address, and nothing says that others write there meanwhile: they get one value, or there is a race,
/// which the checker reports.
bool is_plain_load(const Opcode& op) {
  return op.base() == "ld" && !op.has("volatile") && !op.has("relaxed") && !op.has("acquire") && !op.has("mmio") &&
         !op.has("local");
}

bool reads_lane(const Module& module, const Operand& operand) {
  // What is in .local is at the same address for every lane, and is not the same.
  if (operand.is(Operand::Kind::variable) && module.variables[operand.index].space == Space::local) return true;
  return (operand.is(Operand::Kind::special) && !same_in_warp(operand.name)) ||
         std::ranges::any_of(operand.parts, [&](const Operand& part) { return reads_lane(module, part); });
}

}  // namespace

Uniformity::Uniformity(const Module& module, const Function& function, const Graph& graph)
    : module_(module),
      function_(function),
      graph_(graph),
      separated_(graph.blocks().size(), !function.entry),
      varies_(function.registers.size(), !function.entry) {
  if (!function.entry) return;
  std::vector<bool> written(function.registers.size(), false);
  constants_.assign(function.registers.size(), -1);
  for (const Instruction& instruction : function.body) {
    for_each_written(instruction, [&](uint32_t reg) {
      const bool once = !written[reg] && instruction.guard == no_index && instruction.op().base() == "mov" &&
                        instruction.operands.size() == 2;
      constants_[reg] =
          once && instruction.operands[1].is_immediate() ? static_cast<int64_t>(instruction.operands[1].bits) : -1;
      written[reg] = true;
    });
  }
  std::vector<bool> done(graph.blocks().size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t block : graph.order()) {
      for (uint32_t i = graph.block(block).begin; i < graph.block(block).end; ++i) {
        const Instruction& instruction = function.body[i];
        const bool varies = separated_[block] || result_varies(instruction);
        for_each_written(instruction, [&](uint32_t reg) {
          changed = changed || (varies && !varies_[reg]);
          varies_[reg] = varies_[reg] || varies;
        });
      }
      if (done[block] || graph.block(block).begin == graph.block(block).end) continue;
      const Instruction& last = function.body[graph.block(block).end - 1];
      bool splits = last.guard != no_index && varies_[last.guard] && effect_of(last) == Effect::control;
      if (last.op().base() == "brx") for_each_read(last, [&](uint32_t reg) { splits = splits || varies_[reg]; });
      if (!splits) continue;
      done[block] = changed = true;
      separate(block);
    }
  }
}

bool Uniformity::varies(const Operand& operand) const {
  bool reads = reads_lane(module_, operand);
  for_each_register(operand, [&](uint32_t reg) { reads = reads || varies_[reg]; });
  return reads;
}

/// The number that an operand always is; -1 where that is not known.
int64_t Uniformity::constant(const Operand& operand) const {
  if (operand.is_immediate()) return static_cast<int64_t>(operand.bits);
  return operand.is_register() ? constants_[operand.index] : -1;
}

bool Uniformity::result_varies(const Instruction& instruction) const {
  const Opcode& op = instruction.op();
  const auto& operands = instruction.operands;
  if (instruction.guard != no_index && varies_[instruction.guard]) return true;
  // One answer for all who take part.
  if (op.base() == "vote" || op.base() == "redux" || op.base() == "activemask") return false;
  // The value of one lane, where all ask for the same one: how kernels tell the compiler that the index of a warp is
  // uniform. With another bound than 31, each part of the warp gets a lane of its own.
  if (op.is("shfl", "sync", "idx") && operands.size() > 3) return varies(operands[2]) || constant(operands[3]) != 31;
  const Effect effect = effect_of(instruction);
  if (effect == Effect::varying ||
      (effect != Effect::none && !is_plain_load(op) && !op.is("clusterlaunchcontrol", "query_cancel")))
    return true;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!writes_operand(instruction, i) && varies(operands[i])) return true;
  return false;
}

// Every block that can be reached from here before the ways come together again.
void Uniformity::separate(uint32_t block) {
  const uint32_t together = graph_.immediate_postdominator(block);
  std::vector<uint32_t> todo(graph_.block(block).successors);
  std::vector<bool> seen(graph_.blocks().size(), false);
  while (!todo.empty()) {
    const uint32_t next = todo.back();
    todo.pop_back();
    if (next == together || seen[next]) continue;
    seen[next] = separated_[next] = true;
    todo.insert(todo.end(), graph_.block(next).successors.begin(), graph_.block(next).successors.end());
  }
}

}  // namespace warploom::ptx
