// Emitters of loads, stores, atomics and addresses.
#include <algorithm>
#include <cctype>

#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

/// What an opcode says of the space: "shared", "cluster", "global", "plain" (parameters, constants), "local",
/// "generic".
std::string_view space_of(const Opcode& opcode) {
  for (size_t i = 1; i < opcode.parts.size(); ++i) {
    const std::string_view part = opcode.parts[i];
    if (part == "global") return "global";
    if (part == "shared" || part == "shared::cta") return "shared";
    if (part == "shared::cluster") return "cluster";
    if (part == "local") return "local";
    if (part == "const" || part.starts_with("param")) return "plain";
  }
  return "generic";
}
bool is_shared(std::string_view space) { return space == "shared" || space == "cluster"; }

std::string_view scope_of(const Opcode& opcode) {
  if (opcode.has("cta")) return "cta";
  if (opcode.has("cluster")) return "cluster";
  if (opcode.has("gpu")) return "gpu";
  return opcode.has("sys") || opcode.has("volatile") || opcode.has("mmio") ? "sys" : "gpu";
}
std::string_view order_of(const Opcode& opcode, std::string_view otherwise) {
  for (const std::string_view order : {"acq_rel", "acquire", "release", "relaxed"})
    if (opcode.has(order)) return order;
  return otherwise;
}
bool is_ordered(const Opcode& opcode) {
  return opcode.has("volatile") || opcode.has("relaxed") || opcode.has("acquire") || opcode.has("release");
}
std::string ordered_access(const Opcode& opcode, uint32_t bytes, size_t count) {
  return fmt::format("{{MemoryOrder::{}, MemoryScope::{}, {}, {}}}", order_of(opcode, "relaxed"), scope_of(opcode),
                     bytes, count);
}

std::string list_of(Body& body, std::span<const Operand> values, Type type) {
  std::string text;
  for (const Operand& value : values) text += (text.empty() ? "" : ", ") + body.value(value, type);
  return text;
}

/// A parameter of a kernel lies where the compiler can see it.
bool known_place(const Body& body, const Operand& address) {
  return body.is_entry() && address.parts[0].is(Operand::Kind::parameter);
}

}  // namespace

void emit_load(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const Type type = opcode.last_type();
  const uint32_t bytes = ptx::bytes(type);
  const Operand& address = instruction.operands[1];
  const auto to = Body::elements(instruction.operands[0]);
  const std::string_view space = space_of(opcode);
  const std::string from = body.address_in(address, is_shared(space));
  const uint32_t n = body.next_number();
  const std::string_view word = type == Type::b128 ? "b128" : register_type(as_bits(type));
  body.put("{{ {} v{}[{}]; ", word, n, to.size());
  if (is_ordered(opcode) && space != "local" && space != "plain") {
    const std::string access = ordered_access(opcode, bytes, to.size());
    if (is_shared(space))
      body.put("native::load_ordered_shared({}, {}, v{}); ", access, from, n);
    else
      body.put("load_ordered{}({}, {}, v{}); ", space == "global" ? "_global" : "", access, from, n);
  } else if (space == "plain" && known_place(body, address)) {
    body.put("ld_plain<{}>(v{}, {}); ", bytes * to.size(), n, from);
  } else {
    body.put("ld_{}<{}>(v{}, {}{}); ", space, bytes * to.size(), n, from, space == "generic" ? ", L" : "");
  }
  const Type result = is_signed(type) ? type : as_bits(type);
  for (size_t i = 0; i < to.size(); ++i) {
    if (!Body::wanted(to[i])) continue;
    body.set(to[i], result,
             is_signed(type) ? fmt::format("({})v{}[{}]", c_type(type), n, i) : fmt::format("v{}[{}]", n, i));
    body.put(" ");
  }
  body.put("}}");
}

void emit_store(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const Type type = as_bits(opcode.last_type());
  const uint32_t bytes = ptx::bytes(type);
  const auto from = Body::elements(instruction.operands[1]);
  const std::string_view space = space_of(opcode);
  const std::string to = body.address_in(instruction.operands[0], is_shared(space));
  const uint32_t n = body.next_number();
  body.put("{{ const {} v{}[{}] = {{{}}}; ", register_type(type), n, from.size(), list_of(body, from, type));
  if (is_ordered(opcode) && space != "local" && space != "plain") {
    const std::string access = ordered_access(opcode, bytes, from.size());
    if (is_shared(space))
      body.put("native::store_ordered_shared({}, {}, v{}); }}", access, to, n);
    else
      body.put("store_ordered{}({}, {}, v{}); }}", space == "global" ? "_global" : "", access, to, n);
    return;
  }
  body.put("st_{}<{}>({}, v{}{}); }}", space, bytes * from.size(), to, n, space == "generic" ? ", L" : "");
}

void emit_store_async(Body& body, const Instruction& instruction) {
  const Type type = as_bits(instruction.op().last_type());
  const auto from = Body::elements(instruction.operands[1]);
  const uint32_t n = body.next_number();
  body.put("{{ const {} v{}[{}] = {{{}}}; native::store_async({}, v{}, {}, {}); }}", register_type(type), n,
           from.size(), list_of(body, from, type), body.shared_address(instruction.operands[0]), n,
           bytes(type) * from.size(), body.shared_address(instruction.operands[2]));
}

