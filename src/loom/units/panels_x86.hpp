// The variants of panels.cpp for x86. Each must only be called where the machine has its instructions.
#pragma once

#include "loom/units/panels.hpp"

#if defined(__x86_64__)
#define WARPLOOM_X86 1
#else
#define WARPLOOM_X86 0
#endif

#if WARPLOOM_X86
namespace warploom::loom {

void pack_avx512(const Operand& operand, const std::byte* shared, float* panels, size_t stride);
void multiply_avx512(const PanelTile& tile);
void pack_avx2(const Operand& operand, const std::byte* shared, float* panels, size_t stride);
void multiply_avx2(const PanelTile& tile);

}  // namespace warploom::loom
#endif
