// Emitters of control flow, warp instructions, barriers of threads and fences.
#include "ptx/emit_body.hpp"

namespace warploom::ptx {

using Kind = Operand::Kind;

void emit_branch(Body& body, const Instruction& instruction) { body.put("goto l{};", instruction.operands[0].index); }

void emit_return(Body& body, const Instruction& instruction) {
  if (!body.is_entry()) {
    if (instruction.op().base() == "exit") return body.fail("exit inside a function that is called");
    for (uint32_t i = 0; i < body.function.results.size(); ++i) {
      const Parameter& result = body.function.results[i];
      if (result.in_register)
        body.put("std::memcpy(p{}, &{}, {}); ", i, body.name(result.register_index), result.bytes);
    }
  }
  body.put("return;");
}

void emit_trap(Body& body, const Instruction& instruction) { body.put("trap(\"{}\");", instruction.op().base()); }
void emit_sleep(Body& body, const Instruction&) { body.put("yield();"); }

void emit_call(Body& body, const Instruction& instruction) {
  const auto& operands = instruction.operands;
  size_t at = 0;
  std::span<const Operand> results, arguments;
  if (operands[at].is(Kind::list)) results = operands[at++].parts;
  if (at >= operands.size() || !operands[at].is(Kind::function))
    return body.fail("calls through a pointer are not translated");
  const Operand& target = operands[at++];
  if (at < operands.size() && operands[at].is(Kind::list)) arguments = operands[at].parts;
  const Function& callee = body.module.functions[target.index];

  const uint32_t n = body.next_number();
  std::string before, list, after;
  const auto pass = [&](const Operand& operand, const Parameter* parameter, bool result, size_t index) {
    if (!list.empty()) list += ", ";
    if (operand.is(Kind::variable)) {
      list += variable_name(body.module, operand.index);
      return;
    }
    const Type type = parameter != nullptr && parameter->type != Type::none ? as_bits(parameter->type) : Type::b32;
    const std::string name = fmt::format("{}{}_{}", result ? "r" : "w", n, index);
    before += fmt::format("{} {}{}; ", register_type(type), name,
                          result ? "" : fmt::format(" = {}", body.value(operand, type)));
    list += fmt::format("reinterpret_cast<u8*>(&{})", name);
  };
  for (size_t i = 0; i < results.size(); ++i)
    pass(results[i], i < callee.results.size() ? &callee.results[i] : nullptr, true, i);
  for (size_t i = 0; i < arguments.size(); ++i)
    pass(arguments[i], i < callee.parameters.size() ? &callee.parameters[i] : nullptr, false, i);

  body.put("{{ {}", before);
  if (!callee.defined) {
    if (callee.name == "vprintf")
      body.put("print({});", list);
    else if (callee.name == "__assertfail")
      body.put("assert_fail({});", list);
    else
      body.fail(fmt::format("{} is not in this module and no function that the translator has", callee.name));
  } else {
    body.put("{}({}{}L);", function_name(body.module, target.index), list, list.empty() ? "" : ", ");
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].is_register()) {
      body.put(" ");
      const Type type = i < callee.results.size() ? as_bits(callee.results[i].type) : Type::b32;
      body.set(results[i], type, fmt::format("r{}_{}", n, i));
    }
  body.put(" }}");
}

// ---- warps

void emit_elect(Body& body, const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  const uint32_t n = body.next_number();
  body.put("{{ const u32 m{0} = {1}; const bool e{0} = native::elect(m{0}); ", n,
           body.value(instruction.operands[1], Type::u32));
  if (to.is(Kind::pair)) {
    if (Body::wanted(to.parts[0])) body.set(to.parts[0], Type::u32, fmt::format("std::countr_zero(m{})", n));
    body.set_predicate(to.parts[1], fmt::format("e{}", n));
  } else {
    body.set(to, Type::u32, fmt::format("std::countr_zero(m{})", n));
  }
  body.put(" }}");
}

namespace {
/// Writes the value and the predicate of `%r1|%p1`.
void set_pair(Body& body, const Operand& to, const std::string& value, const std::string& predicate) {
  if (!to.is(Kind::pair)) return body.set(to, Type::u32, value);
  if (Body::wanted(to.parts[0])) body.set(to.parts[0], Type::u32, value);
  body.put(" ");
  if (Body::wanted(to.parts[1])) body.set_predicate(to.parts[1], predicate);
}
}  // namespace

void emit_shfl(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const uint32_t n = body.next_number();
  const std::string_view mode = instruction.op().part(2);
  body.put("{{ bool p{0}; const u32 s{0} = native::shuffle_segment(native::Shuffle::{1}, {5}, {2}, {3}, {4}, &p{0}); ",
           n,
           mode == "idx"    ? "index"
           : mode == "bfly" ? "exclusive_or"
                            : mode,
           body.value(o[1], Type::u32), body.value(o[2], Type::u32), body.value(o[3], Type::u32),
           body.value(o[4], Type::u32));
  set_pair(body, o[0], fmt::format("s{}", n), fmt::format("p{}", n));
  body.put(" }}");
}

