// tcgen05.mma and commit in kernels (hardware.md §4.3-4.8, 4.15): products, order, and every rule broken once.
#include "loom/probe_kernel.hpp"
#include "loom/units/tensor_core.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t k_extent = 16;      // bf16
constexpr uint32_t max_n = 32;         // columns of B in one CTA
constexpr uint32_t group_bytes = 256;  // 8 rows x 32 bytes, as two 16-byte units 128 bytes apart

struct Storage {
  alignas(1024) std::byte a[128 * 32];
  alignas(1024) std::byte b[max_n * 32];
  Mbarrier done[2];
  Mbarrier extra[1];
  uint32_t slot;
};

struct Params {
  bool buggy = false;
  float* out = nullptr;
  uint32_t m = 128, n = 16;
};

float a_value(uint32_t row, uint32_t k) { return static_cast<float>(static_cast<int>(row * 3 + k * 5) % 7 - 3); }
float b_value(uint32_t column, uint32_t k) { return static_cast<float>(static_cast<int>(column * 5 + k * 3) % 5 - 2); }

float product(uint32_t row, uint32_t column) {
  float sum = 0;
  for (uint32_t k = 0; k < k_extent; ++k) sum += a_value(row, k) * b_value(column, k);
  return sum;
}

/// K-major without swizzle (hardware.md §3.2).
void put(std::byte* tile, uint32_t row, uint32_t k, float value) {
  const bf16 element = to_bf16(value);
  const uint32_t kb = 2 * k;
  std::memcpy(tile + row % 8 * 16 + row / 8 * group_bytes + kb / 16 * 128 + kb % 16, &element, sizeof(element));
}

SmemDescriptor descriptor(const std::byte* tile) {
  return encode_smem_descriptor({.start = shared_address(tile).value & 0x3ffff,
                                 .leading_byte_offset = 128,
                                 .stride_byte_offset = group_bytes,
                                 .base_offset = 0,
                                 .swizzle = Swizzle::none});
}

InstructionDescriptor instruction(uint32_t m, uint32_t n) {
  InstructionFields fields;
  fields.a_type = fields.b_type = 1;
  fields.m = m;
  fields.n = n;
  return encode_instruction(fields);
}

/// Operands by ordinary stores: this CTA's rows of A and columns of B, from `first_row` and `first_column` on.
WARPLOOM_FN void fill(Storage& s, uint32_t first_row, uint32_t first_column) {
  for (uint32_t row = thread_index(); row < 128; row += 128)
    for (uint32_t k = 0; k < k_extent; ++k) put(s.a, row, k, a_value(first_row + row, k));
  if (thread_index() < max_n)
    for (uint32_t k = 0; k < k_extent; ++k) put(s.b, thread_index(), k, b_value(first_column + thread_index(), k));
  fence_proxy_async_shared();
}

struct Label {
  static constexpr const char* name = "done";
};

template <int cta_group>
WARPLOOM_FN void set_up(Storage& s) {
  if (warp_index() == 0) tmem_alloc<cta_group>(address(s.slot), 64);
  init_barriers<Label>(s.done, 1);
  init_barriers<Label>(s.extra, 1);
  syncthreads();
}

template <int cta_group>
WARPLOOM_FN void tear_down(Storage& s) {
  tcgen05_fence_before();
  cluster_sync();
  if (warp_index() == 0) tmem_dealloc<cta_group>({s.slot}, 64);
  syncwarp();
}

/// TMEM lanes x 32 columns of this CTA to out[lane * 32 + column].
WARPLOOM_FN void dump(const Storage& s, float* out) {
  Fragment<uint32_t, 32> registers;
  tmem_load_32x32b(registers, TmemAddress{s.slot}.lane(32 * warp_index()));
  tmem_wait_load();
  for (int i = 0; i < 32; ++i)
    store_global(out + thread_index() * 32 + static_cast<uint32_t>(i), std::bit_cast<float>(registers[i]));
}

struct Output {
  std::vector<float> values = std::vector<float>(2 * 128 * 32);
  Launch launch(uint32_t ctas, const char* file = __builtin_FILE()) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .threads = 128,
            .shared_bytes = sizeof(Storage),
            .tensors = {{values.data(), values.size() * sizeof(float), Access::write, "out"}},
            .file = file};
  }
  /// Does every element of the product sit in its cell?
  bool correct(int cta_group, uint32_t m, uint32_t n, float factor = 1) const {
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        const TmemCell cell = accumulator_cell(cta_group, m, n, row, column);
        if (values[(cell.cta * 128 + cell.lane) * 32 + cell.column] != factor * product(row, column)) return false;
      }
    return true;
  }
};

