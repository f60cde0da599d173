// What reports say where the cause is not the first thing that comes to mind: each names it.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/fence.hpp"
#include "warploom/arch/tmem.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

alignas(128) uint32_t source[2048];
alignas(128) uint32_t target[64];

Launch with_memory(Launch launch) {
  launch.tensors = {{source, sizeof(source), Access::read, "source"},
                    {target, sizeof(target), Access::write, "target"}};
  return launch;
}

template <class Kernel>
Report checked(const Launch& launch, Kernel kernel, const Schedule& schedule = {}, uint64_t steps = 1'000'000) {
  Options options = with(schedule);
  options.check = true;
  options.step_limit = steps;
  return run(with_memory(launch), kernel, true, options).report;
}

/// The finding, its notes and its other sides.
std::string text_of(const Report& report) {
  EXPECT_EQ(report.findings.size(), 1u);
  return report.findings.empty() ? std::string() : to_text(report);
}

struct Row {
  alignas(128) uint32_t row[32];
  Mbarrier full[1], other[1];
  uint32_t word;
};

TEST(Words, ACopyThatRunsOverABarrierIsNamed) {
  for (const Schedule& schedule : schedules()) {
    const Report report = checked(
        {.threads = 32, .shared_bytes = sizeof(Row)},
        [](bool) {
          auto& s = shared<Row>();
          init_barriers(s.full, 1);
          if (thread_index() == 0) {
            mbarrier_arrive_expect_tx(address(s.full[0]), 144);
            OFFENDING(bulk_load(address(s.row), source, 144, address(s.full[0])));
          }
          syncwarp();
          mbarrier_wait(address(s.full[0]), 1);
        },
        schedule);
    const std::string text = text_of(report);
    EXPECT_TRUE(contains(text, "a copy of 144 bytes to 0x400 of cta 0 runs over ring.full[0] at 0x480")) << text;
    EXPECT_EQ(report.findings[0].at.user.line, offending_line.load()) << text;
  }
}

TEST(Words, AWarpThatBringsNothingIsNamed) {
  const Report report = checked({.threads = 96, .shared_bytes = sizeof(Row)}, [](bool) {
    auto& s = shared<Row>();
    if (thread_index() == 0) {
      mbarrier_init(address(s.full[0]), 2);
      fence_mbarrier_init();
    }
    syncthreads();
    if (thread_index() == 0) mbarrier_arrive(address(s.full[0]));
    if (warp_index() == 2) mbarrier_wait(address(s.full[0]), 1);
  });
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "DEADLOCK");
  EXPECT_TRUE(contains(text, "1 of 2 arrivals are missing: cta 0 warp 1 has brought none (now: has exited)")) << text;
}

TEST(Words, AnArrivalOfTooNarrowAScopeIsTheCauseAndNotAFence) {
  static Line arrives;
  const Report report = checked({.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Row)}, [](bool) {
    auto& s = shared<Row>();
    init_barriers(s.full, 1);
    cluster_sync();
    if (cluster_rank() == 0 && lane_index() == 0) {
      for (uint32_t i = 0; i < 4; ++i) store_cluster(map_to_rank(address(s.row[i]), 1), 1u);
      fence_proxy_async();
      AT_LINE(arrives, mbarrier_arrive(map_to_rank(address(s.full[0]), 1)));
    }
    if (cluster_rank() == 1 && lane_index() == 0) {
      mbarrier_wait<Scope::cluster>(address(s.full[0]), 1);
      bulk_store(target, address(s.row), 16);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  });
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "NOT-VISIBLE") << text;
  EXPECT_FALSE(contains(text, "executes no fence.proxy.async")) << text;
  EXPECT_TRUE(contains(text, "arrives at ring.full[0] of cta 1 with the scope of its own CTA")) << text;
  EXPECT_TRUE(contains(text, "mbarrier_arrive<Scope::cluster>")) << text;
  ASSERT_EQ(report.findings[0].sides.size(), 2u) << text;
  EXPECT_EQ(report.findings[0].sides[1].at.user.line, arrives.load()) << text;
}

TEST(Words, BytesThatTheScheduleHoldsBackAreInFlight) {
  static Line copies;
  const Report report = checked(
      {.threads = 64, .shared_bytes = sizeof(Row)},
      [](bool) {
        auto& s = shared<Row>();
        init_barriers(s.full, 1);
        init_barriers(s.other, 1);
        if (thread_index() == 0) {
          mbarrier_arrive(address(s.other[0]));
          mbarrier_arrive_expect_tx(address(s.full[0]), 128);
          AT_LINE(copies, bulk_load(address(s.row), source, 128, address(s.full[0])));
          mbarrier_wait(address(s.full[0]), 1);
        }
        if (thread_index() == 32) {
          mbarrier_wait(address(s.other[0]), 1);
          for (;;) store_shared(&s.word, 1u);
        }
        syncwarp();
      },
      {Policy::lazy}, 2000);
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "STEP-LIMIT") << text;
  ASSERT_FALSE(report.waiting.empty()) << text;
  ASSERT_FALSE(report.waiting[0].causes.empty()) << text;
  const std::string& cause = report.waiting[0].causes[0];
  EXPECT_TRUE(contains(cause, "128 are in flight")) << cause;
  EXPECT_TRUE(contains(cause, ":" + std::to_string(copies.load()))) << cause;
  EXPECT_FALSE(contains(cause, "more was armed than issued")) << cause;
}

struct Product {
  alignas(1024) std::byte a[128 * 32];
  alignas(1024) std::byte b[32 * 32];
  Mbarrier full[1], ready[1], done[1];
  uint32_t tmem;
};
constexpr uint32_t columns = 64, a_column = 32;

