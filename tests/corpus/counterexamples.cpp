// Programs that rules about one run once called clean although some schedule goes wrong (docs/verdict.md).
#include "corpus/corpus.hpp"

namespace warploom::loom::corpus {
namespace {

struct Storage {
  uint32_t data[2];
  Mbarrier full[2], seen[1];
  alignas(128) uint32_t row[32];
};

WARPLOOM_FN Storage& set_up() {
  auto& s = shared<Storage>();
  make_barriers(s.full, 1);
  make_barriers(s.seen, 1, RingSide::empty);
  syncthreads();
  return s;
}

/// Warp 1 waits for the second phase and has not seen the first.
constexpr auto skipped_phase = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    mbarrier_arrive(address(s.full[0]));
    mbarrier_wait(address(s.seen[0]), buggy ? 0 : 1);
    store_shared(&s.data[0], 1u);
    SITE(mbarrier_arrive(address(s.full[0])));
  }
  if (lane_index() == 0 && warp_index() == 1) {
    if (!buggy) mbarrier_wait(address(s.full[0]), 1);
    if (!buggy) mbarrier_arrive(address(s.seen[0]));
    SITE(mbarrier_wait(address(s.full[0]), 2));
    SITE(keep(load_shared(&s.data[0])));
  }
  syncwarp();
};

/// Two consumers take the phases of one barrier by turns; only the first tells the producer that it has passed.
constexpr auto ping_pong = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    store_shared(&s.data[0], 1u);
    SITE(mbarrier_arrive(address(s.full[0])));
    mbarrier_wait(address(s.seen[0]), 1);
    store_shared(&s.data[1], 2u);
    SITE(mbarrier_arrive(address(s.full[0])));
  }
  if (lane_index() == 0 && warp_index() == 1) {
    mbarrier_wait(address(s.full[0]), 1);
    keep(load_shared(&s.data[0]));
    mbarrier_arrive(address(s.seen[0]));
  }
  if (!buggy && warp_index() < 3 && warp_index() > 0) bar_sync(1, 64);  // the order barrier: the second comes second
  if (lane_index() == 0 && warp_index() == 2) {
    SITE(mbarrier_wait(address(s.full[0]), 2));
    SITE(keep(load_shared(&s.data[1])));
  }
  syncwarp();
};

/// One thread announces the bytes, another brings the arrival that is counted.
constexpr auto expect_and_arrive_apart = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    SITE(mbarrier_expect_tx(address(s.full[0]), sizeof(s.row)));
    SITE(bulk_load(address(s.row), input, sizeof(s.row), address(s.full[0])));
    if (!buggy) mbarrier_arrive(address(s.seen[0]));
  }
  if (lane_index() == 0 && warp_index() == 1) {
    if (!buggy) mbarrier_wait(address(s.seen[0]), 1);
    SITE(mbarrier_arrive(address(s.full[0])));
  }
  if (lane_index() == 0 && warp_index() == 2) {
    SITE(mbarrier_wait(address(s.full[0]), 1));
    SITE(keep(load_shared(&s.row[0])));
  }
  syncwarp();
};

/// Warp 1 asks about one slot and goes by the answer for another.
constexpr auto polls_another_slot = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0)
    for (int i = 0; i < 2; ++i) {
      store_shared(&s.data[i], 1u);
      mbarrier_arrive(address(s.full[i]));
    }
  if (lane_index() == 0 && warp_index() == 1) {
    const Ready ready = mbarrier_poll(address(s.full[buggy ? 0 : 1]), 1);
    SITE(mbarrier_wait_unless(ready, address(s.full[1]), 1));
    keep(load_shared(&s.data[1]));
  }
  syncwarp();
};

