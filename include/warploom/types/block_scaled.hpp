// Block-scaled products (tcgen05.mma kinds mxf8f6f4, mxf4, mxf4nvf4): their instruction descriptor bit for bit
// (hardware.md §4.7), and where scale factors lie on their way to tensor memory (§4.11).
//
//   encode_block_scaled({.a_type = 0, .b_type = 5, .m = 128, .n = 256, .sfa_id = 2})       e4m3 * e2m1, third K slice
//   shared[scale_offset_shared(row, block, rows)] = scale;       then tcgen05.cp 32x128b.warpx4, once per 512 bytes
#pragma once

#include "warploom/types/descriptor.hpp"

namespace warploom {

/// Field values as the hardware numbers them. Types of mxf8f6f4 are those of f8f6f4, of the others 1 (e2m1).
struct BlockScaledFields {
  uint32_t a_type = 0;
  uint32_t b_type = 0;
  bool negate_a = false;
  bool negate_b = false;
  Major a_major = Major::k;
  Major b_major = Major::k;
  uint32_t m = 128;  ///< a multiple of 128
  uint32_t n = 128;
  ScaleType scale_type = ScaleType::ue8m0;
  uint32_t sfa_id = 0;  ///< the byte of the word in tensor memory at which this instruction's scales begin
  uint32_t sfb_id = 0;
  bool sparse = false;
  bool k96 = false;  ///< K = 96 of sm_103a
};

WARPLOOM_CONST_FN InstructionDescriptor encode_block_scaled(const BlockScaledFields& f) {
  return {static_cast<uint32_t>(f.sparse) << 2 | (f.sfb_id & 3) << 4 | (f.a_type & 7) << 7 | (f.b_type & 7) << 10 |
          static_cast<uint32_t>(f.negate_a) << 13 | static_cast<uint32_t>(f.negate_b) << 14 |
          static_cast<uint32_t>(f.a_major == Major::mn) << 15 | static_cast<uint32_t>(f.b_major == Major::mn) << 16 |
          (f.n >> 3) << 17 | static_cast<uint32_t>(f.scale_type) << 23 | (f.m >> 7) << 27 | (f.sfa_id & 3) << 29 |
          static_cast<uint32_t>(f.k96) << 31};
}

WARPLOOM_CONST_FN BlockScaledFields decode_block_scaled(InstructionDescriptor d) {
  BlockScaledFields f;
  f.sparse = (d.bits >> 2 & 1) != 0;
  f.sfb_id = d.bits >> 4 & 3;
  f.a_type = d.bits >> 7 & 7;
  f.b_type = d.bits >> 10 & 7;
  f.negate_a = (d.bits >> 13 & 1) != 0;
  f.negate_b = (d.bits >> 14 & 1) != 0;
  f.a_major = (d.bits >> 15 & 1) != 0 ? Major::mn : Major::k;
  f.b_major = (d.bits >> 16 & 1) != 0 ? Major::mn : Major::k;
  f.n = (d.bits >> 17 & 63) << 3;
  f.scale_type = (d.bits >> 23 & 1) != 0 ? ScaleType::ue8m0 : ScaleType::ue4m3;
  f.m = (d.bits >> 27 & 3) << 7;
  f.sfa_id = d.bits >> 29 & 3;
  f.k96 = d.bits >> 31 != 0;
  return f;
}

/// Scale factors travel in atoms of 128 rows x 4 blocks along K, 512 bytes that one tcgen05.cp 32x128b.warpx4 moves.
inline constexpr uint32_t scale_atom_bytes = 512, scale_atom_rows = 128, scale_atom_blocks = 4;

/// The byte of an atom that holds the scale of (row, block along K).
WARPLOOM_CONST_FN uint32_t scale_offset_in_atom(uint32_t row, uint32_t block) {
  return row % 32 * 16 + row / 32 % 4 * 4 + block % 4;
}
/// A stage in shared memory: atoms of neighbouring rows follow each other.
WARPLOOM_CONST_FN uint32_t scale_offset_shared(uint32_t row, uint32_t block, uint32_t rows) {
  const uint32_t row_atoms = (rows + scale_atom_rows - 1) / scale_atom_rows;
  return (block / scale_atom_blocks * row_atoms + row / scale_atom_rows) * scale_atom_bytes +
         scale_offset_in_atom(row, block);
}
/// Global memory, as cuBLAS and CUTLASS keep it: atoms of neighbouring blocks along K follow each other.
WARPLOOM_CONST_FN uint64_t scale_offset_global(uint32_t row, uint32_t block, uint32_t blocks) {
  const uint64_t block_atoms = (blocks + scale_atom_blocks - 1) / scale_atom_blocks;
  return (row / scale_atom_rows * block_atoms + block / scale_atom_blocks) * scale_atom_bytes +
         scale_offset_in_atom(row, block);
}

/// The descriptor of an atom for that copy: no swizzle, 8-row groups of 128 bytes.
WARPLOOM_CONST_FN SmemDescriptor scale_atom_descriptor(uint32_t start) {
  SmemDescriptorFields fields;
  fields.start = start;
  fields.stride_byte_offset = 128;
  return encode_smem_descriptor(fields);
}

}  // namespace warploom
