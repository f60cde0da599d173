// What the host hands a GEMM kernel; the same bytes on both machines, and for both chips.
//
// The kernel multiplies a left operand, whose rows lie on the side of the tensor core that takes 64 or 128, by a right
// one. Without `swap` the
// left operand is A and the right one B; with it the left one is B, whose rows are the columns of D, so that few rows
// of A fill a narrow side instead of a 64-row one. All tensor maps have three dimensions, the last of them the batch.
#pragma once

#include <cstdint>

#include "warploom/types/cache_hint.hpp"
#include "warploom/types/chip.hpp"
#include "warploom/types/descriptor.hpp"
#include "warploom/types/dtype.hpp"
#include "warploom/types/epilogue.hpp"
#include "warploom/types/raster.hpp"
#include "warploom/types/tensor_map.hpp"

namespace warploom {

/// fp32 scales of FP8 operands: none; one per 1 x 128 block of A and 128 x 128 block of B; one per 1 x 128 block of
/// both.
enum class Scaling : uint8_t { none, a_rows_b_blocks, a_rows_b_rows };

/// Which place in the order of tiles each cluster of a launch begins with, a permutation. A GPU may profit: SMs that
/// are near each other fetch an operand tile together if they need it at the same time.
struct ClusterPlaces {
  static constexpr int most = 160;
  uint8_t places[most] = {};
  int count = 0;  ///< of the launch's clusters; 0: cluster c has place c
  WARPLOOM_CONST_FN int operator[](int cluster) const { return count == 0 ? cluster : places[cluster]; }
};

/// What a schedule of tiles in a line needs, in one place: each constant that a launch reads first comes from memory.
struct alignas(16) TileLine {
  int items = 0;          ///< of the launch, in any case
  int k_blocks = 0;       ///< of a tile
  bool straight = false;  ///< one row or column of cluster tiles, and none has two of them
  bool along_m = false;   ///< ... which follow each other along the left operand
};

struct GemmParams {
  TensorMap left, right, left_scales, right_scales, c, d;
  void* d_data = nullptr;
  const void* c_data = nullptr;
  const void* bias = nullptr;
  float* partials = nullptr;     ///< split K: [output tile][split - 1][group][register][thread]
  uint32_t* counters = nullptr;  ///< split K: [output tile][group], zero before and after every launch
  int64_t d_stride = 0, d_batch_stride = 0, c_stride = 0, c_batch_stride = 0;  ///< elements
  int m = 0, n = 0, batch = 1;                                                 ///< extents of D
  int k_blocks = 0;                                                            ///< of Kernel::tile_k elements
  int splits = 1;  ///< of the K blocks; an empty split is legal
  float alpha = 1.0f, beta = 0.0f;
  DType d_type = DType::bf16;    ///< bf16, f16, f32 or e4m3
  DType c_type = DType::bf16;    ///< that of D, or bf16 where D is e4m3
  DType bias_type = DType::f32;  ///< f32, bf16 or f16
  BiasAlong bias_along = BiasAlong::none;
  Activation activation = Activation::none;
  Path c_path = Path::none;  ///< not tma where splits > 1
  Path d_path = Path::tma;
  bool plain = false;  ///< alpha * A * B in 16 bits, unswapped, not split, in rows that TMA can write to their ends
  PreparedTiles tiles = {};  ///< of clusters
  Divisor by_splits = {};
  // Last: where members lie decides which of them one load brings, and some kernels have no register to spare.
  int weight_blocks = 0;  ///< of B, in K blocks, that are asked for before earlier grids are done
  ClusterPlaces places = {};
  TensorMap d_rest;  ///< of the narrow last units of a tile, where there are any
  CacheHint left_hint = CacheHint::normal, right_hint = CacheHint::normal, d_hint = CacheHint::normal;
  bool fused = false;  ///< C and D in A's 16 bits, through TMA, alpha 1, a bias along N if any, silu or no activation
  TileLine line = {};
};

/// What a kernel multiplies.
struct GemmOperands {
  DType a, b;
  Major a_major, b_major;
  Scaling scaling;
};

/// What the host must know of a kernel to launch it: constants of its type.
///
/// Boxes of the tensor maps, all with a batch extent of 1: an operand that is K-major has {tile_k, *_box_rows} and
/// dimensions {K, rows, batch}; one that is MN-major has {64, tile_k} and dimensions {rows, K, batch}; both with
/// Swizzle::b128. Scales of rows: {tile rows, 1} of {rows, K blocks, batch}, unswizzled; of blocks: {4, 1} of {all, 1,
/// batch}. C in 16 bits: unswapped {unit_columns, load_rows}, swapped {64, unit_columns}, of {N, M, batch},
/// Swizzle::b128; in f32 half as wide. D likewise, with store_rows rows; with plain_rows rows and plain_columns columns
/// if `plain`; in e4m3 as in 16 bits with Swizzle::b64. Of the rest_columns that are left of a tile, the last store has
/// a box of its own, d_rest: rest_columns wide, in f32 what is left of that after a box of D. If `fused`, C and D have
/// plain_columns, and d_rest what of a tile that leaves.
struct GemmShape {
  Chip chip;
  int tile_left, tile_right, tile_k;  ///< of D per CTA, and elements per K block
  int left_box_rows, right_box_rows;
  int unit_columns;   ///< the epilogue works in units of 64 left rows x so many right rows
  int rest_columns;   ///< ... the last of which may be narrower: so many, or 0
  int plain_columns;  ///< ... where nothing but the product is stored, perhaps with an overlap at a tile's end
  int load_rows;      ///< of C, that are loaded at a time
  int store_rows;     ///< of D, that are stored at a time
  int plain_rows;     ///< ... where nothing but the product is stored
  int groups;         ///< warpgroups that run the epilogue
  int cta_group;      ///< 2: CTA pairs, neighbours along the left operand, multiply together
  int cluster_left, cluster_right;
  int cluster_k;  ///< CTAs of a cluster that share a tile's K blocks
  int stages;     ///< slots of operands
  int k_group;    ///< K blocks per slot
  uint32_t threads;
  uint32_t shared_bytes;
  uint32_t partial_floats;  ///< split K: of one tile and split, all groups; 0: this kernel does not split
  bool ping_pong;           ///< a group takes a whole tile; otherwise the groups share its left rows
  bool launch_control;      ///< a cluster is launched for every work item, and those that run take over others' items
  bool swap;
  bool placed = true;         ///< clusters begin at their GemmParams::places
  bool fuses = false;         ///< has quick code for GemmParams::fused
  bool own_function = false;  ///< in the place of the launch's activation, and of GemmParams::plain

  constexpr int cluster_size() const { return cluster_left * cluster_right * cluster_k; }
};

}  // namespace warploom
