// wgmma in kernels (hardware.md §5): products under every schedule, and every rule broken once.
#include "loom/wgmma_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

// ---------------------------------------------------------------------------------------------------------- values

struct Output {
  float* out = nullptr;
};

/// Two instructions along K, one group; A from shared memory and then once more from registers: twice the product.
template <int n, class A, class B, Major a_major, Major b_major, Swizzle a_swizzle, Swizzle b_swizzle>
void expect_products() {
  struct Storage {
    OperandTile<A, a_major, a_swizzle, 64> a;
    OperandTile<B, b_major, b_swizzle, n> b;
  };
  std::vector<float> out(64 * n);
  const Launch launch{.threads = 128,
                      .shared_bytes = sizeof(Storage),
                      .tensors = {{out.data(), out.size() * sizeof(float), Access::write, "out"}}};
  auto kernel = [](const Output& params) {
    Storage& s = shared<Storage>();
    s.a.fill(a_value, thread_index(), 128);
    s.b.fill(b_value, thread_index(), 128);
    fence_proxy_async_shared();
    syncthreads();
    Fragment<float, n / 2> d;
    Fragment<uint32_t, 4> registers[max_steps];
    for (uint32_t i = 0; i < max_steps; ++i) fill_registers<A>(registers[i], i);
    wgmma_fence(d, registers[0], registers[1]);
    for (uint32_t i = 0; i < max_steps; ++i)
      wgmma<n, A, B, a_major, b_major>(d, s.a.descriptor(i), s.b.descriptor(i), i > 0);
    wgmma_commit_group();
    for (uint32_t i = 0; i < max_steps; ++i)
      wgmma_from_registers<n, A, B, b_major>(d, registers[i], s.b.descriptor(i), true);
    wgmma_commit_group();
    wgmma_wait_group<0>(d);
    store(d, params.out);
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    out.assign(out.size(), -1);
    expect_clean(run(launch, kernel, Output{out.data()}, with(schedule)));
    for (uint32_t row = 0; row < 64; ++row)
      for (uint32_t column = 0; column < n; ++column)
        ASSERT_EQ(out[row * n + column], 2 * product(row, column, max_steps * 32 / sizeof(A))) << row << "," << column;
  }
}

constexpr auto K = Major::k, MN = Major::mn;

TEST(WgmmaProducts, Bf16) {
  expect_products<8, bf16, bf16, K, K, Swizzle::none, Swizzle::none>();
  expect_products<64, bf16, bf16, K, K, Swizzle::b128, Swizzle::b128>();
  expect_products<256, bf16, bf16, K, K, Swizzle::b64, Swizzle::b32>();
}
TEST(WgmmaProducts, Bf16MnMajor) {
  expect_products<128, bf16, bf16, MN, MN, Swizzle::b128, Swizzle::b128>();
  expect_products<24, bf16, bf16, MN, K, Swizzle::b64, Swizzle::none>();
  expect_products<96, bf16, bf16, K, MN, Swizzle::b32, Swizzle::b64>();
}
TEST(WgmmaProducts, F16) {
  expect_products<40, f16, f16, K, K, Swizzle::b32, Swizzle::b128>();
  expect_products<64, f16, f16, MN, MN, Swizzle::none, Swizzle::b32>();
}
TEST(WgmmaProducts, Fp8) {
  expect_products<128, e4m3, e4m3, K, K, Swizzle::b128, Swizzle::b128>();
  expect_products<16, e4m3, e5m2, K, K, Swizzle::none, Swizzle::b64>();
  expect_products<72, e5m2, e4m3, K, K, Swizzle::b64, Swizzle::none>();
  expect_products<200, e5m2, e5m2, K, K, Swizzle::b32, Swizzle::b32>();
}

// ---------------------------------------------------------------------------------------------------------- rules

constexpr int n = 16;
using Acc = Fragment<float, n / 2>;
using ARegisters = Fragment<uint32_t, 4>;

struct Storage {
  OperandTile<bf16, K, Swizzle::none, 64> a;
  OperandTile<bf16, K, Swizzle::none, n> b;
  Mbarrier never[1];
};

Launch warpgroups(uint32_t count = 1, const char* file = __builtin_FILE()) {
  return {.threads = 128 * count, .shared_bytes = sizeof(Storage), .file = file};
}

