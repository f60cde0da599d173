// tcgen05.mma: which instructions exist (hardware.md §4.6, 4.7) and what they compute.
#include <array>
#include <cstring>

#include "mma_kernel.hpp"
#include "mma_operands.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;
constexpr uint32_t max_k = 32;

std::string text(uint64_t value) { return std::to_string(value); }

Result<DType> operand_type(MmaKind kind, const char* operand, uint32_t code) {
  if (code <= 1) {
    if (kind == MmaKind::f16) return code == 0 ? DType::f16 : DType::bf16;
    return code == 0 ? DType::e4m3 : DType::e5m2;
  }
  if (kind == MmaKind::f8f6f4 && code >= 3 && code <= 5)
    return Error{std::string("Operand ") + operand + " has a 4- or 6-bit type, which the loom does not model."};
  return Error{std::string("The type code ") + text(code) + " of operand " + operand +
               " does not exist for this kind."};
}

std::string broken_shape_rule(int cta_group, uint32_t m, uint32_t n, bool n_major_bytes) {
  const uint32_t group = static_cast<uint32_t>(cta_group);
  if (m != 64 * group && m != 128 * group)
    return "M is " + text(m) + "; cta_group::" + text(group) + " multiplies " + text(64 * group) + " or " +
           text(128 * group) + " rows.";
  const uint32_t step = (n_major_bytes ? 16 : 8) * group;
  if (n < step || n > 256 || n % step != 0)
    return "N is " + text(n) + "; it must be a multiple of " + text(step) + " from " + text(step) + " to 256" +
           (n_major_bytes ? " when B is N-major with 8-bit elements." : ".");
  return "";
}

/// `d`'s top byte may carry CuTe's sub-word index and is ignored (§4.1); other bits outside lane and column are a slip.
std::string broken_accumulator_rule(int cta_group, uint32_t m, uint32_t n, uint32_t d) {
  const uint32_t lane = d >> 16 & 0xff, column = d & 0xffff;
  const bool half_lanes = cta_group == 1 && m == 64;
  if (lane != 0 && !(half_lanes && lane == 16))
    return "The accumulator's address names lane " + text(lane) + "; " +
           (half_lanes ? "an accumulator of 64 rows starts at lane 0 or 16." : "it must name lane 0.");
  const uint32_t columns = accumulator_columns(cta_group, m, n);
  if (column + columns > tmem_columns)
    return "The accumulator takes " + text(columns) + " columns from column " + text(column) +
           ", but tensor memory has 512.";
  return "";
}

Operand operand_of(const MmaOperation& op, bool b) {
  const uint32_t group = op.cta_group == 2 ? 2 : 1;
  if (b) return {op.b, op.b_type, op.b_major, op.n / group, op.k};
  return {op.a, op.a_type, op.a_major, op.m / group, op.k};
}

template <class T>
const float* byte_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (uint32_t code = 0; code < 256; ++code) values[code] = to_float(T{static_cast<uint8_t>(code)});
    return values;
  }();
  return table.data();
}

/// Without branches or f32 subnormals, both of which cost more than the multiplication that follows.
float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t finite = sign | (magnitude < 0x400 ? subnormal : normal);
  const uint32_t special = magnitude == 0x7c00 ? sign | 0x7f800000u : 0x7fffffffu;
  return std::bit_cast<float>(magnitude < 0x7c00 ? finite : special);
}

/// Element (row, k) goes to out[row * row_pitch + k * k_pitch]. `value` turns a code of type Code into a float.
template <class Code, class Value>
void convert_units(const Operand& operand, const std::byte* shared, float* out, size_t row_pitch, size_t k_pitch,
                   Value&& value) {
  const size_t pitch = operand.major == Major::k ? k_pitch : row_pitch;
  for_each_unit(operand, [&](uint32_t address, uint32_t row, uint32_t k) {
    constexpr size_t elements = 16 / sizeof(Code);
    Code codes[elements];
    std::memcpy(codes, shared + address, 16);
    float* first = out + row * row_pitch + k * k_pitch;
    for (size_t i = 0; i < elements; ++i) first[i * pitch] = value(codes[i]);
  });
}

}  // namespace

void convert_operand(const Operand& operand, const std::byte* shared, float* out, size_t row_pitch, size_t k_pitch) {
  switch (operand.type) {
    case DType::bf16:
      return convert_units<uint16_t>(operand, shared, out, row_pitch, k_pitch,
                                     [](uint16_t code) { return to_float(bf16{code}); });
    case DType::f16: return convert_units<uint16_t>(operand, shared, out, row_pitch, k_pitch, half_value);
    default: break;
  }
  const float* table = operand.type == DType::e4m3 ? byte_table<e4m3>() : byte_table<e5m2>();
  convert_units<uint8_t>(operand, shared, out, row_pitch, k_pitch, [table](uint8_t code) { return table[code]; });
}

namespace {

/// Too large for the stack of a fiber. Columns of B past N are read by the kernel and their results dropped.
struct Scratch {
  alignas(64) float a[128 * max_k];
  alignas(64) float b[max_k * mma_b_pitch];
};

}  // namespace

