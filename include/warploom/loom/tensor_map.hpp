// Making a tensor map for the loom: the host's counterpart of cuTensorMapEncodeTiled.
#pragma once

#include "warploom/types/chip.hpp"
#include "warploom/types/result.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

using warploom::Chip;

/// The loom's 128 bytes, or the rule that the arguments break, in one sentence.
Result<TensorMap> encode_tensor_map(const TensorMapArgs& args, Chip chip);

#pragma GCC visibility pop
}  // namespace warploom::loom
