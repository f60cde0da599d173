#include "loom/units/wgmma.hpp"

#include <cstring>

#include "loom/exec/per_thread.hpp"
#include "loom/units/exact_operands.hpp"
#include "loom/units/mma_kernel.hpp"
#include "loom/units/mma_operands.hpp"

namespace warploom::loom {

DType element_type(WgmmaType type) {
  switch (type) {
    case WgmmaType::bf16: return DType::bf16;
    case WgmmaType::f16: return DType::f16;
    case WgmmaType::tf32: return DType::f32;
    case WgmmaType::e5m2: return DType::e5m2;
    default: return DType::e4m3;
  }
}

bool has_fast_form(const native::WgmmaForm& form) {
  return form.d_type == WgmmaResult::f32 && form.a_type != WgmmaType::tf32;
}

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

ExactType exact_type(WgmmaType type) {
  switch (type) {
    case WgmmaType::bf16: return ExactType::bf16;
    case WgmmaType::f16: return ExactType::f16;
    case WgmmaType::tf32: return ExactType::tf32;
    case WgmmaType::e4m3: return ExactType::e4m3;
    case WgmmaType::e5m2: return ExactType::e5m2;
    case WgmmaType::s8: return ExactType::s8;
    case WgmmaType::u8: return ExactType::u8;
  }
  return ExactType::bf16;
}

Operand operand_of(const WgmmaOperation& op, bool b) {
  if (b) return {op.b, element_type(op.form.b_type), op.form.b_major, op.form.n, op.k};
  return {op.a_in_registers ? gathered_a : op.a, element_type(op.form.a_type), op.form.a_major, wgmma_rows, op.k};
}

void gather_a(const WgmmaMemory& memory, std::byte* codes) {
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
    for (uint32_t i = 0; i < 4; ++i) {
      const WgmmaCell cell = wgmma_operand_cell(thread, i);
      std::memcpy(codes + operand_address(gathered_a, Major::k, 1, cell.row, cell.column), memory.a[thread] + i, 4);
    }
}

/// Between D in the threads' registers and D as rows. A thread holds pairs of neighbouring columns, `pair` bytes each.
template <class Move>
void for_each_pair(uint32_t n, size_t pair, const WgmmaMemory& memory, uint32_t* rows, Move&& move) {
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread) {
    auto* d = static_cast<std::byte*>(memory.d[thread]);
    for (uint32_t i = 0; i < n / 2; i += 2, d += pair) {
      const WgmmaCell cell = wgmma_accumulator_cell(thread, i);
      move(d, rows + cell.row * d_pitch + cell.column);
    }
  }
}

void load_d(const WgmmaOperation& op, const WgmmaMemory& memory, uint32_t* rows) {
  if (op.form.d_type != WgmmaResult::f16)
    return for_each_pair(op.form.n, 8, memory, rows, [](const std::byte* d, uint32_t* row) { std::memcpy(row, d, 8); });
  for_each_pair(op.form.n, 4, memory, rows, [](const std::byte* d, uint32_t* row) {
    uint32_t pair;
    std::memcpy(&pair, d, 4);
    row[0] = pair & 0xffff;
    row[1] = pair >> 16;
  });
}

void store_d(const WgmmaOperation& op, const WgmmaMemory& memory, uint32_t* rows) {
  if (op.form.d_type != WgmmaResult::f16)
    return for_each_pair(op.form.n, 8, memory, rows, [](std::byte* d, const uint32_t* row) { std::memcpy(d, row, 8); });
  for_each_pair(op.form.n, 4, memory, rows, [](std::byte* d, const uint32_t* row) {
    const uint32_t pair = (row[0] & 0xffff) | row[1] << 16;
    std::memcpy(d, &pair, 4);
  });
}

bool negates_a(WgmmaNegate negate) { return negate == WgmmaNegate::a || negate == WgmmaNegate::both; }
bool negates_b(WgmmaNegate negate) { return negate == WgmmaNegate::b || negate == WgmmaNegate::both; }

