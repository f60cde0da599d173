// Tensor maps that a kernel changes itself (hardware.md §2.2): every field, and the fence before the first use.
#include "warploom/arch/tensor_map_edit.hpp"

#include <numeric>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

constexpr uint32_t columns = 64, rows = 16;

struct Params {
  TensorMap model;
  TensorMap* changed;
  const uint16_t* tensor;
  uint32_t* out;
  int bug;  ///< 0: none
};

struct Storage {
  alignas(1024) uint16_t box[512];
  alignas(128) TensorMap draft;
  Mbarrier full[1];
};

void put(TensorMap& draft, const TensorMap& map) {
  for (uint32_t i = 0; i < 16; ++i) store_shared(&draft.opaque[i], map.opaque[i]);
}

struct Memory {
  alignas(128) std::array<uint16_t, rows * columns> tensor;
  alignas(128) std::array<TensorMap, 1> changed{};
  alignas(128) std::array<uint32_t, 256> out{};
  Memory() { std::iota(tensor.begin(), tensor.end(), uint16_t{1}); }

  Params params(int bug = 0) {
    TensorMapArgs other;  // nothing of it is right
    other.type = TmaType::f32;
    other.rank = 1;
    other.address = reinterpret_cast<const void*>(uintptr_t{0x1000});
    other.dims[0] = 4;
    other.box[0] = 4;
    other.fill = TmaFill::nan;
    return {make_map(other), changed.data(), tensor.data(), out.data(), bug};
  }
  Launch launch() {
    return {.threads = 64,
            .shared_bytes = sizeof(Storage),
            .tensors = {{tensor.data(), sizeof(tensor), Access::read, "tensor"},
                        {changed.data(), sizeof(changed), Access::write, "changed"},
                        {out.data(), sizeof(out), Access::write, "out"}}};
  }
};

// Warp 0 makes the map, warp 1 uses it: every second row of a box of 8 x 16, from row 3 and column 8 on.
const auto kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) put(s.draft, p.model);
  init_barriers(s.full, 1);
  const SharedAddress draft = address(s.draft), full = address(s.full[0]);
  if (warp_index() == 0) {
    if (lane_index() == 0) {
      if (p.bug == 1) {
        OFFENDING(tensor_map_set_rank(draft + 128, 2));
      } else if (p.bug == 2) {
        OFFENDING(tensor_map_set_rank(address(s.box), 2));
      }
      tensor_map_set_rank(draft, 2);
      tensor_map_set_address(draft, p.tensor);
      tensor_map_set_type<TmaType::bf16>(draft);
      tensor_map_set_size<0>(draft, columns);
      tensor_map_set_size<1>(draft, rows);
      tensor_map_set_stride<1>(draft, p.bug == 3 ? 2 * columns + 8 : 2 * columns);
      tensor_map_set_box<0>(draft, 16);
      tensor_map_set_box<1>(draft, 8);
      tensor_map_set_element_stride<1>(draft, 2);
      tensor_map_set_fill<TmaFill::zeros>(draft);
      tensor_map_set_swizzle<Swizzle::b32>(draft);
    }
    syncwarp();
    publish_tensor_map(p.changed, draft);
  }
  syncthreads();
  if (thread_index() == 32) {
    if (p.bug != 4) acquire_tensor_map(*p.changed);
    mbarrier_arrive_expect_tx(full, 4 * 32);
    OFFENDING(tma_load<1>(address(s.box), p.bug == 5 ? s.draft : *p.changed, full, {56, 3}));
    mbarrier_wait(full, 1);
    for (uint32_t i = 0; i < 64; ++i) store_global(p.out + i, static_cast<uint32_t>(load_shared(&s.box[i])));
  }
  syncthreads();
};

TEST(TensorMapEdit, EveryFieldCounts) {
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    Memory memory;
    const Launch launch = memory.launch();
    expect_clean(run(launch, kernel, memory.params(), with(schedule)));
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t c = 0; c < 16; ++c) {
        const uint32_t x = 56 + c, y = 3 + 2 * r;
        const uint32_t at = 0x400 + 32 * r + 2 * c, place = at ^ (at / 128 % 2) * 16;
        EXPECT_EQ(memory.out[(place - 0x400) / 2], x < columns ? 1 + y * columns + x : 0) << r << "," << c;
      }
  }
}

TEST(TensorMapEdit, Rules) {
  const char* const words[] = {"",
                               "no tensor map",
                               "no tensor map",
                               "stride of dimension 1 is 136",
                               "acquire_tensor_map",
                               "a tensor map in shared memory"};
  for (int bug = 1; bug <= 5; ++bug) {
    SCOPED_TRACE(bug);
    Memory memory;
    Launch launch = memory.launch();
    launch.file = __FILE__;
    always_found(launch, kernel, memory.params(bug), {"TMA-RULE", {words[bug]}});
  }
}

