// The chips there are kernels for.
#pragma once

#include <cstdint>

namespace warploom {

enum class Chip : uint8_t { sm90, sm100 };

constexpr const char* name_of(Chip chip) { return chip == Chip::sm90 ? "sm_90" : "sm_100"; }

}  // namespace warploom