SmemDescriptor operand(const std::byte* tile) {
  return encode_smem_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
}
InstructionDescriptor instruction() {
  InstructionFields fields;
  fields.m = 128;
  fields.n = 32;
  return encode_instruction(fields);
}
TmemAddress operands_in_place(Product& s) {
  if (warp_index() == 0) tmem_alloc<1>(address(s.tmem), columns);
  init_barriers(s.full, 1);
  init_barriers(s.ready, 128);
  init_barriers(s.done, 2);
  if (thread_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(s.a) + sizeof(s.b));
    bulk_load(address(s.a), source, sizeof(s.a), address(s.full[0]));
    bulk_load(address(s.b), source, sizeof(s.b), address(s.full[0]));
  }
  syncwarp();
  mbarrier_wait(address(s.full[0]), 1);
  return {load_shared(&s.tmem)};
}
const Launch product{.threads = 128, .shared_bytes = sizeof(Product)};

TEST(Words, AnOperandThatNobodyWroteIsNoAccumulator) {
  const Report report = checked(product, [](bool) {
    auto& s = shared<Product>();
    const TmemAddress d = operands_in_place(s);
    if (thread_index() == 0)
      OFFENDING(umma<MmaKind::f8f6f4, 1>(d, d.column(a_column), operand(s.b), instruction(), false));
    syncwarp();
  });
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "UNINIT-TMEM") << text;
  EXPECT_TRUE(contains(text, "nobody has written this operand (A or scale factors)")) << text;
  EXPECT_FALSE(contains(text, "accumulat")) << text;
}

TEST(Words, AMissingWaitForStoresIsNamed) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Product>();
    const TmemAddress d = operands_in_place(s);
    const uint32_t zeros[8] = {};
    tmem_store_32x32b<8>(d.column(a_column).lane(32 * warp_index()), zeros);
    if (!buggy) tmem_wait_store();
    tcgen05_fence_before();
    mbarrier_arrive(address(s.ready[0]));
    if (thread_index() == 0) {
      mbarrier_wait(address(s.ready[0]), 1);
      tcgen05_fence_after();
      umma<MmaKind::f8f6f4, 1>(d, d.column(a_column), operand(s.b), instruction(), false);
      umma_commit<1>(address(s.done[0]));
      mbarrier_arrive(address(s.done[0]));
    }
    syncwarp();
    mbarrier_wait(address(s.done[0]), 1);
    syncthreads();
    if (warp_index() == 0) tmem_dealloc<1>(d, columns);
    syncwarp();
  };
  const Report report = checked(product, kernel);
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "RACE-TMEM") << text;
  EXPECT_TRUE(contains(text, "no tcgen05.wait::st of the warp that stores comes before")) << text;
  EXPECT_TRUE(contains(text, "tmem_wait_store()")) << text;
  Options options;
  options.check = true;
  expect_clean(run(with_memory(product), kernel, false, options));
}

TEST(Words, ProductsOfTwoThreadsCiteTheRule) {
  const Report report = checked(product, [](bool) {
    auto& s = shared<Product>();
    const TmemAddress d = operands_in_place(s);
    if (thread_index() == 0 || thread_index() == 32) {
      umma<MmaKind::f8f6f4, 1>(d, operand(s.a), operand(s.b), instruction(), false);
      umma_commit<1>(address(s.done[0]));
    }
    syncwarp();
    mbarrier_wait(address(s.done[0]), 1);
  });
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "RACE-TMEM") << text;
  EXPECT_TRUE(contains(text, "products follow each other only if one thread issues them on the same accumulator"))
      << text;
  EXPECT_TRUE(contains(text, "hardware.md §4.5")) << text;
}

TEST(Words, ASignalIntoACtaThatLeavesNamesItsBarrier) {
  const Report report = checked({.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Row)}, [](bool) {
    auto& s = shared<Row>();
    init_barriers(s.full, 1);
    cluster_sync();
    if (cluster_rank() == 1 && thread_index() == 0) mbarrier_arrive(map_to_rank(address(s.full[0]), 0));
    syncwarp();
  });
  const std::string text = text_of(report);
  EXPECT_EQ(report.findings[0].code, "EXIT-REMOTE") << text;
  EXPECT_TRUE(contains(text, "ring.full[0] of CTA 0")) << text;
}

TEST(Words, AWaitForNothingIsNoPhaseBelowZero) {
  for (const Schedule& schedule : schedules()) {
    const Report report = checked(
        {.threads = 64, .shared_bytes = sizeof(Row)},
        [](bool) {
          auto& s = shared<Row>();
          init_barriers(s.full, 1);
          if (thread_index() == 0) mbarrier_arrive(address(s.full[0]));
          if (thread_index() == 32) mbarrier_wait(address(s.full[0]), 0);
          syncwarp();
        },
        schedule);
    const std::string text = text_of(report);
    EXPECT_FALSE(contains(text, "phase -1")) << text;
    EXPECT_FALSE(contains(text, "18446744073709551615")) << text;
  }
}

/// A lock that nobody gives back: who asks for it says so, instead of running into the limit.
TEST(Words, AnAtomicThatIsAskedForEverIsADeadlock) {
  for (const Schedule& schedule : schedules()) {
    const Report report = checked(
        {.threads = 64, .shared_bytes = sizeof(Row)},
        [](bool) {
          auto& s = shared<Row>();
          if (thread_index() == 0) store_shared(&s.word, 0u);
          syncthreads();
          if (lane_index() == 0)
            while (compare_exchange_cluster(address(s.word), 0, 1) != 0) {
            }
          syncwarp();
        },
        schedule);
    const std::string text = text_of(report);
    EXPECT_EQ(report.findings[0].code, "DEADLOCK") << text;
    EXPECT_TRUE(contains(text, "every try finds the same in the word")) << text;
  }
}

}  // namespace
}  // namespace warploom::loom
