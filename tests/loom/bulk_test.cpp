// Bulk copies without tensor map (hardware.md §2.1, 2.8): bytes and signals in all three directions, reductions, and
// every rule broken once.
#include "warploom/arch/bulk.hpp"

#include <bit>
#include <numeric>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t words = 64, bytes = 4 * words;

struct Storage {
  alignas(128) uint32_t data[2][words];
  Mbarrier full[1];
};

struct Params {
  bool buggy;
  uint32_t* in;
  uint32_t* out;
};

struct Memory {
  alignas(128) std::array<uint32_t, 2 * words> in;
  alignas(128) std::array<uint32_t, 8 * words> out{};
  Memory() { std::iota(in.begin(), in.end(), 1000u); }
  Launch launch(uint32_t ctas = 1) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .shared_bytes = sizeof(Storage),
            .tensors = {{in.data(), sizeof(in), Access::read, "in"}, {out.data(), sizeof(out), Access::write, "out"}}};
  }
  Params params(bool buggy = false) { return {buggy, in.data(), out.data()}; }
};

template <class Kernel>
void bulk_rule(uint32_t ctas, Kernel kernel, const Expected& expected, const char* file = __builtin_FILE()) {
  Memory memory;
  Launch launch = memory.launch(ctas);
  launch.file = file;
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, memory.params(true), expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, memory.params(false));
}

WARPLOOM_FN void write_out(const uint32_t (&data)[words], uint32_t* out) {
  for (uint32_t i = lane_index(); i < words; i += 32) store_global(out + i, load_shared(&data[i]));
}

TEST(Bulk, LoadsToOneCtaAndToMany) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), cluster_rank() == 1 ? bytes : 2 * bytes);
      bulk_load(address(s.data[0]), p.in, bytes, address(s.full[0]));
      if (cluster_rank() == 1) bulk_load_multicast(address(s.data[1]), p.in + words, bytes, address(s.full[0]), 0b101);
      bulk_prefetch(p.in, bytes);
    }
    mbarrier_wait(address(s.full[0]), 1);
    write_out(s.data[0], p.out + 2 * words * cluster_rank());
    if (cluster_rank() != 1) write_out(s.data[1], p.out + 2 * words * cluster_rank() + words);
    cluster_sync();
  };
  Memory memory;
  const Launch launch = memory.launch(3);
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    memory.out = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t cta = 0; cta < 3; ++cta)
      for (uint32_t i = 0; i < 2 * words; ++i)
        ASSERT_EQ(memory.out[2 * words * cta + i], i >= words && cta == 1 ? 0 : 1000 + i) << cta;
  }
}

TEST(Bulk, StoresWholeAndMasked) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    for (uint32_t i = lane_index(); i < words; i += 32) store_shared(&s.data[0][i], 0x01010101 * (i + 1));
    fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) {
      bulk_store(p.out, address(s.data[0]), bytes);
      bulk_commit_group();
      bulk_store_masked(p.out + words, address(s.data[0]), bytes, 0x8421);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    Memory memory;
    expect_clean(run(memory.launch(), kernel, memory.params(), with(schedule)));
    const auto* masked = reinterpret_cast<const uint8_t*>(memory.out.data() + words);
    for (uint32_t i = 0; i < words; ++i) ASSERT_EQ(memory.out[i], 0x01010101 * (i + 1));
    for (uint32_t b = 0; b < bytes; ++b) ASSERT_EQ(masked[b], b % 16 % 5 == 0 ? b / 4 + 1 : 0) << b;
  }
}

TEST(Bulk, SendsAndAddsToAnotherCta) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    for (uint32_t i = lane_index(); i < words; i += 32) {
      store_shared(&s.data[0][i], 100 * (cluster_rank() + 1) + i);
      store_shared(&s.data[1][i], i);
    }
    fence_proxy_async_shared();
    cluster_sync();
    const uint32_t other = 1 - cluster_rank();
    const SharedAddress there = map_to_rank(address(s.full[0]), other);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
      bulk_send_reduce<Reduction::add, ReductionType::u32>(map_to_rank(address(s.data[1]), other), address(s.data[0]),
                                                           bytes, there);
    }
    mbarrier_wait(address(s.full[0]), 1);
    cluster_sync();  // the sums are complete: they may be overwritten in turn
    if (lane_index() == 0 && cluster_rank() == 0) {
      bulk_send(map_to_rank(address(s.data[0]), 1), address(s.data[1]), bytes, there);
    } else if (cluster_rank() == 1) {
      if (lane_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
      mbarrier_wait(address(s.full[0]), 2);
    }
    write_out(s.data[cluster_rank() == 0 ? 1 : 0], p.out + words * cluster_rank());
    cluster_sync();
  };
  Memory memory;
  const Launch launch = memory.launch(2);
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    memory.out = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t cta = 0; cta < 2; ++cta)
      for (uint32_t i = 0; i < words; ++i) ASSERT_EQ(memory.out[words * cta + i], 200 + i + i);
  }
}

