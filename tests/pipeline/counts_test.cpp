// Arrive counts, byte counts and masks follow from policies, payload and cluster shape. Here they are compared with the
// table and formulas of the original system, written out a second time, for every cluster shape that matters; the
// comparison happens at compile time, and once more at run time so that a failure prints its row.
#include <gtest/gtest.h>

#include "../../examples/blockwise_fp8_kernel.hpp"

namespace warploom::test {
namespace {

using examples::BlockwiseFP8;

/// What the original's tables and formulas say for a cluster of m x n CTAs in groups of g.
struct Expected {
  int g, m, n;

  constexpr uint32_t size() const { return static_cast<uint32_t>(m * n); }
  constexpr uint32_t bit(int i) const { return 1u << i; }

  /// Row of the cluster: bits i * m for i < n, shifted to the CTA's place in its column.
  constexpr uint32_t a_mask(uint32_t rank) const {
    uint32_t row = 0;
    for (int i = 0; i < n; ++i) row |= bit(i * m);
    return row << static_cast<int>(rank) % m;
  }
  /// Column of the cluster, every g-th: bits i * g for i < m / g, shifted to the half of the pair and to the column.
  constexpr uint32_t b_mask(uint32_t rank) const {
    uint32_t column = 0;
    for (int i = 0; i < m / g; ++i) column |= bit(i * g);
    const int along_m = static_cast<int>(rank) % m, along_n = static_cast<int>(rank) / m;
    return column << along_m % g << along_n * m;
  }
  constexpr uint32_t pair_mask(uint32_t rank) const { return g == 1 ? 1u << rank : 1u << rank | 1u << (rank ^ 1); }
  /// Own row and own column and, with pairs, the peer's: the CTA next along M.
  constexpr uint32_t operand_sources_mask(uint32_t leader) const {
    const uint32_t own = a_mask(leader) | b_mask(leader);
    return g == 1 ? own : own | own << 1;
  }
  constexpr bool leads(uint32_t rank) const { return g == 1 || rank % 2 == 0; }

