// Which tcgen05.mma exist (hardware.md §4.6, 4.7, 4.11): the rules, each a sentence when it is broken.
#include "tensor_core.hpp"
#include "unconfirmed.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;
/// The bits of a TMEM address that the hardware looks at; the top byte may carry CuTe's sub-word index (§4.1).
constexpr uint32_t tmem_address_mask = 0x007f01ff;

std::string text(uint64_t value) { return std::to_string(value); }

const char* kind_name(MmaKind kind) {
  constexpr const char* names[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return names[static_cast<size_t>(kind)];
}

Result<MmaType> operand_type(MmaKind kind, const char* operand, uint32_t code) {
  switch (kind) {
    case MmaKind::f16:
      if (code <= 1) return code == 0 ? MmaType::f16 : MmaType::bf16;
      break;
    case MmaKind::tf32:
      if (code == 2) return MmaType::tf32;
      break;
    case MmaKind::i8:
      if (code <= 1) return code == 0 ? MmaType::u8 : MmaType::s8;
      break;
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4: {
      constexpr MmaType types[] = {MmaType::e4m3, MmaType::e5m2, {}, MmaType::e2m3, MmaType::e3m2, MmaType::e2m1};
      if (code <= 5 && code != 2) return types[code];
      break;
    }
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      if (code == 1) return MmaType::e2m1;
      break;
  }
  return Error{std::string("The type code ") + text(code) + " of operand " + operand + " does not exist for kind " +
               kind_name(kind) + "."};
}

uint32_t k_extent(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16: return 16;
    case MmaKind::tf32: return 8;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return 64;
    default: return 32;
  }
}

std::string broken_shape_rule(const MmaOperation& op) {
  const uint32_t group = op.ctas(), m = op.m, n = op.n;
  if (op.weight_stationary) {
    if (m != 32 && m != 64 && m != 128) return "M is " + text(m) + "; tcgen05.mma.ws multiplies 32, 64 or 128 rows.";
    if (n != 64 && n != 128 && n != 256) return "N is " + text(n) + "; tcgen05.mma.ws has 64, 128 or 256 columns.";
    return "";
  }
  if (block_scaled(op.kind) && group == 1 && m != 128)
    return "M is " + text(m) + "; kind " + kind_name(op.kind) + " of cta_group::1 multiplies 128 rows.";
  if (m != 64 * group && m != 128 * group)
    return "M is " + text(m) + "; cta_group::" + text(group) + " multiplies " + text(64 * group) + " or " +
           text(128 * group) + " rows.";
  const bool n_major_bytes = op.b_major == Major::mn && bits_of(op.b_type) == 8;
  if (op.kind == MmaKind::i8 && (group == 2 ? n % 32 != 0 : n > 32 && n % 16 != 0))
    return "N is " + text(n) + "; kind i8 has 8, 16, 24, 32 and multiples of 16, a pair of CTAs multiples of 32.";
  const uint32_t step = (n_major_bytes ? 16 : unconfirmed::n_step) * group;
  if (n < step || n > 256 || n % step != 0)
    return "N is " + text(n) + "; it must be a multiple of " + text(step) + " from " + text(step) + " to 256" +
           (n_major_bytes ? " when B is N-major with 8-bit elements." : ".");
  return "";
}

/// Other bits than lane, column and the top byte are a slip.
std::string broken_accumulator_rule(const MmaOperation& op, uint32_t d) {
  const uint32_t lane = d >> 16 & 0xff, column = d & 0xffff;
  const bool half_lanes = op.cta_group == 1 && op.m == 64 && !op.weight_stationary;
  if (lane != 0 && !(half_lanes && lane == 16))
    return "The accumulator's address names lane " + text(lane) + "; " +
           (half_lanes ? "an accumulator of 64 rows starts at lane 0 or 16." : "it must name lane 0.");
  const uint32_t columns = accumulator_columns(op.cta_group, op.m, op.n, op.weight_stationary);
  if (column + columns > tmem_columns)
    return "The accumulator takes " + text(columns) + " columns from column " + text(column) +
           ", but tensor memory has 512.";
  return "";
}

