// Emitters of asynchronous copies, tensor maps and cluster launch control.
#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

/// `[map, {c0, c1}]`: the map, and the coordinates as the machine takes them.
std::string tensor_map(Body& body, const Operand& operand) {
  return fmt::format("tensor_map({})", body.generic_address(operand));
}
/// `offsets`: the operand that an im2col copy has beside them.
std::string coordinates(Body& body, const Instruction& instruction, const Operand& operand, size_t offsets) {
  const Opcode& opcode = instruction.op();
  if (operand.parts.size() < 2) {
    body.fail("coordinates are missing");
    return "{}";
  }
  const auto list = [&](std::span<const Operand> values, Type type) {
    std::string text;
    for (const Operand& value : values) text += (text.empty() ? "" : ", ") + body.value(value, type);
    return text;
  };
  const auto at = Body::elements(operand.parts[1]);
  const bool rows = opcode.has("tile::gather4") || opcode.has("tile::scatter4");
  const std::string start = list(at, Type::s32);
  if (rows) return fmt::format("{{2, {{{}}}, TmaMode::rows4}}", start);
  if (opcode.has("im2col_no_offs")) return fmt::format("{{{}, {{{}}}, TmaMode::im2col}}", at.size(), start);
  if (!opcode.has("im2col")) return fmt::format("{{{}, {{{}}}}}", at.size(), start);
  if (offsets >= instruction.operands.size()) {
    body.fail("the offsets of the im2col copy are missing");
    return "{}";
  }
  return fmt::format("{{{}, {{{}}}, TmaMode::im2col, {{{}}}}}", at.size(), start,
                     list(Body::elements(instruction.operands[offsets]), Type::u16));
}

/// The CTA mask of a multicast, or -1.
std::string mask(Body& body, const Instruction& instruction, size_t operand) {
  if (!instruction.op().has("multicast::cluster")) return "-1";
  if (operand >= instruction.operands.size()) {
    body.fail("the CTA mask of the multicast is missing");
    return "-1";
  }
  return fmt::format("static_cast<int>({})", body.value(instruction.operands[operand], Type::u16));
}

std::string_view reduction_of(const Opcode& opcode) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"min", "min"},     {"max", "max"},   {"inc", "inc"},    {"dec", "dec"},
      {"and", "bit_and"}, {"or", "bit_or"}, {"xor", "bit_xor"}};
  for (const auto& [ptx, ours] : names)
    if (opcode.has(ptx)) return ours;
  return "add";
}

}  // namespace

void emit_tensor_copy(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  if (opcode.has("prefetch"))
    return body.put("native::tma_prefetch({}, {});", tensor_map(body, o[0]), coordinates(body, instruction, o[0], 1));
  if (opcode.has("bulk_group")) {
    const std::string operation =
        opcode.part(1) == "reduce" ? fmt::format("reduce(Reduction::{}, ", reduction_of(opcode)) : "store(";
    return body.put("native::tma_{}{}, {}, {});", operation, tensor_map(body, o[0]), body.shared_address(o[1]),
                    coordinates(body, instruction, o[0], 1));
  }
  body.put("native::tma_load({}, {}, {}, {}, {}, {});", opcode.has("cta_group::2") ? 2 : 1, body.shared_address(o[0]),
           tensor_map(body, o[1]), body.shared_address(o[2]), coordinates(body, instruction, o[1], 3),
           mask(body, instruction, opcode.has("im2col") ? 4 : 3));
}

void emit_bulk_copy(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  if (opcode.has("prefetch"))
    return body.put("native::bulk_prefetch(reinterpret_cast<const void*>({}), {});", body.generic_address(o[0]),
                    body.value(o[1], Type::u32));
  const std::string bytes = body.value(o[2], Type::u32);
  if (opcode.has("bulk_group")) {
    const std::string written = opcode.has("cp_mask") ? body.value(o.back(), Type::u16) : "0xffff";
    return body.put("native::bulk_store(reinterpret_cast<void*>({}), {}, {}, {}, {{}});", body.generic_address(o[0]),
                    body.shared_address(o[1]), bytes, written);
  }
  if (opcode.part(3) == "shared::cluster" && opcode.part(4) == "shared::cta")
    return body.put("native::bulk_send({}, {}, {}, {}, {{}});", body.shared_address(o[0]), body.shared_address(o[1]),
                    bytes, body.shared_address(o[3]));
  body.put("native::bulk_load({}, reinterpret_cast<const void*>({}), {}, {}, {});", body.shared_address(o[0]),
           body.generic_address(o[1]), bytes, body.shared_address(o[3]), mask(body, instruction, 4));
}