void execute_exact(const WgmmaOperation& op, const WgmmaMemory& memory) {
  static thread_local PerThread<ExactMultiplier> exact_of_thread;
  ExactMultiplier& exact = *exact_of_thread;
  static thread_local Scratch scratch;
  const native::WgmmaForm& form = op.form;
  if (op.a_in_registers) gather_a(memory, scratch.a_codes);
  gather_codes({op.a_in_registers ? gathered_a : op.a, form.a_major, size_of(form.a_type), wgmma_rows, op.k,
                op.a_in_registers ? scratch.a_codes : memory.shared},
               exact.a(), op.k, 1);
  gather_codes({op.b, form.b_major, size_of(form.b_type), form.n, op.k, memory.shared}, exact.b(), 1, exact_b_pitch);
  exact.decode({.a_type = exact_type(form.a_type),
                .b_type = exact_type(form.b_type),
                .d_type = form.d_type == WgmmaResult::f16   ? ExactResult::f16
                          : form.d_type == WgmmaResult::s32 ? ExactResult::s32
                                                            : ExactResult::f32,
                .unit = wgmma_unit(exact_type(form.a_type)),
                .k = op.k,
                .negate_a = negates_a(form.negate),
                .negate_b = negates_b(form.negate),
                .saturate = form.overflow == WgmmaOverflow::clamp},
               wgmma_rows, form.n);
  if (op.accumulate) load_d(op, memory, scratch.d);
  exact.multiply(
      {.rows = wgmma_rows, .columns = form.n, .d = scratch.d, .d_pitch = d_pitch, .accumulate = op.accumulate});
  store_d(op, memory, scratch.d);
}

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
  if (!wgmma_types_exist(form.a_type, form.b_type))
    return Error{"A and B of a wgmma have one type; only e4m3 with e5m2 and s8 with u8 may be mixed."};
  if (!wgmma_n_exists(form.a_type, form.n))
    return Error{"N is " + std::to_string(form.n) + "; wgmma has N = 8, 16, 24, " +
                 (is_integer(form.a_type) ? "32, 48, ... 256 for integers." : "... 256.")};
  if (!wgmma_result_exists(form.a_type, form.d_type))
    return Error{"The result of a wgmma of " + std::string(name_of(form.a_type)) + " is " +
                 (is_integer(form.a_type)                                ? "s32."
                  : form.a_type == WgmmaType::f16 || is_fp8(form.a_type) ? "f32 or f16."
                                                                         : "f32.")};
  if (size_of(form.a_type) != 2 && (form.a_major == Major::mn || form.b_major == Major::mn))
    return Error{"wgmma reads operands of 8 and 32 bits K-major only."};
  if (is_integer(form.a_type) && form.negate != WgmmaNegate::none)
    return Error{"A wgmma of integers negates no operand."};
  if (!is_integer(form.a_type) && form.overflow != WgmmaOverflow::wrap)
    return Error{"Only a wgmma of integers has .satfinite."};
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

void for_each_operand_unit(const WgmmaOperation& op, bool operand_b, const std::function<void(uint32_t)>& visit) {
  for_each_unit(operand_of(op, operand_b), [&](uint32_t address, uint32_t, uint32_t) { visit(address); });
}

SharedRange wgmma_range(const WgmmaOperation& op, bool operand_b) { return range_of(operand_of(op, operand_b)); }

void execute_wgmma(const WgmmaOperation& op, const WgmmaMemory& memory, Numerics numerics) {
  if (numerics == Numerics::exact || !has_fast_form(op.form)) return execute_exact(op, memory);
  static thread_local Scratch scratch;
  if (op.a_in_registers) gather_a(memory, scratch.a_codes);
  convert_operand(operand_of(op, false), op.a_in_registers ? scratch.a_codes : memory.shared, scratch.a, op.k, 1);
  convert_operand(operand_of(op, true), memory.shared, scratch.b, 1, mma_b_pitch);
  if (negates_a(op.form.negate) != negates_b(op.form.negate))
    for (float& value : scratch.a) value = -value;
  if (op.accumulate) load_d(op, memory, scratch.d);
  MmaTile tile;
  tile.a = scratch.a;
  tile.b = scratch.b;
  tile.d = scratch.d;
  tile.rows = wgmma_rows;
  tile.n = op.form.n;
  tile.k_extent = op.k;
  tile.accumulate = op.accumulate;
  best_mma_kernel()(tile);
  store_d(op, memory, scratch.d);
}

}  // namespace warploom::loom