// One thread, one reduction of one kind: what global memory holds after it.
template <Reduction operation, ReductionType type>
uint64_t reduced(uint64_t old, uint64_t source) {
  struct Values {
    uint64_t* global;
    uint64_t source;
  };
  alignas(16) static uint64_t global[2];
  global[0] = old;
  global[1] = 0;
  const auto kernel = [](const Values& v) {
    auto& s = shared<Storage>();
    if (lane_index() == 0) {
      auto* staged = reinterpret_cast<uint64_t*>(s.data[0]);
      store_shared(staged, v.source);
      store_shared(staged + 1, uint64_t{0});
      fence_proxy_async_shared();
      bulk_reduce<operation, type>(v.global, address(s.data[0]), 16);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  Launch launch{.shared_bytes = sizeof(Storage), .tensors = {{global, sizeof(global), Access::write, "global"}}};
  expect_clean(run(launch, kernel, Values{global, source}));
  return global[0];
}

TEST(Bulk, ReducesEveryType) {
  using R = Reduction;
  using T = ReductionType;
  const uint64_t minus_one = ~uint64_t{0};
  EXPECT_EQ((reduced<R::add, T::u32>(0xffff'ffff'0000'0005, 0x2'0000'0003)), 0x1'0000'0008u);
  EXPECT_EQ((reduced<R::add, T::s32>(5, 0xffff'fff9)), 0xffff'fffeu);
  EXPECT_EQ((reduced<R::add, T::u64>(0xffff'ffff, 1)), 0x1'0000'0000u);
  EXPECT_EQ((reduced<R::min, T::u32>(5, minus_one)), 5u);
  EXPECT_EQ((reduced<R::min, T::s32>(5, 0xffff'ffff)), 0xffff'ffffu);
  EXPECT_EQ((reduced<R::max, T::u64>(5, minus_one)), minus_one);
  EXPECT_EQ((reduced<R::max, T::s64>(5, minus_one)), 5u);
  EXPECT_EQ((reduced<R::inc, T::u32>(7, 7)), 0u);
  EXPECT_EQ((reduced<R::inc, T::u32>(6, 7)), 7u);
  EXPECT_EQ((reduced<R::dec, T::u32>(0, 7)), 7u);
  EXPECT_EQ((reduced<R::dec, T::u32>(8, 7)), 7u);
  EXPECT_EQ((reduced<R::dec, T::u32>(5, 7)), 4u);
  EXPECT_EQ((reduced<R::bit_and, T::b64>(0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0)), 0x0f000f000f000f00u);
  EXPECT_EQ((reduced<R::bit_or, T::b32>(0xf0, 0x0f)), 0xffu);
  EXPECT_EQ((reduced<R::bit_xor, T::b32>(0xff, 0x0f)), 0xf0u);
  const auto f = [](float v) { return uint64_t{std::bit_cast<uint32_t>(v)}; };
  EXPECT_EQ((reduced<R::add, T::f32>(f(1.0f), f(0x1p-24f))), f(1.0f));  // a tie: to the even one
  EXPECT_EQ((reduced<R::add, T::f64>(std::bit_cast<uint64_t>(0.5), std::bit_cast<uint64_t>(0.25))),
            std::bit_cast<uint64_t>(0.75));
  EXPECT_EQ((reduced<R::add, T::f16>(0x3c00, 0x3c00)), 0x4000u);  // 1 + 1
  EXPECT_EQ((reduced<R::add, T::bf16>(0x3f80, 0x3f80)), 0x4000u);
  EXPECT_EQ((reduced<R::add, T::f16>(0x0001, 0x0001)), 0x0002u);   // subnormals stay
  EXPECT_EQ((reduced<R::min, T::f16>(0x7e00, 0x3c00)), 0x3c00u);   // the other of a NaN
  EXPECT_EQ((reduced<R::max, T::bf16>(0xbf80, 0xc000)), 0xbf80u);  // -1 of -1 and -2
  // Whichever comes first, -0 is the smaller; and a sum that is no number is one NaN.
  for (const auto& [old, source] : {std::pair<uint64_t, uint64_t>{0x0000, 0x8000}, {0x8000, 0x0000}}) {
    EXPECT_EQ((reduced<R::min, T::f16>(old, source)), 0x8000u);
    EXPECT_EQ((reduced<R::max, T::f16>(old, source)), 0x0000u);
    EXPECT_EQ((reduced<R::min, T::bf16>(old, source)), 0x8000u);
  }
  EXPECT_EQ((reduced<R::add, T::f64>(0x7ff0'0000'0000'0000, 0xfff0'0000'0000'0000)), 0x7fff'ffff'ffff'ffffu);
}

TEST(Bulk, ReductionsOfSeveralClustersMustBeAnnounced) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    for (uint32_t i = lane_index(); i < words; i += 32) store_shared(&s.data[0][i], 1u);
    fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) {
      OFFENDING(bulk_reduce<Reduction::add, ReductionType::u32>(p.out, address(s.data[0]), bytes));
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  Memory memory;
  Launch launch = memory.launch();
  launch.grid = {5};
  launch.file = __FILE__;
  always_found(launch, kernel, memory.params(), {"GLOBAL-ATOMIC", {"a reduction into global memory"}});
  launch.talks_across_clusters = true;
  for (const Schedule& schedule : schedules()) {
    memory.out = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t i = 0; i < words; ++i) ASSERT_EQ(memory.out[i], 5u);
  }
}

// ---------------------------------------------------------------------------------------------------------- rules

WARPLOOM_FN void load_from(const Params& p, uint32_t to, uint32_t from, uint32_t length) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (lane_index() == 0) {
    mbarrier_arrive_expect_tx(address(s.full[0]), bytes / 2);
    OFFENDING(bulk_load(address(s.data[0]) + to, reinterpret_cast<const std::byte*>(p.in) + from, length,
                        address(s.full[0])));
    mbarrier_wait(address(s.full[0]), 1);
  }
  syncwarp();
}

TEST(Bulk, LoadRules) {
  bulk_rule(1, [](const Params& p) { load_from(p, p.buggy ? 8 : 0, 0, bytes / 2); },
            {"TMA-RULE", {"multiples of 16 bytes", "destination"}});
  bulk_rule(1, [](const Params& p) { load_from(p, 0, p.buggy ? 4 : 0, bytes / 2); }, {"TMA-RULE", {"source"}});
  bulk_rule(1, [](const Params& p) { load_from(p, 0, 0, p.buggy ? 100 : bytes / 2); },
            {"TMA-RULE", {"100 bytes", "multiple of 16"}});
  bulk_rule(1, [](const Params& p) { load_from(p, 0, p.buggy ? 1u << 20 : 0, bytes / 2); },
            {"OOB-GLOBAL", {"cp.async.bulk reads"}});
  bulk_rule(1, [](const Params& p) { load_from(p, p.buggy ? 4096 : 0, 0, bytes / 2); }, {"OOB-SHARED", {}});
}

TEST(Bulk, MulticastMaskMustNameCtas) {
  bulk_rule(2,
            [](const Params& p) {
              auto& s = shared<Storage>();
              init_barriers(s.full, 1);
              if (lane_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
              if (lane_index() == 0 && cluster_rank() == 0)
                OFFENDING(bulk_load_multicast(address(s.data[0]), p.in, bytes, address(s.full[0]), p.buggy ? 7 : 3));
              mbarrier_wait(address(s.full[0]), 1);
              cluster_sync();
            },
            {"TMA-RULE", {"0x7", "cluster of 2"}});
}

/// CTA 0 sends `length` bytes to CTA `to` and names the barrier of CTA `barrier_rank`; `stay`: nobody leaves early.
WARPLOOM_FN void send(const Params& p, uint32_t to, uint32_t barrier_rank, uint32_t beyond, bool stay) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (cluster_rank() == 0 && lane_index() == 0)
    OFFENDING(bulk_send(map_to_rank(address(s.data[0]), to) + beyond, address(s.data[1]), bytes,
                        map_to_rank(address(s.full[0]), barrier_rank)));
  if (cluster_rank() == 1 && !p.buggy) {
    if (lane_index() == 0) mbarrier_arrive_expect_tx(address(s.full[0]), bytes);
    mbarrier_wait(address(s.full[0]), 1);
  }
  if (stay) cluster_sync();
}

TEST(Bulk, SendRules) {
  bulk_rule(2, [](const Params& p) { send(p, p.buggy ? 0 : 1, p.buggy ? 0 : 1, 0, true); },
            {"TMA-RULE", {"another CTA of the cluster"}});
  bulk_rule(2, [](const Params& p) { send(p, 1, p.buggy ? 0 : 1, 0, true); },
            {"TMA-RULE", {"both must be of one CTA"}});
  bulk_rule(2, [](const Params& p) { send(p, 1, 1, p.buggy ? 1u << 16 : 0, true); }, {"OOB-SHARED", {}});
}

TEST(Bulk, SendLandsInACtaThatHasExited) {
  const auto kernel = [](const Params& p) { send(p, 1, 1, 0, !p.buggy); };
  Memory memory;
  Launch launch = memory.launch(2);
  launch.file = __FILE__;
  expect_finding(run(launch, kernel, memory.params(true), with({Policy::lazy})), launch,
                 {"EXIT-REMOTE", {"a bulk copy", "which has exited"}});
  always_clean(launch, kernel, memory.params(false));
}

TEST(Bulk, StoreWritesWritableTensorsOnly) {
  bulk_rule(1,
            [](const Params& p) {
              auto& s = shared<Storage>();
              if (lane_index() == 0) {
                OFFENDING(bulk_store(p.buggy ? p.in : p.out, address(s.data[0]), bytes));
                bulk_commit_group();
                bulk_wait_group<0>();
              }
              syncwarp();
            },
            {"OOB-GLOBAL", {"cp.async.bulk writes", "writable"}});
}

TEST(Bulk, PrefetchIsChecked) {
  bulk_rule(1,
            [](const Params& p) {
              OFFENDING(bulk_prefetch(p.in, p.buggy ? bytes + 8 : bytes));
              syncwarp();
            },
            {"TMA-RULE", {"cp.async.bulk.prefetch"}});
}

}  // namespace
}  // namespace warploom::loom