// ---------------------------------------------------------------------------------------------------------- values

TEST(TensorCore, ProductOfOneCta) {
  Output output;
  const Launch launch = output.launch(1);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    fill(s, 0, 0);
    set_up<1>(s);
    if (thread_index() == 0) {
      umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(p.m, p.n), false);
      umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(p.m, p.n), true);
      umma_commit<1>(address(s.done[0]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    tcgen05_fence_after();
    dump(s, p.out);
    tear_down<1>(s);
  };
  for (const auto& [m, n] : {std::pair{128u, 16u}, {128u, 32u}, {64u, 24u}}) {
    for (const Schedule& schedule : schedules()) {
      output.values.assign(output.values.size(), 0);
      expect_clean(run(launch, kernel, Params{false, output.values.data(), m, n}, with(schedule)));
      EXPECT_TRUE(output.correct(1, m, n, 2)) << m << "x" << n << " " << schedule.text();
    }
  }
}

TEST(TensorCore, ProductOfAPair) {
  Output output;
  const Launch launch = output.launch(2);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    fill(s, cluster_rank() * p.m / 2, cluster_rank() * p.n / 2);
    set_up<2>(s);
    if (thread_index() == 0 && cluster_rank() == 0) {
      umma<MmaKind::f16, 2>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(p.m, p.n), false);
      umma_commit_multicast<2>(address(s.done[0]), 0b11);
    }
    mbarrier_wait(address(s.done[0]), 1);
    tcgen05_fence_after();
    dump(s, p.out + cluster_rank() * 128 * 32);
    tear_down<2>(s);
  };
  for (const uint32_t m : {256u, 128u}) {
    for (const Schedule& schedule : schedules(launch)) {
      output.values.assign(output.values.size(), 0);
      expect_clean(run(launch, kernel, Params{false, output.values.data(), m, 32}, with(schedule)));
      EXPECT_TRUE(output.correct(2, m, 32)) << m << " " << schedule.text();
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- order

/// Operands overwritten before the commit has arrived: wrong where reads are late.
TEST(TensorCoreDelay, OperandsAreReadLate) {
  Output output;
  const Launch launch = output.launch(1);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    fill(s, 0, 0);
    set_up<1>(s);
    if (thread_index() == 0) {
      umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(128, 16), false);
      umma_commit<1>(address(s.done[0]));
      if (!p.buggy) mbarrier_wait(address(s.done[0]), 1);
      for (uint32_t k = 0; k < k_extent; ++k) put(s.a, 0, k, 100);
      fence_proxy_async_shared();
    }
    syncthreads();
    mbarrier_wait(address(s.done[0]), 1);
    dump(s, p.out);
    tear_down<1>(s);
  };
  const auto correct = [&](bool buggy, const Schedule& schedule) {
    expect_clean(run(launch, kernel, Params{buggy, output.values.data()}, with(schedule)));
    return output.correct(1, 128, 16);
  };
  for (const Schedule& schedule : schedules()) EXPECT_TRUE(correct(false, schedule)) << schedule.text();
  EXPECT_TRUE(correct(true, {Policy::eager}));
  EXPECT_FALSE(correct(true, {Policy::lazy}));
  EXPECT_FALSE(correct(true, {Policy::adversarial}));
}

