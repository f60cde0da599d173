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

}  // namespace
}  // namespace warploom::loom