/// Warp 1 keeps an answer while its barrier goes on to the next phase.
constexpr auto keeps_an_answer = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    mbarrier_arrive(address(s.full[0]));
    mbarrier_wait(address(s.seen[0]), 1);
    mbarrier_arrive(address(s.full[0]));
    mbarrier_arrive(address(s.full[1]));
  }
  if (lane_index() == 0 && warp_index() == 1) {
    const Ready ready = mbarrier_poll(address(s.full[0]), 1);
    if (!buggy) mbarrier_wait_unless(ready, address(s.full[0]), 1);
    mbarrier_arrive(address(s.seen[0]));
    mbarrier_wait(address(s.full[1]), 1);
    if (buggy) SITE(mbarrier_wait_unless(ready, address(s.full[0]), 1));
  }
  syncwarp();
};

/// Warp 0 hands a word to warp 1, with a store that nobody sees.
constexpr auto stores_plainly = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    if (buggy) {
      SITE(s.data[0] = 1);
    } else {
      store_shared(&s.data[0], 1u);
    }
    mbarrier_arrive(address(s.full[0]));
  }
  if (lane_index() == 0 && warp_index() == 1) {
    mbarrier_wait(address(s.full[0]), 1);
    keep(load_shared(&s.data[0]));
  }
  syncwarp();
};

/// Warp 1 gives the word back and then reads it, with a load that nobody sees.
constexpr auto reads_plainly_after_release = [](const bool& buggy) {
  auto& s = set_up();
  if (lane_index() == 0 && warp_index() == 0) {
    store_shared(&s.data[0], 1u);
    mbarrier_arrive(address(s.full[0]));
    mbarrier_wait(address(s.seen[0]), 1);
    store_shared(&s.data[0], 2u);
  }
  if (lane_index() == 0 && warp_index() == 1) {
    mbarrier_wait(address(s.full[0]), 1);
    if (!buggy) store_global(output, load_shared(&s.data[0]));
    mbarrier_arrive(address(s.seen[0]));
    if (buggy) SITE(store_global(output, s.data[0]));
  }
  syncwarp();
};

/// The waiter keeps a parity bit; nobody keeps the other side from going round twice before it looks.
constexpr auto two_phases_behind = [](const bool& buggy) {
  auto& s = set_up();
  for (uint32_t i = 0; i < 3 && thread_index() == 0; ++i) {
    if (!buggy) mbarrier_wait_parity(address(s.seen[0]), (i & 1) ^ 1);
    SITE(mbarrier_arrive(address(s.full[0])));
  }
  for (uint32_t i = 0; i < (buggy ? 1u : 3u) && thread_index() == 32; ++i) {
    SITE(mbarrier_wait_parity(address(s.full[0]), i & 1));
    if (!buggy) mbarrier_arrive(address(s.seen[0]));
  }
};

}  // namespace

Entries counterexample_entries() {
  const Launch launch{.threads = 96, .shared_bytes = sizeof(Storage)};
  return {
      entry("X1", "wait for phase 1 by a thread that has not seen phase 0", {"PHASE-AMBIG", "PHASE"}, launch,
            skipped_phase),
      entry("X2", "two consumers take the phases of one barrier by turns, without an order between them",
            {"PHASE-AMBIG", "PHASE"}, launch, ping_pong),
      entry("X3", "one thread announces the bytes, another brings the phase's arrival", {"PHASE-AMBIG", "UNINIT-SMEM"},
            launch, expect_and_arrive_apart),
      entry("X4", "a wait that goes by the poll of another slot", {"PHASE"}, launch, polls_another_slot),
      entry("X5", "a poll's answer kept while the barrier goes on to the next phase", {"DEADLOCK"}, launch,
            keeps_an_answer),
      entry("X6", "a wait by parity that may come two phases late", {"PHASE-AMBIG"}, launch, two_phases_behind),
      entry("X20", "a word handed over with a plain C++ store", {"PLAIN-SHARED"}, launch, stores_plainly),
      entry("X21", "a word read in plain C++ after it was given back", {"PLAIN-SHARED"}, launch,
            reads_plainly_after_release),
  };
}

}  // namespace warploom::loom::corpus
