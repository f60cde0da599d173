#include "ptx/waits.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ptx/effects.hpp"
#include "ptx/known_values.hpp"

namespace warploom::ptx {
namespace {

/// Of a loop that is still taken for a wait. Those of compilers have a dozen.
constexpr size_t longest_loop = 128;

/// The position behind an instruction whose guard is known; nothing where the function ends.
std::optional<uint32_t> following(const Function& function, uint32_t position, bool runs) {
  const Instruction& instruction = function.body[position];
  const std::string_view base = instruction.op().base();
  uint32_t next = position + 1;
  if (runs && base == "bra") {
    if (instruction.operands.empty() || !instruction.operands[0].is(Operand::Kind::label)) return std::nullopt;
    next = function.labels[instruction.operands[0].index].target;
  } else if (runs && (base == "ret" || base == "exit" || base == "trap" || base == "brx" || base == "call" ||
                      base == "brkpt")) {
    return std::nullopt;
  }
  if (next >= function.body.size()) return std::nullopt;
  return next;
}

class Loop {
 public:
  Loop(const Function& function, const Graph& graph, const std::vector<std::vector<uint32_t>>& readers, uint32_t wait)
      : function_(function), graph_(graph), readers_(readers), wait_(wait) {}

  /// From the wait that answers false back to the wait.
  bool closes() {
    const Instruction& wait = function_.body[wait_];
    if (wait.operands.size() < 2 || !wait.operands[0].is_register()) return false;
    KnownValues values(function_);
    if (wait.guard != no_index) values.set(wait.guard, wait.guard_negated ? 0 : 1);
    values.set(wait.operands[0].index, 0);
    bool decided = false;
    uint32_t position = wait_ + 1;
    while (position < function_.body.size() && position != wait_) {
      if (path_.size() == longest_loop) return false;
      const Instruction& instruction = function_.body[position];
      const Effect effect = effect_of(instruction);
      if (effect != Effect::none && effect != Effect::control && effect != Effect::waste) return false;
      const std::optional<bool> runs = values.guard(instruction);
      const bool branches = effect == Effect::control;
      if (branches && !runs) return false;
      if (instruction.guard != no_index && runs) decided = true;
      if (runs.value_or(true)) path_.push_back({position, decided, !runs});
      if (!branches && runs.value_or(true)) {
        if (runs)
          values.run(instruction);
        else
          for_each_written(instruction, [&](uint32_t reg) { values.forget(reg); });
      }
      const std::optional<uint32_t> next = following(function_, position, runs.value_or(false));
      if (!next) return false;
      position = *next;
    }
    return position == wait_;
  }

  bool only_waits() {
    path_.push_back({wait_, false, false});
    for (const Step& step : path_) on_path_.insert(step.position);
    for (const Step& step : path_)
      for_each_written(function_.body[step.position], [&](uint32_t reg) { written_.insert(reg); });
    std::unordered_set<uint32_t> fresh;  // written in this turn already
    for_each_written(function_.body[wait_], [&](uint32_t reg) { fresh.insert(reg); });
    for (size_t i = 0; i < path_.size(); ++i) {
      const Instruction& instruction = function_.body[path_[i].position];
      bool fine = true;
      const auto check = [&](uint32_t reg) { fine = fine && (!written_.contains(reg) || fresh.contains(reg)); };
      for_each_read(instruction, check);
      // Guarded by a predicate that is not known, an instruction may leave what was there before.
      if (path_[i].perhaps) for_each_written(instruction, check);
      if (!fine) return false;
      if (path_[i].position == wait_) continue;
      for_each_written(instruction, [&](uint32_t reg) {
        fresh.insert(reg);
        fine = fine && (!path_[i].after_decision || !read_elsewhere(reg) || recomputed(i));
      });
      if (!fine) return false;
    }
    return true;
  }

 private:
  struct Step {
    uint32_t position;
    bool after_decision;  ///< runs for the answer false alone
    bool perhaps;         ///< its guard is not known
  };

  bool read_elsewhere(uint32_t reg) const {
    return std::ranges::any_of(readers_[reg], [&](uint32_t reader) { return !on_path_.contains(reader); });
  }

