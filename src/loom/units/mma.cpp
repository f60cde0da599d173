// tcgen05.mma: the fast path, products of 8- and 16-bit floats with f32 accumulators. tensor_core_product.cpp has the
// others.
#include <array>
#include <cstring>

#include "mma_kernel.hpp"
#include "mma_operands.hpp"
#include "tensor_core_product.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t tmem_columns = 512;
constexpr uint32_t max_k = 32;

DType plain_type(MmaType type) {
  switch (type) {
    case MmaType::bf16: return DType::bf16;
    case MmaType::f16: return DType::f16;
    case MmaType::e5m2: return DType::e5m2;
    default: return DType::e4m3;
  }
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

Operand plain_operand(const MmaOperation& op, bool b) {
  const uint32_t group = op.cta_group == 2 ? 2 : 1;
  if (b) return {op.b, plain_type(op.b_type), op.b_major, op.n / group, op.k};
  return {op.a, plain_type(op.a_type), op.a_major, op.m / group, op.k};
}

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
  if (!plain_product(op)) return execute_product(op, memory, multiply_fast);
  static thread_local Scratch scratch;
  const Operand a = plain_operand(op, false), b = plain_operand(op, true);
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
