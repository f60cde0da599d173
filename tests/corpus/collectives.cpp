// Named barriers, collectives of a warp, registers of a CTA (catalogue 40 to 42, B6).
#include "corpus/corpus.hpp"
#include "warploom/arch/registers.hpp"

namespace warploom::loom::corpus {
namespace {

struct Storage {
  uint32_t words[4];
};

/// 40: two pairs of warps hand words over; each pair needs a barrier of its own.
constexpr auto shared_id = [](const bool& buggy) {
  auto& s = shared<Storage>();
  const uint32_t pair = warp_index() / 2, id = buggy ? 1 : 1 + pair;
  for (uint32_t i = 0; i < 2; ++i) {
    if (warp_index() % 2 == 0 && lane_index() == 0) SITE(store_shared(&s.words[pair], i));
    syncwarp();
    SITE(bar_sync(id, 64));
    if (warp_index() % 2 == 1) SITE(keep(load_shared(&s.words[pair])));
    SITE(bar_sync(id, 64));
  }
};

/// 40b: a producer that has nothing to do leaves, and with it the arrival that the other side waits for.
constexpr auto early_return = [](const bool& buggy) {
  if (warp_index() == 0) {
    if (buggy) return;
    bar_arrive(1, 64);
  } else {
    SITE(bar_sync(1, 64));
  }
};

/// 40c: one of the warps is given no answer, and the other one that counts only itself.
constexpr auto counts_beside_a_barrier = [](const bool& buggy) {
  if (warp_index() == 0 || !buggy)
    SITE(keep(bar_count(1, 64, true)));
  else
    SITE(bar_sync(1, 64));
};

/// B6
constexpr auto arrives_twice = [](const bool& buggy) {
  if (warp_index() == 0) {
    bar_arrive(1, 64);
    if (!buggy) bar_sync(2, 64);
    SITE(bar_arrive(1, 64));
  } else {
    SITE(bar_sync(1, 64));
    if (!buggy) bar_sync(2, 64);
    SITE(bar_sync(1, 64));
  }
};

/// 41
constexpr auto divergent_collective = [](const bool& buggy) {
  uint32_t value = lane_index();
  if (!buggy || lane_index() < 16) SITE(value = shuffle_xor(value, 1));
  keep(value);
};

/// 41b: the other roles wait for this one, elsewhere.
constexpr auto block_barrier_in_a_role = [](const bool& buggy) {
  if (warp_index() == 0 && buggy) SITE(syncthreads());
  bar_sync(1, 96);
};

/// 42: 384 threads start with 168 registers each.
constexpr auto too_many_registers = [](const bool& buggy) {
  if (warp_index() < 4)
    register_decrease<40>();
  else if (buggy)
    SITE(register_increase<240>());
  else
    register_increase<232>();
};

}  // namespace

Entries collective_entries() {
  return {
      entry("40", "one named barrier for two groups", {"PHASE-AMBIG", "RACE-SMEM", "UNINIT-SMEM"}, {.threads = 128},
            shared_id),
      entry("40b", "role returns early, without the arrival that others wait for", {"DEADLOCK"}, {.threads = 64},
            early_return),
      entry("40c", "bar.red by some threads of a phase, bar.sync by others", {"NAMED-BAR"}, {.threads = 64},
            counts_beside_a_barrier),
      entry("41", "collective of the whole warp in a divergent branch", {"DIVERGENCE"}, {.threads = 32},
            divergent_collective),
      entry("41b", "barrier of the whole CTA inside a role", {"DEADLOCK"}, {.threads = 96}, block_barrier_in_a_role),
      entry("42", "setmaxnreg.inc to more than the CTA's pool holds", {"DEADLOCK"}, {.threads = 384},
            too_many_registers),
      entry("B6", "bar.arrive twice before the other side's bar.sync (vllm#26026)", {"NAMED-BAR", "PHASE-AMBIG"},
            {.threads = 64}, arrives_twice),
  };
}

}  // namespace warploom::loom::corpus
