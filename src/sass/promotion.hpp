// Issue hints for the promotion of blockwise FP8: total = product * scale + total, in fp32, for every value of a
// product, while the other warpgroup's products keep the tensor core busy.
//
// ptxas lets such an instruction yield every second time and keeps no scale for the next one, whatever source form we
// tried. Both together cost 3.4 cycles per instruction where 1.7 are possible (docs/hardware.md §8.5). A warp that
// never yields, though, keeps the others from starting their products. So the first few go as ptxas has them, as long
// as the other group may be about to issue, and of the rest one in sixteen yields.
//
// Hints change when an instruction is issued, not what it computes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sass/instruction.hpp"

namespace warploom::sass {

/// The multiply-adds after one wait for products, as places in the code.
using PromotionRun = std::vector<size_t>;

/// Multiply-adds onto their own register after a warpgroup instruction and before the next one, the next product or
/// the next branch; 16 and more of them.
std::vector<PromotionRun> find_promotion(std::span<const Instruction> code);

struct Retimed {
  size_t instructions = 0;  ///< of promotion; none: the kernel does not promote
  size_t changed = 0;       ///< that had other hints
  size_t conflicts = 0;     ///< that read two registers of one bank, which no hint mends
};

/// Gives the promotion of a kernel its hints, where more than one in four instructions yields; a second time changes
/// nothing. (Where a single warpgroup multiplies, ptxas's hints are good.)
Retimed retime_promotion(std::span<Instruction> code);

}  // namespace warploom::sass