/// A commit covers the work of its own thread only (hardware.md §4.15).
TEST(TensorCoreDelay, CommitByAnotherThreadDoesNotCover) {
  Output output;
  const Launch launch = output.launch(1);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    fill(s, 0, 0);
    set_up<1>(s);
    if (thread_index() == 0) {
      umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(128, 16), false);
      mbarrier_arrive(address(s.extra[0]));
      if (!p.buggy) umma_commit<1>(address(s.done[0]));
      umma_commit<1>(address(s.done[1]));
    }
    if (thread_index() == 32) {
      mbarrier_wait(address(s.extra[0]), 1);
      if (p.buggy) umma_commit<1>(address(s.done[0]));
    }
    mbarrier_wait(address(s.done[0]), 1);
    dump(s, p.out);
    mbarrier_wait(address(s.done[1]), 1);
    tear_down<1>(s);
  };
  const auto correct = [&](bool buggy, const Schedule& schedule) {
    output.values.assign(output.values.size(), 0);
    expect_clean(run(launch, kernel, Params{buggy, output.values.data()}, with(schedule)));
    return output.correct(1, 128, 16);
  };
  for (const Schedule& schedule : schedules()) EXPECT_TRUE(correct(false, schedule)) << schedule.text();
  EXPECT_TRUE(correct(true, {Policy::eager}));
  EXPECT_FALSE(correct(true, {Policy::adversarial}));
  uint32_t wrong = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) wrong += correct(true, {Policy::random, seed}) ? 0 : 1;
  EXPECT_GT(wrong, 0u);
}

TEST(TensorCore, CommitWithNothingOutstandingArrives) {
  Output output;
  always_clean(
      output.launch(2),
      [](const Params&) {
        auto& s = shared<Storage>();
        set_up<1>(s);
        // The other CTA's barrier, by its cluster address.
        if (thread_index() == 0) umma_commit<1>(map_to_rank(address(s.done[0]), cluster_rank() ^ 1));
        mbarrier_wait(address(s.done[0]), 1);
        tear_down<1>(s);
      },
      Params{});
}

TEST(TensorCore, MulticastCommitLeavesOthersAlone) {
  Output output;
  always_clean(
      output.launch(4),
      [](const Params&) {
        auto& s = shared<Storage>();
        set_up<1>(s);
        if (thread_index() == 0 && cluster_rank() == 1) umma_commit_multicast<1>(address(s.done[1]), 0b1001);
        const bool named = cluster_rank() == 0 || cluster_rank() == 3;
        if (named) mbarrier_wait(address(s.done[1]), 1);
        cluster_sync();
        EXPECT_EQ(mbarrier_test(address(s.done[1]), 1), named);
        tear_down<1>(s);
      },
      Params{});
}

// ----------------------------------------------------------------------------------------------------------- rules

template <class Kernel>
void core_rule(uint32_t ctas, Kernel kernel, const Expected& expected, const char* file = __builtin_FILE()) {
  Output output;
  const Launch launch = output.launch(ctas, file);
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, Params{true, output.values.data()}, expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, Params{false, output.values.data()});
}

TEST(TensorCoreRules, ShapeThatDoesNotExist) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                const InstructionDescriptor idesc = instruction(p.buggy ? 96 : 128, 16);
                OFFENDING(umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), idesc, false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"MMA-RULE", {"M is 96", "64 or 128 rows"}});
}

TEST(TensorCoreRules, DescriptorWithoutItsVersion) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                SmemDescriptor a = descriptor(s.a);
                if (p.buggy) a.bits &= ~(uint64_t{1} << 46);
                OFFENDING(umma<MmaKind::f16, 1>({s.slot}, a, descriptor(s.b), instruction(128, 16), false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"MMA-RULE", {"Operand A: Bits 48:46"}});
}

TEST(TensorCoreRules, SwizzleCodeThatDoesNotExist) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                SmemDescriptor b = descriptor(s.b);
                if (p.buggy) b.bits |= uint64_t{3} << 61;
                OFFENDING(umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), b, instruction(128, 16), false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"MMA-RULE", {"Operand B: The swizzle code 3"}});
}

TEST(TensorCoreRules, AccumulatorLane) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                const TmemAddress d = TmemAddress{s.slot}.lane(p.buggy ? 32 : 0);
                OFFENDING(umma<MmaKind::f16, 1>(d, descriptor(s.a), descriptor(s.b), instruction(128, 16), false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"MMA-RULE", {"lane 32", "must name lane 0"}});
}

TEST(TensorCoreRules, OperandOutsideSharedMemory) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                const SmemDescriptor b = descriptor(s.b).advance(p.buggy ? 4096 : 0);
                OFFENDING(umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), b, instruction(128, 16), false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"OOB-SHARED", {"operand B of tcgen05.mma covers 0x"}});
}

