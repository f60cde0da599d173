// The residual ring under many schedules, through all its handles on both sides, freed by every epilogue thread and by
// one lane of each warp.
#include <vector>

#include "loom/units/tma.hpp"
#include "support/many_schedules.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/pipeline/epi_load.hpp"

namespace warploom::test {
namespace {

struct ResidualParams {
  Tally* tally;
  TensorMap c;
};

template <int stages, class Freed>
struct ResidualSchedules {
  static constexpr int rounds = 8, rows = 4, columns = 32;
  using Ring = EpiLoadPipeline<stages, SmemTile<uint32_t, rows, columns, Swizzle::none>, Freed>;
  struct Storage {
    typename Ring::Storage ring;
  };
  static constexpr uint32_t value(int round, uint32_t word) { return static_cast<uint32_t>(round) * 1000 + word; }

  static void entry(const void* block) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_barriers(storage.ring);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    ResidualSchedules kernel(*static_cast<const ResidualParams*>(block), storage);
    if (arch::warp_index() < Epilogue::warps) {
      arch::name_role<Epilogue>();
      kernel.read();
    } else if (arch::warp_index() == EpilogueLoad::first_warp) {
      arch::name_role<EpilogueLoad>();
      if (arch::elect_one()) kernel.load();
    }
    arch::syncwarp();
  }

  void load() noexcept {
    const TileLoader c{&params.c, rows};
    for (int i = 0; i < rounds; ++i) {
      switch (i % 3) {
        case 0: {
          auto slot = ring.produce();
          ring.load(slot, c[i], 0);
          break;
        }
        case 1: {
          auto slot = ring.acquire_producer();
          ring.load(slot, c[i], 0);
          slot.release();
          break;
        }
        case 2: {
          ring.wait_consumer();
          ring.arm();
          arch::tma_load<1>(ring.tile(ring.producer_stage()).address(), params.c,
                            arch::shared_address(ring.producer_mbar()), {0, i * rows});
          ring.producer_step();
          break;
        }
      }
    }
    ring.pipeline.drain();
  }

  void read() noexcept {
    constexpr bool lane_guarded = Ring::Pipeline::consumer_count == Epilogue::warps;
    for (int i = 0; i < rounds; ++i) {
      switch (i % 4) {
        case 0: {
          auto slot = ring.consume();
          look(slot.index(), i);
          if (i == 4) slot.free();
          break;
        }
        case 1: {
          auto slot = ring.consume_explicit();
          look(slot.index(), i);
          if constexpr (lane_guarded) arch::syncwarp();
          if (!lane_guarded || arch::lane_index() == 0) slot.arrive();
          break;
        }
        case 2: {
          auto slot = ring.acquire_consumer();
          look(slot.index(), i);
          slot.release();
          break;
        }
        case 3: {
          ring.wait_producer();
          look(ring.consumer_stage(), i);
          ring.pipeline.template signal_free<Epilogue>();
          ring.consumer_step();
          break;
        }
      }
    }
  }
  void look(uint32_t index, int i) noexcept {
    const uint32_t thread = arch::thread_index();
    params.tally->equal(arch::load_shared(ring.tile(index).data + thread), value(i, thread), __LINE__);
  }

  ResidualSchedules(const ResidualParams& p, Storage& storage) noexcept : params(p), ring(storage.ring) {}
  const ResidualParams& params;
  Ring ring;

  static void run_schedules(uint32_t count) {
    std::vector<uint32_t> source;
    for (int i = 0; i < rounds; ++i)
      for (uint32_t word = 0; word < rows * columns; ++word) source.push_back(value(i, word));
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.address = source.data();
    args.dims = {columns, rounds * rows, 1, 1, 1};
    args.strides[0] = columns * 4;
    args.box = {columns, rows, 1, 1, 1};
    const Result<TensorMap> map = loom::encode_tensor_map(args, loom::Chip::sm100);
    ASSERT_TRUE(map) << map.error();
    Tally tally;
    const ResidualParams params{&tally, *map};
    const loom::TensorRef tensors[] = {{source.data(), source.size() * 4, loom::Access::read, "C"}};
    const loom::LaunchConfig config{.kernel = "residual",
                                    .threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>,
                                    .shared_bytes = sizeof(Storage)};
    run_under(count, config, &entry, params, tensors, uint64_t{Epilogue::threads} * rounds);
  }
};

UNDER_SCHEDULES(ResidualRing, EveryThread, ResidualSchedules<2, freed_by<every_thread<Epilogue>>>)
UNDER_SCHEDULES(ResidualRing, LanePerWarp, ResidualSchedules<3, freed_by<lane_per_warp<Epilogue>>>)

}  // namespace
}  // namespace warploom::test