WARPLOOM_FN Storage& filled() {
  Storage& s = shared<Storage>();
  s.a.fill(a_value, thread_index(), 128);
  s.b.fill(b_value, thread_index(), 128);
  fence_proxy_async_shared();
  syncthreads();
  return s;
}

WARPLOOM_FN void multiply(Acc& d, const Storage& s, bool accumulate) {
  wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), accumulate);
}

TEST(WgmmaRules, ReadBeforeTheWait) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         wgmma_commit_group();
         if (buggy) OFFENDING(use(std::as_const(d)[3]));
         wgmma_wait_group<0>(d);
         use(d[3]);
       },
       {"FRAGMENT", {"is read while a wgmma writes it", "wgmma.wait_group that covers it"}});
}

TEST(WgmmaRules, WrittenBeforeTheWait) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         wgmma_commit_group();
         if (buggy) OFFENDING(d[0] = 0);
         wgmma_wait_group<0>(d);
         d[0] = 0;
       },
       {"FRAGMENT", {"is accessed while a wgmma writes it"}});
}

TEST(WgmmaRules, DestroyedBeforeTheWait) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         {
           Acc inner;
           multiply(buggy ? inner : d, s, false);
           wgmma_commit_group();
         }
         wgmma_wait_group<0>(d);
       },
       {"FRAGMENT", {"is destroyed while a wgmma writes it"}, false});
}

TEST(WgmmaRules, TheWaitLeavesItsGroupPending) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc first, second;
         wgmma_fence(first, second);
         multiply(first, s, false);
         wgmma_commit_group();
         multiply(second, s, false);
         wgmma_commit_group();
         wgmma_wait_group<1>(first, second);
         use(first[0]);
         if (buggy) OFFENDING(use(second[0]));
         wgmma_wait_group<0>(second);
         use(second[0]);
       },
       {"FRAGMENT", {"while a wgmma writes it"}});
}

TEST(WgmmaRules, NeverCommitted) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         if (!buggy) wgmma_commit_group();
         wgmma_wait_group<0>(d);
         OFFENDING(use(d[0]));
       },
       {"FRAGMENT", {"wgmma.commit_group and wgmma.wait_group come first"}});
}

TEST(WgmmaRules, TheWaitDoesNotNameTheFragment) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         wgmma_commit_group();
         wgmma_wait_group<0>();
         if (!buggy) wgmma_wait_group<0>(d);
         OFFENDING(use(d[0]));
       },
       {"FRAGMENT", {"did not name", "compiler may move"}});
}

TEST(WgmmaRules, AccumulatorZeroedWithoutFence) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         for (int i = 0; i < n / 2; ++i) d[i] = 0;
         if (!buggy) wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), true));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-FENCE", {"touched the accumulator"}});
}

TEST(WgmmaRules, TheFenceDoesNotNameTheAccumulator) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d, other;
         for (int i = 0; i < n / 2; ++i) d[i] = other[i] = 0;
         wgmma_fence(buggy ? other : d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), true));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-FENCE", {"that named it"}});
}

// The next block's products overwrite what ordinary code has read: a read needs the fence as well.
TEST(WgmmaRules, AccumulatorReadWithoutFence) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         for (int block = 0; block < 3; ++block) {
           if (!buggy) wgmma_fence(d);
           OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
           wgmma_commit_group();
           wgmma_wait_group<0>(d);
           use(d[0]);
         }
       },
       {"WGMMA-FENCE", {"touched the accumulator"}});
}

TEST(WgmmaRules, OperandRegistersWrittenWithoutFence) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         ARegisters a;
         fill_registers<bf16>(a, 0);
         wgmma_fence(d);
         if (!buggy) wgmma_fence(a);
         OFFENDING(wgmma_from_registers<n, bf16, bf16>(d, a, s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-FENCE", {"touched the A fragment"}});
}

TEST(WgmmaRules, OperandRegistersWrittenInFlight) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         ARegisters a;
         fill_registers<bf16>(a, 0);
         wgmma_fence(d, a);
         wgmma_from_registers<n, bf16, bf16>(d, a, s.b.descriptor(), false);
         wgmma_commit_group();
         if (buggy) OFFENDING(a[2] = 7);
         wgmma_wait_group<0>(d);
         a[2] = 7;
       },
       {"FRAGMENT", {"while a wgmma reads it"}});
}