TEST(TensorMapEdit, NeedsAlignedSharedMemory) {
  rule({.shared_bytes = sizeof(Storage)},
       [](bool buggy) {
         auto& s = shared<Storage>();
         if (lane_index() == 0) {
           put(s.draft, make_map({.address = &s, .dims = {16, 1, 1, 1, 1}, .box = {16, 1, 1, 1, 1}}));
           OFFENDING(tensor_map_set_rank(address(s.draft) + (buggy ? 64 : 0), 1));
         }
         syncwarp();
       },
       {"TMA-RULE", {"128 aligned bytes"}});
}

// ---- maps from nothing, maps in global memory, and who may fence

static_assert(tma_type_of_elemtype(7) == TmaType::f32 && tma_type_of_elemtype(8) == TmaType::f32_ftz &&
              tma_type_of_elemtype(9) == TmaType::f64 && tma_type_of_elemtype(10) == TmaType::bf16 &&
              tma_type_of_elemtype(11) == TmaType::tf32);

/// A map of rows of 32 words, from zeros: set(field, which, value) for each.
template <class Set>
WARPLOOM_FN void fill_in(const uint32_t* words, Set&& set) {
  using Field = TensorMapField;
  set(Field::address, 0, reinterpret_cast<uintptr_t>(words));
  set(Field::rank, 0, 2);
  set(Field::size, 0, 32);
  set(Field::size, 1, 4);
  set(Field::stride, 0, 128);
  set(Field::box, 0, 32);
  set(Field::box, 1, 2);
  set(Field::element_stride, 0, 1);
  set(Field::element_stride, 1, 1);
  set(Field::type, 0, static_cast<uint64_t>(tma_type_of_elemtype(2)));
  set(Field::interleave, 0, 0);
  set(Field::swizzle_mode, 0, 3);
  set(Field::swizzle_atomicity, 0, 1);
  set(Field::fill, 0, 0);
}

enum class Bug : uint8_t { none, no_release, no_acquire, early_acquire, other_cta, missing_field };

struct Made {
  TensorMap* map;
  const uint32_t* words;
  uint32_t* out;
  Bug bug;
};
struct MadeStorage {
  alignas(1024) uint32_t box[64];
  alignas(128) TensorMap draft;
  Mbarrier full[1];
};
struct MadeMemory {
  alignas(128) std::array<uint32_t, 128> words;
  alignas(128) std::array<TensorMap, 1> map{};
  alignas(128) std::array<uint32_t, 64> out{};
  MadeMemory() { std::iota(words.begin(), words.end(), 100u); }
  Launch launch(uint32_t ctas = 1) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .threads = 64,
            .shared_bytes = sizeof(MadeStorage),
            .tensors = {{words.data(), sizeof(words), Access::read, "words"},
                        {map.data(), sizeof(map), Access::write, "map"},
                        {out.data(), sizeof(out), Access::write, "out"}}};
  }
};

/// Thread 32 loads two rows through the map and writes down what came.
WARPLOOM_FN void load_through(const Made& p, MadeStorage& s) {
  mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(s.box));
  tma_load<1>(address(s.box), *p.map, address(s.full[0]), {0, 1});
  mbarrier_wait(address(s.full[0]), 1);
  for (uint32_t i = 0; i < 64; ++i) store_global(p.out + i, load_shared(&s.box[i]));
}

/// Each bug is found under every schedule with the checker, the kernel without one is clean and brings the rows.
template <class Kernel>
void made_rule(uint32_t ctas, Kernel probed, std::initializer_list<std::pair<Bug, const char*>> bugs) {
  std::vector<std::pair<Bug, const char*>> all{{Bug::none, ""}};
  all.insert(all.end(), bugs);
  for (const auto& [bug, code] : all)
    for (const Schedule& schedule : schedules())
      for (const bool check : {true, false}) {
        if (bug != Bug::none && !check) continue;
        SCOPED_TRACE(schedule.text() + " bug " + std::to_string(static_cast<int>(bug)));
        MadeMemory memory;
        const Launch launch = memory.launch(ctas);
        Options options = with(schedule);
        options.check = check;
        const Made made{memory.map.data(), memory.words.data(), memory.out.data(), bug};
        const Outcome outcome = run(launch, probed, made, options);
        if (bug != Bug::none) {
          expect_finding(outcome, launch, {code, {}, false});
          continue;
        }
        expect_clean(outcome);
        for (uint32_t i = 0; i < 64; ++i) {
          const uint32_t at = 0x400 + 4 * i, place = at ^ (at >> 7 & 3) << 5;  // 128 bytes, atoms of 32
          EXPECT_EQ(memory.out[(place - 0x400) / 4], 132 + i) << i;
        }
      }
}

