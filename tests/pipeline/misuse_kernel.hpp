// Small kernels on one ring of each kind, for tests of what the loom says when a handle is used wrongly: a writer
// thread and a reader thread, a loader and a multiplier, an MMA warp and the epilogue. A test brings the two bodies;
// between them every slot is filled once and freed once, or the loom has spoken.
#pragma once

#include <vector>

#include "loom/probe_kernel.hpp"
#include "warploom/pipeline/input.hpp"
#include "warploom/warp/contexts.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom::misuse {

using namespace loom::probe;

/// Where a test expects the finding, for what OFFENDING cannot hold: declarations, ends of scopes.
#define IN_THE_NEXT_LINE ::warploom::loom::probe::offending_line = __LINE__ + 1

// What misuses do. Macros, because a report names the innermost line outside the library, and that is to be the test's.
#define CREATE(Side, storage) \
  Side::create((storage).output.tmem_address, (storage).output.barriers.ptr(), (storage).output.dealloc)
/// One MMA into the accumulator at `offset`.
#define MULTIPLY(storage, offset) \
  AccumStage::Op::mma(AccumStage::A((storage).operands.a), AccumStage::B((storage).operands.b), offset)
/// A load of the first columns of the accumulator at `offset`, waited for.
#define LOOK(offset)                                                                          \
  do {                                                                                        \
    arch::Fragment<uint32_t, 8> columns;                                                      \
    arch::tmem_load_32x32b(columns, arch::TmemAddress{offset}.lane(32 * arch::warp_index())); \
    arch::tmem_wait_load();                                                                   \
  } while (false)
/// The copies of a slot of the input ring.
#define LOAD(slot) (slot).load(TileLoader{&InputStage::get().a, 64}[0], TileLoader{&InputStage::get().b, 16}[0])

struct Writer : WarpRole<0, 1> {
  static constexpr char name[] = "writer";
};
struct Reader : WarpRole<1, 1> {
  static constexpr char name[] = "reader";
};

// ---- a plain ring

/// One thread fills, one thread frees.
struct Parcels {
  static constexpr char name[] = "parcels";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<one_thread<Writer>>;
  using freed = freed_by<one_thread<Reader>>;
  static constexpr uint32_t bytes = 0;
};
/// One thread fills, a warp frees as one.
struct Bundles : Parcels {
  static constexpr char name[] = "bundles";
  using freed = freed_by<lane_per_warp<Reader>>;
};
template <class Protocol>
struct RingStage {
  using Ring = ProducerConsumerPipeline<2, Protocol>;
  struct Storage {
    typename Ring::BarrierArray barriers;
  };
  static Launch launch(const char* file = __builtin_FILE()) { return {.threads = 64, .file = file}; }

  /// Both sides ready: the ring as this thread sees it.
  static WARPLOOM_FN Ring begin() noexcept {
    auto& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    return Ring(storage.barriers.ptr());
  }
};
WARPLOOM_FN bool writer() noexcept { return arch::thread_index() == 0; }
WARPLOOM_FN bool reader() noexcept { return arch::thread_index() == 32; }

// ---- an input ring

using Payload = StandardTilePayload<bf16, bf16, 64, 16, ClusterShape<1, 1, 1>>;
using Input = InputTilePipeline<Payload, 2, filled_by<tma_bytes<Writer>>, freed_by<one_thread<Reader>>>;
struct InputStage {
  struct Storage {
    Input::Storage input;
  };
  std::vector<bf16> ones = std::vector<bf16>(64 * 64, bf16{0x3f80});
  TensorMap a, b;

  InputStage() {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = ones.data();
    args.dims = {64, 64, 1, 1, 1};
    args.strides[0] = 128;
    args.box = {64, 64, 1, 1, 1};
    args.swizzle = Swizzle::b128;
    a = make_map(args);
    args.box[1] = 16;
    b = make_map(args);
  }
  static const InputStage& get() {
    static const InputStage stage;
    return stage;
  }
  static Launch launch(const char* file = __builtin_FILE()) {
    const InputStage& stage = get();
    return {.threads = 64,
            .shared_bytes = sizeof(Storage),
            .tensors = {{stage.ones.data(), stage.ones.size() * 2, loom::Access::read, "ones"}},
            .file = file};
  }
  static WARPLOOM_FN Input begin() noexcept {
    auto& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Input::init_barriers(storage.input);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    return Input(storage.input);
  }
};

// ---- an accumulator ring between an MMA warp and the epilogue

inline constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 32, .cta_group = 1};
using Output = OutputTilePipeline<opc>;
struct AccumStage {
  using A = Payload::A;
  using B = Payload::B;
  using Op = MmaOp<A, B, ClusterShape<1, 1, 1>>;
  using MmaContext = MmaWarpContext<opc>;
  using EpilogueContext = EpilogueWarpContext<opc>;
  struct Storage {
    Payload::Slot operands;
    OutputStorage<opc> output;
    SharedMemBarrier there;  ///< for tests that hand something over in another way
  };
  static Launch launch(const char* file = __builtin_FILE()) {
    return {.threads = 160, .shared_bytes = sizeof(Storage), .file = file};
  }
  static WARPLOOM_FN Storage& begin() noexcept {
    auto& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Output::init_barriers(storage.output.barriers.ptr());
      MmaContext::Dealloc::init(storage.output.dealloc.ptr());
      arch::mbarrier_init(arch::shared_address(&storage.there), 1);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    return storage;
  }
  /// The last warp multiplies, the first four are the epilogue.
  static WARPLOOM_FN bool multiplies() noexcept { return arch::warp_index() == 4; }

  // The other side of a test, as it should be.
  static WARPLOOM_FN void multiply_once(Storage& storage) noexcept {
    auto context = CREATE(MmaContext, storage);
    if (arch::elect_one()) {
      auto stage = context.per_k_stage();
      MULTIPLY(storage, stage.tmem().offset());
    }
  }
  static WARPLOOM_FN void look_once(Storage& storage) noexcept {
    EpilogueContext::Sync::wait();
    auto context = CREATE(EpilogueContext, storage);
    auto stage = context.output_pipeline.consumer();
    LOOK(stage.tmem().offset());
  }
};

}  // namespace warploom::misuse
