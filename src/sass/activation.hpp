// Issue hints for activations in an epilogue: tens of instructions for every value, while another warpgroup's products
// keep the tensor core busy.
//
// A warp that goes on while it can keeps the warp that issues products waiting, and its registers' reads come before
// those of the tensor core. Where every second arithmetic instruction yields, an epilogue takes a tenth longer, hidden
// behind the products, which then lose 1 % of their time and not 5 % (docs/performance.md, "Techniques").
//
// Hints change when an instruction is issued, not what it computes.
#pragma once

#include <span>

#include "sass/instruction.hpp"
#include "sass/retimed.hpp"

namespace warploom::sass {

/// Lets every second arithmetic instruction of a kernel yield that multiplies and has 128 reciprocals or more; a second
/// time changes nothing.
Retimed retime_activation(std::span<Instruction> code);

}  // namespace warploom::sass
