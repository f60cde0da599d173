// Addresses and extents: operands, boxes, coordinates, tails (catalogue 36 and 37, B12, B15).
#include "corpus/gemm_kernel.hpp"

namespace warploom::loom::corpus {
namespace {

constexpr uint32_t width = 32, height = 8;

struct Storage {
  alignas(128) uint32_t row[width];
  Mbarrier full[1];
};

TensorMapArgs rows(uint64_t stride_bytes) {
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.address = input;
  args.dims = {width, height, 1, 1, 1};
  args.strides = {stride_bytes, 16, 16, 16};
  args.box = {width, 1, 1, 1, 1};
  return args;
}
const TensorMap& row_map() {
  static const TensorMap map = make_map(rows(width * 4));
  return map;
}

/// 37b: rows 0 and 4 of the input go to the output.
struct Swapped {
  bool buggy;
  const TensorMap* map;
};
constexpr auto swapped_coordinates = [](const Swapped& p) {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  syncwarp();
  if (lane_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(s.row));
    const auto row = static_cast<int32_t>(4 * block_index().x);
    tma_load<1>(address(s.row), *p.map, address(s.full[0]), p.buggy ? Coord2{row, 0} : Coord2{0, row});
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  store_global(output + block_index().x * width + lane_index(), load_shared(&s.row[lane_index()]));
};
bool rows_copied() {
  for (uint32_t i = 0; i < 2 * width; ++i)
    if (output[i] != input[i / width * 4 * width + i % width]) return false;
  return true;
}

/// 37: a tile of 32 rows over an output of 24, stored by threads.
constexpr uint32_t rows_there = 24;
alignas(128) uint32_t narrow[rows_there];
constexpr auto unclipped_tail = [](const bool& buggy) {
  const uint32_t row = lane_index();
  if (buggy || row < rows_there) SITE(store_global(narrow + row, row));
  syncwarp();
};

/// B12: the scales of rows that are not there.
alignas(128) const float scales[rows_there] = {};
constexpr auto scales_of_the_tail = [](const bool& buggy) {
  const uint32_t row = lane_index();
  float scale = 0;
  if (buggy || row < rows_there) SITE(scale = load_global(scales + row));
  keep(std::bit_cast<uint32_t>(scale));
  syncwarp();
};

Entry refused() {
  Entry made{.id = "B15", .title = "rows that are no multiple of 16 bytes, with TMA (cutlass#2283)", .codes = {}};
  made.caught = Caught::on_the_host;
  made.refusal = [] {
    const Result<TensorMap> map = encode_tensor_map(rows(width * 4 - 4), Chip::sm90);
    return map ? std::string() : map.error();
  };
  return made;
}

}  // namespace

Entries tma_entries() {
  const Launch grid{.grid = {2}, .threads = 32, .shared_bytes = sizeof(Storage)};
  Entry swapped = entry("37b", "coordinates of a TMA load swapped", {"VALUE"}, grid, swapped_coordinates,
                        Swapped{true, &row_map()}, Swapped{false, &row_map()});
  swapped.right = rows_copied;
  Launch tail{.threads = 32};
  tail.tensors = {{narrow, sizeof(narrow), Access::write, "narrow"}, {scales, sizeof(scales), Access::read, "scales"}};
  return {
      gemm::mutant("36", gemm::Bug::descriptor_one_stage_on, "descriptor of an operand one stage too far",
                   {"RACE-SMEM"}),
      gemm::mutant("36b", gemm::Bug::copy_larger_than_the_slot, "copy larger than its slot", {"RACE-SMEM"}),
      gemm::mutant("36c", gemm::Bug::descriptor_past_the_end, "descriptor past the end of shared memory",
                   {"OOB-SHARED"}),
      entry("37", "stores of a tail tile are not clipped", {"OOB-GLOBAL"}, tail, unclipped_tail),
      std::move(swapped),
      entry("B12", "scales of tail rows read out of range (cutlass#2154)", {"OOB-GLOBAL"}, tail, scales_of_the_tail),
      refused(),
  };
}

}  // namespace warploom::loom::corpus