TEST(TensorMapEdit, AMapFromZerosInSharedMemory) {
  made_rule(1,
            [](const Made& p) {
              auto& s = shared<MadeStorage>();
              if (thread_index() < 16) store_shared(&s.draft.opaque[thread_index()], uint64_t{0});
              init_barriers(s.full, 1);
              if (warp_index() == 0) {
                if (lane_index() == 0)
                  fill_in(p.words, [&](TensorMapField field, uint32_t which, uint64_t value) {
                    if (p.bug != Bug::missing_field || field != TensorMapField::element_stride)
                      native::tensor_map_replace(address(s.draft).value, field, which, value);
                  });
                syncwarp();
                publish_tensor_map(p.map, address(s.draft));
              }
              syncthreads();
              if (thread_index() == 32) {
                if (p.bug != Bug::no_acquire) acquire_tensor_map(*p.map);
                load_through(p, s);
              }
              syncthreads();
            },
            {{Bug::no_acquire, "TMA-RULE"}, {Bug::missing_field, "TMA-RULE"}});
}

/// One warp fences for the CTA, and another one uses the map behind a barrier.
TEST(TensorMapEdit, AnAcquireByAnotherThread) {
  made_rule(2,
            [](const Made& p) {
              auto& s = shared<MadeStorage>();
              if (thread_index() < 16) store_shared(&s.draft.opaque[thread_index()], uint64_t{0});
              init_barriers(s.full, 1);
              if (warp_index() == 0 && cluster_rank() == 0) {
                if (lane_index() == 0)
                  fill_in(p.words, [&](TensorMapField field, uint32_t which, uint64_t value) {
                    native::tensor_map_replace(address(s.draft).value, field, which, value);
                  });
                syncwarp();
                publish_tensor_map(p.map, address(s.draft));
              }
              cluster_sync();
              const uint32_t fencing = p.bug == Bug::other_cta ? 1 : 0;
              if (thread_index() == 0 && cluster_rank() == fencing) acquire_tensor_map(*p.map);
              if (p.bug != Bug::no_acquire) cluster_sync();
              if (thread_index() == 32 && cluster_rank() == 0) load_through(p, s);
              cluster_sync();
            },
            {{Bug::no_acquire, "TMA-RULE"}, {Bug::other_cta, "TMA-RULE"}});
}

TEST(TensorMapEdit, AMapThatIsChangedWhereItIsUsed) {
  made_rule(1,
            [](const Made& p) {
              auto& s = shared<MadeStorage>();
              init_barriers(s.full, 1);
              if (thread_index() == 0) {
                fill_in(p.words, [&](TensorMapField field, uint32_t which, uint64_t value) {
                  native::tensor_map_replace_global(p.map, field, which, value);
                });
                if (p.bug != Bug::no_release) release_tensor_maps();
              }
              syncthreads();
              if (thread_index() == 32) {
                if (p.bug != Bug::no_acquire) acquire_tensor_map(*p.map);
                load_through(p, s);
              }
              syncthreads();
            },
            {{Bug::no_release, "TMA-RULE"}, {Bug::no_acquire, "TMA-RULE"}});
}

/// The bytes of a draft, stored by an ordinary thread: nothing but the checker knows what they are.
TEST(TensorMapEdit, AMapThatIsStoredByAThread) {
  made_rule(1,
            [](const Made& p) {
              auto& s = shared<MadeStorage>();
              if (thread_index() < 16) store_shared(&s.draft.opaque[thread_index()], uint64_t{0});
              init_barriers(s.full, 1);
              if (thread_index() == 32) {
                fill_in(p.words, [&](TensorMapField field, uint32_t which, uint64_t value) {
                  native::tensor_map_replace(address(s.draft).value, field, which, value);
                });
                for (uint32_t i = 0; i < 16; ++i) store_global(&p.map->opaque[i], load_shared(&s.draft.opaque[i]));
                if (p.bug == Bug::early_acquire) acquire_tensor_map(*p.map);
                if (p.bug != Bug::no_release) release_tensor_maps();
                if (p.bug != Bug::no_acquire && p.bug != Bug::early_acquire) acquire_tensor_map(*p.map);
                load_through(p, s);
              }
              syncthreads();
            },
            {{Bug::no_release, "PROXY"}, {Bug::no_acquire, "PROXY"}, {Bug::early_acquire, "PROXY"}});
}

}  // namespace
}  // namespace warploom::loom
