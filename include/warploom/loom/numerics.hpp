// How the loom's tensor cores add. `fast`: fused multiply-adds in ascending k, at the speed of the CPU's; results agree
// with a chip's to rounding. `exact`: one aligned, truncated sum per instruction, the chip's bits (docs/loom.md).
//
//   loom::launch(config, entry, &params, tensors, {.numerics = loom::Numerics::exact});
#pragma once

#include <cstdint>
#include <string_view>

#include "warploom/types/result.hpp"

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

enum class Numerics : uint8_t { fast, exact };
const char* to_string(Numerics numerics);
/// "fast" or "exact"; or a sentence.
Result<Numerics> parse_numerics(std::string_view text);

#pragma GCC visibility pop
}  // namespace warploom::loom
