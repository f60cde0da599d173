// What the loom assumes about a chip that no second source confirms (hardware.md §8.2), one constant each. Nothing
// here was measured: an owner of a B200 who finds one wrong changes it here, and the model follows. The arithmetic of
// the exact tensor core has its own such constants (exact_multiply.hpp).
#pragma once

#include <cstdint>

namespace warploom::loom::unconfirmed {

/// unconfirmed: where e2m1 sits in the 8-bit container of kinds f8f6f4 and mxf8f6f4 in tensor memory, and after the
/// decompression of tcgen05.cp: bits 5:2. (Stated for the registers of mma.sync only.)
inline constexpr uint32_t e2m1_container_shift = 2;
/// unconfirmed: e2m3 and e3m2 sit in bits 5:0 of theirs.
inline constexpr uint32_t six_bit_container_shift = 0;

/// unconfirmed: of the eight words of disable-output-lane of cta_group::2, the words from this one on are the odd
/// CTA's.
inline constexpr uint32_t disabled_lanes_of_peer = 4;

/// unconfirmed: what tcgen05.st.unpack::16b leaves in the upper halves of the words it writes.
inline constexpr uint32_t unpacked_upper_half = 0;
/// unspecified by the instruction set: what a 16-bit accumulator leaves in the upper half of its word. NaN, so that a
/// kernel that reads it as part of the result notices.
inline constexpr uint32_t f16_accumulator_upper_half = 0xffff0000;

/// unconfirmed: tcgen05.shift.down moves row i + 1 of its 32 lanes to row i, and leaves the last row alone. -1 would be
/// the other way, with the first row left alone.
inline constexpr int shift_source_row = 1;

/// unconfirmed (one source): row i of tcgen05.cp.4x256b goes to lane(address) + 32 * i.
inline constexpr uint32_t copy_4x256b_lane_step = 32;

/// unconfirmed (one source): with cta_group::2 and M = 128, A in tensor memory lies twice, in lanes 0 to 63 and again
/// in lanes 64 to 127, and each half of the columns of D is made from the copy in its own lanes.
inline constexpr uint32_t a_copy_lane_step = 64;
/// unconfirmed (one source): with cta_group::2 and M = 128, the scale factors of the first half of B's columns lie in
/// lane quarters 0 and 1, those of the second half in quarters 2 and 3.
inline constexpr uint32_t split_sfb_lane_step = 64;

/// unconfirmed (one source): layout G, tcgen05.mma.ws with 32 rows: quarter q of D's columns in lane quarter q.
inline constexpr uint32_t layout_g_lane_step = 32;

/// unconfirmed: N may be any multiple of 8 (cta_group::2: 16); older tables want 16 at M = 128 and 32 for a pair.
inline constexpr uint32_t n_step = 8;

// ---- TMA, on Hopper as well

/// unconfirmed: padded types start at multiples of their fixed box of 128 values.
inline constexpr int32_t padded_start_step = 128;
/// unconfirmed: im2col stores want both corners of the window at 0. (An H200 faulted with -1 at both.)
inline constexpr bool im2col_store_wants_no_corners = true;
/// unconfirmed: the NaN that a reduction leaves as a sum of f64; this one is what the chip's arithmetic makes
/// elsewhere.
inline constexpr uint64_t f64_sum_nan = 0x7fff'ffff'ffff'ffff;
/// unconfirmed: of -0 and +0, reductions of f16 and bf16 take -0 as the smaller.
inline constexpr bool minus_zero_is_less = true;

// ---- atomics

/// unconfirmed (the manual's words on its current implementation): sums of f32 by atom and red take subnormal operands
/// and results for zero in global memory, and keep them in shared memory. Bulk reductions keep them (measured).
inline constexpr bool global_f32_atomics_flush = true;

}  // namespace warploom::loom::unconfirmed