TEST(WgmmaRules, NoFenceAtAll) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         if (!buggy) wgmma_fence();
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-FENCE", {"first wgmma of a warp"}});
}

TEST(WgmmaRules, AnotherShapeOnTheSameAccumulatorWithoutFence) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         if (!buggy) wgmma_fence(d);
         OFFENDING(wgmma<n, e4m3, e4m3>(d, s.a.descriptor(), s.b.descriptor(), true));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-FENCE", {"K = 32 follows one with K = 16"}});
}

TEST(WgmmaRules, AccumulatesOntoNothing) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), buggy));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"FRAGMENT", {"nobody wrote"}});
}

TEST(WgmmaRules, OperandRegistersThatNobodyWrote) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         ARegisters a;
         if (!buggy) fill_registers<bf16>(a, 0);
         wgmma_fence(d, a);
         OFFENDING(wgmma_from_registers<n, bf16, bf16>(d, a, s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"FRAGMENT", {"A fragment that nobody wrote"}});
}

TEST(WgmmaRules, PartOfAWarpgroup) {
  rule(warpgroups(2),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         if (warp_index() < 4 || (buggy && warp_index() == 5)) return;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"only warps 4, 6, 7 of the warpgroup of warps 4 to 7"}});
}

TEST(WgmmaRules, MisalignedWarpgroup) {
  rule(warpgroups(2),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         const uint32_t first = buggy ? 2 : 4;
         if (warp_index() < first || warp_index() >= first + 4) return;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"warps 2 to 5 execute wgmma together", "multiple of four: warps 0 to 3 are one"}});
}

TEST(WgmmaRules, NoWholeWarpgroup) {
  Launch launch = warpgroups();
  launch.threads = 160;
  rule(launch,
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         if ((warp_index() == 4) != buggy) return;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"no warpgroup of warps 4 to 7"}});
}

TEST(WgmmaRules, DescriptorsDifferInAWarp) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         const SmemDescriptor b = s.b.descriptor(buggy && thread_index() == 40 ? 1 : 0);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), b, false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"threads ", "40", "different descriptors of B"}});
}

TEST(WgmmaRules, DescriptorsDifferBetweenWarps) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         const SmemDescriptor a = s.a.descriptor(buggy ? warp_index() % 2 : 0);
         OFFENDING(wgmma<n, bf16, bf16>(d, a, s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"of a warpgroup", "different descriptors of A"}});
}

TEST(WgmmaRules, AccumulateDiffersBetweenWarps) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         d[0] = 0;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), buggy && warp_index() == 2));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"different values of accumulate"}});
}

TEST(WgmmaRules, FormsDifferBetweenWarps) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         Fragment<float, 4> narrow;
         wgmma_fence(d, narrow);
         if (buggy && warp_index() >= 2)
           wgmma<8, bf16, bf16>(narrow, s.a.descriptor(), s.b.descriptor(), false);
         else
           wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false);
         wgmma_commit_group();
         wgmma_wait_group<0>(d, narrow);
       },
       {"WGMMA-GROUP", {"different forms"}, false});
}

TEST(WgmmaRules, OneWarpDoesNotCommit) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         multiply(d, s, false);
         if (!buggy || warp_index() != 3) wgmma_commit_group();
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), true));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"WGMMA-GROUP", {"wgmma number 1 after", "wgmma.commit_group"}});
}

/// Fragments that outlive their thread: nothing is destroyed, and still nobody waited.
alignas(Acc) std::byte kept[128][sizeof(Acc)];

TEST(WgmmaRules, ExitWithoutCommit) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc& d = *new (kept[thread_index()]) Acc;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         if (buggy) return;
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"EXIT-PENDING", {"never committed"}});
}

TEST(WgmmaRules, ExitWithoutWait) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc& d = *new (kept[thread_index()]) Acc;
         wgmma_fence(d);
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false));
         wgmma_commit_group();
         if (!buggy) wgmma_wait_group<0>(d);
       },
       {"EXIT-PENDING", {"without waiting"}});
}

