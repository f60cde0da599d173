// How many schedules of a small pipeline the checker goes through in a second, on one core: what an exploration of a
// kernel that depends on its schedule costs, once its tiles are small.
//
//   warploom-check-rate [seconds]       two warps, a ring of two slots filled by TMA, four turns; then the relay of
//                                       examples/relay_kernel.hpp: three roles in four warps, two rings, 16 turns
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "../../examples/loom_machine.hpp"
#include "../../examples/relay_run.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {
namespace {

/// One warp fetches rows, the other adds them up.
struct Handoff {
  static constexpr char name[] = "handoff";
  using Params = RelayParams;
  static constexpr uint32_t columns = 64, turns = 4;
  struct Fetch : WarpRole<0, 1> {
    static constexpr char name[] = "fetch";
  };
  struct Total : WarpRole<1, 1> {
    static constexpr char name[] = "total";
  };
  static constexpr int threads = threads_of<Fetch, Total>;
  struct Rows {
    static constexpr char name[] = "rows";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<tma_bytes<Fetch>>;
    using freed = freed_by<lane_per_warp<Total>>;
    static constexpr uint32_t bytes = columns * sizeof(uint32_t);
  };
  using Ring = ProducerConsumerPipeline<2, Rows>;
  struct Storage {
    alignas(128) uint32_t rows[Ring::num_stages][columns];
    Ring::BarrierArray barriers;
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Ring ring(storage.barriers.ptr());
    if (arch::warp_index() == 0) {
      if (arch::elect_one()) {
        for (uint32_t turn = 0; turn < turns; ++turn) {
          auto slot = ring.produce();
          arch::tma_load<1>(arch::shared_address(storage.rows[slot.index()]), params.rows,
                            arch::shared_address(slot.mbar()), {0, static_cast<int>(turn)});
        }
      }
      return;
    }
    uint32_t sum = 0;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      auto slot = ring.consume();
      for (uint32_t column = arch::lane_index(); column < columns; column += 32)
        sum += arch::load_shared(&storage.rows[slot.index()][column]);
    }
    arch::store_global(params.totals + arch::lane_index(), sum);
  }
};

void run_handoff(LoomMachine& machine, Comparison& words) {
  std::vector<uint32_t> rows(Handoff::turns * Handoff::columns);
  words.want.assign(32, 0);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    rows[i] = i * 2654435761u;
    words.want[i % 32] += rows[i];
  }
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.address = machine.memory(rows);
  args.dims = {Handoff::columns, Handoff::turns, 1, 1, 1};
  args.strides = {Handoff::columns * sizeof(uint32_t), 16, 16, 16};
  args.box = {Handoff::columns, 1, 1, 1, 1};
  const RelayParams params{machine.encode(args), machine.memory(std::vector<uint32_t>(32), true)};
  machine.launch<Handoff>({{1}, {}, Handoff::threads}, params);
  words.got = machine.read(params.totals, 32);
}

/// Every policy in turn, the random one with a new seed each time.
loom::Schedule schedule(uint64_t run) {
  constexpr loom::Policy policies[] = {loom::Policy::eager,  loom::Policy::random,      loom::Policy::lazy,
                                       loom::Policy::random, loom::Policy::adversarial, loom::Policy::random};
  const loom::Policy policy = policies[run % 6];
  return {policy, policy == loom::Policy::random ? run : 0};
}

/// Runs per second of one core; 0 when one of them failed.
template <class Run>
double rate(bool checked, double seconds, const Run& run) {
  uint64_t runs = 0;
  const std::clock_t start = std::clock();  // of this process, so that others on the machine do not count
  const auto passed = [&] { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; };
  while (passed() < seconds) {
    LoomMachine machine(schedule(++runs));
    if (checked) machine.check();
    Comparison words;
    run(machine, words);
    if (!machine.trouble().empty() || words.got != words.want) {
      std::fprintf(stderr, "%s\n", machine.trouble().c_str());
      return 0;
    }
  }
  return static_cast<double>(runs) / passed();
}

template <class Run>
bool show(const char* name, double seconds, const Run& run) {
  const double checked = rate(true, seconds, run), unchecked = rate(false, seconds, run);
  std::printf("%-8s one core, every policy in turn: %.0f runs/s checked, %.0f unchecked\n", name, checked, unchecked);
  return checked > 0 && unchecked > 0;
}

}  // namespace
}  // namespace warploom::inline WARPLOOM_MACHINE::examples

int main(int argc, char** argv) {
  using namespace warploom::examples;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5.0;
  const bool small = show("handoff", seconds, run_handoff);
  const bool large =
      show("relay", seconds, [](LoomMachine& m, Comparison& words) { run_relay<Planted::nothing>(m, 1, words); });
  return small && large ? 0 : 1;
}
