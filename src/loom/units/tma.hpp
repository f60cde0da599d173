// Tensor maps and the boxes that TMA moves through them, tiled, im2col or four rows at a time: what is legal, which
// bytes move where (hardware.md §2.2-2.4, 2.8, 2.10, 2.11).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "warploom/loom/tensor_map.hpp"
#include "warploom/types/reduction.hpp"

namespace warploom::loom {

/// The arguments back. `valid` is false for bytes that encode_tensor_map did not make.
struct DecodedTensorMap {
  bool valid = false;
  std::string broken;  ///< the rule that a map breaks which a kernel changed
  TensorMapArgs args;
};
DecodedTensorMap decode_tensor_map(const TensorMap& map);

/// Bits of an element in global memory; the packed types have 4 or 6 (16U4_ALIGN8B, 16U4_ALIGN16B, 16U6_ALIGN16B).
uint32_t tma_element_bits(TmaType type);
/// Packed bytes that fill one 16-byte unit of shared memory: 16, or less where a gap follows (the ALIGN16B types).
uint32_t tma_packed_unit(TmaType type);

/// Bytes a load of the whole box completes on its barrier: in bounds or not, without the gap bytes of narrow swizzled
/// rows and of padded types.
uint32_t tma_box_bytes(const TensorMapArgs& map, TmaMode mode = TmaMode::tile);
/// Bytes of shared memory from the start address that the box may touch (row pitch = swizzle span where swizzled).
uint32_t tma_box_footprint(const TensorMapArgs& map, TmaMode mode = TmaMode::tile);

/// "" or the rule that a copy with this shared address and start breaks (§2.3: mode, alignment, rank, signs).
std::string check_tma_copy(const TensorMapArgs& map, uint32_t shared_address, const TmaCoordinates& at, bool store);

/// Copies the box into shared memory. `window` is the CTA's shared window: byte at window offset o is window[o].
void tma_load_box(const TensorMapArgs& map, const TmaCoordinates& at, std::byte* window, uint32_t offset);
/// Reads the box out of shared memory into `staging` (tma_box_bytes long, rows packed, unswizzled) ...
void tma_read_box(const TensorMapArgs& map, TmaMode mode, const std::byte* window, uint32_t offset, std::byte* staging);
/// ... and writes it to global memory, clipped: dimension 0 in 16-byte units, the others exactly. With a reduction it
/// is combined with what is there.
void tma_write_box(const TensorMapArgs& map, const TmaCoordinates& at, const std::byte* staging,
                   std::optional<Reduction> reduction = {});
/// The bytes of shared memory that reach global memory: those of the box that are in bounds.
void for_each_stored_run(const TensorMapArgs& map, const TmaCoordinates& at, uint32_t offset,
                         const std::function<void(uint32_t offset, uint32_t bytes)>& run);
/// The global bytes in bounds, row by row (clipped as above for stores).
void for_each_global_run(const TensorMapArgs& map, const TmaCoordinates& at, bool store,
                         const std::function<void(const std::byte* begin, uint32_t bytes)>& run);
/// First and last+1 global byte the box touches in bounds (clipped as above for stores); begin == end: none.
struct ByteRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
ByteRange tma_global_range(const TensorMapArgs& map, const TmaCoordinates& at, bool store);

}  // namespace warploom::loom