TEST(WgmmaRules, DescriptorLeavesSharedMemory) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         const SmemDescriptor a = s.a.descriptor().advance(buggy ? 16384 : 0);
         OFFENDING(wgmma<n, bf16, bf16>(d, a, s.b.descriptor(), false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"OOB-SHARED", {"operand A of wgmma"}});
}

TEST(WgmmaRules, DescriptorOfTheOtherChip) {
  rule(warpgroups(),
       [](bool buggy) {
         Storage& s = filled();
         Acc d;
         wgmma_fence(d);
         const SmemDescriptor b = buggy ? encode_smem_descriptor(s.b.fields()) : s.b.descriptor();
         OFFENDING(wgmma<n, bf16, bf16>(d, s.a.descriptor(), b, false));
         wgmma_commit_group();
         wgmma_wait_group<0>(d);
       },
       {"MMA-RULE", {"Operand B", "no version"}});
}

// ---------------------------------------------------------------------------------------------------------- order

struct Reuse {
  bool early = false;
  float* out = nullptr;
};

/// A slot that is overwritten once the group that reads it is complete, with the next group in flight.
TEST(WgmmaOrder, SharedMemoryIsReadBeforeTheWaitAndNotBefore) {
  std::vector<float> out(64 * n);
  Launch launch = warpgroups();
  launch.tensors = {{out.data(), out.size() * sizeof(float), Access::write, "out"}};
  launch.shared_bytes = 2 * sizeof(Storage);
  auto kernel = [](const Reuse& params) {
    Storage& s = filled();
    auto& other = (&shared<Storage>())[1];
    other.b.fill(b_value, thread_index(), 128);
    fence_proxy_async_shared();
    syncthreads();
    Acc d;
    wgmma_fence(d);
    wgmma<n, bf16, bf16>(d, s.a.descriptor(), s.b.descriptor(), false);
    wgmma_commit_group();
    wgmma<n, bf16, bf16>(d, s.a.descriptor(), other.b.descriptor(), true);
    wgmma_commit_group();
    if (!params.early) wgmma_wait_group<1>();
    syncthreads();
    s.b.fill([](uint32_t, uint32_t) { return 100.0f; }, thread_index(), 128);
    wgmma_wait_group<0>(d);
    store(d, params.out);
  };
  auto correct = [&] {
    for (uint32_t row = 0; row < 64; ++row)
      for (uint32_t column = 0; column < n; ++column)
        if (out[row * n + column] != 2 * product(row, column, 16)) return false;
    return true;
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    expect_clean(run(launch, kernel, Reuse{false, out.data()}, with(schedule)));
    EXPECT_TRUE(correct());
  }
  expect_clean(run(launch, kernel, Reuse{true, out.data()}, with({Policy::eager})));
  EXPECT_TRUE(correct());
  for (const Schedule& schedule : {Schedule{Policy::lazy}, Schedule{Policy::adversarial}}) {
    expect_clean(run(launch, kernel, Reuse{true, out.data()}, with(schedule)));
    EXPECT_FALSE(correct()) << schedule.text();
  }
}

/// The warps of a warpgroup need not come together, and two warpgroups do not wait for each other.
TEST(WgmmaOrder, WarpsComeApart) {
  std::vector<float> out(2 * 64 * n);
  Launch launch = warpgroups(2);
  launch.tensors = {{out.data(), out.size() * sizeof(float), Access::write, "out"}};
  auto kernel = [](const Output& params) {
    Storage& s = filled();
    Acc d;
    for (uint32_t i = 0; i < 5 * warp_index(); ++i) syncwarp();
    wgmma_fence(d);
    for (int i = 0; i < 6; ++i) {
      multiply(d, s, i > 0);
      wgmma_commit_group();
      wgmma_wait_group<2>();
      for (uint32_t j = 0; j < 3 * (7 - warp_index()); ++j) syncwarp();
    }
    wgmma_wait_group<0>(d);
    store(d, params.out + warp_index() / 4 * 64 * n);
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    expect_clean(run(launch, kernel, Output{out.data()}, with(schedule)));
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 6 * product(i / n % 64, i % n, 16)) << i;
  }
}