Result<MmaOperation> decode_mma(MmaKind kind, int cta_group, uint32_t d, SmemDescriptor a, SmemDescriptor b,
                                InstructionDescriptor idesc, bool accumulate) {
  if (kind != MmaKind::f16 && kind != MmaKind::f8f6f4)
    return Error{"The loom models tcgen05.mma of the kinds f16 and f8f6f4 only."};
  if (cta_group != 1 && cta_group != 2) return Error{"cta_group must be 1 or 2."};
  constexpr uint32_t reserved = 1u << 6 | 1u << 23 | 1u << 29;
  if ((idesc.bits & reserved) != 0)
    return Error{"The instruction descriptor has one of the reserved bits 6, 23 and 29 set."};
  const InstructionFields fields = decode_instruction(idesc);
  if (fields.sparse || fields.sparse_id != 0)
    return Error{"The instruction descriptor asks for a sparse product, which the loom does not model."};
  if (fields.saturate) return Error{"The instruction descriptor asks for saturation, which only kind i8 has."};
  if (fields.max_shift != 0)
    return Error{"The instruction descriptor sets a maximum shift, which only .ws forms have."};
  if (fields.accumulator == 0) return Error{"The accumulator type is f16; the loom models f32 only."};
  if (fields.accumulator != 1) return Error{"The accumulator type is not a floating-point type of this kind."};

  MmaOperation op;
  op.kind = kind;
  op.cta_group = cta_group;
  const Result<DType> a_type = operand_type(kind, "A", fields.a_type), b_type = operand_type(kind, "B", fields.b_type);
  if (!a_type) return Error{a_type.error()};
  if (!b_type) return Error{b_type.error()};
  op.a_type = *a_type;
  op.b_type = *b_type;
  if (kind == MmaKind::f16 && op.a_type != op.b_type)
    return Error{"A and B have different 16-bit types; only 8-bit types may be mixed."};
  op.a_major = fields.a_major;
  op.b_major = fields.b_major;
  op.negate_a = fields.negate_a;
  op.negate_b = fields.negate_b;
  op.m = fields.m;
  op.n = fields.n;
  op.k = mma_k_bytes / size_of(op.a_type);
  op.accumulate = accumulate;
  const bool n_major_bytes = op.b_major == Major::mn && size_of(op.b_type) == 1;
  if (std::string broken = broken_shape_rule(cta_group, op.m, op.n, n_major_bytes); !broken.empty())
    return Error{std::move(broken)};
  if (std::string broken = broken_accumulator_rule(cta_group, op.m, op.n, d); !broken.empty())
    return Error{std::move(broken)};
  op.d = d & 0x007f01ff;

  const Result<SmemDescriptorFields> a_fields = decode_smem_descriptor(a), b_fields = decode_smem_descriptor(b);
  if (!a_fields) return Error{"Operand A: " + a_fields.error()};
  if (!b_fields) return Error{"Operand B: " + b_fields.error()};
  op.a = *a_fields;
  op.b = *b_fields;
  if (op.a.swizzle == Swizzle::b128_atom32 || op.b.swizzle == Swizzle::b128_atom32)
    return Error{"The 128-byte swizzle with 32-byte atoms exists for kind tf32 only."};
  return op;
}

SharedRange operand_range(const MmaOperation& op, bool operand_b) { return range_of(operand_of(op, operand_b)); }

SharedRange range_of(const Operand& operand) {
  SharedRange range{~0u, 0};
  const auto cover = [&](uint32_t address, uint32_t, uint32_t) {
    if (address < range.begin) range.begin = address;
    if (address + 16 > range.end) range.end = address + 16;
  };
  // Groups of eight rows lie one after the other, and a swizzle moves nothing to another line of 128 bytes: the first
  // and the last group have the ends.
  const SmemDescriptorFields& d = operand.descriptor;
  const uint64_t last = d.start + uint64_t{operand.rows} / 8 * d.stride_byte_offset + 8 * 128 + d.leading_byte_offset;
  if (operand.major == Major::k && d.stride_byte_offset >= 128 && last < 1u << 18 && operand.rows % 8 == 0) {
    for_each_unit({d, operand.type, operand.major, 8, operand.k}, cover);
    SmemDescriptorFields end = d;
    end.start += (operand.rows / 8 - 1) * d.stride_byte_offset;
    for_each_unit({end, operand.type, operand.major, 8, operand.k}, cover);
    return range;
  }
  for_each_unit(operand, cover);
  return range;
}

void execute_mma(const MmaOperation& op, const MmaMemory* memory) {
  static thread_local Scratch scratch;
  const Operand a = operand_of(op, false), b = operand_of(op, true);
  const uint32_t ctas = op.cta_group == 2 ? 2 : 1;
  // Each CTA holds a share of B's columns, and every CTA uses all of them.
  for (uint32_t cta = 0; cta < ctas; ++cta)
    convert_operand(b, memory[cta].shared, scratch.b + cta * b.rows, 1, mma_b_pitch);

  const MmaKernel multiply = best_mma_kernel();
  const uint32_t columns = accumulator_columns(op.cta_group, op.m, op.n);
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    convert_operand(a, memory[cta].shared, scratch.a, op.k, 1);
    if (op.negate_a != op.negate_b)
      for (float& value : scratch.a) value = -value;
    // Layout F spreads every 16 rows over another quarter of the lanes; elsewhere a CTA's rows are consecutive lanes.
    const uint32_t rows = op.cta_group == 1 && op.m == 64 ? 16 : a.rows;
    for (uint32_t column = 0; column < op.n; column += columns)
      for (uint32_t row = 0; row < a.rows; row += rows) {
        const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, cta * a.rows + row, column);
        const size_t lane = (op.d >> 16) + cell.lane;
        MmaTile tile;
        tile.a = scratch.a + row * op.k;
        tile.b = scratch.b + column;
        tile.d = memory[cta].tmem + lane * tmem_columns + (op.d & 0xffff) + cell.column;
        tile.rows = rows;
        tile.n = columns;
        tile.k_extent = op.k;
        tile.accumulate = op.accumulate;
        multiply(tile);
      }
  }
}

}  // namespace warploom::loom
