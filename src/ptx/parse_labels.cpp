// Labels, which may be named before they are defined, and what else has a colon behind its name: lists of targets,
// prototypes.
#include "ptx/parsing.hpp"

namespace warploom::ptx {

uint32_t Parser::label_reference(std::string_view name, uint32_t line) {
  const auto [place, is_new] = scope_labels_.back().try_emplace(name, static_cast<uint32_t>(pending_.size()));
  if (is_new) pending_.push_back({name, PendingLabel::Kind::unknown, 0, line});
  return place->second;
}

bool Parser::define_label(const Token& name, PendingLabel::Kind kind, uint32_t index) {
  if (name.text.front() == '%' || name.text == "_")
    return fail(name.line, "{} cannot be the name of a label", shown(name));
  PendingLabel& label = pending_[label_reference(name.text, name.line)];
  if (label.kind != PendingLabel::Kind::unknown)
    return fail(name.line, "the label {} is defined twice, first in line {}", shown(name.text), label.line);
  label.kind = kind;
  label.index = index;
  label.line = name.line;
  return true;
}

bool Parser::label(const Token& name) {
  if (peek().is(".branchtargets")) return branch_targets(name);
  if (peek().is(".callprototype")) return prototype(name);
  if (peek().is(".calltargets"))
    return fail(name.line, "lists of call targets are not supported: call the function by its name");
  Function& function = current();
  if (!define_label(name, PendingLabel::Kind::label, static_cast<uint32_t>(function.labels.size()))) return false;
  function.labels.push_back({name.text, static_cast<uint32_t>(function.body.size()), name.line});
  return true;
}

bool Parser::branch_targets(const Token& name) {
  take();
  BranchTargets targets{name.text, {}, name.line};
  do {
    const uint32_t line = peek().line;
    const auto target = take_name("a label");
    if (!target) return false;
    targets.labels.push_back(label_reference(*target, line));
  } while (accept(','));
  if (!define_label(name, PendingLabel::Kind::targets, static_cast<uint32_t>(current().branch_targets.size())))
    return false;
  current().branch_targets.push_back(std::move(targets));
  return expect(';', "after .branchtargets");
}

bool Parser::prototype(const Token& name) {
  take();
  Prototype read;
  read.name = name.text;
  read.line = name.line;
  if (peek().is('(') && !parameters(read.results, nullptr)) return false;
  if (!take_name("the name of a prototype, or '_',")) return false;
  if (peek().is('(') && !parameters(read.parameters, nullptr)) return false;
  if (accept(".noreturn")) read.noreturn = true;
  if (!define_label(name, PendingLabel::Kind::prototype, static_cast<uint32_t>(current().prototypes.size())))
    return false;
  current().prototypes.push_back(std::move(read));
  return expect(';', "after .callprototype");
}

// A name that the inner scope does not define means the one of the scope around it.
void Parser::leave_scope() {
  const auto inner = std::move(scope_labels_.back());
  scope_labels_.pop_back();
  scopes_.leave();
  for (const auto& [name, index] : inner) {
    PendingLabel& label = pending_[index];
    if (label.kind != PendingLabel::Kind::unknown) continue;
    if (scope_labels_.empty()) {
      if (unknown_ == no_index || label.line < pending_[unknown_].line) unknown_ = index;
      continue;
    }
    const auto [place, is_new] = scope_labels_.back().try_emplace(name, index);
    if (is_new) continue;
    label.kind = PendingLabel::Kind::alias;
    label.index = place->second;
  }
}

uint32_t Parser::settled(uint32_t label) const {
  while (pending_[label].kind == PendingLabel::Kind::alias) label = pending_[label].index;
  return label;
}

void Parser::settle(Operand& operand) {
  for (Operand& part : operand.parts) settle(part);
  if (operand.kind != Operand::Kind::label) return;
  const PendingLabel& label = pending_[settled(operand.index)];
  if (label.kind == PendingLabel::Kind::targets) operand.kind = Operand::Kind::branch_targets;
  if (label.kind == PendingLabel::Kind::prototype) operand.kind = Operand::Kind::prototype;
  operand.index = label.index;
}

bool Parser::finish_function() {
  if (unknown_ != no_index) {
    const PendingLabel& label = pending_[unknown_];
    return fail(label.line, "no register, variable, label or function is called {}", shown(label.name));
  }
  Function& function = current();
  for (Instruction& instruction : function.body)
    for (Operand& operand : instruction.operands) settle(operand);
  for (BranchTargets& targets : function.branch_targets) {
    for (uint32_t& target : targets.labels) {
      const PendingLabel& label = pending_[settled(target)];
      if (label.kind != PendingLabel::Kind::label)
        return fail(targets.line, "{} is no label to branch to", shown(label.name));
      target = label.index;
    }
  }
  return true;
}

}  // namespace warploom::ptx
