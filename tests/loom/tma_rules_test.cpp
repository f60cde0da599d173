// TMA copies in kernels (hardware.md §2): values, signals, and every rule broken once.
#include <numeric>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t columns = 32, rows = 8;         // the tensor in global memory, u32
constexpr uint32_t box_columns = 8, box_rows = 4;  // a box of it
constexpr uint32_t box_bytes = box_columns * box_rows * 4;

struct Storage {
  alignas(1024) uint32_t box[2][1024 / 4];
  Mbarrier full[2];
};

struct Params {
  bool buggy;
  TensorMap map;
  TensorMap store;
  uint32_t* out;
  TensorMap other;
};

/// Two tensors of `rows` x `columns` numbers, the second writable, and a scratch row for results.
struct Memory {
  alignas(128) std::array<uint32_t, rows * columns> in;
  alignas(128) std::array<uint32_t, rows * columns> out{};
  alignas(128) std::array<uint32_t, 1024> words{};

  Memory() { std::iota(in.begin(), in.end(), 1000u); }

  static TensorMapArgs args(const void* base) {
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.address = base;
    args.dims = {columns, rows, 1, 1, 1};
    args.strides = {columns * 4, 16, 16, 16};
    args.box = {box_columns, box_rows, 1, 1, 1};
    return args;
  }
  Params params(bool buggy = false) {
    Params p{};
    p.buggy = buggy;
    p.map = make_map(args(in.data()));
    p.store = make_map(args(out.data()));
    p.out = words.data();
    return p;
  }
  Launch launch(uint32_t ctas = 1) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .shared_bytes = sizeof(Storage),
            .tensors = {{in.data(), sizeof(in), Access::read, "in"},
                        {out.data(), sizeof(out), Access::write, "out"},
                        {words.data(), sizeof(words), Access::write, "words"}}};
  }
  uint32_t at(int row, int column) const {
    const bool inside = row >= 0 && row < int{rows} && column >= 0 && column < int{columns};
    return inside ? in[static_cast<size_t>(row) * columns + static_cast<size_t>(column)] : 0;
  }
};

/// kernel(p) with p.buggy is reported, without it is clean.
template <class Kernel>
void tma_rule(Memory& memory, uint32_t ctas, Kernel kernel, const Expected& expected,
              const char* file = __builtin_FILE()) {
  Launch launch = memory.launch(ctas);
  launch.file = file;
  {
    SCOPED_TRACE("buggy");
    always_found(launch, kernel, memory.params(true), expected);
  }
  SCOPED_TRACE("correct");
  always_clean(launch, kernel, memory.params(false));
}

/// One thread loads one box and waits.
WARPLOOM_FN void load_and_wait(Storage& s, const TensorMap& map, Coord2 at) {
  mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
  tma_load<1>(address(s.box[0]), map, address(s.full[0]), at);
  mbarrier_wait(address(s.full[0]), 1);
}

// ---------------------------------------------------------------------------------------------------------- values

struct AtParams {
  Params p;
  Coord2 at;
};

TEST(Tma, LoadsABoxAndFillsWhatIsOutOfBounds) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const AtParams& q) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      load_and_wait(s, q.p.map, q.at);
      for (uint32_t i = 0; i < box_bytes / 4; ++i) store_global(q.p.out + i, s.box[0][i]);
    }
    syncwarp();
  };
  for (const Coord2 at : {Coord2{0, 0}, Coord2{8, 2}, Coord2{28, 6}, Coord2{-4, -1}, Coord2{64, 0}, Coord2{0, 100}}) {
    for (const Schedule& schedule : schedules()) {
      memory.words = {};
      expect_clean(run(launch, kernel, AtParams{memory.params(), at}, with(schedule)));
      for (int r = 0; r < int{box_rows}; ++r)
        for (int c = 0; c < int{box_columns}; ++c)
          EXPECT_EQ(memory.words[static_cast<size_t>(r) * box_columns + static_cast<size_t>(c)],
                    memory.at(at.c1 + r, at.c0 + c))
              << at.c0 << "," << at.c1;
    }
  }
}

struct SwizzleParams {
  TensorMap map;
  uint32_t* out;
  uint32_t offset;
  uint32_t bytes;
};