  // Nobody gets to the wait without passing the instruction, and from there on as the loop does: it ran before the
  // first turn too.
  bool recomputed(size_t step) const {
    if (function_.body[path_[step].position].guard != no_index) return false;
    uint32_t block = graph_.block_of(path_[step].position);
    for (size_t i = step + 1; i < path_.size(); ++i) {
      const uint32_t next = graph_.block_of(path_[i].position);
      if (next == block) continue;
      const auto& before = graph_.block(next).predecessors;
      if (next == 0 || before.size() != 1 || before.front() != block) return false;  // a function begins with block 0
      block = next;
    }
    // The same block, and in it behind the wait: the first turn has not come past it.
    return graph_.block_of(path_[step].position) != graph_.block_of(wait_) || path_[step].position < wait_;
  }

  const Function& function_;
  const Graph& graph_;
  const std::vector<std::vector<uint32_t>>& readers_;
  uint32_t wait_;
  std::vector<Step> path_;
  std::unordered_set<uint32_t> on_path_, written_;
};

}  // namespace

bool is_mbarrier_wait(const Instruction& instruction) {
  return instruction.op().is("mbarrier", "try_wait") || instruction.op().is("mbarrier", "test_wait");
}

Waits::Waits(const Function& function, const Graph& graph) : parks_(function.body.size(), false) {
  if (std::ranges::none_of(function.body, is_mbarrier_wait)) return;
  std::vector<std::vector<uint32_t>> readers(function.registers.size());
  for (uint32_t i = 0; i < function.body.size(); ++i)
    for_each_read(function.body[i], [&](uint32_t reg) { readers[reg].push_back(i); });
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    if (!is_mbarrier_wait(function.body[i])) continue;
    Loop loop(function, graph, readers, i);
    parks_[i] = loop.closes() && loop.only_waits();
  }
}

// ---- what comes next

NextOperations::NextOperations(const Function& function, const Graph& graph, const Class& classify)
    : function_(function), graph_(graph), class_(function.body.size()), before_(graph.blocks().size(), 0) {
  for (uint32_t i = 0; i < function.body.size(); ++i) class_[i] = classify(function.body[i]);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = graph.order().size(); k-- > 0;) {
      const uint32_t block = graph.order()[k];
      const uint32_t set = from(graph.block(block).begin, block);
      changed = changed || set != before_[block];
      before_[block] = set;
    }
  }
}

uint32_t NextOperations::from(uint32_t position, uint32_t block) const {
  uint32_t set = 0;
  for (; position < graph_.block(block).end; ++position) {
    if (class_[position] == 0) continue;
    set |= class_[position];
    // A guarded operation may not run: then the next one does.
    if (function_.body[position].guard == no_index) return set;
  }
  for (const uint32_t next : graph_.block(block).successors) set |= before_[next];
  return set;
}

uint32_t NextOperations::after(uint32_t instruction) const {
  uint32_t position = instruction + 1;
  if (is_mbarrier_wait(function_.body[instruction]) && !function_.body[instruction].operands.empty() &&
      function_.body[instruction].operands[0].is_register()) {
    // Along the branches that the answer true decides.
    KnownValues values(function_);
    if (function_.body[instruction].guard == no_index) values.set(function_.body[instruction].operands[0].index, 1);
    std::unordered_set<uint32_t> seen;
    while (position < function_.body.size() && class_[position] == 0 && seen.insert(position).second &&
           seen.size() < longest_loop) {
      const Instruction& current = function_.body[position];
      const std::optional<bool> runs = values.guard(current);
      if (!runs && effect_of(current) == Effect::control) break;
      if (runs.value_or(false))
        values.run(current);
      else if (!runs)
        for_each_written(current, [&](uint32_t reg) { values.forget(reg); });
      const std::optional<uint32_t> next = following(function_, position, runs.value_or(false));
      if (!next) return 0;
      position = *next;
    }
  }
  if (position >= function_.body.size()) return 0;
  // Behind the last instruction of a block its successors follow, and not the block that comes next in the text.
  if (position == instruction + 1 && graph_.block_of(position) != graph_.block_of(instruction))
    return from(graph_.block(graph_.block_of(instruction)).end, graph_.block_of(instruction));
  return from(position, graph_.block_of(position));
}

}  // namespace warploom::ptx