TEST(WgmmaOrder, AWarpHeldUpElsewhereIsTheCause) {
  auto kernel = [](bool stuck) {
    Storage& s = filled();
    init_barriers(s.never, 1);
    Acc d;
    wgmma_fence(d);
    multiply(d, s, false);
    if (stuck && warp_index() == 1) mbarrier_wait(address(s.never[0]), 1);
    multiply(d, s, true);
    wgmma_commit_group();
    wgmma_wait_group<0>(d);
  };
  always_clean(warpgroups(), kernel, false);
  const Outcome outcome = run(warpgroups(), kernel, true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
  bool explained = false;
  for (const Waiter& waiter : outcome.report.waiting) {
    if (waiter.kind != WaitKind::wgmma_group) continue;
    EXPECT_EQ(waiter.object, "wgmma groups");
    ASSERT_EQ(waiter.causes.size(), 1u);
    EXPECT_TRUE(contains(waiter.causes[0], "cannot start: warp 1 of the warpgroup has not issued it"));
    EXPECT_TRUE(contains(waiter.causes[0], "waits for ring.full[0]")) << waiter.causes[0];
    explained = true;
  }
  EXPECT_TRUE(explained) << to_text(outcome.report);
}

TEST(WgmmaOrder, TheTimelineShowsTheTensorCore) {
  Options options;
  options.record_events = true;
  const Outcome outcome = run(
      warpgroups(),
      [](bool) {
        Storage& s = filled();
        name_role<Consumer>();
        Acc d;
        wgmma_fence(d);
        for (int i = 0; i < 3; ++i) multiply(d, s, i > 0);
        wgmma_commit_group();
        wgmma_wait_group<0>(d);
      },
      true, options);
  expect_clean(outcome);
  int products = 0, waits = 0;
  uint64_t end = 0;
  for (const Event& event : outcome.events.events) {
    if (event.kind == EventKind::mma) {
      ++products;
      EXPECT_EQ(outcome.events.names[event.name], "wgmma");
      EXPECT_EQ(event.value, n);
      EXPECT_GE(event.begin, end) << "the tensor core does one after the other";
      EXPECT_GT(event.end, event.begin);
      end = event.end;
    }
    if (event.kind == EventKind::wait && outcome.events.names[event.name] == "wgmma groups") ++waits;
  }
  EXPECT_EQ(products, 3);
  EXPECT_EQ(waits, 4);
  EXPECT_TRUE(contains(render_timeline(outcome.events, {}), "tensor core"));
}

// ------------------------------------------------------------------------------------------------------- mutations

TEST(WgmmaMutations, EveryOneIsNoticed) {
  auto kernel = [](bool) {
    Storage& s = filled();
    Acc first, second;
    wgmma_fence(first, second);
    for (int block = 0; block < 2; ++block) {
      wgmma_fence(first, second);
      multiply(first, s, false);
      wgmma_commit_group();
      multiply(second, s, false);
      wgmma_commit_group();
      wgmma_wait_group<1>(first);
      use(first[0]);
      wgmma_wait_group<0>(second);
      use(second[0]);
    }
  };
  Options options;
  options.record_sites = true;
  const Outcome outcome = run(warpgroups(), kernel, true, options);
  expect_clean(outcome);
  int seen = 0;
  for (const Site& site : outcome.sites) {
    if (!site.operation.starts_with("wgmma.")) continue;
    if (site.operation == "wgmma.fence" && site.executions == 4) continue;  // the first of two
    for (const MutationKind kind : mutations_of(site.operation)) {
      ++seen;
      SCOPED_TRACE(std::string(to_string(kind)) + " " + site.key());
      for (const Schedule& schedule : schedules()) {
        Options mutated = with(schedule);
        mutated.mutation = Mutation{site.key(), kind};
        const Outcome broken = run(warpgroups(), kernel, true, mutated);
        ASSERT_EQ(broken.report.findings.size(), 1u) << schedule.text();
        EXPECT_EQ(broken.report.findings[0].code, site.operation == "wgmma.fence" ? "WGMMA-FENCE" : "FRAGMENT");
      }
    }
  }
  EXPECT_EQ(seen, 7);  // a fence, two commits, two waits with two mutations each
}

}  // namespace
}  // namespace warploom::loom