TEST(Tma, SwizzlesByTheAbsoluteAddress) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const SwizzleParams& q) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), q.bytes);
      tma_load<1>(address(s.box[0]) + q.offset, q.map, address(s.full[0]), {0, 0});
      mbarrier_wait(address(s.full[0]), 1);
      for (uint32_t i = 0; i < 512; ++i) store_global(q.out + i, s.box[i / 256][i % 256]);
    }
    syncwarp();
  };
  for (const Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    for (const uint32_t offset : {0u, 128u, 896u}) {
      const uint32_t span = swizzle_span(swizzle);
      TensorMapArgs args = Memory::args(memory.in.data());
      args.swizzle = swizzle;
      args.box = {span / 4, rows, 1, 1, 1};
      memory.words = {};
      expect_clean(run(launch, kernel, SwizzleParams{make_map(args), memory.words.data(), offset, span * rows}));
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t c = 0; c < span / 4; ++c) {
          const uint32_t at = swizzle_address(swizzle, 0x400 + offset + r * span + 4 * c) - 0x400;
          EXPECT_EQ(memory.words[at / 4], memory.at(static_cast<int>(r), static_cast<int>(c)));
        }
    }
  }
}

TEST(Tma, MulticastReachesTheCtasOfTheMask) {  // hardware.md §2.7: 0b1011 from rank 2
  Memory memory;
  const Launch launch = memory.launch(4);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      s.box[0][0] = 5;
      if (cluster_rank() != 2) mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
    }
    cluster_sync();
    if (lane_index() == 0) {
      if (cluster_rank() == 2)
        tma_load_multicast<1>(address(s.box[0]), p.map, address(s.full[0]), {8, 1}, 0b1011);
      else
        mbarrier_wait(address(s.full[0]), 1);
    }
    cluster_sync();
    if (lane_index() == 0) {
      EXPECT_EQ(mbarrier_test(address(s.full[0]), 1), cluster_rank() != 2);
      store_global(p.out + cluster_rank(), s.box[0][0]);
    }
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(launch)) {
    memory.words = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(memory.words[rank], rank == 2 ? 5 : memory.at(1, 8));
  }
}

TEST(Tma, PairSignalsItsLeader) {
  Memory memory;
  const Launch launch = memory.launch(2);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      const SharedAddress leader = pair_leader(address(s.full[0]));
      if (cluster_rank() == 0) mbarrier_arrive_expect_tx(leader, 2 * box_bytes);
      tma_load<2>(address(s.box[0]), p.map, leader, {static_cast<int32_t>(8 * cluster_rank()), 0});
      if (cluster_rank() == 0) mbarrier_wait(leader, 1);
    }
    cluster_sync();
    if (lane_index() == 0) store_global(p.out + cluster_rank(), s.box[0][0]);
    cluster_sync();
  };
  for (const Schedule& schedule : schedules(launch)) {
    memory.words = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    EXPECT_EQ(memory.words[0], memory.at(0, 0));
    EXPECT_EQ(memory.words[1], memory.at(0, 8));
  }
}

TEST(Tma, PairMulticastSignalsTheCtaOfThatParity) {
  Memory memory;
  always_clean(
      memory.launch(4),
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          const bool leads = cluster_rank() % 2 == 0;
          if (leads) mbarrier_arrive_expect_tx(address(s.full[0]), 2 * box_bytes);
          if (cluster_rank() == 1)
            tma_load_multicast<2>(address(s.box[0]), p.map, pair_leader(address(s.full[0])), {0, 0}, 0b1111);
          if (leads) mbarrier_wait(address(s.full[0]), 1);
        }
        cluster_sync();
        EXPECT_EQ(s.box[0][1], 1001u);
        cluster_sync();
      },
      memory.params());
}

TEST(Tma, StoresABox) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    for (uint32_t i = lane_index(); i < box_bytes / 4; i += 32) s.box[0][i] = 50 + i;
    fence_proxy_async_shared();
    syncwarp();
    if (lane_index() == 0) {
      tma_store(p.store, address(s.box[0]), {8, 6});  // two of the four rows are past the end
      bulk_commit_group();
      bulk_wait_group<0>();
    }
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    memory.out = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < columns; ++c) {
        const bool inside = r >= 6 && c >= 8 && c < 16;
        EXPECT_EQ(memory.out[r * columns + c], inside ? 50 + (r - 6) * box_columns + c - 8 : 0);
      }
  }
}

// ---------------------------------------------------------------------------------------------------------- delays

