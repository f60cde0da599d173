// One instruction of sm_90's machine code: 16 bytes, of which we know what the rewriting of issue hints needs.
//
// Fields as found by comparing what ptxas writes with what the disassembler shows (docs/hardware.md §8.5).
#pragma once

#include <cstdint>

namespace warploom::sass {

struct Instruction {
  uint64_t low, high;

  static constexpr uint32_t ffma = 0x223;       ///< d = a * b + c, all of them registers
  static constexpr uint32_t warpgroup = 0x9c5;  ///< WARPGROUP.ARRIVE and WARPGROUP.DEPBAR

  constexpr uint32_t opcode() const { return low & 0xfff; }
  constexpr uint32_t d() const { return low >> 16 & 0xff; }
  constexpr uint32_t a() const { return low >> 24 & 0xff; }
  constexpr uint32_t b() const { return low >> 32 & 0xff; }
  constexpr uint32_t c() const { return high & 0xff; }
  constexpr bool always() const { return (low >> 12 & 0xf) == 7; }  ///< under no predicate

  /// wgmma, for 8-bit operands and for 16-bit ones
  constexpr bool multiplies() const { return opcode() >= 0x9f0 && opcode() <= 0x9f3; }
  /// Branches, calls, exits, and the instructions that join warps again.
  constexpr bool turns_aside() const { return (opcode() & 0xff0) == 0x940; }

  // ---- hints: how the instruction is issued, not what it does

  /// Whether another warp may go first afterwards. (The bit is the other way round: 1 is to stay.)
  constexpr bool yields() const { return (high >> yield_bit & 1) == 0; }
  /// Whether the value of b stays at the multiplier's input for the next instruction.
  constexpr bool keeps_b() const { return (high >> reuse_bit & 0xf) == keep_b; }
  /// Cycles until the warp's next instruction.
  constexpr uint32_t stall() const { return high >> 41 & 0xf; }
  /// Few enough that the yield bit is a hint: ptxas writes 0, and 12 and more, with one value of it only.
  constexpr bool short_stall() const { return stall() >= 1 && stall() < 8; }
  /// Barriers of loads that are waited for first.
  constexpr uint32_t waits_for() const { return high >> 52 & 0x3f; }

  /// A warp that yields finds nothing kept when it comes back.
  constexpr void hint(bool yield, bool keep) {
    high &= ~(uint64_t{1} << yield_bit | uint64_t{0xf} << reuse_bit);
    high |= uint64_t{yield ? 0u : 1u} << yield_bit | (keep && !yield ? keep_b : 0) << reuse_bit;
  }

  friend constexpr bool operator==(const Instruction&, const Instruction&) = default;

 private:
  static constexpr int yield_bit = 45, reuse_bit = 58;
  static constexpr uint64_t keep_b = 2;
};
static_assert(sizeof(Instruction) == 16);

}  // namespace warploom::sass