/// Of an operand or of scale factors in tensor memory.
std::string broken_address_rule(const char* what, uint32_t address, uint32_t lane_wanted, uint32_t columns) {
  const uint32_t lane = address >> 16 & 0xff, column = address & 0xffff;
  if (lane != lane_wanted)
    return std::string("The address of ") + what + " names lane " + text(lane) + "; it must name lane " +
           text(lane_wanted) + ".";
  if (column + columns > tmem_columns)
    return std::string(what) + " takes " + text(columns) + " columns from column " + text(column) +
           ", but tensor memory has 512.";
  return "";
}

std::string broken_major_rule(const char* operand, MmaKind kind, MmaType type, Major major,
                              const SmemDescriptorFields& fields) {
  const bool atoms = fields.swizzle == Swizzle::b128_atom32;
  if (major == Major::mn && (bits_of(type) < 8 || kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4))
    return std::string("Operand ") + operand + " is MN-major with elements of " + text(bits_of(type)) +
           " bits; only 8-bit, 16-bit and tf32 elements may be.";
  if (type == MmaType::tf32 && major == Major::mn && !atoms)
    return std::string("Operand ") + operand +
           " is MN-major tf32, which needs the 128-byte swizzle with 32-byte atoms.";
  if (atoms && !(type == MmaType::tf32 && major == Major::mn))
    return "The 128-byte swizzle with 32-byte atoms exists for MN-major operands of kind tf32 only.";
  return "";
}

/// The fields of the descriptor of kinds without scale factors.
std::string read_plain_fields(MmaOperation& op, uint32_t bits, uint32_t& a_code, uint32_t& b_code) {
  constexpr uint32_t reserved = 1u << 6 | 1u << 23 | 1u << 29;
  if ((bits & reserved) != 0) return "The instruction descriptor has one of the reserved bits 6, 23 and 29 set.";
  const InstructionFields f = decode_instruction({bits});
  if (f.sparse || f.sparse_id != 0)
    return "The instruction descriptor asks for a sparse product, which the loom does not model.";
  if (f.saturate && op.kind != MmaKind::i8)
    return "The instruction descriptor asks for saturation, which only kind i8 has.";
  if (f.max_shift != 0)
    return op.weight_stationary ? "The instruction descriptor sets a maximum shift, which the loom does not model."
                                : "The instruction descriptor sets a maximum shift, which only .ws forms have.";
  if ((f.negate_a || f.negate_b) && op.kind == MmaKind::i8)
    return "The instruction descriptor negates an operand, which kind i8 cannot.";
  const bool integer = op.kind == MmaKind::i8;
  if (f.accumulator == 3 || (f.accumulator == 2) != integer)
    return integer ? "The accumulator type is not s32, the only one of kind i8."
                   : "The accumulator type is not a floating-point type of this kind.";
  const bool half = f.accumulator == 0;
  if (half && op.kind == MmaKind::tf32) return "The accumulator type is f16; kind tf32 accumulates in f32 only.";
  if (half && op.kind == MmaKind::f16 && (f.a_type != 0 || f.b_type != 0))
    return "The accumulator type is f16, which kind f16 has for operands of type f16 only.";
  op.accumulator = integer ? AccumulatorType::s32 : half ? AccumulatorType::f16 : AccumulatorType::f32;
  op.a_major = f.a_major;
  op.b_major = f.b_major;
  op.negate_a = f.negate_a;
  op.negate_b = f.negate_b;
  op.saturate = f.saturate;
  op.m = f.m;
  op.n = f.n;
  a_code = f.a_type;
  b_code = f.b_type;
  return "";
}

