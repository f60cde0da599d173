#include "loom/units/wgmma.hpp"

#include <cstring>

#include "loom/units/mma_kernel.hpp"
#include "loom/units/mma_operands.hpp"

namespace warploom::loom {

namespace {

constexpr size_t d_pitch = 512;  // what the multiplication assumes
constexpr uint32_t max_k = 32;

/// Where A's registers are put together: K-major without swizzle, 8-row groups of 256 bytes.
constexpr SmemDescriptorFields gathered_a{
    .start = 0, .leading_byte_offset = 128, .stride_byte_offset = 256, .base_offset = 0, .swizzle = Swizzle::none};

/// Too large for the stack of a fiber. Columns of B past N are read by the kernel and their results dropped.
struct Scratch {
  alignas(64) float a[wgmma_rows * max_k];
  alignas(64) float b[max_k * mma_b_pitch];
  alignas(64) uint32_t d[wgmma_rows * d_pitch];
  alignas(64) std::byte a_codes[wgmma_rows * mma_k_bytes];
};

Operand operand_of(const WgmmaOperation& op, bool b) {
  if (b) return {op.b, op.form.b_type, op.form.b_major, op.form.n, op.k};
  return {op.a_in_registers ? gathered_a : op.a, op.form.a_type, op.form.a_major, wgmma_rows, op.k};
}

void gather_a(const WgmmaMemory& memory, std::byte* codes) {
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
    for (uint32_t i = 0; i < 4; ++i) {
      const WgmmaCell cell = wgmma_operand_cell(thread, i);
      std::memcpy(codes + operand_address(gathered_a, Major::k, 1, cell.row, cell.column), memory.a[thread] + i, 4);
    }
}

/// Between D in the threads' registers and D as rows. A thread holds pairs of neighbouring columns.
template <class Move>
void for_each_pair(uint32_t n, const WgmmaMemory& memory, uint32_t* rows, Move&& move) {
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
    for (uint32_t i = 0; i < n / 2; i += 2) {
      const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
      move(memory.d[thread] + i, rows + cell.row * d_pitch + cell.column);
    }
}

bool eight_bit(DType type) { return type == DType::e4m3 || type == DType::e5m2; }

}  // namespace

WgmmaCell wgmma_accumulator_cell(uint32_t thread, uint32_t index) {
  const uint32_t warp = thread / 32, lane = thread % 32;
  return {16 * warp + lane / 4 + 8 * (index / 2 % 2), 8 * (index / 4) + 2 * (lane % 4) + index % 2};
}

WgmmaCell wgmma_operand_cell(uint32_t thread, uint32_t index) {
  const uint32_t warp = thread / 32, lane = thread % 32;
  return {16 * warp + lane / 4 + 8 * (index % 2), 4 * (lane % 4) + 16 * (index / 2)};
}

Result<SmemDescriptorFields> decode_wgmma_descriptor(SmemDescriptor descriptor) {
  const uint64_t bits = descriptor.bits;
  const auto field = [bits](int low, int width) { return static_cast<uint32_t>(bits >> low & ((1u << width) - 1)); };
  if (field(14, 2) != 0)
    return Error{"Bits 15:14 of the shared-memory descriptor are not zero: its start address left the 18-bit range."};
  if (field(30, 2) != 0) return Error{"Bits 31:30 of the shared-memory descriptor are not zero."};
  if (field(46, 3) != 0)
    return Error{
        "Bits 48:46 of the shared-memory descriptor are not zero; a wgmma descriptor has no version, tcgen05's has."};
  if (field(52, 10) != 0)
    return Error{"Bits 61:52 of the shared-memory descriptor are not zero; wgmma has no swizzle with larger atoms."};
  constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  return SmemDescriptorFields{.start = field(0, 14) << 4,
                              .leading_byte_offset = field(16, 14) << 4,
                              .stride_byte_offset = field(32, 14) << 4,
                              .base_offset = field(49, 3),
                              .swizzle = swizzles[field(62, 2)]};
}

Result<WgmmaOperation> decode_wgmma(const native::WgmmaForm& form, bool a_in_registers, SmemDescriptor a,
                                    SmemDescriptor b, bool accumulate) {
  if (form.n < 8 || form.n > 256 || form.n % 8 != 0)
    return Error{"N is " + std::to_string(form.n) + "; wgmma has N = 8, 16, 24, ... 256."};
  if (form.a_type == DType::f32 || form.b_type == DType::f32)
    return Error{"The loom models wgmma for the types bf16, f16, e4m3 and e5m2 only."};
  if (form.a_type != form.b_type && !(eight_bit(form.a_type) && eight_bit(form.b_type)))
    return Error{"A and B of a wgmma have one type; only e4m3 and e5m2 may be mixed."};
  if (eight_bit(form.a_type) && (form.a_major == Major::mn || form.b_major == Major::mn))
    return Error{"wgmma reads 8-bit operands K-major only."};
  if (a_in_registers && form.a_major == Major::mn) return Error{"A in registers of a wgmma has no MN-major form."};
  WgmmaOperation op;
  op.form = form;
  op.k = mma_k_bytes / size_of(form.a_type);
  op.a_in_registers = a_in_registers;
  op.accumulate = accumulate;
  if (!a_in_registers) {
    const Result<SmemDescriptorFields> fields = decode_wgmma_descriptor(a);
    if (!fields) return Error{"Operand A: " + fields.error()};
    op.a = *fields;
  }
  const Result<SmemDescriptorFields> fields = decode_wgmma_descriptor(b);
  if (!fields) return Error{"Operand B: " + fields.error()};
  op.b = *fields;
  return op;
}

SharedRange wgmma_range(const WgmmaOperation& op, bool operand_b) { return range_of(operand_of(op, operand_b)); }

void execute_wgmma(const WgmmaOperation& op, const WgmmaMemory& memory) {
  static thread_local Scratch scratch;
  if (op.a_in_registers) gather_a(memory, scratch.a_codes);
  convert_operand(operand_of(op, false), op.a_in_registers ? scratch.a_codes : memory.shared, scratch.a, op.k, 1);
  convert_operand(operand_of(op, true), memory.shared, scratch.b, 1, mma_b_pitch);
  if (op.accumulate)
    for_each_pair(op.form.n, memory, scratch.d, [](const float* d, uint32_t* row) { std::memcpy(row, d, 8); });
  MmaTile tile;
  tile.a = scratch.a;
  tile.b = scratch.b;
  tile.d = scratch.d;
  tile.rows = wgmma_rows;
  tile.n = op.form.n;
  tile.k_extent = op.k;
  tile.accumulate = op.accumulate;
  best_mma_kernel()(tile);
  for_each_pair(op.form.n, memory, scratch.d, [](float* d, const uint32_t* row) { std::memcpy(d, row, 8); });
}

}  // namespace warploom::loom
