// What the two small GEMMs of the schedule tests share: operands whose products are exact and name row, column and K
// block, tensor maps, and the roles of a CTA without the skeleton.
#pragma once

#include <vector>

#include "loom/units/tma.hpp"
#include "support/many_schedules.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/warp/contexts.hpp"
#include "warploom/warp/skeleton.hpp"
#include "warploom/warp/tmem_tensor.hpp"

namespace warploom::test {

/// An operand, rows x K blocks of 128 bytes. Each row of a block is zero but for two elements.
template <class T>
struct Operand {
  static constexpr int block = 128 / sizeof(T), second = 37;
  int rows, blocks, salt;
  std::vector<T> data = {};

  Operand(int r, int k_blocks, int s) : rows(r), blocks(k_blocks), salt(s) {
    data.resize(static_cast<size_t>(rows) * static_cast<size_t>(blocks) * block);
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < blocks; ++k) {
        T* place =
            data.data() + (static_cast<size_t>(row) * static_cast<size_t>(blocks) + static_cast<size_t>(k)) * block;
        place[0] = convert(value(row, k, 0));
        place[second] = convert(value(row, k, 1));
      }
  }
  /// Integers of four bits: exact in every type, and so are their products and sums.
  int value(int row, int k, int which) const noexcept {
    return which == 0 ? (row * 3 + k * 5 + salt) % 15 + 1 : (row / 8 + k + salt) % 7;
  }
  TensorMap map(int box_rows) const {
    TensorMapArgs args;
    args.type = sizeof(T) == 2 ? TmaType::bf16 : TmaType::u8;
    args.address = data.data();
    args.dims = {static_cast<uint64_t>(blocks * block), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(blocks) * 128;
    args.box = {block, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    const Result<TensorMap> made = loom::encode_tensor_map(args, loom::Chip::sm100);
    EXPECT_TRUE(made) << made.error();
    return *made;
  }
  loom::TensorRef ref(const char* name) const {
    return {data.data(), data.size() * sizeof(T), loom::Access::read, name};
  }

 private:
  static T convert(int value) {
    if constexpr (sizeof(T) == 2)
      return to_bf16(static_cast<float>(value));
    else
      return to_e4m3(static_cast<float>(value));
  }
};

/// Row `row` of A times row `column` of B over one K block.
template <class T>
int product(const Operand<T>& a, const Operand<T>& b, int row, int column, int k) noexcept {
  return a.value(row, k, 0) * b.value(column, k, 0) + a.value(row, k, 1) * b.value(column, k, 1);
}

/// Runs a kernel's roles: `load` and `mma` on one lane, `epilogue` on four warps, inside the contexts or, with `twins`,
/// the handles that must be released.
template <class Kernel, bool twins>
void run_roles(Kernel& kernel, typename Kernel::Storage& storage) noexcept {
  using Shape = typename Kernel::Shape;
  using MmaSide = std::conditional_t<twins, MmaWarp<Kernel::opc>, MmaWarpContext<Kernel::opc>>;
  using EpilogueSide = std::conditional_t<twins, EpilogueWarp<Kernel::opc>, EpilogueWarpContext<Kernel::opc>>;
  auto& [barriers, dealloc, tmem_address] = storage.output;
  const uint32_t warp = arch::warp_index();
  if (arch::thread_index() == 0) {
    Kernel::Input::init_barriers(storage.input);
    OutputTilePipeline<Kernel::opc>::init_barriers(barriers.ptr());
    MmaSide::Dealloc::init(dealloc.ptr());
    arch::fence_mbarrier_init();
  }
  arch::cluster_sync();
  if (warp < Epilogue::warps) {
    arch::name_role<Epilogue>();
    EpilogueSide::Sync::wait();
    auto side = EpilogueSide::create(tmem_address, barriers.ptr(), dealloc);
    kernel.epilogue(side);
    if constexpr (twins) side.release();
  } else if (warp == Load::first_warp) {
    arch::name_role<Load>();
    if (arch::elect_one()) kernel.load();
  } else if (warp == Mma::first_warp) {
    arch::name_role<Mma>();
    auto side = MmaSide::create(tmem_address, barriers.ptr(), dealloc);
    if (arch::elect_one() && Shape::leads(arch::cluster_rank())) kernel.mma(side);
    if constexpr (twins) side.release();
  }
  arch::syncwarp();
  arch::cluster_sync();
}

}  // namespace warploom::test