void emit_vote(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const std::string members = body.value(o[2], Type::u32), value = body.predicate(o[1]);
  const std::string_view mode = instruction.op().part(2);
  if (mode == "ballot") return body.set(o[0], Type::u32, fmt::format("ballot({}, {})", members, value));
  body.set_predicate(o[0], fmt::format("vote_{}({}, {})", mode, members, value));
}

void emit_match(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const Type type = instruction.op().last_type();
  const std::string value = body.value(o[1], type), members = body.value(o[2], Type::u32);
  if (instruction.op().part(1) == "any")
    return set_pair(body, o[0], fmt::format("native::match_any({}, {})", members, value), "true");
  const uint32_t n = body.next_number();
  body.put("{{ bool p{0}; const u32 s{0} = match_all({1}, {2}, p{0}); ", n, members, value);
  set_pair(body, o[0], fmt::format("s{}", n), fmt::format("p{}", n));
  body.put(" }}");
}

void emit_redux(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const Opcode& opcode = instruction.op();
  const Type type = opcode.last_type();
  const std::string members = body.value(o[2], Type::u32);
  const std::string_view part = opcode.part(2);
  std::string operation(part);
  if (part == "and" || part == "or" || part == "xor") operation = fmt::format("bit_{}", part);
  if (part == "min" || part == "max") operation = fmt::format("{}_{}", part, to_string(type));
  body.set(o[0], Type::b32,
           fmt::format("native::redux(native::Redux::{}, {}, {}, {}, {})", operation, members,
                       body.value(o[1], Type::b32), opcode.has("abs"), opcode.has("NaN")));
}

void emit_activemask(Body& body, const Instruction& instruction) {
  // Otherwise the machine asks the lanes, when no thread can go on: some may come later, or never.
  const auto index = static_cast<uint32_t>(&instruction - body.function.body.data());
  body.set(instruction.operands[0], Type::u32,
           body.plan.whole_warps.contains(index) ? "whole_warp(L)" : "native::active_mask()");
}

// ---- barriers of threads

void emit_bar_warp(Body& body, const Instruction& instruction) {
  const Operand& members = instruction.operands[0];
  if (members.is_immediate() && static_cast<uint32_t>(members.bits) == ~0u && body.plan.uses_wgmma)
    return body.put("native::syncwarp_before_signal();");
  body.put("native::syncwarp({});", body.value(members, Type::u32));
}

void emit_bar(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const std::string id = body.value(o[0], Type::u32);
  if (instruction.op().has("arrive")) {
    if (o.size() < 2) return body.fail("bar.arrive needs a number of threads");
    return body.put("native::bar_arrive({}, {});", id, body.value(o[1], Type::u32));
  }
  if (o.size() > 1) return body.put("native::bar_sync({}, {});", id, body.value(o[1], Type::u32));
  body.put("native::bar_sync_all({});", id);
}

void emit_bar_red(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const Opcode& opcode = instruction.op();
  const std::string_view mode = opcode.has("popc") ? "popc" : opcode.has("and") ? "bit_and" : "bit_or";
  const std::string code =
      fmt::format("native::bar_reduce(native::BarReduction::{}, {}, {}, {})", mode, body.value(o[1], Type::u32),
                  o.size() > 3 ? body.value(o[2], Type::u32) : "0u", body.predicate(o.back()));
  if (mode == "popc") return body.set(o[0], Type::u32, code);
  body.set_predicate(o[0], code + " != 0");
}

void emit_cluster_barrier(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  if (opcode.has("wait")) return body.put("native::cluster_wait();");
  body.put("native::cluster_arrive({});", !opcode.has("relaxed"));
}

void emit_grid_dependency(Body& body, const Instruction& instruction) {
  body.put("{}",
           instruction.op().has("wait") ? "native::grid_dependency_wait();" : "native::grid_launch_dependents();");
}

void emit_registers(Body& body, const Instruction& instruction) {
  body.put("native::set_max_registers({}, {});", body.value(instruction.operands[0], Type::u32),
           instruction.op().has("inc"));
}

void emit_fence(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  if (opcode.has("mbarrier_init")) return body.put("native::fence_mbarrier_init();");
  if (opcode.part(1) == "proxy") {
    if (opcode.has("tensormap::generic"))
      return body.put("native::acquire_tensor_map(tensor_map({}));", body.generic_address(instruction.operands[0]));
    if (opcode.has("async::generic"))
      return body.put("native::fence_proxy_async(native::ProxyFence::{});", opcode.part(3));
    return body.put("native::fence_proxy_async(native::ProxyFence::{});", opcode.has("global")      ? "global"
                                                                          : opcode.parts.size() > 3 ? "shared"
                                                                                                    : "all");
  }
  if (opcode.part(2).starts_with("sync_restrict"))
    return body.put("native::fence_shared({});", opcode.part(1) == "release");
  std::string_view scope = opcode.base() == "membar" ? opcode.part(1) : opcode.part(2);
  if (scope == "gl") scope = "gpu";
  body.put("native::fence(MemoryScope::{});", scope);
}

}  // namespace warploom::ptx