TEST(TensorCoreRules, AccumulatorThatIsNotAllocated) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                const TmemAddress d = TmemAddress{s.slot}.column(p.buggy ? 49 : 48);
                OFFENDING(umma<MmaKind::f16, 1>(d, descriptor(s.a), descriptor(s.b), instruction(128, 16), false));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"TMEM-RULE", {"tcgen05.mma writes columns 49 to 64 of CTA 0", "not allocated"}});
}

TEST(TensorCoreRules, PairInstructionInASingleCtaKernel) {
  core_rule(2,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                if (p.buggy) OFFENDING(umma_commit<2>(address(s.done[0])));
                umma_commit<1>(address(s.done[0]));
              }
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"TMEM-RULE", {"cta_group::2 in a kernel that used cta_group::1"}});
}

TEST(TensorCoreRules, CommitOutsideTheCluster) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) OFFENDING(umma_commit<1>(address(s.done[0]) + (p.buggy ? 1u << 24 : 0)));
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"BAR-ADDRESS", {"tcgen05.commit names a barrier outside the cluster"}});
}

TEST(TensorCoreRules, CommitMask) {
  core_rule(2,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              const uint16_t mask = p.buggy ? 0b111 : 0b11;
              if (thread_index() == 0 && cluster_rank() == 0)
                OFFENDING(umma_commit_multicast<1>(address(s.done[0]), mask));
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"MMA-RULE", {"commit mask 0x7 for a cluster of 2"}});
}

TEST(TensorCoreRules, CommitOnSomethingThatIsNoBarrier) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) OFFENDING(umma_commit<1>(address(s.done[0]) + (p.buggy ? 1024 : 0)));
              mbarrier_wait(address(s.done[0]), 1);
              tear_down<1>(s);
            },
            {"BAR-UNINIT", {"tcgen05.commit arrives on 0x", "not a live mbarrier"}});
}

TEST(TensorCoreRules, CommitTooMany) {
  core_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              set_up<1>(s);
              if (thread_index() == 0) {
                mbarrier_expect_tx(address(s.done[1]), 16);  // keeps the phase open
                mbarrier_arrive(address(s.done[1]));
                if (p.buggy) {
                  OFFENDING(umma_commit<1>(address(s.done[1])));
                  umma_commit<1>(address(s.done[0]));
                  mbarrier_wait(address(s.extra[0]), 1);  // nobody comes: lets the commit arrive
                }
                mbarrier_complete_tx(address(s.done[1]), 16);
              }
              mbarrier_wait(address(s.done[1]), 1);
              tear_down<1>(s);
            },
            {"ARRIVE-OVERFLOW", {"tcgen05.commit arrives on done.full[1] of cta 0", "expects 0 more arrivals of 1"}});
}

TEST(TensorCoreRules, TensorMemoryIsFreedUnderItsWork) {
  Output output;
  const Launch launch = output.launch(1);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up<1>(s);
    if (thread_index() == 0) {
      umma<MmaKind::f16, 1>({s.slot}, descriptor(s.a), descriptor(s.b), instruction(128, 16), false);
      umma_commit<1>(address(s.done[0]));
    }
    if (!p.buggy) mbarrier_wait(address(s.done[0]), 1);
    tcgen05_fence_before();
    cluster_sync();
    if (warp_index() == 0) OFFENDING(tmem_dealloc<1>({s.slot}, 64));
    syncwarp();
  };
  expect_finding(run(launch, kernel, Params{true, output.values.data()}, with({Policy::lazy})), launch,
                 {"TMEM-RULE", {"tcgen05.dealloc while a tcgen05.mma on these columns is in flight"}});
  always_clean(launch, kernel, Params{false, output.values.data()});
}

TEST(TensorCoreRules, CommitArrivesInACtaThatHasExited) {
  Output output;
  const Launch launch = output.launch(2);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    set_up<1>(s);
    if (thread_index() == 0 && cluster_rank() == 0) OFFENDING(umma_commit<1>(map_to_rank(address(s.done[0]), 1)));
    if (!p.buggy && cluster_rank() == 1) mbarrier_wait(address(s.done[0]), 1);
    tear_down<1>(s);
  };
  expect_finding(run(launch, kernel, Params{true, output.values.data()}, with({Policy::lazy})), launch,
                 {"EXIT-REMOTE", {"tcgen05.commit arrives at done.full[0] of CTA 1, which has exited"}});
  always_clean(launch, kernel, Params{false, output.values.data()});
}

}  // namespace
}  // namespace warploom::loom
