// Where things sit: accumulators, A, scale factors and registers in tensor memory (hardware.md §4.8, 4.9, 4.11, 4.14),
// operands in shared memory (§3.2).
#include <bit>

#include "tensor_core.hpp"
#include "unconfirmed.hpp"

namespace warploom::loom {

TmemCell accumulator_cell(int cta_group, uint32_t m, uint32_t n, uint32_t row, uint32_t column,
                          bool weight_stationary) {
  if (weight_stationary && m == 64) {  // layout E
    const uint32_t half = n / 2;
    return {0, row + 64 * (column / half), column % half};
  }
  if (weight_stationary && m == 32) {  // layout G
    const uint32_t quarter = n / 4;
    return {0, row + unconfirmed::layout_g_lane_step * (column / quarter), column % quarter};
  }
  if (cta_group == 2 && m == 256) return {row / 128, row % 128, column};  // layout A
  if (cta_group == 2) {  // layout B: the halves of N lie on top of each other
    const uint32_t half = n < 2 ? 1 : n / 2;
    return {row / 64, row % 64 + 64 * (column / half), column % half};
  }
  if (m == 64) return {0, row % 16 + 32 * (row / 16), column};  // layout F: half of the lanes of each quarter
  return {0, row, column};                                      // layout D
}

uint32_t accumulator_columns(int cta_group, uint32_t m, uint32_t n, bool weight_stationary) {
  if (weight_stationary) return m == 64 ? n / 2 : m == 32 ? n / 4 : n;
  return cta_group == 2 && m == 128 ? n / 2 : n;
}

TmemElement a_element(int cta_group, uint32_t m, uint32_t row, uint32_t k, uint32_t container) {
  const uint32_t bit = k * container;
  TmemCell cell = accumulator_cell(cta_group, m, 2, row, 0);  // the lanes are those of D's first column
  cell.column = bit / 32;
  return {cell, bit % 32};
}

TmemCell scale_cell(uint32_t row, uint32_t rows, bool split) {
  const uint32_t half = split ? rows / 2 : rows, r = row % half;
  return {0, r % 32 + unconfirmed::split_sfb_lane_step * (row / half), r / 32};
}

TmemCell register_cell(const native::TmemForm& form, uint32_t lane, uint32_t index, uint32_t half) {
  // A packed register holds the low halves of two neighbouring columns.
  const auto column = [&](uint32_t c) { return form.packed ? 2 * c + half : c; };
  switch (form.shape) {
    case native::TmemShape::m32x32b: return {0, lane, column(index)};
    case native::TmemShape::m16x64b: return {0, lane / 4 + 8 * (lane % 2), column(2 * index + lane / 2 % 2)};
    case native::TmemShape::m16x128b: return {0, lane / 4 + 8 * (index % 2), column(4 * (index / 2) + lane % 4)};
    case native::TmemShape::m16x256b:
      return {0, lane / 4 + 8 * (index / 2 % 2), column(8 * (index / 4) + 2 * (lane % 4) + index % 2)};
    case native::TmemShape::m16x32bx2: return {0, lane % 16, column(index) + lane / 16 * form.half_offset};
  }
  return {};
}

uint32_t register_columns(const native::TmemForm& form, uint32_t registers) {
  const uint32_t width = form.packed ? 2 : 1;
  switch (form.shape) {
    case native::TmemShape::m32x32b: return width * registers;
    case native::TmemShape::m16x64b: return width * 2 * registers;
    case native::TmemShape::m16x128b: return width * ((registers + 1) / 2 * 4);
    case native::TmemShape::m16x256b: return width * ((registers + 3) / 4 * 8);
    case native::TmemShape::m16x32bx2: return width * registers + form.half_offset;
  }
  return 0;
}

std::string broken_register_count(const native::TmemForm& form, uint32_t registers) {
  // Registers of .x1, and the largest number in any shape.
  const uint32_t least = form.shape == native::TmemShape::m16x256b   ? 4
                         : form.shape == native::TmemShape::m16x128b ? 2
                                                                     : 1;
  constexpr uint32_t most = 128;
  if (std::has_single_bit(registers) && registers >= least && registers <= most) return "";
  return "moves " + std::to_string(registers) + " registers per thread; this shape moves " + std::to_string(least) +
         ", " + std::to_string(2 * least) + ", " + std::to_string(4 * least) + ", ... or 128";
}

Result<SmemDescriptorFields> decode_smem_descriptor(SmemDescriptor descriptor) {
  const uint64_t bits = descriptor.bits;
  const auto field = [bits](int low, int width) { return static_cast<uint32_t>(bits >> low & ((1u << width) - 1)); };
  if (field(14, 2) != 0)
    return Error{"Bits 15:14 of the shared-memory descriptor are not zero: its start address left the 18-bit range."};
  if (field(30, 2) != 0) return Error{"Bits 31:30 of the shared-memory descriptor are not zero."};
  if (field(46, 3) != 1)
    return Error{"Bits 48:46 of the shared-memory descriptor are not 0b001, which every tcgen05 descriptor carries."};
  if (field(52, 1) != 0)
    return Error{"Bit 52 of the shared-memory descriptor (absolute leading offset) is set; sm_100 has no such mode."};
  if (field(53, 8) != 0) return Error{"Bits 60:53 of the shared-memory descriptor are not zero."};

  SmemDescriptorFields fields;
  fields.start = field(0, 14) << 4;
  fields.leading_byte_offset = field(16, 14) << 4;
  fields.stride_byte_offset = field(32, 14) << 4;
  fields.base_offset = field(49, 3);
  switch (const uint32_t code = field(61, 3)) {
    case 0: fields.swizzle = Swizzle::none; break;
    case 1: fields.swizzle = Swizzle::b128_atom32; break;
    case 2: fields.swizzle = Swizzle::b128; break;
    case 4: fields.swizzle = Swizzle::b64; break;
    case 6: fields.swizzle = Swizzle::b32; break;
    default:
      return Error{"The swizzle code " + std::to_string(code) +
                   " of the shared-memory descriptor does not exist; 0, 1, 2, 4 and 6 do."};
  }
  return fields;
}

uint32_t operand_address(const SmemDescriptorFields& descriptor, Major major, uint32_t element_bytes, uint32_t row,
                         uint32_t k) {
  const uint32_t leading = descriptor.leading_byte_offset, stride = descriptor.stride_byte_offset;
  const uint32_t span = swizzle_span(descriptor.swizzle);
  const uint32_t k_byte = k * element_bytes, row_byte = row * element_bytes;
  uint32_t offset = 0;
  if (major == Major::k) {
    offset = row / 8 * stride;
    if (span == 0)
      offset += row % 8 * 16 + k_byte / 16 * leading + k_byte % 16;
    else
      offset += row % 8 * span + k_byte;
  } else if (span == 0) {
    offset = row_byte % 16 + row_byte / 16 * stride + k % 8 * 16 + k / 8 * leading;
  } else {
    // The 32-byte atoms repeat after four lines, all others after eight.
    const uint32_t group = descriptor.swizzle == Swizzle::b128_atom32 ? 4 : 8;
    offset = row_byte % span + row_byte / span * leading + k % group * span + k / group * stride;
  }
  return swizzle_address(descriptor.swizzle, descriptor.start + offset, descriptor.base_offset) & 0x3ffff;
}

}  // namespace warploom::loom