/// Reads the destination before the wait: what is there depends on when the load lands.
TEST(TmaDelay, DestinationIsPoisonUntilTheLoadLands) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      s.box[0][0] = 77;
      mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
      tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0});
      store_global(p.out, s.box[0][0]);
      mbarrier_wait(address(s.full[0]), 1);
      store_global(p.out + 1, s.box[0][0]);
    }
    syncwarp();
  };
  const auto early = [&](const Schedule& schedule) {
    memory.words = {};
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    EXPECT_EQ(memory.words[1], memory.at(0, 0));
    return memory.words[0];
  };
  EXPECT_EQ(early({Policy::eager}), memory.at(0, 0));
  EXPECT_EQ(early({Policy::lazy}), 0xffffffffu);
  EXPECT_EQ(early({Policy::adversarial}), memory.at(0, 0));
  uint32_t poisoned = 0;
  for (uint64_t seed = 0; seed < 32; ++seed) poisoned += early({Policy::random, seed}) == 0xffffffffu ? 1 : 0;
  EXPECT_GT(poisoned, 0u);
}

/// The staging buffer of a store is written again: legal after wait_group.read, not before.
TEST(TmaDelay, StoreReadsItsSourceLate) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    if (lane_index() == 0) {
      for (uint32_t i = 0; i < box_bytes / 4; ++i) s.box[0][i] = 1;
      tma_store(p.store, address(s.box[0]), {0, 0});
      bulk_commit_group();
      if (!p.buggy) bulk_wait_group_read<0>();
      for (uint32_t i = 0; i < box_bytes / 4; ++i) s.box[0][i] = 2;
      bulk_wait_group_read<0>();
    }
    syncwarp();
  };
  const auto stored = [&](bool buggy, const Schedule& schedule) {
    memory.out = {};
    expect_clean(run(launch, kernel, memory.params(buggy), with(schedule)));
    return memory.out[0];
  };
  for (const Schedule& schedule : schedules()) EXPECT_EQ(stored(false, schedule), 1u) << schedule.text();
  EXPECT_EQ(stored(true, {Policy::eager}), 1u);
  EXPECT_EQ(stored(true, {Policy::lazy}), 2u);
  EXPECT_EQ(stored(true, {Policy::adversarial}), 2u);
}

TEST(TmaDelay, WaitGroupLeavesTheYoungestPending) {
  Memory memory;
  always_clean(
      memory.launch(),
      [](const Params& p) {
        auto& s = shared<Storage>();
        if (lane_index() == 0) {
          for (uint32_t turn = 0; turn < 4; ++turn) {
            if (turn >= 2) bulk_wait_group_read<1>();
            const uint32_t buffer = turn % 2;
            for (uint32_t i = 0; i < box_bytes / 4; ++i) s.box[buffer][i] = 10 + turn;
            tma_store(p.store, address(s.box[buffer]), {static_cast<int32_t>(8 * turn), 0});
            bulk_commit_group();
          }
          bulk_commit_group();  // an empty group
          bulk_wait_group<0>();
        }
        syncwarp();
      },
      memory.params());
  for (uint32_t turn = 0; turn < 4; ++turn) EXPECT_EQ(memory.out[8 * turn], 10 + turn);
}

// ---------------------------------------------------------------------------------------------------------- rules

TEST(TmaRules, DestinationAlignment) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               OFFENDING(tma_load<1>(address(s.box[0]) + (p.buggy ? 64 : 0), p.map, address(s.full[0]), {0, 0}));
               mbarrier_wait(address(s.full[0]), 1);
             }
             syncwarp();
           },
           {"TMA-RULE", {"multiple of 128 bytes", "64 past one"}});
}

TEST(TmaRules, FirstCoordinateInUnitsOf16Bytes) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {p.buggy ? 2 : 4, 0}));
               mbarrier_wait(address(s.full[0]), 1);
             }
             syncwarp();
           },
           {"TMA-RULE", {"Coordinate 0 of a TMA load is 2", "multiple of 16 bytes"}});
}

TEST(TmaRules, RankOfTheMap) {
  Memory memory;
  TensorMapArgs args = Memory::args(memory.in.data());
  args.rank = 3;
  args.strides = {columns * 4, columns * 4 * rows, 16, 16};
  Params bad = memory.params(true);
  bad.map = make_map(args);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
      OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0}));
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  Launch launch = memory.launch();
  launch.file = __FILE__;
  always_found(launch, kernel, bad, {"TMA-RULE", {"2-dimensional TMA load", "rank 3"}});
  bad.map = {};  // 128 bytes that nobody encoded
  always_found(launch, kernel, bad, {"TMA-RULE", {"not made by encode_tensor_map"}});
  always_clean(launch, kernel, memory.params());
}

TEST(TmaRules, DestinationInAnotherCta) {
  Memory memory;
  tma_rule(memory, 2,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0 && cluster_rank() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               const SharedAddress own = address(s.box[0]);
               OFFENDING(tma_load<1>(p.buggy ? map_to_rank(own, 1) : own, p.map, address(s.full[0]), {0, 0}));
               mbarrier_wait(address(s.full[0]), 1);
             }
             cluster_sync();
           },
           {"TMA-RULE", {"must be in the issuing CTA"}});
}

