// Emitters of the tensor cores: ldmatrix, stmatrix, wgmma, tcgen05.
#include <charconv>

#include "ptx/emit_body.hpp"

namespace warploom::ptx {
namespace {

size_t position_of(const Body& body, const Instruction& instruction) {
  return static_cast<size_t>(&instruction - body.function.body.data());
}

std::string list_of(Body& body, std::span<const Operand> values) {
  std::string text;
  for (const Operand& value : values) text += (text.empty() ? "" : ", ") + body.value(value, Type::u32);
  return text;
}

std::string_view part_with(const Opcode& opcode, std::string_view prefix) {
  for (size_t i = 1; i < opcode.parts.size(); ++i)
    if (opcode.parts[i].starts_with(prefix)) return opcode.parts[i];
  return {};
}

int group_of(const Opcode& opcode) { return opcode.has("cta_group::2") ? 2 : 1; }

/// The registers of a group that lies beside its registers go there once they have arrived.
void copy_arrived(Body& body) {
  for (uint32_t g = 0; g < body.plan.groups.size(); ++g) {
    const FragmentGroup& group = body.plan.groups[g];
    if (!group.copied) continue;
    body.put(" if (pending_{0}) {{ pending_{0} = false; ", g);
    for (uint32_t k = 0; k < group.registers.size(); ++k)
      if (group.registers[k] != no_index) body.put("{} = fragment_{}.r[{}]; ", body.name(group.registers[k]), g, k);
    body.put("}}");
  }
}

std::string tmem_form(Body& body, const Opcode& opcode, const Operand* half_offset) {
  std::string_view shape = "32x32b";
  for (const std::string_view known : {"16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"})
    if (opcode.has(known)) shape = known;
  return fmt::format("{{native::TmemShape::m{}, {}, {}}}", shape, opcode.has("pack::16b") || opcode.has("unpack::16b"),
                     half_offset != nullptr ? body.value(*half_offset, Type::u32) : "0u");
}

}  // namespace

void emit_matrix_move(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const uint32_t tiles = opcode.has("x4") ? 4 : opcode.has("x2") ? 2 : 1;
  const bool loads = opcode.base() == "ldmatrix";
  const auto registers = Body::elements(o[loads ? 0 : 1]);
  if (registers.size() != tiles) return body.fail("as many registers as matrices are needed");
  const uint32_t n = body.next_number();
  if (!loads)
    return body.put("{{ const u32 v{}[{}] = {{{}}}; native::store_matrix({}, v{}, {}, {}); }}", n, tiles,
                    list_of(body, registers), body.shared_address(o[0]), n, tiles, opcode.has("trans"));
  body.put("{{ u32 v{0}[{1}]; native::load_matrix({2}, v{0}, {1}, {3}); ", n, tiles, body.shared_address(o[1]),
           opcode.has("trans"));
  for (uint32_t i = 0; i < tiles; ++i) body.set(registers[i], Type::u32, fmt::format("v{}[{}]", n, i));
  body.put(" }}");
}

// ---- wgmma

void emit_wgmma_sync(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  if (opcode.part(1) == "commit_group") return body.put("native::wgmma_commit_group();");
  if (opcode.part(1) == "wait_group")
    return body.put("native::wgmma_wait_group_before_signal({});", body.value(instruction.operands[0], Type::u32));
  body.put("if (native::wgmma_fence()) {{");
  for (uint32_t g = 0; g < body.plan.groups.size(); ++g)
    if (!body.plan.groups[g].tensor_memory) body.put(" fragment_{}.wgmma.fence();", g);
  body.put(" }}");
}

void emit_wgmma(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const bool from_registers = o[1].is(Operand::Kind::vector);
  // m64n128k16
  const std::string_view shape = part_with(opcode, "m64n");
  uint32_t columns = 0;
  std::from_chars(shape.data() + 4, shape.data() + shape.size(), columns);
  std::string_view types[3];  // of D, A, B
  size_t found = 0;
  for (size_t i = 1; i < opcode.parts.size() && found < 3; ++i)
    if (type_named(opcode.parts[i]) != Type::none) types[found++] = opcode.parts[i];
  const auto number = [&](size_t operand) { return static_cast<int64_t>(o[operand].bits); };
  const bool negates_a = o.size() > 4 && number(4) < 0, negates_b = o.size() > 5 && number(5) < 0;
  bool transposed_a = false, transposed_b = false;
  if (from_registers) {
    transposed_b = o.size() > 6 && number(6) != 0;
  } else if (o.size() > 7) {
    transposed_a = number(6) != 0;
    transposed_b = number(7) != 0;
  }
  const std::string form = body.wgmma_forms.name_of(fmt::format(
      "{}, WgmmaType::{}, WgmmaType::{}, Major::{}, Major::{}, WgmmaResult::{}, WgmmaNegate::{}, WgmmaOverflow::{}",
      columns, types[1], types[2], transposed_a ? "mn" : "k", transposed_b ? "mn" : "k", types[0],
      negates_a && negates_b ? "both"
      : negates_a            ? "a"
      : negates_b            ? "b"
                             : "none",
      opcode.has("satfinite") ? "clamp" : "wrap"));
  const std::vector<FragmentPlace>& groups = body.plan.group_of[position_of(body, instruction)];
  const std::string accumulates = body.predicate(o[3]);
  const std::string b = body.value(o[2], Type::u64);
  if (from_registers && body.plan.groups[groups[1].group].copied) {
    const FragmentGroup& group = body.plan.groups[groups[1].group];
    for (uint32_t k = 0; k < group.registers.size(); ++k)
      if (group.registers[k] != no_index)
        body.put("fragment_{}.r[{}] = {}; ", groups[1].group, k, body.name(group.registers[k]));
  }
  if (from_registers)
    return body.put(
        "native::wgmma({0}, {{fragment_{1}.r, &fragment_{1}.wgmma, fragment_{2}.r, &fragment_{2}.wgmma, 0, "
        "{3}, {4}}});",
        form, groups[0].group, groups[1].group, b, accumulates);
  body.put("native::wgmma({0}, {{fragment_{1}.r, &fragment_{1}.wgmma, nullptr, nullptr, {2}, {3}, {4}}});", form,
           groups[0].group, body.value(o[1], Type::u64), b, accumulates);
}

// ---- tensor memory

void emit_tmem(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const std::string_view what = opcode.part(1);
  const int group = group_of(opcode);
  if (what == "alloc")
    return body.put("native::tmem_alloc({}, {}, {});", group, body.shared_address(o[0]), body.value(o[1], Type::u32));
  if (what == "dealloc")
    return body.put("native::tmem_dealloc({}, {}, {});", group, body.value(o[0], Type::u32),
                    body.value(o[1], Type::u32));
  if (what == "relinquish_alloc_permit") return body.put("native::tmem_relinquish({});", group);
  if (what == "wait::ld") {
    body.put("native::tmem_wait_load();");
    return copy_arrived(body);
  }
  if (what == "wait::st") return body.put("native::tmem_wait_store();");
  if (what.starts_with("fence")) return body.put("native::tcgen05_fence({});", what == "fence::before_thread_sync");
  if (what == "shift") return body.put("native::tmem_shift_down({}, {});", group, body.shared_address(o[0]));
  const bool multicast = opcode.has("multicast::cluster");
  if (multicast && o.size() < 2) return body.fail("the CTA mask of the multicast is missing");
  body.put("native::umma_commit({}, {}, {});", group, body.shared_address(o[0]),
           multicast ? fmt::format("static_cast<int>({})", body.value(o[1], Type::u16)) : "-1");
}

void emit_tmem_load(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const auto index = static_cast<uint32_t>(position_of(body, instruction));
  const uint32_t group = body.plan.group_of[index][0].group;
  const FragmentGroup& fragment = body.plan.groups[group];
  body.put("native::tmem_load({0}, {1}, fragment_{2}.r, &fragment_{2}.in_flight, {3});",
           tmem_form(body, instruction.op(), o.size() > 2 ? &o[2] : nullptr), fragment.registers.size(), group,
           body.shared_address(o[1]));
  if (fragment.copied) body.put(" pending_{} = true;", group);
  if (body.plan.loads_without_wait.contains(index)) {
    body.put(" native::tmem_wait_load();");
    copy_arrived(body);
  }
}

void emit_tmem_store(Body& body, const Instruction& instruction) {
  const auto& o = instruction.operands;
  const auto registers = Body::elements(o.back());
  const uint32_t n = body.next_number();
  body.put("{{ const u32 v{0}[{1}] = {{{2}}}; native::tmem_store({3}, {1}, v{0}, {4}); }}", n, registers.size(),
           list_of(body, registers), tmem_form(body, instruction.op(), o.size() > 2 ? &o[1] : nullptr),
           body.shared_address(o[0]));
}

void emit_umma_copy(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  std::string_view shape = "m128x256b";
  if (opcode.has("128x128b")) shape = "m128x128b";
  if (opcode.has("4x256b")) shape = "m4x256b";
  if (opcode.has("32x128b")) shape = "m32x128b";
  if (opcode.has("warpx2::02_13")) shape = "m64x128b_02_13";
  if (opcode.has("warpx2::01_23")) shape = "m64x128b_01_23";
  const std::string_view expand = opcode.has("b6x16_p32") ? "six_bit" : opcode.has("b4x16_p64") ? "four_bit" : "none";
  body.put("native::tmem_copy(TmemCopy::{}, Expand::{}, {}, {}, {});", shape, expand, group_of(opcode),
           body.shared_address(o[0]), body.value(o[1], Type::u64));
}

void emit_umma(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  std::span<const Operand> o = instruction.operands;
  const std::string_view kind = part_with(opcode, "kind::").substr(6);
  const bool a_in_tmem = o[1].is(Operand::Kind::address);
  const uint32_t n = body.next_number();
  body.put(
      "{{ native::MmaInstruction m{0}; m{0}.kind = MmaKind::{1}; m{0}.cta_group = {2}; m{0}.d = {3}; m{0}.a_in_tmem = "
      "{4}; m{0}.a = {5}; m{0}.b = {6}; m{0}.idesc = {7}; ",
      n, kind, group_of(opcode), body.shared_address(o[0]), a_in_tmem,
      a_in_tmem ? body.shared_address(o[1]) : body.value(o[1], Type::u64), body.value(o[2], Type::u64),
      body.value(o[3], Type::u32));
  o = o.subspan(4);
  const bool weights = opcode.has("ws");
  if (weights) body.put("m{}.weight_stationary = true; ", n);
  if (opcode.has("block_scale")) {
    body.put("m{0}.sfa = {1}; m{0}.sfb = {2}; ", n, body.shared_address(o[0]), body.shared_address(o[1]));
    // What stands for nothing: one factor per 32 elements.
    std::string_view vector = kind == "mxf8f6f4" ? "x1" : "x2";
    if (opcode.has("scale_vec::4X") || opcode.has("block16")) vector = "x4";
    if (opcode.has("scale_vec::2X")) vector = "x2";
    if (opcode.has("scale_vec::1X")) vector = "x1";
    body.put("m{}.scale_vector = ScaleVector::{}; ", n, vector);
    o = o.subspan(2);
  }
  if (!o.empty() && o[0].is(Operand::Kind::vector)) {
    body.put("const u32 d{0}[{1}] = {{{2}}}; disable_lanes(m{0}, d{0}); ", n, o[0].parts.size(),
             list_of(body, o[0].parts));
    o = o.subspan(1);
  }
  body.put("m{}.accumulate = {}; ", n, body.predicate(o[0]));
  if (o.size() > 1 && !weights) body.put("m{}.scale_input_d = {}; ", n, body.value(o[1], Type::u32));
  if (o.size() > 1 && weights && !(o[1].is_immediate() && o[1].bits == 0))
    body.fail("the zero-column mask of tcgen05.mma.ws is not translated");
  body.put("native::umma(m{}); }}", n);
}

}  // namespace warploom::ptx