/// The fields of the descriptor of block-scaled kinds, and their scale factors.
std::string read_scaled_fields(MmaOperation& op, const native::MmaInstruction& in, uint32_t& a_code, uint32_t& b_code) {
  constexpr uint32_t reserved = 3u | 1u << 3 | 1u << 6 | 7u << 24;
  if ((in.idesc & reserved) != 0)
    return "The instruction descriptor has one of the bits 1:0, 3, 6 and 26:24 set, which are reserved for "
           "block-scaled kinds.";
  const BlockScaledFields f = decode_block_scaled({in.idesc});
  if (f.sparse) return "The instruction descriptor asks for a sparse product, which the loom does not model.";
  if (f.k96) return "The instruction descriptor asks for K = 96, which sm_100 does not have.";
  op.scales = static_cast<uint32_t>(in.scale_vector);
  const bool legal_vector = op.kind == MmaKind::mxf8f6f4 ? op.scales == 1
                            : op.kind == MmaKind::mxf4   ? op.scales == 2
                                                         : op.scales == 2 || op.scales == 4;
  if (!legal_vector) return std::string("Kind ") + kind_name(op.kind) + " has no .scale_vec::" + text(op.scales) + "X.";
  if (f.scale_type == ScaleType::ue4m3 && !(op.kind == MmaKind::mxf4nvf4 && op.scales == 4))
    return "The scale factors are ue4m3, which only kind mxf4nvf4 with .scale_vec::4X takes.";
  for (const uint32_t id : {f.sfa_id, f.sfb_id})
    if (id % op.scales != 0)
      return "A scale factor id is " + text(id) + "; with " + text(op.scales) +
             " scale factors per instruction it must be " + (op.scales == 2 ? "0 or 2." : "0.");
  op.scale_type = f.scale_type;
  op.sfa_id = f.sfa_id;
  op.sfb_id = f.sfb_id;
  op.a_major = f.a_major;
  op.b_major = f.b_major;
  op.negate_a = f.negate_a;
  op.negate_b = f.negate_b;
  op.m = f.m;
  op.n = f.n;
  a_code = f.a_type;
  b_code = f.b_type;
  return "";
}

std::string read_scale_addresses(MmaOperation& op, const native::MmaInstruction& in) {
  const bool split = op.layout_b();
  if (std::string broken =
          broken_address_rule("the scale factors of A", in.sfa, 0, scale_columns(op.m / op.ctas(), false));
      !broken.empty())
    return broken;
  if (std::string broken = broken_address_rule("the scale factors of B", in.sfb, 0, scale_columns(op.n, split));
      !broken.empty())
    return broken;
  op.sfa = in.sfa & tmem_address_mask;
  op.sfb = in.sfb & tmem_address_mask;
  return "";
}

std::string broken_form_rule(const native::MmaInstruction& in) {
  if (in.cta_group != 1 && in.cta_group != 2) return "cta_group must be 1 or 2.";
  if (in.weight_stationary) {
    if (in.cta_group != 1) return "tcgen05.mma.ws exists for cta_group::1 only.";
    if (block_scaled(in.kind)) return "tcgen05.mma.ws has no block-scaled kinds.";
    if (in.a_in_tmem) return "tcgen05.mma.ws with A in tensor memory is not modelled by the loom.";
    if (in.disabled_lanes != nullptr) return "tcgen05.mma.ws has no disable-output-lane.";
  }
  if (in.scale_input_d != 0 && in.kind != MmaKind::f16 && in.kind != MmaKind::tf32)
    return std::string("scale-input-d exists for kinds f16 and tf32, not for ") + kind_name(in.kind) + ".";
  if (in.scale_input_d > 15) return "scale-input-d is " + text(in.scale_input_d) + "; it must be at most 15.";
  if (in.disabled_lanes != nullptr && block_scaled(in.kind)) return "Block-scaled kinds have no disable-output-lane.";
  return "";
}

}  // namespace