  constexpr uint32_t commits_per_slot() const { return static_cast<uint32_t>(m / g + n - 1); }
  // The original adds 4 * CLUSTER_SIZE here: CLUSTER_SIZE lanes of each epilogue warp arrive, all of them on their own
  // CTA's barrier, and the factor is there only to make the numbers match. We differ on purpose. A scales are never
  // multicast, so nobody but the CTA's own four epilogue warps reads them, and one lane of each says so.
  constexpr uint32_t scale_readers() const { return 4; }
  constexpr uint32_t operand_bytes() const {
    const uint32_t a = 128 * 128, b = 128 / static_cast<uint32_t>(g) * 128;  // one byte an element
    return static_cast<uint32_t>(g) * (a + b);
  }
};

/// What our types derive for the same cluster.
struct Derived {
  uint32_t input_full, input_bytes, scales_bytes, input_empty;
  uint32_t accum_full, accum_empty, tmem_dealloc;
  uint32_t epi_load_full, epi_load_bytes, epi_load_empty;
};

template <class Cluster>
constexpr Derived derive() {
  using Kernel = BlockwiseFP8<Cluster>;
  using Input = typename Kernel::Input::Pipeline;
  using Output = typename OutputTilePipeline<Kernel::opc>::Pipeline;
  using Residual = typename Kernel::Residual::Pipeline;
  return {.input_full = Input::producer_count,
          .input_bytes = Input::Protocol::bytes,
          .scales_bytes = Kernel::Payload::local_bytes,
          .input_empty = Input::consumer_count,
          .accum_full = Output::producer_count,
          .accum_empty = Output::consumer_count,
          .tmem_dealloc = TmemDeallocBarrier<Cluster::cta_group>::count,
          .epi_load_full = Residual::producer_count,
          .epi_load_bytes = Residual::Protocol::bytes,
          .epi_load_empty = Residual::consumer_count};
}

template <class Cluster>
constexpr Expected expected_of{Cluster::cta_group, Cluster::m, Cluster::n};

/// Every mask of every rank.
template <class Cluster>
constexpr bool masks_agree() {
  constexpr Expected want = expected_of<Cluster>;
  for (uint32_t rank = 0; rank < want.size(); ++rank) {
    if (Cluster::a_mask(rank) != want.a_mask(rank) || Cluster::b_mask(rank) != want.b_mask(rank)) return false;
    if (Cluster::pair_mask(rank) != want.pair_mask(rank) || Cluster::leads(rank) != want.leads(rank)) return false;
    if (want.leads(rank) && Cluster::operand_sources_mask(rank) != want.operand_sources_mask(rank)) return false;
  }
  return true;
}

/// A slot waits for as many commits as there are leaders that send one to it.
template <class Cluster>
constexpr bool commits_reach_every_slot() {
  for (uint32_t rank = 0; rank < Cluster::size; ++rank) {
    uint32_t leaders = 0;
    for (uint32_t leader = 0; leader < Cluster::size; ++leader)
      if (Cluster::leads(leader)) leaders += Cluster::operand_sources_mask(leader) >> rank & 1;
    if (leaders != Cluster::operand_consumers) return false;
  }
  return true;
}

/// The slices that reach a CTA make up its tiles, once each: bytes armed are bytes landed.
template <class Cluster>
constexpr bool slices_make_tiles() {
  using Payload = typename BlockwiseFP8<Cluster>::Payload;
  for (uint32_t rank = 0; rank < Cluster::size; ++rank) {
    uint32_t a = 0, b = 0;
    for (uint32_t source = 0; source < Cluster::size; ++source) {
      a += Cluster::a_mask(source) >> rank & 1;
      b += Cluster::b_mask(source) >> rank & 1;
    }
    if (a * Payload::a_slice_rows != Payload::A::rows || b * Payload::b_slice_rows != Payload::B::rows) return false;
  }
  return true;
}

template <class Cluster>
constexpr bool counts_agree() {
  constexpr Expected want = expected_of<Cluster>;
  constexpr Derived have = derive<Cluster>();
  const uint32_t threads = 128 * static_cast<uint32_t>(want.g);
  return have.input_full == 1 && have.input_bytes == want.operand_bytes() && have.scales_bytes == 128 * 4 &&
         have.input_empty == want.commits_per_slot() + want.scale_readers() && have.accum_full == 1 &&
         have.accum_empty == threads && have.tmem_dealloc == threads && have.epi_load_full == 1 &&
         have.epi_load_bytes == 128 * 64 * 2 && have.epi_load_empty == 128;
}

template <class Cluster>
constexpr bool agrees = counts_agree<Cluster>() && masks_agree<Cluster>() && commits_reach_every_slot<Cluster>() &&
                        slices_make_tiles<Cluster>();

static_assert(agrees<ClusterShape<1, 1, 1>>);
static_assert(agrees<ClusterShape<1, 2, 1>>);
static_assert(agrees<ClusterShape<1, 1, 2>>);
static_assert(agrees<ClusterShape<1, 2, 2>>);
static_assert(agrees<ClusterShape<1, 4, 2>>);
static_assert(agrees<ClusterShape<2, 2, 1>>);
static_assert(agrees<ClusterShape<2, 2, 2>>);
static_assert(agrees<ClusterShape<2, 4, 1>>);
static_assert(agrees<ClusterShape<2, 4, 2>>);

template <class Cluster>
class Counts : public testing::Test {};
using Clusters = testing::Types<ClusterShape<1, 1, 1>, ClusterShape<1, 2, 1>, ClusterShape<1, 1, 2>,
                                ClusterShape<1, 2, 2>, ClusterShape<1, 4, 2>, ClusterShape<2, 2, 1>,
                                ClusterShape<2, 2, 2>, ClusterShape<2, 4, 1>, ClusterShape<2, 4, 2>>;
TYPED_TEST_SUITE(Counts, Clusters);

TYPED_TEST(Counts, OfEveryBarrier) {
  constexpr Expected want = expected_of<TypeParam>;
  constexpr Derived have = derive<TypeParam>();
  const uint32_t g = TypeParam::cta_group;
  EXPECT_EQ(have.input_full, 1u);
  EXPECT_EQ(have.input_bytes, want.operand_bytes());
  EXPECT_EQ(have.scales_bytes, 512u);
  EXPECT_EQ(have.input_empty, want.commits_per_slot() + want.scale_readers());
  EXPECT_EQ(have.accum_full, 1u);
  EXPECT_EQ(have.accum_empty, 128 * g);
  EXPECT_EQ(have.tmem_dealloc, 128 * g);
  EXPECT_EQ(have.epi_load_full, 1u);
  EXPECT_EQ(have.epi_load_bytes, 128u * 64 * 2);
  EXPECT_EQ(have.epi_load_empty, 128u);
}

TYPED_TEST(Counts, MasksOfEveryRank) {
  constexpr Expected want = expected_of<TypeParam>;
  for (uint32_t rank = 0; rank < want.size(); ++rank) {
    EXPECT_EQ(TypeParam::a_mask(rank), want.a_mask(rank)) << "rank " << rank;
    EXPECT_EQ(TypeParam::b_mask(rank), want.b_mask(rank)) << "rank " << rank;
    EXPECT_EQ(TypeParam::pair_mask(rank), want.pair_mask(rank)) << "rank " << rank;
    EXPECT_EQ(TypeParam::leads(rank), want.leads(rank)) << "rank " << rank;
    if (!want.leads(rank)) continue;
    EXPECT_EQ(TypeParam::operand_sources_mask(rank), want.operand_sources_mask(rank)) << "rank " << rank;
  }
}

TYPED_TEST(Counts, EverySlotHearsFromEveryLeaderThatReadsIt) {
  for (uint32_t rank = 0; rank < TypeParam::size; ++rank) {
    uint32_t leaders = 0;
    for (uint32_t leader = 0; leader < TypeParam::size; ++leader)
      if (TypeParam::leads(leader)) leaders += TypeParam::operand_sources_mask(leader) >> rank & 1;
    EXPECT_EQ(leaders, TypeParam::operand_consumers) << "rank " << rank;
  }
}

// The members that carry the original's names.
TYPED_TEST(Counts, RingsKeepTheirConfiguration) {
  using Kernel = BlockwiseFP8<TypeParam>;
  using Output = OutputTilePipeline<Kernel::opc>;
  static_assert(Output::num_stages == 4 && Output::stage_stride_cols == 128 &&
                Output::cta_group == TypeParam::cta_group);
  static_assert(std::is_same_v<typename Output::Stage, OutputStage<Kernel::opc>>);
  static_assert(std::is_same_v<typename Output::Tmem, TmemAllocation<TypeParam::cta_group>>);
  static_assert(std::is_same_v<typename Output::BarrierArray, SMemArray<SharedMemBarrier, 2 * 4>>);
  static_assert(Output::Pipeline::num_stages == 4 && Output::Pipeline::smem_bytes() == 2 * 4 * 8);
  static_assert(Kernel::Residual::num_stages == 2 && Kernel::Residual::Pipeline::smem_bytes() == 2 * 2 * 8);

  using KContext = EpilogueKContext<Kernel::opc, typename Kernel::Input>;
  static_assert(KContext::cta_group == TypeParam::cta_group && KContext::num_output_stages == 4);
  static_assert(std::is_same_v<typename KContext::OutputPipelineType, Output>);
  static_assert(std::is_same_v<typename KContext::OutputStageType, OutputStage<Kernel::opc>>);
  static_assert(std::is_same_v<typename KContext::InputPipelineType, typename Kernel::Input>);

  using Mma = MmaWarpContext<Kernel::opc>;
  using Epilogue = EpilogueWarpContext<Kernel::opc>;
  static_assert(std::is_same_v<typename Mma::Pipeline, Output> && std::is_same_v<typename Epilogue::Pipeline, Output>);
  static_assert(std::is_same_v<typename Mma::Tmem, typename Output::Tmem>);
  static_assert(std::is_same_v<typename Epilogue::Tmem, typename Output::Tmem>);
  static_assert(std::is_same_v<typename Mma::Dealloc, TmemDeallocBarrier<TypeParam::cta_group>>);
  static_assert(std::is_same_v<typename Epilogue::Dealloc, typename Mma::Dealloc>);
  static_assert(std::is_same_v<typename Mma::Sync, WarpGroupBarrier<160, 1>>);  // 32 + 128 threads, named barrier 1
  static_assert(std::is_same_v<typename Epilogue::Sync, typename Mma::Sync>);

  // Storage fits, and as many slots as there is room for.
  constexpr size_t slot =
      sizeof(typename Kernel::template StorageOf<3>) - sizeof(typename Kernel::template StorageOf<2>);
  EXPECT_LE(sizeof(typename Kernel::Storage), arch::shared_capacity);
  EXPECT_GT(sizeof(typename Kernel::Storage) + slot, arch::shared_capacity);
}

}  // namespace
}  // namespace warploom::test