TEST(TmaRules, BoxLeavesSharedMemory) {
  Memory memory;
  tma_rule(
      memory, 1,
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
          OFFENDING(tma_load<1>(address(s.box[0]) + (p.buggy ? sizeof(Storage) : 0), p.map, address(s.full[0]), {}));
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      {"OOB-SHARED", {"a box of 128 bytes", "leaves the CTA's shared memory"}});
}

TEST(TmaRules, BarrierOutsideTheCluster) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               const SharedAddress barrier = address(s.full[0]) + (p.buggy ? 3u << 24 : 0);
               OFFENDING(tma_load<1>(address(s.box[0]), p.map, barrier, {0, 0}));
               mbarrier_wait(address(s.full[0]), 1);
             }
             syncwarp();
           },
           {"BAR-ADDRESS", {"outside the cluster"}});
}

TEST(TmaRules, BarrierOfAnotherCtaNeedsThePairForm) {
  Memory memory;
  tma_rule(memory, 2,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               if (cluster_rank() == 0) {
                 mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
                 mbarrier_wait(address(s.full[0]), 1);
               } else if (p.buggy) {
                 OFFENDING(tma_load<1>(address(s.box[0]), p.map, pair_leader(address(s.full[0])), {0, 0}));
               } else {
                 tma_load<2>(address(s.box[0]), p.map, pair_leader(address(s.full[0])), {0, 0});
               }
             }
             cluster_sync();
           },
           {"TMA-RULE", {"cta_group::1 signals CTA 0", "not its own"}});
}

TEST(TmaRules, BarrierOfAnotherPair) {
  Memory memory;
  tma_rule(memory, 4,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               if (cluster_rank() == 2) {
                 mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
                 mbarrier_wait(address(s.full[0]), 1);
               }
               if (cluster_rank() == (p.buggy ? 0u : 3u))
                 OFFENDING(tma_load<2>(address(s.box[0]), p.map, map_to_rank(address(s.full[0]), 2), {0, 0}));
             }
             cluster_sync();
           },
           {"TMA-RULE", {"cta_group::2 signals CTA 2", "not of its pair"}});
}

TEST(TmaRules, PairFormInAClusterOfThree) {
  Memory memory;
  tma_rule(memory, 3,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               if (cluster_rank() == 1) {
                 if (p.buggy) OFFENDING(tma_load_multicast<2>(address(s.box[0]), p.map, address(s.full[0]), {}, 0b111));
                 tma_load_multicast<1>(address(s.box[0]), p.map, address(s.full[0]), {}, 0b111);
               }
               mbarrier_wait(address(s.full[0]), 1);
             }
             cluster_sync();
           },
           {"TMA-RULE", {"even number of CTAs"}});
}

template <uint16_t bad>
void refuses_mask(const char* words) {
  Memory memory;
  tma_rule(memory, 2,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               const uint16_t mask = p.buggy ? bad : 0b11;
               if (cluster_rank() == 0)
                 OFFENDING(tma_load_multicast<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0}, mask));
               mbarrier_wait(address(s.full[0]), 1);
             }
             cluster_sync();
           },
           {"TMA-RULE", {words, "cluster of 2"}});
}

TEST(TmaRules, MulticastMask) { refuses_mask<0b101>("multicast mask 0x5"); }

TEST(TmaRules, MulticastMaskThatNamesNobody) { refuses_mask<0>("multicast mask 0x0"); }

TEST(TmaRules, GlobalMemoryTheLaunchDoesNotName) {
  Memory memory;
  std::array<uint32_t, rows * columns + 32> strange{};
  void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(strange.data()) + 127) / 128 * 128);
  Params bad = memory.params(true);
  bad.map = make_map(Memory::args(aligned));
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
      OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0}));
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  Launch launch = memory.launch();
  launch.file = __FILE__;
  always_found(launch, kernel, bad, {"OOB-GLOBAL", {"a TMA load reads global memory outside"}});
  always_clean(launch, kernel, memory.params());
}

TEST(TmaRules, CompletionOnSomethingThatIsNoBarrier) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
               OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[0]) + (p.buggy ? 16 : 0), {0, 0}));
               mbarrier_wait(address(s.full[0]), 1);
             }
             syncwarp();
           },
           {"BAR-UNINIT", {"a TMA load completes on 0x", "not a live mbarrier"}});
}

