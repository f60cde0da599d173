#include "ptx/emit_body.hpp"

#include <array>
#include <cctype>
#include <cstring>

namespace warploom::ptx {
namespace {

using Kind = Operand::Kind;

struct Special {
  std::string_view name, code;
};
/// Others (%pm0, %envreg3, ...) have no meaning here.
constexpr Special specials[] = {
    {"%tid.x", "tid_x(L)"},
    {"%tid.y", "tid_y(L)"},
    {"%tid.z", "tid_z(L)"},
    {"%ntid.x", "L->block[0]"},
    {"%ntid.y", "L->block[1]"},
    {"%ntid.z", "L->block[2]"},
    {"%ctaid.x", "native::self().block.x"},
    {"%ctaid.y", "native::self().block.y"},
    {"%ctaid.z", "native::self().block.z"},
    {"%nctaid.x", "native::self().grid.x"},
    {"%nctaid.y", "native::self().grid.y"},
    {"%nctaid.z", "native::self().grid.z"},
    {"%laneid", "native::self().lane"},
    {"%warpid", "native::self().warp"},
    {"%nwarpid", "((block_threads(L) + 31) / 32)"},
    {"%cluster_ctarank", "native::self().cluster_rank"},
    {"%cluster_nctarank", "cluster_ctas(L)"},
    {"%cluster_ctaid.x", "(native::self().block.x % L->cluster[0])"},
    {"%cluster_ctaid.y", "(native::self().block.y % L->cluster[1])"},
    {"%cluster_ctaid.z", "(native::self().block.z % L->cluster[2])"},
    {"%cluster_nctaid.x", "L->cluster[0]"},
    {"%cluster_nctaid.y", "L->cluster[1]"},
    {"%cluster_nctaid.z", "L->cluster[2]"},
    {"%clusterid.x", "native::self().cluster.x"},
    {"%clusterid.y", "native::self().cluster.y"},
    {"%clusterid.z", "native::self().cluster.z"},
    {"%nclusterid.x", "native::self().clusters.x"},
    {"%nclusterid.y", "native::self().clusters.y"},
    {"%nclusterid.z", "native::self().clusters.z"},
    {"%is_explicit_cluster", "(cluster_ctas(L) > 1)"},
    {"%smid", "(native::self().block.x % L->processors)"},
    {"%nsmid", "L->processors"},
    {"%gridid", "0u"},
    {"%clock", "static_cast<u32>(clock_now())"},
    {"%clock_hi", "static_cast<u32>(clock_now() >> 32)"},
    {"%clock64", "clock_now()"},
    {"%globaltimer", "clock_now()"},
    {"%globaltimer_lo", "static_cast<u32>(clock_now())"},
    {"%globaltimer_hi", "static_cast<u32>(clock_now() >> 32)"},
    {"%lanemask_eq", "(1u << native::self().lane)"},
    {"%lanemask_lt", "((1u << native::self().lane) - 1)"},
    {"%lanemask_le", "((2u << native::self().lane) - 1)"},
    {"%lanemask_gt", "(~1u << native::self().lane)"},
    {"%lanemask_ge", "(~0u << native::self().lane)"},
    {"%dynamic_smem_size", "L->dynamic_shared"},
    {"%total_smem_size", "L->total_shared"},
    {"%aggr_smem_size", "L->total_shared"},
    {"WARP_SZ", "32u"},
};

uint64_t mask_of(uint32_t width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

std::string immediate(const Operand& operand, Type type) {
  using Literal = Operand::Literal;
  if (type == Type::pred) return operand.bits != 0 ? "true" : "false";
  uint64_t bits = operand.bits;
  if (type == Type::f32) {
    float value = 0;
    if (operand.literal == Literal::f32) {
      const auto word = static_cast<uint32_t>(bits);
      std::memcpy(&value, &word, 4);
    } else if (operand.literal == Literal::f64) {
      double wide = 0;
      std::memcpy(&wide, &bits, 8);
      value = static_cast<float>(wide);
    } else {
      value = static_cast<float>(static_cast<int64_t>(bits));
    }
    uint32_t word = 0;
    std::memcpy(&word, &value, 4);
    return fmt::format("F(0x{:x}u)", word);
  }
  if (type == Type::f64) {
    double value = 0;
    if (operand.literal == Literal::f64) {
      std::memcpy(&value, &bits, 8);
    } else if (operand.literal == Literal::f32) {
      const auto word = static_cast<uint32_t>(bits);
      float narrow = 0;
      std::memcpy(&narrow, &word, 4);
      value = narrow;
    } else {
      value = static_cast<double>(static_cast<int64_t>(bits));
    }
    std::memcpy(&bits, &value, 8);
    return fmt::format("D(0x{:x}ull)", bits);
  }
  const uint32_t width = ptx::bits(type);
  bits &= mask_of(width);
  if (width == 32 && !is_signed(type)) return fmt::format("{}u", bits);
  if (width == 64 && !is_signed(type)) return fmt::format("{}ull", bits);
  return fmt::format("({}){}{}", c_type(type), bits, width == 64 ? "ull" : "u");
}

}  // namespace

std::string_view c_type(Type type) {
  if (type == Type::pred) return "bool";
  if (type == Type::f32) return "f32";
  if (type == Type::f64) return "f64";
  const bool negative = is_signed(type) && type != Type::s16x2 && type != Type::s8x4;
  switch (bits(type)) {
    case 128: return "b128";
    case 64: return negative ? "s64" : "u64";
    case 32: return negative ? "s32" : "u32";
    case 16: return negative ? "s16" : "u16";
    default: return negative ? "s8" : "u8";
  }
}
std::string_view register_type(Type type) { return type == Type::pred ? "bool" : c_type(as_bits(type)); }
Type as_bits(Type type) {
  if (type == Type::pred) return type;
  switch (bits(type)) {
    case 128: return Type::b128;
    case 64: return Type::b64;
    case 32: return Type::b32;
    case 16: return Type::b16;
    default: return Type::b8;
  }
}
Type as_unsigned(Type type) {
  switch (bits(type)) {
    case 64: return Type::u64;
    case 32: return Type::u32;
    case 16: return Type::u16;
    default: return Type::u8;
  }
}
Type as_signed(Type type) {
  switch (bits(type)) {
    case 64: return Type::s64;
    case 32: return Type::s32;
    case 16: return Type::s16;
    default: return Type::s8;
  }
}
Type as_wide(Type type) {
  const bool negative = is_signed(type);
  switch (bits(type)) {
    case 32: return negative ? Type::s64 : Type::u64;
    case 16: return negative ? Type::s32 : Type::u32;
    default: return negative ? Type::s16 : Type::u16;
  }
}
std::string_view rounding_of(const Opcode& opcode) {
  if (opcode.has("rz") || opcode.has("rzi")) return "Round::zero";
  if (opcode.has("rm") || opcode.has("rmi")) return "Round::minus";
  if (opcode.has("rp") || opcode.has("rpi")) return "Round::plus";
  return "Round::nearest";
}

std::string Body::name(uint32_t reg) const {
  const FragmentPlace place = plan.places[reg];
  if (place.group != no_index) return fmt::format("fragment_{}.r[{}]", place.group, place.element);
  std::string name = "q";
  for (const char c : function.registers[reg].name)
    if (c != '%') name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  // Scopes may have registers of one name, and names may differ in characters that C++ has not.
  return name + "_" + std::to_string(reg);
}

std::string Body::special(const Operand& operand) {
  for (const Special& known : specials)
    if (known.name == operand.name) return std::string(known.code);
  fail(fmt::format("the special register {} has no meaning here", operand.name));
  return "0u";
}

std::string Body::symbol(const Operand& operand, bool shared) {
  switch (operand.kind) {
    case Kind::parameter:
      if (is_entry()) return fmt::format("(P + {})", function.parameters[operand.index].offset);
      return fmt::format("reinterpret_cast<u64>(a{})", operand.index);
    case Kind::result: return fmt::format("reinterpret_cast<u64>(p{})", operand.index);
    case Kind::variable: {
      const Variable& variable = module.variables[operand.index];
      if (variable.space == Space::shared) {
        const uint32_t offset = layout.shared_offset[operand.index];
        return fmt::format("shared_variable({})", offset == no_index ? layout.dynamic_offset : offset);
      }
      if (shared) fail(fmt::format("{} is not in shared memory", variable.name));
      return fmt::format("reinterpret_cast<u64>({})", variable_name(module, operand.index));
    }
    case Kind::function:
      fail(fmt::format("the address of the function {} is taken: calls by pointer are not translated", operand.name));
      return "0";
    default: fail(fmt::format("{} is no operand here", operand.name)); return "0";
  }
}

std::string Body::value(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Kind::immediate: return immediate(operand, type);
    case Kind::reg: {
      std::string reg = name(operand.index);
      const Type have = function.registers[operand.index].type;
      if (type == Type::pred && have == Type::pred) return operand.negated ? "!" + reg : reg;
      const bool narrower = bits(have) > bits(type);
      if ((bits(type) == 128) != (bits(have) == 128) || (have == Type::pred) != (type == Type::pred)) {
        fail(fmt::format("{} is a register of type .{}, and the instruction reads .{}",
                         function.registers[operand.index].name, to_string(have), to_string(type)));
        return "0";
      }
      if (type == Type::f32) return narrower ? fmt::format("F((u32){})", reg) : fmt::format("F({})", reg);
      if (type == Type::f64) return fmt::format("D({})", reg);
      if (c_type(type) != register_type(have)) return fmt::format("({}){}", c_type(type), reg);
      return reg;
    }
    case Kind::special: return fmt::format("({}){}", c_type(type), special(operand));
    case Kind::address: return value(operand.parts[0], type);
    case Kind::sink: fail("an operand that is read is left out"); return "0";
    default: {
      const std::string base = symbol(operand, false);
      if (operand.offset == 0) return fmt::format("({}){}", c_type(type), base);
      return fmt::format("({})({} + {})", c_type(type), base, operand.offset);
    }
  }
}

std::string Body::predicate(const Operand& operand) {
  if (operand.is_immediate()) return operand.bits != 0 ? "true" : "false";
  if (!operand.is_register()) {
    fail("a predicate is needed");
    return "false";
  }
  return value(operand, Type::pred);
}

std::string Body::shared_address(const Operand& operand) {
  const Operand& base = operand.is(Kind::address) ? operand.parts[0] : operand;
  const int64_t offset = operand.is(Kind::address) ? operand.offset : 0;
  std::string address = base.is(Kind::reg) || base.is(Kind::immediate) || base.is(Kind::special)
                            ? value(base, Type::u32)
                            : symbol(base, true) + (base.offset != 0 ? fmt::format(" + {}", base.offset) : "");
  return offset == 0 ? address : fmt::format("{} + {}u", address, static_cast<uint32_t>(offset));
}

std::string Body::generic_address(const Operand& operand) {
  const Operand& base = operand.is(Kind::address) ? operand.parts[0] : operand;
  const int64_t offset = operand.is(Kind::address) ? operand.offset : 0;
  std::string address = value(base, Type::u64);
  return offset == 0 ? address : fmt::format("({} + {}ull)", address, static_cast<uint64_t>(offset));
}

void Body::set(const Operand& operand, Type type, std::string_view expression) {
  if (operand.is(Kind::sink)) return put("(void)({});", expression);
  if (!operand.is_register()) return fail("a register is needed for the result");
  const Type have = function.registers[operand.index].type;
  const std::string to = name(operand.index);
  if ((bits(type) == 128) != (bits(have) == 128) || (have == Type::pred) != (type == Type::pred))
    return fail(fmt::format("{} is a register of type .{}, and the instruction writes .{}",
                            function.registers[operand.index].name, to_string(have), to_string(type)));
  if (type == Type::pred) return put("{} = {};", to, expression);
  if (type == Type::f32 || type == Type::f64) return put("{} = U({});", to, expression);
  if (bits(type) < bits(have)) {
    const Type wide = is_signed(type) ? as_signed(have) : as_bits(have);
    return put("{} = ({})({})({});", to, c_type(wide), c_type(type), expression);
  }
  put("{} = ({})({});", to, register_type(have), expression);
}

void Body::set_predicate(const Operand& operand, std::string_view expression) {
  if (operand.is(Kind::sink)) return put("(void)({});", expression);
  set(operand, Type::pred, expression);
}

}  // namespace warploom::ptx
