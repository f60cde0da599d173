// Tensor maps and tiled TMA boxes: what is legal, which bytes move where (hardware.md §2.2-2.4).
#pragma once

#include <cstddef>
#include <string>

#include "warploom/loom/tensor_map.hpp"

namespace warploom::loom {

/// The arguments back. `valid` is false for bytes that encode_tensor_map did not make.
struct DecodedTensorMap {
  bool valid = false;
  TensorMapArgs args;
};
DecodedTensorMap decode_tensor_map(const TensorMap& map);

uint32_t tma_element_bytes(TmaType type);
/// Bytes a load of the whole box completes on its barrier (in bounds or not, gap bytes of narrow swizzled rows
/// excluded).
uint32_t tma_box_bytes(const TensorMapArgs& map);
/// Bytes of shared memory from the start address that the box may touch (row pitch = swizzle span where swizzled).
uint32_t tma_box_footprint(const TensorMapArgs& map);

/// "" or the rule that a copy with this shared address and start coordinates breaks (§2.3: alignment, rank, signs).
std::string check_tma_copy(const TensorMapArgs& map, uint32_t shared_address, const int32_t* coordinates, uint32_t rank,
                           bool store);

/// Copies the box into shared memory. `window` is the CTA's shared window: byte at window offset o is window[o].
void tma_load_box(const TensorMapArgs& map, const int32_t* coordinates, std::byte* window, uint32_t offset);
/// Reads the box out of shared memory into `staging` (tma_box_bytes long, rows packed, unswizzled) ...
void tma_read_box(const TensorMapArgs& map, const std::byte* window, uint32_t offset, std::byte* staging);
/// ... and writes it to global memory, clipped: dimension 0 in 16-byte units, the others exactly.
void tma_write_box(const TensorMapArgs& map, const int32_t* coordinates, const std::byte* staging);
/// First and last+1 global byte the box touches in bounds (clipped as above for stores); begin == end: none.
struct ByteRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
ByteRange tma_global_range(const TensorMapArgs& map, const int32_t* coordinates, bool store);

}  // namespace warploom::loom