TEST(TmaRules, BytesOutOfRange) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             init_barriers(s.full, 1);
             if (lane_index() == 0) {
               mbarrier_complete_tx(address(s.full[1]), mbarrier_max_count - (p.buggy ? 0 : box_bytes));
               OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[1]), {0, 0}));
               mbarrier_expect_tx(address(s.full[0]), 16);  // lets a delayed load land in the buggy form
               mbarrier_arrive(address(s.full[0]));
               if (p.buggy) mbarrier_wait(address(s.full[0]), 1);
               mbarrier_complete_tx(address(s.full[0]), 16);
               mbarrier_arrive_expect_tx(address(s.full[1]), mbarrier_max_count);
               mbarrier_wait(address(s.full[1]), 1);
             }
             syncwarp();
           },
           {"TX-RANGE", {"ring.full[1]", "+-1048575"}});
}

TEST(TmaRules, LoadLandsInACtaThatHasExited) {
  Memory memory;
  const Launch launch = memory.launch();
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
      OFFENDING(tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0}));
      if (!p.buggy) mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  Launch here = launch;
  here.file = __FILE__;
  expect_finding(run(launch, kernel, memory.params(true), with({Policy::lazy})), here,
                 {"EXIT-REMOTE", {"a TMA load lands in CTA 0, which has exited"}});
  always_clean(launch, kernel, memory.params());
}

TEST(TmaRules, LoadSignalsALeaderThatHasExited) {
  Memory memory;
  Launch launch = memory.launch(2);
  launch.file = __FILE__;
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      if (cluster_rank() == 0) {
        mbarrier_arrive_expect_tx(address(s.full[0]), box_bytes);
        if (!p.buggy) mbarrier_wait(address(s.full[0]), 1);
      } else {
        OFFENDING(tma_load<2>(address(s.box[0]), p.map, pair_leader(address(s.full[0])), {0, 0}));
        mbarrier_arrive_expect_tx(address(s.full[1]), box_bytes);
        tma_load<2>(address(s.box[1]), p.map, address(s.full[1]), {0, 0});
        mbarrier_wait(address(s.full[1]), 1);  // stays while the leader leaves
      }
    }
    if (!p.buggy) cluster_sync();
  };
  expect_finding(run(launch, kernel, memory.params(true), with({Policy::lazy})), launch,
                 {"EXIT-REMOTE", {"signals ring.full[0] of CTA 0, which has exited"}});
  always_clean(launch, kernel, memory.params());
}

TEST(TmaRules, StoreRules) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.store, address(s.box[0]), {0, p.buggy ? -1 : 0}));
               bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"TMA-RULE", {"Coordinate 1 of a TMA store is -1"}});
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.buggy ? p.map : p.store, address(s.box[0]), {0, 0}));  // `in` is read-only
               bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"OOB-GLOBAL", {"a TMA store writes global memory outside the launch's writable tensors"}});
  tma_rule(memory, 2,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0 && cluster_rank() == 0) {
               const SharedAddress own = address(s.box[0]);
               OFFENDING(tma_store(p.store, p.buggy ? map_to_rank(own, 1) : own, {0, 0}));
               bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             cluster_sync();
           },
           {"TMA-RULE", {"the source of a TMA store must be in the issuing CTA"}});
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.store, address(s.box[0]) + (p.buggy ? sizeof(Storage) : 0), {0, 0}));
               bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"OOB-SHARED", {"a box of 128 bytes"}});
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.buggy ? p.other : p.store, address(s.box[0]), {0, 0}));
               bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"TMA-RULE", {"not made by encode_tensor_map"}});
}

TEST(TmaRules, ExitBeforeAStoreHasReadItsSource) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.store, address(s.box[0]), {0, 0}));
               bulk_commit_group();
               if (!p.buggy) bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"EXIT-PENDING", {"without waiting until its bulk stores have read shared memory"}});
}

TEST(TmaRules, ExitWithAStoreThatWasNeverCommitted) {
  Memory memory;
  tma_rule(memory, 1,
           [](const Params& p) {
             auto& s = shared<Storage>();
             if (lane_index() == 0) {
               OFFENDING(tma_store(p.store, address(s.box[0]), {0, 0}));
               if (!p.buggy) bulk_commit_group();
               bulk_wait_group_read<0>();
             }
             syncwarp();
           },
           {"EXIT-PENDING", {"never committed"}});
}

TEST(TmaRules, EmptyGroupsNeedNoWait) {
  Memory memory;
  always_clean(
      memory.launch(),
      [](const Params&) {
        bulk_commit_group();
        syncwarp();
      },
      memory.params());
}

}  // namespace
}  // namespace warploom::loom