void emit_bulk_reduce(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const std::string reduction =
      fmt::format("{{true, Reduction::{}, ReductionType::{}}}", reduction_of(opcode), to_string(opcode.last_type()));
  const std::string bytes = body.value(o[2], Type::u32);
  if (opcode.has("bulk_group"))
    return body.put("native::bulk_store(reinterpret_cast<void*>({}), {}, {}, 0xffff, {});", body.generic_address(o[0]),
                    body.shared_address(o[1]), bytes, reduction);
  body.put("native::bulk_send({}, {}, {}, {}, {});", body.shared_address(o[0]), body.shared_address(o[1]), bytes,
           body.shared_address(o[3]), reduction);
}

void emit_bulk_group(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  if (opcode.has("commit_group")) return body.put("native::bulk_commit_group();");
  body.put("native::bulk_wait_group({}, {});", body.value(instruction.operands[0], Type::u32), opcode.has("read"));
}

void emit_cp_async(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  if (opcode.has("commit_group")) return body.put("native::cp_async_commit_group();");
  if (opcode.has("wait_group")) return body.put("native::cp_async_wait_group({});", body.value(o[0], Type::u32));
  if (opcode.has("wait_all")) return body.put("native::cp_async_commit_group(); native::cp_async_wait_group(0);");
  if (opcode.has("arrive"))
    return body.put("native::cp_async_mbarrier_arrive({}, {});", body.shared_address(o[0]), !opcode.has("noinc"));
  const std::string bytes = body.value(o[2], Type::u32);
  std::string source = bytes;
  const size_t hints = opcode.has("L2::cache_hint") ? 1 : 0;
  if (o.size() > 3 + hints) {
    // The fourth operand is the number of bytes that are read, or a predicate that says that none are.
    const Operand& fourth = o[3];
    const bool ignore = fourth.is_register() && body.function.registers[fourth.index].type == Type::pred;
    source = ignore ? fmt::format("({} ? 0u : {})", body.predicate(fourth), bytes) : body.value(fourth, Type::u32);
  }
  body.put("native::cp_async({}, reinterpret_cast<const void*>({}), {}, {});", body.shared_address(o[0]),
           body.generic_address(o[1]), bytes, source);
}

void emit_tensor_map(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  if (opcode.part(1) == "cp_fenceproxy")
    return body.put("native::publish_tensor_map(reinterpret_cast<TensorMap*>({}), {});", body.generic_address(o[0]),
                    body.shared_address(o[1]));
  constexpr std::pair<std::string_view, std::string_view> fields[] = {{"global_address", "address"},
                                                                      {"rank", "rank"},
                                                                      {"box_dim", "box"},
                                                                      {"global_dim", "size"},
                                                                      {"global_stride", "stride"},
                                                                      {"element_stride", "element_stride"},
                                                                      {"elemtype", "type"},
                                                                      {"swizzle_mode", "swizzle_mode"},
                                                                      {"swizzle_atomicity", "swizzle_atomicity"},
                                                                      {"interleave_layout", "interleave"},
                                                                      {"fill_mode", "fill"}};
  std::string_view field;
  for (const auto& [ptx, ours] : fields)
    if (opcode.part(3) == ptx) field = ours;
  if (field.empty()) return body.fail(fmt::format("the field {} of a tensor map is not translated", opcode.part(3)));
  const std::string which = o.size() == 3 ? body.value(o[1], Type::u32) : "0u";
  std::string value = body.value(o.back(), opcode.last_type() == Type::b64 ? Type::u64 : Type::u32);
  if (field == "rank") value += " + 1";
  if (field == "type") value = fmt::format("static_cast<u64>(tma_type_of_elemtype({}))", value);
  body.put("native::tensor_map_replace({}, TensorMapField::{}, {}, {});", body.shared_address(o[0]), field, which,
           value);
}

void emit_launch_control(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  if (opcode.has("try_cancel"))
    return body.put("native::clc_try_cancel({}, {}, {});", body.shared_address(o[0]), body.shared_address(o[1]),
                    opcode.has("multicast::cluster::all"));
  const std::string response = body.value(o[1], Type::b128);
  if (opcode.has("is_canceled")) return body.set_predicate(o[0], fmt::format("clc_is_canceled({})", response));
  if (opcode.has("v4")) {
    const uint32_t n = body.next_number();
    body.put("{{ const Dim3 f{} = clc_first_cta({}); ", n, response);
    constexpr char axes[] = "xyz";
    const auto to = Body::elements(o[0]);
    for (size_t i = 0; i < to.size(); ++i)
      if (Body::wanted(to[i])) body.set(to[i], Type::u32, i < 3 ? fmt::format("f{}.{}", n, axes[i]) : "0u");
    return body.put(" }}");
  }
  body.set(o[0], Type::u32, fmt::format("clc_first_cta({}).{}", response, opcode.part(2).back()));
}

}  // namespace warploom::ptx