Result<MmaOperation> decode_mma(const native::MmaInstruction& in) {
  if (in.kind > MmaKind::mxf4nvf4) return Error{"tcgen05.mma has no such kind."};
  if (std::string broken = broken_form_rule(in); !broken.empty()) return Error{std::move(broken)};
  MmaOperation op;
  op.kind = in.kind;
  op.cta_group = in.cta_group;
  op.weight_stationary = in.weight_stationary;
  op.accumulate = in.accumulate;
  op.scale_input_d = in.accumulate ? in.scale_input_d : 0;
  uint32_t a_code = 0, b_code = 0;
  if (std::string broken = block_scaled(in.kind) ? read_scaled_fields(op, in, a_code, b_code)
                                                 : read_plain_fields(op, in.idesc, a_code, b_code);
      !broken.empty())
    return Error{std::move(broken)};
  const Result<MmaType> a_type = operand_type(in.kind, "A", a_code), b_type = operand_type(in.kind, "B", b_code);
  if (!a_type) return Error{a_type.error()};
  if (!b_type) return Error{b_type.error()};
  op.a_type = *a_type;
  op.b_type = *b_type;
  if (op.kind == MmaKind::f16 && op.a_type != op.b_type)
    return Error{"A and B have different 16-bit types; only 8-bit types may be mixed."};
  op.k = k_extent(in.kind);
  if (std::string broken = broken_shape_rule(op); !broken.empty()) return Error{std::move(broken)};
  if (std::string broken = broken_accumulator_rule(op, in.d); !broken.empty()) return Error{std::move(broken)};
  op.d = in.d & tmem_address_mask;
  if (op.scales != 0)
    if (std::string broken = read_scale_addresses(op, in); !broken.empty()) return Error{std::move(broken)};
  if (in.disabled_lanes != nullptr) {
    op.masked = true;
    for (uint32_t i = 0; i < 4 * op.ctas(); ++i) op.disabled_lanes[i] = in.disabled_lanes[i];
  }

  if (in.a_in_tmem) {
    if (op.a_major == Major::mn) return Error{"A in tensor memory is K-major; the descriptor says M-major."};
    const auto address = static_cast<uint32_t>(in.a);
    if (std::string broken = broken_address_rule("A", address, op.d >> 16, 8); !broken.empty())
      return Error{std::move(broken)};
    op.a_in_tmem = true;
    op.a_tmem = address & tmem_address_mask;
  } else {
    const Result<SmemDescriptorFields> fields = decode_smem_descriptor({in.a});
    if (!fields) return Error{"Operand A: " + fields.error()};
    op.a = *fields;
    if (std::string broken = broken_major_rule("A", op.kind, op.a_type, op.a_major, op.a); !broken.empty())
      return Error{std::move(broken)};
  }
  const Result<SmemDescriptorFields> fields = decode_smem_descriptor({in.b});
  if (!fields) return Error{"Operand B: " + fields.error()};
  op.b = *fields;
  if (std::string broken = broken_major_rule("B", op.kind, op.b_type, op.b_major, op.b); !broken.empty())
    return Error{std::move(broken)};
  return op;
}

Result<MmaOperation> decode_mma(MmaKind kind, int cta_group, uint32_t d, SmemDescriptor a, SmemDescriptor b,
                                InstructionDescriptor idesc, bool accumulate) {
  native::MmaInstruction in;
  in.kind = kind;
  in.cta_group = cta_group;
  in.d = d;
  in.a = a.bits;
  in.b = b.bits;
  in.idesc = idesc.bits;
  in.accumulate = accumulate;
  return decode_mma(in);
}

std::vector<TmemUse> tmem_uses(const MmaOperation& op) {
  std::vector<TmemUse> uses{
      {"writes", op.d & 0xffff, accumulator_columns(op.cta_group, op.m, op.n, op.weight_stationary)}};
  if (op.a_in_tmem) uses.push_back({"reads A from", op.a_tmem & 0xffff, 8});
  if (op.scales != 0) {
    uses.push_back({"reads scale factors of A from", op.sfa & 0xffff, scale_columns(op.m / op.ctas(), false)});
    uses.push_back({"reads scale factors of B from", op.sfb & 0xffff, scale_columns(op.n, op.layout_b())});
  }
  return uses;
}

}  // namespace warploom::loom