namespace {
std::string_view atomic_name(const Opcode& opcode) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"add", "add"},     {"min", "min"},   {"max", "max"},     {"inc", "inc"},       {"dec", "dec"},
      {"and", "bit_and"}, {"or", "bit_or"}, {"xor", "bit_xor"}, {"exch", "exchange"}, {"cas", "compare_exchange"}};
  for (const auto& [ptx, ours] : names)
    if (opcode.has(ptx)) return ours;
  return "add";
}
}  // namespace

void emit_reduce_async(Body& body, const Instruction& instruction) {
  const Type type = instruction.op().last_type();
  const uint32_t n = body.next_number();
  body.put("{{ const {} v{} = {}; native::reduce_async(Atomic::{}, AtomicType::{}, {}, &v{}, {}); }}", c_type(type), n,
           body.value(instruction.operands[1], type), atomic_name(instruction.op()), to_string(type),
           body.shared_address(instruction.operands[0]), n, body.shared_address(instruction.operands[2]));
}

void emit_atomic(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const bool returns = opcode.base() == "atom", compares = opcode.has("cas");
  const Type type = opcode.last_type(), word = as_bits(type);
  const size_t first = returns ? 1 : 0;
  const auto& operands = instruction.operands;
  const auto values = Body::elements(operands[first + 1]);
  const std::string_view space = space_of(opcode);
  const uint32_t n = body.next_number();
  const size_t count = values.size();
  // compare_exchange: first what is expected, then the new value
  body.put("{{ const {} v{}[{}] = {{{}}}; ", register_type(word), n, count,
           list_of(body, compares ? std::span(&operands[first + 2], 1) : values, word));
  if (compares) body.put("const {} e{} = {}; ", register_type(word), n, body.value(operands[first + 1], word));
  if (returns) body.put("{} o{}[{}]; ", register_type(word), n, count);
  body.put("constexpr AtomicForm form{{Atomic::{}, AtomicType::{}, {}, MemoryOrder::{}, MemoryScope::{}, {}}}; ",
           atomic_name(opcode), to_string(type), count, order_of(opcode, "relaxed"), scope_of(opcode), returns);
  const std::string expected = compares ? fmt::format("&e{}", n) : "nullptr";
  const std::string old = returns ? fmt::format("o{}", n) : "nullptr";
  if (is_shared(space))
    body.put("native::atomic_shared(form, {}, v{}, {}, {}); ", body.shared_address(operands[first]), n, expected, old);
  else
    body.put("atomic_{}(form, {}, v{}, {}, {}); ", space, body.generic_address(operands[first]), n, expected, old);
  if (returns) {
    const auto to = Body::elements(operands[0]);
    for (size_t i = 0; i < std::min(count, to.size()); ++i)
      if (Body::wanted(to[i])) body.set(to[i], word, fmt::format("o{}[{}]", n, i));
  }
  body.put(" }}");
}

void emit_nothing(Body& body, const Instruction&) { body.put(";"); }

void emit_cvta(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const Operand& to = instruction.operands[0];
  const std::string from = body.value(instruction.operands[1], Type::u64);
  if (!is_shared(space_of(opcode))) return body.set(to, Type::u64, from);
  if (opcode.part(1) == "to") return body.set(to, Type::u64, fmt::format("to_shared({})", from));
  body.set(to, Type::u64, fmt::format("from_shared((u32){})", from));
}

void emit_isspacep(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const std::string window = fmt::format("window_of({}, L)", body.value(instruction.operands[1], Type::u64));
  const std::string_view space = space_of(opcode);
  std::string code = "false";  // constants and parameters have no generic address of their own here
  if (space == "global") code = window + " == Window::global";
  if (space == "shared") code = window + " == Window::own_shared";
  if (space == "cluster") code = window + " <= Window::cluster_shared";
  if (space == "local") code = window + " == Window::plain";
  body.set_predicate(instruction.operands[0], code);
}

void emit_mapa(Body& body, const Instruction& instruction) {
  const bool shared = instruction.op().has("shared::cluster");
  const Type type = instruction.op().last_type();
  const std::string rank = body.value(instruction.operands[2], Type::u32);
  if (shared)
    return body.set(instruction.operands[0], type,
                    fmt::format("native::map_to_rank({}, {})", body.shared_address(instruction.operands[1]), rank));
  body.set(instruction.operands[0], Type::u64,
           fmt::format("from_shared(native::map_to_rank(to_shared({}), {}))",
                       body.value(instruction.operands[1], Type::u64), rank));
}

void emit_getctarank(Body& body, const Instruction& instruction) {
  const bool shared = instruction.op().has("shared::cluster");
  body.set(instruction.operands[0], Type::u32,
           shared ? fmt::format("native::rank_of({})", body.shared_address(instruction.operands[1]))
                  : fmt::format("native::rank_of(to_shared({}))", body.value(instruction.operands[1], Type::u64)));
}

}  // namespace warploom::ptx
