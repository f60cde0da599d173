// A shared object with a kernel of its own, as an extension of Python is one: host.c loads it at run time and knows
// nothing of Warploom. The kernel hands a number over an mbarrier; without the arrival it stands still, and the report
// has the line of the wait.
#include <cstdio>
#include <warploom/arch/global.hpp>
#include <warploom/arch/mbarrier.hpp>
#include <warploom/arch/named_barrier.hpp>
#include <warploom/warploom.hpp>

using namespace warploom;

namespace {

struct Params {
  float* out;
  bool arrives;
};

struct Storage {
  arch::Mbarrier handed_over;
  float number;
};

constexpr int line_of_wait = __LINE__ + 1;
WARPLOOM_FN void wait_for(arch::SharedAddress barrier) noexcept { arch::mbarrier_wait(barrier, 1); }

void hand_over(const void* given) {
  const Params& params = *static_cast<const Params*>(given);
  Storage& storage = arch::shared<Storage>();
  const auto barrier = arch::shared_address(&storage.handed_over);
  const uint32_t thread = arch::thread_index();
  if (thread == 0) arch::mbarrier_init(barrier, 1);
  arch::syncthreads();
  if (thread == 32) {
    arch::store_shared(&storage.number, 42.0f);
    if (params.arrives) arch::mbarrier_arrive(barrier);
  }
  if (thread != 0) return;
  wait_for(barrier);
  arch::store_global(params.out, arch::load_shared(&storage.number));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int run_plugin() {
  for (const bool arrives : {true, false}) {
    float out = 0.0f;
    const Params params{&out, arrives};
    const loom::TensorRef tensor{&out, sizeof(out), loom::Access::write, "out"};
    const loom::Outcome outcome = loom::launch({.kernel = "hand-over", .threads = 64, .shared_bytes = sizeof(Storage)},
                                               &hand_over, &params, {&tensor, 1}, {.check = arrives});
    const std::string text = to_text(outcome.report);
    if (arrives && (!outcome.ok() || out != 42.0f)) return std::puts(text.c_str()), 1;
    if (arrives) continue;
    const std::string line = "plugin.cpp:" + std::to_string(line_of_wait);
    if (text.find("DEADLOCK") == std::string::npos || text.find(line) == std::string::npos)
      return std::printf("no DEADLOCK at %s:\n%s\n", line.c_str(), text.c_str()), 1;
  }
  return 0;
}
