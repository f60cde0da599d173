// What the program refuses before it computes anything, each in one sentence that says what works instead.
#pragma once

#include "cli/commands.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom::cli {

/// "" or which option this kernel, or these others, leave without a meaning.
std::string not_honoured(const RunArguments& arguments);
/// "" or which option says otherwise than the file that `of_file` has its extents and types from.
std::string contradiction(const RunArguments& arguments, const GemmDataSpec& of_file);
/// "" or why no kernel for the chip can run this, and with which options one can.
std::string refusal(const RunArguments& arguments, const GemmDataSpec& spec, Chip chip);
/// That there is no such configuration, and which there are; of this chip only where one is asked for.
std::string no_config(const RunArguments& arguments, Scaling scaling, Chip chip);

}  // namespace warploom::cli
